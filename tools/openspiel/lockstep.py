"""Replay random OpenSpiel games through `ludex engine` and compare them ply by ply.

Usage: lockstep.py --ludex PATH [--games 200] [--seed 1] [--only NAME]

At every ply both must agree on who moves, on the set of legal moves and on the game not being over; at the end on the
payoffs and on there being no move. A difference prints the setting, the moves so far and what differs. The last line
counts settings; the exit code is 0 if all agree, 1 if not, 2 if OpenSpiel or the program is missing.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from engine import add_program, batch, program
from settings import Setting, chosen

SHOWN = 3  # differences printed for one setting


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


def replay(setting: Setting, rng: random.Random) -> Iterator[Check]:
    """The commands of one random game and the answers they should get."""
    state, moves = setting.load().new_initial_state(), []
    yield Check("newgame", "", [])
    while not state.is_terminal():
        legal = setting.moves(state)
        yield Check("legal", " ".join(legal), list(moves))
        yield Check("mover", str(state.current_player()), list(moves))
        yield Check("outcome", "none", list(moves))
        name, action = rng.choice(list(legal.items()))
        state.apply_action(action)
        moves.append(name)
        yield Check(f"play {name}", "", list(moves[:-1]))
    yield Check("outcome", " ".join(f"{payoff:g}" for payoff in state.returns()), list(moves))
    yield Check("legal", "", list(moves))


def compare(ludex: list[str], setting: Setting, games: int, seed: int) -> list[str]:
    """The differences found, the first of each game."""
    rng = random.Random(f"{seed} {setting.name}")
    replays = [list(replay(setting, rng)) for _ in range(games)]
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
