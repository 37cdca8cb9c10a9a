//! Self-play of alpha-beta players that labels what was proven on the way (Ghignone & Cancelliere).
//!
//! | source | states | value |
//! |---|---|---|
//! | `terminal` | what the players' searches and the backward deepening after the match proved | what it is worth |
//! | `consistent` | what follows from states whose heuristic agrees with a search of one ply | what follows |
//! | `ramp` | the states of the match | z (t / T)^2: from nothing at the start (t = 0) to the result z |
//!
//! A state has one row a match, by the source that stands highest.

use crate::dataset::{Dataset, Duplicates, ValueLabel, ValueLabels, for_each_row};
use crate::driver::{Context, Stream};
use crate::native::native;
use crate::records::{Labelled, Records};
use crate::selfplay::stage_of_matches;
use crate::store::{Parts, Result, RunError};
use indexmap::IndexMap;
use ludex_core::{Choice, Control, Game, Limit, LimitKind, Payoffs, Player, Rng, Search, mix};
use ludex_learn::Encoder;
use ludex_play::openings::random_plies;
use ludex_play::{Agent, AgentError, NativeTable, Position, Spec, Table, TypedPosition, lock, play_match};
use ludex_search::backward::{BackwardOptions, Consistent, Frontier, NoFrontier, Pruning, deepen, full_width};
use ludex_search::{AlphaBeta, ExactObserver, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The sources of labels, the most reliable first; records have their numbers.
pub const SOURCES: [&str; 3] = ["terminal", "consistent", "ramp"];

/// Who plays, and what is labelled.
#[derive(Clone, Copy, Debug)]
pub struct ProofMatch<'a> {
    /// By player.
    pub players: [ProofPlayer<'a>; 2],
    /// Random plies before the match.
    pub opening_plies: u32,
    /// What is labelled.
    pub labels: &'a LabelOptions,
}

/// A player of such a match.
#[derive(Clone, Copy, Debug)]
pub struct ProofPlayer<'a> {
    /// Alpha-beta, as one types it.
    pub agent: &'a Spec,
    /// Whether what its searches prove is recorded.
    pub record: bool,
    /// Whether values are bootstrapped from its heuristic.
    pub bootstrap: Option<Bootstrap>,
}

/// When a heuristic is relied on.
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap {
    /// How far it may be from a search of one ply.
    pub tolerance: f32,
    /// How many plies below each state of the match are looked at.
    pub depth: u32,
    /// Nodes at most for each state of the match.
    pub nodes: u64,
}

/// Where a value comes from; the greater counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Origin {
    Ramp,
    Consistent,
    Terminal,
}

/// What is known of a state.
struct Label<G: Game> {
    state: G::State,
    /// For player 0.
    value: f32,
    origin: Origin,
    played: bool,
    ply: u32,
}

/// All that was found in a match, one label a state.
struct Labels<G: Game> {
    /// By the keys of states.
    all: IndexMap<u64, Label<G>>,
    ply: u32,
    ends: bool,
    muted: bool,
}

impl<G: Game> Labels<G> {
    fn new(ends: bool) -> Self {
        Labels { all: IndexMap::new(), ply: 0, ends, muted: false }
    }

    fn add(&mut self, game: &G, s: &G::State, value: f32, origin: Origin) -> &mut Label<G> {
        let new = || Label { state: s.clone(), value, origin, played: false, ply: self.ply };
        let label = self.all.entry(game.key(s)).or_insert_with(new);
        if origin > label.origin {
            (label.value, label.origin) = (value, origin);
        }
        label
    }

    /// Those that are kept, in the order in which they were found.
    fn chosen(self, most: usize, seed: u64) -> Vec<Label<G>> {
        let draw = |key: &u64| mix(key ^ seed);
        let mut draws: Vec<u64> = self.all.iter().filter(|(_, n)| !n.played).map(|(key, _)| draw(key)).collect();
        let bar = match most {
            n if n == 0 || n >= draws.len() => u64::MAX,
            n => *draws.select_nth_unstable(n - 1).1,
        };
        self.all.into_iter().filter(|(key, n)| n.played || draw(key) <= bar).map(|(_, n)| n).collect()
    }
}

impl<G: Game> ExactObserver<G> for Labels<G> {
    fn exact(&mut self, game: &G, s: &G::State, value: Payoffs, source: Source) {
        if self.muted || (!self.ends && game.outcome(s).is_some()) {
            return;
        }
        let origin = match source {
            Source::Terminal => Origin::Terminal,
            Source::Consistent => Origin::Consistent,
        };
        self.add(game, s, value[Player(0)], origin);
    }
}

/// What both players of a match share.
struct Shared<G: Game> {
    rng: Rng,
    labels: Labels<G>,
    /// By player, with the limits that their specs set.
    searches: [(AlphaBeta<G, Labels<G>>, Limit); 2],
}

/// An alpha-beta player whose proofs are labelled.
struct ProofAgent<G: Game> {
    game: Arc<G>,
    seat: usize,
    record: bool,
    bootstrap: Option<Bootstrap>,
    shared: Arc<Mutex<Shared<G>>>,
}

impl<G: Game> Agent for ProofAgent<G> {
    fn choose(&mut self, at: &dyn Position, control: &Control) -> Result<Choice, AgentError> {
        let foreign = || AgentError::Foreign(self.game.info().name.clone());
        let at = at.as_any().downcast_ref::<TypedPosition<G>>().ok_or_else(foreign)?;
        let mut shared = lock(&self.shared);
        let Shared { rng, labels, searches } = &mut *shared;
        let (search, limit) = &mut searches[self.seat];
        let (s, control) = (at.state(), Control { limit: *limit, ..control.clone() });
        (labels.ply, labels.muted) = (at.moves().len() as u32, !self.record);
        std::mem::swap(&mut search.observer, labels);
        let choice = search.search(&self.game, s, &control, rng);
        std::mem::swap(&mut search.observer, labels);
        labels.muted = false;
        if let Some(b) = self.bootstrap {
            let mut frontier = Consistent { eval: search.eval(), tolerance: b.tolerance };
            full_width(&*self.game, s, b.depth, &Limit::nodes(b.nodes).into(), &mut frontier, labels);
        }
        Ok(choice)
    }

    fn limits(&self) -> &[LimitKind] {
        ludex_core::ALPHABETA_LIMITS
    }
}

/// Plays a match of alpha-beta players, adds the labels of what was proven, and gives the result.
pub(crate) fn proof_match<G: Game>(
    native: &NativeTable<G>,
    table: &dyn Table,
    m: &ProofMatch<'_>,
    (match_id, seed): (u32, u64),
    out: &mut Records<Labelled>,
) -> Result<Payoffs> {
    let (game, l) = (native.game(), m.labels);
    let pruning = if l.pruning == Prune::Wins { Pruning::Wins } else { Pruning::None };
    let backward = BackwardOptions { pruning, transpositions: l.join };
    let mut rng = Rng::stream(seed, 2);
    let opening = random_plies(table.start(), m.opening_plies, &mut rng);
    let opening = opening.as_any().downcast_ref::<TypedPosition<G>>().expect("the table is that of the game");
    let start = TypedPosition::new(game.clone(), opening.state().clone());
    let search = |p: usize| {
        let built = native.observed_alphabeta(m.players[p].agent, Rng::derive(seed, p as u64), Labels::new(l.ends));
        built.map_err(|e| RunError::Agent("self-play".into(), e))
    };
    let searches = [search(0)?, search(1)?];
    let shared = Arc::new(Mutex::new(Shared { rng, labels: Labels::new(l.ends), searches }));
    let agent = |seat: usize| {
        let ProofPlayer { record, bootstrap, .. } = m.players[seat];
        Box::new(ProofAgent { game: game.clone(), seat, record, bootstrap, shared: shared.clone() }) as Box<dyn Agent>
    };
    let episode = play_match(table, &start, &mut [agent(0), agent(1)], &Control::default(), &mut |_| {});
    if let Some((_, _, why)) = episode.fault {
        return Err(RunError::Learning(format!("self-play: match {match_id} failed: {why}")));
    }
    let result = episode.outcome;
    let mut line = vec![start.state().clone()];
    for ply in &episode.plies {
        let mut next = line[line.len() - 1].clone();
        game.play(&mut next, ply.choice.mv);
        line.push(next);
    }
    let shared = Arc::into_inner(shared).expect("the agents are gone").into_inner();
    let Shared { mut labels, mut searches, .. } = shared.unwrap_or_else(|e| e.into_inner());
    labels.ply = episode.plies.len() as u32;
    if l.backward_nodes > 0 {
        let control = Limit::nodes(l.backward_nodes).into();
        // The first player whose heuristic may be relied on stands at the bottom of the backward deepening.
        let relied = m.players.iter().zip(&mut searches).find_map(|(p, (s, _))| Some((p.bootstrap?.tolerance, s)));
        let mut consistent = relied.map(|(tolerance, search)| Consistent { eval: search.eval(), tolerance });
        let frontier: &mut dyn Frontier<G> = match &mut consistent {
            None => &mut NoFrontier,
            Some(consistent) => consistent,
        };
        deepen(&**game, &line, backward, &control, frontier, &mut labels);
    }
    if l.ramp {
        let end = (line.len() - 1).max(1) as f32;
        for (t, s) in line.iter().enumerate().filter(|(_, s)| game.outcome(s).is_none()) {
            labels.ply = t as u32;
            labels.add(game, s, result[Player(0)] * (t as f32 / end).powi(2), Origin::Ramp).played = true;
        }
    }
    let mut facts = Vec::new();
    for label in labels.chosen(l.most, seed) {
        game.facts(&label.state, &mut facts);
        let (mover, value) = (game.mover(&label.state), Payoffs::of(Player(0), label.value));
        let source = 2 - label.origin as u32;
        out.push(&facts, &Labelled { mover, match_id, ply: label.ply, value, result, source });
    }
    Ok(result)
}

/// What is labelled, and how; `systems/nhb.toml` explains the options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct LabelOptions {
    pub heard: Heard,
    pub ends: bool,
    pub ramp: bool,
    pub most: usize,
    pub backward_nodes: u64,
    pub pruning: Prune,
    pub join: bool,
    pub consistent_from: usize,
    pub tolerance: f32,
    pub depth: u32,
    pub consistent_nodes: u64,
}

/// Whose proofs are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// Both players'.
    Both,
    /// The learner's.
    Learner,
}

/// What backward deepening need not search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prune {
    /// Everything is searched.
    None,
    /// The siblings of a move that wins.
    Wins,
}

impl LabelOptions {
    /// Whether and how the heuristic of a cycle is relied on.
    pub fn bootstrap(&self, cycle: usize) -> Option<Bootstrap> {
        let bootstrap = Bootstrap { tolerance: self.tolerance, depth: self.depth, nodes: self.consistent_nodes };
        Some(bootstrap).filter(|_| self.consistent_from > 0 && cycle >= self.consistent_from)
    }
}

/// A stage of such matches.
pub struct ProofSelfPlay<'a> {
    /// The name of the stage.
    pub stage: String,
    /// The number of the first match.
    pub first: usize,
    /// How many matches.
    pub matches: usize,
    /// Matches in a part.
    pub batch: usize,
    /// Random plies before each match.
    pub opening_plies: u32,
    /// What is labelled.
    pub labels: &'a LabelOptions,
}

impl ProofSelfPlay<'_> {
    /// Plays what is missing; match `i` is played by `players(i)`.
    pub fn run<'a, 'r>(
        &self,
        cx: &Context<'r>,
        players: impl Fn(usize) -> [ProofPlayer<'a>; 2] + Sync,
    ) -> Result<Parts<'r, Records<Labelled>>> {
        let native = native(cx.table)?;
        stage_of_matches(cx, &self.stage, (self.matches, self.batch), |i, records| {
            let number = self.first + i;
            let of = (number as u32, Rng::derive(cx.seed(Stream::SelfPlay), number as u64));
            let (opening_plies, labels) = (self.opening_plies, self.labels);
            let proof = ProofMatch { players: players(i), opening_plies, labels };
            native.proof_match(cx.table, &proof, of, records).map(|_| ())
        })
    }
}

/// What a stage labelled.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct LabelCounts {
    /// Rows.
    pub rows: usize,
    /// Different states by source, in the order of [`SOURCES`].
    pub sources: [usize; 3],
    /// Matches that the learner won, drew and lost, those against itself apart.
    pub wdl: [usize; 3],
}

/// The training set of a stage: each state once, by the source that stands highest, of equals the first. `seat` is the
/// learner's player in a match.
pub fn labelled_examples(
    cx: &Context<'_>,
    parts: &Parts<'_, Records<Labelled>>,
    encoder: &Encoder,
    seat: impl Fn(u32) -> Option<Player>,
) -> Result<(Dataset, LabelCounts)> {
    let (mut labels, mut results) = (ValueLabels::new(Duplicates::HighestRank), BTreeMap::new());
    let mut counts = LabelCounts::default();
    for_each_row(parts, |part, i| {
        let Labelled { mover, value, match_id, result, source, .. } = part.row(i);
        counts.rows += 1;
        results.extend(seat(match_id).map(|p| (match_id, result[p])));
        let label = ValueLabel { facts: part.facts(i), mover, value, weight: 1.0, rank: 2 - source.min(2), match_id };
        labels.add(part.key(i), label);
    })?;
    labels.iter().for_each(|l| counts.sources[2 - l.rank as usize] += 1);
    let count = |f: fn(f32) -> bool| results.values().filter(|v| f(**v)).count();
    counts.wdl = [count(|v| v > 0.0), count(|v| v == 0.0), count(|v| v < 0.0)];
    Ok((labels.dataset(cx.info(), encoder, 0, &mut cx.rng(Stream::Sample))?, counts))
}
