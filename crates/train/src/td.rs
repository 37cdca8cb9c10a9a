//! Temporal-difference self-play (Samuel 1959, Sutton 1988, Tesauro 1995): a net plays itself one ply ahead and learns from
//! what it sees next.
//!
//! A game begins with some uniformly random plies. Then the mover takes the move whose child the net likes best, now and
//! then a random one. With v the value of the best child and y' the target of the next state (its sign turned where the
//! mover changes), the target of a state is
//!
//!   y = (1 - lambda) v + lambda y'        after the best move
//!   y = v                                 after a random move, whose consequences say nothing about the best one
//!
//! and the result at the end of the game. Values that are proven (a move ends the game, or lets the opponent end it at once)
//! stand as they are. States with a win in one are not learned: searches see that by themselves.
//!
//! With a [`TdConfig::nodes`] above 0 the value and the move come from a search of so many nodes instead of one ply: slower,
//! and worth it once the net is good.
//!
//! A game is a pure function of the settings, the seed, its number and the net. [`survey`] plays at random and finds what a
//! learner needs to know of the rules: how long games are, how many facts hold, which of them only say who moves, which of
//! them tell the phase of the game, how often a win in one is there to be taken.

use ludex_core::{Fact, Game, Limit, Move, Payoffs, Player, Rng, Search};
use ludex_learn::{NnueExamples, NnueStack, Phases, QuantisedNnue};
use ludex_play::{NnueEvaluator, ply_cap};
use ludex_search::pvs::{Pvs, PvsOptions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How games are played and valued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TdConfig {
    /// Random plies at the beginning of a game, at most; each number is as likely as any other.
    pub opening_plies: u32,
    /// The share of random moves after that.
    pub epsilon: f32,
    /// The weight of what came later.
    pub lambda: f32,
    /// The weight of the margin in results, where the rules know one.
    pub margin: f32,
    /// Whether a win in one of the opponent is looked for.
    pub wins: bool,
    /// Nodes of the search that chooses and values moves; 0: one ply.
    pub nodes: u64,
}

/// What random play shows of a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Mean plies of a game.
    pub plies: f64,
    /// Mean legal moves.
    pub branching: f64,
    /// Mean number of facts that hold.
    pub active: f64,
    /// The most facts that were seen to hold at once.
    pub most_active: usize,
    /// Facts that only say who moves.
    pub mover_facts: Vec<u32>,
    /// The share of states with a win in one.
    pub wins: f64,
    /// Whether results have a margin.
    pub margin: bool,
    /// Whether choices were seen to be hidden.
    pub hidden: bool,
    /// Facts that grow more likely as the game goes on.
    pub growing: Vec<u32>,
    /// How many growing facts hold, by quantile of states: `quantiles[i]` at (i + 1) / 16.
    pub quantiles: Vec<u32>,
}

impl Survey {
    /// Cuts the game into so many phases of like length; fewer where it cannot be cut.
    pub fn phases(&self, wanted: usize, facts: usize) -> Phases {
        let mut starts: Vec<u32> = (1..wanted).map(|p| self.quantiles[p * 16 / wanted - 1]).collect();
        starts.dedup();
        starts.retain(|&s| s > 0);
        if starts.is_empty() {
            return Phases::default();
        }
        let mut counted = vec![false; facts];
        self.growing.iter().for_each(|&f| counted[f as usize] = true);
        Phases { counted, starts }
    }
}

/// Plays so many games at random.
pub fn survey<G: Game>(game: &G, games: u64, seed: u64) -> Survey {
    const MOST_STATES: usize = 200_000;
    /// Games in which wins in one are looked for, which may be slow.
    const LOOKED: u64 = 200;
    let info = game.info();
    let facts = info.facts as usize;
    let (cap, _) = ply_cap(info);
    let (mut held, mut states, mut plies, mut moves, mut active) = (Vec::new(), 0usize, 0u64, 0u64, 0u64);
    let (mut most_active, mut wins, mut looked, mut hidden, mut margin) = (1, 0u64, 0u64, false, false);
    // By fact: how often it held, with which movers, and the sum of the share of the game that had passed.
    let (mut count, mut movers, mut time) = (vec![0u32; facts], vec![[0u32; 2]; facts], vec![0.0f64; facts]);
    let mut moved = [0u32; 2];
    let mut lists: Vec<Vec<Fact>> = Vec::new();
    let mut played = 0;
    for i in 0..games {
        if states > MOST_STATES {
            break;
        }
        played += 1;
        let (mut rng, mut s) = (Rng::stream(seed, i), game.initial());
        let mut line: Vec<Vec<Fact>> = Vec::new();
        for _ in 0..cap {
            game.facts(&s, &mut held);
            most_active = most_active.max(held.len());
            let n = game.count_legal(&s);
            if n == 0 {
                break;
            }
            let mover = game.mover(&s).index().min(1);
            moved[mover] += 1;
            held.iter().for_each(|f| movers[f.index()][mover] += 1);
            hidden |= game.hidden(&s);
            active += held.len() as u64;
            moves += n as u64;
            if i < LOOKED {
                wins += game.win_in_one(&s).is_some() as u64;
                looked += 1;
            }
            line.push(held.clone());
            let m = game.sample(&s, &mut rng).expect("there are moves");
            game.play(&mut s, m);
        }
        margin |= game.margin(&s).is_some();
        for (ply, held) in line.iter().enumerate() {
            for f in held {
                count[f.index()] += 1;
                time[f.index()] += (ply as f64 + 0.5) / line.len() as f64;
            }
        }
        plies += line.len() as u64;
        states += line.len();
        if lists.len() < 20_000 {
            lists.append(&mut line);
        }
    }
    let all = (moved[0] + moved[1]).max(1);
    // Holds exactly when one player moves.
    let says_who = |f: usize| (0..2).any(|p| movers[f][p] == moved[p] && movers[f][p ^ 1] == 0 && moved[p] > 0);
    let mover_facts: Vec<u32> = (0..facts).filter(|&f| says_who(f)).map(|f| f as u32).collect();
    // Much later on average than the middle of the game, and neither always nor never there.
    let grows = |f: usize| {
        let share = count[f] as f64 / all as f64;
        count[f] > 50 && share < 0.98 && time[f] / count[f] as f64 > 0.55 && !says_who(f)
    };
    let growing: Vec<u32> = (0..facts).filter(|&f| grows(f)).map(|f| f as u32).collect();
    let mut set = vec![false; facts];
    growing.iter().for_each(|&f| set[f as usize] = true);
    let mut counts: Vec<u32> = lists.iter().map(|held| held.iter().filter(|f| set[f.index()]).count() as u32).collect();
    counts.sort_unstable();
    let quantile = |i: usize| counts.get(counts.len() * (i + 1) / 16).copied().unwrap_or(0);
    let n = states.max(1) as f64;
    Survey {
        plies: plies as f64 / played.max(1) as f64,
        branching: moves as f64 / n,
        active: active as f64 / n,
        most_active,
        mover_facts,
        wins: wins as f64 / looked.max(1) as f64,
        margin,
        hidden,
        growing,
        quantiles: (0..15).map(quantile).collect(),
    }
}

/// A state of a game, before its target is known.
struct Step {
    mover: Player,
    /// The value of the best child for the mover.
    value: f32,
    /// Nothing that comes later changes the value: it is proven, or the move was random.
    cut: bool,
    /// Its example, if it is learned.
    example: Option<usize>,
}

/// Plays games and makes examples of them, in buffers that are used again.
pub struct TdPlayer<'a, G: Game> {
    game: &'a G,
    net: &'a Arc<QuantisedNnue>,
    config: &'a TdConfig,
    phases: &'a Phases,
    stack: NnueStack,
    facts: Vec<Fact>,
    on: Vec<Fact>,
    off: Vec<Fact>,
    moves: Vec<Move>,
    steps: Vec<Step>,
    search: Option<Pvs<G>>,
}

/// Megabytes of the table of a search of some hundred nodes.
const SMALL_TABLE: usize = 1;

impl<'a, G: Game> TdPlayer<'a, G> {
    /// A player for one thread.
    pub fn new(game: &'a G, net: &'a Arc<QuantisedNnue>, config: &'a TdConfig, phases: &'a Phases) -> Self {
        let stack = net.stack();
        let (facts, on, off, moves, steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let search = (config.nodes > 0).then(|| {
            let options = PvsOptions { table: SMALL_TABLE, wins: config.wins, ..PvsOptions::default() };
            Pvs::new(Box::new(NnueEvaluator::new(net.clone())), options)
        });
        TdPlayer { game, net, config, phases, stack, facts, on, off, moves, steps, search }
    }

    /// Plays games until there are so many examples.
    pub fn play(&mut self, wanted: usize, seed: u64) -> NnueExamples {
        let mut examples = NnueExamples::default();
        // A game that gives no example at all does not keep the loop alive.
        for n in 0..100 * wanted as u64 {
            if examples.len() >= wanted {
                break;
            }
            self.game(&mut Rng::stream(seed, n), &mut examples);
        }
        examples
    }

    /// What an end of the game is worth to a player.
    fn end(&self, s: &G::State, payoffs: &Payoffs, p: Player) -> f32 {
        let margin = self.config.margin;
        match self.game.margin(s) {
            Some(m) if margin > 0.0 => (1.0 - margin) * payoffs[p] + margin * m[p],
            _ => payoffs[p],
        }
    }

    fn opening(&self, rng: &mut Rng) -> G::State {
        let mut s = self.game.initial();
        for _ in 0..rng.below(self.config.opening_plies + 1) {
            let mut next = s.clone();
            match self.game.sample(&s, rng) {
                Some(m) => self.game.play(&mut next, m),
                None => break,
            }
            if self.game.outcome(&next).is_some() {
                break;
            }
            s = next;
        }
        s
    }

    fn game(&mut self, rng: &mut Rng, examples: &mut NnueExamples) {
        let (game, (cap, capped)) = (self.game, ply_cap(self.game.info()));
        let mut s = self.opening(rng);
        if let Some(search) = &mut self.search {
            search.reset();
        }
        game.facts(&s, &mut self.facts);
        self.net.refresh(&mut self.stack, &self.facts);
        self.steps.clear();
        let mut end = None;
        for _ in 0..cap {
            game.legal(&s, &mut self.moves);
            let mover = game.mover(&s);
            if self.moves.is_empty() {
                let payoffs = game.outcome(&s).expect("no moves, so it is over");
                end = Some((mover, self.end(&s, &payoffs, mover)));
                break;
            }
            let (best, value, proven, wins) = match self.search {
                Some(_) => self.searched(&s, mover, rng),
                None => self.best(&s, mover),
            };
            let random = self.moves.len() > 1 && (rng.unit() as f32) < self.config.epsilon;
            let mv = if random { *rng.pick(&self.moves).expect("there are moves") } else { self.moves[best] };
            let cut = proven || mv != self.moves[best];
            let example = (!wins).then(|| {
                game.facts(&s, &mut self.facts);
                let count = self.facts.iter().filter(|f| self.phases.counts(f.index())).count() as u32;
                let head = mover.index() * self.phases.len() + self.phases.phase(count);
                examples.push(self.facts.iter().map(|f| f.0 as u16), head as u8, value);
                examples.len() - 1
            });
            self.steps.push(Step { mover, value, cut, example });
            game.play_facts(&mut s, mv, &mut self.on, &mut self.off);
            // The line is never taken back, so that its accumulator may be the first of the stack all along.
            self.net.update(&mut self.stack, &self.on, &self.off);
        }
        let (mut player, mut target) = end.unwrap_or_else(|| (Player(0), capped[Player(0)]));
        let lambda = self.config.lambda;
        for step in self.steps.iter().rev() {
            let later = if step.mover == player { target } else { -target };
            target = if step.cut { step.value } else { (1.0 - lambda) * step.value + lambda * later };
            player = step.mover;
            if let Some(i) = step.example {
                examples.set_target(i, target);
            }
        }
    }

    /// The same as [`TdPlayer::best`], by a search.
    fn searched(&mut self, s: &G::State, mover: Player, rng: &mut Rng) -> (usize, f32, bool, bool) {
        let wins = self.game.win_in_one(s);
        if let Some(i) = wins.and_then(|m| self.moves.iter().position(|&n| n == m)) {
            return (i, 1.0, true, true);
        }
        let search = self.search.as_mut().expect("a search");
        let choice = search.search(self.game, s, &Limit::nodes(self.config.nodes).into(), rng);
        let best = self.moves.iter().position(|&m| m == choice.mv).expect("a legal move");
        let proven = choice.root.iter().any(|r| r.mv == choice.mv && r.proven) && choice.value[mover].abs() >= 1.0;
        (best, choice.value[mover], proven, false)
    }

    /// The place and value of the best move, whether the value is proven, and whether it wins at once.
    fn best(&mut self, s: &G::State, mover: Player) -> (usize, f32, bool, bool) {
        let game = self.game;
        let (mut best, mut top, mut best_proven, mut all_proven) = (0, f32::NEG_INFINITY, false, true);
        for (i, &m) in self.moves.iter().enumerate() {
            let mut child = s.clone();
            game.play_facts(&mut child, m, &mut self.on, &mut self.off);
            let (value, proven) = match game.outcome(&child) {
                Some(payoffs) if payoffs[mover] >= 1.0 => {
                    return (i, self.end(&child, &payoffs, mover), true, true);
                }
                Some(payoffs) => (self.end(&child, &payoffs, mover), true),
                None => {
                    let next = game.mover(&child);
                    if self.config.wins && next != mover && game.win_in_one(&child).is_some() {
                        (-1.0, true)
                    } else {
                        let value = self.net.child_value(&self.stack, &self.on, &self.off, next);
                        (if next == mover { value } else { -value }, false)
                    }
                }
            };
            all_proven &= proven;
            if value > top {
                (best, top, best_proven) = (i, value, proven);
            }
        }
        // A proven value stands if no other move could turn out better: it is the best there can be, or all are proven.
        (best, top, all_proven || best_proven && top >= 1.0, false)
    }
}
