//! Matches and where they begin: faults are counted, stops are heard, openings differ; every baseline is an opponent.

use ludex_baselines::{BASELINES, Chains};
use ludex_core::{Move, Payoffs, Player};
use ludex_play::openings::{random_openings, random_states};
use ludex_play::{Agent, AgentError, Choice, Control, Fault, LimitKind, Position, Stop, open, play_match, winner};
use std::collections::HashSet;

/// Plays the lowest legal move until ply `at`, then misbehaves.
struct Bad {
    at: usize,
    fault: Fault,
}

impl Agent for Bad {
    fn choose(&mut self, at: &dyn Position, _: &Control) -> Result<Choice, AgentError> {
        let ply = at.moves().len();
        assert!(ply < self.at || self.fault != Fault::Crash, "a crash on purpose, to see that it is counted");
        let mv = if ply < self.at { Move(ply as u32 % 7) } else { Move(u32::MAX / 2) };
        let (value, root, line) = (Payoffs::draw(2), vec![], vec![mv]);
        Ok(Choice { mv, value, root, nodes: 0, simulations: 0, depth: 0, line, bytes: 0 })
    }

    fn limits(&self) -> &[LimitKind] {
        &[]
    }
}

#[test]
fn crashes_and_illegal_moves_lose_and_are_counted() {
    let table = open("connect4").unwrap();
    for fault in [Fault::Crash, Fault::Illegal] {
        for bad in [0, 1] {
            let agent = |at| Box::new(Bad { at, fault }) as Box<dyn Agent>;
            let mut agents = [agent(100), agent(100)];
            agents[bad] = agent(2);
            let episode = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |_| {});
            let (side, found, _) = episode.fault.unwrap();
            assert_eq!((side.index(), found), (bad, fault));
            assert_eq!(winner(&episode.outcome), Some(side.other()));
        }
    }
}

#[test]
fn a_match_ends_when_it_is_stopped_and_every_move_is_seen() {
    let table = open("tictactoe").unwrap();
    let spec = "uct(sims=20)".parse().unwrap();
    let build = |seed| table.agent(&spec, seed).unwrap();
    let mut agents = [build(1), build(2)];
    let mut seen = 0;
    let whole = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |view| {
        assert_eq!((view.number, view.position.moves().len()), (seen, seen));
        seen += 1;
    });
    assert_eq!(whole.plies.len(), seen);
    assert_eq!(whole.cost.iter().map(|c| c.moves).sum::<u64>(), seen as u64);
    let stop = Stop::new();
    let control = Control { stop: Some(stop.clone()), ..Control::default() };
    let cut = play_match(&*table, &*table.start(), &mut agents, &control, &mut |_| stop.raise());
    assert_eq!(cut.plies.len(), 1);
}

#[test]
fn a_draw_has_no_winner() {
    assert_eq!(winner(&Payoffs::draw(2)), None);
    assert_eq!(winner(&Payoffs::win(Player(1))), Some(Player(1)));
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
fn no_opening_is_over() {
    let table = open("tictactoe").unwrap();
    for text in random_openings(&*table, 100, 9, 1) {
        assert!(table.position(&text).unwrap().outcome().is_none());
    }
}

#[test]
fn the_default_strength_is_the_documented_one() {
    let parts = open("dots").unwrap().parts();
    let chains = parts.iter().find(|p| p.name == "chains").unwrap();
    assert_eq!(chains.options[0].default, Chains::<u64>::STRENGTH.to_string());
}

#[test]
fn every_baseline_is_reachable_by_name() {
    for b in &BASELINES {
        let parts = open(b.game).unwrap().parts();
        assert!(parts.iter().any(|p| p.own && p.name == b.name), "{}", b.name);
    }
}
