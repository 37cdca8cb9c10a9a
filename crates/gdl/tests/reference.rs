//! Compares the network, bit-parallel evaluation and the interpreter with a naive reasoner on generated rulesheets.

mod common;

use common::{agrees_with_reference, generate};
use ludex_core::{Game, Rng, laws};
use ludex_gdl::{Budget, ErrorKind, GdlGame, GdlOptions};
use proptest::prelude::*;

fn open(text: &str, budget: Budget) -> Option<GdlGame> {
    match GdlGame::new("generated", text, &GdlOptions { budget, ..GdlOptions::default() }) {
        Ok(game) => Some(game),
        // A role that never has a move is refused, and what a tiny budget cannot afford; everything else must open.
        Err(e) => {
            let poor = budget.work < 1_000 && matches!(e.kind, ErrorKind::Budget(_));
            assert!(poor || matches!(e.kind, ErrorKind::NoLegal(_)), "{e} in\n{text}");
            None
        }
    }
}

/// The number of sheets to try: `LUDEX_GDL_CASES`, or 300.
fn cases() -> ProptestConfig {
    let cases = std::env::var("LUDEX_GDL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_net_agrees_with_the_reference(seed in any::<u64>()) {
        let text = generate::sheet(seed);
        if let Some(game) = open(&text, Budget::default()) {
            prop_assert!(!game.interpreted());
            agrees_with_reference(&game, &text, 4, 4, seed);
        }
    }

    #[test]
    fn the_interpreter_agrees_with_the_reference(seed in any::<u64>()) {
        let text = generate::sheet(seed);
        // Once with the facts and moves numbered by grounding, once by the domains of arguments.
        for budget in [Budget::interpreter(), Budget { work: 60, ..Budget::default() }] {
            if let Some(game) = open(&text, budget) {
                agrees_with_reference(&game, &text, 2, 4, seed);
            }
        }
    }

    #[test]
    fn bit_parallel_playouts_agree_with_sequential_ones(seed in any::<u64>()) {
        let text = generate::sheet(seed);
        let Some(game) = open(&text, Budget::default()) else { return Ok(()) };
        let n = 3_000u64;
        let roles = game.info().players();
        let (mut sequential, mut parallel) = (vec![0.0; roles], vec![0.0; roles]);
        let start = game.initial();
        let a = game.sequential_playouts(&start, n, &mut Rng::new(seed), &mut sequential);
        let b = game.bit_parallel_playouts(&start, n, &mut Rng::new(seed ^ 1), &mut parallel);
        // Payoffs lie in [-1, 1], lengths in 0..=3 steps of at most three plies: six standard errors.
        for r in 0..roles {
            let off = (sequential[r] - parallel[r]).abs() / n as f64;
            prop_assert!(off < 6.0 * (2.0 / n as f64).sqrt(), "payoffs {sequential:?} {parallel:?} in\n{text}");
        }
        prop_assert!((a as f64 - b as f64).abs() / (n as f64) < 6.0 * 3.0 * (2.0 / n as f64).sqrt(), "{a} {b} in\n{text}");
    }

    #[test]
    fn bit_parallel_children_are_the_children_played(seed in any::<u64>()) {
        let text = generate::sheet(seed);
        let Some(game) = open(&text, Budget::default()) else { return Ok(()) };
        let mut rng = Rng::new(seed);
        let mut s = game.initial();
        let mut children = Vec::new();
        while let Some(m) = game.sample(&s, &mut rng) {
            game.children(&s, &mut children);
            let mut legal = Vec::new();
            game.legal(&s, &mut legal);
            prop_assert_eq!(children.iter().map(|c| c.0).collect::<Vec<_>>(), legal);
            for (m, child) in &children {
                let mut played = s.clone();
                game.play(&mut played, *m);
                prop_assert_eq!(&played, child, "after {} in\n{}", game.move_name(*m), &text);
            }
            game.play(&mut s, m);
        }
    }

    #[test]
    fn generated_games_keep_the_laws(seed in any::<u64>()) {
        let text = generate::sheet(seed);
        for budget in [Budget::default(), Budget::interpreter()] {
            if let Some(game) = open(&text, budget) {
                let effort = laws::Effort { states: 30, collisions: 200, seed };
                laws::check(&game, &effort).unwrap_or_else(|e| panic!("{e} in\n{text}"));
            }
        }
    }
}
