"""Tests of the tools themselves, without Ludex: python -m unittest test_tools (in this directory)."""

from __future__ import annotations

import random
import sys
import unittest
from pathlib import Path

from lockstep import compare
from perft import counts
from settings import MORRIS_POINTS, SETTINGS, Setting
from uct_match import interval

STUB = [sys.executable, str(Path(__file__).with_name("stub_engine.py"))]


def setting(name: str) -> Setting:
    """The setting of this name."""
    return next(s for s in SETTINGS if s.name == name)


def adjacent(a: str, b: str) -> bool:
    """Whether two points of the Morris board are next to each other on a line, by their names alone."""
    for fixed in (0, 1):
        on_line = sorted(p for p in MORRIS_POINTS if p[fixed] == a[fixed])
        halves = [on_line[:3], on_line[3:]] if len(on_line) == 6 else [on_line]  # the middle lines have a gap
        for half in halves:
            if a in half and b in half and abs(half.index(a) - half.index(b)) == 1:
                return True
    return False


class Names(unittest.TestCase):
    """The converters."""

    def test_every_legal_move_has_a_name_of_its_own(self) -> None:
        for each in SETTINGS:
            state, rng = each.load().new_initial_state(), random.Random(each.name)
            while not state.is_terminal():
                state.apply_action(rng.choice(list(each.moves(state).values())))

    def test_morris_men_move_to_adjacent_points(self) -> None:
        morris, steps = setting("morris:draw=turns200"), 0
        for seed in range(20):
            state, rng = morris.load().new_initial_state(), random.Random(seed)
            while not state.is_terminal():
                legal = morris.moves(state)
                if "Num men: 3 " not in str(state) and " 3\n" not in str(state):  # nobody flies
                    for name in (n for n in legal if "-" in n):
                        self.assertTrue(adjacent(*name.split("-")), name)
                        steps += 1
                state.apply_action(rng.choice(list(legal.values())))
        self.assertGreater(steps, 1000)

    def test_player_0_moves_up_in_breakthrough_and_checkers(self) -> None:
        for each in (s for s in SETTINGS if s.family in ("breakthrough", "checkers")):
            for name in each.moves(each.load().new_initial_state()):
                self.assertEqual(int(name[3]), int(name[1]) + 1, name)
                self.assertLessEqual(int(name[1]), 3, name)

    def test_a1_is_dark_in_checkers(self) -> None:
        for each in (s for s in SETTINGS if s.family == "checkers"):
            for name in each.moves(each.load().new_initial_state()):
                self.assertEqual((ord(name[0]) - ord("a") + int(name[1]) - 1) % 2, 0, name)


class Tools(unittest.TestCase):
    """The programs."""

    def test_perft_gives_known_counts(self) -> None:
        start = setting("othello").load().new_initial_state()
        self.assertEqual(counts(start, 10_000), [4, 12, 56, 244, 1396, 8200])

    def test_lockstep_agrees_with_itself_and_sees_a_missing_move(self) -> None:
        for each in (setting("dots:2x2"), setting("checkers")):
            self.assertEqual(compare(STUB, each, 3, 1), [])
            self.assertIn("missing", compare([*STUB, "--fault"], each, 3, 1)[0])

    def test_interval_takes_pairs_as_units(self) -> None:
        self.assertEqual(interval([0.5] * 10), (0.5, 0.5, 0.5))
        mean, low, high = interval([0.0, 1.0] * 50)
        self.assertAlmostEqual(mean, 0.5)
        self.assertAlmostEqual(high - low, 2 * 1.96 * 0.5 / 99**0.5)


if __name__ == "__main__":
    unittest.main()
