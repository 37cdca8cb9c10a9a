//! English draughts in single steps: men move diagonally forward, kings in both directions; a player must capture if it can.
//!
//! Any of the possible captures may be chosen. A multiple jump is several moves of the same player; crowning ends the turn. A
//! player without a move loses. With `draw=40`, forty plies in a row without a capture are a draw (as OpenSpiel counts). X
//! starts on the lowest ranks and moves up; a1 is dark. Boards have at most 64 squares. Each player starts with three ranks
//! of men if there are eight or more rows, with fewer otherwise, so that two ranks stay empty. A square has bit
//! `rank * columns + file`.
//!
//! Position: the ranks from the top with `/` between them, `x` and `o` for men, `X` and `O` for kings and numbers for runs of
//! empty squares; then the mover; then `jump=c3` if the piece on c3 must go on jumping, and `quiet=12` for the plies without
//! a capture.

use crate::bits::{MOVER, ones, select};
use crate::breakthrough::ranks;
use crate::text::{Fields, LETTERS, ROLES, caption, excerpt, grid, letters, parse_mover, parse_square, refuse, square};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};

/// The value of `jumper` if no piece has to go on jumping.
const NONE: u8 = 255;

/// The rules of checkers on one board, with one draw rule.
pub struct Checkers {
    info: GameInfo,
    cols: u32,
    rows: u32,
    draw: u8,
    dark: u64,
    /// The rank on which the men of each player are crowned.
    crown: [u64; 2],
    /// The squares from which one and two diagonal steps stay on the board, by direction.
    on_board_from: [[u64; 4]; 2],
    /// The number of each move: for steps and jumps, by direction and origin.
    number: [[[u16; 64]; 4]; 2],
    /// The origin, the destination, and the bit of the square that is jumped over (0 for a step) of each move.
    moves: Vec<(u8, u8, u64)>,
}

/// A state: the pieces, the mover, the piece that must go on jumping, and the plies without a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CheckersState {
    pieces: [u64; 2],
    kings: u64,
    mover: u8,
    jumper: u8,
    quiet: u8,
}

/// The steps in columns and ranks: up left, up right, down left, down right.
const DIRECTIONS: [(i32, i32); 4] = [(-1, 1), (1, 1), (-1, -1), (1, -1)];

impl Checkers {
    /// The rules for this size; a game is a draw after `draw` plies without a capture.
    pub fn new(cols: u32, rows: u32, draw: u8) -> Result<Self, TextError> {
        if cols < 2 || rows < 4 || cols > 16 || rows > 32 || cols * rows > 64 {
            return refuse(format!(
                "checkers takes 2 or more columns, 4 or more rows, at most 64 squares, not {cols}x{rows}"
            ));
        }
        if draw == 0 {
            return refuse("checkers draws after 1 to 255 plies without a capture, not 0");
        }
        let cells = cols * rows;
        let on_board = |c: i32, r: i32| (0..cols as i32).contains(&c) && (0..rows as i32).contains(&r);
        let at = |i: u32| ((i % cols) as i32, (i / cols) as i32);
        let dark: u64 = (0..cells).filter(|i| (i % cols + i / cols).is_multiple_of(2)).map(|i| 1 << i).sum();
        let rank = |r: u32| (0..cols).map(|c| 1u64 << (r * cols + c)).sum::<u64>();
        let mut on_board_from = [[0; 4]; 2];
        let mut number = [[[u16::MAX; 64]; 4]; 2];
        let mut moves = Vec::new();
        for i in ones(dark) {
            for (length, (dir, (dc, dr))) in
                (0..2).flat_map(|l| DIRECTIONS.into_iter().enumerate().map(move |d| (l, d)))
            {
                let ((c, r), n) = (at(i), length as i32 + 1);
                if on_board(c + n * dc, r + n * dr) {
                    let square = |n: i32| ((r + n * dr) * cols as i32 + c + n * dc) as u32;
                    on_board_from[length][dir] |= 1 << i;
                    number[length][dir][i as usize] = moves.len() as u16;
                    moves.push((i as u8, square(n) as u8, if length == 1 { 1 << square(1) } else { 0 }));
                }
            }
        }
        let info = GameInfo::two_player(
            format!("checkers:{cols}x{rows},draw={draw}"),
            format!("Checkers on {cols}x{rows}"),
            moves.len() as u32,
            4 * cells + cells + 2 + draw as u32,
        );
        let crown = [rank(rows - 1), rank(0)];
        let mut game = Checkers { info, cols, rows, draw, dark, crown, on_board_from, number, moves };
        // Rotating the board by 180 degrees maps dark squares to dark squares if and only if the opposite corner is dark.
        if (cols + rows).is_multiple_of(2) {
            let turn_move = |m: u32| {
                let (from, to, _) = game.moves[m as usize];
                let same =
                    |n: &(u8, u8, u64)| (n.0 as u32, n.1 as u32) == (cells - 1 - from as u32, cells - 1 - to as u32);
                Move(game.moves.iter().position(same).expect("a turned move is a move") as u32)
            };
            let turn_fact = |f: u32| match f {
                _ if f < 4 * cells => Fact(4 * (cells - 1 - f / 4) + ((f % 4) ^ 1)),
                _ if f < 5 * cells => Fact(4 * cells + (5 * cells - 1 - f)),
                _ if f < 5 * cells + 2 => Fact(5 * cells + ((f - 5 * cells) ^ 1)),
                _ => Fact(f),
            };
            game.info.mirror = Some(Mirror {
                facts: (0..game.info.facts).map(turn_fact).collect(),
                moves: (0..game.info.moves).map(turn_move).collect(),
            });
        }
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    /// The pieces of the mover that can jump in each direction or, if none can, step. Also the first index of
    /// [`Checkers::number`]: 1 for jumps, 0 for steps.
    #[inline]
    fn movable(&self, s: &CheckersState) -> (usize, [u64; 4]) {
        if s.quiet >= self.draw {
            return (0, [0; 4]);
        }
        let own = s.pieces[s.mover as usize];
        let opp = s.pieces[s.mover as usize ^ 1];
        let free = self.dark & !(own | opp);
        let kings = own & s.kings;
        let (up, down) = if s.mover == 0 { (own, kings) } else { (kings, own) };
        let (a, b) = (self.cols - 1, self.cols + 1);
        // For each direction, the squares whose neighbour in that direction is in `x`. A board has two to sixteen columns, so
        // no shift reaches 64.
        let neighbour_in = |x: u64| [x >> a, x >> b, x << b, x << a];
        let movers = [up, up, down, down];
        let free_near = neighbour_in(free);
        let opp_near = neighbour_in(opp);
        let mut jumps: [u64; 4] = std::array::from_fn(|d| {
            let beyond = neighbour_in(free_near[d])[d];
            movers[d] & self.on_board_from[1][d] & opp_near[d] & beyond
        });
        if s.jumper != NONE {
            jumps = jumps.map(|j| j & 1 << s.jumper);
        }
        if jumps != [0; 4] {
            return (1, jumps);
        }
        (0, std::array::from_fn(|d| movers[d] & self.on_board_from[0][d] & free_near[d]))
    }

    #[inline]
    fn can_jump_on(&self, s: &CheckersState) -> bool {
        self.movable(s).0 == 1
    }

    fn piece(&self, s: &CheckersState, i: u32) -> Option<char> {
        let owner = s.pieces.iter().position(|p| p >> i & 1 == 1)?;
        Some([['x', 'X'], ['o', 'O']][owner][(s.kings >> i & 1) as usize])
    }

    fn square(&self, i: u8) -> String {
        square((i as u32 % self.cols) as usize, (i as u32 / self.cols) as usize)
    }
}

impl Game for Checkers {
    type State = CheckersState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> CheckersState {
        let ranks = ((self.rows - 2) / 2).min(3) * self.cols;
        let low = self.dark & ((1u64 << ranks) - 1);
        let high = self.dark & !((1u64 << (self.cols * self.rows - ranks)) - 1);
        CheckersState { pieces: [low, high], kings: 0, mover: 0, jumper: NONE, quiet: 0 }
    }

    #[inline]
    fn mover(&self, s: &CheckersState) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &CheckersState, out: &mut Vec<Move>) {
        out.clear();
        let (length, movable) = self.movable(s);
        for from in ones(movable[0] | movable[1] | movable[2] | movable[3]) {
            for (dir, pieces) in movable.iter().enumerate() {
                if pieces >> from & 1 == 1 {
                    out.push(Move(self.number[length][dir][from as usize] as u32));
                }
            }
        }
    }

    #[inline]
    fn play(&self, s: &mut CheckersState, m: Move) {
        let (from, to, over) = self.moves[m.index()];
        let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
        let step = 1u64 << from | 1 << to;
        debug_assert!(s.pieces[me] & step == 1 << from);
        let king = s.kings >> from & 1 == 1;
        let crowned = !king && self.crown[me] >> to & 1 == 1;
        s.pieces[me] ^= step;
        s.pieces[you] &= !over;
        s.kings &= !(over | 1 << from);
        s.kings |= ((king || crowned) as u64) << to;
        s.quiet = if over == 0 { s.quiet + 1 } else { 0 };
        s.jumper = to;
        if over == 0 || crowned || !self.can_jump_on(s) {
            s.jumper = NONE;
            s.mover ^= 1;
        }
    }

    #[inline]
    fn outcome(&self, s: &CheckersState) -> Option<Payoffs> {
        if s.quiet >= self.draw {
            return Some(Payoffs::draw(2));
        }
        (self.movable(s).1 == [0; 4]).then(|| Payoffs::win(Player(s.mover ^ 1)))
    }

    fn facts(&self, s: &CheckersState, out: &mut Vec<Fact>) {
        out.clear();
        let cells = self.cols * self.rows;
        let fact = |i: u32| Fact(4 * i + 2 * (s.kings >> i & 1) as u32 + (s.pieces[1] >> i & 1) as u32);
        out.extend(ones(s.pieces[0] | s.pieces[1]).map(fact));
        if s.jumper != NONE {
            out.push(Fact(4 * cells + s.jumper as u32));
        }
        out.push(Fact(5 * cells + s.mover as u32));
        if s.quiet > 0 {
            out.push(Fact(5 * cells + 1 + s.quiet as u32));
        }
    }

    #[inline]
    fn play_facts(&self, s: &mut CheckersState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let before = *s;
        self.play(s, m);
        let cells = self.cols * self.rows;
        let piece =
            |s: &CheckersState, i: u32| Fact(4 * i + 2 * (s.kings >> i & 1) as u32 + (s.pieces[1] >> i & 1) as u32);
        let (old, new) = (before.pieces[0] | before.pieces[1], s.pieces[0] | s.pieces[1]);
        on.clear();
        off.clear();
        on.extend(ones(new & !old).map(|i| piece(s, i)));
        off.extend(ones(old & !new).map(|i| piece(&before, i)));
        // The facts other than pieces, of which each kind has one value at a time: jumper, mover, plies without a capture.
        let mut changed = |old: Option<u32>, new: Option<u32>| {
            if old != new {
                off.extend(old.map(Fact));
                on.extend(new.map(Fact));
            }
        };
        let jumper = |s: &CheckersState| (s.jumper != NONE).then(|| 4 * cells + s.jumper as u32);
        let mover = |s: &CheckersState| Some(5 * cells + s.mover as u32);
        let quiet = |s: &CheckersState| (s.quiet > 0).then(|| 5 * cells + 1 + s.quiet as u32);
        changed(jumper(&before), jumper(s));
        changed(mover(&before), mover(s));
        changed(quiet(&before), quiet(s));
    }

    #[inline]
    fn key(&self, s: &CheckersState) -> u64 {
        let rest = (s.quiet as u64) << 8 | s.jumper as u64;
        mix(mix(mix(s.pieces[0]) ^ s.pieces[1]) ^ s.kings ^ rest << 48) ^ MOVER[s.mover as usize]
    }

    fn mirrored(&self, s: &CheckersState) -> Option<CheckersState> {
        self.info.mirror.as_ref()?;
        let cells = self.cols * self.rows;
        let turn = |b: u64| b.reverse_bits() >> (64 - cells);
        let jumper = if s.jumper == NONE { NONE } else { (cells - 1) as u8 - s.jumper };
        let pieces = [turn(s.pieces[1]), turn(s.pieces[0])];
        Some(CheckersState { pieces, kings: turn(s.kings), mover: s.mover ^ 1, jumper, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        let (from, to, _) = self.moves[m.index()];
        self.square(from) + &self.square(to)
    }

    fn fact_name(&self, f: Fact) -> String {
        let cells = self.cols * self.rows;
        let cell = |i: u32| format!("{} {}", i % self.cols + 1, i / self.cols + 1);
        match f.0 {
            f if f < 4 * cells => format!("(cell {} {})", cell(f / 4), ["x", "o", "xk", "ok"][f as usize % 4]),
            f if f < 5 * cells => format!("(jump {})", cell(f - 4 * cells)),
            f if f < 5 * cells + 2 => format!("(control {})", ROLES[(f - 5 * cells) as usize]),
            f => format!("(quiet {})", f - 5 * cells - 1),
        }
    }

    fn position(&self, s: &CheckersState) -> String {
        let mut text = ranks::write(self.cols, self.rows, |i| self.piece(s, i));
        text += &format!(" {}", LETTERS[s.mover as usize]);
        if s.jumper != NONE {
            text += &format!(" jump={}", self.square(s.jumper));
        }
        if s.quiet > 0 {
            text += &format!(" quiet={}", s.quiet);
        }
        text
    }

    fn parse_position(&self, text: &str) -> Result<CheckersState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let mut fields = Fields::read(text, 2, "RANK/RANK/.. MOVER [jump=SQUARE] [quiet=N]")?;
        let mover = parse_mover(fields.words[1])?.0;
        let mut s = CheckersState { pieces: [0; 2], kings: 0, mover, jumper: NONE, quiet: 0 };
        for (i, ch) in ranks::read(fields.words[0], self.cols, self.rows, "xoXO")? {
            if self.dark >> i & 1 == 0 {
                return refuse(format!("{} is a light square", self.square(i as u8)));
            }
            s.pieces["oO".contains(ch) as usize] |= 1 << i;
            s.kings |= (ch.is_uppercase() as u64) << i;
        }
        for p in 0..2 {
            if let Some(i) = ones(s.pieces[p] & !s.kings & self.crown[p]).next() {
                return refuse(format!("a man on {} would have been crowned", self.square(i as u8)));
            }
        }
        s.quiet = fields.number("quiet", self.draw as u32)?.unwrap_or(0) as u8;
        if let Some(jump) = fields.take("jump") {
            let at = parse_square(jump, self.cols as usize, self.rows as usize);
            let at = at.map(|(c, r)| (r as u32 * self.cols + c as u32) as u8);
            let Some(at) = at.filter(|&i| s.pieces[mover as usize] >> i & 1 == 1) else {
                return refuse(format!("jump={} is not a square with a piece of the mover", excerpt(jump)));
            };
            s.jumper = at;
            if !self.can_jump_on(&s) {
                return refuse(format!("the piece on {} cannot go on jumping", self.square(at)));
            }
        }
        fields.finish()?;
        Ok(s)
    }

    fn show(&self, s: &CheckersState) -> String {
        let row = |r: u32| (0..self.cols).map(|c| self.piece(s, r * self.cols + c).unwrap_or('-')).collect();
        let rows = (0..self.rows).rev().map(|r| ((r + 1).to_string(), row(r)));
        format!("{}\n{}", grid(rows, &letters(self.cols as usize)), caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &CheckersState, rng: &mut Rng) -> Option<Move> {
        let (length, movable) = self.movable(s);
        let n = movable.map(u64::count_ones);
        let sums = [n[0], n[0] + n[1], n[0] + n[1] + n[2], n[0] + n[1] + n[2] + n[3]];
        if sums[3] == 0 {
            return None;
        }
        let i = rng.below(sums[3]);
        let dir = (i >= sums[0]) as usize + (i >= sums[1]) as usize + (i >= sums[2]) as usize;
        let from = select(movable[dir], i - (sums[dir] - n[dir]));
        Some(Move(self.number[length][dir][from as usize] as u32))
    }

    #[inline]
    fn count_legal(&self, s: &CheckersState) -> usize {
        self.movable(s).1.iter().map(|w| w.count_ones() as usize).sum()
    }
}
