//! Systems: published (and later) ways from rules to players, each a composition of parts described by a commented TOML file
//! in `systems/`.
//!
//! A [`Plan`] is a system's options for one game: the file's values, then a preset's, then what the user sets. [`learn`] carries
//! it out inside a [`Run`].

pub mod carl;
pub mod cut;
pub mod exhibit;
mod measure;
pub mod nhb;
mod report;
pub mod uct_ccnn;
pub mod uct_nn;

pub use measure::{Anchor, Level, Measure, Strength, summary};
pub use report::Report;

use crate::spec::Spec;
use crate::store::{Run, RunError};
use crate::table::Table;
use ludex_learn::{Data, Encoder, Head, Model, Net, Provenance};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use toml::{Table as Toml, Value};

/// Carries out a paper's experiments on one game.
type Reproduction = fn(&exhibit::Experiment<'_>) -> Result<Vec<exhibit::Exhibit>, RunError>;

/// The agent with what a run has learned so far.
type SoFar = fn(&Job<'_>) -> Result<Spec, RunError>;

/// A way from rules to players.
pub struct System {
    /// What to type.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its options, commented.
    pub file: &'static str,
    /// The games of its paper.
    pub games: &'static [&'static str],
    learn: fn(&Job<'_>) -> Result<Report, RunError>,
    reproduce: Option<Reproduction>,
    /// The agent that a run which was called off has learned so far, where that can be used.
    so_far: Option<SoFar>,
    check: fn(&Toml) -> Result<(), RunError>,
}

/// All systems.
pub const SYSTEMS: &[System] = &[
    System {
        name: "uct-ccnn",
        about: "UCT self-play, a cascade-correlation value net, NeuralMCTS and NeuralMinimax",
        file: include_str!("../../../../systems/uct-ccnn.toml"),
        games: &["othello", "morris"],
        learn: uct_ccnn::learn,
        reproduce: Some(uct_ccnn::reproduce),
        so_far: None,
        check: check::<uct_ccnn::Config>,
    },
    System {
        name: "cut",
        about: "UCT self-play, a win/draw/loss net, and playouts that end when it is sure",
        file: include_str!("../../../../systems/cut.toml"),
        games: &["dots"],
        learn: cut::learn,
        reproduce: Some(cut::reproduce),
        so_far: None,
        check: check::<cut::Config>,
    },
    System {
        name: "nhb",
        about: "alpha-beta that learns its heuristic online: proven values, an extreme learning machine",
        file: include_str!("../../../../systems/nhb.toml"),
        games: &["connect4", "othello"],
        learn: nhb::learn,
        reproduce: Some(nhb::reproduce),
        so_far: None,
        check: check::<nhb::Config>,
    },
    System {
        name: "uct-nn",
        about: "UCT self-play, a net that ranks moves, and a search that does not expand the worst of them",
        file: include_str!("../../../../systems/uct-nn.toml"),
        games: &["gomoku:5x5x5", "gomoku:5x5x4", "gomoku:9x9x5"],
        learn: uct_nn::learn,
        reproduce: Some(uct_nn::reproduce),
        so_far: None,
        check: check::<uct_nn::Config>,
    },
    System {
        name: "carl-playout",
        about: "SARSA learns what moves are worth, and playouts draw moves by it",
        file: include_str!("../../../../systems/carl-playout.toml"),
        games: CARL_GAMES,
        learn: carl::learn,
        reproduce: Some(carl::reproduce),
        so_far: Some(carl::so_far),
        check: check::<carl::Config>,
    },
    System {
        name: "carl-selection",
        about: "SARSA learns what moves are worth, and selection begins with it",
        file: include_str!("../../../../systems/carl-selection.toml"),
        games: CARL_GAMES,
        learn: carl::learn,
        reproduce: None,
        so_far: Some(carl::so_far),
        check: check::<carl::Config>,
    },
];

const CARL_GAMES: &[&str] = &["connect4", "breakthrough", "checkers"];

/// The presets, from the shortest to the longest.
pub const PRESETS: [&str; 5] = ["tick", "smoke", "quick", "hour", "paper"];

/// What is to be run, in full; the config of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this file's form.
    pub schema: u32,
    /// The program that made the plan.
    pub version: String,
    /// The full name of the game.
    pub game: String,
    /// The system.
    pub system: String,
    /// The preset from which the options come.
    pub preset: String,
    /// Everything random comes from here.
    pub seed: u64,
    /// All options of the system.
    pub options: Toml,
}

/// What a system is given.
pub struct Job<'a> {
    /// The game.
    pub table: &'a dyn Table,
    /// Where everything is kept.
    pub run: &'a Run<'a>,
    /// What to do.
    pub plan: &'a Plan,
}

impl Job<'_> {
    /// A net with all that is needed to use it, and where it came from.
    fn model(&self, encoder: &Encoder, head: Head, net: Net, data: &Data, metrics: BTreeMap<String, f64>) -> Model {
        let (info, plan) = (self.table.info(), self.plan);
        let (system, config, version) = (plan.system.clone(), plan.to_toml(), env!("CARGO_PKG_VERSION").into());
        let provenance = Provenance { system, config, seed: plan.seed, data_hash: data.hash(), metrics, version };
        let (game, encoder) = (info.name.clone(), encoder.clone());
        Model { game, rules_hash: info.rules_hash, encoder, head, net, provenance }
    }

    /// Ends a run with its report.
    fn report(&self, report: Report) -> Result<Report, RunError> {
        self.run.report("report.json", &serde_json::to_vec_pretty(&report).expect("plain data"))?;
        Ok(report)
    }

    /// The options, as the system knows them.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        read(&self.plan.options)
    }
}

fn read<T: DeserializeOwned>(options: &Toml) -> Result<T, RunError> {
    T::deserialize(options.clone()).map_err(|e| RunError::Config(one_line(&e)))
}

fn one_line(e: &toml::de::Error) -> String {
    e.message().replace('\n', " ")
}

fn check<T: DeserializeOwned>(options: &Toml) -> Result<(), RunError> {
    read::<T>(options).map(|_| ())
}

/// The system of this name; for `carl`, both ways to use what it learns, the first.
pub fn system(name: &str) -> Result<&'static System, RunError> {
    let found = SYSTEMS.iter().find(|s| s.name == name).or_else(|| match name {
        "carl" => SYSTEMS.iter().find(|s| s.name == "carl-playout"),
        _ => None,
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = SYSTEMS.iter().map(|s| s.name).collect();
        let hint = match names.iter().find(|n| crate::spec::near(n, name)) {
            Some(like) => format!("did you mean {like}?"),
            None => format!("there are {}", names.join(", ")),
        };
        RunError::Config(format!("no system is called \"{name}\": {hint}"))
    })
}

/// Puts what `over` says in place of what `base` says, table by table.
fn merge(base: &mut Toml, over: &Toml) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => merge(base, over),
            _ => drop(base.insert(key.clone(), value.clone())),
        }
    }
}

/// Sets the option at a path such as `train.units`.
fn set(options: &mut Toml, path: &str, value: Value) -> Result<(), RunError> {
    let unknown = || RunError::Config(format!("there is no option \"{path}\" to set"));
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    match (options.get_mut(head), rest) {
        (Some(Value::Table(inner)), Some(rest)) => set(inner, rest, value),
        (Some(Value::Table(_)), None) | (None, _) | (Some(_), Some(_)) => Err(unknown()),
        (Some(old), None) => {
            // 5000 for an option that is a float is meant as one.
            *old = match (&old, value) {
                (Value::Float(_), Value::Integer(n)) => Value::Float(n as f64),
                (_, value) => value,
            };
            Ok(())
        }
    }
}

impl Plan {
    /// The plan for a game: the system's file, then the preset, then `settings` such as `train.units=20`.
    pub fn new(game: &str, system_name: &str, preset: &str, seed: u64, settings: &[String]) -> Result<Plan, RunError> {
        let system = system(system_name)?;
        let mut options: Toml = system.file.parse().map_err(|e| RunError::Config(one_line(&e)))?;
        let Some(Value::Table(presets)) = options.remove("preset") else {
            return Err(RunError::Config(format!("systems/{system_name}.toml has no presets")));
        };
        let Some(Value::Table(over)) = presets.get(preset) else {
            let line = format!("no preset is called \"{preset}\": there are {}", PRESETS.join(", "));
            return Err(RunError::Config(line));
        };
        merge(&mut options, over);
        for setting in settings {
            let Some((path, text)) = setting.split_once('=') else {
                return Err(RunError::Config(format!("--set reads OPTION=VALUE, not \"{setting}\"")));
            };
            let value = format!("v = {text}").parse::<Toml>().ok().and_then(|mut t| t.remove("v"));
            set(&mut options, path.trim(), value.unwrap_or_else(|| Value::String(text.trim().into())))?;
        }
        (system.check)(&options)?;
        let version = env!("CARGO_PKG_VERSION").into();
        let [game, system, preset] = [game, system_name, preset].map(String::from);
        Ok(Plan { schema: 1, version, game, system, preset, seed, options })
    }

    /// Reads the config of a run.
    pub fn from_toml(text: &str) -> Result<Plan, RunError> {
        let plan: Plan =
            toml::from_str(text).map_err(|e| RunError::Config(format!("config.toml: {}", one_line(&e))))?;
        (system(&plan.system)?.check)(&plan.options)?;
        Ok(plan)
    }

    /// The config of a run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan is plain data")
    }
}

/// Carries out a plan, or what is missing of it.
pub fn learn(table: &dyn Table, run: &Run<'_>, plan: &Plan) -> Result<Report, RunError> {
    (system(&plan.system)?.learn)(&Job { table, run, plan })
}

/// What a plan that was called off has learned so far, if its system can use that.
pub fn so_far(table: &dyn Table, run: &Run<'_>, plan: &Plan) -> Option<Spec> {
    system(&plan.system).ok()?.so_far?(&Job { table, run, plan }).ok()
}

impl System {
    /// Whether what it has learned so far can be used at any time.
    pub fn anytime(&self) -> bool {
        self.so_far.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_every_preset_and_all_options_are_known() {
        for system in SYSTEMS {
            for preset in PRESETS {
                let plan = Plan::new("connect4", system.name, preset, 1, &[]).unwrap();
                assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
            }
        }
    }

    #[test]
    fn settings_are_typed_and_unknown_ones_refused() {
        let plan = |s: &str| Plan::new("connect4", "uct-ccnn", "tick", 1, &[s.to_string()]);
        assert_eq!(plan("train.units=7").unwrap().options["train"]["units"].as_integer(), Some(7));
        assert_eq!(plan("generate.work=5").unwrap().options["generate"]["work"].as_float(), Some(5.0));
        assert_eq!(plan("train.view=mover").unwrap().options["train"]["view"].as_str(), Some("mover"));
        for bad in ["train.unit=7", "train=3", "train.view=sideways", "train.units=many", "units", "train.units.x=1"] {
            assert!(plan(bad).is_err(), "{bad}");
        }
        assert!(Plan::new("connect4", "uct-ccn", "tick", 1, &[]).unwrap_err().to_string().contains("uct-ccnn"));
        assert!(Plan::new("connect4", "uct-ccnn", "tock", 1, &[]).is_err());
    }
}
