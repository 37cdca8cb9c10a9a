"""Play our UCT against OpenSpiel's `MCTSBot` at equal simulations: the same algorithm should score 50 %.

Usage: uct_match.py --ludex PATH [--games N] [--sims 1000] [--seed 1] [--agent SPEC] [--quick] [GAME ..]

Which constant matches which. Our bare `uct(sims=N)` takes the child with the highest  q + 1.4 sqrt(ln N / n),  q
being the mover's mean payoff in [0, 1]. OpenSpiel's takes the highest  v + uct_c sqrt(ln N / n)  with v the mean of
returns in [-1, 1], that is v = 2q - 1. Halving its formula leaves the order unchanged, so uct_c = 2 * 1.4 = 2.8 is the
same rule.

What else matches. OpenSpiel creates all children of a node at its second visit, in shuffled order, each worth infinity
until visited, and rolls out from the one it picks: one random new child per simulation, as ours. `n_rollouts=1`,
`solve=False`, no noise, the tree thrown away after each move. Both play the most visited move. A single legal move is
played by both without a full search, or as if.

What does not, and cannot be switched off in `MCTSBot`:
* A child that ends the game is worth its bare result in selection, without the exploration term, even with
  `solve=False`. A win in one is then visited less than the formula asks, and a position lost in one looks better
  than it is.
* The final move ranks children by their result if they end the game (win, then open or draw, then loss), then by
  visits, then by total reward. So a win in one is always played, and ties in visits, frequent at few simulations,
  go to the better move.
* Its first simulation rolls out from the root itself, so the children share one simulation fewer.
What that is worth, with the textbook UCT of `stub_engine.py` in our place at 100 simulations: tictactoe 56 % (400
games), connect4 60 % (400; 67 % at 400 simulations), breakthrough:6x6 47 % (2,000), dots:3x3 50 % (2,000), where the
end is far until the last edges. With `--twin` the stub does all three as `MCTSBot` does and scores 50.6 % in connect4
(2,000) and 49.9 % in breakthrough:6x6 (6,000), 50 % inside each interval: the list is complete. Our option
`solver=ends` has the first two rules, so the match is played with it; with plain `uct` expect another score than 50 % where
games end suddenly.

Games come in pairs: both colours from the same random opening. The pair is the unit of the 95 % interval. The exit code
is 0 if 50 % lies inside for every game, 1 if not, 2 if OpenSpiel or the program is missing.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time

import pyspiel
from engine import Engine, Refused, add_program, program
from settings import SETTINGS, Setting

DEFAULT_GAMES = ["connect4", "breakthrough:6x6"]
OUR_C = 1.4
MEMORY_MB = 4_000


def opening(setting: Setting, plies: int, rng: random.Random) -> list[str]:
    """Random moves that do not end the game."""
    while True:
        state, moves = setting.load().new_initial_state(), []
        while len(moves) < plies and not state.is_terminal():
            name, action = rng.choice(list(setting.moves(state).items()))
            state.apply_action(action)
            moves.append(name)
        if not state.is_terminal():
            return moves


def play(setting: Setting, ours: Engine, theirs: pyspiel.Bot, moves: list[str], seat: int, sims: int) -> float:
    """One game from the opening `moves`, Ludex in `seat`; its score, 1, 0.5 or 0."""
    state = setting.load().new_initial_state()
    for move in moves:
        state.apply_action(setting.moves(state)[move])
    ours.ask("newgame")
    ours.ask("moves " + " ".join(moves))
    while not state.is_terminal():
        legal = setting.moves(state)
        if state.current_player() == seat:
            move = ours.ask(f"genmove sims={sims}")
            if move not in legal:
                raise Refused(f"genmove: {move!r} is not legal in\n{state}")
            state.apply_action(legal[move])
        else:
            action = theirs.step(state)
            ours.ask(f"play {setting.move(state, action)}")
            state.apply_action(action)
    return (state.returns()[seat] + 1) / 2


def interval(pairs: list[float]) -> tuple[float, float, float]:
    """Mean of the pairs' scores and its 95 % interval (normal, pairs as units)."""
    mean = statistics.fmean(pairs)
    half = 1.96 * statistics.stdev(pairs) / len(pairs) ** 0.5
    return mean, mean - half, mean + half


def match(setting: Setting, options: argparse.Namespace, ludex: list[str]) -> bool:
    """Play the match, print its line, and say whether 50 % lies inside the interval."""
    rng, began = random.Random(f"{options.seed} {setting.name}"), time.monotonic()
    game = setting.load()
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=options.seed)
    theirs = pyspiel.MCTSBot(game, evaluator, options.uct_c, options.sims, MEMORY_MB, False, options.seed, False)
    results: list[float] = []
    with Engine(ludex, setting.name, "--seed", str(options.seed)) as ours:
        ours.ask(f"agent {options.agent or f'uct(sims={options.sims}, solver=ends)'}")
        for _ in range(options.games // 2):
            moves = opening(setting, options.plies, rng)
            results += [play(setting, ours, theirs, moves, seat, options.sims) for seat in (0, 1)]
    mean, low, high = interval([(a + b) / 2 for a, b in zip(results[::2], results[1::2])])
    inside = low <= 0.5 <= high
    print(
        f"{setting.name}: {len(results)} games, {options.sims} simulations, "
        f"W/D/L {results.count(1.0)}/{results.count(0.5)}/{results.count(0.0)}, "
        f"score {100 * mean:.1f} % [{100 * low:.1f}, {100 * high:.1f}], "
        f"50 % {'inside' if inside else 'OUTSIDE'}, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return inside


def main() -> int:
    """Play the chosen games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_program(parser)
    parser.add_argument("games_played", metavar="GAME", nargs="*", default=DEFAULT_GAMES)
    parser.add_argument("--games", type=int, default=400, help="games of each match, an even number (400)")
    parser.add_argument("--sims", type=int, default=1000, help="simulations per move for both (1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plies", type=int, default=4, help="random moves of an opening (4)")
    parser.add_argument("--uct-c", type=float, default=2 * OUR_C, help="OpenSpiel's constant (2.8)")
    parser.add_argument("--agent", metavar="SPEC", help="our agent, uct(sims=N, solver=ends) by default")
    parser.add_argument("--quick", action="store_true", help="100 games of each match, about a minute")
    options = parser.parse_args()
    if options.quick:
        options.games = 100
    if options.games < 4:
        parser.error("an interval needs two pairs at least: --games 4")
    known = {setting.name: setting for setting in SETTINGS}
    for name in options.games_played:
        if name not in known:
            parser.error(f"no setting is called {name}; there are: {' '.join(known)}")
    ludex = program(options.ludex)
    try:
        inside = [match(known[name], options, ludex) for name in options.games_played]
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0 if all(inside) else 1


if __name__ == "__main__":
    sys.exit(main())
