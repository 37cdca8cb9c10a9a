//! From a [`Spec`] to a search.
//!
//! Which parts there are, and their defaults, stands in the tables of [`crate::parts`].

use crate::advice::{NetAdvice, NetScores, Roles};
use crate::agent::{Agent, Searcher};
use crate::nets::{self, NetOutlook, NetValue};
use crate::parts::{Kind, Opt, PARTS};
use crate::spec::{Spec, SpecError, near};
use crate::table::Solution;
use ludex_core::{Evaluator, Game, Limit, Rng, Search};
use ludex_search::Watch;
use ludex_search::alphabeta::{self, AlphaBeta, Order, Ties};
use ludex_search::eval::{RandomValue, Rollouts, Zero};
use ludex_search::mcts::*;
use std::sync::Arc;
use std::time::Duration;

/// What one game has besides: hand-written yardsticks.
pub(crate) struct House<G: Game> {
    /// Evaluators by name.
    pub evaluators: Vec<Rival<Box<dyn Evaluator<G>>>>,
    /// Searches by name.
    pub searches: Vec<Rival<Box<dyn Search<G>>>>,
    /// Exact values below a state, if it is small enough.
    pub solver: Option<Solve<G>>,
    /// Published starting positions, a line each; what follows a tab is about them.
    pub family: &'static str,
}

/// From a state to all exact values below it.
pub(crate) type Solve<G> = fn(&Arc<G>, &<G as Game>::State) -> Option<Box<dyn Solution>>;

/// A yardstick: what to type, a line about it, and how it is made.
pub(crate) struct Rival<T> {
    pub name: &'static str,
    pub about: &'static str,
    pub options: &'static [Opt],
    #[allow(clippy::type_complexity)] // a function from checked options to the thing
    pub make: Box<dyn Fn(&Reading<'_>) -> Result<T, SpecError> + Send + Sync>,
}

impl<G: Game> Default for House<G> {
    fn default() -> Self {
        House { evaluators: Vec::new(), searches: Vec::new(), solver: None, family: "" }
    }
}

impl<G: Game> House<G> {
    /// Names and lines, for help.
    pub fn list(&self) -> Vec<(Kind, &'static str, &'static str, &'static [Opt])> {
        let evaluators = self.evaluators.iter().map(|r| (Kind::Evaluator, r.name, r.about, r.options));
        evaluators.chain(self.searches.iter().map(|r| (Kind::Agent, r.name, r.about, r.options))).collect()
    }
}

/// A spec whose options are known to exist; gives their values, or the defaults.
pub(crate) struct Reading<'a> {
    spec: &'a Spec,
    options: Vec<&'a Opt>,
}

impl<'a> Reading<'a> {
    fn new(spec: &'a Spec, options: Vec<&'a Opt>) -> Result<Self, SpecError> {
        for (key, value) in &spec.args {
            if !options.iter().any(|o| o.name == key) {
                let like = options.iter().find(|o| near(o.name, key));
                let hint = match like {
                    Some(o) => format!("did you mean {}?", o.name),
                    None if options.is_empty() => "it takes none".into(),
                    None => format!("it takes {}", options.iter().map(|o| o.name).collect::<Vec<_>>().join(", ")),
                };
                return Err(value.error(format!("{} has no option \"{key}\": {hint}", spec.name)));
            }
        }
        Ok(Reading { spec, options })
    }

    fn given(&self, key: &str) -> Option<&'a Spec> {
        self.spec.args.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    fn default(&self, key: &str) -> &'static str {
        self.options.iter().find(|o| o.name == key).map_or("", |o| o.default)
    }

    /// The value as a spec.
    pub fn part(&self, key: &str) -> Spec {
        self.given(key).cloned().unwrap_or_else(|| Spec::word(self.default(key)))
    }

    /// The value as a number within bounds; `None` if it is neither given nor has a default.
    pub fn number<T>(&self, key: &str, least: T, most: T) -> Result<Option<T>, SpecError>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let part = self.part(key);
        if part.name.is_empty() {
            return Ok(None);
        }
        match part.name.parse::<T>() {
            Ok(n) if part.args.is_empty() && n >= least && n <= most => Ok(Some(n)),
            _ => Err(part.error(format!("{key}={part} is not a number from {least} to {most}"))),
        }
    }

    /// A number that has a default.
    pub fn set<T>(&self, key: &str, least: T, most: T) -> Result<T, SpecError>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        self.number(key, least, most)?.ok_or_else(|| self.spec.error(format!("{} needs {key}=", self.spec.name)))
    }

    /// One of these words.
    pub fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, SpecError> {
        let part = self.part(key);
        match words.iter().find(|(w, _)| *w == part.name && part.args.is_empty()) {
            Some((_, value)) => Ok(*value),
            None => {
                let words: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
                Err(part.error(format!("{key}={part} is none of {}", words.join(", "))))
            }
        }
    }

    fn flag(&self, key: &str) -> Result<bool, SpecError> {
        self.choice(key, &[("on", true), ("off", false)])
    }

    /// The limits among the options; those that a part does not have are simply not set.
    fn limit(&self) -> Result<Limit, SpecError> {
        let count = |key: &str| match self.options.iter().any(|o| o.name == key && o.default.is_empty()) {
            true => self.number(key, 1u64, u64::MAX / 4),
            false => Ok(None),
        };
        let time = |key| Ok(count(key)?.map(Duration::from_millis));
        Ok(Limit {
            simulations: count("sims")?,
            visits: count("visits")?,
            expansions: count("expansions")?,
            nodes: count("nodes")?,
            depth: count("depth")?.map(|d| d.min(1_000) as u32),
            time: time("ms")?,
            cpu: time("cpu_ms")?,
            stop: None,
        })
    }
}

/// The part of this kind and name.
fn find<'a>(kind: Kind, spec: &'a Spec, rivals: &[&'static str]) -> Result<Reading<'a>, SpecError> {
    let part = PARTS.iter().find(|p| p.kind == kind && p.name == spec.name);
    let Some(part) = part else {
        let names: Vec<&str> =
            PARTS.iter().filter(|p| p.kind == kind).map(|p| p.name).chain(rivals.iter().copied()).collect();
        let what = match kind {
            Kind::Agent => "agent",
            Kind::Playout => "playout",
            Kind::Evaluator => "evaluator of this game",
        };
        let hint = match names.iter().find(|n| near(n, &spec.name)) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("there are {}", names.join(", ")),
        };
        return Err(spec.error(format!("no {what} is called \"{}\": {hint}", short(&spec.name))));
    };
    Reading::new(spec, part.options.iter().flat_map(|o| o.iter()).collect())
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Builds an agent for a game.
pub(crate) fn agent<G: Game>(
    game: &Arc<G>,
    house: &House<G>,
    spec: &Spec,
    seed: u64,
) -> Result<Box<dyn Agent>, SpecError> {
    if let Some(rival) = house.searches.iter().find(|r| r.name == spec.name) {
        let reading = Reading::new(spec, rival.options.iter().collect())?;
        let limit = reading.limit()?;
        return Ok(Box::new(Searcher::new(game.clone(), (rival.make)(&reading)?, limit, seed)));
    }
    let names: Vec<&str> = house.searches.iter().map(|r| r.name).collect();
    let reading = find(Kind::Agent, spec, &names)?;
    let search: Box<dyn Search<G>> = match spec.name.as_str() {
        "random" => Box::new(ludex_search::Random),
        "minimax" => minimax(&**game, house, &reading, seed)?,
        "neural" => neural(&**game, &reading)?,
        "ranked" => ranked(&**game, &reading)?,
        "guided" => guided(&**game, &reading)?,
        "policy" => {
            let model = reading.part("model");
            Box::new(ludex_search::Greedy::new(Box::new(NetScores::new(action_values(&**game, &model, "policy")?))))
        }
        _ => mcts(&**game, &reading)?,
    };
    Ok(Box::new(Searcher::new(game.clone(), search, reading.limit()?, seed)))
}

fn mcts<G: Game>(game: &G, r: &Reading<'_>) -> Result<Box<dyn Search<G>>, SpecError> {
    let c = || r.set("c", 0.0, 1e6);
    let select: Box<dyn Select> = match r.spec.name.as_str() {
        "tuned" => Box::new(Ucb1Tuned::new(c()?)),
        "rave" => Box::new(Grave::new(0, r.set("bias", 0.0, 1e3)?, c()?)),
        "grave" => Box::new(Grave::new(r.set("ref", 0, u32::MAX)?, r.set("bias", 0.0, 1e3)?, c()?)),
        _ => {
            let form =
                r.choice("form", &[("plain", Form::Plain), ("kocsis", Form::Kocsis), ("burger", Form::Burger)])?;
            let scales = [("unit", Reward::Unit), ("signed", Reward::Signed), ("hundred", Reward::Hundred)];
            let rule = Ucb1::new(c()?, form, r.choice("reward", &scales)?);
            match r.choice("mean", &[("signed", true), ("abs", false)])? {
                true => Box::new(rule),
                false => Box::new(Ucb1Abs(rule)),
            }
        }
    };
    let expand: Box<dyn Expand<G>> = match select.wants_amaf() && r.given("expand").is_none() {
        true => Box::new(AllChildren::new(When::FIRST)),
        false => expansion(r)?,
    };
    assemble(game, r, select, expand)
}

/// Children one by one or all at once.
fn expansion<G: Game>(r: &Reading<'_>) -> Result<Box<dyn Expand<G>>, SpecError> {
    let ways = [
        ("random", Err(Next::Random)),
        ("leftmost", Err(Next::Leftmost)),
        ("all", Ok(When::FIRST)),
        ("second", Ok(When::SECOND)),
        ("fourth", Ok(When(4))),
        ("eighth", Ok(When(8))),
    ];
    Ok(match r.choice("expand", &ways)? {
        Err(next) => Box::new(OneChild::new(next)),
        Ok(when) => Box::new(AllChildren::new(when)),
    })
}

/// When children are added that a net judges.
const VISITS: [(&str, When); 4] =
    [("first", When::FIRST), ("second", When::SECOND), ("fourth", When(4)), ("eighth", When(8))];

/// CARL: learned action values, noted as priors, count in selection until a node has been visited often.
fn guided<G: Game>(game: &G, r: &Reading<'_>) -> Result<Box<dyn Search<G>>, SpecError> {
    let first = r.choice("first", &[("infinite", First::Infinite), ("learned", First::Learned)])?;
    let select = Blend::new(r.set("c", 0.0, 1e6)?, r.set("k", 0.0, 1e9)?, first);
    let scores = NetScores::new(action_values(game, &r.part("model"), "guided")?);
    let expand = Advised::new(expansion(r)?, Box::new(scores));
    assemble(game, r, Box::new(select), Box::new(expand))
}

/// The nets of all roles in this model.
fn action_values<G: Game>(game: &G, model: &Spec, part: &str) -> Result<Roles, SpecError> {
    if model.name.is_empty() {
        return Err(model.error(format!("{part} needs model=RUN (`ludex learn GAME --system carl-playout` makes one)")));
    }
    let roles = nets::load_roles(&model.name, game.info()).map_err(|e| model.error(e))?;
    match roles.iter().all(|r| nets::scores_moves(r.head)) {
        true => Ok(roles),
        false => Err(model.error(format!("the model {} does not score moves, which {part} needs", model.name))),
    }
}

/// NeuralMCTS: all children of a leaf are judged by a net, whose opinion guides selection.
fn neural<G: Game>(game: &G, r: &Reading<'_>) -> Result<Box<dyn Search<G>>, SpecError> {
    let c = r.set("c", 0.0, 1e6)?;
    let select: Box<dyn Select> = match r.choice("rule", &[("bonus", true), ("mean", false)])? {
        true => Box::new(PriorBonus::new(c, r.set("influence", 0.0, 1.0)?)),
        false => Box::new(PriorMean::new(c, r.set("k", 0.0, 1e9)?)),
    };
    let when = r.choice("expand", &VISITS)?;
    let from = r.choice("from", &[("child", From::Child), ("leaf", From::Leaf)])?;
    let expand = Informed::new(net(game, &r.part("model"))?, when, from);
    assemble(game, r, select, Box::new(expand))
}

/// UCT-NN: the moves that a net likes least get no child.
fn ranked<G: Game>(game: &G, r: &Reading<'_>) -> Result<Box<dyn Search<G>>, SpecError> {
    let form = r.choice("form", &[("plain", Form::Plain), ("kocsis", Form::Kocsis), ("burger", Form::Burger)])?;
    let scales = [("unit", Reward::Unit), ("signed", Reward::Signed), ("hundred", Reward::Hundred)];
    let select = Ucb1::new(r.set("c", 0.0, 1e6)?, form, r.choice("reward", &scales)?);
    let share = r.set("share", 0.0, 1.0)?;
    let keep = match r.choice("scheme", &[("exponential", 0), ("linear", 1), ("constant", 2)])? {
        0 => Keep::Exponential { first: share, rate: r.set("rate", 0.0, 1e6)? },
        1 => Keep::Linear(share),
        _ => Keep::Constant(share),
    };
    let ranking = Ranking {
        keep,
        depth: r.choice("depth", &[("board", Depth::Board), ("tree", Depth::Tree)])?,
        root: r.flag("root")?,
        decisive: r.flag("decisive")?,
    };
    let when = r.choice("expand", &VISITS)?;
    let from = r.choice("from", &[("child", From::Child), ("leaf", From::Leaf)])?;
    let expand = Ranked::new(game, scorer(game, &r.part("model"))?, ranking, when, from);
    assemble(game, r, Box::new(select), Box::new(expand))
}

/// A net of this model that can rank moves: any can.
fn scorer<G: Game>(game: &G, model: &Spec) -> Result<Box<dyn Evaluator<G>>, SpecError> {
    if model.name.is_empty() {
        return Err(model.error("ranked needs model=FILE (`ludex learn GAME --system uct-nn` makes one)"));
    }
    let mut roles = nets::load_roles(&model.name, game.info()).map_err(|e| model.error(e))?;
    match nets::scores_moves(roles[0].head) {
        true => Ok(Box::new(NetScores::ranking(roles))),
        false => Ok(Box::new(NetValue::new(roles.swap_remove(0)))),
    }
}

/// The phases that all Monte Carlo searches have in common.
fn assemble<G: Game>(
    game: &G,
    r: &Reading<'_>,
    select: Box<dyn Select>,
    expand: Box<dyn Expand<G>>,
) -> Result<Box<dyn Search<G>>, SpecError> {
    let playout_spec = r.part("playout");
    let p = find(Kind::Playout, &playout_spec, &[])?;
    let playout: Box<dyn Playout<G>> = match playout_spec.name.as_str() {
        "mast" => Box::new(Mast::new(p.set("eps", 0.0, 1.0)?)),
        "decisive" => Box::new(Decisive::default()),
        "valued" => {
            let own = p.part("model");
            let model = if own.name.is_empty() { r.part("model") } else { own };
            Box::new(Valued {
                eval: net(game, &model)?,
                plies: p.set("plies", 0, 10_000)?,
                weight: p.set("weight", 0.0, 1.0)?,
            })
        }
        "cut" => {
            let own = p.part("model");
            let model = if own.name.is_empty() { r.part("model") } else { own };
            let ask = match p.choice("ask", &[("every", true), ("once", false)])? {
                true => Ask::Every { after: p.set("after", 0, 1_000_000)?, step: p.set("step", 1, 1_000_000)? },
                false => Ask::Once,
            };
            let call = p.choice("backup", &[("hard", Call::Hard), ("expected", Call::Expected)])?;
            Box::new(CutPlayout::new(outlook(game, &model)?, ask, p.set("threshold", 0.0, 1e6)?, call))
        }
        "guided" => {
            let own = p.part("model");
            let model = if own.name.is_empty() { r.part("model") } else { own };
            let advice = NetAdvice::new(action_values(game, &model, "guided")?, game.info().players());
            let law = match p.choice("law", &[("gibbs", true), ("proportional", false)])? {
                true => Law::Gibbs { tau: p.set("tau", 1e-3f32, 1e6)? / 50.0 },
                false => Law::Proportional,
            };
            let (eps, plies) = (p.set("eps", 0.0, 1.0)?, p.set("plies", 0, 1_000_000)?);
            Box::new(GuidedPlayout::new(Box::new(advice), law, eps, plies))
        }
        _ => Box::new(Uniform),
    };
    let backup: Box<dyn Backup> = match r.choice("backup", &[("mean", true), ("unique", false)])? {
        true => Box::new(Mean),
        false => Box::new(UniqueCounter),
    };
    let rules = [
        ("robust", FinalMove::Robust),
        ("max", FinalMove::MaxValue { visits: 1 }),
        ("secure", FinalMove::Secure { a: 1.0 }),
    ];
    let options = Options {
        final_move: r.choice("final", &rules)?,
        solver: r.choice(
            "solver",
            &[("off", Solver::Off), ("ends", Solver::Ends), ("on", Solver::Full), ("shared", Solver::Shared)],
        )?,
        graph: r.flag("graph")?,
        reuse: r.flag("reuse")?,
        capacity: r.set("nodes", 1usize, 1 << 31)?,
    };
    let (select, expand, playout, backup) = match r.flag("profile")? {
        true => timed(select, expand, playout, backup),
        false => (select, expand, playout, backup),
    };
    Ok(Box::new(Mcts::new(game, select, expand, playout, backup, options)))
}

/// The value net of this model.
fn net<G: Game>(game: &G, model: &Spec) -> Result<Box<dyn Evaluator<G>>, SpecError> {
    if model.name.is_empty() {
        return Err(model.error("a net needs model=FILE (`ludex learn` makes one)"));
    }
    let loaded = nets::load(&model.name, game.info()).map_err(|e| model.error(e))?;
    match nets::has_value(loaded.head) {
        true => Ok(Box::new(NetValue::new(loaded))),
        false => Err(model.error(format!("the model {} scores moves; here a value net is needed", model.name))),
    }
}

/// The net of win, draw and loss of this model.
fn outlook<G: Game>(game: &G, model: &Spec) -> Result<Box<dyn Outlook<G>>, SpecError> {
    if model.name.is_empty() {
        return Err(model.error("cut needs model=FILE (`ludex learn GAME --system cut` makes one)"));
    }
    let loaded = nets::load(&model.name, game.info()).map_err(|e| model.error(e))?;
    match loaded.head {
        ludex_learn::Head::WinDrawLoss => Ok(Box::new(NetOutlook::new(loaded))),
        _ => Err(model.error(format!("the model {} does not say win, draw and loss, which cut needs", model.name))),
    }
}

fn minimax<G: Game>(game: &G, house: &House<G>, r: &Reading<'_>, seed: u64) -> Result<Box<dyn Search<G>>, SpecError> {
    let (eval, options) = minimax_parts(game, house, r, seed)?;
    Ok(Box::new(AlphaBeta::new(eval, options)))
}

/// Alpha-beta as a spec describes it, whose exact nodes somebody wants to know.
pub(crate) fn watched<G: Game, W: Watch<G>>(
    game: &G,
    house: &House<G>,
    spec: &Spec,
    seed: u64,
    watch: W,
) -> Result<(AlphaBeta<G, W>, Limit), SpecError> {
    if spec.name != "minimax" {
        return Err(spec.error(format!("\"{}\" proves nothing: give minimax(..)", short(&spec.name))));
    }
    let reading = find(Kind::Agent, spec, &[])?;
    let (eval, options) = minimax_parts(game, house, &reading, seed)?;
    Ok((AlphaBeta::watched(eval, options, watch), reading.limit()?))
}

fn minimax_parts<G: Game>(
    game: &G,
    house: &House<G>,
    r: &Reading<'_>,
    seed: u64,
) -> Result<(Box<dyn Evaluator<G>>, alphabeta::Options), SpecError> {
    if !game.info().zero_sum {
        return Err(r.spec.error("minimax needs a two-player zero-sum game; use uct"));
    }
    let orders = [("killers", Order::Killers), ("eval", Order::Eval), ("none", Order::None), ("random", Order::Random)];
    let options = alphabeta::Options {
        order: r.choice("order", &orders)?,
        ties: r.choice("ties", &[("random", Ties::Random), ("first", Ties::First)])?,
        table: r.set("table", 0usize, 1 << 16)?,
        deepening: r.flag("deepening")?,
    };
    let model = r.part("model");
    let eval = match model.name.is_empty() {
        true => evaluator(game, house, &r.part("eval"), seed)?,
        false if r.given("eval").is_some() => return Err(model.error("give either eval= or model=, not both")),
        false => net(game, &model)?,
    };
    Ok((eval, options))
}

fn evaluator<G: Game>(game: &G, house: &House<G>, spec: &Spec, seed: u64) -> Result<Box<dyn Evaluator<G>>, SpecError> {
    if let Some(rival) = house.evaluators.iter().find(|r| r.name == spec.name) {
        return (rival.make)(&Reading::new(spec, rival.options.iter().collect())?);
    }
    let names: Vec<&str> = house.evaluators.iter().map(|r| r.name).collect();
    let r = find(Kind::Evaluator, spec, &names)?;
    let seed = Rng::derive(seed, 1);
    Ok(match spec.name.as_str() {
        "random" => match r.choice("by", &[("hash", 0), ("call", 1), ("net", 2)])? {
            0 => Box::new(RandomValue::Hashed(seed)),
            1 => Box::new(RandomValue::Fresh(Rng::new(seed))),
            _ => Box::new(NetValue::new(nets::untrained(game.info(), r.set("hidden", 1, 100_000)?, seed))),
        },
        "net" => net(game, &r.part("model"))?,
        "rollouts" => Box::new(Rollouts { playouts: r.set("n", 1, 1_000_000)?, rng: Rng::new(seed) }),
        _ => Box::new(Zero),
    })
}
