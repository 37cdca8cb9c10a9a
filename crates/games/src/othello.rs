//! Othello (Hasegawa 1971; Reversi with the fixed start): outflank, flip, most discs win; a player without a move passes.
//!
//! The game is over when neither player can place a disc. `pass` is a move, legal if and only if the mover can place none
//! and the opponent can. Boards have even sides from 4x4 to 8x8; `othello` is 8x8. A square has bit `row * 8 + column` on a
//! board of any size, a1 at the top left. Moves and flips are computed by parallel prefix fills in the eight directions (a
//! common technique, known from Gunnar Andersson's programs).
//!
//! Position: a character per square, a1, b1 .., and the mover.

use crate::bits::{MOVER, ones, select};
use crate::text::{
    Fields, LETTERS, ROLES, caption, excerpt, grid, letters, parse_mover, parse_square, refuse, square, swap_pairs,
};
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng, TextError, mix};

/// The rules of Othello on one board.
pub struct Othello {
    info: GameInfo,
    cols: usize,
    rows: usize,
    board: u64,
}

/// A state: the discs of each player, the mover and its moves, and whether the game is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OthelloState {
    discs: [u64; 2],
    mover: u8,
    over: bool,
    /// The squares where the mover can place a disc. Kept because every move needs it once.
    moves: u64,
}

/// All columns but the outer two: horizontal and diagonal fills within them cannot wrap around.
const INNER: u64 = 0x7e7e_7e7e_7e7e_7e7e;

/// The squares where a disc of `own` would outflank discs of `opp`.
#[inline]
fn moves(own: u64, opp: u64, board: u64) -> u64 {
    let empty = board & !(own | opp);
    // Discs on the outer columns can be outflanked only vertically. Smaller boards need no mask of their own, because no bit
    // is set beyond their edge.
    let mid = opp & INNER;
    let mut found = 0;
    macro_rules! along {
        ($shift:tt, $d:expr, $opp:expr) => {{
            let mut f = (own $shift $d) & $opp;
            f |= (f $shift $d) & $opp;
            let pair = $opp & ($opp $shift $d);
            f |= (f $shift (2 * $d)) & pair;
            f |= (f $shift (2 * $d)) & pair;
            found |= f $shift $d;
        }};
    }
    along!(<<, 1, mid);
    along!(>>, 1, mid);
    along!(<<, 8, opp);
    along!(>>, 8, opp);
    along!(<<, 9, mid);
    along!(>>, 9, mid);
    along!(<<, 7, mid);
    along!(>>, 7, mid);
    found & empty
}

/// The discs that a disc of `own` on the bit `at` flips.
#[inline]
fn flips(own: u64, opp: u64, at: u64) -> u64 {
    let mid = opp & INNER;
    let mut flipped = 0;
    macro_rules! along {
        ($shift:tt, $d:expr, $opp:expr) => {{
            let mut f = (at $shift $d) & $opp;
            f |= (f $shift $d) & $opp;
            let pair = $opp & ($opp $shift $d);
            f |= (f $shift (2 * $d)) & pair;
            f |= (f $shift (2 * $d)) & pair;
            flipped |= if (f $shift $d) & own != 0 { f } else { 0 };
        }};
    }
    along!(<<, 1, mid);
    along!(>>, 1, mid);
    along!(<<, 8, opp);
    along!(>>, 8, opp);
    along!(<<, 9, mid);
    along!(>>, 9, mid);
    along!(<<, 7, mid);
    along!(>>, 7, mid);
    flipped
}

impl Othello {
    /// The rules for this size.
    pub fn new(cols: usize, rows: usize) -> Result<Self, TextError> {
        let fits = |n: usize| n.is_multiple_of(2) && (4..=8).contains(&n);
        if !fits(cols) || !fits(rows) {
            return refuse(format!("othello takes boards of 4, 6 or 8 columns and rows, not {cols}x{rows}"));
        }
        let cells = (cols * rows) as u32;
        let name = format!("othello:{cols}x{rows}");
        let info = GameInfo::two_player(name, format!("Othello on {cols}x{rows}"), cells + 1, 2 * cells + 2);
        let board = (0..rows).flat_map(|r| (0..cols).map(move |c| 1 << (8 * r + c))).sum();
        let mut game = Othello { info, cols, rows, board };
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts).map(swap_pairs(cells + 1)).map(Fact).collect(),
            moves: (0..=cells).map(Move).collect(),
        });
        game.info = game.info.clone().sealed(&game);
        Ok(game)
    }

    /// The squares of the board, as bits `row * 8 + column`.
    pub fn board(&self) -> u64 {
        self.board
    }

    /// The discs of each player, as bits.
    pub fn discs(&self, s: &OthelloState) -> [u64; 2] {
        s.discs
    }

    /// The squares where this player could place a disc if it were to move, as bits.
    pub fn mobility(&self, s: &OthelloState, p: Player) -> u64 {
        moves(s.discs[p.index()], s.discs[p.index() ^ 1], self.board)
    }

    fn pass(&self) -> Move {
        Move(self.info.moves - 1)
    }

    #[inline]
    fn bit(&self, m: u32) -> u32 {
        if self.cols == 8 { m } else { m / self.cols as u32 * 8 + m % self.cols as u32 }
    }

    #[inline]
    fn at(&self, bit: u32) -> u32 {
        if self.cols == 8 { bit } else { bit / 8 * self.cols as u32 + bit % 8 }
    }

    /// Computes the moves of the mover, and whether the game is over.
    #[inline]
    fn find_moves(&self, s: &mut OthelloState) {
        let (own, opp) = (s.discs[s.mover as usize], s.discs[s.mover as usize ^ 1]);
        s.moves = moves(own, opp, self.board);
        s.over = s.moves == 0 && moves(opp, own, self.board) == 0;
    }

    fn cells(&self, s: &OthelloState) -> impl Iterator<Item = char> {
        (0..self.info.moves - 1).map(|m| {
            let bit = 1 << self.bit(m);
            s.discs.iter().position(|d| d & bit != 0).map_or('-', |p| LETTERS[p])
        })
    }
}

impl Game for Othello {
    type State = OthelloState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> OthelloState {
        // The second player starts on the main diagonal of the centre (d4 and e5 on 8x8), the first on d5 and e4.
        let at = |c: usize, r: usize| 1u64 << (8 * r + c);
        let (c, r) = (self.cols / 2, self.rows / 2);
        let black = at(c - 1, r) | at(c, r - 1);
        let white = at(c - 1, r - 1) | at(c, r);
        let mut s = OthelloState { discs: [black, white], mover: 0, over: false, moves: 0 };
        self.find_moves(&mut s);
        s
    }

    #[inline]
    fn mover(&self, s: &OthelloState) -> Player {
        Player(s.mover)
    }

    #[inline]
    fn legal(&self, s: &OthelloState, out: &mut Vec<Move>) {
        out.clear();
        out.extend(ones(s.moves).map(|i| Move(self.at(i))));
        if s.moves == 0 && !s.over {
            out.push(self.pass());
        }
    }

    #[inline]
    fn play(&self, s: &mut OthelloState, m: Move) {
        if m != self.pass() {
            let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
            let at = 1 << self.bit(m.0);
            debug_assert!(s.moves & at != 0);
            let f = flips(s.discs[me], s.discs[you], at);
            s.discs[me] |= f | at;
            s.discs[you] &= !f;
        }
        s.mover ^= 1;
        self.find_moves(s);
    }

    #[inline]
    fn outcome(&self, s: &OthelloState) -> Option<Payoffs> {
        s.over.then(|| match s.discs[0].count_ones().cmp(&s.discs[1].count_ones()) {
            std::cmp::Ordering::Greater => Payoffs::win(Player(0)),
            std::cmp::Ordering::Less => Payoffs::win(Player(1)),
            std::cmp::Ordering::Equal => Payoffs::draw(2),
        })
    }

    /// The difference in discs, divided by the number of squares.
    fn margin(&self, s: &OthelloState) -> Option<Payoffs> {
        let [x, o] = s.discs.map(|d| d.count_ones() as f32);
        s.over.then(|| Payoffs::of(Player(0), (x - o) / self.board.count_ones() as f32))
    }

    fn facts(&self, s: &OthelloState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones(s.discs[0] | s.discs[1]).map(|i| Fact(2 * self.at(i) + (s.discs[1] >> i & 1) as u32)));
        out.push(Fact(2 * (self.info.moves - 1) + s.mover as u32));
    }

    fn play_facts(&self, s: &mut OthelloState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let (discs, turn) = (s.discs, 2 * (self.info.moves - 1));
        on.clear();
        off.clear();
        off.push(Fact(turn + s.mover as u32));
        self.play(s, m);
        on.push(Fact(turn + s.mover as u32));
        for (p, (old, new)) in discs.into_iter().zip(s.discs).enumerate() {
            let fact = |i| Fact(2 * self.at(i) + p as u32);
            on.extend(ones(new & !old).map(fact));
            off.extend(ones(old & !new).map(fact));
        }
    }

    #[inline]
    fn key(&self, s: &OthelloState) -> u64 {
        mix(mix(s.discs[0]) ^ s.discs[1]) ^ MOVER[s.mover as usize]
    }

    fn mirrored(&self, s: &OthelloState) -> Option<OthelloState> {
        Some(OthelloState { discs: [s.discs[1], s.discs[0]], mover: s.mover ^ 1, ..*s })
    }

    fn state_from_facts(&self, facts: &[Fact]) -> Option<OthelloState> {
        let turn = 2 * (self.info.moves - 1);
        let (mover, discs) = facts.split_last()?;
        let mover = mover.0.checked_sub(turn).filter(|&p| p < 2)? as u8;
        let mut s = OthelloState { discs: [0; 2], mover, over: false, moves: 0 };
        for f in discs {
            s.discs[f.index() % 2] |= (f.0 < turn).then(|| 1 << self.bit(f.0 / 2))?;
        }
        self.find_moves(&mut s);
        (s.discs[0] & s.discs[1] == 0).then_some(s)
    }

    fn move_name(&self, m: Move) -> String {
        if m == self.pass() { "pass".into() } else { square(m.index() % self.cols, m.index() / self.cols) }
    }

    fn parse_move(&self, text: &str) -> Option<Move> {
        let text = text.trim();
        if text == "pass" {
            return Some(self.pass());
        }
        parse_square(text, self.cols, self.rows).map(|(c, r)| Move((r * self.cols + c) as u32))
    }

    fn fact_name(&self, f: Fact) -> String {
        let (cell, role) = (f.index() / 2, ROLES[f.index() % 2]);
        match cell == self.cols * self.rows {
            true => format!("(control {role})"),
            false => format!("(cell {} {} {role})", cell % self.cols + 1, cell / self.cols + 1),
        }
    }

    fn position(&self, s: &OthelloState) -> String {
        format!("{} {}", self.cells(s).collect::<String>(), LETTERS[s.mover as usize])
    }

    fn parse_position(&self, text: &str) -> Result<OthelloState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let cells = self.cols * self.rows;
        let fields = Fields::read(text, 2, &format!("{cells} characters from a1, a space, the mover"))?;
        let mut s = OthelloState { discs: [0; 2], mover: parse_mover(fields.words[1])?.0, over: false, moves: 0 };
        let board = fields.words[0];
        fields.finish()?;
        if board.chars().count() != cells {
            return refuse(format!("the board has {cells} squares, not {}", board.chars().count()));
        }
        for (m, ch) in board.chars().enumerate() {
            let bit = 1 << self.bit(m as u32);
            match ch {
                'X' | 'x' => s.discs[0] |= bit,
                'O' | 'o' => s.discs[1] |= bit,
                '-' => {}
                _ => return refuse(format!("a square is X, O or -, not \"{}\"", excerpt(&ch.to_string()))),
            }
        }
        self.find_moves(&mut s);
        Ok(s)
    }

    fn show(&self, s: &OthelloState) -> String {
        let cells: Vec<char> = self.cells(s).collect();
        let rows = cells.chunks(self.cols).enumerate().map(|(r, row)| ((r + 1).to_string(), row.to_vec()));
        let count = s.discs.map(u64::count_ones);
        let caption = caption(self.mover(s), self.outcome(s));
        format!("{}\nX {} O {}, {caption}", grid(rows, &letters(self.cols)), count[0], count[1])
    }

    #[inline]
    fn sample(&self, s: &OthelloState, rng: &mut Rng) -> Option<Move> {
        if s.moves != 0 {
            return Some(Move(self.at(select(s.moves, rng.below(s.moves.count_ones())))));
        }
        (!s.over).then(|| self.pass())
    }

    #[inline]
    fn count_legal(&self, s: &OthelloState) -> usize {
        if s.moves != 0 { s.moves.count_ones() as usize } else { !s.over as usize }
    }
}
