//! Where matches begin: the one generator of openings.

use crate::table::{Position, Table};
use ludex_core::{Control, Fact, Move, Rng};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Where the games of a contest begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Openings {
    /// After so many uniformly random legal plies from the start; different ones, as far as there are enough.
    Random(u32),
    /// At these positions, one after the other and again from the first.
    Listed(Vec<String>),
}

/// More random plies than this make no opening.
pub const MOST_PLIES: u32 = 10_000;

/// Plays a move unless it ends the game; whether it was played.
fn play_on(position: &mut Box<dyn Position>, m: Move) -> bool {
    if position.play(m).is_err() {
        return false;
    }
    let goes_on = position.outcome().is_none();
    if !goes_on {
        position.undo();
    }
    goes_on
}

/// Plays uniformly random legal moves, so many at most, but none that ends the game.
pub fn random_plies(mut position: Box<dyn Position>, plies: u32, rng: &mut Rng) -> Box<dyn Position> {
    for _ in 0..plies {
        let Some(&m) = rng.pick(&position.legal()) else { break };
        if !play_on(&mut position, m) {
            break;
        }
    }
    position
}

/// Lets an agent play both sides from the start, so many plies at most, but no move that ends the game.
pub fn played_by(
    agent: &mut dyn crate::Agent,
    table: &dyn Table,
    plies: u32,
) -> Result<Box<dyn Position>, crate::AgentError> {
    let mut position = table.start();
    for _ in 0..plies {
        let m = agent.choose(&*position, &Control::default())?.mv;
        if !play_on(&mut position, m) {
            break;
        }
    }
    Ok(position)
}

/// Positions after so many random plies, in none of which the game is over; different ones as far as there are enough.
pub fn random_openings(table: &dyn Table, n: usize, plies: u32, seed: u64) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut openings = Vec::new();
    for i in 0..n {
        let mut rng = Rng::stream(seed, i as u64);
        let mut draw = || random_plies(table.start(), plies, &mut rng).text();
        let mut text = draw();
        for _ in 0..50 {
            if seen.insert(text.clone()) {
                break;
            }
            text = draw();
        }
        openings.push(text);
    }
    openings
}

/// Random matches that go on side by side, at most.
const MOST_AT_ONCE: usize = 1 << 16;

/// After so many random moves that led to no new state, the game has no more.
const FRUITLESS: usize = 500_000;

/// So many different states near the start, as text, in none of which the game is over: those of random matches, in order of
/// depth. As many matches are played as may be enough if each has `length` plies, and more if they are not.
pub fn random_states(table: &dyn Table, wanted: usize, length: f64, seed: u64) -> Vec<String> {
    let mut seen: HashSet<Vec<Fact>> = HashSet::from([table.start().facts()]);
    let (mut states, mut fruitless) = (Vec::new(), 0);
    let (mut from, mut matches) = (0, ((wanted as f64 / length.max(1.0)) as usize + 1).min(MOST_AT_ONCE));
    while states.len() < wanted && fruitless < FRUITLESS {
        let mut lines: Vec<(Box<dyn Position>, Rng)> =
            (from..from + matches).map(|i| (table.start(), Rng::stream(seed, i as u64))).collect();
        while !lines.is_empty() && states.len() < wanted && fruitless < FRUITLESS {
            fruitless += lines.len();
            lines.retain_mut(|(position, rng)| {
                let Some(&m) = rng.pick(&position.legal()) else { return false };
                position.play(m).is_ok() && position.outcome().is_none()
            });
            for (position, _) in &lines {
                if states.len() < wanted && seen.insert(position.facts()) {
                    states.push(position.text());
                    fruitless = 0;
                }
            }
        }
        from += matches;
        matches = matches.max(16);
    }
    states
}

/// Mean plies of uniformly random matches: how long a playout is.
pub fn random_length(table: &dyn Table) -> f64 {
    const MATCHES: u64 = 200;
    let (_, plies) = table.start().playouts(MATCHES, &mut Rng::new(1));
    plies as f64 / MATCHES as f64
}
