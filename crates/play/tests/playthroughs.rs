//! One recorded game of each kind: every position, its mover, legal moves and facts, and the outcome. A change of rules, of
//! numbering or of names shows here first. `UPDATE=1 cargo test` records anew.

use ludex_core::Rng;
use ludex_play::{GAMES, open};
use std::path::Path;

fn record(name: &str) -> String {
    let table = open(name).unwrap();
    let info = table.info();
    let mut text =
        format!("{}: {} moves, {} facts, rules {:016x}\n", info.name, info.moves, info.facts, info.rules_hash);
    let mut rng = Rng::new(12);
    let mut position = table.start();
    loop {
        let legal: Vec<String> = position.legal().iter().map(|&m| table.move_name(m)).collect();
        text += &format!(
            "\n{}\nmover {}, {} legal: {}\n",
            position.text(),
            position.mover().0,
            legal.len(),
            legal.join(" ")
        );
        let facts: Vec<String> = position.facts().iter().map(|&f| table.fact_name(f)).collect();
        text += &format!("facts {}\n", facts.join(" "));
        let Some(&m) = rng.pick(&position.legal()) else { break };
        text += &format!("plays {} (move {})\n", table.move_name(m), m.0);
        position.play(m).unwrap();
        if position.moves().len() == 24 {
            // The middle of a long game says no more than its beginning.
            while let Some(&m) = rng.pick(&position.legal()) {
                position.play(m).unwrap();
            }
            text += "..\n";
        }
    }
    text + &format!(
        "\n{}\noutcome {} after {} plies\n",
        position.show(),
        position.outcome().unwrap(),
        position.moves().len()
    )
}

#[test]
fn games_are_played_as_recorded() {
    for listing in &GAMES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/playthroughs/{}.txt", listing.name));
        let now = record(listing.name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let then = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = now.lines().zip(then.lines()).find(|(a, b)| a != b);
        assert!(now == then, "{}: {differs:?}; UPDATE=1 cargo test accepts it", listing.name);
    }
}
