//! Nine Men's Morris: place nine men each, then move along the lines; three in a line (a mill) take a man of the opponent.
//!
//! The rules are those that Gasser (1996) solved. With exactly three men a player may fly to any free point. A man in a mill
//! may be taken only if all men of its player are in mills. A player with two men or without a move loses. Taking is a move
//! of its own by the same player. Draws: with `draw=repetition`, by the first position that repeats (Rezende &
//! Chaimowicz); with `draw=turns200`, after 200 turns, without a repetition rule (OpenSpiel).
//!
//! Points are numbered ring by ring, from the outermost, each clockwise from its top left corner. So a step along a ring is
//! a rotation of a byte, and a step across rings is a shift by eight. For repetition, a state keeps the moves since a man was
//! last placed or taken, at most the latest 128. They are not part of `Eq`, `Hash`, facts and `key`.
//!
//! Position: 24 characters in the order of points, the mover, men in hand `9/9`; then `remove=1`, `turn=57`, and `seen=` with
//! the earlier positions since a man was last placed or taken, oldest first, comma-separated.

use crate::bits::{MOVER, ones, select};
use crate::text::{Fields, LETTERS, ROLES, caption, excerpt, parse_mover, refuse, swap_pairs};
use ludex_core::{Fact, Game, GameInfo, Horizon, Mirror, Move, Payoffs, Player, Rng, TextError, mix};
use std::hash::{Hash, Hasher};

/// The draw rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draw {
    /// The first position that repeats is a draw.
    Repetition,
    /// The game is a draw after 200 turns. A move and the taking that follows it are one turn.
    Turns200,
}

const TURNS: u16 = 200;
const HISTORY: usize = 128;
const BOARD: u32 = 0xff_ffff;
/// The midpoints of the sides of the rings: the points with a line across rings.
const MIDDLE: u32 = 0xaa_aaaa;
const POINTS: [&str; 24] = [
    "a7", "d7", "g7", "g4", "g1", "d1", "a1", "a4", "b6", "d6", "f6", "f4", "f2", "d2", "b2", "b4", "c5", "d5", "e5",
    "e4", "e3", "d3", "c3", "c4",
];

// Moves: 24 placements, 24 takings, then all pairs of different points as from and to.
const TAKE: u32 = 24;
const STEP: u32 = 48;
const MOVES: u32 = STEP + 24 * 23;

// Facts: 48 of points, 2 of control, 18 of men in hand as (x 1)(o 1)(x 2).., 1 of `remove`, then the turns.
const CONTROL: u32 = 48;
const HAND: u32 = 50;
const REMOVE: u32 = 68;
const TURN: u32 = 69;

/// The rules of Nine Men's Morris.
pub struct Morris {
    info: GameInfo,
    draw: Draw,
    /// The two mills through each point.
    mills: [[u32; 2]; 24],
}

/// A state: men on the board and in hand, the mover, whether it must take a man, and the history for repetition.
#[derive(Clone, Copy, Debug)]
pub struct MorrisState {
    men: [u32; 2],
    hand: [u8; 2],
    mover: u8,
    remove: bool,
    ending: Ending,
    turn: u16,
    quiet: u8,
    history: [(u8, u8); HISTORY],
}

/// Whether the game has ended. A player without a move has lost too, but that is found only when asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Open,
    MoverLost,
    Drawn,
}

impl MorrisState {
    fn position(&self) -> ([u32; 2], [u8; 2], u8, bool, u16) {
        (self.men, self.hand, self.mover, self.remove, self.turn)
    }
}

impl PartialEq for MorrisState {
    fn eq(&self, other: &Self) -> bool {
        self.position() == other.position()
    }
}

impl Eq for MorrisState {}

impl Hash for MorrisState {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.position().hash(h);
    }
}

/// All rings rotated by one point, clockwise and counter-clockwise.
#[inline]
fn rotated(b: u32) -> (u32, u32) {
    ((b << 1 & 0xfe_fefe) | (b >> 7 & 0x01_0101), (b >> 1 & 0x7f_7f7f) | (b << 7 & 0x80_8080))
}

/// The men that are part of a mill.
#[inline]
fn in_mill(men: u32) -> u32 {
    let back = rotated(men).1;
    let side = men & back & rotated(back).1 & !MIDDLE; // corners that start a full side, clockwise
    let next = rotated(side).0;
    let across = men & men >> 8 & men >> 16 & 0xaa;
    side | next | rotated(next).0 | (across * 0x01_0101)
}

#[inline]
fn step(from: u32, to: u32) -> Move {
    Move(STEP + from * 23 + to - (to > from) as u32)
}

#[inline]
fn ends(m: Move) -> (u32, u32) {
    let (from, to) = ((m.0 - STEP) / 23, (m.0 - STEP) % 23);
    (from, to + (to >= from) as u32)
}

impl Morris {
    /// The rules with this draw rule.
    pub fn new(draw: Draw) -> Self {
        let lines = || {
            let sides = (0..3).flat_map(|ring| (0..4).map(move |s| [0, 1, 2].map(|i| ring * 8 + (2 * s + i) % 8)));
            sides.chain((0..4).map(|s| [0, 1, 2].map(|ring| ring * 8 + 2 * s + 1)))
        };
        let through = |p: u32| {
            let masks: Vec<u32> = lines().filter(|l| l.contains(&p)).map(|l| l.iter().map(|i| 1 << i).sum()).collect();
            [masks[0], masks[1]]
        };
        let (option, turns) = match draw {
            Draw::Repetition => ("repetition", 0),
            Draw::Turns200 => ("turns200", TURNS as u32),
        };
        let info = GameInfo::two_player(format!("morris:draw={option}"), "Nine Men's Morris", MOVES, TURN + turns);
        let mut game = Morris { info, draw, mills: std::array::from_fn(|p| through(p as u32)) };
        let swap = swap_pairs(REMOVE / 2);
        game.info.mirror = Some(Mirror {
            facts: (0..game.info.facts).map(swap).map(Fact).collect(),
            moves: (0..MOVES).map(Move).collect(),
        });
        if draw == Draw::Repetition {
            game.info.horizon = Some(Horizon { plies: 1_000, payoffs: Payoffs::draw(2) });
        }
        game.info = game.info.clone().sealed(&game);
        game
    }

    /// The men of each player on the board, as bits by point.
    pub fn men(&self, s: &MorrisState) -> [u32; 2] {
        s.men
    }

    /// The number of men in hand of each player.
    pub fn hand(&self, s: &MorrisState) -> [u8; 2] {
        s.hand
    }

    /// Whether the mover must take a man.
    pub fn removing(&self, s: &MorrisState) -> bool {
        s.remove
    }

    /// The two mills through a point, as bits.
    pub fn mills(&self, point: usize) -> [u32; 2] {
        self.mills[point]
    }

    /// The points of `free` that a man of `men` reaches in one step, by direction: clockwise, counter-clockwise, inwards,
    /// outwards.
    #[inline]
    pub fn reach(men: u32, free: u32) -> [u32; 4] {
        let (clockwise, counter) = rotated(men);
        let middle = men & MIDDLE;
        [clockwise & free, counter & free, middle << 8 & free, middle >> 8 & free]
    }

    /// The free points.
    #[inline]
    fn free(s: &MorrisState) -> u32 {
        BOARD & !(s.men[0] | s.men[1])
    }

    /// The men that the mover may take.
    #[inline]
    fn takeable(s: &MorrisState) -> u32 {
        let men = s.men[s.mover as usize ^ 1];
        let loose = men & !in_mill(men);
        if loose == 0 { men } else { loose }
    }

    /// The points that the men of the mover reach in one step along the lines, by direction.
    #[inline]
    fn steps(s: &MorrisState) -> [u32; 4] {
        Self::reach(s.men[s.mover as usize], Self::free(s))
    }

    /// Whether the mover has men enough but no move.
    #[inline]
    fn blocked(s: &MorrisState) -> bool {
        !s.remove && s.hand[s.mover as usize] == 0 && !Self::flies(s) && Self::steps(s) == [0; 4]
    }

    /// Whether the mover may fly.
    #[inline]
    fn flies(s: &MorrisState) -> bool {
        s.men[s.mover as usize].count_ones() <= 3
    }

    /// The point from which a step in direction `dir` leads to `to`.
    #[inline]
    fn origin(dir: usize, to: u32) -> u32 {
        match dir {
            0 => to & !7 | (to.wrapping_sub(1) & 7),
            1 => to & !7 | ((to + 1) & 7),
            2 => to - 8,
            _ => to + 8,
        }
    }

    /// Whether the position has occurred before since a man was last placed or taken.
    #[inline]
    fn repeats(s: &MorrisState) -> bool {
        let (mut changed, mut back) = ([0u32; 2], 0);
        for &(from, to) in s.history[..s.quiet as usize].iter().rev() {
            changed[back & 1] ^= 1 << from | 1 << to;
            back += 1;
            if back & 1 == 0 && changed == [0, 0] {
                return true;
            }
        }
        false
    }

    /// Appends a move to the history.
    #[inline]
    fn push_history(s: &mut MorrisState, from: u32, to: u32) {
        if s.quiet as usize == HISTORY {
            s.history.copy_within(1.., 0);
            s.quiet -= 1;
        }
        s.history[s.quiet as usize] = (from as u8, to as u8);
        s.quiet += 1;
    }

    /// The earlier positions since a man was last placed or taken, newest first.
    fn earlier_positions(s: &MorrisState) -> impl Iterator<Item = [u32; 2]> {
        let (mut men, mut player) = (s.men, s.mover as usize);
        s.history[..s.quiet as usize].iter().rev().map(move |&(from, to)| {
            player ^= 1;
            men[player] ^= 1 << from | 1 << to;
            men
        })
    }

    fn board(men: [u32; 2]) -> String {
        (0..24).map(|i| men.iter().position(|m| m >> i & 1 == 1).map_or('-', |p| LETTERS[p])).collect()
    }

    fn parse_board(text: &str) -> Result<[u32; 2], TextError> {
        if text.chars().count() != 24 {
            return refuse(format!("the board has 24 points, not {}", text.chars().count()));
        }
        let mut men = [0; 2];
        for (i, ch) in text.chars().enumerate() {
            match ch {
                'X' | 'x' => men[0] |= 1 << i,
                'O' | 'o' => men[1] |= 1 << i,
                '-' => {}
                _ => return refuse(format!("a point is X, O or -, not \"{}\"", excerpt(&ch.to_string()))),
            }
        }
        Ok(men)
    }

    /// Rebuilds the history from the field `seen=`, whose positions must lead to the current one move by move.
    fn parse_history(s: &mut MorrisState, seen: &str) -> Result<(), TextError> {
        let mut boards = seen.split(',').map(Self::parse_board).collect::<Result<Vec<_>, _>>()?;
        boards.push(s.men);
        if boards.len() > HISTORY + 1 {
            return refuse(format!("seen= holds at most {HISTORY} positions"));
        }
        let mut player = (s.mover as usize + boards.len() - 1) % 2;
        for pair in boards.windows(2) {
            let gone = pair[0][player] & !pair[1][player];
            let come = pair[1][player] & !pair[0][player];
            if gone.count_ones() != 1 || come.count_ones() != 1 || pair[0][player ^ 1] != pair[1][player ^ 1] {
                return refuse("the positions of seen= do not lead by quiet moves of alternating players to the board");
            }
            Self::push_history(s, gone.trailing_zeros(), come.trailing_zeros());
            player ^= 1;
        }
        Ok(())
    }
}

impl Game for Morris {
    type State = MorrisState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> MorrisState {
        MorrisState {
            men: [0; 2],
            hand: [9; 2],
            mover: 0,
            remove: false,
            ending: Ending::Open,
            turn: 0,
            quiet: 0,
            history: [(0, 0); HISTORY],
        }
    }

    #[inline]
    fn mover(&self, s: &MorrisState) -> Player {
        Player(s.mover)
    }

    fn legal(&self, s: &MorrisState, out: &mut Vec<Move>) {
        out.clear();
        if s.ending != Ending::Open {
            return;
        }
        let free = Self::free(s);
        if s.remove {
            out.extend(ones(Self::takeable(s) as u64).map(|p| Move(TAKE + p)));
        } else if s.hand[s.mover as usize] > 0 {
            out.extend(ones(free as u64).map(Move));
        } else {
            let flies = Self::flies(s);
            for from in ones(s.men[s.mover as usize] as u64) {
                let reach = if flies { free } else { Self::reach(1 << from, free).iter().fold(0, |a, b| a | b) };
                out.extend(ones(reach as u64).map(|to| step(from, to)));
            }
        }
    }

    #[inline]
    fn play(&self, s: &mut MorrisState, m: Move) {
        let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
        if s.remove {
            s.men[you] &= !(1 << (m.0 - TAKE));
            s.remove = false;
            s.mover ^= 1;
            if s.men[you].count_ones() + (s.hand[you] as u32) < 3 {
                s.ending = Ending::MoverLost;
            }
        } else {
            let to = if m.0 < TAKE {
                s.hand[me] -= 1;
                s.quiet = 0;
                m.0
            } else {
                let (from, to) = ends(m);
                s.men[me] ^= 1 << from;
                if self.draw == Draw::Repetition {
                    Self::push_history(s, from, to);
                }
                to
            };
            s.men[me] |= 1 << to;
            let [a, b] = self.mills[to as usize];
            if s.men[me] & a == a || s.men[me] & b == b {
                s.remove = true;
                s.quiet = 0;
            } else {
                s.mover ^= 1;
                if s.quiet > 3 && Self::repeats(s) {
                    s.ending = Ending::Drawn;
                }
            }
        }
        if self.draw == Draw::Turns200 && !s.remove {
            s.turn += 1;
            // A player that is blocked after the last turn loses; the game is not a draw.
            if s.turn >= TURNS && s.ending == Ending::Open && !Self::blocked(s) {
                s.ending = Ending::Drawn;
            }
        }
    }

    #[inline]
    fn outcome(&self, s: &MorrisState) -> Option<Payoffs> {
        match s.ending {
            Ending::Drawn => Some(Payoffs::draw(2)),
            Ending::MoverLost => Some(Payoffs::win(Player(s.mover ^ 1))),
            Ending::Open => Self::blocked(s).then(|| Payoffs::win(Player(s.mover ^ 1))),
        }
    }

    fn facts(&self, s: &MorrisState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones((s.men[0] | s.men[1]) as u64).map(|i| Fact(2 * i + (s.men[1] >> i & 1))));
        out.push(Fact(CONTROL + s.mover as u32));
        let mut hands = [0, 1].map(|p| (s.hand[p] > 0).then(|| HAND + 2 * (s.hand[p] as u32 - 1) + p as u32));
        hands.sort();
        out.extend(hands.into_iter().flatten().map(Fact));
        if s.remove {
            out.push(Fact(REMOVE));
        }
        if s.turn > 0 {
            out.push(Fact(TURN + s.turn as u32 - 1));
        }
    }

    fn play_facts(&self, s: &mut MorrisState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        let men = s.men;
        let rest = |s: &MorrisState| {
            let hand = |p: usize| (s.hand[p] > 0).then(|| HAND + 2 * (s.hand[p] as u32 - 1) + p as u32);
            let turn = (s.turn > 0).then(|| TURN + s.turn as u32 - 1);
            [Some(CONTROL + s.mover as u32), hand(0), hand(1), s.remove.then_some(REMOVE), turn]
        };
        let before = rest(s);
        self.play(s, m);
        on.clear();
        off.clear();
        for (p, (old, new)) in men.into_iter().zip(s.men).enumerate() {
            let fact = |i| Fact(2 * i + p as u32);
            on.extend(ones((new & !old) as u64).map(fact));
            off.extend(ones((old & !new) as u64).map(fact));
        }
        for (old, new) in before.into_iter().zip(rest(s)).filter(|(old, new)| old != new) {
            off.extend(old.map(Fact));
            on.extend(new.map(Fact));
        }
    }

    #[inline]
    fn key(&self, s: &MorrisState) -> u64 {
        let men = s.men[0] as u64 | (s.men[1] as u64) << 24;
        let rest = s.hand[0] as u64 | (s.hand[1] as u64) << 4 | (s.remove as u64) << 8 | (s.turn as u64) << 9;
        mix(mix(men) ^ rest) ^ MOVER[s.mover as usize]
    }

    #[inline]
    fn history_key(&self, s: &MorrisState) -> u64 {
        // The order of the earlier positions does not matter.
        Self::earlier_positions(s).fold(0, |h, men| h ^ mix(men[0] as u64 | (men[1] as u64) << 24 | 1 << 60))
    }

    fn mirrored(&self, s: &MorrisState) -> Option<MorrisState> {
        Some(MorrisState { men: [s.men[1], s.men[0]], hand: [s.hand[1], s.hand[0]], mover: s.mover ^ 1, ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        match m.0 {
            p if p < TAKE => POINTS[p as usize].into(),
            p if p < STEP => format!("x{}", POINTS[(p - TAKE) as usize]),
            _ => {
                let (from, to) = ends(m);
                format!("{}-{}", POINTS[from as usize], POINTS[to as usize])
            }
        }
    }

    fn parse_move(&self, text: &str) -> Option<Move> {
        let point = |t: &str| POINTS.iter().position(|&p| p == t).map(|p| p as u32);
        let text = text.trim();
        match (text.split_once('-'), text.strip_prefix('x')) {
            (Some((from, to)), _) => {
                let (from, to) = (point(from)?, point(to)?);
                (from != to).then(|| step(from, to))
            }
            (None, Some(taken)) => Some(Move(TAKE + point(taken)?)),
            (None, None) => Some(Move(point(text)?)),
        }
    }

    fn fact_name(&self, f: Fact) -> String {
        let role = ROLES[f.index() % 2];
        match f.0 {
            f if f < CONTROL => format!("(cell {} {role})", POINTS[f as usize / 2]),
            f if f < HAND => format!("(control {role})"),
            f if f < REMOVE => format!("(hand {role} {})", (f - HAND) / 2 + 1),
            REMOVE => "(remove)".into(),
            f => format!("(turn {})", f - TURN + 1),
        }
    }

    fn position(&self, s: &MorrisState) -> String {
        let mut text = format!("{} {} {}/{}", Self::board(s.men), LETTERS[s.mover as usize], s.hand[0], s.hand[1]);
        if s.remove {
            text += " remove=1";
        }
        if s.turn > 0 {
            text += &format!(" turn={}", s.turn);
        }
        if s.quiet > 0 {
            let mut seen: Vec<String> = Self::earlier_positions(s).map(Self::board).collect();
            seen.reverse();
            text += &format!(" seen={}", seen.join(","));
        }
        text
    }

    fn parse_position(&self, text: &str) -> Result<MorrisState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let mut fields = Fields::read(text, 3, "24 points, the mover, men in hand as 9/9")?;
        let mut s = self.initial();
        s.men = Self::parse_board(fields.words[0])?;
        s.mover = parse_mover(fields.words[1])?.0;
        let hands = fields.words[2].split_once('/').and_then(|(x, o)| Some([x.parse().ok()?, o.parse().ok()?]));
        s.hand = match hands {
            Some(hand @ [0..=9u8, 0..=9u8]) => hand,
            _ => return refuse(format!("men in hand read 9/9, not \"{}\"", excerpt(fields.words[2]))),
        };
        let have = [0, 1].map(|p| s.men[p].count_ones() + s.hand[p] as u32);
        if have.iter().any(|&n| n > 9) {
            return refuse("a player has at most nine men");
        }
        let (me, you) = (s.mover as usize, s.mover as usize ^ 1);
        s.remove = match fields.take("remove") {
            None | Some("0") => false,
            Some("1") if in_mill(s.men[me]) == 0 => return refuse("remove=1 needs a mill of the mover"),
            Some("1") if s.men[you] == 0 => return refuse("remove=1 needs a man to take"),
            Some("1") => true,
            Some(other) => return refuse(format!("remove={} is neither 0 nor 1", excerpt(other))),
        };
        match fields.number("turn", TURNS as u32)? {
            Some(n) if self.draw == Draw::Turns200 => s.turn = n as u16,
            Some(_) => return refuse("turn= belongs to morris:draw=turns200"),
            None => {}
        }
        if let Some(seen) = fields.take("seen") {
            if self.draw != Draw::Repetition || s.remove || s.hand[you] > 0 {
                return refuse(
                    "seen= belongs to morris:draw=repetition, after all men are placed and none is to be taken",
                );
            }
            Self::parse_history(&mut s, seen)?;
        }
        fields.finish()?;
        s.ending = match () {
            _ if have[you] < 3 => {
                return refuse(format!("{} has fewer than three men although the other is to move", LETTERS[you]));
            }
            _ if have[me] < 3 => Ending::MoverLost,
            _ if (s.turn >= TURNS && !Self::blocked(&s)) || Self::repeats(&s) => Ending::Drawn,
            _ => Ending::Open,
        };
        Ok(s)
    }

    fn show(&self, s: &MorrisState) -> String {
        let at = |i: usize| (0..2).find(|&p| s.men[p] >> i & 1 == 1).map_or('.', |p| LETTERS[p]);
        const FRAME: [&str; 13] = [
            "7  0-----------1-----------2",
            "   |           |           |",
            "6  |   8-------9-------A   |",
            "   |   |       |       |   |",
            "5  |   |   G---H---I   |   |",
            "   |   |   |       |   |   |",
            "4  7---F---N       J---B---3",
            "   |   |   |       |   |   |",
            "3  |   |   M---L---K   |   |",
            "   |   |       |       |   |",
            "2  |   E-------D-------C   |",
            "   |           |           |",
            "1  6-----------5-----------4",
        ];
        let draw = |line: &&str| {
            let (label, rest) = line.split_at(3);
            let cell = |ch: char| ch.to_digit(36).filter(|_| ch != '|').map_or(ch, |d| at(d as usize));
            format!("{label}{}\n", rest.chars().map(cell).collect::<String>())
        };
        let board: String = FRAME.iter().map(draw).collect();
        let todo = if s.remove { ", takes a man" } else { "" };
        let hands = format!("in hand X {} O {}", s.hand[0], s.hand[1]);
        format!("{board}   a   b   c   d   e   f   g\n{hands}, {}{todo}", caption(self.mover(s), self.outcome(s)))
    }

    #[inline]
    fn sample(&self, s: &MorrisState, rng: &mut Rng) -> Option<Move> {
        if s.ending != Ending::Open {
            return None;
        }
        let pick = |b: u32, rng: &mut Rng| select(b as u64, rng.below(b.count_ones()));
        if s.remove {
            return Some(Move(TAKE + pick(Self::takeable(s), rng)));
        }
        if s.hand[s.mover as usize] > 0 {
            return Some(Move(pick(Self::free(s), rng)));
        }
        if Self::flies(s) {
            let (men, free) = (s.men[s.mover as usize], Self::free(s));
            let n = rng.below(men.count_ones() * free.count_ones());
            let from = select(men as u64, n / free.count_ones());
            return Some(step(from, select(free as u64, n % free.count_ones())));
        }
        // Two directions per word, so that one selection finds the step.
        let [a, b, c, d] = Self::steps(s).map(|m| m as u64);
        let (near, far) = (a | b << 32, c | d << 32);
        let (n, m) = (near.count_ones(), far.count_ones());
        if n + m == 0 {
            return None;
        }
        let i = rng.below(n + m);
        let (at, dir) = if i < n { (select(near, i), 0) } else { (select(far, i - n), 2) };
        let (dir, to) = (dir + (at >= 32) as usize, at & 31);
        Some(step(Self::origin(dir, to), to))
    }

    fn count_legal(&self, s: &MorrisState) -> usize {
        let n = match () {
            _ if s.ending != Ending::Open => 0,
            _ if s.remove => Self::takeable(s).count_ones(),
            _ if s.hand[s.mover as usize] > 0 => Self::free(s).count_ones(),
            _ if Self::flies(s) => s.men[s.mover as usize].count_ones() * Self::free(s).count_ones(),
            _ => Self::steps(s).iter().map(|m| m.count_ones()).sum(),
        };
        n as usize
    }
}
