//! What the user is told when something fails. The libraries say what is wrong; this file adds what to type about it, and
//! decides the exit code: 2 for what the user typed ([`Usage`]), 1 for what failed.

use crate::shell::{program, shell_word};
use ludex_play::arena::ContestError;
use ludex_play::manifest::{self, ManifestError};
use ludex_play::{OpenError, Spec, SpecError, Table};
use ludex_train::store::{self, RunError};
use std::fmt::Display;
use std::path::Path;

/// Something that the user typed is wrong: one line, exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error about what the user typed, as a library states it.
pub fn usage(e: impl Display) -> anyhow::Error {
    Usage(e.to_string()).into()
}

/// A name that opens no game.
pub fn open_error(e: &OpenError) -> anyhow::Error {
    match e {
        OpenError::Unknown { like: None, .. } => usage(format!("{e}: `ludex games` lists them all")),
        _ => usage(e),
    }
}

/// An agent that cannot be built for a game.
pub fn agent_error(table: &dyn Table, spec: &Spec, e: &SpecError) -> anyhow::Error {
    usage(format!("agent \"{spec}\": {e}{}", missing_model(table, spec)))
}

/// How to make the model that an agent lacks; nothing if it lacks none.
fn missing_model(table: &dyn Table, spec: &Spec) -> String {
    let game = shell_word(&table.info().name);
    let models = spec.models();
    // An agent that is only refused when it is built, and not when it is checked, lacks a model.
    if models.is_empty() && table.check(spec).is_ok() {
        return format!("; `{} learn {game}` makes one", program());
    }
    let advice = models.iter().find_map(|model| {
        let (path, typed) = (model.path(), shell_word(&model.to_string()).into_owned());
        let makes_one = || format!("; `{} learn {game} --run {typed}` makes one", program());
        match path.is_dir() {
            false => (!path.exists()).then(makes_one),
            true if !matches!(manifest::final_models(path), Err(ManifestError::NoModel)) => None,
            true if store::config(path).is_ok() => Some(format!("; {}", go_on(path))),
            true => Some(makes_one()),
        }
    });
    advice.unwrap_or_default()
}

/// How to go on with a run that is not finished.
pub fn go_on(dir: &Path) -> String {
    format!("go on with `{} learn --run {} --resume`", program(), shell_word(&dir.to_string_lossy()))
}

/// A contest that cannot be held, or failed.
pub fn contest_error(table: &dyn Table, e: ContestError) -> anyhow::Error {
    match &e {
        ContestError::File(..) => e.into(),
        ContestError::Other(_) => usage(format!("{e}: give another --out or delete it")),
        ContestError::Agent(spec, why) => match spec.parse() {
            Ok(spec) => agent_error(table, &spec, why),
            Err(_) => usage(e),
        },
        _ => usage(e),
    }
}

/// A run in this directory that cannot begin, or failed.
pub fn run_error(dir: &Path, e: RunError) -> anyhow::Error {
    match &e {
        RunError::File(..) | RunError::Learning(_) | RunError::Contest(ContestError::File(..)) => e.into(),
        RunError::Stopped => anyhow::anyhow!("{e}: {}", go_on(dir)),
        RunError::Exists(_) => usage(format!("{e}: add --resume to go on with it, or choose another --run")),
        RunError::OtherConfig(_) => usage(format!("{e}: choose another --run, or give only --run and --resume")),
        RunError::Contest(ContestError::Other(_)) => usage(format!("{e}: delete it, and it is played again")),
        _ => usage(e),
    }
}
