//! Properties of a game that its rules do not state: turn-taking, constant sum, step counter, control, exclusive facts.
//!
//! Step counters and control that passes from role to role are *proved* from the propositional network, by following facts
//! whose next value is the value of another fact. Constant sums, turn-taking, idle moves, the length of matches and exclusive
//! facts are only *observed* in seeded random play. Observed properties choose defaults, such as who plays a forced move and
//! where playouts are cut, and never change the rules.

use crate::bits::get;
use crate::error::Error;
use crate::evaluator::{Engine, Turn};
use crate::exclusive::ExclusiveSets;
use crate::game::GdlGame;
use crate::propnet::{Kind, Propnet};
use ludex_core::{Fact, Game, Horizon, MAX_PLAYERS, Payoffs, Rng};

/// Properties of a game that its rules do not state. Observed in random play unless marked as proved.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InferredProperties {
    /// The number of random matches played.
    pub matches: u32,
    /// Whether no state was seen in which two roles had a choice.
    pub turn_taking: bool,
    /// The sum of all goals at the end, if it was the same in every match.
    pub constant_sum: Option<i32>,
    /// The longest match seen, in steps.
    pub longest_seen: u32,
    /// The number of matches that did not end within the steps allowed.
    pub unfinished: u32,
    /// Proved: the facts of a step counter in order, each of which is followed by the next in every step. Empty if there is
    /// none.
    pub step_counter: Vec<Fact>,
    /// Proved: no match has more steps, because the step counter then ends the game.
    pub max_steps: Option<u32>,
    /// Sets of facts of which exactly one held in every state examined. No fact is in two of them.
    pub exclusive_sets: Vec<Vec<Fact>>,
    /// The idle move of each role: the move it first made while only other roles had a choice.
    pub(crate) idle: Vec<Option<u32>>,
    /// Proved: facts of which each is followed by the next in a cycle, each with the role that it names. Empty if there are
    /// none.
    control: Vec<(u32, usize)>,
}

/// The largest number of steps of all random matches.
const MAX_STEPS: u32 = 20_000;
/// The largest number of random matches.
const MAX_MATCHES: u32 = 64;
/// The largest amount of work in all random matches, in join steps of the interpreter.
const MAX_JOIN_STEPS: u64 = 5_000_000;
/// A match with more steps counts as unfinished.
const MAX_MATCH_STEPS: u32 = 5_000;

impl InferredProperties {
    /// Where playouts are cut and count as draws: well beyond the longest match seen. `None` if the game provably ends.
    pub(crate) fn horizon(&self, roles: usize) -> Option<Horizon> {
        if self.max_steps.is_some() {
            return None;
        }
        let steps = if self.unfinished > 0 { MAX_MATCH_STEPS } else { (self.longest_seen * 20).clamp(1_000, 100_000) };
        Some(Horizon { plies: steps * roles as u32, payoffs: Payoffs::draw(roles) })
    }

    /// The role that has control at a state, if there are control facts.
    pub(crate) fn control_holder(&self, facts: &[u64]) -> Option<usize> {
        self.control.iter().find(|c| get(facts, c.0 as usize)).map(|c| c.1)
    }
}

/// Finds the properties of a game.
pub(crate) fn infer(game: &GdlGame) -> Result<InferredProperties, Error> {
    let mut inferred = InferredProperties {
        turn_taking: true,
        idle: vec![None; game.info().players()],
        ..InferredProperties::default()
    };
    if let Engine::Propnet { net, .. } = &game.engine {
        prove_counter_and_control(net, &mut inferred);
    }
    let mut evaluator = game.engine.new_evaluator()?;
    let mut rng = Rng::new(0x6d61_7463_6865_7321);
    let start = game.initial();
    let roles = game.info().players();
    let (mut steps, mut sums) = (0, Vec::new());
    let mut exclusive = ExclusiveSets::new(&game.names.facts);
    while inferred.matches < MAX_MATCHES && steps < MAX_STEPS && evaluator.work_done() < MAX_JOIN_STEPS {
        game.engine.seek(&mut evaluator, game.fact_words(&start));
        let mut length = 0;
        loop {
            if steps < 100 || (steps < 1_000 && steps % 8 == 0) {
                exclusive.observe(evaluator.facts());
            }
            if length >= MAX_MATCH_STEPS || steps >= MAX_STEPS || evaluator.work_done() >= MAX_JOIN_STEPS {
                inferred.unfinished += (length >= MAX_MATCH_STEPS || inferred.matches == 0) as u32;
                break;
            }
            let Turn::Choose(choosers) = game.turn(&mut evaluator) else {
                sums.push(
                    (0..roles).map(|r| game.engine.goals(&mut evaluator, r).last().copied()).sum::<Option<i32>>(),
                );
                break;
            };
            let mut joint = [0; MAX_PLAYERS];
            let mut choices = 0;
            for (r, m) in joint[..roles].iter_mut().enumerate() {
                let count = game.engine.count_legal(&evaluator, r);
                choices += (count > 1) as u32;
                *m = game.engine.nth_legal(&evaluator, r, rng.below(count));
            }
            inferred.turn_taking &= choices <= 1;
            if choices > 0 {
                for r in (0..roles).filter(|&r| choosers >> r & 1 == 0) {
                    inferred.idle[r].get_or_insert(joint[r]);
                }
            }
            game.engine.step(&mut evaluator, &joint[..roles]);
            length += 1;
            steps += 1;
        }
        inferred.matches += 1;
        inferred.longest_seen = inferred.longest_seen.max(length);
    }
    inferred.exclusive_sets = exclusive.surviving();
    inferred.constant_sum = sums.first().copied().flatten().filter(|s| sums.iter().all(|t| t == &Some(*s)));
    Ok(inferred)
}

/// Follows facts whose next value is the value of another fact. A chain from an initial fact is a step counter; a cycle with
/// one fact per role is control.
fn prove_counter_and_control(net: &Propnet, inferred: &mut InferredProperties) {
    let facts = net.facts.len();
    let mut follower = vec![None; facts];
    let mut follows = vec![false; facts];
    for (f, &l) in net.next.iter().enumerate() {
        if l & 1 == 0
            && let Kind::Fact(g) = net.kinds[(l >> 1) as usize]
            && g as usize != f
        {
            // Two facts that follow the same fact always have the same value; one is enough.
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
            inferred.control = control_facts(net, &chain);
        }
        let pure =
            !follows[start] && net.next[start] == crate::propnet::FALSE && chain.iter().skip(1).all(|&f| !net.init[f]);
        if !circle && pure && chain.len() > inferred.step_counter.len().max(2) {
            inferred.step_counter = chain.iter().map(|&f| Fact(f as u32)).collect();
            let ends = |&f: &usize| {
                let fact = (f as u32 + 1) << 1;
                net.terminal == fact
                    || (net.terminal & 1 == 0
                        && net.kinds[(net.terminal >> 1) as usize] == Kind::Or
                        && net.inputs(net.terminal >> 1).contains(&fact))
            };
            inferred.max_steps = chain.iter().position(ends).map(|i| i as u32);
        }
    }
}

/// Pairs each fact of a cycle with the role that it names; empty if one names no role.
fn control_facts(net: &Propnet, circle: &[usize]) -> Vec<(u32, usize)> {
    let role = |f: &usize| {
        let inner = net.facts[*f].trim_start_matches('(').trim_end_matches(')');
        let mut names = net.role_names.iter().enumerate();
        names.find(|(_, n)| inner.split_whitespace().any(|w| w == n.as_str())).map(|(r, _)| (*f as u32, r))
    };
    circle.iter().map(role).collect::<Option<Vec<_>>>().unwrap_or_default()
}
