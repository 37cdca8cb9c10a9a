//! Systems: ways from rules to players, each a short composition of shared parts with a commented file of options.

mod carl;
mod cut;
mod nhb;
mod td_nnue;
mod uct_ccnn;
mod uct_nn;

pub use carl::Carl;
pub use cut::Cut;
pub use nhb::{Nhb, UNTRAINED_HIDDEN, untrained};
pub use td_nnue::TdNnue;
pub use uct_ccnn::{UctCcnn, composed};
pub use uct_nn::{Decay, UctNn};

use crate::driver::{Context, Learned};
use crate::plan::{PRESETS, options, read};
use crate::store::{Result, RunError};
use ludex_play::{ModelRef, Spec, Table, hint};
use serde::de::DeserializeOwned;

/// A way from rules to players.
pub trait System: Send + Sync {
    /// What to type.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// Its options with their explanations and presets, as TOML.
    fn file(&self) -> &'static str;

    /// Refuses options that cannot be carried out for this game, before any work: every agent that they describe is built.
    fn check(&self, options: &toml::Table, table: &dyn Table) -> Result<()>;

    /// Learns, or goes on: from a context to models (kept in the run as `final`), agent and curves.
    fn learn(&self, cx: &Context<'_>) -> Result<Learned>;

    /// The agent with what a run that was stopped has learned so far, where the system can use that at any time.
    fn stopped_agent(&self, _cx: &Context<'_>) -> Option<Spec> {
        None
    }

    /// Whether what it has learned so far can be used at any time.
    fn anytime(&self) -> bool {
        false
    }

    /// Settings that make a run last so many seconds; none where a system cannot plan by the clock.
    fn for_clock(&self, _seconds: f64) -> Vec<String> {
        Vec::new()
    }
}

/// A system whose options are a type.
pub trait TypedSystem: Send + Sync {
    /// The options.
    type Options: DeserializeOwned;
    /// What to type.
    const NAME: &'static str;
    /// One line about it.
    const ABOUT: &'static str;
    /// Its options with their explanations and presets, as TOML.
    const FILE: &'static str;
    /// Whether what it has learned so far can be used at any time.
    const ANYTIME: bool = false;

    /// Refuses options that cannot be carried out for this game.
    fn check(options: &Self::Options, table: &dyn Table) -> Result<()>;

    /// Learns, or goes on.
    fn learn(options: &Self::Options, cx: &Context<'_>) -> Result<Learned>;

    /// The agent with what was learned.
    fn agent(options: &Self::Options, cx: &Context<'_>) -> Spec;

    /// Settings that make a run last so many seconds; none where the system cannot plan by the clock.
    fn for_clock(_seconds: f64) -> Vec<String> {
        Vec::new()
    }
}

impl<S: TypedSystem> System for S {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn about(&self) -> &'static str {
        S::ABOUT
    }

    fn file(&self) -> &'static str {
        S::FILE
    }

    fn check(&self, options: &toml::Table, table: &dyn Table) -> Result<()> {
        S::check(&read(options)?, table)
    }

    fn learn(&self, cx: &Context<'_>) -> Result<Learned> {
        S::learn(&cx.options()?, cx)
    }

    fn stopped_agent(&self, cx: &Context<'_>) -> Option<Spec> {
        let learned = S::ANYTIME && ludex_play::manifest::final_models(cx.run.dir()).is_ok();
        if learned { Some(S::agent(&cx.options().ok()?, cx)) } else { None }
    }

    fn anytime(&self) -> bool {
        S::ANYTIME
    }

    fn for_clock(&self, seconds: f64) -> Vec<String> {
        S::for_clock(seconds)
    }
}

/// The built-in systems: the one for any game first, then those of papers.
pub const SYSTEMS: &[&dyn System] = &[&TdNnue, &UctCcnn, &Cut, &Nhb, &UctNn, &Carl::<false>, &Carl::<true>];

/// The first system that can learn a game, and why those before it cannot.
pub fn system_for(table: &dyn Table) -> Result<(&'static dyn System, Vec<RunError>)> {
    let mut refused = Vec::new();
    for &system in SYSTEMS {
        match options(system.file(), PRESETS[0], &[]).and_then(|o| system.check(&o, table)) {
            Ok(()) => return Ok((system, refused)),
            Err(e) => refused.push(e),
        }
    }
    Err(refused.swap_remove(0))
}

/// The built-in system of this name.
pub fn system(name: &str) -> Result<&'static dyn System> {
    SYSTEMS.iter().copied().find(|s| s.name() == name).ok_or_else(|| {
        let names: Vec<&str> = SYSTEMS.iter().map(|s| s.name()).collect();
        RunError::Options(format!("no system is called \"{name}\": {}", hint(name, "there are", &names)))
    })
}

/// Refuses an agent of the options that cannot be built; a model need not be there yet.
fn check_spec(table: &dyn Table, option: &str, spec: &Spec) -> Result<()> {
    table.check(spec).map_err(|e| RunError::Agent(option.into(), e))
}

/// Refuses a run that plays no match to learn from.
fn check_matches(matches: usize) -> Result<()> {
    if matches > 0 {
        Ok(())
    } else {
        Err(RunError::Options("generate.matches=0: there is nothing to learn from".into()))
    }
}

/// Refuses games that are not zero-sum games of two.
fn check_zero_sum(table: &dyn Table, system: &str) -> Result<()> {
    let info = table.info();
    match info.zero_sum && info.players() == 2 {
        true => Ok(()),
        false => {
            Err(RunError::Options(format!("{system} learns zero-sum games of two players; {} is not one", info.name)))
        }
    }
}

/// The errors of a model, for people.
fn mse_text(model: &ludex_learn::Model) -> String {
    let shown = |name: &str| model.provenance.metrics.get(name).map_or("-".into(), |v| format!("{v:.6}"));
    let [train, selection, test] = ["train_mse", "selection_mse", "test_mse"].map(shown);
    format!("mean squared error {train} on training, {selection} on selection, {test} on untouched test examples")
}

/// An agent with a model: that of its playouts, or that of the whole search.
pub fn with_model(agent: &Spec, model: &ModelRef) -> Spec {
    let mut agent = agent.clone();
    agent.set(if agent.name == "uct" { "playout.model" } else { "model" }, model);
    agent
}
