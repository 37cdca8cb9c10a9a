//! Runs that are stopped, damaged or made by another version: what was learned in the end is the same, bit for bit.

mod common;

use common::{Impatient, folder, job, plan, sums, tick};
use ludex_train::store::{Audited, Run, RunError, Silent};
use ludex_train::{Job, open};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Short runs of every system, each long enough to be stopped in every stage.
const RUNS: [(&str, &[&str]); 9] = [
    ("uct-ccnn", &["train.units=5", "train.epochs=8"]),
    ("cut", &["train.epochs=12", "train.patience=12", "generate.opening_uses=2"]),
    ("cut", &["train.epochs=6", "generate.rounds=1", "generate.again_matches=6", "generate.again_sims=8"]),
    ("nhb", &["cycle.cycles=3"]),
    ("uct-nn", &["train.epochs=12", "train.measures=6", "generate.matches=5"]),
    ("carl-playout", &["train.games=120"]),
    ("carl-selection", &["train.games=120", "train.regressor=mlp", "train.inputs=state", "train.hidden=[4]"]),
    ("td-nnue", &["train.positions=4000", "train.generation=400", "train.replay=1500"]),
    (
        "td-nnue",
        &["train.positions=4000", "train.generation=800", "search.share=0.5", "search.nodes=2", "search.reuse=1"],
    ),
];

#[test]
fn a_run_stopped_after_every_part_goes_on_to_the_same_bytes_on_any_number_of_threads() {
    let table = open("connect4:5x4x3").unwrap();
    for (i, (system, settings)) in RUNS.into_iter().enumerate() {
        let settings = [settings, &["measure.games=0"]].concat();
        let (whole, cut) = (folder(&format!("whole-{i}")), folder(&format!("cut-{i}")));
        tick(&table, system, &whole, &settings);
        let (mut lives, mut trained) = (0, Vec::new());
        loop {
            let observer = Impatient::after(1 + lives % 3);
            let plan = plan(&*table, system, "tick", &settings).unwrap();
            let result = job(&table, plan, &cut, 1 + lives % 2, observer.clone()).unwrap().learn();
            lives += 1;
            trained.extend(observer.done.lock().unwrap().get("train").copied());
            match result {
                Ok(_) => break,
                Err(RunError::Stopped) => assert!(lives < 300, "{system} does not come to an end"),
                Err(e) => panic!("{system}: {e}"),
            }
        }
        assert!(lives > 2, "{system} was stopped");
        if system != "nhb" {
            assert!(trained.len() > 1, "{system} was stopped in the middle of training: {trained:?}");
        }
        let final_parts = |dir| -> BTreeMap<String, String> {
            sums(dir).into_iter().filter(|(part, _)| !part.contains("stopped")).collect()
        };
        assert_eq!(final_parts(&cut), final_parts(&whole), "{system}");
        [whole, cut].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
    }
}

#[test]
fn a_learner_that_was_saved_in_the_middle_does_not_begin_again() {
    let table = open("dots:3x3").unwrap();
    let (dir, settings) = (folder("middle"), ["train.epochs=20", "train.patience=20", "measure.games=0"]);
    let run = |after| {
        let plan = plan(&*table, "cut", "tick", &settings).unwrap();
        let observer = Impatient::after(after);
        let ended = job(&table, plan, &dir, 1, observer.clone()).unwrap().learn().is_ok();
        let epochs = observer.done.lock().unwrap().get("train").copied().unwrap_or(0);
        (ended, epochs)
    };
    let (ended, first) = run(2 + 9);
    assert!(!ended && first == 9, "{first} epochs");
    assert!(dir.join("checkpoints/train-final").exists());
    let (ended, second) = run(1000);
    assert!(ended && second == 11, "{second} epochs more");
    assert!(!dir.join("checkpoints/train-final").exists());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_manifest_cut_off_anywhere_is_completed_and_an_audit_finds_nothing_wrong() {
    let table = open("connect4").unwrap();
    let dir = folder("manifest");
    let settings = ["measure.games=0"];
    tick(&table, "nhb", &dir, &settings);
    let whole = sums(&dir);
    let manifest = std::fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    let lines: Vec<&str> = manifest.lines().collect();
    for kept in [0, 1, 3, lines.len() - 1] {
        let half = &lines[kept][..lines[kept].len() / 2];
        std::fs::write(dir.join("manifest.jsonl"), [&lines[..kept], &[half]].concat().join("\n")).unwrap();
        tick(&table, "nhb", &dir, &settings);
        assert_eq!(sums(&dir), whole, "cut off after {kept} parts");
    }
    let plan = plan(&*table, "nhb", "tick", &settings).unwrap();
    let run = Run::audit(&dir, Audited::All, 2, Arc::new(Silent)).unwrap();
    let audit = Job { table: table.clone(), run, plan };
    audit.learn().unwrap();
    let findings = audit.run.findings();
    assert!(findings.wrong.is_empty() && findings.checked.len() >= whole.len(), "{findings:?}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_run_of_another_version_goes_on_and_one_of_other_options_does_not() {
    let table = open("tictactoe").unwrap();
    let dir = folder("version");
    tick(&table, "nhb", &dir, &["measure.games=0"]);
    let path = dir.join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let older = text.replace(&format!("version = \"{}\"", env!("CARGO_PKG_VERSION")), "version = \"0.0.7\"");
    assert_ne!(older, text);
    std::fs::write(&path, older).unwrap();
    tick(&table, "nhb", &dir, &["measure.games=0"]);
    let other = plan(&*table, "nhb", "tick", &["measure.games=0", "net.hidden=5"]).unwrap();
    assert!(matches!(job(&table, other, &dir, 1, Arc::new(Silent)), Err(RunError::OtherConfig(_))));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_system_that_learns_at_any_time_can_be_used_when_it_was_stopped() {
    let table = open("connect4").unwrap();
    let dir = folder("anytime");
    let plan = plan(&*table, "carl-playout", "tick", &["measure.games=0", "train.games=200"]).unwrap();
    let job = job(&table, plan, &dir, 1, Impatient::after(3)).unwrap();
    assert!(matches!(job.learn(), Err(RunError::Stopped)));
    let system = ludex_train::systems::system("carl-playout").unwrap();
    let agent = system.stopped_agent(&job.context()).unwrap();
    assert!(table.agent(&agent, 1).is_ok());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_finished_run_gives_its_agents_by_level_and_is_listed() {
    let table = open("tictactoe").unwrap();
    let dir = folder("listed").join("a run");
    let report = tick(&table, "nhb", &dir, &[]);
    let run = job(&table, report.config.clone(), &dir, 1, Arc::new(Silent)).unwrap().run;
    assert_eq!(run.agent(None).unwrap(), report.agent);
    let level = |name: &str| table.agent(&run.agent(Some(name)).unwrap(), 1).map(|_| ());
    assert!(level("0").is_err() && level(&format!("{}", report.levels.len() + 1)).is_err());
    assert!(level("1").is_ok() && level("best").is_ok(), "from a path with a space");
    std::fs::create_dir_all(dir.with_file_name("broken")).unwrap();
    std::fs::write(dir.with_file_name("broken").join("config.toml"), [0xff, 0xfe]).unwrap();
    let all = ludex_train::RunView::all(dir.parent().unwrap());
    assert_eq!(
        all.iter().map(|r| (r.finished, r.error.is_none(), r.game.as_str())).collect::<Vec<_>>(),
        [(true, true, "tictactoe"), (false, false, "-")]
    );
    std::fs::remove_dir_all(dir.parent().unwrap()).unwrap();
}

#[test]
fn a_part_that_cannot_be_made_ends_the_stage_and_is_not_kept() {
    let dir = folder("failed");
    let run = Run::open(&dir, "test = true\n", false, 2, Arc::new(Silent)).unwrap();
    let made = run.stage("work", 4, |i| match i {
        2 => Err(RunError::Learning("it cannot be done".into())),
        i => Ok(ludex_train::store::Json(i)),
    });
    assert!(made.is_err_and(|e| e.to_string() == "it cannot be done"));
    assert!(!sums(&dir).contains_key("work/0002"));
    std::fs::remove_dir_all(dir).unwrap();
}
