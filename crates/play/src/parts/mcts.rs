//! Monte Carlo tree search as an open composition,
//! `mcts(select=.., prior=.., expand=.., playout=.., backup=.., final=..)`, and its parts.

use super::{Args, Parts, SearchPart};
use crate::action_values::NetActionValues;
use crate::models::Need;
use crate::nets::{MoveScorer, NetWdl};
use crate::nnue::net_evaluator;
use crate::spec::SpecError;
use ludex_core::{Evaluator, Game};
use ludex_search::mcts::*;

/// Selection rules that mean nothing without priors.
const BY_PRIOR: [&str; 3] = ["bonus", "mean", "qprior"];

pub(super) fn add<G: Game>(parts: &mut Parts<G>) {
    parts.searches.add("mcts", tree_search);

    let selects = &mut parts.selects;
    selects.add("ucb1", |a| {
        let rule = ucb1(a)?;
        Ok(match a.word("mean", &[("signed", true), ("abs", false)])? {
            true => Box::new(rule) as _,
            false => Box::new(Ucb1Abs(rule)) as _,
        })
    });
    selects.add("tuned", |a| Ok(Box::new(Ucb1Tuned::new(a.real("c")?)) as _));
    selects.add("rave", |a| Ok(Box::new(Grave::new(0, a.real("bias")?, a.real("c")?)) as _));
    selects.add("grave", |a| Ok(Box::new(Grave::new(a.whole("ref")?, a.real("bias")?, a.real("c")?)) as _));
    selects.add("bonus", |a| Ok(Box::new(PriorBonus::new(a.real("c")?, a.real("influence")?)) as _));
    selects.add("mean", |a| Ok(Box::new(PriorMean::new(a.real("c")?, a.real("k")?)) as _));
    selects.add("qprior", |a| {
        let fpu = a.word("first", &[("infinite", Fpu::Infinite), ("learned", Fpu::Prior)])?;
        Ok(Box::new(QPrior::new(a.real("c")?, a.real("k")?, fpu)) as _)
    });

    let priors = &mut parts.priors;
    priors.add("none", |_| Ok(None));
    priors.add("value", |a| Ok(Some((a.evaluator("eval")?, PriorSource::ChildValues))));
    priors.add("scores", |a| {
        let scorer = MoveScorer::new(a.loaded_roles(Need::MoveScores)?);
        Ok(Some((Box::new(scorer) as Box<dyn Evaluator<G>>, PriorSource::MoveScores)))
    });

    let expands = &mut parts.expands;
    expands.add("random", |_| Ok(Box::new(OneChild::new(Next::Random)) as _));
    expands.add("leftmost", |_| Ok(Box::new(OneChild::new(Next::Leftmost)) as _));
    let visits = [("first", When::FIRST), ("second", When::SECOND), ("fourth", When(4)), ("eighth", When(8))];
    for (name, when) in [("all", When::FIRST)].into_iter().chain(visits) {
        expands.add(name, move |a| Ok(Box::new(AllChildren::new(when, playout_from(a)?)) as _));
    }
    expands.add("ranked", move |a| {
        let share = a.real("share")?;
        let keep = match a.word("scheme", &[("exponential", 0), ("linear", 1), ("constant", 2)])? {
            0 => Keep::Exponential { first: share, rate: a.real("rate")? },
            1 => Keep::Linear(share),
            _ => Keep::Constant(share),
        };
        let ranking = Ranking {
            keep,
            depth: a.word("depth", &[("board", Depth::Board), ("tree", Depth::Tree)])?,
            root: a.flag("root")?,
            decisive: a.flag("decisive")?,
        };
        let roles = a.loaded_roles(Need::Any)?;
        let scorer: Box<dyn Evaluator<G>> = match roles.iter().all(|m| Need::MoveScores.fits(m.head)) {
            true => Box::new(MoveScorer::ranking(roles)),
            false => net_evaluator(&a.loaded(Need::Value)?),
        };
        Ok(Box::new(Ranked::new(&**a.game(), scorer, ranking, a.word("visit", &visits)?, playout_from(a)?)) as _)
    });

    let playouts = &mut parts.playouts;
    playouts.add("uniform", |_| Ok(Box::new(Uniform) as _));
    playouts.add("mast", |a| Ok(Box::new(Mast::new(a.real("eps")?)) as _));
    playouts.add("decisive", |_| Ok(Box::new(Decisive::default()) as _));
    playouts.add("valued", |a| {
        let eval = net_evaluator(&a.loaded(Need::Value)?);
        Ok(Box::new(Valued { eval, plies: a.whole("plies")?, weight: a.real("weight")? as f32 }) as _)
    });
    playouts.add("cut", |a| {
        let wdl = Box::new(NetWdl::new(a.loaded(Need::Wdl)?));
        let ask = match a.word("ask", &[("every", true), ("once", false)])? {
            true => CutCheck::Every { after: a.whole("after")?, step: a.whole("step")? },
            false => CutCheck::AtStart,
        };
        let value = a.word("backup", &[("hard", CutValue::Hard), ("expected", CutValue::Expected)])?;
        Ok(Box::new(CutPlayout::new(wdl, ask, a.real("threshold")? as f32, value)) as _)
    });
    playouts.add("guided", |a| {
        let roles = a.loaded_roles(Need::MoveScores)?;
        let values = NetActionValues::new(roles, a.game().info().players());
        let sampling = match a.word("law", &[("gibbs", true), ("proportional", false)])? {
            true => Sampling::Gibbs { tau: a.real("tau")? as f32 / 50.0 },
            false => Sampling::Proportional,
        };
        Ok(Box::new(GuidedPlayout::new(Box::new(values), sampling, a.real("eps")?, a.whole("plies")?)) as _)
    });

    let backups = &mut parts.backups;
    backups.add("mean", |_| Ok(Box::new(Mean) as _));
    backups.add("unique", |_| Ok(Box::new(UniqueCounter) as _));
}

fn ucb1<G: Game>(a: &Args<'_, G>) -> Result<Ucb1, SpecError> {
    let form = a.word("form", &[("plain", Form::Plain), ("kocsis", Form::Kocsis), ("burger", Form::Burger)])?;
    let scales = [("unit", Reward::Unit), ("signed", Reward::Signed), ("hundred", Reward::Hundred)];
    Ok(Ucb1::new(a.real("c")?, form, a.word("reward", &scales)?))
}

fn playout_from<G: Game>(a: &Args<'_, G>) -> Result<PlayoutFrom, SpecError> {
    a.word("from", &[("child", PlayoutFrom::Child), ("leaf", PlayoutFrom::Leaf)])
}

fn tree_search<G: Game>(a: &Args<'_, G>) -> Result<SearchPart<G>, SpecError> {
    let parts = a.parts;
    let (select, prior) = (a.part(&parts.selects, "select")?, a.part(&parts.priors, "prior")?);
    let mut expand = a.part(&parts.expands, "expand")?;
    match prior {
        Some((eval, source)) => expand = Box::new(WithPriors::new(expand, eval, source)),
        None if BY_PRIOR.contains(&a.value("select").name.as_str()) => {
            return Err(a.error(format!("select={} needs a prior=", a.value("select").name)));
        }
        None => {}
    }
    let (playout, backup) = (a.part(&parts.playouts, "playout")?, a.part(&parts.backups, "backup")?);
    let rules = [
        ("robust", FinalMove::Robust),
        ("max", FinalMove::MaxValue { visits: 1 }),
        ("secure", FinalMove::Secure { a: 1.0 }),
    ];
    let solvers = [("off", Solver::Off), ("ends", Solver::Ends), ("on", Solver::Full), ("shared", Solver::Shared)];
    let options = MctsOptions {
        final_move: a.word("final", &rules)?,
        solver: a.word("solver", &solvers)?,
        transpositions: a.flag("graph")?,
        reuse: a.flag("reuse")?,
        capacity: a.whole("nodes")?,
    };
    // Node, place in its parent's block, totals: see the header of the tree.
    a.check_memory("nodes", options.capacity as u64 * (48 + 8 * a.game().info().players() as u64))?;
    let (select, expand, playout, backup) = match a.flag("profile")? {
        true => timed(select, expand, playout, backup),
        false => (select, expand, playout, backup),
    };
    Ok((Box::new(Mcts::new(&**a.game(), select, expand, playout, backup, options)), a.limit()?))
}
