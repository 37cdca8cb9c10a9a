//! Hex in Rust, as docs/guide.md shows it: lawful, the same game as the rulesheet, learned, graded and played.

use ludex_core::{Control, Rng, laws};
use ludex_play::{Position, Spec, Table, play_match, winner};
use ludex_train::store::{Run, Silent};
use ludex_train::systems::system;
use ludex_train::{Job, Plan, open};
use outside::hex::{Hex, table};
use std::sync::Arc;

fn sheet() -> Arc<dyn Table> {
    open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/hex5x5.kif")).unwrap()
}

#[test]
fn the_game_keeps_the_laws() {
    laws::check(&Hex::default(), &laws::Effort { states: 500, collisions: 5_000, seed: 1 }).unwrap();
}

#[test]
fn the_rulesheet_has_as_many_sequences_of_moves() {
    let numbers = |start: &dyn Position| (1..=4).map(|d| start.perft(d)).collect::<Vec<_>>();
    assert_eq!(numbers(&*table().start()), [25, 600, 13_800, 303_600]);
    assert_eq!(numbers(&*sheet().start()), [25, 600, 13_800, 303_600]);
}

/// No game ends within four moves, so that perft alone would not see who wins.
#[test]
fn the_rulesheet_ends_the_same_games_with_the_same_winner() {
    let (native, sheet) = (table(), sheet());
    let mut rng = Rng::stream(1, 0);
    for _ in 0..200 {
        let (mut a, mut b) = (native.start(), sheet.start());
        while a.outcome().is_none() {
            let moves = a.legal();
            let name = native.move_name(moves[rng.below(moves.len() as u32) as usize]);
            let (column, row) = (name.as_bytes()[0] - b'a' + 1, &name[1..]);
            a.play(native.parse_move(&name).unwrap()).unwrap();
            b.play(sheet.parse_move(&format!("(place {column} {row})")).unwrap()).unwrap();
            assert_eq!((a.outcome(), a.legal().len()), (b.outcome(), b.legal().len()), "{}", a.text());
        }
    }
}

#[test]
fn it_is_learned_graded_and_played() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("ludex hex {}", std::process::id()));
    let table = table();
    let plan = Plan::new(&*table, system("td-nnue")?, "tick", 1, &[])?;
    let run = Run::open(&dir, &plan.to_toml(), false, 2, Arc::new(Silent))?;
    let report = Job { table: table.clone(), run, plan }.learn()?;
    println!("{}", report.text());
    assert!(!report.levels.is_empty() && dir.join("bundle.ludex").exists());

    let level = Spec::word(format!("level:best@{}", dir.display()));
    let mut agents = [table.agent(&level, 1)?, table.agent(&"random".parse()?, 2)?];
    let episode = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |_| {});
    assert!(winner(&episode.outcome).is_some(), "there are no draws in Hex");
    Ok(std::fs::remove_dir_all(dir)?)
}
