//! How verbs are told who plays: a spec, a .toml file with one, or what a run learned.

use crate::errors::{Usage, go_on, run_error, usage};
use anyhow::Result;
use ludex_play::{ModelRef, Spec, SpecError};
use ludex_train::Report;
use ludex_train::store::RunError;
use std::path::{Path, PathBuf};

/// Reads an agent: a spec, or a file that holds one as TOML.
pub fn spec(text: &str) -> Result<Spec> {
    let bad = |e: SpecError| Usage(format!("agent \"{text}\": {e}"));
    if text.ends_with(".toml") {
        let toml = std::fs::read_to_string(text).map_err(|e| Usage(format!("cannot read {text}: {e}")))?;
        return Ok(Spec::from_toml(&toml).map_err(bad)?);
    }
    Ok(text.parse().map_err(bad)?)
}

/// A path that a run may have. What a run keeps names its files as text, which other paths have no form for.
pub fn unicode_path(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

/// `--model` and `--level`, the same for all verbs.
#[derive(clap::Args)]
pub struct LearnedAgent {
    /// The agent that a run learned (its directory), or a model file
    #[arg(long, value_name = "RUN", value_parser = unicode_path)]
    model: Option<PathBuf>,
    /// With --model: one of the run's levels, from 1
    #[arg(long, requires = "model")]
    level: Option<usize>,
}

impl LearnedAgent {
    /// The agent, if one is asked for.
    pub fn spec(&self) -> Result<Option<Spec>> {
        self.model.as_deref().map(|model| learned(model, self.level)).transpose()
    }
}

/// The agent that a run learned, at one of its levels. A model file, or the model of a run without a report, plays in `neural`.
fn learned(model: &Path, level: Option<usize>) -> Result<Spec> {
    let report = match model.is_dir() {
        true => Report::read(model).map_err(|e| match e {
            RunError::Learning(_) => anyhow::anyhow!("{e}; {} to write it anew", go_on(model)),
            e => run_error(model, e),
        })?,
        false => None,
    };
    match (report, level) {
        (Some(report), level) => report.agent(model, level).map_err(|e| run_error(model, e)),
        (None, None) => Ok(Spec::word("neural").with("model", ModelRef::new(model))),
        (None, Some(level)) => {
            let model = model.display();
            Err(usage(format!("{model} has no levels: it is not a finished run, so leave out --level {level}")))
        }
    }
}
