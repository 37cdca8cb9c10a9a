//! `ludex tune`: whole-number options, and the games that confirm a result.

mod common;

use common::{folder, ludex, printed, refusal};
use serde_json::Value;

const SHORT: [&str; 8] = ["--iterations", "2", "--population", "4", "--elites", "2", "--games", "2"];

#[test]
fn an_option_of_whole_numbers_is_tuned_in_games() {
    let folder = folder("tune-whole");
    let args = ["tune", "connect4", "--agent", "grave(sims=20)", "--option", "ref=0..100", "--confirm", "4", "--json"];
    let tuned: Value = serde_json::from_str(&printed(&ludex(&[&args[..], &SHORT].concat(), "", &folder))).unwrap();
    let agent = tuned["agent"].as_str().unwrap();
    let ref_ = agent.split("ref=").nth(1).unwrap().trim_end_matches(')');
    assert!(ref_.parse::<u32>().is_ok_and(|n| n <= 100), "{agent}");
    let samples = tuned["rounds"].as_array().unwrap().iter().flat_map(|r| r["samples"].as_array().unwrap());
    assert!(samples.clone().count() == 8 && samples.clone().all(|s| s["score"].is_f64()));
    assert_eq!(tuned["confirmation"]["wdl"]["games"], 4);
}

#[test]
fn the_result_is_confirmed_in_fresh_games_with_an_interval() {
    let folder = folder("tune-confirm");
    // One simulation a move against many: the tuning cannot miss that more are better.
    let args = ["tune", "tictactoe", "--agent", "uct(sims=1)", "--option", "sims=1..60", "--confirm", "60"];
    let args = [&args[..], &SHORT].concat();
    let said = printed(&ludex(&args, "", &folder));
    let line = said.lines().find(|l| l.contains("fresh games")).unwrap();
    assert!(line.starts_with("confirmed: it is better than uct(sims=1) in 60 fresh games: "), "{said}");
    assert!(line.contains(" % [") && line.contains("Elo +"), "{said}");
    // An interrupted tuning goes on with the same command, and its games are not played again.
    let again = printed(&ludex(&[&args[..], &["--resume"]].concat(), "", &folder));
    assert_eq!(again, said);
    // Two names for one agent cannot be told apart, and that is said.
    let same = ["tune", "tictactoe", "--agent", "uct(sims=9)", "--option", "sims=9..10", "--confirm", "10"];
    let said = printed(&ludex(&[&same[..], &SHORT].concat(), "", &folder));
    assert!(said.contains("not confirmed"), "{said}");
}

#[test]
fn a_wrong_option_is_refused_before_the_first_game_and_leaves_nothing() {
    let folder = folder("tune-refused");
    for (agent, option, about) in [
        ("grave(sims=50)", "ref=0.5..2.5", "ref: it takes whole numbers, not 0.5..2.5"),
        ("uct(sims=50)", "nope=0..1", "uct has no option \"nope\""),
        ("uct(sims=50)", "c=0..10000000", "c=10000000 is not a number from 0 to 1000000"),
        ("uct(sims=50)", "sims=0..10", "sims=0"),
        ("neural(model=nowhere)", "sims=1..9", "cannot read the model nowhere"),
    ] {
        let line = refusal(&ludex(&["tune", "connect4", "--agent", agent, "--option", option], "", &folder));
        assert!(line.contains(about), "{agent} {option}: {line}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{agent} {option}");
    }
}
