//! Joint moves: one move for each role, in the order of roles, as a host sends them.

use super::lock;
use ludex_core::{Game, Move};
use ludex_gdl::GdlGame;
use std::sync::{Arc, Mutex};

/// The joint moves of a match in the order in which they came. A player and its workers share them; they are text, because
/// they may come before the rules are read.
#[derive(Clone, Default)]
pub struct JointMoves(Arc<Mutex<Vec<Vec<String>>>>);

impl JointMoves {
    /// Adds the joint move of the next step.
    pub fn push(&self, joint: Vec<String>) {
        lock(&self.0).push(joint);
    }

    /// The joint move of this number, if it has come.
    pub fn get(&self, number: usize) -> Option<Vec<String>> {
        lock(&self.0).get(number).cloned()
    }

    /// Whether both are the joint moves of the same match.
    pub fn same(&self, other: &JointMoves) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The moves of a joint move, legal or not; `None` if there is not one move of the game for each role.
pub fn parse_joint_move(game: &GdlGame, joint: &[String]) -> Option<Vec<Move>> {
    if joint.len() != game.info().players() {
        return None;
    }
    joint.iter().map(|text| parse_move(game, text)).collect()
}

/// The move of this name, legal or not. If no name is spelt like it, upper and lower case are the same, provided that only one
/// move is meant.
pub fn parse_move(game: &GdlGame, text: &str) -> Option<Move> {
    /// Beyond so many names, comparing all of them takes too long.
    const MOST_NAMES: u32 = 50_000;
    game.parse_move(text).or_else(|| {
        if game.info().moves > MOST_NAMES {
            return None;
        }
        let wanted = text.to_lowercase();
        let mut found = (0..game.info().moves).map(Move).filter(|&m| game.move_name(m).to_lowercase() == wanted);
        found.next().filter(|_| found.next().is_none())
    })
}

/// The number of the role of this name: as it is spelt, else with upper and lower case the same.
pub fn parse_role(game: &GdlGame, name: &str) -> Option<usize> {
    let roles = &game.info().roles;
    roles.iter().position(|r| r == name).or_else(|| roles.iter().position(|r| r.eq_ignore_ascii_case(name)))
}
