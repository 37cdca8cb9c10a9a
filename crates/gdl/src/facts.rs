//! Facts about a rulesheet that any two correct engines must agree on: roles, legal moves, perft, playout means.
//!
//! Everything here is in *joint* moves, one of each role, as the language defines a step: a `noop` is a move and is counted.

use crate::desk::{Desk, Engine, Turn};
use crate::game::GdlGame;
use ludex_core::{Game, MAX_PLAYERS, Move, Rng};
use serde::Serialize;
use std::collections::HashMap;

/// What to find out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FactsOptions {
    /// Perft up to this depth.
    pub depth: u32,
    /// Random playouts.
    pub playouts: u64,
    /// Everything random comes from here.
    pub seed: u64,
}

/// Perft to depth 3 and 1,000 playouts.
impl Default for FactsOptions {
    fn default() -> Self {
        FactsOptions { depth: 3, playouts: 1_000, seed: 1 }
    }
}

/// Facts about a rulesheet, as `ludex gdl facts --json` prints them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FactsReport {
    /// The version of this layout.
    pub schema: u32,
    /// The game's name.
    pub name: String,
    /// Identifies the rules.
    pub rules_hash: String,
    /// The roles, in order.
    pub roles: Vec<String>,
    /// How many facts hold at the start.
    pub initial_facts: usize,
    /// How many legal moves each role has at the start.
    pub initial_legal: Vec<u32>,
    /// `perft[d - 1]`: sequences of `d` joint moves from the start; a finished game has no continuation.
    pub perft: Vec<u64>,
    /// Random playouts, unless none were asked for.
    pub playouts: Option<PlayoutFacts>,
    /// Reading, grounding and wiring.
    pub set_up_seconds: f64,
    /// How large the rules are once grounded.
    pub net: Size,
    /// What the game was seen to be like.
    pub habits: HabitFacts,
}

/// Means over random playouts in which every role picks uniformly and independently.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlayoutFacts {
    /// How many.
    pub n: u64,
    /// Joint moves per playout.
    pub mean_length: f64,
    /// Its standard error.
    pub se_length: f64,
    /// The shortest.
    pub min_length: u32,
    /// The longest.
    pub max_length: u32,
    /// Goal by role, over the playouts that ended with a goal for each; of several the highest, as in play.
    pub mean_goal: Vec<f64>,
    /// Their standard errors.
    pub se_goal: Vec<f64>,
    /// Playouts that ended without a goal, or with several, for some role.
    pub goal_errors: u64,
    /// Playouts that stopped because a role had no legal move before the end.
    pub no_legal_move_errors: u64,
    /// Playouts that were cut because they did not end.
    pub cut: u64,
    /// The seed.
    pub seed: u64,
}

/// How large a game is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Size {
    /// `net`, or `interpreter` where the rules are too large for one.
    pub engine: &'static str,
    /// Facts that can ever hold.
    pub facts: usize,
    /// Different moves.
    pub moves: usize,
    /// Gates of the net.
    pub gates: usize,
    /// Inputs of gates, all together.
    pub wires: usize,
    /// Groups of gates that depend on themselves.
    pub loops: usize,
}

/// The parts of [`crate::Habits`] that are numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HabitFacts {
    /// At most one role was ever seen to have a choice.
    pub turn_taking: bool,
    /// The sum of goals, if it was always the same.
    pub constant_sum: Option<i32>,
    /// A proved bound on the length.
    pub at_most: Option<u32>,
    /// Sets of facts of which exactly one held.
    pub exclusive_sets: usize,
}

/// Finds the facts.
pub fn facts(game: &GdlGame, options: &FactsOptions) -> FactsReport {
    let roles = game.info().players();
    let start = game.initial();
    let mut held = Vec::new();
    game.facts(&start, &mut held);
    let habits = game.habits();
    FactsReport {
        schema: 1,
        name: game.info().name.clone(),
        rules_hash: format!("{:016x}", game.info().rules_hash),
        roles: game.info().roles.clone(),
        initial_facts: held.len(),
        initial_legal: (0..roles).map(|r| game.legal_moves(&start, r).len() as u32).collect(),
        perft: joint_perft(game, options.depth),
        playouts: (options.playouts > 0).then(|| playouts(game, options)),
        set_up_seconds: game.set_up().as_secs_f64(),
        net: size(game),
        habits: HabitFacts {
            turn_taking: habits.turn_taking,
            constant_sum: habits.constant_sum,
            at_most: habits.at_most,
            exclusive_sets: habits.exclusive.len(),
        },
    }
}

/// How large the game is.
pub fn size(game: &GdlGame) -> Size {
    let (engine, gates, wires, loops) = match &game.engine {
        Engine::Net { net, .. } => ("net", net.gates(), net.wires(), net.loops.len()),
        Engine::Rules { .. } => ("interpreter", 0, 0, 0),
    };
    Size { engine, facts: game.names.facts.len(), moves: game.names.moves.len(), gates, wires, loops }
}

/// Sequences of 1, 2, .. `depth` joint moves. Each depth is counted over the *different* states of the one before.
pub fn joint_perft(game: &GdlGame, depth: u32) -> Vec<u64> {
    /// Beyond this many different states, branches are counted one by one, in constant memory.
    const KEPT: usize = 2_000_000;
    let mut counts = vec![0u64; depth as usize];
    let mut states: HashMap<Vec<u64>, u64> = HashMap::new();
    states.insert(game.fact_words(&game.initial()).to_vec(), 1);
    let Ok(mut desk) = game.engine.desk() else { return counts };
    for d in 0..depth as usize {
        let mut next: HashMap<Vec<u64>, u64> = HashMap::new();
        let last = d + 1 == depth as usize;
        for (facts, &ways) in &states {
            let joint = joint_moves(game, &mut desk, facts);
            counts[d] = counts[d].saturating_add(joint.count().saturating_mul(ways));
            if last {
                continue;
            }
            if next.len() > KEPT {
                joint.each(|moves| {
                    game.engine.seek(&mut desk, facts);
                    game.engine.step(&mut desk, moves);
                    let child = desk.facts().to_vec();
                    branch(game, &mut desk, &child, ways, &mut counts[d + 1..]);
                });
                continue;
            }
            joint.each(|moves| {
                game.engine.seek(&mut desk, facts);
                game.engine.step(&mut desk, moves);
                *next.entry(desk.facts().to_vec()).or_insert(0) += ways;
            });
        }
        states = next;
    }
    counts
}

fn branch(game: &GdlGame, desk: &mut Desk, facts: &[u64], ways: u64, counts: &mut [u64]) {
    let Some((count, deeper)) = counts.split_first_mut() else { return };
    let joint = joint_moves(game, desk, facts);
    *count = count.saturating_add(joint.count().saturating_mul(ways));
    if deeper.is_empty() {
        return;
    }
    joint.each(|moves| {
        game.engine.seek(desk, facts);
        game.engine.step(desk, moves);
        let child = desk.facts().to_vec();
        branch(game, desk, &child, ways, deeper);
    });
}

/// The legal moves of all roles at a state that is not over.
struct Joint(Vec<Vec<Move>>);

fn joint_moves(game: &GdlGame, desk: &mut Desk, facts: &[u64]) -> Joint {
    game.engine.seek(desk, facts);
    let mut all = vec![Vec::new(); game.info().players()];
    if game.turn(desk) != Turn::Over {
        all.iter_mut().enumerate().for_each(|(r, moves)| game.engine.legal_of(desk, r, moves));
    }
    Joint(all)
}

impl Joint {
    fn count(&self) -> u64 {
        self.0.iter().fold(1u64, |n, moves| n.saturating_mul(moves.len() as u64))
    }

    fn each(&self, mut f: impl FnMut(&[u32])) {
        if self.0.iter().any(Vec::is_empty) {
            return;
        }
        let mut at = vec![0; self.0.len()];
        loop {
            let mut moves = [0; MAX_PLAYERS];
            at.iter().enumerate().for_each(|(r, &i)| moves[r] = self.0[r][i].0);
            f(&moves[..at.len()]);
            let Some(r) = (0..at.len()).find(|&r| at[r] + 1 < self.0[r].len()) else { return };
            at[..r].fill(0);
            at[r] += 1;
        }
    }
}

/// Sums from which a mean and its standard error follow.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        self.sum += x;
        self.squares += x * x;
    }

    fn mean(&self) -> f64 {
        if self.n > 0.0 { self.sum / self.n } else { 0.0 }
    }

    fn standard_error(&self) -> f64 {
        if self.n < 2.0 {
            return 0.0;
        }
        let variance = (self.squares - self.sum * self.sum / self.n) / (self.n - 1.0);
        (variance.max(0.0) / self.n).sqrt()
    }
}

/// Plays at random, every role for itself.
fn playouts(game: &GdlGame, options: &FactsOptions) -> PlayoutFacts {
    let roles = game.info().players();
    let cap = game.info().horizon.map_or(u32::MAX, |h| h.plies / roles as u32);
    let start = game.initial();
    let mut rng = Rng::new(options.seed);
    let (mut lengths, mut goals) = (Sums::default(), vec![Sums::default(); roles]);
    let (mut min_length, mut max_length) = (u32::MAX, 0);
    let (mut goal_errors, mut stuck, mut cut) = (0, 0, 0);
    let mut desk = game.engine.desk().expect("an evaluator was made before");
    for _ in 0..options.playouts {
        game.engine.seek(&mut desk, game.fact_words(&start));
        let mut length = 0;
        while game.turn(&mut desk) != Turn::Over && length < cap {
            let mut joint = [0; MAX_PLAYERS];
            for (r, m) in joint[..roles].iter_mut().enumerate() {
                *m = game.engine.nth(&desk, r, rng.below(game.engine.count(&desk, r)));
            }
            game.engine.step(&mut desk, &joint[..roles]);
            length += 1;
        }
        lengths.add(length as f64);
        (min_length, max_length) = (min_length.min(length), max_length.max(length));
        if !game.engine.terminal(&desk) {
            if length >= cap { cut += 1 } else { stuck += 1 }
        }
        let reached: Vec<Vec<i32>> = (0..roles).map(|r| game.engine.goals_of(&mut desk, r)).collect();
        goal_errors += reached.iter().any(|g| g.len() != 1) as u64;
        if let Some(highest) = reached.iter().map(|g| g.last().copied()).collect::<Option<Vec<i32>>>() {
            goals.iter_mut().zip(highest).for_each(|(sums, g)| sums.add(g as f64));
        }
    }
    PlayoutFacts {
        n: options.playouts,
        mean_length: lengths.mean(),
        se_length: lengths.standard_error(),
        min_length,
        max_length,
        mean_goal: goals.iter().map(Sums::mean).collect(),
        se_goal: goals.iter().map(Sums::standard_error).collect(),
        goal_errors,
        no_legal_move_errors: stuck,
        cut,
        seed: options.seed,
    }
}
