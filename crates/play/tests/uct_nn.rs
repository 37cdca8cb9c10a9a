//! UCT-NN on every native game, and what a run that was killed goes on to.

use ludex_core::Limit;
use ludex_play::store::{Run, Unwatched, entries};
use ludex_play::systems::exhibit::{Exhibit, Experiment, reproduce};
use ludex_play::systems::{Plan, Report, learn};
use ludex_play::{GAMES, open};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ludex-uct-nn-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn tick(game: &str, dir: &Path, settings: &[&str]) -> Report {
    let table = open(game).unwrap();
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let plan = Plan::new(&table.info().name, "uct-nn", "tick", 1, &settings).unwrap();
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
        for scheme in ["exponential", "linear", "constant"] {
            spec.set("scheme", scheme);
            let (mut agent, mut position) = (table.agent(&spec, 1).unwrap(), table.start());
            agent.start(&*position);
            for _ in 0..6 {
                if position.outcome().is_some() {
                    break; // tictactoe may be won with the fifth move
                }
                let legal = position.legal().len();
                let choice = agent.choose(&Limit::default());
                assert!(!choice.root.is_empty() && choice.root.len() <= legal);
                position.play(choice.mv).unwrap();
                agent.observe(choice.mv);
            }
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn the_paper_s_net_has_an_input_and_an_output_for_each_point() {
    let dir = folder("signed");
    let report = tick("gomoku:5x5x5", &dir, &["train.input=signed", "train.hidden=30", "measure.games=0"]);
    let net = ["inputs", "hidden", "outputs"].map(|n| report.figures[n].as_u64().unwrap());
    assert_eq!(net, [25, 30, 25]);
    // A net that ranks moves says nothing about values, and is refused where a value is needed.
    let table = open("gomoku:5x5x5").unwrap();
    let spec = |text: &str| format!("{text}(model={}, sims=10)", dir.display()).parse().unwrap();
    assert!(table.agent(&spec("ranked"), 1).is_ok());
    assert!(table.agent(&spec("neural"), 1).err().unwrap().to_string().contains("scores moves"));
    let missing = table.agent(&"ranked(sims=10)".parse().unwrap(), 1).err().unwrap();
    assert!(missing.to_string().contains("model="), "{missing}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn half_of_the_moves_at_the_start_are_dropped_and_none_with_a_share_of_0() {
    let dir = folder("half");
    let report = tick("gomoku:5x5x5", &dir, &["measure.games=0"]);
    let table = open("gomoku:5x5x5").unwrap();
    let root = |share: &str| {
        let mut spec = report.agent.clone();
        spec.set("sims", 200);
        spec.set("share", share);
        let mut agent = table.agent(&spec, 1).unwrap();
        agent.start(&*table.start());
        agent.choose(&Limit::default()).root.len()
    };
    assert_eq!([root("0"), root("0.5"), root("1")], [25, 13, 1]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_run_that_was_killed_goes_on_to_the_same_bytes() {
    let settings = ["train.epochs=25", "generate.matches=5", "measure.games=0"];
    let hashes = |dir: &Path| entries(dir).unwrap().into_iter().map(|e| (e.part, e.sha256)).collect::<Vec<_>>();
    let (whole, cut) = (folder("whole"), folder("killed"));
    tick("dots:3x3", &whole, &settings);
    tick("dots:3x3", &cut, &settings);
    assert_eq!(hashes(&whole), hashes(&cut));
    let manifest = cut.join("manifest.jsonl");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let kept: Vec<&str> = text.lines().filter(|l| !l.contains("model/") && !l.contains("curve/")).skip(1).collect();
    std::fs::write(&manifest, kept.join("\n") + "\n").unwrap();
    tick("dots:3x3", &cut, &settings);
    assert_eq!(hashes(&whole), hashes(&cut));
    [whole, cut].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
}

#[test]
fn figures_and_tables_can_be_reproduced_and_resumed() {
    let (table, dir) = (open("gomoku:5x5x4").unwrap(), folder("tables"));
    let experiment = |only: Option<&str>| Experiment {
        table: &*table,
        system: "uct-nn",
        preset: "tick",
        seeds: vec![1, 2],
        settings: vec!["generate.matches=4".into()],
        dir: &dir,
        threads: 2,
        watch: &Unwatched,
        only: only.map(String::from),
    };
    let first = reproduce(&experiment(None)).unwrap();
    let names: Vec<&str> = first.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["Figure 3", "Figure 4", "Figure 5", "Nets", "Sweep", "Cost", "Table 1", "Figure 6", "Time"]);
    let lasting = |e: &[Exhibit]| e.iter().filter(|e| e.name != "Cost").map(|e| e.markdown()).collect::<String>();
    assert_eq!(lasting(&first), lasting(&reproduce(&experiment(None)).unwrap()), "nothing is played twice");
    let rows = |name: &str| first.iter().find(|e| e.name == name).unwrap().rows.clone();
    assert_eq!(rows("Figure 5")[0], ["0", "24 %", "48 %", "72 %", "48 %", "48 %"]);
    assert_eq!((rows("Table 1").len(), rows("Figure 6").len(), rows("Time").len()), (1, 5, 5));
    let only = reproduce(&experiment(Some("6"))).unwrap();
    assert_eq!(only.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["Figure 6"]);
    std::fs::remove_dir_all(dir).unwrap();
}
