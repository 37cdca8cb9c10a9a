//! Connect Four (Wexler & Strongin, Milton Bradley 1974): drop a disc into a column, four in a line win, a full board draws.
//!
//! Boards of any size and line length are accepted if their columns, with one spare cell each, fit two words;
//! `connect4:7x6x4` is the usual board. A cell has bit `column * (rows + 1) + row`, row 0 at the bottom. The spare cell on top
//! of each column keeps lines from wrapping around (the layout of Fhourstones, Tromp 1988).
//!
//! Position: the columns played, `44352`, comma-separated if there are more than nine columns; `first=O` if O began, which
//! occurs only in mirrored states.

use crate::bits::{MOVER, Word, completes_run, has_run, ones};
use crate::text::{LETTERS, ROLES, caption, excerpt, grid, refuse, swap_pairs};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};
use std::hash::{Hash, Hasher};

/// The largest number of cells. A state keeps the columns played, four bits each.
const CELLS: usize = 112;
/// The largest number of columns.
const COLS: u32 = 16;

/// The rules of Connect Four on one board.
pub struct Connect4<B: Word> {
    info: GameInfo,
    cols: u32,
    rows: u32,
    k: u32,
    /// The distance in bits from a cell to its neighbours: up, right, and along the two diagonals.
    distances: [u32; 4],
    /// All playable cells.
    board: B,
    /// The lowest cell of every column.
    bottom: B,
    /// The cells of each column.
    column: [B; COLS as usize],
    /// The column of each bit.
    column_of: [u8; 128],
}

/// A state: the discs of each player, the mover, and the columns played, which only text needs and `Eq` ignores.
#[derive(Clone, Copy, Debug)]
pub struct Connect4State<B> {
    discs: [B; 2],
    mover: u8,
    result: Ending,
    plies: u8,
    played: [u8; CELLS / 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Open,
    LastMoverWon,
    Full,
}

impl<B: Word> PartialEq for Connect4State<B> {
    fn eq(&self, other: &Self) -> bool {
        self.discs == other.discs && self.mover == other.mover
    }
}

impl<B: Word> Eq for Connect4State<B> {}

impl<B: Word> Hash for Connect4State<B> {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.discs, self.mover).hash(h);
    }
}

impl<B: Word> Connect4<B> {
    /// The rules for this size; an error if the board does not fit `B`, or a line of `k` does not fit the board.
    pub fn new(cols: u32, rows: u32, k: u32) -> Result<Self, TextError> {
        if cols < 1
            || rows < 1
            || cols > COLS
            || rows > 64
            || (cols * (rows + 1)) > B::BITS
            || cols * rows > CELLS as u32
        {
            return refuse(format!(
                "connect4 takes at most {COLS} columns and {CELLS} cells, with columns x (rows + 1) <= 128, not {cols}x{rows}"
            ));
        }
        if k < 2 || k > cols.max(rows) {
            return refuse(format!("no line of {k} fits a {cols}x{rows} board"));
        }
        let stride = rows + 1;
        let cells = |c: u32| (0..rows).fold(B::ZERO, |b, r| b | B::bit(c * stride + r));
        let column = std::array::from_fn(|c| if (c as u32) < cols { cells(c as u32) } else { B::ZERO });
        let info = GameInfo::two_player(
            format!("connect4:{cols}x{rows}x{k}"),
            format!("Connect {k} on {cols} columns of {rows}"),
            cols,
            2 * cols * rows + 2,
        );
        let mut game = Connect4 {
            info,
            cols,
            rows,
            k,
            distances: [1, stride, stride + 1, stride - 1],
            board: column.iter().fold(B::ZERO, |b, &c| b | c),
            bottom: (0..cols).fold(B::ZERO, |b, c| b | B::bit(c * stride)),
            column,
            column_of: std::array::from_fn(|i| (i as u32 / stride) as u8),
        };
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts).map(swap_pairs(cols * rows + 1)).map(Fact).collect(),
            moves: (0..cols).map(Move).collect(),
        });
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    /// The lowest free cell of every column that is not full.
    #[inline]
    fn landing(&self, s: &Connect4State<B>) -> B {
        (s.discs[0] | s.discs[1]).plus(self.bottom) & self.board
    }

    fn cell(&self, s: &Connect4State<B>, col: u32, row: u32) -> Option<usize> {
        let bit = B::bit(col * (self.rows + 1) + row);
        s.discs.iter().position(|&d| d & bit != B::ZERO)
    }
}

impl<B: Word> Game for Connect4<B> {
    type State = Connect4State<B>;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> Self::State {
        Connect4State { discs: [B::ZERO; 2], mover: 0, result: Ending::Open, plies: 0, played: [0; CELLS / 2] }
    }

    #[inline]
    fn mover(&self, s: &Self::State) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>) {
        out.clear();
        if s.result == Ending::Open {
            out.extend(ones(self.landing(s)).map(|i| Move(self.column_of[i as usize] as u32)));
        }
    }

    #[inline]
    fn play(&self, s: &mut Self::State, m: Move) {
        let cell = self.landing(s) & self.column[m.index()];
        debug_assert!(cell != B::ZERO && s.result == Ending::Open);
        let discs = s.discs[s.mover as usize] | cell;
        s.discs[s.mover as usize] = discs;
        s.played[s.plies as usize / 2] |= (m.0 as u8) << (s.plies % 2 * 4);
        s.plies += 1;
        s.mover ^= 1;
        if has_run(discs, self.distances, self.k) {
            s.result = Ending::LastMoverWon;
        } else if s.plies as u32 == self.cols * self.rows {
            s.result = Ending::Full;
        }
    }

    #[inline]
    fn outcome(&self, s: &Self::State) -> Option<Payoffs> {
        match s.result {
            Ending::Open => None,
            Ending::LastMoverWon => Some(Payoffs::win(Player(s.mover ^ 1))),
            Ending::Full => Some(Payoffs::draw(2)),
        }
    }

    #[inline]
    fn win_in_one(&self, s: &Self::State) -> Option<Move> {
        let own = s.discs[s.mover as usize];
        let complete = |b: B, &d: &u32| if d < B::BITS { b | completes_run(own, d, self.k) } else { b };
        let wins = self.landing(s) & self.distances.iter().fold(B::ZERO, complete);
        let found = s.result == Ending::Open && wins != B::ZERO;
        found.then(|| Move(self.column_of[wins.lowest() as usize] as u32))
    }

    fn facts(&self, s: &Self::State, out: &mut Vec<Fact>) {
        out.clear();
        for i in ones(s.discs[0] | s.discs[1]) {
            let col = self.column_of[i as usize] as u32;
            let cell = i - col; // the spare cells of the columns before are not counted
            let owner = (s.discs[1] & B::bit(i) != B::ZERO) as u32;
            out.push(Fact(2 * cell + owner));
        }
        out.push(Fact(2 * self.cols * self.rows + s.mover as u32));
    }

    #[inline]
    fn play_facts(&self, s: &mut Self::State, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let (mover, turn) = (s.mover as u32, 2 * self.cols * self.rows);
        let filled = (s.discs[0] | s.discs[1]) & self.column[m.index()];
        on.clear();
        off.clear();
        on.extend([Fact(2 * (m.0 * self.rows + filled.count()) + mover), Fact(turn + (mover ^ 1))]);
        off.push(Fact(turn + mover));
        self.play(s, m);
    }

    #[inline]
    fn key(&self, s: &Self::State) -> u64 {
        // With the mover, the discs of X and the lowest free cell of every column identify a position (Tromp).
        let (low, high) = (s.discs[0] | ((s.discs[0] | s.discs[1]).plus(self.bottom))).halves();
        let key = mix(low ^ MOVER[s.mover as usize]);
        if high == 0 { key } else { mix(key ^ high) }
    }

    fn mirrored(&self, s: &Self::State) -> Option<Self::State> {
        Some(Connect4State { discs: [s.discs[1], s.discs[0]], mover: s.mover ^ 1, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        (m.0 + 1).to_string()
    }

    fn fact_name(&self, f: Fact) -> String {
        let (cell, role) = (f.0 / 2, ROLES[f.0 as usize % 2]);
        match cell == self.cols * self.rows {
            true => format!("(control {role})"),
            false => format!("(cell {} {} {role})", cell / self.rows + 1, cell % self.rows + 1),
        }
    }

    fn position(&self, s: &Self::State) -> String {
        let column = |i: usize| (s.played[i / 2] >> (i % 2 * 4) & 15) + 1;
        let columns: Vec<String> = (0..s.plies as usize).map(|i| column(i).to_string()).collect();
        let text = if columns.is_empty() { "start".into() } else { columns.join(if self.cols > 9 { "," } else { "" }) };
        let first = (s.mover ^ s.plies) & 1;
        if first == 1 { format!("{text} first=O") } else { text }
    }

    fn parse_position(&self, text: &str) -> Result<Self::State, TextError> {
        let mut s = self.initial();
        let (line, first) = match text.trim().split_once(' ') {
            Some((line, "first=O")) => (line, 1),
            Some((line, "first=X")) => (line, 0),
            Some((_, more)) => {
                return refuse(format!("after the columns comes first=X or first=O, not \"{}\"", excerpt(more)));
            }
            None => (text.trim(), 0),
        };
        s.mover = first;
        if line == "start" || line.is_empty() {
            return Ok(s);
        }
        let columns: Vec<&str> = match self.cols > 9 {
            true => line.split(',').collect(),
            false => line.split_inclusive(|_: char| true).collect(),
        };
        for (i, text) in columns.iter().enumerate() {
            let Some(m) = self.parse_move(text) else {
                return refuse(format!(
                    "move {}: \"{}\" is not a column from 1 to {}",
                    i + 1,
                    excerpt(text),
                    self.cols
                ));
            };
            if s.result != Ending::Open {
                return refuse(format!("move {}: the game is over", i + 1));
            }
            if self.landing(&s) & self.column[m.index()] == B::ZERO {
                return refuse(format!("move {}: column {} is full", i + 1, m.0 + 1));
            }
            self.play(&mut s, m);
        }
        Ok(s)
    }

    fn show(&self, s: &Self::State) -> String {
        let row = |r: u32| (0..self.cols).map(|c| self.cell(s, c, r).map_or('-', |p| LETTERS[p])).collect();
        let rows = (0..self.rows).rev().map(|r| (String::new(), row(r)));
        let columns: Vec<String> = (1..=self.cols).map(|c| c.to_string()).collect();
        format!("{}\n{}", grid(rows, &columns), caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &Self::State, rng: &mut Rng) -> Option<Move> {
        if s.result != Ending::Open {
            return None;
        }
        let landing = self.landing(s);
        let cell = landing.select(rng.below(landing.count()));
        Some(Move(self.column_of[cell as usize] as u32))
    }

    #[inline]
    fn count_legal(&self, s: &Self::State) -> usize {
        if s.result == Ending::Open { self.landing(s).count() as usize } else { 0 }
    }
}
