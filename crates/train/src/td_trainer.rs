//! Trains an NNUE by temporal differences, generation by generation.
//!
//! In a generation the averaged net of the one before plays itself ([`crate::td`]), and examples drawn from the latest games
//! train the net. A generation is a pure function of the options, the choices, the seed and the net before it, so a run that
//! was killed goes on to the same bits: a checkpoint holds the learner and the nets whose games are still learned from, and
//! the games are played again.

use crate::driver::{Context, Stream};
use crate::fit::Learner;
use crate::native::{NativeLearning, native};
use crate::store::{Artifact, Result, RunError, entries, sha256};
use crate::td::{Survey, TdConfig};
use ludex_core::{Rng, symmetry::Symmetry};
use ludex_learn::{
    Data, Encoder, Error, FactPermutation, Head, Model, Net, Nnue, NnueConfig, NnueExamples, NnueLearner, Phases,
    QuantisedNnue, Replay,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The net; `systems/td-nnue.toml` explains the options.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetOptions {
    pub width: usize,
    pub phases: usize,
    pub average: f32,
}

/// The first phase.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Train {
    pub start: PathBuf,
    pub start_sha256: String,
    pub minutes: f64,
    pub positions: u64,
    pub generation: u64,
    pub batch: usize,
    pub rate: f32,
    pub last_rate: f32,
    pub replay: usize,
    pub reuse: f64,
}

/// The part of a run that holds its averaged weights, for runs that begin with them.
const WEIGHTS: &str = "weights";

impl Train {
    /// The weights that learning begins with, if they are those of another run; they must be the ones that are meant.
    pub fn start_weights(&self) -> Result<Option<Vec<u8>>> {
        if self.start.as_os_str().is_empty() {
            return Ok(None);
        }
        let (file, sum) = weights_of(&self.start)?;
        if sum != self.start_sha256 {
            let line = format!("{} has other weights than train.start_sha256 says", self.start.display());
            return Err(RunError::Options(line));
        }
        let bytes = std::fs::read(&file).map_err(|e| RunError::File(file.clone(), e))?;
        match sha256(&bytes) == sum {
            true => Ok(Some(bytes)),
            false => Err(RunError::Options(format!("{} was altered", file.display()))),
        }
    }
}

/// Where the weights of a finished run are, and their sha256.
pub(crate) fn weights_of(run: &Path) -> Result<(PathBuf, String)> {
    let found = entries(run)?.into_iter().find(|e| e.part == WEIGHTS);
    let found = found.map(|e| (run.join(e.file), e.sha256));
    found.ok_or_else(|| RunError::Options(format!("{} has no weights to go on from", run.display())))
}

/// Weights as they are kept in a run.
struct Weights(Vec<u8>);

impl Artifact for Weights {
    const SUFFIX: &'static str = "bin";

    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        Ok(Weights(bytes.to_vec()))
    }

    fn rows(&self) -> u64 {
        1
    }
}

/// The second phase.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchPhase {
    pub share: f64,
    pub nodes: u64,
    pub replay: usize,
    pub reuse: f64,
    pub rate: f32,
    pub last_rate: f32,
}

/// How a net is trained.
#[derive(Clone, Copy)]
pub(crate) struct TdTraining<'a> {
    pub net: &'a NetOptions,
    pub train: &'a Train,
    pub search: &'a SearchPhase,
    /// Whether states are learned under the symmetries of the rules.
    pub symmetries: bool,
}

/// What was chosen for a game and a budget; kept in the run, because the clock has a say in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Choices {
    pub width: usize,
    pub phases: usize,
    pub selfplay: TdConfig,
    /// Positions of games one ply ahead, and how many a generation.
    pub positions: u64,
    pub generation: u64,
    /// The same of games by searches.
    pub searched: u64,
    pub searched_generation: u64,
    pub survey: Survey,
}

impl Choices {
    /// Generations of games one ply ahead.
    pub fn first_phase(&self) -> u64 {
        self.positions.div_ceil(self.generation)
    }

    pub fn generations(&self) -> u64 {
        self.first_phase() + self.searched.div_ceil(self.searched_generation)
    }

    /// Positions of a generation.
    pub fn size(&self, generation: u64) -> u64 {
        if generation < self.first_phase() { self.generation } else { self.searched_generation }
    }

    /// Positions of all generations before one.
    pub fn played(&self, generation: u64) -> u64 {
        let first = generation.min(self.first_phase());
        first * self.generation + (generation - first) * self.searched_generation
    }
}

/// States of a generation that one task plays.
const CHUNK: usize = 4096;
/// The same where a search chooses each move.
const SEARCHED_CHUNK: usize = 128;
/// Memory that the replay takes at most.
const REPLAY_BYTES: usize = 600 << 20;
/// Snapshots are kept after these shares of all positions.
const SNAPSHOTS: [f64; 5] = [1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0];

/// What was measured after a generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TdPoint {
    pub positions: u64,
    /// The mean cross-entropy of the generation's steps.
    pub loss: f64,
}

/// A learner that plays against itself.
pub(crate) struct TdTrainer<'a> {
    cx: &'a Context<'a>,
    native: Arc<dyn NativeLearning>,
    options: TdTraining<'a>,
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

pub(crate) fn net_config(
    o: TdTraining<'_>,
    survey: &Survey,
    width: usize,
    phases: &Phases,
    facts: usize,
) -> NnueConfig {
    let mut ignored = vec![false; facts];
    survey.mover_facts.iter().for_each(|&f| ignored[f as usize] = true);
    let (batch, average) = (o.train.batch, o.net.average);
    // Random play may not have seen the fullest state.
    let most_active = (survey.most_active * 5 / 4 + 4).min(facts.max(1));
    NnueConfig { width, facts, movers: 2, phases: phases.clone(), ignored, most_active, batch, average }
}

impl<'a> TdTrainer<'a> {
    pub fn new(cx: &'a Context<'a>, options: TdTraining<'a>, choices: &'a Choices) -> Result<Self> {
        let (native, facts) = (native(cx.table)?, cx.info().facts as usize);
        let phases = choices.survey.phases(choices.phases, facts);
        let config = net_config(options, &choices.survey, choices.width, &phases, facts);
        let mut learner = NnueLearner::new(config, cx.seed(Stream::Weights))?;
        if let Some(weights) = options.train.start_weights()? {
            let other = || RunError::Options(format!("{}: its net has another shape", options.train.start.display()));
            learner = learner.start_at(&weights).ok_or_else(other)?;
        }
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

    /// Keeps the averaged weights, so that another run can begin with them.
    pub fn keep_weights(&self) -> Result<()> {
        self.cx.run.keep(WEIGHTS, &Weights(self.learner.averaged()))
    }

    pub fn model(&self, curve: &[TdPoint]) -> Model {
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
    pub fn resume(mut self, bytes: &[u8]) -> Option<Self> {
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
    type Point = TdPoint;

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

    fn measure(&self) -> TdPoint {
        TdPoint { positions: self.choices.played(self.generation), loss: self.loss }
    }

    fn error(point: &TdPoint) -> f64 {
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
fn permutations(cx: &Context<'_>, o: TdTraining<'_>) -> Result<Vec<FactPermutation>> {
    if !o.symmetries {
        return Ok(Vec::new());
    }
    let all = native(cx.table)?.symmetries(cx.seed(Stream::States));
    let permutation = |s: Symmetry| FactPermutation {
        facts: s.facts.iter().map(|f| f.0 as u16).collect(),
        swaps_movers: s.swaps_roles,
    };
    Ok(all.into_iter().map(permutation).collect())
}

/// Positions that can be played and learned from in the minutes of the budget: by what a second or two of it bring.
pub(crate) fn affordable(cx: &Context<'_>, o: TdTraining<'_>, c: &Choices, searches: bool) -> Result<u64> {
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
