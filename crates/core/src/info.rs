//! What is known about a game before any state of it: names, sizes, symmetries.

use crate::{Fact, Game, Move, Payoffs, mix};

/// Names and sizes of a game.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GameInfo {
    /// The name that opens exactly this variant, sizes and options included: `connect4:7x6x4`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The players' names, in order.
    pub roles: Vec<String>,
    /// Moves are numbered `0..moves`.
    pub moves: u32,
    /// Facts are numbered `0..facts`.
    pub facts: u32,
    /// Identifies the variant, its move names and its fact names: a model trained for one hash fits no other.
    pub rules_hash: u64,
    /// Where playouts and matches are cut, for games that might not end by themselves.
    pub horizon: Option<Horizon>,
    /// How the two roles map onto each other, where the rules treat them alike.
    pub mirror: Option<Mirror>,
    /// Payoffs always add up to zero and there are two players.
    pub zero_sum: bool,
}

/// A cap on the length of a playout or match.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Horizon {
    /// After this many plies ..
    pub plies: u32,
    /// .. everyone gets this.
    pub payoffs: Payoffs,
}

/// Permutations of facts and moves that exchange the two roles; each is its own inverse.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mirror {
    /// `facts[f]` is what fact `f` becomes.
    pub facts: Vec<Fact>,
    /// `moves[m]` is what move `m` becomes.
    pub moves: Vec<Move>,
}

impl GameInfo {
    /// A two-player zero-sum game with roles `x` and `o`, without horizon or mirror; see [`GameInfo::sealed`].
    pub fn two_player(name: impl Into<String>, title: impl Into<String>, moves: u32, facts: u32) -> Self {
        GameInfo {
            name: name.into(),
            title: title.into(),
            roles: vec!["x".into(), "o".into()],
            moves,
            facts,
            rules_hash: 0,
            horizon: None,
            mirror: None,
            zero_sum: true,
        }
    }

    /// The number of players.
    pub fn players(&self) -> usize {
        self.roles.len()
    }

    /// The part of the name before the options: `connect4`.
    pub fn family(&self) -> &str {
        self.name.split(':').next().unwrap_or(&self.name)
    }

    /// Fills in `rules_hash` for a game whose names are otherwise complete.
    pub fn sealed(mut self, game: &impl Game) -> Self {
        self.rules_hash = rules_hash(&self, game);
        self
    }
}

/// A hash of the variant's name, roles, move names and fact names.
pub fn rules_hash(info: &GameInfo, game: &impl Game) -> u64 {
    let mut hash = 0u64;
    let mut add = |text: &str| {
        hash = mix(hash ^ text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mix(hash ^ u64::from_le_bytes(word));
        }
    };
    add(&info.name);
    info.roles.iter().for_each(|r| add(r));
    (0..info.moves).for_each(|m| add(&game.move_name(Move(m))));
    (0..info.facts).for_each(|f| add(&game.fact_name(Fact(f))));
    hash
}
