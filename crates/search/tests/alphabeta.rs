//! Alpha-beta equals plain minimax, and solves what can be solved.

use ludex_core::{Evaluator, Game, Limit, Move, Payoffs, Player, Rng, Search};
use ludex_games::*;
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions, Order, Ties};
use ludex_search::eval::RandomValue;
use std::collections::HashMap;
use std::hash::Hash;

const SEED: u64 = 11;

/// The oracle: the value of `s` for player 0, `depth` plies deep, terminal wins worth 10 minus a bit for each ply.
fn minimax<G: Game>(game: &G, s: &G::State, depth: u32, ply: u32, eval: &mut RandomValue) -> f64 {
    if let Some(p) = game.outcome(s) {
        let v = p[Player(0)] as f64;
        return if v.abs() >= 1.0 { v * (10.0 - ply as f64 / 1000.0) } else { v };
    }
    if depth == 0 {
        return eval.value(game, s)[Player(0)] as f64;
    }
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let values = moves.iter().map(|&m| {
        let mut child = s.clone();
        game.play(&mut child, m);
        minimax(game, &child, depth - 1, ply + 1, eval)
    });
    if game.mover(s) == Player(0) { values.fold(f64::MIN, f64::max) } else { values.fold(f64::MAX, f64::min) }
}

fn nodes<G: Game>(game: &G, s: &G::State, depth: u32) -> u64 {
    (1..=depth).map(|d| ludex_core::perft(game, s, d)).sum()
}

/// A random state that is not over.
fn random_state<G: Game>(game: &G, rng: &mut Rng) -> G::State {
    loop {
        let mut s = game.initial();
        for _ in 0..rng.below(60) {
            match game.sample(&s, rng) {
                Some(m) => game.play(&mut s, m),
                None => break,
            }
        }
        if game.outcome(&s).is_none() {
            return s;
        }
    }
}

/// From 200 random states, at the greatest depth up to 5 with at most 300,000 nodes, with and without table and order.
fn equals_minimax<G: Game>(game: G) {
    let mut rng = Rng::new(SEED);
    let build = |order, table, deepening| {
        let options = AlphaBetaOptions { order, table, deepening, ties: Ties::Random };
        AlphaBeta::<G>::new(Box::new(RandomValue::Hashed(SEED)), options)
    };
    let mut searches = [
        ("plain", build(Order::None, 0, false)),
        ("ordered", build(Order::Killers, 0, true)),
        ("with a table", build(Order::None, 1, true)),
        ("with both", build(Order::Killers, 1, true)),
        ("ordered by the evaluator", build(Order::Eval, 1, true)),
    ];
    for _ in 0..200 {
        let s = random_state(&game, &mut rng);
        let depth = (1..=5).rev().find(|&d| nodes(&game, &s, d) <= 300_000).unwrap_or(1);
        let mover = game.mover(&s);
        let mut moves = Vec::new();
        game.legal(&s, &mut moves);
        let sign = if mover == Player(0) { 1.0 } else { -1.0 };
        let value = |&m: &Move| {
            let mut child = s.clone();
            game.play(&mut child, m);
            sign * minimax(&game, &child, depth - 1, 1, &mut RandomValue::Hashed(SEED))
        };
        let values: Vec<f64> = moves.iter().map(value).collect();
        let best = values.iter().copied().fold(f64::MIN, f64::max);
        for (how, search) in &mut searches {
            let choice = search.search(&game, &s, &Limit::depth(depth).into(), &mut rng);
            let at = format!("{} \"{}\" depth {depth} {how}", game.info().name, game.position(&s));
            let value = choice.value[mover] as f64;
            assert!((value - best.clamp(-1.0, 1.0)).abs() < 1e-6, "{at}: {value} is not {best}");
            // The oracle tells quick wins from slow ones, so the move must be as good in that too.
            let chosen = moves.iter().position(|&m| m == choice.mv).expect("a legal move");
            let name = game.move_name(choice.mv);
            assert!((values[chosen] - best).abs() < 1e-6, "{at}: {name} is worth {}, not {best}", values[chosen]);
        }
    }
}

#[test]
fn alphabeta_equals_minimax_where_turns_alternate() {
    equals_minimax(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    equals_minimax(Mnk::<1>::new("mnk", 5, 4, 3, false).unwrap());
    equals_minimax(Connect4::<u64>::new(7, 6, 4).unwrap());
    equals_minimax(Breakthrough::new(5, 6).unwrap());
}

#[test]
fn alphabeta_equals_minimax_where_players_pass() {
    equals_minimax(Othello::new(6, 6).unwrap());
}

#[test]
fn alphabeta_equals_minimax_where_turns_repeat() {
    equals_minimax(Dots::<u64>::new(3, 2, Score::Win).unwrap());
    equals_minimax(Dots::<u64>::new(3, 3, Score::Margin).unwrap());
    equals_minimax(Checkers::new(6, 6, 40).unwrap());
}

#[test]
fn alphabeta_equals_minimax_where_history_counts() {
    equals_minimax(Morris::new(Draw::Repetition));
    equals_minimax(Morris::new(Draw::Turns200));
}

/// Full enumeration with memory: the value for player 0.
fn solve<G: Game>(game: &G, s: &G::State, memory: &mut HashMap<G::State, f32>) -> f32
where
    G::State: Hash + Eq,
{
    if let Some(p) = game.outcome(s) {
        return p[Player(0)];
    }
    if let Some(&v) = memory.get(s) {
        return v;
    }
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let values: Vec<f32> = moves
        .iter()
        .map(|&m| {
            let mut child = s.clone();
            game.play(&mut child, m);
            solve(game, &child, memory)
        })
        .collect();
    let first = game.mover(s) == Player(0);
    let value =
        if first { values.iter().copied().fold(-2.0, f32::max) } else { values.iter().copied().fold(2.0, f32::min) };
    memory.insert(s.clone(), value);
    value
}

/// Alpha-beta without any evaluation, as deep as it takes, equals enumeration; gives the value.
fn solved<G: Game>(game: G) -> f32 {
    let s = game.initial();
    let choice = AlphaBeta::plain().search(&game, &s, &Limit::depth(100).into(), &mut Rng::new(1));
    let value = choice.value[Player(0)];
    let enumerated = solve(&game, &s, &mut HashMap::new());
    assert!((enumerated - value).abs() < 1e-6, "{}: {value}, enumerated {enumerated}", game.info().name);
    assert!(choice.root.iter().any(|r| r.mv == choice.mv && r.proven), "{}: the value is proven", game.info().name);
    value
}

#[test]
fn small_games_are_solved_and_have_their_known_values() {
    assert_eq!(solved(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap()), 0.0);
    assert_eq!(solved(Connect4::<u64>::new(4, 4, 4).unwrap()), 0.0);
    assert_eq!(solved(Othello::new(4, 4).unwrap()), -1.0);
    // A win for the second player, as enumeration says.
    assert_eq!(solved(Breakthrough::new(4, 4).unwrap()), -1.0);
}

#[test]
fn dots_and_boxes_have_their_known_margins() {
    for (cols, rows, net) in [(1, 1, -1.0), (2, 1, 0.0), (3, 1, -1.0), (2, 2, 2.0), (3, 2, -2.0), (2, 3, -2.0)] {
        let share = net / (cols * rows) as f32;
        let margin = solved(Dots::<u64>::new(cols, rows, Score::Margin).unwrap());
        assert!((margin - share).abs() < 1e-6, "{cols}x{rows}: {margin}, not {share}");
        let won = if net == 0.0 { 0.0 } else { share.signum() };
        assert_eq!(solved(Dots::<u64>::new(cols, rows, Score::Win).unwrap()), won, "{cols}x{rows}");
    }
}

#[test]
fn limits_are_kept() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let s = game.initial();
    let search = |limit: Limit| AlphaBeta::plain().search(&game, &s, &limit.into(), &mut Rng::new(1));
    assert!(search(Limit::nodes(5_000)).nodes <= 5_000);
    assert!(search(Limit::nodes(1)).root.len() == 7);
    assert_eq!(search(Limit::depth(3)).depth, 3);
    let start = std::time::Instant::now();
    search(Limit::time(std::time::Duration::from_millis(30)));
    assert!(start.elapsed().as_millis() < 2_000);
}

#[test]
fn equal_root_moves_are_played_at_random_or_the_first() {
    let game = Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap();
    let s = game.initial();
    let first = AlphaBetaOptions { ties: Ties::First, ..AlphaBetaOptions::default() };
    let played = |options: AlphaBetaOptions| -> Vec<Move> {
        let play = |seed| {
            let zero = Box::new(ludex_search::eval::Zero);
            AlphaBeta::new(zero, options).search(&game, &s, &Limit::depth(2).into(), &mut Rng::new(seed)).mv
        };
        let mut moves: Vec<Move> = (0..100).map(play).collect();
        moves.sort();
        moves.dedup();
        moves
    };
    assert_eq!(played(first), [Move(0)]);
    assert_eq!(played(AlphaBetaOptions::default()).len(), 9);
}

#[test]
fn payoffs_of_the_choice_belong_to_players() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let s = game.parse_position("1212345").unwrap();
    let choice = AlphaBeta::plain().search(&game, &s, &Limit::depth(4).into(), &mut Rng::new(1));
    assert_eq!(choice.value, Payoffs::of(Player(0), choice.value[Player(0)]));
}
