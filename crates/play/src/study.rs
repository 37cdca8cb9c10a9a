//! Matches that are studied (Ghignone & Cancelliere): two alpha-beta players, and examples from all that was certain.
//!
//! | source | states | value |
//! |---|---|---|
//! | `terminal` | what the players' searches and the backward deepening after the match proved | what it is worth |
//! | `consistent` | what follows from states whose heuristic agrees with a search of one ply | what follows |
//! | `ramp` | the states of the match | z (t / T)^2: from nothing at the start (t = 0) to the result z |
//!
//! A state has one row a match, by the source that stands highest.

use crate::build::{self, House};
use crate::spec::{Spec, SpecError};
use crate::store::{Example, Examples};
use ludex_core::{Game, Limit, Move, Payoffs, Player, Rng, Search, mix};
use ludex_search::backward::{self, Consistent, Frontier, around, climb};
use ludex_search::{AlphaBeta, Source, Unwatched, Watch};
use std::collections::HashMap;
use std::sync::Arc;

/// The sources of examples, the most reliable first.
pub const SOURCES: [&str; 3] = ["terminal", "consistent", "ramp"];

/// Matches longer than this are drawn, where the rules do not say otherwise.
const LONGEST: u32 = 10_000;

/// Who plays, and what is written down.
#[derive(Clone, Copy, Debug)]
pub struct Study<'a> {
    /// By player.
    pub sides: [Side<'a>; 2],
    /// Random plies before the match.
    pub opening_plies: u32,
    /// How backward deepening goes about it.
    pub backward: backward::Options,
    /// The nodes it may visit; 0: none is done.
    pub backward_nodes: u64,
    /// Whether terminal states are examples themselves. What follows from them always is.
    pub ends: bool,
    /// Whether the states of the match are examples.
    pub ramp: bool,
    /// Examples at most, those of the match itself apart, drawn at random; 0: all.
    pub most: usize,
}

/// A player of a studied match.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Alpha-beta, as one types it.
    pub agent: &'a Spec,
    /// Whether what its searches prove is written down.
    pub heard: bool,
    /// Whether its heuristic may vouch for states.
    pub vouch: Option<Vouch>,
}

/// When a heuristic is relied on.
#[derive(Clone, Copy, Debug)]
pub struct Vouch {
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

impl Origin {
    fn name(self) -> &'static str {
        SOURCES[2 - self as usize]
    }
}

/// What is known of a state.
struct Note<G: Game> {
    state: G::State,
    key: u64,
    /// For player 0.
    value: f32,
    origin: Origin,
    played: bool,
    ply: u32,
}

/// All that was found in a match, one note a state.
struct Notes<G: Game> {
    rows: Vec<Note<G>>,
    places: HashMap<u64, usize>,
    ply: u32,
    ends: bool,
    muted: bool,
}

impl<G: Game> Notes<G> {
    fn new(ends: bool) -> Self {
        Notes { rows: Vec::new(), places: HashMap::new(), ply: 0, ends, muted: false }
    }

    fn add(&mut self, game: &G, s: &G::State, value: f32, origin: Origin) -> usize {
        let key = game.key(s);
        let (rows, ply) = (&mut self.rows, self.ply);
        let place = *self.places.entry(key).or_insert_with(|| {
            rows.push(Note { state: s.clone(), key, value, origin, played: false, ply });
            rows.len() - 1
        });
        let note = &mut rows[place];
        if origin > note.origin {
            (note.value, note.origin) = (value, origin);
        }
        place
    }

    /// Those that become examples, in the order in which they were found.
    fn chosen(self, most: usize, seed: u64) -> Vec<Note<G>> {
        let draw = |n: &Note<G>| mix(n.key ^ seed);
        let mut draws: Vec<u64> = self.rows.iter().filter(|n| !n.played).map(draw).collect();
        let bar = match most {
            n if n == 0 || n >= draws.len() => u64::MAX,
            n => *draws.select_nth_unstable(n - 1).1,
        };
        self.rows.into_iter().filter(|n| n.played || draw(n) <= bar).collect()
    }
}

impl<G: Game> Watch<G> for Notes<G> {
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

/// Plays one match and adds its examples.
pub(crate) fn study<G: Game>(
    game: &G,
    house: &House<G>,
    study: &Study<'_>,
    match_id: u32,
    seed: u64,
    out: &mut Examples,
) -> Result<Payoffs, SpecError> {
    let info = game.info();
    let player = |p: usize| {
        build::watched(game, house, study.sides[p].agent, Rng::derive(seed, p as u64), Notes::<G>::new(study.ends))
    };
    let mut players = [player(0)?, player(1)?];
    let mut rng = Rng::stream(seed, 2);
    let mut notes = Notes::new(study.ends);
    let mut line = vec![opening(game, study.opening_plies, &mut rng)];
    let cap = info.horizon.map_or(LONGEST, |h| h.plies);
    while let s = &line[line.len() - 1]
        && game.outcome(s).is_none()
        && notes.ply < cap
    {
        let mover = game.mover(s).index();
        let (side, (search, limit)) = (&study.sides[mover], &mut players[mover]);
        notes.muted = !side.heard;
        std::mem::swap(&mut search.watch, &mut notes);
        let choice = search.search(game, s, limit, &mut rng);
        std::mem::swap(&mut search.watch, &mut notes);
        notes.muted = false;
        if let Some(v) = side.vouch {
            let mut frontier = Consistent { eval: search.eval(), tolerance: v.tolerance };
            around(game, s, v.depth, &Limit::nodes(v.nodes), &mut frontier, &mut notes);
        }
        let mut next = s.clone();
        game.play(&mut next, choice.mv);
        line.push(next);
        notes.ply += 1;
    }
    let last = &line[line.len() - 1];
    let result = game.outcome(last).or(info.horizon.map(|h| h.payoffs)).unwrap_or(Payoffs::draw(info.players()));
    if study.backward_nodes > 0 {
        let limit = Limit::nodes(study.backward_nodes);
        let mut vouching = vouching(study, &mut players);
        let frontier: &mut dyn Frontier<G> = match &mut vouching {
            Some(consistent) => consistent,
            None => &mut Unwatched,
        };
        climb(game, &line, study.backward, &limit, frontier, &mut notes);
    }
    if study.ramp {
        let end = (line.len() - 1).max(1) as f32;
        for (t, s) in line.iter().enumerate().filter(|(_, s)| game.outcome(s).is_none()) {
            notes.ply = t as u32;
            let place = notes.add(game, s, result[Player(0)] * (t as f32 / end).powi(2), Origin::Ramp);
            notes.rows[place].played = true;
        }
    }
    for note in notes.chosen(study.most, seed) {
        let mut facts = Vec::new();
        game.facts(&note.state, &mut facts);
        let mover = game.mover(&note.state);
        out.push(&Example {
            facts,
            mover,
            chooser: mover,
            mv: Move(0),
            visits: 1,
            payoffs: Payoffs::of(Player(0), note.value),
            match_id,
            ply: note.ply,
            result,
            source: Arc::from(note.origin.name()),
        });
    }
    Ok(result)
}

/// The heuristic that may vouch for states at the bottom of the backward deepening.
fn vouching<'a, G: Game>(
    study: &Study<'_>,
    players: &'a mut [(AlphaBeta<G, Notes<G>>, Limit); 2],
) -> Option<Consistent<'a, G>> {
    let both = study.sides.iter().zip(players);
    let mut vouching = both.filter_map(|(side, (search, _))| side.vouch.map(|v| (v.tolerance, search)));
    vouching.next().map(|(tolerance, search)| Consistent { eval: search.eval(), tolerance })
}

/// A state after so many random plies, in which the game is not over.
fn opening<G: Game>(game: &G, plies: u32, rng: &mut Rng) -> G::State {
    let mut s = game.initial();
    for _ in 0..plies {
        let mut next = s.clone();
        let Some(m) = game.sample(&s, rng) else { break };
        game.play(&mut next, m);
        if game.outcome(&next).is_some() {
            break;
        }
        s = next;
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;

    fn studied(game: &str, change: impl Fn(&mut Study<'_>)) -> (Payoffs, Examples) {
        let table = open(game).unwrap();
        let agent: Spec = "minimax(nodes=300, eval=random(by=call), order=eval, table=1)".parse().unwrap();
        let side = Side { agent: &agent, heard: true, vouch: None };
        let mut study = Study {
            sides: [side; 2],
            opening_plies: 0,
            backward: backward::Options::default(),
            backward_nodes: 2_000,
            ends: true,
            ramp: true,
            most: 0,
        };
        change(&mut study);
        let mut all = Examples::new(table.info());
        let result = table.study(&study, 5, 9, &mut all).unwrap();
        (result, all)
    }

    #[test]
    fn a_state_has_one_row_by_its_best_source_and_the_ramp_rises_to_the_result() {
        let (result, all) = studied("connect4", |_| {});
        let mut seen = std::collections::HashSet::new();
        assert!((0..all.len()).all(|i| seen.insert(all.key(i).to_vec())), "no state twice");
        let mut ramp: Vec<(u32, f32)> = Vec::new();
        for e in all.iter() {
            let v = e.payoffs[Player(0)];
            assert!(SOURCES.contains(&&*e.source) && e.match_id == 5 && e.result == result);
            match &*e.source {
                "terminal" => assert!([-1.0, 0.0, 1.0].contains(&v)),
                _ => ramp.push((e.ply, v)),
            }
        }
        ramp.sort_by_key(|r| r.0);
        assert_eq!(ramp[0], (0, 0.0));
        assert!(ramp.windows(2).all(|w| w[0].1.abs() <= w[1].1.abs()) && ramp.len() > 4, "{ramp:?}");
        let terminal = all.iter().filter(|e| &*e.source == "terminal").count();
        assert!(terminal > 50, "{terminal}");
    }

    #[test]
    fn what_is_not_wanted_is_not_written_down() {
        let (_, all) = studied("connect4", |_| {});
        let (_, few) = studied("connect4", |s| s.most = 50);
        let played = all.iter().filter(|e| &*e.source == "ramp").count();
        assert!((50..50 + 43).contains(&few.len()) && few.len() < all.len() && played > 0);
        let (_, deaf) = studied("connect4", |s| {
            s.sides.iter_mut().for_each(|s| s.heard = false);
            s.backward_nodes = 0;
        });
        assert!(deaf.iter().all(|e| &*e.source == "ramp"));
        let (_, none) = studied("connect4", |s| {
            s.sides.iter_mut().for_each(|s| s.heard = false);
            (s.backward_nodes, s.ramp) = (0, false);
        });
        assert!(none.is_empty());
    }

    #[test]
    fn a_vouching_heuristic_adds_consistent_rows() {
        let agent: Spec = "minimax(nodes=300, eval=random(by=net), order=eval, table=1)".parse().unwrap();
        let table = open("connect4").unwrap();
        let vouch = Some(Vouch { tolerance: 0.1, depth: 2, nodes: 1_000 });
        let side = Side { agent: &agent, heard: true, vouch };
        let study = Study {
            sides: [side; 2],
            opening_plies: 2,
            backward: backward::Options::default(),
            backward_nodes: 500,
            ends: false,
            ramp: true,
            most: 0,
        };
        let mut all = Examples::new(table.info());
        table.study(&study, 0, 3, &mut all).unwrap();
        let consistent = all.iter().filter(|e| &*e.source == "consistent").count();
        assert!(consistent > 5, "{consistent}");
        let uct = "uct(sims=10)".parse().unwrap();
        let wrong = Study { sides: [Side { agent: &uct, heard: true, vouch: None }; 2], ..study };
        assert!(table.study(&wrong, 0, 3, &mut all).unwrap_err().to_string().contains("minimax"));
    }
}
