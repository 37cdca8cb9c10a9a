//! UCT-CCNN (Rezende & Chaimowicz): tune -> generate -> filter -> train -> play.
//!
//! UCT, its constant found by the cross-entropy method, plays itself from the start and from random states near it. All
//! children of each searched state are kept with visits and means; those that the winner chose become examples; a
//! cascade-correlation net learns their values. The net then judges leaves of alpha-beta (NeuralMinimax) and children in Monte
//! Carlo tree search (NeuralMCTS).

use super::{TypedSystem, check_matches, check_spec, mse_text};
use crate::dataset::{Dataset, Duplicates as Join, ValueLabel, ValueLabels, for_each_row};
use crate::driver::{Context, Learned, Stream};
use crate::encoders::{Coding, encoder};
use crate::fit::error_curve;
use crate::measure::{Measure, affordable_simulations};
use crate::nets::CascadeOptions;
use crate::records::{Child, Records};
use crate::selfplay::SelfPlay;
use crate::store::{Json, Parts, Result, RunError};
use crate::tune::{Axis, Cem, tune_agent, tuning_curve};
use ludex_core::{Player, Rng};
use ludex_learn::Encoder;
use ludex_play::openings::random_states;
use ludex_play::{ModelRef, Spec, Table, winner};
use serde::Deserialize;
use serde_json::json;

/// UCT self-play, a cascade-correlation value net, NeuralMCTS and NeuralMinimax.
pub struct UctCcnn;

/// `systems/uct-ccnn.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    tune: Tune,
    generate: Generate,
    filter: Filter,
    train: CascadeOptions,
    play: Play,
    measure: Measure,
}

#[derive(Deserialize)]
struct Tune {
    #[serde(flatten)]
    cem: Cem,
    sims: u64,
    low: f64,
    high: f64,
    against: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generate {
    work: f64,
    sims: u64,
    least_sims: u64,
    most_sims: u64,
    c: f64,
    matches: usize,
    states: usize,
    repeats: usize,
    final_move: String,
    batch: usize,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    matches: Whose,
    draws: Draws,
    duplicates: Duplicates,
    least_visits: u32,
    result_share: f32,
    most: usize,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whose {
    Winner,
    All,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Draws {
    Drop,
    Keep,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Duplicates {
    MostVisits,
    Mean,
    Weighted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    mcts: Spec,
    literal: Spec,
    minimax: Spec,
}

/// UCT as it is tuned and plays itself.
fn uct(sims: u64, c: f64) -> Spec {
    Spec::word("uct").with("sims", sims).with("c", c).with("form", "kocsis").with("reward", "signed")
}

/// `c=tuned` and `model=` filled in.
pub fn composed(spec: &Spec, c: f64, model: &ModelRef) -> Spec {
    let mut spec = spec.clone();
    if spec.get("c").is_some_and(|v| v.name == "tuned") {
        spec.set("c", c);
    }
    spec.set_model(model);
    spec
}

/// The examples that the filter keeps, and how many rows there were, how many were the right player's, how many different.
fn filter(
    cx: &Context<'_>,
    stages: &[Parts<'_, Records<Child>>],
    f: &Filter,
    encoder: &Encoder,
) -> Result<(Dataset, [usize; 3])> {
    let most_visits = f.duplicates == Duplicates::MostVisits;
    let mut labels = ValueLabels::new(if most_visits { Join::HighestRank } else { Join::Mean });
    let (mut rows, mut chosen) = (0, 0);
    for parts in stages {
        for_each_row(parts, |part, i| {
            let row = part.row(i);
            rows += 1;
            let kept = match winner(&row.result) {
                Some(w) => f.matches == Whose::All || w == row.chooser,
                None => f.draws == Draws::Keep,
            };
            if !kept || row.visits < f.least_visits {
                return;
            }
            chosen += 1;
            let mut value = row.value;
            for p in (0..value.players() as u8).map(Player) {
                value[p] = (1.0 - f.result_share) * row.value[p] + f.result_share * row.result[p];
            }
            let weight = if f.duplicates == Duplicates::Weighted { row.visits as f64 } else { 1.0 };
            let (facts, mover, rank, match_id) = (part.facts(i), row.mover, row.visits, row.match_id);
            labels.add(part.key(i), ValueLabel { facts, mover, value, weight, rank, match_id });
        })?;
    }
    let counts = [rows, chosen, labels.len()];
    Ok((labels.dataset(cx.info(), encoder, f.most, &mut cx.rng(Stream::Sample))?, counts))
}

impl TypedSystem for UctCcnn {
    type Options = Options;
    const NAME: &'static str = "uct-ccnn";
    const ABOUT: &'static str = "UCT self-play, a cascade-correlation value net, NeuralMCTS and NeuralMinimax";
    const FILE: &'static str = include_str!("../../systems/uct-ccnn.toml");

    fn check(o: &Options, table: &dyn Table) -> Result<()> {
        encoder(table, o.train.view, Coding::Facts)?;
        let g = &o.generate;
        check_matches(g.matches.saturating_add(g.states.saturating_mul(g.repeats)))?;
        check_spec(table, "generate", &uct(g.sims.max(1), g.c).with("final", &g.final_move))?;
        let placeholder = ModelRef::from("model");
        let mut plays = vec![("play.mcts", &o.play.mcts), ("play.literal", &o.play.literal)];
        plays.extend(table.info().zero_sum.then_some(("play.minimax", &o.play.minimax)));
        plays
            .into_iter()
            .try_for_each(|(option, spec)| check_spec(table, option, &composed(spec, g.c, &placeholder)))?;
        let axes = [Axis { option: "c".into(), low: o.tune.low, high: o.tune.high }];
        if o.tune.cem.iterations == 0 { Ok(()) } else { o.tune.cem.check(&axes).map_err(RunError::Options) }
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        composed(&o.play.mcts, o.generate.c, &cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned> {
        let (table, g, t) = (cx.table, &o.generate, &o.tune);
        let (mut log, mut curves) = (Vec::new(), Vec::new());
        let encoder = encoder(table, o.train.view, Coding::Facts)?;
        let mut c = g.c;
        if t.cem.iterations > 0 && cx.info().players() == 2 {
            let agents = [
                Spec::word("uct").with("sims", t.sims).with("form", "kocsis").with("reward", "signed"),
                uct(t.sims, t.against),
            ];
            let axes = [Axis { option: "c".into(), low: t.low, high: t.high }];
            let tuned = tune_agent(cx.run, table, (&agents[0], &agents[1]), &axes, &t.cem, cx.seed(Stream::Tune))?;
            c = tuned.values[0];
            let deviation = tuned.deviation[0];
            log.push(format!("exploration constant {c:.4} (deviation {deviation:.4}), by the cross-entropy method"));
            cx.run.report("tuning.json", &serde_json::to_vec_pretty(&tuned).expect("plain data"))?;
            curves.push(tuning_curve(&tuned, 0, "exploration constant"));
        }

        let matches = g.matches.saturating_add(g.states.saturating_mul(g.repeats));
        let sims = match g.sims {
            0 => affordable_simulations(table, g.work, matches, g.least_sims, g.most_sims),
            n => n,
        };
        let agent = uct(sims, c).with("final", &g.final_move);
        let seed = |i: usize| Rng::derive(cx.seed(Stream::SelfPlay), i as u64);
        let play = |stage, matches| SelfPlay { stage, agent: &agent, matches, batch: g.batch };
        let from_start = play("start", g.matches).run(cx, |i| Ok((table.start(), i as u32, seed(i))))?;
        let length = mean_length(&from_start)?;
        let draw = |_| Ok(Json(random_states(table, g.states, length, cx.seed(Stream::States))));
        let Json(states) = cx.run.stage("states", 1, draw)?.read(0)?;
        let more = states.len() * g.repeats;
        let from_states = play("random", more).run(cx, |i| {
            let start = table.position(&states[i / g.repeats]).expect("the state was a position");
            Ok((start, (g.matches + i) as u32, seed(g.matches + i)))
        })?;

        let (examples, [rows, chosen, unique]) = filter(cx, &[from_start, from_states], &o.filter, &encoder)?;
        examples.not_empty(&format!("none of {rows} examples is left; with filter.draws=keep drawn matches count"))?;
        let matches = g.matches + more;
        log.push(format!(
            "{matches} matches at {sims} simulations a move: {rows} examples, {chosen} by the filter, {unique} different"
        ));
        let split = o.train.split(&examples, cx.rng(Stream::Split));
        let (model, curve) = o.train.fit(cx, &examples.data, &split, &encoder)?;
        log.push(format!("a cascade of {} neurons: {}", model.net.units(), mse_text(&model)));
        curves.push(error_curve(&curve, "neurons"));
        let played = |spec| composed(spec, c, &cx.learned_model());
        let figures = json!({
            "c": c, "sims": sims, "matches": matches, "mean_length": length, "rows": rows, "filtered": chosen,
            "examples": unique, "train": split.train.len(), "selection": split.validation.len(), "test": split.test.len(),
            "targets": examples.histogram(), "units": model.net.units(), "metrics": model.provenance.metrics, "curve": curve,
            "literal": played(&o.play.literal), "minimax": played(&o.play.minimax),
        });
        let (agent, unlearned, measure) = (played(&o.play.mcts), Spec::word("uct"), o.measure.clone());
        Ok(Learned { agent, unlearned, measure, curves, log, figures })
    }
}

/// Mean plies of matches.
fn mean_length(parts: &Parts<'_, Records<Child>>) -> Result<f64> {
    let mut last = std::collections::BTreeMap::<u32, u32>::new();
    for_each_row(parts, |part, i| {
        let row = part.row(i);
        let plies = last.entry(row.match_id).or_default();
        *plies = row.ply.max(*plies);
    })?;
    Ok(last.values().map(|&n| n as f64).sum::<f64>() / last.len().max(1) as f64)
}
