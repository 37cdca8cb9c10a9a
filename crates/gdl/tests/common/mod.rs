//! Helpers that several tests share.
#![allow(dead_code)]

use ludex_core::Rng;
use std::collections::HashMap;

/// The sheet with every symbol and variable renamed at random, except keywords, and with another layout. Numbers stay,
/// because goals must be numbers.
pub fn rename_symbols(text: &str, seed: u64) -> String {
    const KEPT: [&str; 15] = [
        "role", "init", "true", "next", "legal", "does", "goal", "terminal", "base", "input", "not", "or", "distinct",
        "<=", "and",
    ];
    let mut rng = Rng::new(seed);
    let mut names: HashMap<String, String> = HashMap::new();
    let mut out = String::new();
    for line in text.lines() {
        let code = line.split(';').next().unwrap_or("");
        let mut rest = code;
        while let Some(c) = rest.chars().next() {
            if c.is_whitespace() || c == '(' || c == ')' {
                out.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            if KEPT.contains(&word) || word.parse::<i64>().is_ok() {
                out.push_str(word);
                continue;
            }
            let n = names.len();
            let new = names.entry(word.to_string()).or_insert_with(|| {
                let mark = if word.starts_with('?') { "?" } else { "" };
                format!("{mark}s{:04x}_{n}", rng.bits() & 0xffff)
            });
            out.push_str(new);
        }
        out.push_str("  \t\n");
    }
    out
}

pub mod generate;
pub mod reference;

use ludex_core::Game;
use ludex_gdl::{GdlGame, GdlState};
use std::collections::BTreeSet;

/// Compares a game with the reference reasoner along random sequences of joint moves.
pub fn agrees_with_reference(game: &GdlGame, text: &str, lines: u32, longest: u32, seed: u64) {
    let judge = reference::Reasoner::new(text);
    let roles: Vec<String> = judge.roles.iter().map(|r| r.to_string()).collect();
    assert_eq!(game.info().roles, roles);
    let mut rng = Rng::new(seed);
    for _ in 0..lines {
        let mut expected = judge.initial();
        let mut s = game.initial();
        for _ in 0..longest {
            let names: BTreeSet<String> = expected.iter().map(|f| f.to_string()).collect();
            assert_eq!(fact_names(game, &s), names, "facts in\n{text}");
            let view = judge.at(&expected, &[]);
            for r in 0..roles.len() {
                assert_eq!(legal_names(game, &s, r), view.legal[r], "legal moves at {names:?} in\n{text}");
                let goals: BTreeSet<String> = game.goals(&s)[r].iter().map(|g| g.to_string()).collect();
                assert_eq!(goals, view.goals[r], "goals at {names:?} in\n{text}");
            }
            let over = view.terminal || view.legal.iter().any(BTreeSet::is_empty);
            assert_eq!(game.outcome(&s).is_some(), over, "the end at {names:?} in\n{text}");
            if over {
                break;
            }
            let joint: Vec<_> =
                (0..roles.len()).map(|r| *rng.pick(&game.legal_moves(&s, r)).expect("a legal move")).collect();
            let terms: Vec<_> = joint.iter().map(|&m| reference::parse(&game.move_name(m)).remove(0)).collect();
            expected = judge.at(&expected, &terms).next;
            s = game.step(&s, &joint).expect("legal moves can be made");
        }
    }
}

pub fn fact_names(game: &GdlGame, s: &GdlState) -> BTreeSet<String> {
    let mut facts = Vec::new();
    game.facts(s, &mut facts);
    facts.into_iter().map(|f| game.fact_name(f)).collect()
}

pub fn legal_names(game: &GdlGame, s: &GdlState, role: usize) -> BTreeSet<String> {
    game.legal_moves(s, role).into_iter().map(|m| game.move_name(m)).collect()
}
