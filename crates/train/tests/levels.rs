//! Graded levels: in order, verified, careful in the upper half, and the same bundle however often the run was stopped.

mod common;

use common::{Impatient, folder, job, plan};
use ludex_play::{Bundle, Control, Spec};
use ludex_train::levels::STEP;
use ludex_train::open;
use ludex_train::store::{RunError, Silent};
use ludex_train::systems::TdNnue;
use std::sync::Arc;

const SETTINGS: [&str; 6] = [
    "train.positions=60000",
    "measure.games=2",
    "measure.cpu_ms=1",
    "measure.levels=4",
    "measure.level_games=60",
    "measure.level_budget=300",
];

#[test]
fn levels_are_ordered_verified_and_careful_above_the_middle() {
    let table = open("connect4").unwrap();
    let dir = folder("graded");
    let job = job(&table, plan(&*table, "td-nnue", "tick", &SETTINGS).unwrap(), &dir, 2, Arc::new(Silent)).unwrap();
    let report = job.learn().unwrap();
    let levels = &report.levels;
    assert!((2..=4).contains(&levels.len()), "{levels:?}");
    for (i, level) in levels.iter().enumerate() {
        assert_eq!((level.level, level.games), (i + 1, 60));
        assert!(level.score.value >= STEP[0] || levels.len() == 1, "level {} scores {:?}", i + 1, level.score);
        let careless = level.agent.get("careful").is_some_and(|c| c.name == "off");
        assert!(!careless || 2 * i < levels.len(), "{}", level.agent);
    }
    assert!(levels.windows(2).all(|l| l[0].elo.value < l[1].elo.value));
    // What learning was worth has a row for each kind of opponent, with the same time for both sides.
    let names: Vec<&str> = report.worth.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["random", "same search", "uct", "minimax"]);
    assert!(report.worth[1..].iter().all(|row| row.agent.get("cpu_ms") == row.opponent.get("cpu_ms")));
    // The bundle alone is enough to play.
    let alone = dir.join("alone.ludex");
    std::fs::copy(dir.join("bundle.ludex"), &alone).unwrap();
    let spec: Spec = format!("level:best@{}", alone.display()).parse().unwrap();
    assert!(table.agent(&spec, 1).unwrap().choose(&*table.start(), &Control::default()).is_ok());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_run_that_is_stopped_again_and_again_leaves_the_same_bundle() {
    let table = open("tictactoe").unwrap();
    let settings = [&SETTINGS[..], &["measure.level_games=10"]].concat();
    let plan = || plan(&*table, "td-nnue", "tick", &settings).unwrap();
    let whole = folder("bundle-whole");
    job(&table, plan(), &whole, 2, Arc::new(Silent)).unwrap().learn().unwrap();
    let expected = std::fs::read(whole.join("bundle.ludex")).unwrap();
    assert!(Bundle::from_bytes(&expected).is_ok());
    let stopped = folder("bundle-stopped");
    let mut stops = 0;
    for after in [1usize, 3, 7, 11, 17, 23, 31, 41, 53].into_iter().cycle().take(400) {
        match job(&table, plan(), &stopped, 1 + stops % 2, Impatient::after(after)).unwrap().learn() {
            Err(RunError::Stopped) => stops += 1,
            other => {
                other.unwrap();
                break;
            }
        }
    }
    assert!(stops >= 5, "it was stopped {stops} times");
    let bundle = std::fs::read(stopped.join("bundle.ludex")).unwrap();
    assert!(bundle == expected, "the bundle of a run that was stopped differs");
    for dir in [whole, stopped] {
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_run_is_extended_from_the_weights_that_it_ended_with() {
    let table = open("connect4:5x4x3").unwrap();
    let (dir, more) = (folder("extended"), folder("extended-more"));
    common::tick(&table, "td-nnue", &dir, &["measure.games=0"]);
    let settings = ["train.positions=5000".to_string(), "net.width=64".into()];
    let plan = TdNnue::extended(&*table, &dir, &settings).unwrap();
    assert_eq!(plan.options["train"]["start_sha256"].as_str().unwrap().len(), 64);
    job(&table, plan.clone(), &more, 2, Arc::new(Silent)).unwrap().learn().unwrap();
    // Weights that are not the ones that are meant are refused before any work.
    let weights = dir.join("parts/weights.bin");
    let mut bytes = std::fs::read(&weights).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    assert!(TdNnue::extended(&*table, &dir, &settings).unwrap_err().to_string().contains("was altered"));
    for dir in [dir, more] {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
