//! Compares our own rulesheets with the native rules of the same games: legal moves, facts by name, mover and result agree
//! at every position of 1,000 random games each.
//!
//! Facts have the same names on both sides. Moves do not, because people write `a2b3` and rulesheets `(move 1 2 2 3)`: each
//! game states how its native names read as action terms.

use ludex_core::{Fact, Game, Move, Rng, laws};
use ludex_games::{Breakthrough, Checkers, Connect4, Dots, Draw, Mnk, Morris, Othello, Score};
use ludex_gdl::{GdlGame, GdlOptions, Reading};
use std::collections::HashMap;

const GAMES: u32 = 1_000;

fn sheet(name: &str) -> GdlGame {
    let path = format!("{}/../../rules/{name}.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    GdlGame::new(name, &text, &GdlOptions { reading: Reading::Strict, ..GdlOptions::default() }).unwrap()
}

/// `c2` as `3 2`.
fn square(name: &str) -> String {
    let (letter, number) = name.split_at(1);
    format!("{} {number}", letter.as_bytes()[0] - b'a' + 1)
}

/// `a2b3` as `(move 1 2 2 3)`.
fn from_to(name: &str) -> String {
    let second = 1 + name[1..].find(|c: char| c.is_ascii_lowercase()).unwrap();
    format!("(move {} {})", square(&name[..second]), square(&name[second..]))
}

fn lockstep<G: Game>(native: &G, name: &str, action: impl Fn(&str) -> String) {
    let gdl = sheet(name);
    assert_eq!(gdl.info().roles, native.info().roles);
    assert!(
        gdl.info().zero_sum && gdl.inferred().turn_taking,
        "{name}: two players take turns, and the sum is constant"
    );
    let moves: Vec<Option<Move>> =
        (0..native.info().moves).map(|m| gdl.parse_move(&action(&native.move_name(Move(m))))).collect();
    let numbers: HashMap<String, Fact> = (0..gdl.info().facts).map(|f| (gdl.fact_name(Fact(f)), Fact(f))).collect();
    // A fact without arguments has parentheses in native games and none in rulesheets.
    let plain = |n: String| if n.contains(' ') { n } else { n.trim_matches(['(', ')']).to_string() };
    let facts: Vec<Option<Fact>> =
        (0..native.info().facts).map(|f| numbers.get(&plain(native.fact_name(Fact(f)))).copied()).collect();
    let mut rng = Rng::new(9);
    let (mut a_moves, mut b_moves, mut a_facts, mut b_facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for game in 0..GAMES {
        let (mut a, mut b) = (native.initial(), gdl.initial());
        loop {
            let here = || format!("{name}, game {game}, at {} = {}", native.position(&a), gdl.position(&b));
            native.facts(&a, &mut a_facts);
            gdl.facts(&b, &mut b_facts);
            let mut read: Vec<Fact> = a_facts.iter().filter_map(|f| facts[f.index()]).collect();
            read.sort();
            assert!(read.len() == a_facts.len() && read == b_facts, "facts differ in {}", here());
            native.legal(&a, &mut a_moves);
            gdl.legal(&b, &mut b_moves);
            let mut read: Vec<Move> = a_moves.iter().filter_map(|m| moves[m.index()]).collect();
            read.sort();
            assert!(read.len() == a_moves.len() && read == b_moves, "legal moves differ in {}", here());
            assert_eq!(native.outcome(&a), gdl.outcome(&b), "the result differs in {}", here());
            let Some(&m) = rng.pick(&a_moves) else { break };
            assert_eq!(native.mover(&a), gdl.mover(&b), "the mover differs in {}", here());
            native.play(&mut a, m);
            gdl.play(&mut b, moves[m.index()].unwrap());
        }
    }
    laws::check(&gdl, &laws::Effort { states: 100, collisions: 2_000, seed: 2 })
        .unwrap_or_else(|e| panic!("{name}: {e}"));
}

#[test]
fn tictactoe_by_rulesheet_is_tictactoe() {
    lockstep(&Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), "tictactoe", |m| format!("(mark {})", square(m)));
}

#[test]
fn gomoku_by_rulesheet_is_gomoku() {
    lockstep(&Mnk::<5>::new("gomoku", 15, 15, 5, false).unwrap(), "gomoku", |m| format!("(mark {})", square(m)));
}

#[test]
fn connect4_by_rulesheet_is_connect4() {
    lockstep(&Connect4::<u64>::new(7, 6, 4).unwrap(), "connect4", |m| format!("(drop {m})"));
}

#[test]
fn othello_by_rulesheet_is_othello() {
    let action = |m: &str| if m == "pass" { m.into() } else { format!("(place {})", square(m)) };
    lockstep(&Othello::new(8, 8).unwrap(), "othello", action);
}

#[test]
fn morris_by_rulesheet_is_morris() {
    let action = |m: &str| match (m.strip_prefix('x'), m.split_once('-')) {
        (Some(point), _) => format!("(take {point})"),
        (_, Some((from, to))) => format!("(move {from} {to})"),
        _ => format!("(place {m})"),
    };
    lockstep(&Morris::new(Draw::Turns200), "morris", action);
}

#[test]
fn dots_by_rulesheet_is_dots() {
    let action = |m: &str| format!("({} {})", &m[..1], m[1..].replace(',', " "));
    lockstep(&Dots::<u64>::new(5, 5, Score::Win).unwrap(), "dots", action);
}

#[test]
fn breakthrough_by_rulesheet_is_breakthrough() {
    lockstep(&Breakthrough::new(8, 8).unwrap(), "breakthrough", from_to);
}

#[test]
fn checkers_by_rulesheet_is_checkers() {
    lockstep(&Checkers::new(8, 8, 40).unwrap(), "checkers", from_to);
}
