//! Every system learns every native game from its rules alone, and what it learned plays legal matches.

use ludex_core::Limit;
use ludex_play::store::{Run, Unwatched, entries};
use ludex_play::systems::{self, Plan, Report, SYSTEMS};
use ludex_play::{GAMES, Table, open};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn learn(game: &str, system: &str, preset: &str, dir: &Path) -> (Box<dyn Table>, Report) {
    let table = open(game).unwrap();
    let plan = Plan::new(&table.info().name, system, preset, 1, &[]).unwrap();
    let run = Run::open(dir, &plan.to_toml(), false, 2, &Unwatched).unwrap();
    let report = systems::learn(&*table, &run, &plan).unwrap_or_else(|e| panic!("{system} on {game}: {e}"));
    (table, report)
}

#[test]
fn every_system_learns_every_native_game() {
    for system in SYSTEMS {
        for game in GAMES {
            let dir = folder(&format!("tick-{}-{}", system.name, game.name));
            let (table, report) = learn(game.name, system.name, "tick", &dir);
            assert!(report.model.exists(), "{} on {}", system.name, game.name);
            assert!(entries(&dir).unwrap().iter().any(|e| e.part == "model/final"));
            // A match of what was learned against itself; `Position::play` refuses illegal moves.
            let mut agent = table.agent(&report.agent, 1).unwrap();
            let mut position = table.start();
            agent.start(&*position);
            for _ in 0..400 {
                if position.outcome().is_some() {
                    break;
                }
                let limit = Limit { simulations: Some(3), nodes: Some(50), ..Limit::default() };
                let m = agent.choose(&limit).mv;
                position.play(m).unwrap();
                agent.observe(m);
            }
        }
    }
}

/// How much the targets vary, from their histogram: what a net that learned nothing errs by.
fn variance(report: &Report) -> f64 {
    let bins: Vec<f64> = report.figures["targets"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    let n: f64 = bins.iter().sum();
    let at = |i: usize| -0.9 + 0.2 * i as f64;
    let mean = bins.iter().enumerate().map(|(i, c)| c * at(i)).sum::<f64>() / n;
    bins.iter().enumerate().map(|(i, c)| c * (at(i) - mean).powi(2)).sum::<f64>() / n
}

#[test]
fn the_papers_games_learn_at_the_smoke_preset() {
    for game in ["othello", "morris"] {
        let (_, report) = learn(game, "uct-ccnn", "smoke", &folder(&format!("smoke-{game}")));
        let strength = report.strength.unwrap();
        let random = &strength.anchors[0];
        assert!(random.score > 0.7, "{game}: {} against random", random.score);
        assert_eq!(strength.levels.len(), 3);
        let (test, variance) = (report.figures["metrics"]["test_mse"].as_f64().unwrap(), variance(&report));
        assert!(test < 0.95 * variance, "{game}: test error {test}, variance of the targets {variance}");
    }
}
