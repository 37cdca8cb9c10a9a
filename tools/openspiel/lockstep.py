"""Replay random OpenSpiel games through `ludex engine` and compare them ply by ply.

Usage: lockstep.py --ludex PATH [--games 200] [--seed 1] [--only NAME]

At every ply both must agree on who moves, on the set of legal moves and on the game not being over; at the end on
the payoffs and on there being no move. Where random play misses a rule, a game made for it is replayed as well. A
difference prints the setting, the moves so far and what differs. The last line counts settings; the exit code is 0 if
all agree, 1 if not, 2 if OpenSpiel or the program is missing.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine import add_program, batch, program
from settings import Setting, chosen

SHOWN = 3  # differences printed for one setting

# Games that random play does not find: the last move leaves the opponent without one and lets the draw rule strike too.
# In Morris the blocked player loses; in Checkers the draw comes first.
LANDMARKS: dict[str, list[str]] = {
    "morris:draw=turns200": (
        """
        d3 f4 e5 a7 c5 b4 b2 g7 c4 a4 d1 d5 f6 g4 d7 e4 xb2 b2 c3
        """.split()
        + "d7-d6 a4-a1 d6-d7 a1-a4".split() * 22
        + """
        f6-d6 g4-g1 d1-a1 g1-g4 xd6 b2-d2 f4-f6 d2-b2 e4-e3 d7-d6 f6-f4 e5-e4 f4-f2 e4-f4 d5-e5 d6-f6 e5-e4
        c5-d5 e4-e5 d5-d6 f2-d2 f4-e4 d2-d1 e4-f4 g4-g1 b2-d2 e3-e4 f4-g4 e5-d5 g4-f4 g1-g4 d2-b2 b4-b6
        d3-e3 d5-c5 d6-d5 c3-d3 f4-f2 b6-d6 c4-b4 d6-b6 f2-f4 d1-g1 xb4 f6-d6 d3-c3 a1-d1 a7-d7 d1-a1 a4-b4
        d6-f6 e4-e5 f4-e4 c5-c4 b2-d2 b6-d6 a1-d1 b4-b2 d5-c5 b2-b4 c5-d5 d7-a7 d2-b2 c4-c5 d1-a1 c5-c4
        a1-a4 g4-f4 a4-a1 g7-d7 b2-d2 a7-a4 xd2 a1-d1 c4-c5 d1-a1 d6-b6 a1-d1 d7-d6 d1-a1 b4-c4 xa1 e3-d3
        a4-a7 d3-e3 f4-g4 e3-d3 a7-a4 d3-e3 a4-b4 f6-f4 g1-d1 f4-f2 c3-d3 e4-f4 d1-d2 f4-e4 g4-f4
        """.split()
    ),
    "checkers": (
        """
        c3d4 f6g5 d2c3 d6e5 d4f6 g7e5 e1d2 e5d4 e3c5 b6d4 c3e5 g5f4 b2c3 f4e3 f2d4 e7f6 e5g7 h8f6 g1f2 f8g7
        f2e3 f6e5 d4f6 f6h8 a7b6 c3d4 c7d6 g3f4 b6a5 h2g3 d6c5 d4b6 b8c7 b6a7 a5b4 a3c5 c7b6 c1b2 b6d4 d4f2
        f4g5 h6f4 f4h2 d2e3 f2g1 e3f4 d8c7 f4e5 c7b6 b2c3 g1f2 a1b2 h2g1 a7b8 b6c5 b8a7 g1h2 b2a3 f2g1 a7b6
        c5d4 e5d6 d4b2 a3b4 g1f2 b6a7 f2e1 h8g7 b2a1 a7b8 h2g3 g7h6 g3f4 h6g5 f4h6
        """.split()
        + "b8c7 h6g7 c7b8 g7h6".split() * 6
        + """
        b4a5 e1f2 b8a7 f2g1 a5b6 a1b2 d6c7 h6g7 a7b8 b2a3 b8a7 g7f8 a7b8 f8e7 b6a7 e7d8
        """.split()
    ),
}


@dataclass
class Check:
    """A command, the answer OpenSpiel gives, and the moves played before it."""

    command: str
    expected: str
    moves: list[str]

    def differs(self, answer: str) -> str | None:
        """What is wrong with `answer`, if anything is."""
        if not answer.startswith("="):
            return f"{self.command}: {answer or 'no answer'}"
        words, wanted = answer[1:].split(), self.expected.split()
        if self.command != "legal":
            return None if words == wanted else f"{self.command}: {' '.join(words)}, not {self.expected}"
        if sorted(words) == sorted(wanted):
            return None
        extra, missing = sorted(set(words) - set(wanted)), sorted(set(wanted) - set(words))
        return f"legal: {len(words)} moves, not {len(wanted)}; too many: {extra}; missing: {missing}"


def replay(setting: Setting, choose: Callable[[list[str]], str]) -> Iterator[Check]:
    """The commands of one game, its moves chosen among the legal ones, and the answers they should get."""
    state, moves = setting.load().new_initial_state(), []
    yield Check("newgame", "", [])
    while not state.is_terminal():
        legal = setting.moves(state)
        yield Check("legal", " ".join(legal), list(moves))
        yield Check("mover", str(state.current_player()), list(moves))
        yield Check("outcome", "none", list(moves))
        name = choose(list(legal))
        state.apply_action(legal[name])
        moves.append(name)
        yield Check(f"play {name}", "", list(moves[:-1]))
    yield Check("outcome", " ".join(f"{payoff:g}" for payoff in state.returns()), list(moves))
    yield Check("legal", "", list(moves))


def compare(ludex: list[str], setting: Setting, games: int, seed: int) -> list[str]:
    """The differences found, the first of each game."""
    rng = random.Random(f"{seed} {setting.name}")
    replays = [list(replay(setting, rng.choice)) for _ in range(games)]
    if setting.name in LANDMARKS:
        known = iter(LANDMARKS[setting.name])
        replays.append(list(replay(setting, lambda _legal: next(known))))
    answers, errors = batch(ludex, setting.name, [check.command for checks in replays for check in checks])
    if errors and not answers:
        return [errors.splitlines()[-1]]
    found, at = [], 0
    for checks in replays:
        for check, answer in zip(checks, answers[at : at + len(checks)] + [""] * len(checks)):
            difference = check.differs(answer)
            if difference:
                found.append(f"after [{' '.join(check.moves)}]\n    {difference}")
                break
        at += len(checks)
        if len(answers) < at:
            found.append(f"the engine stopped answering: {errors}")
            break
    return found


def main() -> int:
    """Compare the chosen settings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_program(parser)
    parser.add_argument("--games", type=int, default=200, help="random games of each setting (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="NAME", help="a game or a setting")
    options = parser.parse_args()
    ludex, settings = program(options.ludex), chosen(options.only)

    failed = 0
    for setting in settings:
        began = time.monotonic()
        found = compare(ludex, setting, options.games, options.seed)
        verdict = f"{len(found)} games differ" if found else "same"
        print(f"{setting.name}: {options.games} games, {verdict}, {time.monotonic() - began:.1f} s", flush=True)
        for difference in found[:SHOWN]:
            print(f"  {setting.name} {difference}")
        failed += bool(found)
    print(f"{len(settings) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
