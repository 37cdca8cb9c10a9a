"""OpenSpiel behind the protocol of `ludex engine`: lets the tools here be tested without Ludex.

Usage: stub_engine.py engine GAME [--twin] [--fault]

Knows `newgame`, `legal`, `mover`, `outcome`, `play`, `moves`, `agent`, `genmove sims=N` and `quit`. `genmove` is UCT
written out as the textbook has it, the algorithm of our bare `uct(sims=N)`: UCB1 with c = 1.4 on payoffs in [0, 1],
one random child expanded per simulation, uniform playouts, the most visited move. With `--twin` it departs
from the textbook as OpenSpiel's `MCTSBot` does (see `uct_match.py`). With `--fault` it keeps one legal move to
itself, and says so nowhere. Options go after the script's name: --ludex "python stub_engine.py --twin".
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field

import pyspiel
from settings import Setting, chosen

RNG = random.Random(1)


@dataclass
class Node:
    """A position in the tree; payoffs are in [0, 1] and those of the player who moved into it."""

    untried: list[int]
    end: float | None = None  # the payoff if the game is over
    children: dict[int, Node] = field(default_factory=dict)
    visits: int = 0
    total: float = 0.0


def node(state: pyspiel.State, entered_by: int) -> Node:
    """A fresh node, its moves in random order."""
    if state.is_terminal():
        return Node([], (state.returns()[entered_by] + 1) / 2)
    actions = state.legal_actions()
    RNG.shuffle(actions)
    return Node(actions)


def worth(child: Node, parent_visits: int, twin: bool) -> float:
    """UCB1 with c = 1.4."""
    if twin and child.end is not None:
        return child.end
    return child.total / child.visits + 1.4 * math.sqrt(math.log(parent_visits) / child.visits)


def uct(state: pyspiel.State, sims: int, twin: bool) -> int:
    """The most visited action after `sims` simulations."""
    root = node(state, state.current_player())
    root.visits = 1 if twin else 0
    for _ in range(sims - root.visits):
        at, now, path = root, state.clone(), []
        while not at.untried and at.children:
            action, child = max(at.children.items(), key=lambda pair: worth(pair[1], at.visits, twin))
            path.append((child, now.current_player()))
            now.apply_action(action)
            at = child
        if at.untried:
            action, mover = at.untried.pop(), now.current_player()
            now.apply_action(action)
            at.children[action] = node(now, mover)
            path.append((at.children[action], mover))
        while not now.is_terminal():
            now.apply_action(RNG.choice(now.legal_actions()))
        payoffs = [(value + 1) / 2 for value in now.returns()]
        root.visits += 1
        for child, mover in path:
            child.visits += 1
            child.total += payoffs[mover]

    def rank(action: int) -> tuple[float, int, float]:
        child = root.children[action]
        if not twin:
            return 0, child.visits, 0
        return (0.5 if child.end is None else child.end), child.visits, child.total

    return max(root.children, key=rank)


def answer(setting: Setting, state: pyspiel.State, words: list[str]) -> str:
    """The answer to one command; plays on `state`."""
    legal = setting.moves(state)
    match words:
        case ["legal"]:
            return " ".join(list(legal)[1 if "--fault" in sys.argv else 0 :])
        case ["mover"]:
            return str(state.current_player())
        case ["outcome"]:
            return " ".join(f"{payoff:g}" for payoff in state.returns()) if state.is_terminal() else "none"
        case ["play" | "moves", *moves]:
            for move in moves:
                state.apply_action(setting.moves(state)[move])
            return ""
        case ["genmove", limit]:
            action = uct(state, int(limit.removeprefix("sims=")), "--twin" in sys.argv)
            name = setting.move(state, action)
            state.apply_action(action)
            return name
        case _:
            return ""


def main() -> None:
    """Answer until `quit`."""
    setting = chosen(sys.argv[sys.argv.index("engine") + 1])[0]
    state = setting.load().new_initial_state()
    for text in sys.stdin:
        words = text.split()
        if words == ["quit"]:
            break
        if words == ["newgame"]:
            state = setting.load().new_initial_state()
        try:
            print(f"= {answer(setting, state, words)}\n", flush=True)
        except KeyError as move:
            print(f"? no such move: {move}\n", flush=True)


if __name__ == "__main__":
    main()
