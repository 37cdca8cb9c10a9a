//! Checks that the symmetries of rulesheets are found: of our own, and of the public ones (see `public.rs` for where these
//! are; without them, the test prints that it is skipped, and passes).

use ludex_core::laws::{self, check_symmetries};
use ludex_core::symmetry::{Effort, symmetries};
use ludex_gdl::{GdlGame, GdlOptions};
use std::path::{Path, PathBuf};

/// Expects this number of symmetries that keep the roles, and of those that exchange them.
fn has(dir: &Path, file: &str, keep: usize, exchange: usize) {
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    let game = GdlGame::new(file, &text, &GdlOptions::default()).unwrap();
    let found = symmetries(&game, &Effort { plies: 1_000, ..Effort::default() }, 1);
    let swaps = found.iter().filter(|g| g.swaps_roles).count();
    assert_eq!((found.len() - swaps, swaps), (keep, exchange), "{file}");
    let effort = laws::Effort { states: 100, seed: 5, ..laws::Effort::default() };
    check_symmetries(&game, &found, &effort).unwrap_or_else(|e| panic!("{file}: {e}"));
}

#[test]
fn our_rulesheets_have_the_symmetries_of_the_native_games() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    has(&dir, "tictactoe.kif", 8, 8);
    has(&dir, "gomoku.kif", 8, 8);
    has(&dir, "connect4.kif", 2, 2);
    has(&dir, "othello.kif", 8, 8);
    has(&dir, "dots.kif", 8, 8);
    has(&dir, "breakthrough.kif", 2, 2);
    has(&dir, "checkers.kif", 1, 1);
    has(&dir, "morris.kif", 16, 16);
}

#[test]
fn public_rulesheets_have_theirs() {
    let dir = std::env::var_os("LUDEX_GDL_SHEETS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/gdl")), PathBuf::from);
    if !dir.join("facts.json").exists() {
        eprintln!("SKIPPED: no public rulesheets at {} (set LUDEX_GDL_SHEETS)", dir.display());
        return;
    }
    has(&dir, "ticTacToe.kif", 8, 8);
    has(&dir, "connectFour.kif", 2, 2);
    has(&dir, "breakthrough.kif", 2, 2);
    has(&dir, "breakthroughSmall.kif", 2, 2);
    has(&dir, "reversi.kif", 8, 8);
    has(&dir, "checkers.kif", 1, 1);
    // Two opposite sides are joined: half a turn, and the two reflections that exchange the sides.
    has(&dir, "hex.kif", 2, 2);
    has(&dir, "tictactoe_3player.kif", 8, 0);
    // Moves are simultaneous; random play never solves it.
    has(&dir, "tron_10x10.kif", 1, 0);
    has(&dir, "eightPuzzle.kif", 1, 0);
}
