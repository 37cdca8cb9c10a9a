//! What is to be run: a system's options for one game. The values of the system's commented TOML file, then a preset's, then
//! what the user sets; all checked before any work.

use crate::store::{Result, RunError};
use crate::systems::System;
use ludex_play::Table;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use toml::{Table as Toml, Value};

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

impl Plan {
    /// The plan for a game: the system's file, then the preset, then `settings` such as `train.units=20`. Every option is
    /// checked: numbers against their bounds, agents by building them.
    pub fn new(table: &dyn Table, system: &dyn System, preset: &str, seed: u64, settings: &[String]) -> Result<Plan> {
        if i64::try_from(seed).is_err() {
            return Err(RunError::Options(format!("a seed is at most {}", i64::MAX))); // as TOML has it
        }
        let options = options(system.file(), preset, settings)?;
        system.check(&options, table)?;
        let [game, system, preset] = [&table.info().name, system.name(), preset].map(String::from);
        Ok(Plan { schema: 1, version: env!("CARGO_PKG_VERSION").into(), game, system, preset, seed, options })
    }

    /// Reads the config of a run.
    pub fn from_toml(text: &str) -> Result<Plan> {
        toml::from_str(text).map_err(|e| RunError::Options(format!("config.toml: {}", one_line(&e))))
    }

    /// The config of a run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan is plain data")
    }
}

/// The options of a commented file, with those of a preset and of the user in their place.
pub fn options(file: &str, preset: &str, settings: &[String]) -> Result<Toml> {
    let mut options: Toml = file.parse().map_err(|e| RunError::Options(one_line(&e)))?;
    let Some(Value::Table(presets)) = options.remove("preset") else {
        return Err(RunError::Options("the file of options has no presets".into()));
    };
    let Some(Value::Table(over)) = presets.get(preset) else {
        let line = format!("no preset is called \"{preset}\": there are {}", PRESETS.join(", "));
        return Err(RunError::Options(line));
    };
    merge(&mut options, over);
    change(options, settings)
}

/// Options with some settings such as `train.units=20` in place of what they say.
pub fn change(mut options: Toml, settings: &[String]) -> Result<Toml> {
    for setting in settings {
        let Some((path, text)) = setting.split_once('=') else {
            return Err(RunError::Options(format!("a setting reads OPTION=VALUE, not \"{setting}\"")));
        };
        let value = format!("v = {text}").parse::<Toml>().ok().filter(|t| t.len() == 1).and_then(|mut t| t.remove("v"));
        set(&mut options, path.trim(), value.unwrap_or_else(|| Value::String(text.trim().into())))?;
    }
    check_bounds(&options, "", BOUNDS, (0.0, 1e9))?;
    Ok(options)
}

/// Reads options as a system knows them.
pub fn read<T: DeserializeOwned>(options: &Toml) -> Result<T> {
    T::deserialize(options.clone()).map_err(|e| RunError::Options(one_line(&e)))
}

fn one_line(e: &toml::de::Error) -> String {
    e.message().replace('\n', " ")
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
fn set(options: &mut Toml, path: &str, value: Value) -> Result<()> {
    let unknown = || RunError::Options(format!("there is no option \"{path}\" to set"));
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

/// The least and the greatest value of options of these names, in any system, or of the option at a path; lists by element.
/// All others lie between 0 and a billion.
const BOUNDS: &str = "
    matches 0 1e7   games 0 1e9   measure.games 0 1e6   tune.games 1 1e6   tune.sims 1 1e9   initial.matches 1 1e7
    net.search.most 1 4000   net.search.patience 1 1e7   states 0 1e6   repeats 0 1e4   iterations 0 1e4   population 1 1e4   elites 1 1e4
    cycles 0 1e5   rounds 0 100   batch 0 1e6   opening_plies 0 1e4   opening_random 0 1e4   opening_uses 0 1e6
    opening_share 0 100   again_matches 0 1e7   level_games 0 1e6   levels 0 20   level_ms 1 1e6   level_budget 0 1e9   measure.cpu_ms 1 1e6   least_sims 1 1e9   most_sims 1 1e9
    cpu_ms 0 1e7   table 0 65536   depth 0 64   c 0 1e6   against 0 1e6   low 0 1e6   high 0 1e6   work 0 1e18
    hidden 0 1e5   units 0 1e4   candidates 1 1e3   epochs 0 1e7   patience 0 1e7   epoch_patience 0 1e7   measures 1 1e6
    bound 1e-6 1e3   keep 1e-6 1   l2 0 1e6   rate 0 1e3   last_rate 0 1e3   eta0 0 1e3   alpha 0 1e3   power 0 10
    epsilon 0 1   gamma 0 1   lambda 0 1   error_rate 0 1   tau 1e-6 1e6   scale 1e-6 1e6   smoothing 0 1   selection 0 0.9
    width 0 1024   phases 1 16   average 0 0.99999   margin 0 1   minutes 0 1e5   positions 0 1e15   generation 0 1e7   replay 1 1e9   share 0 0.99
    reuse 0.001 1e3   test 0 0.9   result_share 0 1   tolerance 0 2   first 1 1e4   step 1 1e4   draws 1 1e3   folds 2 1e3";

/// Refuses numbers outside their bounds, which are those of the option's path, of its name, or the usual ones.
pub fn check_bounds(options: &Toml, path: &str, bounds: &str, usual: (f64, f64)) -> Result<()> {
    let words: Vec<&str> = bounds.split_whitespace().collect();
    let number = |text: &str| text.parse().expect("bounds are numbers");
    for (key, value) in options {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let of = |wanted: &str| words.chunks_exact(3).find(|w| w[0] == wanted);
        let (low, high) = of(&path).or_else(|| of(key)).map_or(usual, |w| (number(w[1]), number(w[2])));
        let list = match value {
            Value::Table(inner) => {
                check_bounds(inner, &path, bounds, usual)?;
                continue;
            }
            Value::Array(list) => list,
            other => std::slice::from_ref(other),
        };
        let mut numbers = list.iter().filter_map(|v| v.as_float().or(v.as_integer().map(|n| n as f64)));
        if let Some(x) = numbers.find(|x| !(low..=high).contains(x)) {
            return Err(RunError::Options(format!("{path}={x} does not lie between {low} and {high}")));
        }
    }
    Ok(())
}
