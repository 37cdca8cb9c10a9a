//! Perft of every game equals OpenSpiel's counts (`crates/games/tests/perft/*.txt`, made by `tools/openspiel/perft.py`) and
//! figures published elsewhere.

use ludex_play::open;
use std::path::Path;

/// Counts beyond this many sequences are left out, so that the test stays quick.
const LIMIT: u64 = 3_000_000;

/// Checks all cases of one data file; gives the number of counts compared.
fn agrees(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).expect("the data file can be read");
    let mut compared = 0;
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, moves, counts] = fields[..] else { panic!("bad line: {line}") };
        let table = open(name).unwrap();
        let mut position = table.start();
        for text in moves.split_whitespace() {
            let m = table.parse_move(text).unwrap_or_else(|| panic!("{name}: no move {text}"));
            position.play(m).unwrap_or_else(|e| panic!("{name} | {moves}: {e}"));
        }
        for (depth, count) in (1..).zip(counts.split_whitespace()) {
            let count: u64 = count.parse().expect("a count");
            if count <= LIMIT {
                assert_eq!(position.perft(depth), count, "{name} | {moves} | depth {depth}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn perft_equals_openspiel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../games/tests/perft");
    let mut compared = 0;
    for file in std::fs::read_dir(folder).expect("the data files are in the repository") {
        compared += agrees(&file.unwrap().path());
    }
    assert!(compared > 1_000, "only {compared} counts");
}

#[test]
fn perft_equals_published_figures() {
    // Othello: the sequence that perft programs have agreed on since 2000 or so, passes counted as moves.
    let othello = open("othello").unwrap().start();
    let known = [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288];
    for (depth, count) in (1..).zip(known) {
        assert_eq!(othello.perft(depth), count, "othello depth {depth}");
    }
    // Connect Four: 7^d until columns fill up (depth 7) and games end (depth 8).
    let connect4 = open("connect4").unwrap().start();
    for (depth, count) in (1..).zip([7, 49, 343, 2_401, 16_807, 117_649, 823_536, 5_673_234, 39_394_572]) {
        assert_eq!(connect4.perft(depth), count, "connect4 depth {depth}");
    }
    // Tic-tac-toe: 255,168 games, by length.
    let tictactoe = open("tictactoe").unwrap().start();
    let known = [9, 72, 504, 3_024, 15_120, 54_720, 148_176, 200_448, 127_872];
    for (depth, count) in (1..).zip(known) {
        assert_eq!(tictactoe.perft(depth), count, "tictactoe depth {depth}");
    }
    // English draughts, to compare the single steps: equal to the known 7, 49, 302 as long as nobody jumps twice.
    let checkers = open("checkers").unwrap().start();
    for (depth, count) in (1..).zip([7, 49, 302, 1_469, 7_361]) {
        assert_eq!(checkers.perft(depth), count, "checkers depth {depth}");
    }
}
