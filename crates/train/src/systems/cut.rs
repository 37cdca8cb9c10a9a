//! Cut playouts (Cotarelo et al. 2021): UCT plays itself, a net learns from the results who wins where, and ends playouts of
//! the same UCT as soon as it is sure.
//!
//! A match begins with an opening of random length by a weak player that ends with a few random moves, so that the net sees
//! states that good players avoid but playouts reach; from there on every state is an example, labelled with the match's
//! result. A multilayer perceptron with three outputs (win, draw, loss) learns them, split by match. Later rounds are played by
//! the search with the net of the round before, whose results are nearer to best play, and a new net learns from them.

use super::{TypedSystem, check_matches, check_spec, check_zero_sum, mse_text, with_model};
use crate::dataset::{Dataset, SplitBy, wdl_examples};
use crate::driver::{Context, Learned, Stream};
use crate::encoders::{Coding, View, encoder};
use crate::fit::{ErrorPoint, Fit, error_curve};
use crate::measure::{Measure, affordable_simulations};
use crate::nets::{MlpOptions, MlpTrainer};
use crate::records::{Played, Records};
use crate::selfplay::{Recent, SelfPlay};
use crate::store::{Parts, Result, RunError};
use ludex_core::Rng;
use ludex_learn::*;
use ludex_play::openings::{played_by, random_length, random_plies};
use ludex_play::{ModelRef, Position, Spec, Table};
use serde::Deserialize;
use serde_json::json;

/// UCT self-play, a win/draw/loss net, and playouts that end when it is sure.
pub struct Cut;

/// `systems/cut.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    generate: Generate,
    train: Train,
    play: Play,
    measure: Measure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generate {
    matches: usize,
    work: f64,
    sims: u64,
    least_sims: u64,
    most_sims: u64,
    agent: Spec,
    opening: Spec,
    opening_share: [f64; 2],
    opening_random: u32,
    opening_uses: usize,
    batch: usize,
    rounds: usize,
    again: Spec,
    again_matches: usize,
    again_sims: u64,
}

#[derive(Deserialize)]
struct Train {
    inputs: Inputs,
    turn_input: bool,
    view: View,
    mirror: bool,
    #[serde(flatten)]
    mlp: MlpOptions,
    patience: u32,
    selection: f64,
    test: f64,
    most: usize,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Inputs {
    Facts,
    Paper,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    agent: Spec,
    literal: Spec,
    bare: Spec,
    plain: Spec,
}

impl Generate {
    /// What the net of a round is called: the last one is what the run is for.
    fn net(&self, round: usize) -> String {
        if round == self.rounds { "final".into() } else { format!("round-{round}") }
    }

    /// Plays the matches of a round that are missing: plain UCT in round 0, later the search with the net of the round before.
    /// Gives the states of all, and who played.
    fn play<'r>(&self, cx: &Context<'r>, round: usize) -> Result<(Parts<'r, Records<Played>>, Spec)> {
        let before = round.checked_sub(1).and_then(|r| cx.run.model_path(&self.net(r)));
        let (stage, mut agent, matches, sims) = match before {
            None => ("generate".to_string(), self.agent.clone(), self.matches, self.sims),
            Some(net) => {
                let agent = with_model(&self.again, &ModelRef::new(net));
                (format!("generate-{round}"), agent, self.again_matches, self.again_sims)
            }
        };
        let sims = match sims {
            0 => affordable_simulations(cx.table, self.work, matches, self.least_sims, self.most_sims),
            n => n,
        };
        agent.set("sims", sims);
        let length = random_length(cx.table);
        let seed = Rng::derive(cx.plan.seed, Stream::SelfPlay as u64 + 100 * round as u64);
        let play = SelfPlay { stage: &stage, agent: &agent, matches, batch: self.batch };
        let openings = Recent::default();
        let parts = play.run(cx, |i| {
            // Matches with one opening stand together when they are dealt out: they go by its number.
            let group = i / self.opening_uses.max(1);
            let opening =
                openings.get(group, || self.opening(cx, length, Rng::derive(Rng::derive(seed, 1), group as u64)))?;
            let seed = Rng::derive(seed, i as u64);
            let mut rng = Rng::stream(seed, 1);
            let plies = rng.below(self.opening_random + 1);
            Ok((random_plies(opening, plies, &mut rng), group as u32, Rng::derive(seed, 2)))
        })?;
        Ok((parts, agent))
    }

    /// A position after an opening of random length by a weak player.
    fn opening(&self, cx: &Context<'_>, length: f64, seed: u64) -> Result<Box<dyn Position>> {
        let [least, most] = self.opening_share;
        let plies = ((least + Rng::stream(seed, 0).unit() * (most - least).max(0.0)) * length) as u32;
        let agent = cx.table.agent(&self.opening, Rng::derive(seed, 1));
        let mut agent = agent.map_err(|e| RunError::Agent("generate.opening".into(), e))?;
        played_by(&mut *agent, cx.table, plies).map_err(|e| RunError::Learning(format!("generate.opening: {e}")))
    }
}

impl Train {
    fn encoder(&self, table: &dyn Table) -> Result<Encoder> {
        let coding = match (self.inputs, self.turn_input) {
            (Inputs::Facts, _) => Coding::Facts,
            (Inputs::Paper, false) => Coding::Paper,
            (Inputs::Paper, true) => Coding::PaperWithTurn,
        };
        encoder(table, self.view, coding)
    }

    /// Trains the net of a round, or goes on.
    fn fit(
        &self,
        cx: &Context<'_>,
        name: &str,
        examples: &Dataset,
        encoder: &Encoder,
    ) -> Result<(Model, Vec<ErrorPoint>)> {
        let (data, config) = (&examples.data, self.mlp.config());
        let mut split = examples.split(SplitBy::Match, self.selection, self.test, &mut cx.rng(Stream::Split));
        if split.validation.is_empty() || split.train.is_empty() {
            split = Split::all(data.len()); // with a handful of matches a share of them may be none
        }
        let (steps, patience) = (self.mlp.epochs as u64, self.patience.max(1) as u64);
        let fit = Fit { cx, name, steps, every: 1, patience, measure_start: false, anytime: false };
        fit.run(
            || MlpTrainer::new(config.clone(), data, &split, false, cx.seed(Stream::Weights)),
            |bytes| MlpTrainer::resume(bytes, &config, data, &split, false),
            |trainer, curve| {
                let net = trainer.best()?.net();
                let best = trainer.errors();
                let metrics = [
                    ("examples", Some(data.len() as f64)),
                    ("epochs", Some(curve.len() as f64)),
                    ("train_mse", best.train),
                    ("selection_mse", best.selection),
                    ("test_mse", best.test),
                ];
                Ok(vec![cx.model(encoder, Head::WinDrawLoss, net, data, &metrics)])
            },
        )
    }
}

impl TypedSystem for Cut {
    type Options = Options;
    const NAME: &'static str = "cut";
    const ABOUT: &'static str = "UCT self-play, a win/draw/loss net, and playouts that end when it is sure";
    const FILE: &'static str = include_str!("../../systems/cut.toml");

    fn check(o: &Options, table: &dyn Table) -> Result<()> {
        check_zero_sum(table, Self::NAME)?;
        o.train.mlp.check(o.train.encoder(table)?.inputs(), 3)?;
        let (g, p) = (&o.generate, &o.play);
        check_matches(if g.rounds > 0 { g.matches.min(g.again_matches) } else { g.matches })?;
        let agents = [("generate.agent", &g.agent), ("generate.opening", &g.opening), ("generate.again", &g.again)];
        let plays = [("agent", &p.agent), ("literal", &p.literal), ("bare", &p.bare), ("plain", &p.plain)];
        agents.into_iter().chain(plays).try_for_each(|(option, spec)| check_spec(table, option, spec))
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        with_model(&o.play.agent, &cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned> {
        let encoder = o.train.encoder(cx.table)?;
        let (mut log, mut curve, mut figures) = (Vec::new(), Vec::new(), json!(null));
        for round in 0..=o.generate.rounds {
            let (parts, player) = o.generate.play(cx, round)?;
            let (examples, results) = wdl_examples(cx, &parts, &encoder, (o.train.mirror, o.train.most))?;
            examples.not_empty("no state was played")?;
            let matches = if round == 0 { o.generate.matches } else { o.generate.again_matches };
            let ([won, drawn, lost], n) = (results, examples.data.len());
            log.push(format!("{matches} matches of {player}: {n} examples ({won} won, {drawn} drawn, {lost} lost)"));
            let (model, points) = o.train.fit(cx, &o.generate.net(round), &examples, &encoder)?;
            let (hidden, epochs) = (&o.train.mlp.hidden, points.len());
            log.push(format!("a net {}-{hidden:?}-3 after {epochs} epochs: {}", encoder.inputs(), mse_text(&model)));
            figures = json!({
                "matches": matches, "self_play": player, "examples": n, "results": results, "inputs": encoder.inputs(),
                "metrics": model.provenance.metrics, "curve": points,
            });
            curve = points;
        }
        let (agent, unlearned, measure) = (Self::agent(o, cx), Spec::word("uct"), o.measure.clone());
        Ok(Learned { agent, unlearned, measure, curves: vec![error_curve(&curve, "epochs")], log, figures })
    }
}
