//! Checks that the symmetries of every game are found from its rules, all of them, and that they hold in random games other
//! than those that found them.

use ludex_core::Game;
use ludex_core::laws::{self, check_symmetries};
use ludex_core::symmetry::{Effort, symmetries};
use ludex_games::*;

/// Expects this number of symmetries that keep the roles, and of those that exchange them.
fn has<G: Game>(game: G, keep: usize, exchange: usize) {
    let name = &game.info().name;
    for seed in 1..4 {
        let found = symmetries(&game, &Effort::default(), seed);
        let swaps = found.iter().filter(|g| g.swaps_roles).count();
        assert_eq!((found.len() - swaps, swaps), (keep, exchange), "{name}, seed {seed}");
        assert!(found[..keep].iter().all(|g| !g.swaps_roles), "{name}: those that keep the roles come first");
        let effort = laws::Effort { states: 1_000, seed: 100 + seed, ..laws::Effort::default() };
        check_symmetries(&game, &found, &effort).unwrap_or_else(|e| panic!("{name}, seed {seed}: {e}"));
    }
}

#[test]
fn square_boards_have_eight_and_oblong_ones_four() {
    has(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), 8, 8);
    has(Mnk::<1>::new("mnk", 7, 5, 4, false).unwrap(), 4, 4);
    has(Mnk::<1>::new("mnk", 1, 6, 3, false).unwrap(), 2, 2);
    has(Mnk::<5>::new("gomoku", 15, 15, 5, true).unwrap(), 8, 8);
    has(Dots::<u64>::new(5, 5, Score::Win).unwrap(), 8, 8);
    has(Dots::<u64>::new(4, 3, Score::Margin).unwrap(), 4, 4);
}

#[test]
fn othello_has_those_that_do_not_keep_its_start() {
    has(Othello::new(8, 8).unwrap(), 8, 8);
    has(Othello::new(6, 8).unwrap(), 4, 4);
}

#[test]
fn gravity_and_direction_leave_left_and_right() {
    has(Connect4::<u64>::new(7, 6, 4).unwrap(), 2, 2);
    has(Connect4::<u128>::new(10, 10, 7).unwrap(), 2, 2);
    has(Breakthrough::new(8, 8).unwrap(), 2, 2);
    has(Breakthrough::new(5, 6).unwrap(), 2, 2);
}

#[test]
fn checkers_turns_or_reflects_as_the_dark_squares_allow() {
    has(Checkers::new(8, 8, 40).unwrap(), 1, 1);
    has(Checkers::new(5, 6, 40).unwrap(), 2, 0);
    has(Checkers::new(5, 5, 40).unwrap(), 2, 2);
}

#[test]
fn morris_has_its_rings_exchanged_as_well() {
    has(Morris::new(Draw::Repetition), 16, 16);
    has(Morris::new(Draw::Turns200), 16, 16);
}
