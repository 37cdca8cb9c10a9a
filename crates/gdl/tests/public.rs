//! Compares the public rulesheets with their reference facts, in strict reading, also with every symbol renamed.
//!
//! The sheets are test data and not part of the repository: they are found through `LUDEX_GDL_SHEETS`, else beside the
//! workspace in `../shared/gdl`. Without them these tests print that they are skipped, and pass.

use ludex_core::{Game, Rng, laws};
use ludex_gdl::{Budget, FactsOptions, GdlGame, GdlOptions, Reading, facts};
use serde_json::Value;
use std::path::PathBuf;

mod common;
use common::rename_symbols;

fn sheets() -> Option<(PathBuf, Vec<Value>)> {
    let dir = std::env::var_os("LUDEX_GDL_SHEETS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/gdl")), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(dir.join("facts.json")) else {
        eprintln!("SKIPPED: no public rulesheets at {} (set LUDEX_GDL_SHEETS)", dir.display());
        return None;
    };
    let facts: Value = serde_json::from_str(&text).expect("facts.json is JSON");
    Some((dir, facts["games"].as_array().expect("a list of games").clone()))
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Compares a game with its reference: perft up to `depth`, and the means of `n` playouts.
fn agrees(game: &GdlGame, expected: &Value, depth: usize, n: u64) {
    let name = expected["key"].as_str().unwrap_or_default();
    let perft = numbers(&expected["perft"]);
    let depth = depth.min(perft.len());
    let found = facts(game, &FactsOptions { depth: depth as u32, playouts: n, seed: 3 });
    assert_eq!(found.initial_facts as f64, expected["initial_facts"].as_f64().unwrap(), "{name}: initial facts");
    let legal: Vec<f64> = found.initial_legal.iter().map(|&n| n as f64).collect();
    assert_eq!(legal, numbers(&expected["initial_legal"]), "{name}: initial legal moves");
    let counted: Vec<f64> = found.perft.iter().map(|&n| n as f64).collect();
    assert_eq!(counted, perft[..depth], "{name}: perft");
    let (Some(p), reference) = (&found.playouts, &expected["playouts"]) else { return };
    assert_eq!(p.goal_errors + p.no_legal_move_errors + p.cut, 0, "{name}: playouts end as they should");
    if reference.is_null() {
        return;
    }
    let close = |what: &str, a: f64, se_a: f64, b: f64, se_b: f64| {
        let off = (a - b).abs() / (se_a * se_a + se_b * se_b).sqrt().max(1e-9);
        assert!(a == b || off < 4.0, "{name}: {what} {a} (s.e. {se_a}) against {b} (s.e. {se_b})");
    };
    let reference_of = |key: &str| reference[key].as_f64().unwrap();
    close("length", p.mean_length, p.se_length, reference_of("mean_length"), reference_of("se_length"));
    let (means, errors) = (numbers(&reference["mean_goal"]), numbers(&reference["se_goal"]));
    for r in 0..means.len() {
        close("goal", p.mean_goal[r], p.se_goal[r], means[r], errors[r]);
    }
}

fn each_sheet(f: impl Fn(&str, &str, &Value)) {
    let Some((dir, games)) = sheets() else { return };
    for expected in &games {
        let file = expected["file"].as_str().unwrap();
        let text = std::fs::read_to_string(dir.join(file)).unwrap();
        f(file, &text, expected);
    }
}

#[test]
fn public_rulesheets_equal_their_reference_facts() {
    each_sheet(|file, text, expected| {
        let options = GdlOptions { reading: Reading::Strict, ..GdlOptions::default() };
        let game = GdlGame::new(file, text, &options).unwrap();
        assert!(!game.interpreted(), "{file} fits the budget");
        agrees(&game, expected, 4, 2_000);
        eprintln!("{file}: equal, set-up {:?}", game.set_up_time());
    });
}

#[test]
fn renaming_every_symbol_changes_nothing() {
    each_sheet(|file, text, expected| {
        for reading in [Reading::Strict, Reading::Lenient] {
            let options = GdlOptions { reading, ..GdlOptions::default() };
            let game = GdlGame::new(file, &rename_symbols(text, 17), &options).unwrap();
            agrees(&game, expected, 3, 500);
        }
    });
}

#[test]
fn the_interpreter_equals_the_reference_facts() {
    each_sheet(|file, text, expected| {
        let options = GdlOptions { budget: Budget::interpreter(), ..GdlOptions::default() };
        let game = GdlGame::new(file, text, &options).unwrap();
        assert!(game.interpreted());
        agrees(&game, expected, 2, 10);
    });
}

#[test]
fn public_rulesheets_keep_the_laws_of_games() {
    each_sheet(|file, text, _| {
        let game = GdlGame::new(file, text, &GdlOptions::default()).unwrap();
        let effort = laws::Effort { states: 200, collisions: 5_000, seed: 5 };
        laws::check(&game, &effort).unwrap_or_else(|e| panic!("{file}: {e}"));
    });
}

#[test]
fn all_evaluators_agree_on_random_lines() {
    each_sheet(|file, text, _| {
        let game = GdlGame::new(file, text, &GdlOptions::default()).unwrap();
        let slow = GdlOptions { budget: Budget::interpreter(), ..GdlOptions::default() };
        let judge = GdlGame::new(file, text, &slow).unwrap();
        let roles = game.info().players();
        let names = |g: &GdlGame, moves: Vec<ludex_core::Move>| -> Vec<String> {
            moves.into_iter().map(|m| g.move_name(m)).collect()
        };
        let mut rng = Rng::new(23);
        let (mut s, mut t) = (game.initial(), judge.initial());
        let mut children = Vec::new();
        for _ in 0..25 {
            assert_eq!(game.position(&s), judge.position(&t), "{file}: facts");
            assert_eq!(game.outcome(&s), judge.outcome(&t), "{file}: the end at {}", game.position(&s));
            if game.outcome(&s).is_some() {
                break;
            }
            let mut joint = Vec::new();
            for r in 0..roles {
                let legal = game.legal_moves(&s, r);
                assert_eq!(names(&game, legal.clone()), names(&judge, judge.legal_moves(&t, r)), "{file}: legal moves");
                joint.push(*rng.pick(&legal).unwrap());
            }
            assert_eq!(game.goals(&s), judge.goals(&t), "{file}: goals at {}", game.position(&s));
            game.children(&s, &mut children);
            for (m, child) in &children {
                let mut played = s.clone();
                game.play(&mut played, *m);
                assert_eq!(&played, child, "{file}: children after {}", game.move_name(*m));
            }
            s = game.step(&s, &joint).unwrap();
            let same = |&m: &ludex_core::Move| judge.parse_move(&game.move_name(m)).unwrap();
            t = judge.step(&t, &joint.iter().map(same).collect::<Vec<_>>()).unwrap();
        }
    });
}

#[test]
fn bit_parallel_and_sequential_playouts_have_the_same_means() {
    each_sheet(|file, text, _| {
        let game = GdlGame::new(file, text, &GdlOptions::default()).unwrap();
        let n = 600;
        let start = game.initial();
        let (mut sequential, mut parallel) = (vec![0.0; game.info().players()], vec![0.0; game.info().players()]);
        let a = game.sequential_playouts(&start, n, &mut Rng::new(1), &mut sequential) as f64 / n as f64;
        let b = game.bit_parallel_playouts(&start, n, &mut Rng::new(2), &mut parallel) as f64 / n as f64;
        for (x, y) in sequential.iter().zip(&parallel) {
            // Payoffs lie in [-1, 1]: five standard errors of a difference at the most.
            assert!(
                (x - y).abs() / (n as f64) < 5.0 * (2.0 / n as f64).sqrt(),
                "{file}: {sequential:?} against {parallel:?}"
            );
        }
        assert!((a - b).abs() < 0.15 * a, "{file}: {a} plies against {b}");
    });
}
