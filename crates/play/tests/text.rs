//! What people type: positions, moves and names of games never panic, and what is accepted can be played on.

use ludex_core::Rng;
use ludex_play::{GAMES, open};
use proptest::prelude::*;

const VARIANTS: [&str; 16] = [
    "tictactoe",
    "connect4",
    "connect4:12x8",
    "othello",
    "othello:4x6",
    "morris",
    "morris:draw=turns200",
    "dots:2x2",
    "dots:8x6,score=margin",
    "gomoku",
    "mnk:7x5x4",
    "gomoku:9x9,exact",
    "breakthrough",
    "breakthrough:5x6",
    "checkers",
    "checkers:6x6,draw=10",
];

/// Pieces that positions and moves are made of, so that random text gets far into the parsers.
const PIECES: [&str; 30] = [
    "X",
    "O",
    "-",
    "x",
    "o",
    "/",
    " ",
    " X",
    " O",
    "1",
    "8",
    "0",
    "9/9",
    "0/0",
    "2/1",
    "a1",
    "c3",
    "g7",
    "h0,1",
    "v2,2",
    "pass",
    "start",
    " jump=c3",
    " quiet=12",
    " remove=1",
    " turn=57",
    " seen=",
    " owners=",
    "é",
    "=",
];

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..90).prop_map(|p| p.concat());
    prop_oneof![pieces, ".{0,100}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text: refused with one line, or a position that prints, reads back, and can be played on.
    #[test]
    fn positions_are_refused_or_playable(name in prop::sample::select(VARIANTS.to_vec()), text in texts(), seed in any::<u64>()) {
        let table = open(name).unwrap();
        match table.position(&text) {
            Err(e) => prop_assert!(!e.to_string().is_empty() && !e.to_string().contains('\n')),
            Ok(mut p) => {
                let again = table.position(&p.text()).unwrap();
                prop_assert_eq!(again.text(), p.text());
                prop_assert_eq!(again.legal(), p.legal());
                let mut rng = Rng::new(seed);
                for _ in 0..200 {
                    prop_assert_eq!(p.legal().is_empty(), p.outcome().is_some());
                    let Some(&m) = rng.pick(&p.legal()) else { break };
                    p.play(m).unwrap();
                }
            }
        }
    }

    /// A real position with one character changed.
    #[test]
    fn damaged_positions_do_not_panic(name in prop::sample::select(VARIANTS.to_vec()), seed in any::<u64>(), at in any::<prop::sample::Index>(), ch in any::<char>()) {
        let table = open(name).unwrap();
        let mut rng = Rng::new(seed);
        let mut p = table.start();
        for _ in 0..rng.below(60) {
            let Some(&m) = rng.pick(&p.legal()) else { break };
            p.play(m).unwrap();
        }
        let mut chars: Vec<char> = p.text().chars().collect();
        let at = at.index(chars.len());
        match seed % 3 {
            0 => chars[at] = ch,
            1 => { chars.remove(at); }
            _ => chars.insert(at, PIECES[seed as usize / 3 % PIECES.len()].chars().next().unwrap()),
        }
        if let Ok(mut q) = table.position(&chars.into_iter().collect::<String>()) {
            while let Some(&m) = rng.pick(&q.legal()) {
                q.play(m).unwrap();
                if q.moves().len() > 300 { break; }
            }
            prop_assert_eq!(q.legal().is_empty(), q.outcome().is_some());
        }
    }

    /// Any text as a move: none, or one whose name reads back.
    #[test]
    fn moves_are_refused_or_named(name in prop::sample::select(VARIANTS.to_vec()), text in texts()) {
        let table = open(name).unwrap();
        if let Some(m) = table.parse_move(&text) {
            prop_assert!(m.0 < table.info().moves);
            prop_assert_eq!(table.parse_move(&table.move_name(m)), Some(m));
        }
    }

    /// Any text as a game.
    #[test]
    fn names_of_games_are_refused_or_open(family in prop::sample::select(GAMES.iter().map(|g| g.name).collect::<Vec<_>>()), options in "[0-9x,=:a-z ]{0,16}") {
        if let Ok(table) = open(&format!("{family}:{options}")) {
            let again = open(&table.info().name).unwrap();
            prop_assert_eq!(again.info().rules_hash, table.info().rules_hash);
            prop_assert_eq!(again.start().text(), table.start().text());
        }
    }
}

#[test]
fn bad_names_say_what_to_do() {
    let line = |name: &str| open(name).err().unwrap_or_else(|| panic!("{name} opened")).to_string();
    assert!(line("connekt4").contains("did you mean connect4?"));
    assert_eq!(line("chess"), "there is no game called \"chess\"");
    assert!(line("connect4:").contains("names no option"));
    assert!(line("connect4:7").contains("COLSxROWSxK"));
    assert!(line("connect4:7x6x9").contains("no line of 9"));
    assert!(line("connect4:0x0").contains("at most 16 columns"));
    assert!(line("connect4:99999999999x3").contains("COLSxROWS"));
    assert!(line("connect4:4294967295x4294967295").contains("at most"));
    assert!(line("othello:5x5").contains("4, 6 or 8"));
    assert!(line("othello:8x8x8").contains("COLSxROWS"));
    assert!(line("othello:8x8,8x8").contains("two are given"));
    assert!(line("morris:draw=never").contains("repetition or turns200"));
    assert!(line("morris:7x7").contains("takes no option"));
    assert!(line("tictactoe:exact").contains("takes no option"));
    assert!(line("gomoku:30x30").contains("up to 26"));
    assert!(line("gomoku:15x15,exact,exact").contains("twice"));
    assert!(line("dots:20x20").contains("128 edges"));
    assert!(line("breakthrough:8x3").contains("4 or more rows"));
    assert!(line("checkers:draw=0").contains("1 to 255"));
    assert!(line("").contains("no game"));
}

#[test]
fn short_forms_of_positions_are_valid() {
    let ok = |game: &str, text: &str| {
        open(game).unwrap().position(text).map(|p| p.text()).unwrap_or_else(|e| panic!("{game} {text}: {e}"))
    };
    ok("connect4", "44352");
    ok("connect4:10x6", "10,10,3");
    ok("othello", "---------------------------OX------XO--------------------------- X");
    ok("morris", "------------------------ X 9/9");
    ok("dots:2x2", "111111111110 O 2/1");
    ok("dots:2x2", "111111111110 O 2/1 owners=XXO-");
    ok("breakthrough", "oooooooo/oooooooo/8/8/8/8/xxxxxxxx/xxxxxxxx X");
    ok("checkers", "1o1o1o1o/o1o1o1o1/1o1o1o1o/8/8/x1x1x1x1/1x1x1x1x/x1x1x1x1 X");
    ok("checkers", "8/8/8/8/3O4/8/8/X7 O quiet=39");
    ok("gomoku:5x5x4", "-----/-XO--/-----/-----/----- X");
    ok("tictactoe", "XO-/---/--- X");
}
