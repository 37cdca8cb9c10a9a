//! What a look at the net and some seeded random play show of a game: who waits, who controls, whether the sum is constant.
//!
//! What is *proved* from the net: step counters, controls that pass from one role to the next. What is only *observed* in
//! random play: constant sums, turn-taking, typical length, exclusive facts. Observations choose defaults (who plays a forced move, where playouts are cut) and never rules.

use crate::bits::get;
use crate::desk::{Engine, Turn};
use crate::error::Error;
use crate::exclusive::Watch;
use crate::game::GdlGame;
use crate::net::{Kind, Net};
use ludex_core::{Fact, Game, Horizon, MAX_PLAYERS, Payoffs, Rng};

/// Findings about a game that its rules do not state outright.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Habits {
    /// Matches played at random to find out.
    pub matches: u32,
    /// No state was seen in which two roles had a choice.
    pub turn_taking: bool,
    /// The sum of all goals at the end, if it was the same in every match.
    pub constant_sum: Option<i32>,
    /// The longest match seen, in steps.
    pub longest: u32,
    /// Matches that did not end within the steps allowed.
    pub unfinished: u32,
    /// Facts of a step counter, in order, each followed by the next whatever is played; empty if there is none. Proved.
    pub counter: Vec<Fact>,
    /// No match can be longer: a fact of the step counter ends the game. Proved.
    pub at_most: Option<u32>,
    /// Sets of facts of which exactly one held in every state looked at.
    pub exclusive: Vec<Vec<Fact>>,
    /// The move that a role makes while others have a choice.
    pub(crate) idle: Vec<Option<u32>>,
    /// Facts that pass from role to role in a circle, one per role.
    control: Vec<(u32, usize)>,
}

/// Steps and matches that observing may take.
const STEPS: u32 = 20_000;
const MATCHES: u32 = 64;
/// Steps of joining that an interpreter may take, all together.
const WORK: u64 = 5_000_000;
/// A match longer than this is called unfinished.
const LONG: u32 = 5_000;

impl Habits {
    /// Where playouts are cut, for games that may not end: well beyond anything seen, as a draw.
    pub(crate) fn horizon(&self, roles: usize) -> Option<Horizon> {
        if self.at_most.is_some() {
            return None;
        }
        let steps = if self.unfinished > 0 { LONG } else { (self.longest * 20).clamp(1_000, 100_000) };
        Some(Horizon { plies: steps * roles as u32, payoffs: Payoffs::draw(roles) })
    }

    pub(crate) fn control_holder(&self, facts: &[u64]) -> Option<usize> {
        self.control.iter().find(|c| get(facts, c.0 as usize)).map(|c| c.1)
    }
}

/// Looks at the net and plays some matches.
pub(crate) fn observe(game: &GdlGame) -> Result<Habits, Error> {
    let mut habits = Habits { turn_taking: true, idle: vec![None; game.info().players()], ..Habits::default() };
    if let Engine::Net { net, .. } = &game.engine {
        prove(net, &mut habits);
    }
    let mut desk = game.engine.desk()?;
    let mut rng = Rng::new(0x6d61_7463_6865_7321);
    let start = game.initial();
    let roles = game.info().players();
    let (mut steps, mut sums) = (0, Vec::new());
    let mut watch = Watch::new(&game.names.facts);
    while habits.matches < MATCHES && steps < STEPS && desk.spent() < WORK {
        game.engine.seek(&mut desk, game.fact_words(&start));
        let mut length = 0;
        loop {
            if steps < 100 || (steps < 1_000 && steps % 8 == 0) {
                watch.look(desk.facts());
            }
            if length >= LONG || steps >= STEPS || desk.spent() >= WORK {
                habits.unfinished += (length >= LONG || habits.matches == 0) as u32;
                break;
            }
            let Turn::Choose(choosers) = game.turn(&mut desk) else {
                sums.push((0..roles).map(|r| game.engine.goals_of(&mut desk, r).last().copied()).sum::<Option<i32>>());
                break;
            };
            let mut joint = [0; MAX_PLAYERS];
            let mut choices = 0;
            for (r, m) in joint[..roles].iter_mut().enumerate() {
                let count = game.engine.count(&desk, r);
                choices += (count > 1) as u32;
                *m = game.engine.nth(&desk, r, rng.below(count));
            }
            habits.turn_taking &= choices <= 1;
            if choices > 0 {
                for r in (0..roles).filter(|&r| choosers >> r & 1 == 0) {
                    habits.idle[r].get_or_insert(joint[r]);
                }
            }
            game.engine.step(&mut desk, &joint[..roles]);
            length += 1;
            steps += 1;
        }
        habits.matches += 1;
        habits.longest = habits.longest.max(length);
    }
    habits.exclusive = watch.found();
    habits.constant_sum = sums.first().copied().flatten().filter(|s| sums.iter().all(|t| t == &Some(*s)));
    Ok(habits)
}

/// Follows facts whose next value is another fact's value: chains from an initial fact are counters, circles are turns.
fn prove(net: &Net, habits: &mut Habits) {
    let facts = net.facts.len();
    let mut follower = vec![None; facts];
    let mut follows = vec![false; facts];
    for (f, &l) in net.next.iter().enumerate() {
        if l & 1 == 0
            && let Kind::Fact(g) = net.kinds[(l >> 1) as usize]
            && g as usize != f
        {
            // Two followers would be two names for one thing; one is enough.
            follower[g as usize].get_or_insert(f);
            follows[f] = true;
        }
    }
    for start in (0..facts).filter(|&f| net.init[f]) {
        let mut chain = vec![start];
        let mut at = start;
        while let Some(next) = follower[at].filter(|n| !chain.contains(n)) {
            chain.push(next);
            at = next;
        }
        let circle = follower[at] == Some(start);
        if circle && chain.iter().filter(|&&f| net.init[f]).count() == 1 && chain.len() == net.role_names.len() {
            habits.control = control(net, &chain);
        }
        let pure =
            !follows[start] && net.next[start] == crate::net::FALSE && chain.iter().skip(1).all(|&f| !net.init[f]);
        if !circle && pure && chain.len() > habits.counter.len().max(2) {
            habits.counter = chain.iter().map(|&f| Fact(f as u32)).collect();
            let ends = |&f: &usize| {
                let fact = (f as u32 + 1) << 1;
                net.terminal == fact
                    || (net.terminal & 1 == 0
                        && net.kinds[(net.terminal >> 1) as usize] == Kind::Or
                        && net.inputs(net.terminal >> 1).contains(&fact))
            };
            habits.at_most = chain.iter().position(ends).map(|i| i as u32);
        }
    }
}

/// Pairs each fact of a circle with the role it names.
fn control(net: &Net, circle: &[usize]) -> Vec<(u32, usize)> {
    let role = |f: &usize| {
        let inner = net.facts[*f].trim_start_matches('(').trim_end_matches(')');
        let mut names = net.role_names.iter().enumerate();
        names.find(|(_, n)| inner.split_whitespace().any(|w| w == n.as_str())).map(|(r, _)| (*f as u32, r))
    };
    circle.iter().map(role).collect::<Option<Vec<_>>>().unwrap_or_default()
}
