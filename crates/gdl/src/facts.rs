//! Reports facts about a game that any two correct engines must agree on: roles, legal moves, perft, playout means.
//!
//! Everything is counted in *joint* moves, one of each role, as GDL defines a step; a `noop` is a move and is counted.

use crate::evaluator::{Engine, Evaluator, Turn};
use crate::game::GdlGame;
use ludex_core::{Game, MAX_PLAYERS, Move, Rng};
use serde::Serialize;
use std::collections::HashMap;

/// What to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FactsOptions {
    /// The depth of perft, in joint moves.
    pub depth: u32,
    /// The number of random playouts.
    pub playouts: u64,
    /// The seed of the random playouts.
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
    /// The hash of the rules, as 16 hexadecimal digits.
    pub rules_hash: String,
    /// The roles, in order.
    pub roles: Vec<String>,
    /// The number of facts that hold at the start.
    pub initial_facts: usize,
    /// The number of legal moves of each role at the start.
    pub initial_legal: Vec<u32>,
    /// `perft[d - 1]` is the number of sequences of `d` joint moves from the start.
    pub perft: Vec<u64>,
    /// The results of random playouts, unless none were asked for.
    pub playouts: Option<PlayoutStats>,
    /// The wall-clock time that opening the sheet took.
    pub set_up_seconds: f64,
    /// The size of the game.
    pub net: GameSize,
    /// Properties that were inferred about the game.
    #[serde(rename = "habits")]
    pub inferred: InferredSummary,
}

/// Results of random playouts in which every role draws uniformly and independently.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlayoutStats {
    /// The number of playouts.
    pub n: u64,
    /// The mean number of joint moves.
    pub mean_length: f64,
    /// The standard error of `mean_length`.
    pub se_length: f64,
    /// The number of joint moves of the shortest playout.
    pub min_length: u32,
    /// The number of joint moves of the longest playout.
    pub max_length: u32,
    /// The mean goal of each role over the playouts in which every role had a goal; of several goals the highest counts.
    pub mean_goal: Vec<f64>,
    /// The standard errors of `mean_goal`.
    pub se_goal: Vec<f64>,
    /// The number of playouts in which some role had no goal or several.
    pub goal_errors: u64,
    /// The number of playouts that stopped because a role had no legal move, though the game was not terminal.
    pub no_legal_move_errors: u64,
    /// The number of playouts that were cut at the horizon.
    pub cut: u64,
    /// The seed of the playouts.
    pub seed: u64,
}

/// The size of a game.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GameSize {
    /// `net`, or `interpreter` if the propositional network would be too large.
    pub engine: &'static str,
    /// The number of possible facts.
    pub facts: usize,
    /// The number of different moves.
    pub moves: usize,
    /// The number of gates of the network.
    pub gates: usize,
    /// The number of inputs of all gates.
    pub wires: usize,
    /// The number of groups of gates that depend on themselves.
    pub loops: usize,
}

/// The numbers of [`crate::InferredProperties`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InferredSummary {
    /// Whether no state was seen in which two roles had a choice.
    pub turn_taking: bool,
    /// The sum of all goals at the end, if it was the same in every match.
    pub constant_sum: Option<i32>,
    /// A proved bound on the number of steps.
    #[serde(rename = "at_most")]
    pub max_steps: Option<u32>,
    /// The number of sets of facts of which exactly one held in every state examined.
    pub exclusive_sets: usize,
}

/// Reports the facts about a game.
pub fn facts(game: &GdlGame, options: &FactsOptions) -> FactsReport {
    let roles = game.info().players();
    let start = game.initial();
    let mut held = Vec::new();
    game.facts(&start, &mut held);
    let inferred = game.inferred();
    FactsReport {
        schema: 1,
        name: game.info().name.clone(),
        rules_hash: format!("{:016x}", game.info().rules_hash),
        roles: game.info().roles.clone(),
        initial_facts: held.len(),
        initial_legal: (0..roles).map(|r| game.legal_moves(&start, r).len() as u32).collect(),
        perft: joint_perft(game, options.depth),
        playouts: (options.playouts > 0).then(|| playouts(game, options)),
        set_up_seconds: game.set_up_time().as_secs_f64(),
        net: size(game),
        inferred: InferredSummary {
            turn_taking: inferred.turn_taking,
            constant_sum: inferred.constant_sum,
            max_steps: inferred.max_steps,
            exclusive_sets: inferred.exclusive_sets.len(),
        },
    }
}

/// The size of a game.
pub fn size(game: &GdlGame) -> GameSize {
    let (engine, gates, wires, loops) = match &game.engine {
        Engine::Propnet { net, .. } => ("net", net.gates(), net.wires(), net.loops.len()),
        Engine::Interpreter { .. } => ("interpreter", 0, 0, 0),
    };
    GameSize { engine, facts: game.names.facts.len(), moves: game.names.moves.len(), gates, wires, loops }
}

/// Counts the sequences of 1, 2, .. `depth` joint moves. Equal states at one depth are expanded once.
pub fn joint_perft(game: &GdlGame, depth: u32) -> Vec<u64> {
    /// Beyond this many different states at one depth, sequences are counted by depth-first search, in constant memory.
    const MAX_STATES: usize = 2_000_000;
    let mut counts = vec![0u64; depth as usize];
    let mut states: HashMap<Vec<u64>, u64> = HashMap::new();
    states.insert(game.fact_words(&game.initial()).to_vec(), 1);
    let Ok(mut evaluator) = game.engine.new_evaluator() else { return counts };
    for d in 0..depth as usize {
        let mut next: HashMap<Vec<u64>, u64> = HashMap::new();
        let last = d + 1 == depth as usize;
        for (facts, &ways) in &states {
            let joint = joint_moves(game, &mut evaluator, facts);
            counts[d] = counts[d].saturating_add(joint.count().saturating_mul(ways));
            if last {
                continue;
            }
            if next.len() > MAX_STATES {
                joint.each(|moves| {
                    game.engine.seek(&mut evaluator, facts);
                    game.engine.step(&mut evaluator, moves);
                    let child = evaluator.facts().to_vec();
                    count_below(game, &mut evaluator, &child, ways, &mut counts[d + 1..]);
                });
                continue;
            }
            joint.each(|moves| {
                game.engine.seek(&mut evaluator, facts);
                game.engine.step(&mut evaluator, moves);
                *next.entry(evaluator.facts().to_vec()).or_insert(0) += ways;
            });
        }
        states = next;
    }
    counts
}

/// Adds the sequences from a state that is reached in `ways` ways to `counts`, depth first.
fn count_below(game: &GdlGame, evaluator: &mut Evaluator, facts: &[u64], ways: u64, counts: &mut [u64]) {
    let Some((count, deeper)) = counts.split_first_mut() else { return };
    let joint = joint_moves(game, evaluator, facts);
    *count = count.saturating_add(joint.count().saturating_mul(ways));
    if deeper.is_empty() {
        return;
    }
    joint.each(|moves| {
        game.engine.seek(evaluator, facts);
        game.engine.step(evaluator, moves);
        let child = evaluator.facts().to_vec();
        count_below(game, evaluator, &child, ways, deeper);
    });
}

/// The legal moves of each role at a state; empty if the game is over.
struct JointMoves(Vec<Vec<Move>>);

/// The joint moves at a state.
fn joint_moves(game: &GdlGame, evaluator: &mut Evaluator, facts: &[u64]) -> JointMoves {
    game.engine.seek(evaluator, facts);
    let mut all = vec![Vec::new(); game.info().players()];
    if game.turn(evaluator) != Turn::Over {
        all.iter_mut().enumerate().for_each(|(r, moves)| game.engine.legal_moves(evaluator, r, moves));
    }
    JointMoves(all)
}

impl JointMoves {
    /// The number of joint moves.
    fn count(&self) -> u64 {
        self.0.iter().fold(1u64, |n, moves| n.saturating_mul(moves.len() as u64))
    }

    /// Calls `f` with each joint move.
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

/// Accumulates a mean and its standard error.
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

/// Plays random playouts and summarises them.
fn playouts(game: &GdlGame, options: &FactsOptions) -> PlayoutStats {
    let roles = game.info().players();
    let cap = game.info().horizon.map_or(u32::MAX, |h| h.plies / roles as u32);
    let start = game.initial();
    let mut rng = Rng::new(options.seed);
    let (mut lengths, mut goals) = (Sums::default(), vec![Sums::default(); roles]);
    let (mut min_length, mut max_length) = (u32::MAX, 0);
    let (mut goal_errors, mut stuck, mut cut) = (0, 0, 0);
    let mut evaluator = game.engine.new_evaluator().expect("an evaluator was made before");
    for _ in 0..options.playouts {
        game.engine.seek(&mut evaluator, game.fact_words(&start));
        let mut length = 0;
        while game.turn(&mut evaluator) != Turn::Over && length < cap {
            let mut joint = [0; MAX_PLAYERS];
            for (r, m) in joint[..roles].iter_mut().enumerate() {
                *m = game.engine.nth_legal(&evaluator, r, rng.below(game.engine.count_legal(&evaluator, r)));
            }
            game.engine.step(&mut evaluator, &joint[..roles]);
            length += 1;
        }
        lengths.add(length as f64);
        (min_length, max_length) = (min_length.min(length), max_length.max(length));
        if !game.engine.is_terminal(&evaluator) {
            if length >= cap { cut += 1 } else { stuck += 1 }
        }
        let reached: Vec<Vec<i32>> = (0..roles).map(|r| game.engine.goals(&mut evaluator, r)).collect();
        goal_errors += reached.iter().any(|g| g.len() != 1) as u64;
        if let Some(highest) = reached.iter().map(|g| g.last().copied()).collect::<Option<Vec<i32>>>() {
            goals.iter_mut().zip(highest).for_each(|(sums, g)| sums.add(g as f64));
        }
    }
    PlayoutStats {
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
