//! The one trait that states a game's rules.
//!
//! Naming: a *state* is the generic value that rules work on; a *position* is the same thing as text; a *fact* is
//! something true of a state, `(cell 4 1 x)`; the *mover* is the player who chooses now.

use crate::{GameInfo, Payoffs, Rng, StableHasher, playout};
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A move, numbered densely within its game: `0..info().moves`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Move(pub u32);

/// Something that can be true of a state, numbered densely within its game: `0..info().facts`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fact(pub u32);

/// A player, numbered in the order of `info().roles`; in native games player 0 starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Player(pub u8);

impl Move {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Fact {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Player {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The other one, in a game of two.
    #[inline]
    pub fn other(self) -> Player {
        Player(self.0 ^ 1)
    }
}

/// Why a text is not a position or not a move: one line, addressed to whoever typed it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError(String);

impl TextError {
    /// An error with this line.
    pub fn new(line: impl Into<String>) -> Self {
        TextError(line.into())
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

/// The rules of a game.
///
/// Seven methods state the rules and four give them names and text; the rest have defaults and are overridden where it pays.
/// [`crate::laws::check`] tests what is promised here on random states: call it for every game you add.
pub trait Game: Send + Sync + 'static {
    /// All that the future depends on. `Eq` and `Hash` see the position without its history (see [`Game::history_key`]).
    type State: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    /// Names and sizes.
    fn info(&self) -> &GameInfo;

    /// Where a match starts.
    fn initial(&self) -> Self::State;

    /// Who chooses the next move. After the end: anybody, consistently.
    fn mover(&self, s: &Self::State) -> Player;

    /// Replaces `out` by all legal moves, in increasing order; empty exactly when the game is over.
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>);

    /// Plays a legal move. Legality is the caller's contract, checked once at the boundary.
    fn play(&self, s: &mut Self::State, m: Move);

    /// What each player got, if the game is over.
    fn outcome(&self, s: &Self::State) -> Option<Payoffs>;

    /// Replaces `out` by the facts that hold, in increasing order. Two states with the same facts are equal, unless
    /// choices are [hidden](Game::hidden).
    fn facts(&self, s: &Self::State, out: &mut Vec<Fact>);

    /// Plays a legal move and replaces `on` and `off` by the facts that it made true and untrue, in any order: what a net
    /// that follows a line of play needs. Overridden where listing all facts twice is slow.
    fn play_facts(&self, s: &mut Self::State, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        self.facts(s, off);
        self.play(s, m);
        self.facts(s, on);
        // Both are in order: one walk along them drops what they have in common.
        let (mut i, mut j, mut gone, mut new) = (0, 0, 0, 0);
        while i < off.len() || j < on.len() {
            match (off.get(i), on.get(j)) {
                (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
                (Some(&a), b) if b.is_none_or(|&b| a < b) => {
                    off[gone] = a;
                    (i, gone) = (i + 1, gone + 1);
                }
                _ => {
                    on[new] = on[j];
                    (j, new) = (j + 1, new + 1);
                }
            }
        }
        off.truncate(gone);
        on.truncate(new);
    }

    /// How clearly each player won a game that is over, in [-1, 1]: discs, boxes, goal values. `None` where the game is not
    /// over or knows no more than win, draw and loss. Its sign is that of the payoff. Learners may use it, results never do.
    fn margin(&self, _s: &Self::State) -> Option<Payoffs> {
        None
    }

    /// A move after which the game is over and the mover got 1, if there is one. Overridden where the board tells faster
    /// than trying all moves.
    fn win_in_one(&self, s: &Self::State) -> Option<Move> {
        thread_local!(static MOVES: RefCell<Vec<Move>> = const { RefCell::new(Vec::new()) });
        let mover = self.mover(s);
        MOVES.with_borrow_mut(|moves| {
            self.legal(s, moves);
            moves.iter().copied().find(|&m| {
                let mut child = s.clone();
                self.play(&mut child, m);
                self.outcome(&child).is_some_and(|p| p[mover] >= 1.0)
            })
        })
    }

    /// A hash for tables: equal for equal states; states with equal keys have equal moves and values. The same in every
    /// version of the program and of the standard library: searches depend on it.
    fn key(&self, s: &Self::State) -> u64 {
        let mut hasher = StableHasher::default();
        s.hash(&mut hasher);
        hasher.finish()
    }

    /// A hash of the past, as far as the future depends on it beyond [`Game::key`] (repetition rules); 0 if it does not.
    /// A table that must be exact uses `key ^ history_key`.
    fn history_key(&self, _s: &Self::State) -> u64 {
        0
    }

    /// Whether the state holds choices that its facts do not show: where moves are simultaneous, the roles choose one after
    /// another, and who chooses later must not see what was chosen before.
    fn hidden(&self, _s: &Self::State) -> bool {
        false
    }

    /// The state before the choices that are [hidden](Game::hidden): what everybody may know. The state itself if none are.
    fn before_hidden(&self, s: &Self::State) -> Self::State {
        s.clone()
    }

    /// A determinization: a state that the mover cannot tell from `s`, its hidden choices drawn anew at random.
    fn determinize(&self, s: &Self::State, rng: &mut Rng) -> Self::State {
        let mut drawn = self.before_hidden(s);
        if self.hidden(s) && !self.hidden(&drawn) {
            let mover = self.mover(s);
            while self.mover(&drawn) != mover {
                let Some(m) = self.sample(&drawn, rng) else { break };
                self.play(&mut drawn, m);
            }
        }
        drawn
    }

    /// Adds up the payoffs of `n` uniformly random playouts from `s`, by player, and gives the plies of all of them.
    /// Overridden where many can be played at once; which playouts are drawn may then depend on `n`.
    fn rollouts(&self, s: &Self::State, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        let mut plies = 0;
        for _ in 0..n {
            let (payoffs, p) = playout(self, &mut s.clone(), rng);
            totals.iter_mut().zip(payoffs.as_slice()).for_each(|(t, &v)| *t += v as f64);
            plies += p as u64;
        }
        plies
    }

    /// A hash of the mover's information set: [`Game::key`], unless choices are hidden; then equal for all states that differ
    /// only in those. A search that keeps one set of statistics per information set is *decoupled*: nobody answers a choice
    /// that it has not seen.
    fn infoset_key(&self, s: &Self::State) -> u64 {
        self.key(s)
    }

    /// The same state with the two roles exchanged, if the game has a [`crate::Mirror`].
    fn mirrored(&self, _s: &Self::State) -> Option<Self::State> {
        None
    }

    /// The state in which exactly these facts hold, given in increasing order, without a history; `None` if there is none, or
    /// where making it is not supported. Needed by [`crate::symmetry`] where the image of the initial state is another one.
    fn state_from_facts(&self, _facts: &[Fact]) -> Option<Self::State> {
        None
    }

    /// The move as people write it.
    fn move_name(&self, m: Move) -> String;

    /// The fact in GDL style.
    fn fact_name(&self, f: Fact) -> String;

    /// The state as one line of text from which [`Game::parse_position`] makes an equal state with an equal history.
    fn position(&self, s: &Self::State) -> String;

    /// Reads a position; `start` is the initial one. Never panics.
    fn parse_position(&self, text: &str) -> Result<Self::State, TextError>;

    /// The board for people, several lines, no trailing newline.
    fn show(&self, s: &Self::State) -> String {
        self.position(s)
    }

    /// Reads a move by its name, legal or not in a given state.
    fn parse_move(&self, text: &str) -> Option<Move> {
        let text = text.trim();
        (0..self.info().moves).map(Move).find(|&m| self.move_name(m) == text)
    }

    /// A legal move drawn uniformly, or `None` when the game is over. Must not allocate where it is overridden.
    fn sample(&self, s: &Self::State, rng: &mut Rng) -> Option<Move> {
        thread_local!(static MOVES: RefCell<Vec<Move>> = const { RefCell::new(Vec::new()) });
        MOVES.with_borrow_mut(|moves| {
            self.legal(s, moves);
            (!moves.is_empty()).then(|| moves[rng.below(moves.len() as u32) as usize])
        })
    }

    /// The number of legal moves.
    fn count_legal(&self, s: &Self::State) -> usize {
        thread_local!(static MOVES: RefCell<Vec<Move>> = const { RefCell::new(Vec::new()) });
        MOVES.with_borrow_mut(|moves| {
            self.legal(s, moves);
            moves.len()
        })
    }
}
