"""The game settings that Ludex and OpenSpiel share, and how OpenSpiel's actions read in Ludex notation.

A setting is a Ludex game name, the OpenSpiel game string with the same rules, and a converter that
names an action. What OpenSpiel does differently is settled here, once:

* **tic_tac_toe, mnk, gomoku**: actions count cells row by row from the top left, as we do. `mnk(m,n,k)` has
  m columns and n rows. Overlines win in both games, so neither is our `exact` rule. OpenSpiel's gomoku is square only;
  non-square `gomoku:COLSxROWS` is its `mnk`.
* **connect_four**: actions are columns from 0.
* **othello**: squares are named as ours. `pass` appears only while the opponent can still move; when neither side
  can, the game is over at once.
* **nine_mens_morris**: points count row by row from the top left (0 = a7, 1 = d7, 2 = g7, 3 = b6, .. 23 = g1).
  An action below 24 is a placement or, after a mill, a removal; the state's text says which.
* **dots_and_boxes(num_rows,num_cols)**: our names put columns first; edges are numbered as ours.
* **breakthrough**: player 0 (black) sits on the top ranks and moves down, so ranks are flipped: its row r from
  the top is our rank r + 1. Files stay. Boards of fewer than six rows get one rank of men each and ours two, so only
  boards of six rows or more are listed.
* **checkers**: player 0 (`o`) sits on ranks 1..3, moves up and starts; names are ours. Each jump is an action of its
  own. Dark squares are counted from the top right corner, so with an odd number of ranks a1 would be light: files are
  then mirrored (which needs an even number of files). It fills three ranks on every size, so that six ranks leave
  no move at all; ours fills fewer below eight ranks. Boards wider than high crash at the first multiple jump. So
  only boards of eight ranks or more and no wider than high are listed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

try:
    import pyspiel
except ImportError:
    print("open_spiel is missing: pip install open_spiel==2.0.2", file=sys.stderr)
    sys.exit(2)

Converter = Callable[[pyspiel.State, int], str]

MORRIS_POINTS = (
    "a7 d7 g7 b6 d6 f6 c5 d5 e5 a4 b4 c4 e4 f4 g4 c3 d3 e3 b2 d2 f2 a1 d1 g1".split()
)


@dataclass(frozen=True)
class Setting:
    """One game under both names."""

    name: str
    openspiel: str
    converter: Converter = field(repr=False)

    @property
    def family(self) -> str:
        """The game without its options, as in `dots` for `dots:3x3`."""
        return self.name.partition(":")[0]

    def load(self) -> pyspiel.Game:
        """OpenSpiel's game."""
        return pyspiel.load_game(self.openspiel)

    def move(self, state: pyspiel.State, action: int) -> str:
        """The name of `action` in `state`, in Ludex notation."""
        return self.converter(state, action)

    def moves(self, state: pyspiel.State) -> dict[str, int]:
        """All legal moves of `state` by name; two actions of one name are an error of the converter."""
        actions = [] if state.is_terminal() else state.legal_actions()
        named = {self.converter(state, action): action for action in actions}
        if len(named) != len(actions):
            raise ValueError(f"{self.name}: names are not unique in\n{state}")
        return named


def square(file: int, rank: int) -> str:
    """File letter and rank number, both counted from 0."""
    return f"{chr(ord('a') + file)}{rank + 1}"


def remembered(converter: Callable[[int], str]) -> Converter:
    """A converter whose names depend on the action alone; each is worked out once."""
    names: dict[int, str] = {}

    def convert(_state: pyspiel.State, action: int) -> str:
        if action not in names:
            names[action] = converter(action)
        return names[action]

    return convert


def line(name: str, openspiel: str, cols: int) -> Setting:
    """A k-in-a-row game."""
    return Setting(name, openspiel, remembered(lambda a: square(a % cols, a // cols)))


def mnk(family: str, cols: int, rows: int, k: int) -> Setting:
    """A k-in-a-row game by OpenSpiel's `mnk`."""
    return line(f"{family}:{cols}x{rows}x{k}", f"mnk(m={cols},n={rows},k={k})", cols)


def gomoku(name: str, size: int, connect: int = 5) -> Setting:
    """A square k-in-a-row game by OpenSpiel's `gomoku`."""
    return line(name, f"gomoku(size={size},connect={connect})", size)


def connect4(name: str, cols: int, rows: int, k: int) -> Setting:
    """Connect Four of any size."""
    string = f"connect_four(rows={rows},columns={cols},x_in_row={k})"
    return Setting(name, string, remembered(lambda a: str(a + 1)))


def othello() -> Setting:
    """Othello on 8x8; action 64 is the pass."""
    name = remembered(lambda a: "pass" if a == 64 else square(a % 8, a // 8))
    return Setting("othello", "othello", name)


def morris() -> Setting:
    """Nine Men's Morris with OpenSpiel's draw after 200 turns."""

    def convert(state: pyspiel.State, action: int) -> str:
        if action >= 24:
            start, end = divmod(action - 24, 24)
            return f"{MORRIS_POINTS[start]}-{MORRIS_POINTS[end]}"
        return ("x" if "Capture time" in str(state) else "") + MORRIS_POINTS[action]

    return Setting("morris:draw=turns200", "nine_mens_morris", convert)


def dots(cols: int, rows: int) -> Setting:
    """Dots and Boxes; all horizontal edges row by row, then all vertical ones."""
    horizontal = (rows + 1) * cols

    def convert(action: int) -> str:
        if action < horizontal:
            return f"h{action // cols},{action % cols}"
        edge = action - horizontal
        return f"v{edge // (cols + 1)},{edge % (cols + 1)}"

    string = f"dots_and_boxes(num_rows={rows},num_cols={cols})"
    return Setting(f"dots:{cols}x{rows}", string, remembered(convert))


def breakthrough(name: str, cols: int, rows: int) -> Setting:
    """Breakthrough; an action is (row from the top, column, direction 0..5, capture)."""

    def convert(action: int) -> str:
        place, direction = divmod(action // 2, 6)
        row, col = divmod(place, cols)
        to_row, to_col = row + (1 if direction < 3 else -1), col + direction % 3 - 1
        return square(col, row) + square(to_col, to_row)

    string = f"breakthrough(rows={rows},columns={cols})"
    return Setting(name, string, remembered(convert))


def checkers(name: str, cols: int, rows: int) -> Setting:
    """Checkers; OpenSpiel's own names, with files mirrored where a1 would be light."""
    names: dict[int, str] = {}

    def mirror(file: str) -> str:
        return chr(2 * ord("a") + cols - 1 - ord(file)) if rows % 2 else file

    def convert(state: pyspiel.State, action: int) -> str:
        if action not in names:
            text = state.action_to_string(action)
            parts = re.fullmatch(r"([a-z])(\d+)([a-z])(\d+)", text)
            if parts is None:
                raise ValueError(f"{name}: no move is written {text!r}")
            names[action] = mirror(parts[1]) + parts[2] + mirror(parts[3]) + parts[4]
        return names[action]

    return Setting(name, f"checkers(rows={rows},columns={cols})", convert)


SETTINGS: tuple[Setting, ...] = (
    line("tictactoe", "tic_tac_toe", 3),
    connect4("connect4", 7, 6, 4),
    connect4("connect4:4x4x4", 4, 4, 4),
    connect4("connect4:5x4x3", 5, 4, 3),
    connect4("connect4:6x7x4", 6, 7, 4),
    connect4("connect4:9x8x5", 9, 8, 5),
    othello(),
    morris(),
    dots(1, 1),
    dots(2, 2),
    dots(3, 1),
    dots(3, 2),
    dots(2, 3),
    dots(3, 3),
    dots(5, 5),
    gomoku("gomoku:15x15", 15),
    gomoku("gomoku:9x9", 9),
    gomoku("gomoku:5x5x4", 5, 4),
    mnk("gomoku", 9, 7, 5),
    mnk("mnk", 7, 5, 4),
    mnk("mnk", 4, 6, 3),
    breakthrough("breakthrough", 8, 8),
    breakthrough("breakthrough:6x6", 6, 6),
    breakthrough("breakthrough:5x6", 5, 6),
    breakthrough("breakthrough:6x8", 6, 8),
    breakthrough("breakthrough:9x7", 9, 7),
    checkers("checkers", 8, 8),
    checkers("checkers:4x8", 4, 8),
    checkers("checkers:6x8", 6, 8),
    checkers("checkers:6x9", 6, 9),
    checkers("checkers:6x10", 6, 10),
)


def chosen(only: str | None) -> list[Setting]:
    """The settings called `only`, or of that family; all of them for `None`."""
    found = [s for s in SETTINGS if only in (None, s.name, s.family)]
    if not found:
        names = " ".join(s.name for s in SETTINGS)
        print(f"no setting is called {only}; there are: {names}", file=sys.stderr)
        sys.exit(2)
    return found
