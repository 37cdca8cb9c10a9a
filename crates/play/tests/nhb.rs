//! NHB learns every native game, has the same bytes on any number of threads and after being cut off, and shows its tables.

use ludex_core::Limit;
use ludex_play::store::{Run, RunError, Unwatched, Wanted, entries};
use ludex_play::systems::exhibit::{Experiment, reproduce};
use ludex_play::systems::{Plan, Report, learn};
use ludex_play::{GAMES, Table, open};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A fresh folder for a test.
fn folder(test: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ludex-nhb-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn learned(table: &dyn Table, dir: &Path, threads: usize, settings: &[&str]) -> Result<Report, RunError> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let plan = Plan::new(&table.info().name, "nhb", "tick", 3, &settings)?;
    let run = Run::open(dir, &plan.to_toml(), true, threads, &Unwatched)?;
    learn(table, &run, &plan)
}

/// Parts with their checksums.
fn sums(dir: &Path) -> BTreeMap<String, String> {
    entries(dir).unwrap().into_iter().map(|e| (e.part, e.sha256)).collect()
}

#[test]
fn every_native_game_is_learned_and_the_agent_plays() {
    for game in GAMES {
        // The largest board would take most of the time and tell nothing more.
        let name = if game.name == "gomoku" { "gomoku:9x9" } else { game.name };
        let table = open(name).unwrap();
        let dir = folder(game.name);
        let report = learned(&*table, &dir, 2, &["measure.level_games=0", "measure.levels=[]"]).unwrap();
        assert!(report.strength.is_some_and(|s| s.anchors.len() == 2), "{name}");
        let mut agent = table.agent(&report.agent, 1).unwrap();
        let position = table.start();
        agent.start(&*position);
        assert!(position.legal().contains(&agent.choose(&Limit::default()).mv), "{name}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_run_has_the_same_bytes_on_two_threads_and_after_being_cut_off() {
    let table = open("connect4").unwrap();
    let (one, two) = (folder("one"), folder("two"));
    learned(&*table, &one, 1, &["measure.games=0"]).unwrap();
    learned(&*table, &two, 2, &["measure.games=0"]).unwrap();
    let whole = sums(&one);
    assert!(whole.keys().any(|k| k == "model/cycle-0002") && whole.keys().any(|k| k.starts_with("cycle-0001/")));
    assert_eq!(sums(&two), whole);
    // As if it had been killed after any number of commits, the last line only half written.
    let manifest = std::fs::read_to_string(two.join("manifest.jsonl")).unwrap();
    for kept in [0, 1, 3, manifest.lines().count() - 1] {
        let lines: Vec<&str> = manifest.lines().collect();
        let half = &lines[kept][..lines[kept].len() / 2];
        std::fs::write(two.join("manifest.jsonl"), [&lines[..kept], &[half]].concat().join("\n")).unwrap();
        learned(&*table, &two, 2, &["measure.games=0"]).unwrap();
        assert_eq!(sums(&two), whole, "cut off after {kept} parts");
    }
    let plan = Plan::from_toml(&ludex_play::store::config(&one).unwrap()).unwrap();
    let audit = Run::audit(&one, Wanted::All, 2, &Unwatched).unwrap();
    learn(&*table, &audit, &plan).unwrap();
    let findings = audit.findings();
    assert!(findings.wrong.is_empty() && findings.checked.len() >= whole.len(), "{findings:?}");
    [one, two].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
}

#[test]
fn options_change_what_is_learned_and_bad_ones_are_refused() {
    let table = open("connect4").unwrap();
    let options = [
        &["net.view=mover", "net.hidden=5"][..],
        &["net.coding=signed", "examples.pruning=wins", "examples.join=true"],
        &["cycle.against=hash", "initial.heuristic=net", "cycle.self_match=false", "examples.heard=learner"],
        &["examples.ends=false", "examples.most=0", "examples.consistent_from=0", "cycle.opening_plies=2"],
    ];
    for (i, settings) in options.iter().enumerate() {
        let dir = folder(&format!("options{i}"));
        learned(&*table, &dir, 2, &[settings, &["measure.games=0"][..]].concat()).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
    let refused = |setting: &str| learned(&*table, &folder("refused"), 1, &[setting]).is_err();
    assert!(refused("net.view=sideways") && refused("search.node=5") && refused("search.order=best"));
    let _ = std::fs::remove_dir_all(folder("refused"));
}

#[test]
fn games_that_are_not_zero_sum_are_refused_with_one_line() {
    // One player: nobody to win against.
    let sheet = "(role robot) (init (step 1)) (<= (legal robot wait) (true (step 1)))
        (<= (next (step 2)) (does robot wait)) (<= terminal (true (step 2))) (goal robot 100)";
    let path = std::env::temp_dir().join(format!("ludex-nhb-solo-{}.kif", std::process::id()));
    std::fs::write(&path, sheet).unwrap();
    let table = open(path.to_str().unwrap()).unwrap();
    let error = learned(&*table, &folder("solo"), 1, &[]).unwrap_err().to_string();
    assert!(error.contains("zero-sum") && !error.contains('\n'), "{error}");
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(folder("solo"));
}

#[test]
fn the_tables_are_shown_for_both_games_of_the_paper() {
    for (game, names) in
        [("connect4", &["Table 1", "Direct", "Order"][..]), ("othello", &["Table 2", "Direct", "Order"])]
    {
        let table = open(game).unwrap();
        let dir = folder(&format!("reproduce-{game}"));
        let experiment = Experiment {
            table: &*table,
            system: "nhb",
            preset: "tick",
            seeds: vec![1, 2],
            settings: Vec::new(),
            dir: &dir,
            threads: 2,
            watch: &Unwatched,
            only: None,
        };
        let exhibits = reproduce(&experiment).unwrap();
        assert_eq!(exhibits.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), names);
        assert!(exhibits.iter().all(|e| !e.rows.is_empty() && e.rows.iter().all(|r| r.len() == e.columns.len())));
        assert!(exhibits[0].plot.is_some());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
