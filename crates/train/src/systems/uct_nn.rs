//! UCT-NN (Burger, du Plessis & Cilliers): generate -> patterns -> train -> play.
//!
//! UCT plays itself. Every state that it searched becomes a pattern: the state as its mover sees it, and for each move that the
//! search tried a target that says how much the search liked it. A net with one hidden layer and one output for each move of the
//! game learns the patterns by online gradient descent. In play the net ranks the moves of each node that is expanded, and the
//! worst get no child (`ranked(..)`).
//!
//! The paper chooses the epoch by the error on its generalisation set, which is then no longer untouched: a third set reports.

use super::{TypedSystem, check_matches, check_spec, mse_text, with_model};
use crate::driver::{Context, Learned, Stream};
use crate::encoders::{Coding, View, encoder};
use crate::fit::{ErrorPoint, Fit, error_curve};
use crate::measure::{Measure, affordable_simulations};
use crate::nets::{MlpTrainer, check_mlp};
use crate::policy_dataset::{PolicyDataset, PolicyTarget};
use crate::selfplay::SelfPlay;
use crate::store::{Result, RunError};
use ludex_core::Rng;
use ludex_learn::*;
use ludex_play::openings::random_plies;
use ludex_play::{Spec, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// UCT self-play, a net that ranks moves, and a search that does not expand the worst of them.
pub struct UctNn;

/// `systems/uct-nn.toml` explains them.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    generate: Generate,
    /// The net.
    pub train: Train,
    play: Play,
    measure: Measure,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generate {
    work: f64,
    sims: u64,
    least_sims: u64,
    most_sims: u64,
    matches: usize,
    opening_plies: u32,
    batch: usize,
}

/// The net; `systems/uct-nn.toml` explains the options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Train {
    pub input: PolicyInput,
    pub target: PolicyTarget,
    pub split: [f64; 3],
    pub most: usize,
    pub hidden: usize,
    pub rate: f64,
    pub last_rate: f64,
    pub decay: Decay,
    pub batch: usize,
    pub epochs: u32,
    pub work: f64,
    pub measures: u32,
}

/// What the net sees.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyInput {
    /// One input for each fact.
    Facts,
    /// One input for each two facts that differ in their owner only: 1 the mover's, -1 the opponent's, 0 neither.
    Signed,
}

/// How the rate goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// By the same factor each epoch.
    Exponential,
    /// By the same amount each epoch.
    Linear,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    agent: Spec,
    ranked: Spec,
    uct: Spec,
}

impl Train {
    fn encoder(&self, table: &dyn Table) -> Result<Encoder> {
        let coding = match self.input {
            PolicyInput::Facts => Coding::Facts,
            PolicyInput::Signed => Coding::SignedCells,
        };
        encoder(table, View::Auto, coding)
    }

    /// The net and how it learns, over so many epochs.
    pub fn mlp(&self, epochs: u32) -> MlpConfig {
        let (from, to) = (self.rate, self.last_rate.min(self.rate));
        let rate = match self.decay {
            Decay::Exponential => LearningRate::Exponential { from, to, epochs },
            Decay::Linear => LearningRate::Linear { from, to, epochs },
        };
        MlpConfig {
            hidden: vec![self.hidden],
            act: Activation::Logistic,
            link: Link::Each(Activation::Logistic),
            loss: Loss::Squared,
            optimiser: Optimiser::sgd(rate),
            batch: self.batch.max(1),
            l2: 0.0,
            shuffle: true,
        }
    }

    /// Epochs that the work allows.
    fn affordable_epochs(&self, data: &Data, examples: usize) -> u32 {
        let weights = self.hidden * (data.inputs() + data.outputs());
        let most = self.work / (weights.max(1) * examples.max(1)) as f64;
        self.epochs.min(most as u32).max(1)
    }

    /// Trains the net, or goes on.
    fn fit(&self, cx: &Context<'_>, set: &PolicyDataset, encoder: &Encoder) -> Result<(Model, Vec<ErrorPoint>)> {
        let (data, split) = (&set.data, &set.split);
        let epochs = self.affordable_epochs(data, split.train.len());
        let (config, every) = (self.mlp(epochs), (epochs / self.measures.max(1)).max(1) as u64);
        let steps = epochs as u64;
        let fit = Fit { cx, name: "final", steps, every, patience: 0, measure_start: true, anytime: false };
        fit.run(
            || MlpTrainer::new(config.clone(), data, split, true, cx.seed(Stream::Weights)),
            |bytes| MlpTrainer::resume(bytes, &config, data, split, true),
            |trainer, curve| {
                let error = |p: &ErrorPoint| p.selection.or(p.train).unwrap_or(f64::INFINITY);
                let chosen = curve.iter().copied().reduce(|a, b| if error(&b) < error(&a) { b } else { a });
                let chosen = chosen.expect("errors before the first epoch");
                let learner = trainer.best()?;
                let metrics = [
                    ("patterns", Some(data.len() as f64)),
                    ("epochs", Some(epochs as f64)),
                    ("epoch", Some(chosen.step as f64)),
                    ("train_mse", chosen.train),
                    ("selection_mse", chosen.selection),
                    ("test_mse", chosen.test),
                    ("kept_of_25", set.best_kept(learner, 0.25)),
                    ("kept_of_50", set.best_kept(learner, 0.5)),
                    ("kept_of_75", set.best_kept(learner, 0.75)),
                ];
                let head = Head::MoveScores { moves: cx.info().moves as usize };
                Ok(vec![cx.model(encoder, head, learner.net(), data, &metrics)])
            },
        )
    }
}

impl Options {
    /// The patterns to learn from, and the simulations a move behind them.
    pub fn patterns(&self, cx: &Context<'_>) -> Result<(PolicyDataset, u64)> {
        let (g, t) = (&self.generate, &self.train);
        let sims = match g.sims {
            0 => affordable_simulations(cx.table, g.work, g.matches, g.least_sims, g.most_sims),
            n => n,
        };
        let mut agent = self.play.uct.clone();
        agent.set("sims", sims);
        let play = SelfPlay { stage: "play", agent: &agent, matches: g.matches, batch: g.batch };
        let parts = play.run(cx, |i| {
            let seed = Rng::derive(cx.seed(Stream::SelfPlay), i as u64);
            let plies = i as u32 % (g.opening_plies + 1);
            Ok((random_plies(cx.table.start(), plies, &mut Rng::stream(seed, 1)), i as u32, seed))
        })?;
        let how = (t.target, t.split, t.most);
        let encoder = t.encoder(cx.table)?;
        let set = PolicyDataset::new(&parts, cx.info(), &encoder, how, &mut cx.rng(Stream::Split))?;
        match set.data.is_empty() {
            true => Err(RunError::Learning("nothing to learn from: no state was searched".into())),
            false => Ok((set, sims)),
        }
    }
}

impl TypedSystem for UctNn {
    type Options = Options;
    const NAME: &'static str = "uct-nn";
    const ABOUT: &'static str =
        "UCT self-play, a net that ranks moves, and a search that does not expand the worst of them";
    const FILE: &'static str = include_str!("../../systems/uct-nn.toml");

    fn check(o: &Options, table: &dyn Table) -> Result<()> {
        let inputs = o.train.encoder(table)?.inputs();
        check_mlp(&o.train.mlp(1), inputs, table.info().moves as usize)?;
        check_matches(o.generate.matches)?;
        let agents = [("play.agent", &o.play.agent), ("play.ranked", &o.play.ranked), ("play.uct", &o.play.uct)];
        agents.into_iter().try_for_each(|(option, spec)| check_spec(table, option, spec))
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        with_model(&o.play.agent, &cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned> {
        let (set, sims) = o.patterns(cx)?;
        let (matches, states, patterns) = (o.generate.matches, set.states, set.data.len());
        let (model, curve) = o.train.fit(cx, &set, &o.train.encoder(cx.table)?)?;
        let metrics = &model.provenance.metrics;
        let shape = [set.data.inputs(), o.train.hidden, set.data.outputs()].map(|n| n.to_string()).join("-");
        let (epoch, epochs) = (metrics["epoch"], metrics["epochs"]);
        let mut log = vec![
            format!(
                "{matches} matches at {sims} simulations a move: {states} states searched, {patterns} different patterns"
            ),
            format!("a net {shape}, epoch {epoch} of {epochs}: {}", mse_text(&model)),
        ];
        let kept = |n: &str| metrics.get(&format!("kept_of_{n}")).map(|k| format!("{:.1}", 100.0 * k));
        if let (Some(a), Some(b), Some(c)) = (kept("25"), kept("50"), kept("75")) {
            log.push(format!(
                "of untouched patterns, UCT's best move survives when the worst 25, 50 and 75 % are dropped in {a}, {b} and {c} %"
            ));
        }
        let split = &set.split;
        let figures = json!({
            "sims": sims, "matches": matches, "states": states, "patterns": patterns, "train": split.train.len(),
            "selection": split.validation.len(), "test": split.test.len(), "inputs": set.data.inputs(),
            "hidden": o.train.hidden, "outputs": set.data.outputs(), "metrics": metrics, "curve": curve,
        });
        let (agent, unlearned, measure) = (Self::agent(o, cx), Spec::word("uct"), o.measure.clone());
        Ok(Learned { agent, unlearned, measure, curves: vec![error_curve(&curve, "epochs")], log, figures })
    }
}
