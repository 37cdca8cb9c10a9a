//! Searches without a tree in memory, and evaluators.

use super::Parts;
use crate::models::{self, Need};
use crate::nets::{MoveScorer, NetEvaluator};
use crate::nnue::net_evaluator;
use crate::spec::SpecError;
use ludex_core::{Evaluator, EvaluatorFactory, Game, Rng};
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions, Order, Ties};
use ludex_search::eval::{RandomValue, Rollouts, Zero};
use ludex_search::pvs::{HistoryKey, Pvs, PvsOptions, PvsOrder};
use ludex_search::{ExactObserver, Greedy, LimitedStrength, Random};
use std::sync::Arc;

/// An evaluator that is the same for every thread but for its seed.
fn factory<G: Game, E: Evaluator<G> + 'static>(
    make: impl Fn(u64) -> E + Send + Sync + 'static,
) -> Arc<dyn EvaluatorFactory<G>> {
    Arc::new(move |seed| Box::new(make(seed)) as Box<dyn Evaluator<G>>)
}

pub(super) fn add<G: Game>(parts: &mut Parts<G>) {
    let searches = &mut parts.searches;
    searches.add("random", |a| Ok((Box::new(Random) as _, a.limit()?)));
    searches.add("minimax", |a| {
        let (eval, options) = alphabeta(a)?;
        Ok((Box::new(AlphaBeta::new(eval, options)) as _, a.limit()?))
    });
    searches.add("pvs", |a| {
        let options = pvs(a)?;
        Ok((Box::new(Pvs::new(evaluator(a)?, options)) as _, a.limit()?))
    });
    searches.add("limited", |a| {
        let (search, limit) = a.search("search")?;
        Ok((Box::new(LimitedStrength::new(search, limit, a.real("overlook")?, a.flag("careful")?)) as _, limit))
    });
    searches.add("policy", |a| {
        let scorer = MoveScorer::new(a.loaded_roles(Need::MoveScores)?);
        Ok((Box::new(Greedy::new(Box::new(scorer))) as _, a.limit()?))
    });

    let evaluators = &mut parts.evaluators;
    evaluators.add("none", |_| Ok(factory(|_| Zero)));
    evaluators.add("net", |a| {
        let model = a.loaded(Need::Value)?;
        Ok(Arc::new(move |_| net_evaluator::<G>(&model)) as _)
    });
    evaluators.add("random", |a| {
        let (info, hidden) = (a.game().info().clone(), a.whole("hidden")?);
        // While a net is laid out for search a weight is held four times, once in double precision.
        a.check_memory("hidden", 24 * info.facts as u64 * hidden as u64)?;
        Ok(match a.word("by", &[("hash", 0), ("call", 1), ("net", 2)])? {
            0 => factory(RandomValue::Hashed),
            1 => factory(|seed| RandomValue::Fresh(Rng::new(seed))),
            _ => factory(move |seed| NetEvaluator::new(models::untrained(&info, hidden, seed))),
        })
    });
    evaluators.add("rollouts", |a| {
        let playouts = a.whole("n")?;
        Ok(factory(move |seed| Rollouts { playouts, rng: Rng::new(seed) }))
    });
}

type AlphaBetaParts<G> = (Box<dyn Evaluator<G>>, AlphaBetaOptions);

fn alphabeta<G: Game>(a: &super::Args<'_, G>) -> Result<AlphaBetaParts<G>, SpecError> {
    needs_zero_sum(a)?;
    let orders = [("killers", Order::Killers), ("eval", Order::Eval), ("none", Order::None), ("random", Order::Random)];
    let options = AlphaBetaOptions {
        order: a.word("order", &orders)?,
        ties: a.word("ties", &[("random", Ties::Random), ("first", Ties::First)])?,
        table: table(a)?,
        deepening: a.flag("deepening")?,
    };
    Ok((evaluator(a)?, options))
}

fn pvs<G: Game>(a: &super::Args<'_, G>) -> Result<PvsOptions, SpecError> {
    needs_zero_sum(a)?;
    let order_depth = a.whole("order_depth")?;
    Ok(PvsOptions {
        table: table(a)?,
        order: a.word("order", &[("killers", PvsOrder::Killers), ("eval", PvsOrder::Eval(order_depth))])?,
        history: a.word("history", &[("exact", HistoryKey::Exact), ("ignore", HistoryKey::Ignore)])?,
        reductions: a.flag("lmr")?,
        etc: a.flag("etc")?,
        probcut: a.real("probcut")? as f32,
        threshold: a.real("threshold")? as f32,
        extensions: a.flag("extend")?,
        wins: a.flag("wins")?,
        aspiration: a.real("aspiration")? as f32,
        deeper: true,
        shuffled: a.word("ties", &[("random", true), ("first", false)])?,
    })
}

fn needs_zero_sum<G: Game>(a: &super::Args<'_, G>) -> Result<(), SpecError> {
    match a.game().info().zero_sum {
        true => Ok(()),
        false => Err(a.error("alpha-beta needs a two-player zero-sum game; use uct")),
    }
}

/// Megabytes of table; none if the part is only checked.
fn table<G: Game>(a: &super::Args<'_, G>) -> Result<usize, SpecError> {
    let megabytes: u64 = a.whole("table")?;
    a.check_memory("table", megabytes << 20)?;
    Ok(if a.dry { 0 } else { megabytes as usize })
}

/// The evaluator that `eval` or `model` names.
fn evaluator<G: Game>(a: &super::Args<'_, G>) -> Result<Box<dyn Evaluator<G>>, SpecError> {
    match (a.given("model"), a.given("eval")) {
        (true, false) => Ok(a.parts.evaluators.build(&crate::Spec::word("net"), a)?.evaluator(Rng::derive(a.seed, 1))),
        (true, true) if a.value("eval").name != "net" => Err(a.error("give either eval= or model=, not both")),
        _ => a.evaluator("eval"),
    }
}

/// Alpha-beta with an observer of its exact nodes, and its limit.
pub(crate) fn observed<G: Game, O: ExactObserver<G>>(
    parts: &Parts<G>,
    game: &Arc<G>,
    spec: &crate::Spec,
    seed: u64,
    observer: O,
) -> Result<(AlphaBeta<G, O>, ludex_core::Limit), SpecError> {
    if spec.name != "minimax" {
        return Err(spec.error(format!("\"{}\" proves nothing: give minimax(..)", spec.name)));
    }
    let options = &parts.searches.find(spec, &[])?.info.options;
    super::options::check(spec, options)?;
    let args = super::Args { spec, options, parts, game, seed, inherited: None, dry: false };
    let (eval, options) = alphabeta(&args)?;
    Ok((AlphaBeta::observed(eval, options, observer), args.limit()?))
}
