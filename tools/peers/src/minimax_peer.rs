//! The crate `minimax` 0.6 with the bitboard of its own example.

use std::hint::black_box;

use minimax::{
    Game as _, IterativeOptions, IterativeSearch, MCTSOptions, MonteCarloTreeSearch, RolloutPolicy, Strategy, Winner,
};
use rand09::{SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use serde_json::{Value, json};

use crate::{PLAYOUTS, SEARCHES, SIMULATIONS, cpu, fastest, listed, median};

include!(concat!(env!("OUT_DIR"), "/minimax_example.rs"));
use minimax_connect4::{BasicEvaluator, Board, DumbEvaluator, Game, Place};

/// Depth of the alpha-beta search.
const DEPTH: u8 = 12;

/// All figures of the crate.
pub fn measure() -> Value {
    let playouts = [("own rollout", median(own_rollouts)), ("one generator", median(bare_playouts))];
    // With 0 a node gets its children at once, with 1 at its second visit.
    let sims = [("expand_after=0", median(|| simulations(0))), ("expand_after=1", median(|| simulations(1)))];
    let mut searches = Vec::new();
    for megabytes in [1, 64] {
        searches.push(alpha_beta("none", megabytes, || DumbEvaluator));
        searches.push(alpha_beta("basic", megabytes, || BasicEvaluator));
    }
    let best = searches.iter().max_by(|a, b| a.nodes_per_s.total_cmp(&b.nodes_per_s)).unwrap();
    json!({
        "game": "connect4", "engine": "minimax", "version": "0.6.0",
        "playouts_per_s": fastest(&playouts).round(),
        "sims_per_s": fastest(&sims).round(),
        "depth": DEPTH, "nodes_per_s": best.nodes_per_s.round(), "nodes": best.nodes, "seconds": best.seconds,
        "variants": {
            "playouts_per_s": listed(&playouts),
            "sims_per_s": listed(&sims),
            "alpha_beta": searches.iter().map(Search::json).collect::<Vec<_>>(),
        },
    })
}

/// A uniform policy; the crate's own is private.
struct Uniform;

impl RolloutPolicy for Uniform {
    type G = Game;

    fn random_move(&self, board: &mut Board, moves: &mut Vec<Place>, rng: &mut SmallRng) -> Result<Place, Winner> {
        match Game::generate_moves(board, moves) {
            Some(winner) => Err(winner),
            None => Ok(*moves.choose(rng).unwrap()),
        }
    }
}

/// Playouts per second by the crate's rollout, which seeds a generator each time.
fn own_rollouts() -> f64 {
    let (options, board) = (MCTSOptions::default(), Board::default());
    let seconds = cpu(|| {
        for _ in 0..PLAYOUTS {
            black_box(Uniform.rollout(&options, black_box(&board)));
        }
    });
    f64::from(PLAYOUTS) / seconds
}

/// Playouts per second by a loop that keeps one generator and one list of moves.
fn bare_playouts() -> f64 {
    let (mut rng, mut moves) = (SmallRng::seed_from_u64(1), Vec::new());
    let seconds = cpu(|| {
        for _ in 0..PLAYOUTS {
            let mut board = black_box(Board::default());
            let winner = loop {
                moves.clear();
                match Uniform.random_move(&mut board, &mut moves, &mut rng) {
                    Ok(place) => board = Game::apply(&mut board, place).unwrap(),
                    Err(winner) => break winner,
                }
            };
            black_box(winner);
        }
    });
    f64::from(PLAYOUTS) / seconds
}

/// Simulations per second of the crate's MCTS on one thread.
fn simulations(rollouts_before_expanding: u32) -> f64 {
    let options = MCTSOptions::default().with_num_threads(1).with_rollouts_before_expanding(rollouts_before_expanding);
    let seconds = cpu(|| {
        for _ in 0..SEARCHES {
            let mut search = MonteCarloTreeSearch::<Game>::new(options.clone());
            search.set_max_rollouts(SIMULATIONS);
            black_box(search.choose_move(&Board::default()));
        }
    });
    f64::from(SEARCHES * SIMULATIONS) / seconds
}

/// One way to run the alpha-beta search, and what came of it.
struct Search {
    evaluator: &'static str,
    table_mb: usize,
    nodes: u64,
    seconds: f64,
    nodes_per_s: f64,
}

impl Search {
    fn json(&self) -> Value {
        json!({
            "evaluator": self.evaluator, "table_mb": self.table_mb, "nodes": self.nodes, "seconds": self.seconds,
            "nodes_per_s": self.nodes_per_s.round(),
        })
    }
}

/// Medians of searches with a fresh table each; filling it with zeros is not counted.
fn alpha_beta<E>(name: &'static str, table_mb: usize, evaluator: impl Fn() -> E) -> Search
where
    E: minimax::Evaluator<G = Game>,
{
    let options = IterativeOptions::new().with_table_byte_size(table_mb << 20);
    let (mut counts, mut times) = (Vec::new(), Vec::new());
    let nodes_per_s = median(|| {
        let mut search = IterativeSearch::new(evaluator(), options);
        search.set_max_depth(DEPTH);
        let seconds = cpu(|| {
            black_box(search.choose_move(&Board::default()));
        });
        let nodes = explored(&search.stats(&mut Board::default()));
        counts.push(nodes);
        times.push(seconds);
        nodes as f64 / seconds
    });
    counts.sort_unstable();
    times.sort_by(f64::total_cmp);
    let middle = counts.len() / 2;
    let milliseconds = (times[middle] * 1e3).round();
    Search { evaluator: name, table_mb, nodes: counts[middle], seconds: milliseconds / 1e3, nodes_per_s }
}

/// The count in "Explored N nodes to depth D": the crate tells it in no other way.
fn explored(stats: &str) -> u64 {
    let after = stats.split("Explored ").nth(1).expect("the summary counts nodes");
    after.split(' ').next().unwrap().parse().expect("the count is a number")
}
