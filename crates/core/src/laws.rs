//! The laws every game keeps, checked on random states. Whoever adds a game calls [`check`] in a test.
//!
//! Not checked here: that the rules are the *intended* ones. That takes perft against an independent engine.

use crate::symmetry::Symmetry;
use crate::{Fact, Game, Move, Payoffs, Player, Rng, mix};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};

/// How hard to look.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Random states on which the laws of single states are checked.
    pub states: usize,
    /// Random states among which two different ones with equal facts are sought.
    pub collisions: usize,
    /// Everything random comes from here.
    pub seed: u64,
}

/// 2,000 states, 100,000 for collisions: about a second for a fast game.
impl Default for Effort {
    fn default() -> Self {
        Effort { states: 2_000, collisions: 100_000, seed: 1 }
    }
}

/// A law that does not hold, and where.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The law, in words.
    pub law: String,
    /// The position at which it failed.
    pub position: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at \"{}\")", self.law, self.position)
    }
}

impl std::error::Error for Broken {}

/// Checks all laws; `Err` names the first that fails.
pub fn check<G: Game>(game: &G, effort: &Effort) -> Result<(), Broken> {
    names_are_unique(game)?;
    rules_have_a_hash(game)?;
    start_is_the_initial_position(game)?;
    let mut rng = Rng::stream(effort.seed, 0);
    let mut seen = 0;
    while seen < effort.states {
        let mut line = Vec::new();
        let mut s = game.initial();
        loop {
            single_state(game, &s, &mut rng)?;
            seen += 1;
            let Some(m) = game.sample(&s, &mut rng).filter(|_| line.len() < longest(game)) else { break };
            line.push(m);
            game.play(&mut s, m);
        }
        replay_gives_the_same(game, &line, &s)?;
    }
    sampling_is_uniform(game, &mut rng)?;
    facts_separate_states(game, effort, &mut rng)
}

/// Checks that symmetries form a group, and that random games and their images under each agree in facts, legal moves, mover
/// and result; `Err` names the first law that fails.
pub fn check_symmetries<G: Game>(game: &G, found: &[Symmetry], effort: &Effort) -> Result<(), Broken> {
    let law = |holds, what: &str| ensure(holds, || what.to_string(), game, &game.initial());
    let info = game.info();
    law(found.first() == Some(&Symmetry::identity(info.facts, info.moves)), "the first symmetry is the identity")?;
    let all: HashSet<&Symmetry> = found.iter().collect();
    law(all.len() == found.len(), "symmetries are listed once")?;
    let closed = |a: &Symmetry| found.iter().all(|b| all.contains(&a.then(b)));
    law(found.iter().all(closed), "the product of two symmetries is a symmetry")?;
    for (i, g) in found.iter().enumerate() {
        // In a finite group of maps that has the identity, every map is a permutation.
        law(
            g.facts.len() == info.facts as usize && g.moves.len() == info.moves as usize,
            "a symmetry maps everything",
        )?;
        symmetry_holds(game, g, effort.states, &mut Rng::stream(effort.seed, i as u64))?;
    }
    Ok(())
}

fn symmetry_holds<G: Game>(game: &G, g: &Symmetry, states: usize, rng: &mut Rng) -> Result<(), Broken> {
    let mut seen = 0;
    while seen < states {
        let mut s = game.initial();
        let Some(mut t) = g.start(game) else {
            return ensure(false, || "a symmetry maps the initial state to a state".into(), game, &s);
        };
        for _ in 0..longest(game) {
            let law = |holds, what: &str| ensure(holds, || what.to_string(), game, &s);
            let moves = legal(game, &s);
            let mut expected: Vec<Fact> = facts(game, &s).iter().map(|f| g.facts[f.index()]).collect();
            expected.sort();
            law(facts(game, &t) == expected, "a symmetry maps facts onto facts")?;
            let mut expected: Vec<Move> = moves.iter().map(|m| g.moves[m.index()]).collect();
            expected.sort();
            law(legal(game, &t) == expected, "a symmetry maps legal moves onto legal moves")?;
            law(game.outcome(&t) == game.outcome(&s).map(|p| g.payoffs(p)), "a symmetry maps the payoffs")?;
            law(game.margin(&t) == game.margin(&s).map(|p| g.payoffs(p)), "a symmetry maps the margins")?;
            seen += 1;
            let Some(&m) = rng.pick(&moves) else { break };
            law(game.mover(&t) == g.player(game.mover(&s)), "a symmetry maps the mover")?;
            game.play(&mut s, m);
            game.play(&mut t, g.moves[m.index()]);
        }
    }
    Ok(())
}

fn longest<G: Game>(game: &G) -> usize {
    game.info().horizon.map_or(10_000, |h| h.plies as usize)
}

fn ensure<G: Game>(holds: bool, law: impl FnOnce() -> String, game: &G, s: &G::State) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { law: law(), position: game.position(s) }) }
}

fn names_are_unique<G: Game>(game: &G) -> Result<(), Broken> {
    let info = game.info();
    let unique = |names: Vec<String>, what: &str| {
        let mut sorted = names.clone();
        sorted.sort();
        match sorted.windows(2).find(|w| w[0] == w[1]) {
            Some(w) => Err(Broken { law: format!("two {what}s are called {}", w[0]), position: "start".into() }),
            None => Ok(names),
        }
    };
    let moves = unique((0..info.moves).map(|m| game.move_name(Move(m))).collect(), "move")?;
    unique((0..info.facts).map(|f| game.fact_name(Fact(f))).collect(), "fact")?;
    // Reading is checked on a spread of moves: the default reader looks at all names each time.
    for m in (0..info.moves).step_by(info.moves as usize / 256 + 1) {
        let name = &moves[m as usize];
        let read = game.parse_move(name);
        ensure(
            read == Some(Move(m)),
            || format!("the name {name} of move {m} reads as {read:?}"),
            game,
            &game.initial(),
        )?;
    }
    Ok(())
}

fn rules_have_a_hash<G: Game>(game: &G) -> Result<(), Broken> {
    let law = || "rules_hash is not 0: GameInfo::sealed computes it, so that models of other rules are refused".into();
    ensure(game.info().rules_hash != 0, law, game, &game.initial())
}

fn start_is_the_initial_position<G: Game>(game: &G) -> Result<(), Broken> {
    let s = game.initial();
    ensure(game.parse_position("start").as_ref() == Ok(&s), || "`start` is the initial position".into(), game, &s)
}

fn legal<G: Game>(game: &G, s: &G::State) -> Vec<Move> {
    let mut moves = vec![Move(u32::MAX)]; // must be replaced, not appended to
    game.legal(s, &mut moves);
    moves
}

fn facts<G: Game>(game: &G, s: &G::State) -> Vec<Fact> {
    let mut facts = vec![Fact(u32::MAX)];
    game.facts(s, &mut facts);
    facts
}

fn single_state<G: Game>(game: &G, s: &G::State, rng: &mut Rng) -> Result<(), Broken> {
    let info = game.info();
    let law = |holds, what: &str| ensure(holds, || what.to_string(), game, s);
    let moves = legal(game, s);
    law(moves.windows(2).all(|w| w[0] < w[1]), "legal moves are unique and in increasing order")?;
    law(moves.iter().all(|m| m.0 < info.moves), "legal moves are in range")?;
    law(legal(game, s) == moves, "legal moves are the same when asked again")?;
    law(game.count_legal(s) == moves.len(), "count_legal counts the legal moves")?;
    law(game.mover(s).index() < info.players(), "the mover is a player")?;
    let outcome = game.outcome(s);
    law(outcome.is_some() == moves.is_empty(), "an outcome exists exactly when no move is legal")?;
    law(outcome == game.outcome(s), "the outcome is stable")?;
    if let Some(payoffs) = outcome {
        law(payoffs.players() == info.players(), "each player has a payoff")?;
        law(payoffs.as_slice().iter().all(|v| (-1.0..=1.0).contains(v)), "payoffs lie in [-1, 1]")?;
        let sum: f32 = payoffs.as_slice().iter().sum();
        law(!info.zero_sum || (info.players() == 2 && sum == 0.0), "payoffs of a zero-sum game add up to 0")?;
    }
    margin_fits(game, s, outcome)?;
    let held = facts(game, s);
    law(held.windows(2).all(|w| w[0] < w[1]), "facts are unique and in increasing order")?;
    law(held.iter().all(|f| f.0 < info.facts), "facts are in range")?;
    match game.sample(s, rng) {
        Some(m) => law(moves.contains(&m), "a sampled move is legal")?,
        None => law(moves.is_empty(), "a move can be sampled unless the game is over")?,
    }
    if let Some(t) = game.state_from_facts(&held) {
        law(facts(game, &t) == held, "a state made from facts has these facts")?;
        law(t == game.before_hidden(s), "a state made from the facts of another is equal to it")?;
    }
    let mut wins = Vec::new();
    for &m in &moves {
        let (mut a, mut b) = (s.clone(), s.clone());
        game.play(&mut a, m);
        wins.extend(game.outcome(&a).filter(|p| p[game.mover(s)] >= 1.0).map(|_| m));
        game.play(&mut b, m);
        law(a == b && game.key(&a) == game.key(&b), "playing a move is deterministic")?;
        law(game.history_key(&a) == game.history_key(&b), "playing a move is deterministic, history included")?;
        let (mut c, mut on, mut off) = (s.clone(), vec![Fact(u32::MAX)], vec![Fact(u32::MAX)]);
        game.play_facts(&mut c, m, &mut on, &mut off);
        law(c == a && game.history_key(&c) == game.history_key(&a), "playing with facts is playing")?;
        law(turned(&held, &on, &off).as_ref() == Some(&facts(game, &a)), "a move turns on and off the facts it says")?;
    }
    match game.win_in_one(s) {
        Some(m) => law(wins.contains(&m), "win_in_one is a legal move that wins at once")?,
        None => law(wins.is_empty(), "win_in_one finds a move if one wins at once")?,
    }
    let name_reads_back = |&m: &Move| game.parse_move(&game.move_name(m)) == Some(m);
    law(rng.pick(&moves).is_none_or(name_reads_back), "the name of a legal move reads back")?;
    text_round_trips(game, s, &moves)?;
    mirror_holds(game, s, &moves, &held)
}

fn margin_fits<G: Game>(game: &G, s: &G::State, outcome: Option<Payoffs>) -> Result<(), Broken> {
    let law = |holds, what: &str| ensure(holds, || what.to_string(), game, s);
    let Some(margin) = game.margin(s) else { return Ok(()) };
    let Some(payoffs) = outcome else { return law(false, "a margin exists only when the game is over") };
    law(margin.players() == payoffs.players(), "each player has a margin")?;
    law(margin.as_slice().iter().all(|v| (-1.0..=1.0).contains(v)), "margins lie in [-1, 1]")?;
    let sum: f32 = margin.as_slice().iter().sum();
    law(!game.info().zero_sum || sum == 0.0, "margins of a zero-sum game add up to 0")?;
    let sign = |v: f32| (v > 0.0) as i8 - (v < 0.0) as i8;
    let alike = margin.as_slice().iter().zip(payoffs.as_slice()).all(|(&m, &p)| sign(m) == sign(p));
    law(alike, "a margin has the sign of the payoff")
}

/// The facts after some were turned on and some off, in order; `None` if one was on or off before.
fn turned(held: &[Fact], on: &[Fact], off: &[Fact]) -> Option<Vec<Fact>> {
    let sound = on.iter().all(|f| !held.contains(f)) && off.iter().all(|f| held.contains(f));
    let mut after: Vec<Fact> = held.iter().filter(|f| !off.contains(f)).chain(on).copied().collect();
    after.sort();
    sound.then_some(after)
}

fn text_round_trips<G: Game>(game: &G, s: &G::State, moves: &[Move]) -> Result<(), Broken> {
    let law = |holds, what: &str| ensure(holds, || what.to_string(), game, s);
    let text = game.position(s);
    law(!text.contains('\n'), "a position is one line")?;
    let read = game.parse_position(&text);
    let Ok(t) = read else {
        return ensure(false, || format!("a printed position reads back: {}", read.unwrap_err()), game, s);
    };
    law(&t == s && hash(&t) == hash(s), "a position reads back as an equal state")?;
    law(game.key(&t) == game.key(s), "equal states have equal keys")?;
    law(game.history_key(&t) == game.history_key(s), "a position reads back with its history")?;
    law(game.position(&t) == text, "a position read back prints the same")?;
    law(legal(game, &t) == moves, "a position read back has the same legal moves")?;
    law(game.mover(&t) == game.mover(s), "a position read back has the same mover")?;
    law(game.outcome(&t) == game.outcome(s), "a position read back has the same outcome")
}

fn mirror_holds<G: Game>(game: &G, s: &G::State, moves: &[Move], held: &[Fact]) -> Result<(), Broken> {
    let law = |holds, what: &str| ensure(holds, || what.to_string(), game, s);
    let Some(mirror) = &game.info().mirror else {
        return law(game.mirrored(s).is_none(), "a state is mirrored only if a mirror is declared");
    };
    let Some(t) = game.mirrored(s) else { return law(false, "a declared mirror mirrors every state") };
    law(game.mirrored(&t).as_ref() == Some(s), "mirroring twice changes nothing")?;
    law(game.mover(&t) == Player(game.mover(s).0 ^ 1), "the mirror exchanges the mover")?;
    let mut expected: Vec<Move> = moves.iter().map(|m| mirror.moves[m.index()]).collect();
    expected.sort();
    law(legal(game, &t) == expected, "the mirror maps legal moves onto legal moves")?;
    let mut expected: Vec<Fact> = held.iter().map(|f| mirror.facts[f.index()]).collect();
    expected.sort();
    law(facts(game, &t) == expected, "the mirror maps facts onto facts")?;
    let swap = |p: Payoffs| Payoffs::from_slice(&[p[Player(1)], p[Player(0)]]);
    law(game.outcome(&t) == game.outcome(s).map(swap), "the mirror exchanges the payoffs")?;
    for &m in moves {
        let (mut a, mut b) = (s.clone(), t.clone());
        game.play(&mut a, m);
        game.play(&mut b, mirror.moves[m.index()]);
        law(game.mirrored(&a).as_ref() == Some(&b), "mirroring commutes with playing")?;
    }
    Ok(())
}

fn replay_gives_the_same<G: Game>(game: &G, line: &[Move], end: &G::State) -> Result<(), Broken> {
    let mut s = game.initial();
    let half = line.len() / 2;
    line[..half].iter().for_each(|&m| game.play(&mut s, m));
    let mut copy = s.clone();
    line[half..].iter().for_each(|&m| game.play(&mut copy, m));
    let same = copy == *end && game.key(&copy) == game.key(end) && game.history_key(&copy) == game.history_key(end);
    ensure(same, || "a clone plays on like the original, and a replay gives the same state".into(), game, end)
}

/// A sampled move must be *uniformly* drawn: at a few random states, compare frequencies with a chi-square bound.
fn sampling_is_uniform<G: Game>(game: &G, rng: &mut Rng) -> Result<(), Broken> {
    for _ in 0..8 {
        let mut s = game.initial();
        for _ in 0..rng.below(40) {
            let mut next = s.clone();
            let Some(m) = game.sample(&s, rng) else { break };
            game.play(&mut next, m);
            if game.outcome(&next).is_some() {
                break;
            }
            s = next;
        }
        let moves = legal(game, &s);
        if moves.len() < 2 {
            continue;
        }
        let draws = 200 * moves.len();
        let mut counts = HashMap::new();
        (0..draws).filter_map(|_| game.sample(&s, rng)).for_each(|m| *counts.entry(m).or_insert(0u32) += 1);
        let deviation = |m: &Move| (counts.get(m).copied().unwrap_or(0) as f64 - 200.0).powi(2) / 200.0;
        let chi2: f64 = moves.iter().map(deviation).sum();
        let df = (moves.len() - 1) as f64;
        // Wilson-Hilferty: six standard deviations out.
        let bound = df * (1.0 - 2.0 / (9.0 * df) + 6.0 * (2.0 / (9.0 * df)).sqrt()).powi(3);
        ensure(chi2 < bound, || format!("sampling is uniform (chi-square {chi2:.1} over {bound:.1})"), game, &s)?;
    }
    Ok(())
}

/// No two states among many with the same facts may differ in anything the rules can see. Where choices are hidden, the
/// states must look alike instead: same view for the same mover, same legal moves.
fn facts_separate_states<G: Game>(game: &G, effort: &Effort, rng: &mut Rng) -> Result<(), Broken> {
    let mut known: HashMap<u64, u64> = HashMap::new();
    let mut views: HashMap<(u64, Player), (u64, Vec<Move>)> = HashMap::new();
    let mut held = Vec::new();
    let mut looked = 0;
    while looked < effort.collisions {
        let mut s = game.initial();
        for _ in 0..longest(game) {
            game.facts(&s, &mut held);
            let facts = held.iter().fold(0, |h, f| mix(h ^ f.0 as u64));
            if game.hidden(&s) {
                let view = || (game.infoset_key(&s), legal(game, &s));
                let same = *views.entry((facts, game.mover(&s))).or_insert_with(view) == view();
                ensure(same, || "states that differ only in hidden choices look alike".into(), game, &s)?;
            } else {
                let state = hash(&s);
                let same = *known.entry(facts).or_insert(state) == state;
                ensure(same, || "two different states have the same facts".into(), game, &s)?;
                ensure(game.infoset_key(&s) == game.key(&s), || "an open state is seen as it is".into(), game, &s)?;
            }
            looked += 1;
            let Some(m) = game.sample(&s, rng) else { break };
            game.play(&mut s, m);
        }
    }
    Ok(())
}

fn hash<S: Hash>(s: &S) -> u64 {
    let mut hasher = DefaultHasher::new();
    s.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{Nim, NimState};
    use crate::{GameInfo, TextError};

    /// Nim with one defect, chosen by name: each must be found.
    struct Broken(Nim, &'static str, GameInfo);

    fn broken(defect: &'static str) -> Broken {
        let nim = Nim::new(21);
        let info = GameInfo { rules_hash: 0, ..nim.info().clone() };
        Broken(nim, defect, info)
    }

    impl Game for Broken {
        type State = NimState;
        fn info(&self) -> &GameInfo {
            if self.1 == "hash" { &self.2 } else { self.0.info() }
        }
        fn initial(&self) -> NimState {
            self.0.initial()
        }
        fn mover(&self, s: &NimState) -> Player {
            if self.1 == "mover" { Player(2) } else { self.0.mover(s) }
        }
        fn legal(&self, s: &NimState, out: &mut Vec<Move>) {
            self.0.legal(s, out);
            match self.1 {
                "order" => out.reverse(),
                "range" if s.left > 3 => out.push(Move(3)),
                "dead end" if s.left == 2 => out.clear(),
                _ => {}
            }
        }
        fn play(&self, s: &mut NimState, m: Move) {
            self.0.play(s, m);
            if self.1 == "mirror" && m.0 == 2 && s.mover == Player(1) {
                s.mover = Player(0); // a rule that favours one side
            }
        }
        fn outcome(&self, s: &NimState) -> Option<Payoffs> {
            self.0.outcome(s)
        }
        fn margin(&self, s: &NimState) -> Option<Payoffs> {
            match self.1 {
                "margin sign" => self.0.outcome(s).map(|_| Payoffs::of(s.mover, 0.5)),
                "margin early" => Some(Payoffs::draw(2)),
                _ => self.0.outcome(s),
            }
        }
        fn win_in_one(&self, s: &NimState) -> Option<Move> {
            match self.1 {
                "win missed" => None,
                "win imagined" if s.left > 0 => Some(Move(s.left.min(3) - 1)),
                _ => (1..=3).contains(&s.left).then(|| Move(s.left - 1)),
            }
        }
        fn state_from_facts(&self, facts: &[Fact]) -> Option<NimState> {
            let [left, mover] = facts else { return None };
            let mover = if self.1 == "from facts" { Player(0) } else { Player((mover.0 - 22) as u8) };
            Some(NimState { left: left.0, mover })
        }
        fn facts(&self, s: &NimState, out: &mut Vec<Fact>) {
            self.0.facts(s, out);
            if self.1 == "facts" {
                out.pop(); // the mover is not told
            }
        }
        fn play_facts(&self, s: &mut NimState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
            self.0.play_facts(s, m, on, off);
            if self.1 == "turned" {
                off.clear();
            }
        }
        fn key(&self, s: &NimState) -> u64 {
            self.0.key(s)
        }
        fn mirrored(&self, s: &NimState) -> Option<NimState> {
            self.0.mirrored(s)
        }
        fn move_name(&self, m: Move) -> String {
            if self.1 == "names" { "take".into() } else { self.0.move_name(m) }
        }
        fn fact_name(&self, f: Fact) -> String {
            self.0.fact_name(f)
        }
        fn position(&self, s: &NimState) -> String {
            if self.1 == "text" { format!("{} X", s.left) } else { self.0.position(s) }
        }
        fn parse_position(&self, text: &str) -> Result<NimState, TextError> {
            self.0.parse_position(text)
        }
        fn show(&self, s: &NimState) -> String {
            self.0.show(s)
        }
        fn sample(&self, s: &NimState, rng: &mut Rng) -> Option<Move> {
            let m = (s.left > 0).then(|| Move(rng.below(s.left.min(3))));
            if self.1 == "bias" { m.map(|m| Move(m.0.saturating_sub(1))) } else { m }
        }
    }

    #[test]
    fn every_defect_is_found_and_a_right_game_passes() {
        check(&broken("none"), &Effort::default()).unwrap();
        let defects = [
            "mover",
            "order",
            "range",
            "dead end",
            "mirror",
            "facts",
            "names",
            "text",
            "bias",
            "turned",
            "hash",
            "margin sign",
            "margin early",
            "win missed",
            "win imagined",
            "from facts",
        ];
        for defect in defects {
            let found = check(&broken(defect), &Effort::default());
            assert!(found.is_err(), "the defect \"{defect}\" was not found");
        }
    }
}
