//! NHB (Ghignone & Cancelliere): alpha-beta that learns its heuristic online.
//!
//! Alpha-beta with random values plays the first matches. What its searches and a backward deepening after each match proved,
//! and a ramp along the match, are the first training set of an extreme learning machine, whose size is found by
//! cross-validation. Then cycles alternate: matches of the learned heuristic (leaves and move order) against nets that never
//! learned, and one against itself; their labels are one more chunk for the machine.
//!
//! The heuristic changes between cycles only. So a match is a pure function of the options, the seed, its number and the model
//! of the cycle before, and matches of a cycle may be played in any order on any number of threads.

use super::{TypedSystem, check_spec, check_zero_sum};
use crate::dataset::Dataset;
use crate::driver::{Context, Curve, Learned};
use crate::encoders::encoder;
use crate::measure::Measure;
use crate::nets::ElmOptions;
use crate::plot::Series;
use crate::proof_selfplay::*;
use crate::store::Result;
use ludex_core::Player;
use ludex_learn::{Encoder, Head, Model, OsElm};
use ludex_play::{ModelRef, Spec, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Alpha-beta that learns its heuristic online.
pub struct Nhb;

/// `systems/nhb.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    search: SearchOptions,
    initial: Initial,
    cycle: Cycle,
    examples: LabelOptions,
    net: ElmOptions,
    measure: Measure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchOptions {
    nodes: u64,
    cpu_ms: u64,
    order: String,
    table: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Initial {
    matches: usize,
    heuristic: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cycle {
    cycles: usize,
    matches: usize,
    against: String,
    self_match: bool,
    opening_plies: u32,
    batch: usize,
}

/// The hidden units of nets that never learned, in tests: the same for every seed.
pub const UNTRAINED_HIDDEN: usize = 100;

/// Alpha-beta with a heuristic that never learned: `call`, `hash` or `net`.
pub fn untrained(agent: &Spec, by: &str, hidden: usize) -> Spec {
    let mut agent = agent.clone();
    agent.set("eval", "random");
    agent.set("eval.by", by);
    agent.set("eval.hidden", hidden);
    agent
}

impl SearchOptions {
    /// Alpha-beta without its heuristic.
    fn agent(&self) -> Spec {
        let agent = Spec::word("minimax");
        let agent = match self.nodes {
            0 => agent.with("cpu_ms", self.cpu_ms.max(1)),
            n => agent.with("nodes", n),
        };
        agent.with("order", &self.order).with("table", self.table)
    }

    /// The same with a heuristic that never learned.
    fn untrained(&self, by: &str, hidden: usize) -> Spec {
        untrained(&self.agent(), by, hidden)
    }

    /// The same with what was learned.
    fn learned(&self, model: &Path) -> Spec {
        self.agent().with("model", ModelRef::new(model))
    }
}

/// What a cycle brought.
#[derive(Serialize)]
struct Progress {
    /// Training matches so far, the first ones apart.
    matches: usize,
    /// What was labelled.
    labels: LabelCounts,
    /// The mean squared error on the new examples before they were learned from, and after.
    before: Option<f64>,
    after: f64,
}

/// Learns one more training set and keeps the net as that of a cycle.
fn learn_chunk(
    cx: &Context<'_>,
    (cycle, matches): (usize, usize),
    (elm, encoder): (&mut OsElm, &Encoder),
    (Dataset { data, .. }, labels): (&Dataset, LabelCounts),
) -> Result<(Model, Progress)> {
    let rows: Vec<u32> = (0..data.len() as u32).collect();
    let before = (cycle > 0 && !data.is_empty()).then(|| elm.mse(data, &rows));
    elm.learn(data, &rows)?;
    let after = elm.mse(data, &rows);
    let metrics = [
        ("examples", Some(data.len() as f64)),
        ("training_matches", Some(matches as f64)),
        ("train_mse", Some(after)),
        ("new_mse", before),
    ];
    let model = cx.model(encoder, Head::Value { outputs: 1 }, elm.net(), data, &metrics);
    cx.run.keep_model_once(&cycle_name(cycle), &model)?;
    Ok((model, Progress { matches, labels, before, after }))
}

/// The name of a cycle's stage and net.
fn cycle_name(cycle: usize) -> String {
    format!("cycle-{cycle:04}")
}

impl TypedSystem for Nhb {
    type Options = Options;
    const NAME: &'static str = "nhb";
    const ABOUT: &'static str =
        "alpha-beta that learns its heuristic online: proven values, an extreme learning machine";
    const FILE: &'static str = include_str!("../../systems/nhb.toml");

    fn check(o: &Options, table: &dyn Table) -> Result<()> {
        check_zero_sum(table, Self::NAME)?;
        encoder(table, o.net.view, o.net.coding)?;
        o.net.check()?;
        check_spec(table, "initial.heuristic", &o.search.untrained(&o.initial.heuristic, UNTRAINED_HIDDEN))?;
        check_spec(table, "cycle.against", &o.search.untrained(&o.cycle.against, UNTRAINED_HIDDEN))
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        o.search.learned(cx.run.dir())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned> {
        let (c, x, start) = (&o.cycle, &o.examples, Instant::now());
        let encoder = encoder(cx.table, o.net.view, o.net.coding)?;
        let random = o.search.untrained(&o.initial.heuristic, UNTRAINED_HIDDEN);
        let player = ProofPlayer { agent: &random, record: true, bootstrap: None };
        let play = |stage: &str, first, matches| ProofSelfPlay {
            stage: stage.into(),
            first,
            matches,
            batch: c.batch,
            opening_plies: c.opening_plies,
            labels: x,
        };
        let parts = play("initial", 0, o.initial.matches).run(cx, |_| [player; 2])?;
        let (first, labels) = labelled_examples(cx, &parts, &encoder, |_| None)?;
        first.not_empty("initial.matches or the examples allow none")?;
        let (layer, validated) = o.net.hidden_layer(cx, &first.data)?;
        let mut elm = OsElm::new(o.net.config(layer.hidden), encoder.inputs(), 1, layer.seed)?;
        let (mut model, progress) = learn_chunk(cx, (0, 0), (&mut elm, &encoder), (&first, labels))?;
        drop(first);
        let mut all = vec![progress];
        for cycle in 1..=c.cycles {
            let path = cx.run.model_path(&cycle_name(cycle - 1)).expect("the cycle before is finished");
            let (learner, rival) = (o.search.learned(&path), o.search.untrained(&c.against, layer.hidden));
            let mine = ProofPlayer { agent: &learner, record: true, bootstrap: x.bootstrap(cycle) };
            let other = ProofPlayer { agent: &rival, record: x.heard == Heard::Both, bootstrap: None };
            let first = o.initial.matches + (cycle - 1) * c.matches;
            // The learner takes both seats in turn; the last match is played against itself.
            let itself = |i: usize| c.self_match && c.matches > 1 && i + 1 == c.matches;
            let seat = |i: usize| (!itself(i)).then_some(Player((i % 2) as u8));
            let parts = play(&cycle_name(cycle), first, c.matches).run(cx, |i| match seat(i) {
                None => [mine, mine],
                Some(Player(0)) => [mine, other],
                Some(_) => [other, mine],
            })?;
            let (chunk, labels) = labelled_examples(cx, &parts, &encoder, |id| seat(id as usize - first))?;
            let of = (cycle, cycle * c.matches);
            let (learned, progress) = learn_chunk(cx, of, (&mut elm, &encoder), (&chunk, labels))?;
            model = learned;
            all.push(progress);
        }
        cx.run.keep_model_once("final", &model)?;

        let (hidden, seconds) = (layer.hidden, (start.elapsed() - validated).as_secs_f64());
        let sum = |f: &dyn Fn(&Progress) -> usize| all.iter().map(f).sum::<usize>();
        let by: Vec<String> = (0..3).map(|s| format!("{} {}", sum(&|p| p.labels.sources[s]), SOURCES[s])).collect();
        let log = vec![
            format!("{} first and {} training matches, {hidden} hidden units", o.initial.matches, c.cycles * c.matches),
            format!("{} examples; different ones by training set: {}", sum(&|p| p.labels.rows), by.join(", ")),
            format!(
                "{seconds:.1} s for matches and learning now, {:.1} s for cross-validation apart",
                validated.as_secs_f64()
            ),
        ];
        let points =
            |f: &dyn Fn(&Progress) -> Option<f64>| all.iter().filter_map(|p| Some((p.matches as f64, f(p)?))).collect();
        let series = vec![
            Series::line("new examples, before learning from them", points(&|p| p.before)),
            Series::line("after", points(&|p| Some(p.after))),
        ];
        let axes = ["training matches", "mean squared error"].map(String::from);
        let curves = vec![Curve { file: "curve".into(), title: "Learning curve".into(), axes, series }];
        let figures = json!({
            "hidden": hidden, "tried": layer.tried, "progress": all, "seconds": seconds,
            "cross_validation_seconds": validated.as_secs_f64(), "metrics": model.provenance.metrics,
        });
        let unlearned = o.search.untrained("net", UNTRAINED_HIDDEN);
        Ok(Learned { agent: Self::agent(o, cx), unlearned, measure: o.measure.clone(), curves, log, figures })
    }
}
