//! CARL on native games and rulesheets, what a run that was called off goes on to, and the paper's exhibits.

use ludex_core::Limit;
use ludex_play::store::{Run, RunError, Unwatched, Watch, entries, last_models};
use ludex_play::systems::exhibit::{Exhibit, Experiment, reproduce};
use ludex_play::systems::{Plan, Report, learn, so_far};
use ludex_play::{Spec, Table, open};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("carl-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn plan(table: &dyn Table, settings: &[&str]) -> Plan {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    Plan::new(&table.info().name, "carl-playout", "tick", 1, &settings).unwrap()
}

fn tick(table: &dyn Table, dir: &Path, settings: &[&str], watch: &dyn Watch) -> Result<Report, RunError> {
    let plan = plan(table, settings);
    let run = Run::open(dir, &plan.to_toml(), true, 2, watch).unwrap();
    learn(table, &run, &plan)
}

/// Every way to use what was learned, for some moves each.
fn plays(table: &dyn Table, dir: &Path) {
    let model = dir.display();
    for text in [
        format!("uct(sims=5, playout=guided(model={model}))"),
        format!("uct(sims=5, playout=guided(model={model}, law=proportional, eps=0.5, plies=3))"),
        format!("guided(sims=12, model={model}, playout=guided)"),
        format!("guided(sims=12, model={model}, expand=second, first=learned, k=10)"),
        format!("policy(model={model})"),
    ] {
        let (mut agent, mut position) = (table.agent(&text.parse().unwrap(), 1).unwrap(), table.start());
        agent.start(&*position);
        for _ in 0..6 {
            if position.outcome().is_some() {
                break;
            }
            let m = agent.choose(&Limit::default()).mv;
            position.play(m).unwrap();
            agent.observe(m);
        }
    }
}

const WAYS: [&[&str]; 4] = [
    &["train.inputs=beside", "train.roles=own"],
    &["train.regressor=pa", "train.inputs=crossed", "train.behaviour=softmax", "train.roles=own"],
    &["train.regressor=mlp", "train.inputs=beside", "train.hidden=[4]", "train.noops=true", "train.roles=own"],
    &["train.regressor=mlp", "train.inputs=state", "train.hidden=[4]", "train.targets=game", "train.lambda=0.5"],
];

#[test]
fn every_way_to_learn_plays() {
    let table = open("breakthrough:4x5").unwrap();
    for (i, way) in WAYS.iter().enumerate() {
        let dir = folder(&format!("way-{i}"));
        let report = tick(&*table, &dir, &[way, &["measure.games=0"][..]].concat(), &Unwatched).unwrap();
        assert!(report.model.exists() && report.figures["curve"].as_array().is_some_and(|c| !c.is_empty()));
        assert_eq!(
            last_models(&dir).unwrap().len(),
            if i == 3 { 1 } else { 2 },
            "a model for each role that has its own"
        );
        plays(&*table, &dir);
        std::fs::remove_dir_all(dir).unwrap();
    }
}

/// Our own sheets, and public ones from `LUDEX_GDL_SHEETS` or beside the workspace.
#[test]
fn every_rulesheet_is_learned_and_played() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let public = std::env::var("LUDEX_GDL_SHEETS").map_or(root.join("../shared/gdl"), PathBuf::from);
    if !public.exists() {
        eprintln!("{} is not there: only our own sheets are learned", public.display());
    }
    let mut sheets: Vec<PathBuf> = [root.join("rules"), public]
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten())
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "kif"))
        .collect();
    sheets.sort();
    for sheet in sheets {
        let table = open(sheet.to_str().unwrap()).unwrap();
        let dir = folder("sheet");
        tick(&*table, &dir, &["train.games=3", "measure.games=0"], &Unwatched).unwrap();
        plays(&*table, &dir);
        std::fs::remove_dir_all(dir).unwrap();
    }
}

/// Calls a run off when it has been asked so often.
struct Impatient(AtomicU32);

impl Watch for Impatient {
    fn stopped(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 8
    }
}

#[test]
fn a_run_that_was_called_off_can_be_used_and_goes_on_to_the_same_bytes() {
    let table = open("connect4").unwrap();
    let models = |dir: &Path| {
        let all = entries(dir).unwrap().into_iter().filter(|e| e.part.contains("final") || e.part.contains("curve"));
        all.map(|e| (e.part, e.sha256)).collect::<Vec<_>>()
    };
    for way in WAYS {
        let settings = [way, &["measure.games=0", "train.games=30"][..]].concat();
        let (whole, cut) = (folder("whole"), folder("cut"));
        tick(&*table, &whole, &settings, &Unwatched).unwrap();
        let stopped = tick(&*table, &cut, &settings, &Impatient(AtomicU32::new(0)));
        assert!(matches!(stopped, Err(RunError::Stopped)));
        let plan = plan(&*table, &settings);
        let run = Run::open(&cut, &plan.to_toml(), true, 1, &Unwatched).unwrap();
        let agent = so_far(&*table, &run, &plan).unwrap();
        assert!(table.agent(&agent, 1).is_ok());
        drop(run);
        tick(&*table, &cut, &settings, &Unwatched).unwrap();
        assert_eq!(models(&whole), models(&cut));
        [whole, cut].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
    }
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let table = open("tictactoe").unwrap();
    let error = |text: &str| table.agent(&text.parse::<Spec>().unwrap(), 1).err().unwrap().to_string();
    for text in ["guided", "policy", "uct(playout=guided)"] {
        assert!(error(text).contains("model="), "{}", error(text));
    }
    assert!(error("uct(playout=guided(tau=0))").contains("model="));
    let refused = |setting: &str| {
        let dir = folder("refused");
        let failed = tick(&*table, &dir, &[setting, "measure.games=0"], &Unwatched).unwrap_err().to_string();
        std::fs::remove_dir_all(dir).unwrap();
        failed
    };
    assert!(refused("train.inputs=state").contains("linear"));
    assert!(refused("train.regressor=mlp").contains("perceptron"));
    assert!(refused("train.epsilon=1.5").contains("epsilon"));
}

#[test]
fn the_exhibits_can_be_reproduced_on_any_number_of_threads() {
    let table = open("breakthrough:4x5").unwrap();
    let run = |dir: &Path, threads: usize| {
        let experiment = Experiment {
            table: &*table,
            system: "carl-playout",
            preset: "tick",
            seeds: vec![1, 2, 3],
            settings: vec![],
            dir,
            threads,
            watch: &Unwatched,
            only: None,
        };
        reproduce(&experiment).unwrap()
    };
    let (one, two) = (folder("one"), folder("two"));
    let first = run(&one, 1);
    let names: Vec<&str> = first.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["Table 1", "Figure 4", "Figure 5", "Figure 6", "K", "Table 3", "Table 5 to Table 7"]);
    let lasting = |e: &[Exhibit]| e.iter().take(6).map(|e| e.markdown()).collect::<String>();
    assert_eq!(lasting(&first), lasting(&run(&one, 2)), "nothing is played twice");
    run(&two, 2);
    for label in ["playout", "selection", "literal", "mlp-4"] {
        let hashes = |dir: &Path| {
            let all = entries(&dir.join(format!("{label}-seed2"))).unwrap();
            all.into_iter().map(|e| (e.part, e.sha256)).collect::<Vec<_>>()
        };
        assert_eq!(hashes(&one), hashes(&two), "{label}");
    }
    [one, two].iter().for_each(|d| std::fs::remove_dir_all(d).unwrap());
}
