//! Breakthrough (Troyka 2000): men step straight or diagonally forward, take diagonally; reach the far rank or take all to win.
//!
//! X starts on ranks 1 and 2 and moves up, O starts on the last two ranks and moves down. A straight step needs an empty
//! square. A player with a man always has a move, because its foremost man can step diagonally. Boards have at least two
//! columns, at least four rows and at most 64 squares. A square has bit `rank * columns + file`.
//!
//! Position: the ranks from the top with `/` between them, `x` and `o` for men and numbers for runs of empty squares; then
//! the mover.

use crate::bits::{MOVER, ones, select};
use crate::text::{Fields, LETTERS, ROLES, caption, grid, letters, parse_mover, refuse, square, swap_pairs};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};

/// The rules of Breakthrough on one board.
pub struct Breakthrough {
    info: GameInfo,
    cols: u32,
    rows: u32,
    board: u64,
    first_file: u64,
    last_file: u64,
    /// The rank that each player must reach.
    goal: [u64; 2],
    /// The number of each move, by player, direction (left, straight, right) and origin.
    number: [[[u16; 64]; 3]; 2],
    /// The origin and destination of each move.
    squares: Vec<(u8, u8)>,
}

/// A state: the men of each player, the mover, and whether the game is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BreakthroughState {
    men: [u64; 2],
    mover: u8,
    over: bool,
}

impl Breakthrough {
    /// The rules for this size.
    pub fn new(cols: u32, rows: u32) -> Result<Self, TextError> {
        if cols < 2 || rows < 4 || cols > 16 || rows > 32 || cols * rows > 64 {
            return refuse(format!(
                "breakthrough takes 2 or more columns, 4 or more rows, at most 64 squares, not {cols}x{rows}"
            ));
        }
        let cells = cols * rows;
        let rank = |r: u32| (0..cols).map(|c| 1u64 << (r * cols + c)).sum::<u64>();
        let file = |c: u32| (0..rows).map(|r| 1u64 << (r * cols + c)).sum::<u64>();
        let mut number = [[[u16::MAX; 64]; 3]; 2];
        let mut squares = Vec::new();
        for (from, player, dir) in (0..cells).flat_map(|f| (0..2).flat_map(move |p| (0..3).map(move |d| (f, p, d)))) {
            let to_col = (from % cols + dir).wrapping_sub(1);
            let to_row = (from / cols).wrapping_add([1, u32::MAX][player]);
            if to_col < cols && to_row < rows {
                number[player][dir as usize][from as usize] = squares.len() as u16;
                squares.push((from as u8, (to_row * cols + to_col) as u8));
            }
        }
        let name = format!("breakthrough:{cols}x{rows}");
        let info =
            GameInfo::two_player(name, format!("Breakthrough on {cols}x{rows}"), squares.len() as u32, 2 * cells + 2);
        let mut game = Breakthrough {
            info,
            cols,
            rows,
            board: (0..rows).map(rank).sum(),
            first_file: file(0),
            last_file: file(cols - 1),
            goal: [rank(rows - 1), rank(0)],
            number,
            squares,
        };
        let flip = |i: u32| (rows - 1 - i / cols) * cols + i % cols;
        let flip_move = |m: u32| {
            let (from, to) = game.squares[m as usize];
            game.find(flip(from as u32), flip(to as u32)).expect("the mirror image of a move is a move")
        };
        let swap = swap_pairs(cells + 1);
        let flip_fact = |f: u32| Fact(if f < 2 * cells { swap(2 * flip(f / 2) + f % 2) } else { swap(f) });
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts).map(flip_fact).collect(),
            moves: (0..game.info.moves).map(flip_move).collect(),
        });
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    fn find(&self, from: u32, to: u32) -> Option<Move> {
        let found = self.squares.iter().position(|&(f, t)| (f as u32, t as u32) == (from, to));
        found.map(|m| Move(m as u32))
    }

    /// The men of the mover that can step left, straight and right.
    #[inline]
    fn steps(&self, s: &BreakthroughState) -> [u64; 3] {
        let own = s.men[s.mover as usize];
        let free = !(s.men[0] | s.men[1]) & self.board;
        let enter = self.board & !own;
        let (left, right) = (own & !self.first_file, own & !self.last_file);
        if s.over {
            [0; 3]
        } else if s.mover == 0 {
            [
                left & (enter >> (self.cols - 1)),
                own & (free >> self.cols),
                right & enter.checked_shr(self.cols + 1).unwrap_or(0),
            ]
        } else {
            [left & (enter << (self.cols + 1)), own & (free << self.cols), right & (enter << (self.cols - 1))]
        }
    }

    fn man(&self, s: &BreakthroughState, i: u32) -> Option<usize> {
        s.men.iter().position(|m| m >> i & 1 == 1)
    }

    fn decided(&self, men: [u64; 2]) -> [bool; 2] {
        [0, 1].map(|p| men[p] & self.goal[p] != 0 || men[p ^ 1] == 0)
    }
}

impl Game for Breakthrough {
    type State = BreakthroughState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> BreakthroughState {
        let two = self.goal[1] | self.goal[1] << self.cols;
        BreakthroughState { men: [two, two << (self.cols * (self.rows - 2))], mover: 0, over: false }
    }

    #[inline]
    fn mover(&self, s: &BreakthroughState) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &BreakthroughState, out: &mut Vec<Move>) {
        out.clear();
        let steps = self.steps(s);
        let number = &self.number[s.mover as usize];
        for from in ones(steps[0] | steps[1] | steps[2]) {
            for (dir, step) in steps.iter().enumerate() {
                if step >> from & 1 == 1 {
                    out.push(Move(number[dir][from as usize] as u32));
                }
            }
        }
    }

    #[inline]
    fn play(&self, s: &mut BreakthroughState, m: Move) {
        let (from, to) = self.squares[m.index()];
        let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
        debug_assert!(s.men[me] >> from & 1 == 1 && s.men[me] >> to & 1 == 0 && !s.over);
        s.men[me] ^= 1 << from | 1 << to;
        s.men[you] &= !(1 << to);
        s.over = s.men[me] & self.goal[me] != 0 || s.men[you] == 0;
        s.mover ^= 1;
    }

    #[inline]
    fn outcome(&self, s: &BreakthroughState) -> Option<Payoffs> {
        // Only the player who has just moved can have won.
        s.over.then(|| Payoffs::win(Player(s.mover ^ 1)))
    }

    fn win_in_one(&self, s: &BreakthroughState) -> Option<Move> {
        let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
        let before_goal = if me == 0 { self.goal[0] >> self.cols } else { self.goal[1] << self.cols };
        let last = if s.men[you].count_ones() == 1 { s.men[you].trailing_zeros() } else { u32::MAX };
        let number = &self.number[me];
        self.steps(s).into_iter().zip(number).find_map(|(steps, number)| {
            let move_from = |from: u32| Move(number[from as usize] as u32);
            let arrives = steps & before_goal;
            if arrives != 0 {
                return Some(move_from(arrives.trailing_zeros()));
            }
            let takes = |m: &Move| self.squares[m.index()].1 as u32 == last;
            if last == u32::MAX { None } else { ones(steps).map(move_from).find(takes) }
        })
    }

    fn facts(&self, s: &BreakthroughState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones(s.men[0] | s.men[1]).map(|i| Fact(2 * i + (s.men[1] >> i & 1) as u32)));
        out.push(Fact(2 * self.cols * self.rows + s.mover as u32));
    }

    #[inline]
    fn play_facts(&self, s: &mut BreakthroughState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let (from, to) = self.squares[m.index()];
        let (me, you, turn) = (s.mover as u32, s.mover as u32 ^ 1, 2 * self.cols * self.rows);
        on.clear();
        off.clear();
        on.extend([Fact(2 * to as u32 + me), Fact(turn + you)]);
        off.extend([Fact(2 * from as u32 + me), Fact(turn + me)]);
        if s.men[you as usize] >> to & 1 == 1 {
            off.push(Fact(2 * to as u32 + you));
        }
        self.play(s, m);
    }

    #[inline]
    fn key(&self, s: &BreakthroughState) -> u64 {
        mix(mix(s.men[0]) ^ s.men[1]) ^ MOVER[s.mover as usize]
    }

    fn mirrored(&self, s: &BreakthroughState) -> Option<BreakthroughState> {
        let flip = |men: u64| {
            let rank = |r: u32| (men >> (r * self.cols) & self.goal[1]) << ((self.rows - 1 - r) * self.cols);
            (0..self.rows).map(rank).sum()
        };
        Some(BreakthroughState { men: [flip(s.men[1]), flip(s.men[0])], mover: s.mover ^ 1, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        let (from, to) = self.squares[m.index()];
        let name = |i: u8| square((i as u32 % self.cols) as usize, (i as u32 / self.cols) as usize);
        name(from) + &name(to)
    }

    fn fact_name(&self, f: Fact) -> String {
        let (cell, role) = (f.0 / 2, ROLES[f.index() % 2]);
        match cell == self.cols * self.rows {
            true => format!("(control {role})"),
            false => format!("(cell {} {} {role})", cell % self.cols + 1, cell / self.cols + 1),
        }
    }

    fn position(&self, s: &BreakthroughState) -> String {
        let man = |i: u32| self.man(s, i).map(|p| ['x', 'o'][p]);
        format!("{} {}", ranks::write(self.cols, self.rows, man), LETTERS[s.mover as usize])
    }

    fn parse_position(&self, text: &str) -> Result<BreakthroughState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let fields = Fields::read(text, 2, "RANK/RANK/.. MOVER")?;
        let mut s = BreakthroughState { men: [0; 2], mover: parse_mover(fields.words[1])?.0, over: false };
        for (i, ch) in ranks::read(fields.words[0], self.cols, self.rows, "xo")? {
            s.men[(ch == 'o') as usize] |= 1 << i;
        }
        fields.finish()?;
        s.over = match self.decided(s.men) {
            [false, false] => false,
            won if won[s.mover as usize] => {
                return refuse("the side to move has already won: it must be the other's turn");
            }
            _ => true,
        };
        Ok(s)
    }

    fn show(&self, s: &BreakthroughState) -> String {
        let row = |r: u32| (0..self.cols).map(|c| self.man(s, r * self.cols + c).map_or('-', |p| LETTERS[p])).collect();
        let rows = (0..self.rows).rev().map(|r| ((r + 1).to_string(), row(r)));
        format!("{}\n{}", grid(rows, &letters(self.cols as usize)), caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &BreakthroughState, rng: &mut Rng) -> Option<Move> {
        let steps = self.steps(s);
        let [a, b, c] = steps.map(u64::count_ones);
        if a + b + c == 0 {
            return None;
        }
        let n = rng.below(a + b + c);
        let dir = (n >= a) as usize + (n >= a + b) as usize;
        let from = select(steps[dir], n - [0, a, a + b][dir]);
        Some(Move(self.number[s.mover as usize][dir][from as usize] as u32))
    }

    #[inline]
    fn count_legal(&self, s: &BreakthroughState) -> usize {
        self.steps(s).iter().map(|m| m.count_ones() as usize).sum()
    }
}

/// Boards as text, rank by rank from the top, with numbers for runs of empty squares. Shared with Checkers.
pub(crate) mod ranks {
    use crate::text::{excerpt, refuse};
    use ludex_core::TextError;

    /// Writes a board; `piece` gives the letter of the piece on square `rank * cols + file`.
    pub fn write(cols: u32, rows: u32, piece: impl Fn(u32) -> Option<char>) -> String {
        let rank = |r: u32| {
            let (mut text, mut empty) = (String::new(), 0);
            for c in 0..cols {
                match piece(r * cols + c) {
                    None => empty += 1,
                    Some(letter) => {
                        if empty > 0 {
                            text += &empty.to_string();
                        }
                        empty = 0;
                        text.push(letter);
                    }
                }
            }
            if empty > 0 { text + &empty.to_string() } else { text }
        };
        (0..rows).rev().map(rank).collect::<Vec<_>>().join("/")
    }

    /// Parses a board: the occupied squares and their letters, which must be among `pieces`.
    pub fn read(text: &str, cols: u32, rows: u32, pieces: &str) -> Result<Vec<(u32, char)>, TextError> {
        let ranks: Vec<&str> = text.split('/').collect();
        if ranks.len() != rows as usize {
            return refuse(format!("this board has {rows} ranks, not {}", ranks.len()));
        }
        let mut found = Vec::new();
        for (rank, r) in ranks.iter().zip((0..rows).rev()) {
            let (mut c, mut run) = (0u32, 0u32);
            for ch in rank.chars() {
                if let Some(d) = ch.to_digit(10) {
                    run = (10 * run + d).min(1000);
                    continue;
                }
                c += std::mem::take(&mut run);
                if !pieces.contains(ch) {
                    return refuse(format!(
                        "\"{}\" is neither a piece ({pieces}) nor a number",
                        excerpt(&ch.to_string())
                    ));
                }
                if c < cols {
                    found.push((r * cols + c, ch));
                }
                c += 1;
                if c > cols {
                    break;
                }
            }
            if c + run != cols {
                return refuse(format!("rank {} does not have {cols} squares", r + 1));
            }
        }
        Ok(found)
    }
}
