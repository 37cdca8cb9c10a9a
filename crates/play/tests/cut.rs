//! The system of cut playouts on every native game, and what a run that was killed goes on to.

use ludex_core::Limit;
use ludex_play::store::{Run, Unwatched, entries};
use ludex_play::systems::exhibit::{Experiment, reproduce};
use ludex_play::systems::{Plan, Report, learn};
use ludex_play::{GAMES, Spec, open};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ludex-cut-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn tick(game: &str, dir: &Path, settings: &[&str]) -> Report {
    let table = open(game).unwrap();
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let plan = Plan::new(&table.info().name, "cut", "tick", 1, &settings).unwrap();
    let run = Run::open(dir, &plan.to_toml(), true, 2, &Unwatched).unwrap();
    learn(&*table, &run, &plan).unwrap()
}

#[test]
fn every_native_game_is_learned_and_played() {
    for game in GAMES {
        let dir = folder(game.name);
        let report = tick(game.name, &dir, &["measure.games=0"]);
        let table = open(game.name).unwrap();
        let mut spec = report.agent.clone();
        spec.set("sims", 30);
        spec.set("playout.threshold", 0.4);
        let (mut agent, mut position) = (table.agent(&spec, 1).unwrap(), table.start());
        agent.start(&*position);
        for _ in 0..6 {
            let m = agent.choose(&Limit::default()).mv;
            position.play(m).unwrap();
            agent.observe(m);
        }
        let tally = agent.tally();
        let cut = tally.iter().find(|(name, _)| *name == "cut").unwrap().1;
        assert!(cut > 0.0, "{}: {tally:?}", game.name);
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn the_papers_codes_have_85_inputs_and_other_games_have_none() {
    let dir = folder("paper");
    let settings = ["train.inputs=paper", "train.output=sigmoid", "train.loss=squared", "measure.games=0"];
    let report = tick("dots:5x5", &dir, &settings);
    assert_eq!(report.figures["inputs"], 85);
    std::fs::remove_dir_all(&dir).unwrap();
    let table = open("connect4").unwrap();
    let plan = Plan::new(&table.info().name, "cut", "tick", 1, &["train.inputs=paper".into()]).unwrap();
    let run = Run::open(&dir, &plan.to_toml(), true, 2, &Unwatched).unwrap();
    assert!(learn(&*table, &run, &plan).unwrap_err().to_string().contains("facts"));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn many_examples_can_be_learned_in_small_batches() {
    let dir = folder("adam");
    let report = tick("dots:3x3", &dir, &["train.optimiser=adam", "train.batch=16", "measure.games=0"]);
    assert!(report.figures["metrics"]["train_mse"].as_f64().unwrap() < 0.34);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_run_that_was_killed_goes_on_to_the_same_bytes() {
    let settings = [
        "train.epochs=25",
        "train.patience=25",
        "measure.games=0",
        "generate.opening_uses=2",
        "generate.rounds=1",
        "generate.again_matches=6",
        "generate.again_sims=8",
    ];
    let hashes = |dir: &Path| entries(dir).unwrap().into_iter().map(|e| (e.part, e.sha256)).collect::<Vec<_>>();
    let (whole, cut) = (folder("whole"), folder("killed"));
    tick("dots:3x3", &whole, &settings);
    tick("dots:3x3", &cut, &settings);
    assert_eq!(hashes(&whole), hashes(&cut));
    // Killed after the parts, and once more in the middle of training: what is gone is made again.
    let manifest = cut.join("manifest.jsonl");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let kept: Vec<&str> = text.lines().filter(|l| !l.contains("model/") && !l.contains("curve/")).skip(1).collect();
    std::fs::write(&manifest, kept.join("\n") + "\n").unwrap();
    tick("dots:3x3", &cut, &settings);
    assert_eq!(hashes(&whole), hashes(&cut));
    [whole, cut].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
}

#[test]
fn the_tables_can_be_reproduced_and_resumed() {
    let (table, dir) = (open("dots:5x5").unwrap(), folder("tables"));
    let experiment = Experiment {
        table: &*table,
        system: "cut",
        preset: "tick",
        seeds: vec![1, 2],
        settings: vec!["measure.games=0".into()],
        dir: &dir,
        threads: 2,
        watch: &Unwatched,
        only: None,
    };
    let first = reproduce(&experiment).unwrap();
    let names: Vec<&str> = first.iter().map(|e| e.name.as_str()).collect();
    let wanted = ["Table 3", "Table 4", "Table 5", "Equations 4-6", "Table 6", "Cost", "Sweep", "Accuracy", "Empty"];
    assert_eq!(names, wanted);
    let text = |e: &[ludex_play::systems::exhibit::Exhibit]| e.iter().map(|e| e.markdown()).collect::<String>();
    assert_eq!(text(&first), text(&reproduce(&experiment).unwrap()), "nothing is played twice");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn exact_players_and_solutions_agree() {
    let table = open("dots:5x5").unwrap();
    let family = table.family();
    assert_eq!(family.len(), 50);
    assert!(open("dots:4x4").unwrap().family().is_empty());
    for start in &family[..4] {
        let mut position = table.position(start).unwrap();
        let solution = table.solve(&*position).unwrap();
        let mut agent = table.agent(&Spec::word("exact"), 1).unwrap();
        agent.start(&*position);
        let mut value = None;
        while position.outcome().is_none() {
            let worth = solution.worth(&*position).unwrap();
            let choice = agent.choose(&Limit::default());
            let chosen = worth.iter().find(|w| w.mv == choice.mv).unwrap();
            assert!(worth.iter().all(|w| w.margin <= chosen.margin));
            // For one player throughout: the value never changes under exact play.
            let mine = if position.mover().0 == 0 { chosen.margin } else { -chosen.margin };
            assert_eq!(*value.get_or_insert(mine), mine);
            position.play(choice.mv).unwrap();
            agent.observe(choice.mv);
        }
    }
    assert!(table.solve(&*table.start()).is_none());
}
