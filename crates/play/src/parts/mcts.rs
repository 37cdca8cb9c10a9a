//! Monte Carlo tree search as an open composition,
//! `mcts(select=.., prior=.., expand=.., playout=.., backup=.., final=..)`, its parts, and the names of usual fillings.

use super::{Args, Composition, OptionInfo as Opt, PartKind, Parts, Route, SearchPart, limit, route};
use crate::action_values::NetActionValues;
use crate::models::Need;
use crate::nets::{MoveScorer, NetWdl};
use crate::nnue::net_evaluator;
use crate::spec::SpecError;
use ludex_core::{Evaluator, Game, LimitKind};
use ludex_search::mcts::*;

const LIMITS: &[Opt] = &[
    limit(LimitKind::Simulations, "simulations a move (1000 if no limit is given)"),
    limit(LimitKind::Visits, "node visits a move"),
    limit(LimitKind::Expansions, "nodes added a move"),
    limit(LimitKind::Time, "milliseconds a move"),
    limit(LimitKind::Cpu, "milliseconds of processor time a move"),
];

const PHASES: &[Opt] = &[
    Opt::part("select", "ucb1", PartKind::Select, "how a child is chosen on the way down, see below"),
    Opt::part("prior", "none", PartKind::Prior, "what judges children before they are visited, see below"),
    Opt::part("expand", "random", PartKind::Expand, "how children are added, see below"),
    Opt::model("a run, or a model file, for every part that has none of its own"),
];

/// What all searches of a tree have in common.
const TREE: &[Opt] = &[
    Opt::word(
        "final",
        "robust",
        &["robust", "max", "secure"],
        "robust: most visits; max: highest mean; secure: highest lower bound",
    ),
    Opt::part("playout", "uniform", PartKind::Playout, "how simulations are played to their end, see below"),
    Opt::part("backup", "mean", PartKind::Backup, "how results are carried up, see below"),
    Opt::word(
        "solver",
        "off",
        &["off", "ends", "on", "shared"],
        "off | ends: finished games are not explored; on: proven wins and losses are carried up; shared: and found again by position",
    ),
    Opt::flag("graph", "off", "on: a position that several orders of moves lead to is searched once"),
    Opt::flag("reuse", "off", "on: keep the tree below the moves played"),
    Opt::whole("nodes", "16000000", (1, 1 << 31), "the most nodes in the tree; then it stops to grow"),
    Opt::flag("profile", "off", "on: the time of each phase is counted, for those who measure"),
];

const C: (f64, f64) = (0.0, 1e6);
const FORMS: &[&str] = &["plain", "kocsis", "burger"];
const REWARDS: &[&str] = &["unit", "signed", "hundred"];
const VISITS: &[&str] = &["first", "second", "fourth", "eighth"];
const FROM: &[&str] = &["child", "leaf"];

const UCB: &[Opt] = &[
    Opt::real("c", "1.4", C, "exploration constant"),
    Opt::word("form", "plain", FORMS, "plain: C sqrt(ln N/n); kocsis: 2 C sqrt(2 ln N/n); burger: C sqrt(2 ln N/n)"),
    Opt::word(
        "reward",
        "unit",
        REWARDS,
        "the scale the constant is meant for: unit [0, 1]; signed [-1, 1]; hundred [0, 100]",
    ),
    Opt::word(
        "mean",
        "signed",
        &["signed", "abs"],
        "signed: the chooser's own mean | abs: its absolute value (a formula as printed; wrong)",
    ),
];

const TUNED: &[Opt] = &[Opt::real("c", "1", C, "exploration constant")];

const GRAVE: &[Opt] = &[
    Opt::whole("ref", "50", (0, u32::MAX as u64), "visits an ancestor needs for its statistics to be used (RAVE: 0)"),
    Opt::real("bias", "0.00001", (0.0, 1e3), "how soon the mean takes over"),
    Opt::real("c", "0", C, "exploration constant, plain form on [0, 1]"),
];

const RAVE: &[Opt] = &[
    Opt::real("bias", "0.001", (0.0, 1e3), "how soon the mean takes over"),
    Opt::real("c", "0.3", C, "exploration constant, plain form on [0, 1]"),
];

const BONUS: &[Opt] = &[
    Opt::real("c", "0.78", C, "exploration constant; bonus: as printed, on [-1, 1]; mean: plain form on [0, 1]"),
    Opt::real("influence", "1", (0.0, 1.0), "bonus: the prior's influence, from 0 (none) to 1 (as printed)"),
    Opt::real("k", "10", (0.0, 1e9), "mean: how many visits the prior is worth"),
];

const QPRIOR: &[Opt] = &[
    Opt::real("c", "1.4", C, "exploration constant, plain form on [0, 1]; 140 of 100 in the paper"),
    Opt::real("k", "100", (0.0, 1e9), "visits of a node at which the prior and the mean weigh the same"),
    Opt::word(
        "first",
        "infinite",
        &["infinite", "learned"],
        "first-play urgency: infinite: a child without a visit comes first | learned: it counts with its prior",
    ),
];

const ALL: &[Opt] =
    &[Opt::word("from", "child", FROM, "child: playouts begin at the best new child | leaf: at the leaf")];

const RANKED: &[Opt] = &[
    Opt::word(
        "scheme",
        "exponential",
        &["exponential", "linear", "constant"],
        "exponential | linear | constant: how the share that is dropped goes down with depth",
    ),
    Opt::real("share", "0.5", (0.0, 1.0), "the share dropped: of all moves (constant) or at depth 0; 0 drops nothing"),
    Opt::real("rate", "0.23", (0.0, 1e6), "exponential: how fast the share decays; 0.23 halves it in three plies"),
    Opt::word(
        "depth",
        "board",
        &["board", "tree"],
        "board: plies since the start, or stones | tree: plies since the root of the search",
    ),
    Opt::flag("root", "on", "on | off: whether moves are dropped at the root too"),
    Opt::flag("decisive", "off", "on: a move that wins at once is never dropped | off: as the paper says"),
    Opt::word("visit", "second", VISITS, "first | second | fourth | eighth: children are added at this visit"),
    Opt::word(
        "from",
        "child",
        FROM,
        "child: playouts begin at a new child | leaf: at the leaf (expand=first, as the paper says)",
    ),
    Opt::model("the net that ranks moves; a value net judges children"),
];

const MODEL: Opt = Opt::model("a run, or a model file; if not given, that of the agent");

const VALUE: &[Opt] = &[Opt::part("eval", "net", PartKind::Evaluator, "the evaluator of children"), MODEL];

const EPS: (f64, f64) = (0.0, 1.0);

const MAST: &[Opt] = &[Opt::real("eps", "0.4", EPS, "share of random moves")];

const VALUED: &[Opt] = &[
    MODEL,
    Opt::whole("plies", "0", (0, 10_000), "random moves before the net is asked"),
    Opt::real("weight", "1", (0.0, 1.0), "the net's share of the result; a playout to the end gives the rest"),
];

const CUT: &[Opt] = &[
    MODEL,
    Opt::real(
        "threshold",
        "0.9",
        (0.0, 1e6),
        "how sure: the least chance of the likeliest result; above 1 nothing is cut",
    ),
    Opt::word("ask", "every", &["every", "once"], "every: before every move | once: before the first move only"),
    Opt::whole("after", "0", (0, 1_000_000), "ask=every: random moves before the net is first asked"),
    Opt::whole("step", "1", (1, 1_000_000), "ask=every: moves from one question to the next"),
    Opt::word(
        "backup",
        "hard",
        &["hard", "expected"],
        "hard: the likeliest result counts | expected: the expected value",
    ),
];

const GUIDED: &[Opt] = &[
    MODEL,
    Opt::word(
        "law",
        "gibbs",
        &["gibbs", "proportional"],
        "gibbs: in proportion to exp(Q / tau) | proportional: to Q - min Q + 1; Q from 0 to 100",
    ),
    Opt::real("tau", "10", (1e-3, 1e6), "gibbs: the temperature, on the scale from 0 to 100"),
    Opt::real("eps", "0", EPS, "share of uniformly random moves"),
    Opt::whole(
        "plies",
        "1000000",
        (0, 1_000_000),
        "moves that are drawn by value; those after them are uniformly random",
    ),
];

const EXPANSIONS: &str =
    "random | leftmost: one child a simulation; all | second | fourth | eighth: all children at the first | .. visit";

const EXPAND: Route = Route { about: EXPANSIONS, ..route("expand", "expand", "") };

pub(super) const COMPOSITIONS: [Composition; 7] = [
    Composition {
        name: "uct",
        about: "Monte Carlo tree search with UCB1",
        template: "mcts(select=ucb1)",
        routes: &[
            EXPAND,
            route("c", "select.c", ""),
            route("form", "select.form", ""),
            route("reward", "select.reward", ""),
            route("mean", "select.mean", ""),
        ],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "tuned",
        about: "Monte Carlo tree search with UCB1-Tuned",
        template: "mcts(select=tuned)",
        routes: &[EXPAND, route("c", "select.c", "")],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "rave",
        about: "Monte Carlo tree search with RAVE",
        template: "mcts(select=rave)",
        routes: &[Route { default: "all", ..EXPAND }, route("bias", "select.bias", ""), route("c", "select.c", "")],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "grave",
        about: "Monte Carlo tree search with GRAVE",
        template: "mcts(select=grave)",
        routes: &[
            Route { default: "all", ..EXPAND },
            route("ref", "select.ref", ""),
            route("bias", "select.bias", ""),
            route("c", "select.c", ""),
        ],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "neural",
        about: "Monte Carlo tree search with a value net's opinion of every child (NeuralMCTS)",
        template: "mcts(prior=value)",
        routes: &[
            Route {
                words: &["bonus", "mean"],
                about: "bonus: as printed, the net scales exploration | mean: the net counts like visits of its own",
                ..route("rule", "select", "bonus")
            },
            Route {
                words: VISITS,
                about: "first | second | fourth | eighth: all children at this visit",
                ..route("expand", "expand", "first")
            },
            route("model", "model", ""),
            route("c", "select.c", ""),
            route("influence", "select.influence", ""),
            route("k", "select.k", ""),
            route("from", "expand.from", ""),
        ],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "ranked",
        about: "Monte Carlo tree search that expands only the moves a net ranks highest (UCT-NN)",
        template: "mcts(select=ucb1, expand=ranked)",
        routes: &[
            route("model", "model", ""),
            route("scheme", "expand.scheme", ""),
            route("share", "expand.share", ""),
            route("rate", "expand.rate", ""),
            route("depth", "expand.depth", ""),
            route("root", "expand.root", ""),
            route("decisive", "expand.decisive", ""),
            route("expand", "expand.visit", ""),
            route("from", "expand.from", ""),
            route("c", "select.c", "1.41"),
            route("form", "select.form", "burger"),
            route("reward", "select.reward", ""),
            route("final", "final", "max"),
        ],
        shared: &[LIMITS, TREE],
    },
    Composition {
        name: "guided",
        about: "Monte Carlo tree search that selects by learned action values at first (CARL)",
        template: "mcts(select=qprior, prior=scores)",
        routes: &[
            Route { default: "leftmost", ..EXPAND },
            route("model", "model", ""),
            route("k", "select.k", ""),
            route("first", "select.first", ""),
            route("c", "select.c", ""),
        ],
        shared: &[LIMITS, TREE],
    },
];

/// Selection rules that mean nothing without priors.
const BY_PRIOR: [&str; 3] = ["bonus", "mean", "qprior"];

pub(super) fn add<G: Game>(parts: &mut Parts<G>) {
    let about = "Monte Carlo tree search of any parts";
    parts.searches.add("mcts", about, &[LIMITS, PHASES, TREE], tree_search);

    let selects = &mut parts.selects;
    selects.add("ucb1", "q + c sqrt(ln N/n)", &[UCB], |a| {
        let rule = ucb1(a)?;
        Ok(match a.word("mean", &[("signed", true), ("abs", false)])? {
            true => Box::new(rule) as _,
            false => Box::new(Ucb1Abs(rule)) as _,
        })
    });
    selects.add("tuned", "UCB1-Tuned: exploration by the variance", &[TUNED], |a| {
        Ok(Box::new(Ucb1Tuned::new(a.real("c")?)) as _)
    });
    selects.add("rave", "the mean, and at first how the move did anywhere later (all moves as first)", &[RAVE], |a| {
        Ok(Box::new(Grave::new(0, a.real("bias")?, a.real("c")?)) as _)
    });
    selects.add("grave", "as rave, by the statistics of the nearest ancestor with enough visits", &[GRAVE], |a| {
        Ok(Box::new(Grave::new(a.whole("ref")?, a.real("bias")?, a.real("c")?)) as _)
    });
    selects.add("bonus", "the prior scales exploration (NeuralMCTS as printed)", &[BONUS], |a| {
        Ok(Box::new(PriorBonus::new(a.real("c")?, a.real("influence")?)) as _)
    });
    selects.add("mean", "the prior counts like visits of its own", &[BONUS], |a| {
        Ok(Box::new(PriorMean::new(a.real("c")?, a.real("k")?)) as _)
    });
    selects.add("qprior", "the prior weighs less with every visit of the node (CARL)", &[QPRIOR], |a| {
        let fpu = a.word("first", &[("infinite", Fpu::Infinite), ("learned", Fpu::Prior)])?;
        Ok(Box::new(QPrior::new(a.real("c")?, a.real("k")?, fpu)) as _)
    });

    let priors = &mut parts.priors;
    priors.add("none", "children are not judged beforehand", &[], |_| Ok(None));
    priors.add("value", "what an evaluator says of every child", &[VALUE], |a| {
        Ok(Some((a.evaluator("eval")?, PriorSource::ChildValues)))
    });
    priors.add("scores", "learned values of moves", &[&[MODEL]], |a| {
        let scorer = MoveScorer::new(a.loaded_roles(Need::MoveScores)?);
        Ok(Some((Box::new(scorer) as Box<dyn Evaluator<G>>, PriorSource::MoveScores)))
    });

    let expands = &mut parts.expands;
    expands.add("random", "one child a simulation, any of the untried moves", &[], |_| {
        Ok(Box::new(OneChild::new(Next::Random)) as _)
    });
    expands.add("leftmost", "one child a simulation, the untried move with the lowest number", &[], |_| {
        Ok(Box::new(OneChild::new(Next::Leftmost)) as _)
    });
    for (name, about, when) in [
        ("all", "all children at the first visit", When::FIRST),
        ("first", "as all", When::FIRST),
        ("second", "all children at the second visit", When::SECOND),
        ("fourth", "all children at the fourth visit", When(4)),
        ("eighth", "all children at the eighth visit", When(8)),
    ] {
        expands.add(name, about, &[ALL], move |a| Ok(Box::new(AllChildren::new(when, playout_from(a)?)) as _));
    }
    expands.add("ranked", "the moves that a net ranks highest (UCT-NN)", &[RANKED], |a| {
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
        let visits = [("first", When::FIRST), ("second", When::SECOND), ("fourth", When(4)), ("eighth", When(8))];
        let roles = a.loaded_roles(Need::Any)?;
        let scorer: Box<dyn Evaluator<G>> = match roles.iter().all(|m| Need::MoveScores.fits(m.head)) {
            true => Box::new(MoveScorer::ranking(roles)),
            false => net_evaluator(&a.loaded(Need::Value)?),
        };
        Ok(Box::new(Ranked::new(&**a.game(), scorer, ranking, a.word("visit", &visits)?, playout_from(a)?)) as _)
    });

    let playouts = &mut parts.playouts;
    playouts.add("uniform", "uniformly random moves", &[], |_| Ok(Box::new(Uniform) as _));
    playouts.add("mast", "moves that did well on average in this search", &[MAST], |a| {
        Ok(Box::new(Mast::new(a.real("eps")?)) as _)
    });
    playouts.add("decisive", "a move that wins at once, else a random one", &[], |_| {
        Ok(Box::new(Decisive::default()) as _)
    });
    playouts.add("valued", "random moves, then a value net in place of the end", &[VALUED], |a| {
        let eval = net_evaluator(&a.loaded(Need::Value)?);
        Ok(Box::new(Valued { eval, plies: a.whole("plies")?, weight: a.real("weight")? as f32 }) as _)
    });
    playouts.add("cut", "random moves until a win/draw/loss net is sure of the result", &[CUT], |a| {
        let wdl = Box::new(NetWdl::new(a.loaded(Need::Wdl)?));
        let ask = match a.word("ask", &[("every", true), ("once", false)])? {
            true => CutCheck::Every { after: a.whole("after")?, step: a.whole("step")? },
            false => CutCheck::AtStart,
        };
        let value = a.word("backup", &[("hard", CutValue::Hard), ("expected", CutValue::Expected)])?;
        Ok(Box::new(CutPlayout::new(wdl, ask, a.real("threshold")? as f32, value)) as _)
    });
    playouts.add("guided", "moves drawn by their learned values (CARL)", &[GUIDED], |a| {
        let roles = a.loaded_roles(Need::MoveScores)?;
        let values = NetActionValues::new(roles, a.game().info().players());
        let sampling = match a.word("law", &[("gibbs", true), ("proportional", false)])? {
            true => Sampling::Gibbs { tau: a.real("tau")? as f32 / 50.0 },
            false => Sampling::Proportional,
        };
        Ok(Box::new(GuidedPlayout::new(Box::new(values), sampling, a.real("eps")?, a.whole("plies")?)) as _)
    });

    let backups = &mut parts.backups;
    backups.add("mean", "a counter for each player", &[], |_| Ok(Box::new(Mean) as _));
    backups.add("unique", "one counter for all players (wrong, for comparison)", &[], |_| {
        Ok(Box::new(UniqueCounter) as _)
    });
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
    let (select, prior) = (a.select("select")?, a.prior("prior")?);
    let mut expand = a.expand("expand")?;
    match prior {
        Some((eval, source)) => expand = Box::new(WithPriors::new(expand, eval, source)),
        None if BY_PRIOR.contains(&a.value("select").name.as_str()) => {
            return Err(a.error(format!("select={} needs a prior=", a.value("select").name)));
        }
        None => {}
    }
    let (playout, backup) = (a.playout("playout")?, a.backup("backup")?);
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
