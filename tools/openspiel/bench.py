"""Measure OpenSpiel's random playouts and tree search: the figures that ours are compared with.

Usage: bench.py [--only NAME] [--seconds S] [--repeats N]

Prints one JSON object per game and line. The loops run in OpenSpiel's C++: playouts are one `MCTSBot` simulation with
many rollouts (`RandomRolloutEvaluator`), search is `MCTSBot(uct_c=1.4, solve=False)` with one rollout and 10,000
simulations from the start. Rates are per second of CPU time, medians of several repeats; `mean_plies` is the length
of random games. One thread.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import pyspiel
from settings import SETTINGS, Setting

GAMES = [
    "tictactoe",
    "connect4",
    "othello",
    "morris:draw=turns200",
    "dots:3x3",
    "dots:5x5",
    "breakthrough",
    "checkers",
    "gomoku:9x9",
    "gomoku:15x15",
]
SIMULATIONS = 10_000
MEMORY_MB = 4_000


def cpu(action: Callable[[], object]) -> float:
    """CPU seconds that `action` takes."""
    began = time.process_time()
    action()
    return time.process_time() - began


def bot(game: pyspiel.Game, simulations: int, rollouts: int, seed: int) -> pyspiel.MCTSBot:
    """OpenSpiel's own searcher."""
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=rollouts, seed=seed)
    return pyspiel.MCTSBot(game, evaluator, 1.4, simulations, MEMORY_MB, False, seed, False)


def playouts_per_second(game: pyspiel.Game, seconds: float, seed: int) -> float:
    """Random playouts from the start, for about `seconds`."""
    start, rollouts = game.new_initial_state(), 16
    while True:
        searcher = bot(game, 1, rollouts, seed)
        spent = cpu(lambda: searcher.step(start))
        if spent >= 0.7 * seconds:
            return rollouts / spent
        rollouts = int(rollouts * min(max(seconds / max(spent, 1e-4), 1.5), 10))


def simulations_per_second(game: pyspiel.Game, seconds: float, seed: int) -> float:
    """Simulations of whole searches from the start, one search at least."""
    start, searches, spent = game.new_initial_state(), 0, 0.0
    while searches == 0 or spent < 0.7 * seconds:
        searcher = bot(game, SIMULATIONS, 1, seed + 1000 * searches)
        spent += cpu(lambda: searcher.step(start))
        searches += 1
    return SIMULATIONS * searches / spent


def mean_plies(game: pyspiel.Game, seconds: float) -> float:
    """Mean length of random games."""
    rng, plies, games, began = random.Random(1), 0, 0, time.process_time()
    while games < 100 or time.process_time() - began < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            plies += 1
        games += 1
    return plies / games


def measure(setting: Setting, seconds: float, repeats: int) -> dict[str, object]:
    """The figures of one game."""
    game, began = setting.load(), time.process_time()
    playouts = [playouts_per_second(game, seconds, seed) for seed in range(repeats)]
    searches = [simulations_per_second(game, seconds, seed) for seed in range(repeats)]
    return {
        "game": setting.name,
        "engine": "open_spiel",
        "version": importlib.metadata.version("open_spiel"),
        "playouts_per_s": round(statistics.median(playouts), 1),
        "mean_plies": round(mean_plies(game, seconds), 2),
        "sims_per_s": round(statistics.median(searches), 1),
        "repeats": repeats,
        "cpu_seconds": round(time.process_time() - began, 2),
    }


def main() -> int:
    """Measure the chosen games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="one of: " + " ".join(GAMES))
    parser.add_argument("--seconds", type=float, default=0.4, help="CPU time of one repeat (0.4)")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.only not in (None, *GAMES):
        print(f"no bench is called {options.only}; there are: {' '.join(GAMES)}", file=sys.stderr)
        return 2
    for name in [options.only] if options.only else GAMES:
        setting = next(s for s in SETTINGS if s.name == name)
        print(json.dumps(measure(setting, options.seconds, options.repeats)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
