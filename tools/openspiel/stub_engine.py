"""OpenSpiel behind the protocol of `ludex engine`: lets the tools here be tested without Ludex.

Usage: stub_engine.py engine GAME [--fault]

Knows `newgame`, `legal`, `mover`, `outcome`, `play`, `moves`, `agent`, `genmove sims=N` and `quit`. `genmove` is UCT
written out as the textbook has it, the algorithm of our bare `uct(sims=N)`: UCB1 with c = 1.4 on payoffs in [0, 1],
one random child expanded per simulation, uniform playouts, the most visited move. With `--fault` it keeps one legal
move to itself, and says so nowhere.
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
    """A position in the tree; `total` is the sum of payoffs in [0, 1] of the player who moved into it."""

    untried: list[int]
    children: dict[int, Node] = field(default_factory=dict)
    visits: int = 0
    total: float = 0.0


def node(state: pyspiel.State) -> Node:
    """A fresh node, its moves in random order."""
    actions = [] if state.is_terminal() else state.legal_actions()
    RNG.shuffle(actions)
    return Node(actions)


def uct(state: pyspiel.State, sims: int, c: float = 1.4) -> int:
    """The most visited action after `sims` simulations."""
    root = node(state)
    for _ in range(sims):
        at, now, path = root, state.clone(), []
        while not at.untried and at.children:
            logarithm = math.log(at.visits)
            action, child = max(
                at.children.items(),
                key=lambda pair: pair[1].total / pair[1].visits + c * math.sqrt(logarithm / pair[1].visits),
            )
            path.append((child, now.current_player()))
            now.apply_action(action)
            at = child
        if at.untried:
            action, mover = at.untried.pop(), now.current_player()
            now.apply_action(action)
            at.children[action] = node(now)
            path.append((at.children[action], mover))
        while not now.is_terminal():
            now.apply_action(RNG.choice(now.legal_actions()))
        payoffs = [(value + 1) / 2 for value in now.returns()]
        root.visits += 1
        for child, mover in path:
            child.visits += 1
            child.total += payoffs[mover]
    return max(root.children, key=lambda action: root.children[action].visits)


def answer(setting: Setting, state: pyspiel.State, words: list[str], fault: bool) -> str:
    """The answer to one command; plays on `state`."""
    legal = setting.moves(state)
    match words:
        case ["legal"]:
            return " ".join(list(legal)[1 if fault else 0 :])
        case ["mover"]:
            return str(state.current_player())
        case ["outcome"]:
            return " ".join(f"{payoff:g}" for payoff in state.returns()) if state.is_terminal() else "none"
        case ["play" | "moves", *moves]:
            for move in moves:
                state.apply_action(setting.moves(state)[move])
            return ""
        case ["genmove", limit]:
            action = uct(state, int(limit.removeprefix("sims=")))
            name = setting.move(state, action)
            state.apply_action(action)
            return name
        case _:
            return ""


def main() -> None:
    """Answer until `quit`."""
    setting = chosen(sys.argv[2])[0]
    state = setting.load().new_initial_state()
    for text in sys.stdin:
        words = text.split()
        if words == ["quit"]:
            break
        if words == ["newgame"]:
            state = setting.load().new_initial_state()
        try:
            print(f"= {answer(setting, state, words, '--fault' in sys.argv)}\n", flush=True)
        except KeyError as move:
            print(f"? no such move: {move}\n", flush=True)


if __name__ == "__main__":
    main()
