"""Count OpenSpiel's game trees and write them down for our perft tests.

Usage: perft.py [--only NAME] [--limit LEAVES] [--seed N] [--out DIR]

Writes one file per game, `crates/games/tests/perft/<game>.txt`, one case a line:

    NAME | MOVES | C1 C2 .. CD

NAME is the Ludex game, MOVES are played from its start (none: the start itself), Cd is the number of sequences of
exactly d single moves from there; a finished game has no continuation, so the last count may be 0.
Each setting has its start and some positions of seeded random games: early, middle and last moves, and whatever is
special about the game (a removal or a jump still owed, flying men, a forced pass, a draw rule about to strike).
A case goes as deep as its counts stay within `--limit` leaves; starts of the standard boards go deeper.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspiel
from settings import Setting, chosen

REPOSITORY = Path(__file__).resolve().parents[2]
MAX_DEPTH = 12
STARTS = {  # leaves allowed at the start, where the default would stop short of known figures
    "tictactoe": 1_000_000,
    "connect4": 6_000_000,
    "othello": 4_000_000,
    "morris:draw=turns200": 6_000_000,
    "breakthrough": 4_000_000,
    "checkers": 3_000_000,
}


@dataclass
class Position:
    """A state of a random game, and what the features ask about it."""

    state: pyspiel.State
    moves: list[str]  # from the start
    again: bool  # by the player who has just moved
    left: int = 0  # moves until the game's end
    end: str = ""  # the text of the final state


def same_mover(at: Position) -> bool:
    """The player who just moved moves again: a man to take, a jump to go on with, a box closed."""
    return at.again


def flying(at: Position) -> bool:
    """The mover has three men left, all on the board."""
    text = str(at.state)
    men = re.search(r"Num men: (\d+) (\d+)", text)
    hand = re.search(r"Men to deploy: (\d+) (\d+)", text)
    mover = at.state.current_player() + 1
    return bool(men and hand and men[mover] == "3" and hand[mover] == "0")


def late_turn(at: Position) -> bool:
    """The turn limit of Morris is at most two turns away."""
    turn = re.search(r"Turn number: (\d+)", str(at.state))
    return bool(turn and int(turn[1]) >= 198)


def blocked(at: Position) -> bool:
    """A few moves later one side of Morris has men enough, but no move."""
    men = re.search(r"Num men: (\d+) (\d+)", at.end)
    return 1 <= at.left <= 3 and bool(men and men[1] > "2" and men[2] > "2" and "number: 200" not in at.end)


def passing(at: Position) -> bool:
    """Othello's only move is to pass, and not just before the end."""
    return at.left >= 4 and at.state.legal_actions() == [64]


def quiet(at: Position) -> bool:
    """No capture in the last 37 plies of Checkers: the draw after 40 is within reach."""
    ranks = [re.findall(r"\d+", move) for move in at.moves[-37:]]
    return len(ranks) == 37 and all(abs(int(a) - int(b)) == 1 for a, b in ranks)


def ending(at: Position) -> bool:
    """The game lasted only a few moves more."""
    return 1 <= at.left <= 4


def middle(at: Position) -> bool:
    """Somewhere between the first and the last moves."""
    return len(at.moves) >= 3 and at.left >= 5


Feature = Callable[[Position], bool]
FEATURES: dict[str, list[Feature]] = {
    "othello": [passing, passing],
    "morris": [same_mover, same_mover, flying, flying, late_turn, blocked],
    "dots": [same_mover],
    "checkers": [same_mover, same_mover, quiet, quiet],
}
COMMON: list[Feature] = [middle, middle, middle, ending, ending, ending]


def game(setting: Setting, rng: random.Random) -> list[Position]:
    """The positions of one random game, without its end."""
    state, moves, positions, last = setting.load().new_initial_state(), [], [], -1
    while not state.is_terminal():
        mover = state.current_player()
        positions.append(Position(state.clone(), list(moves), mover == last))
        name, action = rng.choice(sorted(setting.moves(state).items()))
        state.apply_action(action)
        moves.append(name)
        last = mover
    for at in positions:
        at.left = len(moves) - len(at.moves)
        at.end = str(state)
    return positions


def cases(setting: Setting, rng: random.Random) -> Iterator[Position]:
    """One position for each feature, every one from another random game, no two alike."""
    seen: set[tuple[str, ...]] = {()}
    for feature in FEATURES.get(setting.family, []) + COMMON:
        for _ in range(2000):
            fits = [at for at in game(setting, rng) if feature(at) and tuple(at.moves) not in seen]
            if fits:
                at = rng.choice(fits)
                seen.add(tuple(at.moves))
                yield at
                break


class TooMany(Exception):
    """The tree has more leaves than the limit."""


def perft(state: pyspiel.State, depth: int, limit: int) -> int:
    """Sequences of exactly `depth` moves; raises `TooMany` beyond `limit`."""
    if state.is_terminal():
        return 0
    actions = state.legal_actions()
    if depth == 1:
        return len(actions)
    total = 0
    for action in actions:
        total += perft(state.child(action), depth - 1, limit - total)
        if total > limit:
            raise TooMany
    return total


def counts(state: pyspiel.State, limit: int) -> list[int]:
    """Perft for depth 1, 2, .. until the limit, the end of the game or `MAX_DEPTH`."""
    found: list[int] = []
    while len(found) < MAX_DEPTH and (not found or found[-1] > 0):
        try:
            found.append(perft(state, len(found) + 1, limit))
        except TooMany:
            break
    return found


def main() -> None:
    """Write the files of the chosen games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a game or a setting; files are rewritten whole, so a game is meant")
    parser.add_argument("--limit", type=int, default=200_000, help="leaves of a case (200000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "crates/games/tests/perft")
    options = parser.parse_args()

    version = importlib.metadata.version("open_spiel")
    command = f"tools/openspiel/perft.py --limit {options.limit} --seed {options.seed}"
    files: dict[str, list[str]] = {}
    for setting in chosen(options.only):
        began = time.process_time()
        header = [f"# {command}; OpenSpiel {version}", "# NAME | MOVES | counts for depth 1, 2, .."]
        lines = files.setdefault(setting.family, header)
        lines.append(f"# {setting.openspiel}")
        start = setting.load().new_initial_state()
        found = counts(start, STARTS.get(setting.name, options.limit))
        lines.append(f"{setting.name} |  | {' '.join(map(str, found))}")
        for at in cases(setting, random.Random(f"{options.seed} {setting.name}")):
            found = counts(at.state, options.limit)
            lines.append(f"{setting.name} | {' '.join(at.moves)} | {' '.join(map(str, found))}")
        print(f"{setting.name}: {time.process_time() - began:.1f} s", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    for family, lines in files.items():
        (options.out / f"{family}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
