"""A trivial GGP player, to test hosts: it plays tic-tac-toe at random.

It knows one game, any sheet in which the roles take turns to play (mark A B) with A and B from 1 to 3 while the other plays
noop, and nothing else. With --fault it misbehaves on purpose: "wrong" answers what no game allows, "late" answers when
the clock is over, "mute" hangs up without a word.

    python3 tools/ggp/random_player.py --port 9148
    ludex ggp-server rules/tictactoe.kif --start 2 --play 1 localhost:9148 random
"""

import argparse
import random
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Match:
    """Where a match stands: who we are, what is taken, whose turn it is."""

    def __init__(self, message):
        head = re.match(r"\(\s*start\s+(\S+)\s+(\S+)", message, re.I)
        self.name, self.role = head.groups()
        roles = re.findall(r"\(\s*role\s+([^\s()?]+)\s*\)", message, re.I)
        self.mine = roles.index(self.role)
        self.roles = len(roles)
        self.clock = float(message.rstrip(" )\n").split()[-1])
        self.taken = set()
        self.step = 0

    def observe(self, message):
        marks = re.findall(r"\(\s*mark\s+(\d)\s+(\d)\s*\)", message)
        if marks:
            self.taken.update(marks)
            self.step += 1

    def move(self, rng):
        if self.step % self.roles != self.mine:
            return "noop"
        free = [(a, b) for a in "123" for b in "123" if (a, b) not in self.taken]
        return "(mark {} {})".format(*rng.choice(free)) if free else "noop"


class Player(BaseHTTPRequestHandler):
    match = None
    fault = None
    rng = random.Random(1)

    def do_POST(self):
        message = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        answer = self.answer(message)
        if answer is None:
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/acl")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def answer(self, message):
        verb = re.match(r"\(\s*(\w+)", message).group(1).lower()
        if verb == "start":
            Player.match = Match(message)
            return "ready"
        if verb == "play":
            self.match.observe(message)
            if self.fault == "wrong":
                return "(jump over the fence)"
            if self.fault == "mute":
                return None
            if self.fault == "late":
                time.sleep(self.match.clock + 0.3)
            return self.match.move(self.rng)
        return {"info": "available", "ping": "ready"}.get(verb, "done")

    def log_message(self, *args):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=9148, help="0 takes any free port")
    parser.add_argument("--fault", choices=["wrong", "late", "mute"])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    Player.fault, Player.rng = args.fault, random.Random(args.seed)
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Player)
    print(f"listens on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
