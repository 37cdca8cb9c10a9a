//! SARSA with function approximation (Loftsdóttir, Hjaltadóttir & Ívarsson 2019): action values learned from whole games.
//!
//! Every role has a Q of its own, or where the rules treat both alike one Q sees the board as the mover does. All roles play by
//! their own Q, now and then at random. After the game each decision, the last first, learns
//!
//!   Q(s, a) <- r + gamma Q(s', a')
//!
//! where s' is the same role's next decision (already updated) and r its goal at the end, 0 to 100, after which nothing follows.
//! `lambda` mixes in what came out in the end: 0 is SARSA, 1 learns from results alone. States in which a role has no choice are
//! no decisions unless `noops` says so.
//!
//! Game n is a pure function of the settings, the seed, n and what was learned before: a learner that was saved goes on to the
//! same bits. What the paper measures is kept: the error over time and the expected exploration factor.

use crate::fit::Learner;
use crate::native::NativeLearning;
use ludex_core::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, Rng};
use ludex_learn::{
    ActionFeatures, ActionValues, Encoder, Error, LearningRate, LinearSgdConfig, Method, MlpConfig, Net, Optimiser,
    PassiveAggressiveConfig,
};
use ludex_play::ply_cap;
use serde::{Deserialize, Serialize};

/// How action values are learned; `systems/carl-playout.toml` explains each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SarsaConfig {
    pub games: u64,
    pub regressor: Kind,
    pub inputs: ActionFeatures,
    pub roles: Roles,
    pub behaviour: Behaviour,
    pub epsilon: f64,
    pub tau: f64,
    pub gamma: f64,
    pub lambda: f64,
    pub scale: f64,
    pub noops: bool,
    pub targets: Targets,
    pub sgd: LinearSgdConfig,
    pub pa: PassiveAggressiveConfig,
    pub hidden: Vec<usize>,
    pub rate: f64,
    pub error_rate: f64,
}

/// Which regressor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Linear, by stochastic gradient descent.
    Sgd,
    /// Linear, passive-aggressive.
    Pa,
    /// A multilayer perceptron.
    Mlp,
}

/// Whose values are learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// A Q for each role.
    Own,
    /// One Q that sees the board as the mover does, where the rules treat two roles alike; else a Q for each.
    Mirrored,
}

/// Who plays the games to learn from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// The best move, and with probability epsilon a random one.
    Epsilon,
    /// Moves drawn in proportion to exp(Q / tau).
    Softmax,
}

/// When targets are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// Each after the later decision has been learned.
    Step,
    /// All of a game before any of it is learned.
    Game,
}

/// What was measured after so many games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SarsaPoint {
    /// Games.
    pub games: u64,
    /// States in which a move was chosen.
    pub expansions: u64,
    /// The error over time (equations 5 and 6), on the scale of the goals.
    pub error: f64,
    /// The expected exploration factor (equation 7).
    pub exploration: f64,
}

/// What is counted on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    games: u64,
    plies: u64,
    /// Decisions, and the moves that there were to choose from.
    expansions: u64,
    choices: u64,
    error: f64,
    updates: u64,
}

/// Action values while they are learned.
pub struct Sarsa {
    config: SarsaConfig,
    seed: u64,
    mirror: Option<Mirror>,
    facts: usize,
    values: Vec<ActionValues>,
    counts: Counts,
    game: GameRecord,
}

/// A game, in buffers that are used again.
#[derive(Default)]
struct GameRecord {
    steps: Vec<(Player, Move)>,
    ends: Vec<usize>,
    facts: Vec<Fact>,
    targets: Vec<f64>,
    now: Vec<Fact>,
    moves: Vec<Move>,
    seen: Vec<Move>,
    scores: Vec<f64>,
}

impl SarsaConfig {
    /// How its regressor learns.
    pub fn method(&self) -> Method {
        match self.regressor {
            Kind::Sgd => Method::Sgd(self.sgd),
            Kind::Pa => Method::PassiveAggressive(self.pa),
            Kind::Mlp => {
                let rate = LearningRate::Constant(self.rate);
                let optimiser = Optimiser::Adam { rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
                Method::Mlp(MlpConfig { hidden: self.hidden.clone(), optimiser, ..MlpConfig::default() })
            }
        }
    }
}

impl Sarsa {
    /// Nothing is learned yet; refused if the options do not go together.
    pub fn new(config: SarsaConfig, info: &GameInfo, seed: u64) -> Result<Self, Error> {
        let shares = [config.epsilon, config.gamma, config.lambda, config.error_rate];
        if shares.iter().any(|s| !(0.0..=1.0).contains(s)) {
            return Err(Error::Config("epsilon, gamma, lambda and error_rate lie between 0 and 1".into()));
        }
        if !(config.scale > 0.0 && config.tau > 0.0) {
            return Err(Error::Config("scale and tau are above 0".into()));
        }
        let mirror = info.mirror.clone().filter(|_| config.roles == Roles::Mirrored);
        let count = if mirror.is_some() { 1 } else { info.players() };
        let (facts, method) = (info.facts as usize, config.method());
        let value = |r: usize| {
            ActionValues::new(facts, info.moves as usize, config.inputs, &method, Rng::derive(seed, r as u64))
        };
        let values = (0..count).map(value).collect::<Result<_, _>>()?;
        let seed = Rng::derive(seed, 1 << 32);
        Ok(Sarsa { config, seed, mirror, facts, values, counts: Counts::default(), game: GameRecord::default() })
    }

    /// Games learned from so far.
    pub fn games(&self) -> u64 {
        self.counts.games
    }

    /// Mean legal moves of a decision, and mean plies of a game.
    pub fn shape(&self) -> (f64, f64) {
        let c = &self.counts;
        (c.choices as f64 / c.expansions.max(1) as f64, c.plies as f64 / c.games.max(1) as f64)
    }

    /// What is measured now.
    pub fn point(&self) -> SarsaPoint {
        let (branching, depth) = self.shape();
        let Counts { games, expansions, error, .. } = self.counts;
        let exploration = (expansions.max(1) as f64).ln() / (branching.max(1.0 + 1e-9).ln() * depth.max(1.0));
        SarsaPoint { games, expansions, error, exploration }
    }

    /// Plays and learns from one game more.
    pub(crate) fn play<G: Game>(&mut self, game: &G) {
        let mut record = std::mem::take(&mut self.game);
        let mut rng = Rng::stream(self.seed, self.counts.games);
        let outcome = self.collect(game, &mut record, &mut rng);
        self.learn(&mut record, &outcome);
        self.game = record;
        self.counts.games += 1;
    }

    /// The Q of a player.
    fn role(&self, p: Player) -> usize {
        if self.values.len() == 1 { 0 } else { p.index() }
    }

    fn collect<G: Game>(&mut self, game: &G, r: &mut GameRecord, rng: &mut Rng) -> Payoffs {
        let info = game.info();
        let (cap, capped) = ply_cap(info);
        r.steps.clear();
        r.ends.clear();
        r.facts.clear();
        let mut s = game.initial();
        for _ in 0..cap {
            game.legal(&s, &mut r.moves);
            if r.moves.is_empty() {
                break;
            }
            let p = game.mover(&s);
            let choice = r.moves.len() > 1;
            let mut chosen = 0;
            if choice || self.config.noops {
                let mirror = self.mirror.as_ref().filter(|_| p == Player(1));
                game.facts(&s, &mut r.now);
                r.seen.clear();
                match mirror {
                    None => r.seen.extend_from_slice(&r.moves),
                    Some(mirror) => {
                        r.now.iter_mut().for_each(|f| *f = mirror.facts[f.index()]);
                        r.seen.extend(r.moves.iter().map(|m| mirror.moves[m.index()]));
                    }
                }
                chosen = self.choose(p, &r.now, &r.seen, &mut r.scores, rng);
                r.facts.extend_from_slice(&r.now);
                r.ends.push(r.facts.len());
                r.steps.push((p, r.seen[chosen]));
                self.counts.expansions += 1;
                self.counts.choices += r.moves.len() as u64;
            }
            game.play(&mut s, r.moves[chosen]);
            self.counts.plies += 1;
        }
        game.outcome(&s).unwrap_or(capped)
    }

    /// A move by the behaviour policy: its place.
    fn choose(&mut self, p: Player, facts: &[Fact], moves: &[Move], scores: &mut Vec<f64>, rng: &mut Rng) -> usize {
        let greedy = self.config.behaviour == Behaviour::Epsilon;
        if moves.len() == 1 || greedy && rng.unit() < self.config.epsilon {
            return rng.below(moves.len() as u32) as usize;
        }
        let role = self.role(p);
        self.values[role].values(facts, moves, scores);
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greedy {
            let equals = scores.iter().filter(|v| **v == top).count();
            let nth = rng.below(equals.max(1) as u32) as usize;
            return scores.iter().enumerate().filter(|(_, v)| **v == top).nth(nth).map_or(0, |(i, _)| i);
        }
        let tau = self.config.tau * self.config.scale / 100.0;
        scores.iter_mut().for_each(|v| *v = ((*v - top) / tau).exp());
        let mut left = rng.unit() * scores.iter().sum::<f64>();
        let drawn = scores.iter().position(|w| {
            left -= w;
            left < 0.0
        });
        drawn.unwrap_or(moves.len() - 1)
    }

    /// Learns from a game, the last decision first.
    fn learn(&mut self, r: &mut GameRecord, outcome: &Payoffs) {
        let SarsaConfig { gamma, lambda, scale, targets, error_rate, .. } = self.config;
        // For each player, what follows its next earlier decision: the value there, and what came out.
        let mut next: Vec<Option<(f64, f64)>> = vec![None; outcome.players()];
        r.targets.clear();
        for i in (0..r.steps.len()).rev() {
            let ((p, m), facts) = (r.steps[i], r.slice(i));
            let reward = (outcome[p] as f64 + 1.0) / 2.0 * scale;
            let (ahead, result) = next[p.index()].map_or((reward, reward), |(q, g)| (gamma * q, gamma * g));
            let target = (1.0 - lambda) * ahead + lambda * result;
            let role = self.role(p);
            let q = &mut self.values[role];
            let now = q.value(facts, m);
            let error = (now - ahead).abs() * 100.0 / scale;
            self.counts.updates += 1;
            // The first errors are averaged, so that the start at 0 is not seen for long.
            let share = error_rate.max(1.0 / self.counts.updates as f64);
            self.counts.error += share * (error - self.counts.error);
            let after = match targets {
                Targets::Step => {
                    q.learn(facts, m, target);
                    q.value(facts, m)
                }
                Targets::Game => {
                    r.targets.push(target);
                    now
                }
            };
            next[p.index()] = Some((after, target));
        }
        for (i, &target) in (0..r.steps.len()).rev().zip(&r.targets) {
            let (p, m) = r.steps[i];
            let role = self.role(p);
            self.values[role].learn(r.slice(i), m, target);
        }
    }

    /// The encoder and the net of each role, or of both, whose outputs are utilities in [-1, 1].
    pub fn nets(&self) -> Result<Vec<(Encoder, Net)>, Error> {
        let make = |q: &ActionValues| {
            let (net, actions) = q.net(2.0 / self.config.scale as f32, -1.0);
            let mut encoder = Encoder::facts(self.facts);
            if let Some(mirror) = &self.mirror {
                encoder = encoder.mover_relative(mirror.clone())?;
            }
            Ok((encoder.with_moves(actions)?, net))
        };
        self.values.iter().map(make).collect()
    }

    /// The learner as bytes, from which [`Sarsa::resume`] goes on.
    pub fn save(&self) -> Vec<u8> {
        let counts = serde_json::to_vec(&self.counts).expect("plain data");
        let mut bytes = (counts.len() as u64).to_le_bytes().to_vec();
        bytes.extend(counts);
        for q in &self.values {
            let numbers = q.training_state();
            bytes.extend((numbers.len() as u64).to_le_bytes());
            bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        }
        bytes
    }

    /// Goes on from what [`Sarsa::save`] gave for the same settings; `None` if the bytes are not of that kind.
    pub fn resume(mut self, bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |size: usize| {
            let (length, tail) = rest.split_first_chunk::<8>()?;
            let (part, tail) = tail.split_at_checked((u64::from_le_bytes(*length) as usize).checked_mul(size)?)?;
            rest = tail;
            Some(part)
        };
        self.counts = serde_json::from_slice(take(1)?).ok()?;
        for q in &mut self.values {
            let numbers: Vec<f64> = take(8)?.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
            q.set_training_state(&numbers).then_some(())?;
        }
        rest.is_empty().then_some(self)
    }
}

/// A learner of action values with what it needs to play: some games a step.
pub struct SarsaTrainer<'a> {
    /// The learner.
    pub sarsa: Sarsa,
    /// Plays its games.
    pub native: &'a dyn NativeLearning,
    /// Games a step.
    pub block: u64,
    /// Games in all.
    pub most: u64,
    /// Holds when the run is to end.
    pub stop: &'a dyn Fn() -> bool,
}

impl Learner for SarsaTrainer<'_> {
    type Point = SarsaPoint;

    fn step(&mut self) -> Result<bool, Error> {
        let until = ((self.sarsa.games() / self.block + 1) * self.block).min(self.most);
        self.native.sarsa_games(&mut self.sarsa, until, self.stop);
        Ok(true)
    }

    fn steps(&self) -> u64 {
        self.sarsa.games()
    }

    fn measure(&self) -> SarsaPoint {
        self.sarsa.point()
    }

    fn error(point: &SarsaPoint) -> f64 {
        point.error
    }

    fn save(&self) -> Vec<u8> {
        self.sarsa.save()
    }
}

impl GameRecord {
    /// The facts of decision `i`.
    fn slice(&self, i: usize) -> &[Fact] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.facts[start..self.ends[i]]
    }
}
