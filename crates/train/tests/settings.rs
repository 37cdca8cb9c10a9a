//! Every option of every system at its extremes: one line that says what is wrong, or a plan; never a panic.

mod common;

use ludex_play::Table;
use ludex_train::store::RunObserver;
use ludex_train::systems::{SYSTEMS, system};
use ludex_train::{PRESETS, Plan, open};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toml::Value;

/// The paths of all options, and those that are numbers.
fn paths(table: &toml::Table, prefix: &str, out: &mut Vec<String>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => paths(inner, &path, out),
            _ => out.push(path),
        }
    }
}

const EXTREMES: [&str; 18] = [
    "0",
    "1",
    "-1",
    "0.5",
    "1e300",
    "-1e300",
    "nan",
    "inf",
    "4294967295",
    "9223372036854775807",
    "99999999999999999999",
    "[]",
    "[0]",
    "[-1, 1e300]",
    "true",
    "\"\"",
    "sideways",
    "minimax(depth=",
];

/// Stops a run after a second.
struct Second(Instant);

impl RunObserver for Second {
    fn stopped(&self) -> bool {
        self.0.elapsed() > Duration::from_secs(1)
    }
}

/// Carries out a plan: a report, or one line.
fn runs(table: &Arc<dyn Table>, plan: Plan, what: &str) {
    let dir = common::folder("settings");
    let job = common::job(table, plan, &dir, 2, Arc::new(Second(Instant::now()))).unwrap();
    if let Err(e) = job.learn() {
        assert!(!e.to_string().contains('\n'), "{what}: {e}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn every_option_at_its_extremes_is_refused_in_one_line_or_planned() {
    let table = open("connect4:4x4x3").unwrap();
    let (mut planned, mut refused) = (0, 0);
    for system in SYSTEMS {
        let options = ludex_train::options(system.file(), "tick", &[]).unwrap();
        let mut all = Vec::new();
        paths(&options, "", &mut all);
        assert!(all.len() > 15, "{}", system.name());
        for path in all {
            for value in EXTREMES {
                match common::plan(&*table, system.name(), "tick", &[&format!("{path}={value}")]) {
                    Ok(plan) => {
                        planned += 1;
                        // Small values end by themselves, or soon after they are asked to.
                        if value.len() <= 4 {
                            runs(&table, plan, &format!("{path}={value}"));
                        }
                    }
                    Err(e) => {
                        let line = e.to_string();
                        assert!(!line.is_empty() && !line.contains('\n'), "{path}={value}: {line}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(planned > 250 && refused > 1500, "{planned} planned, {refused} refused");
}

#[test]
fn what_used_to_fail_late_is_refused_before_any_work() {
    let table = open("connect4").unwrap();
    for (system, setting, what) in [
        ("uct-ccnn", "play.mcts=neural(rule=sideways)", "rule=sideways"),
        ("uct-ccnn", "play.minimax=minimax(simz=3)", "simz"),
        ("uct-ccnn", "generate.final_move=best", "best"),
        ("uct-ccnn", "generate.matches=99999999999", "matches"),
        ("uct-ccnn", "tune.opening_plies=4294967295", "opening_plies"),
        ("uct-ccnn", "tune.elites=100", "elites"),
        ("uct-ccnn", "tune.sims=0", "tune.sims"),
        ("cut", "generate.matches=0", "nothing to learn from"),
        ("uct-nn", "generate.matches=0", "nothing to learn from"),
        ("nhb", "initial.matches=0", "initial.matches"),
        ("nhb", "net.search.most=0", "net.search.most"),
        ("cut", "play.agent=uct(playout=cutt)", "cutt"),
        ("cut", "train.inputs=paper", "facts"),
        ("cut", "train.hidden=[100000, 100000]", "weights"),
        ("nhb", "net.bound=1e300", "bound"),
        ("nhb", "net.hidden=100000", "hidden"),
        ("nhb", "search.order=best", "order"),
        ("uct-nn", "train.input=sideways", "sideways"),
        ("carl-playout", "train.inputs=state", "linear"),
        ("carl-playout", "train.regressor=mlp", "perceptron"),
        ("carl-playout", "train.epsilon=1.5", "epsilon"),
    ] {
        let error = common::plan(&*table, system, "tick", &[setting]).unwrap_err().to_string();
        assert!(error.contains(what), "{system} {setting}: {error}");
    }
}

#[test]
fn every_system_has_every_preset_and_all_options_are_known() {
    let table = open("dots:3x3").unwrap();
    for system in SYSTEMS {
        for preset in PRESETS {
            let plan = Plan::new(&*table, *system, preset, 1, &[]).unwrap();
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
    }
}

#[test]
fn settings_are_typed_and_unknown_ones_refused() {
    let table = open("connect4").unwrap();
    let plan = |s: &str| Plan::new(&*table, system("uct-ccnn").unwrap(), "tick", 1, &[s.to_string()]);
    assert_eq!(plan("train.units=7").unwrap().options["train"]["units"].as_integer(), Some(7));
    assert_eq!(plan("generate.work=5").unwrap().options["generate"]["work"].as_float(), Some(5.0));
    assert_eq!(plan("train.view=mover").unwrap().options["train"]["view"].as_str(), Some("mover"));
    for bad in [
        "train.unit=7",
        "train=3",
        "train.view=sideways",
        "train.units=many",
        "units",
        "train.units.x=1",
        "generate.matches=99999999999",
        "tune.opening_plies=4294967295",
        "play.mcts=neural(rule=sideways)",
        "play.minimax=minimax(simz=3)",
    ] {
        assert!(plan(bad).is_err(), "{bad}");
    }
    assert!(system("uct-ccn").err().unwrap().to_string().contains("uct-ccnn"));
    assert!(Plan::new(&*table, system("uct-ccnn").unwrap(), "tock", 1, &[]).is_err());
}
