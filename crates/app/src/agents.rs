//! How verbs are told who plays: a spec, a .toml file with one, what a run learned, or a level of a bundle.

use crate::errors::{Usage, go_on, run_error, usage};
use anyhow::Result;
use ludex_play::bundle::{self, READY_MADE};
use ludex_play::{Bundle, ModelRef, Spec, SpecError};
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
    /// What was learned: a run, a bundle or a model file, or the name of a ready-made bundle
    #[arg(long, value_name = "PATH|NAME", value_parser = unicode_path)]
    model: Option<PathBuf>,
    /// One of its levels: a number from 1, or beginner, easy, medium, hard, best; without --model a ready-made one
    #[arg(long, value_name = "N|NAME")]
    level: Option<String>,
}

impl LearnedAgent {
    /// The agent, if one is asked for.
    pub fn spec(&self) -> Result<Option<Spec>> {
        match (&self.model, &self.level) {
            (Some(model), level) => learned(model, level.as_deref()).map(Some),
            (None, Some(level)) => Ok(Some(Spec::word(format!("level:{level}")))),
            (None, None) => Ok(None),
        }
    }
}

/// What was learned, at one of its levels or the best. A model file, or the model of a run without a report, plays in `neural`.
fn learned(model: &Path, level: Option<&str>) -> Result<Spec> {
    let name = model.to_string_lossy();
    let ready = (!model.exists() && READY_MADE.iter().any(|(n, _)| *n == name)).then(|| format!("ready:{name}"));
    let bundled = ready.is_some() || name.starts_with("ready:") || Bundle::is_bundle(&model.join(bundle::FILE));
    if bundled || Bundle::is_bundle(model) {
        let path = ready.as_deref().unwrap_or(&name);
        return Ok(Spec::word(format!("level:{}@{path}", level.unwrap_or("best"))));
    }
    let report = match model.is_dir() {
        true => Report::read(model).map_err(|e| match e {
            RunError::Learning(_) => anyhow::anyhow!("{e}; {} to write it anew", go_on(model)),
            e => run_error(model, e),
        })?,
        false => None,
    };
    match (report, level) {
        (Some(report), None) => Ok(report.agent(model)),
        (None, None) => Ok(Spec::word("neural").with("model", ModelRef::new(model))),
        (_, Some(level)) => {
            let model = model.display();
            Err(usage(format!("{model} has no levels, so leave out --level {level}")))
        }
    }
}
