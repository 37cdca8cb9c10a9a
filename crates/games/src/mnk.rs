//! m,n,k games: place a stone on any free point; k own stones in an unbroken line win; a full board draws.
//!
//! `tictactoe` is 3x3x3, `gomoku` is 15x15x5 by default, `mnk` is anything else. Lines of more than k stones win too
//! (freestyle), unless the option `exact` is given. A point has bit `(row + 1) * (columns + 1) + column + 1`. The spare
//! column and rows are never occupied, so that lines end at the edge of the board.
//!
//! Position: the rows from the top, of `X`, `O` and `-`, with `/` between them; then the mover.

use crate::bits::{MOVER, completes_run, has_run, ones, select};
use crate::text::{
    Fields, LETTERS, ROLES, caption, excerpt, grid, letters, parse_mover, parse_square, refuse, square, swap_pairs,
};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};

/// The longest side of a board, and so the longest line.
const LONGEST: usize = 26;

/// The rules of an m,n,k game on a board of up to `64 * W` bits, spare ones included.
pub struct Mnk<const W: usize> {
    info: GameInfo,
    cols: usize,
    rows: usize,
    k: u32,
    exact: bool,
    /// The distance in bits from a point to its neighbours: right, down, and along the two diagonals.
    distances: [u32; 4],
    /// All playable points.
    board: [u64; W],
    /// The bit of each move.
    bit_of: Vec<u16>,
    /// The move of each bit.
    move_of: Vec<u16>,
}

/// A state: the stones of each player, the number of free points, the mover, and the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MnkState<const W: usize> {
    stones: [[u64; W]; 2],
    free: u16,
    mover: u8,
    /// 0: not over, 1: X won, 2: O won, 3: draw.
    result: u8,
}

#[inline]
fn has<const W: usize>(stones: &[u64; W], i: usize) -> bool {
    stones[i / 64] >> (i % 64) & 1 == 1
}

#[inline]
fn and<const W: usize>(a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|w| a[w] & b[w])
}

/// All bits moved up by `d`, which is more than 0 and less than 64.
#[inline]
fn shifted_up<const W: usize>(b: &[u64; W], d: u32) -> [u64; W] {
    std::array::from_fn(|w| b[w] << d | if w > 0 { b[w - 1] >> (64 - d) } else { 0 })
}

/// All bits moved down by `d`, which is more than 0 and less than 64.
#[inline]
fn shifted_down<const W: usize>(b: &[u64; W], d: u32) -> [u64; W] {
    std::array::from_fn(|w| b[w] >> d | if w + 1 < W { b[w + 1] << (64 - d) } else { 0 })
}

impl<const W: usize> Mnk<W> {
    /// The rules for this size. The family is `tictactoe`, `gomoku` or `mnk`; the name of the latter two includes the size.
    pub fn new(family: &str, cols: usize, rows: usize, k: u32, exact: bool) -> Result<Self, TextError> {
        if cols < 1 || rows < 1 || cols > LONGEST || rows > LONGEST || Self::bits(cols, rows) > 64 * W {
            return refuse(format!(
                "{family} takes boards of up to 26 columns and rows, at most 480 points, not {cols}x{rows}"
            ));
        }
        if k < 1 || k as usize > cols.max(rows) {
            return refuse(format!("no line of {k} fits a {cols}x{rows} board"));
        }
        let stride = cols + 1;
        let points = || (0..rows).flat_map(|r| (0..cols).map(move |c| ((r + 1) * stride + c + 1) as u16));
        let mut board = [0; W];
        let mut move_of = vec![u16::MAX; 64 * W];
        for (m, i) in points().enumerate() {
            board[i as usize / 64] |= 1 << (i % 64);
            move_of[i as usize] = m as u16;
        }
        let option = if exact { ",exact" } else { "" };
        let name = match family {
            "tictactoe" => family.into(),
            _ => format!("{family}:{cols}x{rows}x{k}{option}"),
        };
        let overline = if exact { ", exactly" } else { "" };
        let title = format!("{k} in a row{overline} on {cols}x{rows}");
        let cells = (cols * rows) as u32;
        let info = GameInfo::two_player(name, title, cells, 2 * cells + 2);
        let s = stride as u32;
        let distances = [1, s, s + 1, s - 1];
        let mut game = Mnk { info, cols, rows, k, exact, distances, board, bit_of: points().collect(), move_of };
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts).map(swap_pairs(cells + 1)).map(Fact).collect(),
            moves: (0..cells).map(Move).collect(),
        });
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    /// The number of bits that a board of this size needs.
    pub fn bits(cols: usize, rows: usize) -> usize {
        (rows + 2) * (cols + 1) + 1
    }

    /// Whether the stone on bit `i` is part of a winning line.
    #[inline]
    fn wins(&self, stones: &[u64; W], i: usize) -> bool {
        if W == 1 && !self.exact {
            return has_run(stones[0], self.distances, self.k);
        }
        self.distances.into_iter().any(|d| {
            let d = d as usize;
            let mut run = 1;
            let mut at = i + d;
            while has(stones, at) {
                run += 1;
                at += d;
            }
            at = i - d;
            while has(stones, at) {
                run += 1;
                at -= d;
            }
            if self.exact { run == self.k } else { run >= self.k }
        })
    }

    /// The bits that complete a winning line at distance `d` with `stones`, whether occupied or not.
    #[inline]
    fn completes_line(&self, stones: &[u64; W], d: u32) -> [u64; W] {
        if W == 1 && !self.exact {
            return [completes_run(stones[0], d, self.k); W];
        }
        let k = self.k as usize;
        // By number, up to k: the bits with at least that many stones in a row right above them, and right below them.
        let mut above = [[u64::MAX; W]; LONGEST + 1];
        let mut below = [u64::MAX; W];
        (0..k).for_each(|i| above[i + 1] = shifted_down(&and(stones, &above[i]), d));
        let mut found = [0; W];
        for i in 0..k {
            let more_below = shifted_up(&and(stones, &below), d);
            for w in 0..W {
                let longer = if self.exact { more_below[w] | above[k - i][w] } else { 0 };
                found[w] |= below[w] & above[k - 1 - i][w] & !longer;
            }
            below = more_below;
        }
        found
    }

    fn owner(&self, s: &MnkState<W>, m: usize) -> Option<usize> {
        s.stones.iter().position(|b| has(b, self.bit_of[m] as usize))
    }
}

impl<const W: usize> Game for Mnk<W> {
    type State = MnkState<W>;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> Self::State {
        MnkState { stones: [[0; W]; 2], free: self.info.moves as u16, mover: 0, result: 0 }
    }

    #[inline]
    fn mover(&self, s: &Self::State) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>) {
        out.clear();
        if s.result != 0 {
            return;
        }
        for w in 0..W {
            let free = self.board[w] & !(s.stones[0][w] | s.stones[1][w]);
            out.extend(ones(free).map(|i| Move(self.move_of[64 * w + i as usize] as u32)));
        }
    }

    #[inline]
    fn play(&self, s: &mut Self::State, m: Move) {
        let i = self.bit_of[m.index()] as usize;
        debug_assert!(s.result == 0 && !has(&s.stones[0], i) && !has(&s.stones[1], i));
        let stones = &mut s.stones[s.mover as usize];
        stones[i / 64] |= 1 << (i % 64);
        s.free -= 1;
        if self.wins(&s.stones[s.mover as usize], i) {
            s.result = 1 + s.mover;
        } else if s.free == 0 {
            s.result = 3;
        }
        s.mover ^= 1;
    }

    #[inline]
    fn outcome(&self, s: &Self::State) -> Option<Payoffs> {
        match s.result {
            0 => None,
            3 => Some(Payoffs::draw(2)),
            won => Some(Payoffs::win(Player(won - 1))),
        }
    }

    fn win_in_one(&self, s: &Self::State) -> Option<Move> {
        if s.result != 0 {
            return None;
        }
        let lines = self.distances.map(|d| self.completes_line(&s.stones[s.mover as usize], d));
        (0..W).find_map(|w| {
            let free = self.board[w] & !(s.stones[0][w] | s.stones[1][w]);
            let wins = free & lines.iter().fold(0, |b, line| b | line[w]);
            (wins != 0).then(|| Move(self.move_of[64 * w + wins.trailing_zeros() as usize] as u32))
        })
    }

    fn facts(&self, s: &Self::State, out: &mut Vec<Fact>) {
        out.clear();
        for w in 0..W {
            out.extend(ones(s.stones[0][w] | s.stones[1][w]).map(|i| {
                let owner = s.stones[1][w] >> i & 1;
                Fact(2 * self.move_of[64 * w + i as usize] as u32 + owner as u32)
            }));
        }
        out.push(Fact(2 * self.info.moves + s.mover as u32));
    }

    fn play_facts(&self, s: &mut Self::State, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let (mover, turn) = (s.mover as u32, 2 * self.info.moves);
        self.play(s, m);
        on.clear();
        off.clear();
        on.extend([Fact(2 * m.0 + mover), Fact(turn + s.mover as u32)]);
        off.push(Fact(turn + mover));
    }

    #[inline]
    fn key(&self, s: &Self::State) -> u64 {
        let words = s.stones[0].iter().chain(&s.stones[1]);
        words.fold(MOVER[s.mover as usize], |h, &w| mix(h ^ w))
    }

    fn mirrored(&self, s: &Self::State) -> Option<Self::State> {
        let result = [0, 2, 1, 3][s.result as usize];
        Some(MnkState { stones: [s.stones[1], s.stones[0]], mover: s.mover ^ 1, result, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        square(m.index() % self.cols, m.index() / self.cols)
    }

    fn parse_move(&self, text: &str) -> Option<Move> {
        parse_square(text.trim(), self.cols, self.rows).map(|(c, r)| Move((r * self.cols + c) as u32))
    }

    fn fact_name(&self, f: Fact) -> String {
        let (point, role) = (f.index() / 2, ROLES[f.index() % 2]);
        match point == self.cols * self.rows {
            true => format!("(control {role})"),
            false => format!("(cell {} {} {role})", point % self.cols + 1, point / self.cols + 1),
        }
    }

    fn position(&self, s: &Self::State) -> String {
        let row = |r| (0..self.cols).map(|c| self.owner(s, r * self.cols + c).map_or('-', |p| LETTERS[p])).collect();
        let rows: Vec<String> = (0..self.rows).map(row).collect();
        format!("{} {}", rows.join("/"), LETTERS[s.mover as usize])
    }

    fn parse_position(&self, text: &str) -> Result<Self::State, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let fields = Fields::read(text, 2, "ROW/ROW/.. MOVER")?;
        let mut s = self.initial();
        s.mover = parse_mover(fields.words[1])?.0;
        let rows: Vec<&str> = fields.words[0].split('/').collect();
        fields.finish()?;
        if rows.len() != self.rows {
            return refuse(format!("this board has {} rows, not {}", self.rows, rows.len()));
        }
        for (r, row) in rows.iter().enumerate() {
            if row.chars().count() != self.cols {
                return refuse(format!("row {} has {} points, not {}", r + 1, self.cols, row.chars().count()));
            }
            for (c, ch) in row.chars().enumerate() {
                let i = self.bit_of[r * self.cols + c] as usize;
                match ch {
                    'X' | 'x' => s.stones[0][i / 64] |= 1 << (i % 64),
                    'O' | 'o' => s.stones[1][i / 64] |= 1 << (i % 64),
                    '-' => continue,
                    _ => return refuse(format!("a point is X, O or -, not \"{}\"", excerpt(&ch.to_string()))),
                }
                s.free -= 1;
            }
        }
        let won = |p: usize| {
            self.bit_of.iter().any(|&i| has(&s.stones[p], i as usize) && self.wins(&s.stones[p], i as usize))
        };
        s.result = match (won(0), won(1)) {
            (true, true) => return refuse("both sides have a winning line"),
            (true, false) => 1,
            (false, true) => 2,
            (false, false) if s.free == 0 => 3,
            _ => 0,
        };
        Ok(s)
    }

    fn show(&self, s: &Self::State) -> String {
        let row = |r| (0..self.cols).map(|c| self.owner(s, r * self.cols + c).map_or('-', |p| LETTERS[p])).collect();
        let rows = (0..self.rows).map(|r| ((r + 1).to_string(), row(r)));
        format!("{}\n{}", grid(rows, &letters(self.cols)), caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &Self::State, rng: &mut Rng) -> Option<Move> {
        if s.result != 0 {
            return None;
        }
        let mut n = rng.below(s.free as u32);
        for w in 0..W {
            let free = self.board[w] & !(s.stones[0][w] | s.stones[1][w]);
            match n.checked_sub(free.count_ones()) {
                None => return Some(Move(self.move_of[64 * w + select(free, n) as usize] as u32)),
                Some(rest) => n = rest,
            }
        }
        unreachable!("there are as many free points as counted")
    }

    #[inline]
    fn count_legal(&self, s: &Self::State) -> usize {
        if s.result == 0 { s.free as usize } else { 0 }
    }
}
