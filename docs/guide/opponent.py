"""A game against a level: python3 opponent.py hex5x5.kif runs/hex5x5-td-nnue-quick-1 medium"""
import random
import re
import subprocess
import sys


class Engine:
    def __init__(self, *arguments):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(["ludex", "engine", *arguments], stdin=pipe, stdout=pipe, text=True)

    def ask(self, command):
        """Sends a command; the answer ends with an empty line."""
        print(command, file=self.process.stdin, flush=True)
        answer = ""
        while (line := self.process.stdout.readline()) not in ("\n", ""):
            answer += line
        if not answer.startswith("="):
            raise ValueError(answer.strip())
        return answer[1:].strip()


game, model, level = sys.argv[1:]
engine = Engine(game, "--model", model, "--level", level)
while engine.ask("outcome") == "none":
    if engine.ask("mover") == "0":  # our turn: ask your player here; this program plays any legal move
        legal = re.findall(r"\(.*?\)|\S+", engine.ask("legal"))
        move = random.choice(legal)
        engine.ask("play " + move)
        print("we play", move)
    else:
        print("the opponent plays", engine.ask("genmove"))
print(engine.ask("show"))
print("payoffs", engine.ask("outcome"))
engine.ask("quit")
