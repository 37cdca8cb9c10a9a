//! TD-NNUE: an accumulator net on the game's facts learns by temporal differences and judges the leaves of alpha-beta.
//!
//! A short survey of random play and a measurement of speed choose what the options leave open ([`Choices`]). Then
//! generations alternate: the averaged net of the generation before plays itself ([`crate::td`]), and examples drawn from the
//! latest games train the net. A generation is a pure function of the options, the choices, the seed and the net before it,
//! so a run that was killed goes on to the same bits: a checkpoint holds the learner and the nets whose games are still
//! learned from, and the games are played again.

use super::{TypedSystem, check_spec, check_zero_sum, with_model};
use crate::driver::{Context, Curve, Learned, Stream};
use crate::fit::{Fit, Learner};
use crate::measure::Measure;
use crate::native::{NativeLearning, native};
use crate::plot::Series;
use crate::store::{Json, RunError};
use crate::td::{Survey, TdConfig};
use ludex_core::{Rng, symmetry::Symmetry};
use ludex_learn::{
    Data, Encoder, Error, FactPermutation, Head, Model, Net, Nnue, NnueConfig, NnueExamples, NnueLearner, Phases,
    QuantisedNnue, Replay, WIDTHS,
};
use ludex_play::{Spec, Table};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Temporal differences, an accumulator net, and alpha-beta.
pub struct TdNnue;

/// `systems/td-nnue.toml` explains them.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    net: NetOptions,
    selfplay: SelfPlayOptions,
    train: Train,
    search: SearchPhase,
    play: Play,
    measure: Measure,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchPhase {
    share: f64,
    nodes: u64,
    replay: usize,
    reuse: f64,
    rate: f32,
    last_rate: f32,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetOptions {
    width: usize,
    phases: usize,
    average: f32,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SelfPlayOptions {
    opening_plies: u32,
    epsilon: f32,
    lambda: f32,
    margin: f32,
    wins: Wins,
    symmetries: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wins {
    Auto,
    On,
    Off,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Train {
    minutes: f64,
    positions: u64,
    generation: u64,
    batch: usize,
    rate: f32,
    last_rate: f32,
    replay: usize,
    reuse: f64,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    agent: Spec,
}

/// What was chosen for a game and a budget; kept in the run, because the clock has a say in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Choices {
    width: usize,
    phases: usize,
    selfplay: TdConfig,
    /// Positions of games one ply ahead, and how many a generation.
    positions: u64,
    generation: u64,
    /// The same of games by searches.
    searched: u64,
    searched_generation: u64,
    survey: Survey,
}

impl Choices {
    /// Generations of games one ply ahead.
    fn first_phase(&self) -> u64 {
        self.positions.div_ceil(self.generation)
    }

    fn generations(&self) -> u64 {
        self.first_phase() + self.searched.div_ceil(self.searched_generation)
    }

    /// Positions of a generation.
    fn size(&self, generation: u64) -> u64 {
        if generation < self.first_phase() { self.generation } else { self.searched_generation }
    }

    /// Positions of all generations before one.
    fn played(&self, generation: u64) -> u64 {
        let first = generation.min(self.first_phase());
        first * self.generation + (generation - first) * self.searched_generation
    }
}

/// Random games that show what the rules are like.
const SURVEY_GAMES: u64 = 2000;
/// States of a generation that one task plays.
const CHUNK: usize = 4096;
/// The same where a search chooses each move.
const SEARCHED_CHUNK: usize = 128;
/// Memory that the replay takes at most.
const REPLAY_BYTES: usize = 600 << 20;
/// Where random play has a win in one in this share of states, self-play looks for those of the opponent.
const OFTEN: f64 = 0.05;
/// Snapshots are kept after these shares of all positions.
const SNAPSHOTS: [f64; 5] = [1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0];

/// What was measured after a generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Point {
    positions: u64,
    /// The mean cross-entropy of the generation's steps.
    loss: f64,
}

/// A learner that plays against itself.
struct TdTrainer<'a> {
    cx: &'a Context<'a>,
    native: Arc<dyn NativeLearning>,
    options: &'a Options,
    choices: &'a Choices,
    phases: Phases,
    permutations: Vec<FactPermutation>,
    learner: NnueLearner,
    replay: Replay,
    /// The weights that played the lists of the replay, the oldest first.
    recent: VecDeque<Vec<u8>>,
    generation: u64,
    loss: f64,
}

fn phases(c: &Choices, facts: usize) -> Phases {
    c.survey.phases(c.phases, facts)
}

fn net_config(o: &Options, survey: &Survey, width: usize, phases: &Phases, facts: usize) -> NnueConfig {
    let mut ignored = vec![false; facts];
    survey.mover_facts.iter().for_each(|&f| ignored[f as usize] = true);
    let (batch, average) = (o.train.batch, o.net.average);
    // Random play may not have seen the fullest state.
    let most_active = (survey.most_active * 5 / 4 + 4).min(facts.max(1));
    NnueConfig { width, facts, movers: 2, phases: phases.clone(), ignored, most_active, batch, average }
}

impl<'a> TdTrainer<'a> {
    fn new(cx: &'a Context<'a>, options: &'a Options, choices: &'a Choices) -> Result<Self, RunError> {
        let (native, facts) = (native(cx.table)?, cx.info().facts as usize);
        let phases = phases(choices, facts);
        let config = net_config(options, &choices.survey, choices.width, &phases, facts);
        let learner = NnueLearner::new(config, cx.seed(Stream::Weights))?;
        let permutations = permutations(cx, options)?;
        let (replay, recent) = (Replay::default(), VecDeque::new());
        Ok(TdTrainer {
            cx,
            native,
            options,
            choices,
            phases,
            permutations,
            learner,
            replay,
            recent,
            generation: 0,
            loss: 0.0,
        })
    }

    /// Whether a generation is played by searches.
    fn searches(&self, generation: u64) -> bool {
        generation >= self.choices.first_phase()
    }

    /// The games of a generation, by the net with these weights.
    fn games(&self, generation: u64, net: &Nnue) -> Result<NnueExamples, Error> {
        let (net, size) = (Arc::new(QuantisedNnue::new(net)?), self.choices.size(generation) as usize);
        let searches = self.searches(generation);
        let chunks = size.div_ceil(if searches { SEARCHED_CHUNK } else { CHUNK });
        let wanted = size.div_ceil(chunks);
        let nodes = if searches { self.options.search.nodes } else { 0 };
        let config = TdConfig { nodes, ..self.choices.selfplay.clone() };
        let seed = Rng::derive(self.cx.seed(Stream::SelfPlay), generation);
        let play = |c: usize| {
            let seed = Rng::derive(seed, c as u64);
            match self.stopped() {
                true => NnueExamples::default(),
                false => self.native.td_games(&net, &config, &self.phases, wanted, seed),
            }
        };
        let lists: Vec<NnueExamples> = (0..chunks).into_par_iter().map(play).collect();
        let mut all = NnueExamples::default();
        lists.iter().for_each(|list| all.append(list));
        Ok(all)
    }

    /// Whether the run is to end: then whatever is under way is given up.
    fn stopped(&self) -> bool {
        self.cx.run.observer().stopped()
    }

    /// Adds the games of a generation to those that are learned from.
    fn remember(&mut self, generation: u64, weights: Vec<u8>, games: NnueExamples) {
        let most = if self.searches(generation) { self.options.search.replay } else { self.options.train.replay };
        if generation == self.choices.first_phase() {
            (self.replay, self.recent) = (Replay::default(), VecDeque::new());
        }
        self.replay.push(games, most, REPLAY_BYTES);
        self.recent.push_back(weights);
        while self.recent.len() > self.replay.lists() {
            self.recent.pop_front();
        }
    }

    fn rate(&self) -> f32 {
        let (c, o, g) = (self.choices, self.options, self.generation);
        let (first, last, done, all) = match self.searches(g) {
            false => (o.train.rate, o.train.last_rate, g, c.first_phase()),
            true => (o.search.rate, o.search.last_rate, g - c.first_phase(), c.generations() - c.first_phase()),
        };
        let (first, last, done) = (first as f64, last as f64, done as f64 / all as f64);
        (last + (first - last) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())) as f32
    }

    fn model(&self, curve: &[Point]) -> Model {
        let (facts, loss) = (self.cx.info().facts as usize, curve.last().map(|p| p.loss));
        let encoder = Encoder::facts(facts).with_movers(2).expect("two players move");
        let metrics = [
            ("positions", Some(self.choices.played(self.generation) as f64)),
            ("width", Some(self.choices.width as f64)),
            ("cross_entropy", loss),
        ];
        let (net, data) = (Net::Nnue(self.learner.net()), Data::new(facts, 1));
        self.cx.model(&encoder, Head::Value { outputs: 1 }, net, &data, &metrics)
    }

    /// Goes on from saved bytes: the games that are still learned from are played again.
    fn resume(mut self, bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut take = || {
            let (length, tail) = rest.split_first_chunk::<8>()?;
            let (part, tail) = tail.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            rest = tail;
            Some(part)
        };
        let (generation, lists): (u64, u64) = serde_json::from_slice(take()?).ok()?;
        self.learner = self.learner.resume(take()?)?;
        let first = generation.checked_sub(lists)?;
        for g in first..generation {
            let weights = take()?.to_vec();
            let games = self.games(g, &self.learner.net_of(&weights)?).ok()?;
            self.remember(g, weights, games);
        }
        self.generation = generation;
        Some(self)
    }
}

impl Learner for TdTrainer<'_> {
    type Point = Point;

    fn step(&mut self) -> Result<bool, Error> {
        let games = self.games(self.generation, &self.learner.net())?;
        if self.stopped() {
            return Ok(true);
        }
        if games.is_empty() {
            return Err(Error::Config("no state of a game can be learned from: every one is won in one move".into()));
        }
        self.remember(self.generation, self.learner.averaged(), games);
        let o = self.options;
        let reuse = if self.searches(self.generation) { o.search.reuse } else { o.train.reuse };
        let steps = (self.choices.size(self.generation) as f64 * reuse / o.train.batch as f64).ceil();
        let (rate, seed, mut loss) = (self.rate(), self.cx.seed(Stream::Sample), 0.0);
        for _ in 0..steps as u64 {
            if self.stopped() {
                return Ok(true);
            }
            loss += self.learner.step(&self.replay, &self.permutations, rate, seed);
        }
        self.loss = loss / steps.max(1.0);
        self.generation += 1;
        let at = |share: f64| ((self.choices.first_phase() as f64 * share).round() as u64).max(1);
        if let Some(k) = SNAPSHOTS.iter().position(|&share| at(share) == self.generation) {
            let kept = self.cx.run.keep_model_once(&format!("snapshot-{}", k + 1), &self.model(&[]));
            kept.map_err(|e| Error::Config(e.to_string()))?;
        }
        Ok(true)
    }

    fn steps(&self) -> u64 {
        self.generation
    }

    fn measure(&self) -> Point {
        Point { positions: self.choices.played(self.generation), loss: self.loss }
    }

    fn error(point: &Point) -> f64 {
        point.loss
    }

    fn save(&self) -> Vec<u8> {
        let head = serde_json::to_vec(&(self.generation, self.recent.len() as u64)).expect("plain data");
        let learner = self.learner.save();
        let parts = [&head, &learner].into_iter().chain(&self.recent);
        parts.flat_map(|p| (p.len() as u64).to_le_bytes().into_iter().chain(p.iter().copied())).collect()
    }
}

/// The permutations of facts under which states are learned.
fn permutations(cx: &Context<'_>, o: &Options) -> Result<Vec<FactPermutation>, RunError> {
    if !o.selfplay.symmetries {
        return Ok(Vec::new());
    }
    let all = native(cx.table)?.symmetries(cx.seed(Stream::States));
    let permutation = |s: Symmetry| FactPermutation {
        facts: s.facts.iter().map(|f| f.0 as u16).collect(),
        swaps_movers: s.swaps_roles,
    };
    Ok(all.into_iter().map(permutation).collect())
}

/// Chooses what the options leave open.
fn choose(cx: &Context<'_>, o: &Options) -> Result<Choices, RunError> {
    let survey = native(cx.table)?.survey(SURVEY_GAMES, cx.seed(Stream::States));
    let wins = match o.selfplay.wins {
        Wins::Auto => survey.wins > OFTEN,
        wins => wins == Wins::On,
    };
    let opening_plies = match o.selfplay.opening_plies {
        0 => (3.5 * survey.plies.sqrt()).round() as u32,
        n => n,
    };
    let margin = if survey.margin { o.selfplay.margin } else { 0.0 };
    let (epsilon, lambda) = (o.selfplay.epsilon, o.selfplay.lambda);
    let selfplay = TdConfig { opening_plies, epsilon, lambda, margin, wins, nodes: 0 };
    let phases = o.net.phases.max(1);
    let (width, positions) = (o.net.width, o.train.positions);
    let mut choices =
        Choices { width, phases, selfplay, positions, generation: 1, searched: 0, searched_generation: 1, survey };
    if choices.width == 0 {
        choices.width = 128;
        let positions = match choices.positions {
            0 => affordable(cx, o, &choices, false)?,
            n => n,
        };
        choices.width = match positions {
            0..40_000_000 => 128,
            40_000_000..160_000_000 => 256,
            _ => 512,
        };
    }
    let share = o.search.share;
    if share > 0.0 {
        choices.searched = match positions {
            0 => (affordable(cx, o, &choices, true)? as f64 * share) as u64,
            // A search of so many nodes costs about as much as so many positions one ply ahead.
            n => (n as f64 * share * choices.survey.branching / o.search.nodes as f64) as u64,
        };
        choices.searched_generation = (choices.searched / 50).clamp(500, 50_000);
    }
    if positions == 0 {
        choices.positions = affordable(cx, o, &choices, false)?;
    }
    choices.positions = ((choices.positions as f64 * (1.0 - share)) as u64).max(1);
    choices.generation = match o.train.generation {
        0 => (choices.positions / 100).clamp(5000, 200_000),
        n => n,
    }
    .min(choices.positions);
    Ok(choices)
}

/// The search that plays, without what was learned: what the options say, with what was found about the game.
fn search(o: &Options, choices: Option<&Choices>) -> Spec {
    let mut agent = o.play.agent.clone();
    if agent.name == "pvs" && agent.get("wins").is_none() && choices.is_some_and(|c| c.selfplay.wins) {
        agent.set("wins", "on");
    }
    agent
}

/// Positions that can be played and learned from in the minutes of the budget: by what a second or two of it bring.
fn affordable(cx: &Context<'_>, o: &Options, c: &Choices, searches: bool) -> Result<u64, RunError> {
    let (positions, searched) = if searches { (0, u64::MAX) } else { (u64::MAX, 0) };
    let (generation, searched_generation) = (4 * CHUNK as u64, 4 * SEARCHED_CHUNK as u64);
    let trial = Choices { positions, generation, searched, searched_generation, ..c.clone() };
    let mut trainer = TdTrainer::new(cx, o, &trial)?;
    let start = Instant::now();
    // The first generation warms up; games of a net that has learned a little are more like those to come.
    let mut positions = 0u64;
    while start.elapsed().as_secs_f64() < 1.5 || positions == 0 {
        if trainer.stopped() {
            return Err(RunError::Stopped);
        }
        trainer.step()?;
        positions += trial.size(0);
    }
    let rate = positions as f64 / start.elapsed().as_secs_f64();
    Ok(((o.train.minutes * 60.0 * rate) as u64).max(1000))
}

impl TypedSystem for TdNnue {
    type Options = Options;
    const NAME: &'static str = "td-nnue";
    const ABOUT: &'static str =
        "temporal differences teach an accumulator net (NNUE) by self-play, and alpha-beta searches with it";
    const FILE: &'static str = include_str!("../../systems/td-nnue.toml");
    const ANYTIME: bool = true;

    fn check(o: &Options, table: &dyn Table) -> Result<(), RunError> {
        check_zero_sum(table, Self::NAME)?;
        native(table)?;
        let refuse = |line: String| Err(RunError::Options(line));
        if o.net.width != 0 && !WIDTHS.contains(&o.net.width) {
            return refuse(format!("net.width={}: 0 or one of {WIDTHS:?}", o.net.width));
        }
        if o.train.positions == 0 && o.train.minutes <= 0.0 {
            return refuse("train.minutes and train.positions are both 0: there is nothing to learn from".into());
        }
        let facts = table.info().facts as usize;
        let survey = Survey { most_active: facts, ..Survey::default() };
        let width = if o.net.width == 0 { 64 } else { o.net.width };
        NnueLearner::new(net_config(o, &survey, width, &Phases::default(), facts), 0)
            .map_err(|e| RunError::Options(format!("train: {e}")))?;
        if o.search.share > 0.0 && o.search.nodes == 0 {
            return refuse("search.nodes=0: a search has one node at least".into());
        }
        check_spec(table, "play.agent", &o.play.agent)
    }

    fn agent(o: &Options, cx: &Context<'_>) -> Spec {
        let choices = cx.run.recorded::<Json<Choices>>("choices").ok().flatten();
        with_model(&search(o, choices.as_ref().map(|Json(c)| c)), &cx.learned_model())
    }

    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned, RunError> {
        let choices = match cx.run.recorded::<Json<Choices>>("choices")? {
            Some(Json(choices)) => choices,
            None => {
                let choices = choose(cx, o)?;
                cx.run.keep("choices", &Json(choices.clone()))?;
                choices
            }
        };
        let c = &choices;
        let steps = c.generations();
        let every = steps.div_ceil(100);
        let fit = Fit { cx, name: "final", steps, every, patience: 0, measure_start: false, anytime: true };
        let fresh = || TdTrainer::new(cx, o, c);
        let start = Instant::now();
        let (model, points) =
            fit.run(fresh, |bytes| fresh().ok()?.resume(bytes), |trainer, curve| Ok(vec![trainer.model(curve)]))?;
        let seconds = start.elapsed().as_secs_f64();
        let log = vec![
            format!(
                "{} positions of self-play in {steps} generations, {} of them by searches, accumulator of width {}, \
                 {seconds:.0} s now",
                c.played(steps),
                c.played(steps) - c.played(c.first_phase()),
                c.width
            ),
            format!(
                "up to {} random plies before a game, wins in one {}, margin {}",
                c.selfplay.opening_plies,
                if c.selfplay.wins { "looked for" } else { "not looked for" },
                if c.selfplay.margin > 0.0 { "learned too" } else { "not used" },
            ),
        ];
        let line = points.iter().map(|p| (p.positions as f64, p.loss)).collect();
        let axes = ["positions", "cross-entropy"].map(String::from);
        let series = vec![Series::line("", line)];
        let curves = vec![Curve { file: "curve".into(), title: "Learning curve".into(), axes, series }];
        let figures = json!({ "choices": c, "curve": points, "seconds": seconds, "metrics": model.provenance.metrics });
        let opponents = vec![Spec::word("random"), Spec::word("uct"), search(o, Some(c))];
        Ok(Learned { agent: Self::agent(o, cx), opponents, measure: o.measure.clone(), curves, log, figures })
    }
}
