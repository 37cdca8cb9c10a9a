//! Matches that an agent plays against itself, with what its search saw written down.

use crate::spec::Spec;
use crate::store::{Example, Examples};
use crate::table::{Position, Table};
use ludex_core::{Fact, Limit, Payoffs, Player, Rng};
use std::collections::HashSet;

/// Matches longer than this are drawn, where the rules do not say otherwise.
const LONGEST: usize = 10_000;

/// The source of rows for the states of a match itself.
pub const PLAYED: &str = "played";
/// The source of rows for the children that a search looked at.
pub const CHILD: &str = "child";

/// What is played and written down.
pub struct SelfPlay<'a> {
    /// The game.
    pub table: &'a dyn Table,
    /// Who plays every role.
    pub agent: &'a Spec,
    /// Whether the children of each state are written down, with visits and means.
    pub children: bool,
    /// Whether the states of the match are written down.
    pub states: bool,
}

impl SelfPlay<'_> {
    /// Plays one match from a position, adds its examples, and gives its result and plies. Everything random comes from the
    /// seed.
    ///
    /// # Panics
    /// If the agent cannot be built: it has been checked before.
    pub fn play(&self, start: &dyn Position, match_id: u32, seed: u64, out: &mut Examples) -> (Payoffs, u32) {
        let info = self.table.info();
        let mut position = start.boxed_clone();
        let build = |p| self.table.agent(self.agent, Rng::derive(seed, p as u64)).expect("the agent has been checked");
        let mut agents: Vec<_> = (0..info.players()).map(build).collect();
        agents.iter_mut().for_each(|a| a.start(&*position));
        let cap = info.horizon.map_or(LONGEST, |h| h.plies as usize);
        let first = out.len();
        let unknown = Payoffs::draw(info.players());
        let mut facts: Vec<Fact> = Vec::new();
        let mut ply = 0;
        while position.outcome().is_none() && (ply as usize) < cap {
            let mover = position.mover();
            let choice = agents[mover.index()].choose(&Limit::default());
            let mut example = Example {
                facts: Vec::new(),
                mover,
                chooser: mover,
                mv: choice.mv,
                visits: choice.simulations.min(u32::MAX as u64) as u32,
                payoffs: choice.value,
                match_id,
                ply,
                result: unknown,
                source: PLAYED.into(),
            };
            if self.states {
                example.facts = position.facts();
                out.push(&example);
            }
            if self.children {
                example.source = CHILD.into();
                example.ply = ply + 1;
                for root in choice.root.iter().filter(|r| r.visits > 0) {
                    let Some(value) = root.value else { continue };
                    example.mover = position.facts_after(root.mv, &mut facts);
                    example.facts.clone_from(&facts);
                    (example.mv, example.payoffs) = (root.mv, value);
                    example.visits = root.visits.min(u32::MAX as u64) as u32;
                    out.push(&example);
                }
            }
            position.play(choice.mv).expect("agents play legal moves");
            agents.iter_mut().for_each(|a| a.observe(choice.mv));
            ply += 1;
        }
        let result = position.outcome().or(info.horizon.map(|h| h.payoffs)).unwrap_or(unknown);
        out.finish(first, &result);
        (result, ply)
    }
}

/// The player who won: alone with the highest payoff.
pub fn winner(result: &Payoffs) -> Option<Player> {
    let top = result.as_slice().iter().copied().fold(f32::MIN, f32::max);
    let mut best = (0..result.players() as u8).map(Player).filter(|&p| result[p] == top);
    let first = best.next();
    if best.next().is_some() || result.players() == 1 && top <= 0.0 { None } else { first }
}

/// So many different states near the start, as text, in none of which the game is over (RESOLUTIONS 1.12): random matches
/// are played, (`wanted` / `length`) + 1 and more if those do not suffice, and their states taken in order of depth.
pub fn random_states(table: &dyn Table, wanted: usize, length: f64, seed: u64) -> Vec<String> {
    let mut seen: HashSet<Vec<Fact>> = HashSet::from([table.start().facts()]);
    let mut states = Vec::new();
    let (mut from, mut matches) = (0, (wanted as f64 / length.max(1.0)) as usize + 1);
    // A game with fewer states than wanted gives what it has.
    while states.len() < wanted && from < 100 * wanted + 1000 {
        let mut lines: Vec<(Box<dyn Position>, Rng)> =
            (from..from + matches).map(|i| (table.start(), Rng::stream(seed, i as u64))).collect();
        while !lines.is_empty() && states.len() < wanted {
            lines.retain_mut(|(position, rng)| {
                let Some(&m) = rng.pick(&position.legal()) else { return false };
                position.play(m).is_ok() && position.outcome().is_none()
            });
            for (position, _) in &lines {
                if states.len() < wanted && seen.insert(position.facts()) {
                    states.push(position.text());
                }
            }
        }
        from += matches;
        matches = matches.max(16);
    }
    states
}

/// Mean plies of uniformly random matches: how long a playout is.
pub fn random_length(table: &dyn Table) -> f64 {
    const MATCHES: u64 = 200;
    let (_, plies) = table.start().playouts(MATCHES, &mut Rng::new(1));
    plies as f64 / MATCHES as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;

    #[test]
    fn children_are_worth_what_the_search_says_to_the_player_who_chose_them() {
        // In tictactoe a child that wins at once is worth +1 to its chooser, whoever that is.
        let table = open("tictactoe").unwrap();
        let spec = "uct(sims=200)".parse().unwrap();
        let play = SelfPlay { table: &*table, agent: &spec, children: true, states: true };
        for seed in 0..10 {
            let mut all = Examples::new(table.info());
            let (result, plies) = play.play(&*table.start(), 3, seed, &mut all);
            assert_eq!(all.iter().filter(|e| *e.source == *PLAYED).count() as u32, plies);
            for e in all.iter() {
                assert_eq!((e.result, e.match_id), (result, 3));
                let sum: f32 = e.payoffs.as_slice().iter().sum();
                assert!(sum.abs() < 1e-5);
            }
            let won: Vec<_> = all.iter().filter(|e| *e.source == *CHILD && e.payoffs[e.chooser] == 1.0).collect();
            assert!(winner(&result).is_none() || !won.is_empty());
        }
    }

    #[test]
    fn random_states_are_different_and_near_the_start() {
        let table = open("connect4").unwrap();
        let states = random_states(&*table, 56, 36.0, 7);
        assert_eq!(states.len(), 56);
        let unique: HashSet<_> = states.iter().collect();
        assert_eq!(unique.len(), 56);
        let depth = states.iter().map(String::len).max().unwrap();
        assert!(depth < 42, "{depth}");
        assert!(states[0].len() == 1, "{}", states[0]);
        assert_eq!(states, random_states(&*table, 56, 36.0, 7));
        // Tictactoe has few states near its start: all that are wanted are found nevertheless.
        assert_eq!(random_states(&*open("tictactoe").unwrap(), 300, 7.0, 1).len(), 300);
    }

    #[test]
    fn a_draw_has_no_winner() {
        assert_eq!(winner(&Payoffs::draw(2)), None);
        assert_eq!(winner(&Payoffs::win(Player(1))), Some(Player(1)));
    }
}
