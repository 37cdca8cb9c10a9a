//! Checks that every game keeps the laws of `ludex_core::laws`, at its usual size and at unusual ones.

use ludex_core::Game;
use ludex_core::laws::{Effort, check};
use ludex_games::*;

fn keeps_the_laws<G: Game>(game: G) {
    let slow = game.info().name.starts_with("morris:draw=rep");
    let effort = Effort { states: if slow { 1_000 } else { 2_000 }, ..Effort::default() };
    if let Err(broken) = check(&game, &effort) {
        panic!("{}: {broken}", game.info().name);
    }
}

#[test]
fn tictactoe_and_gomoku_keep_the_laws() {
    keeps_the_laws(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    keeps_the_laws(Mnk::<1>::new("mnk", 7, 5, 4, false).unwrap());
    keeps_the_laws(Mnk::<1>::new("mnk", 1, 6, 3, false).unwrap());
    keeps_the_laws(Mnk::<2>::new("gomoku", 9, 9, 5, true).unwrap());
    keeps_the_laws(Mnk::<5>::new("gomoku", 15, 15, 5, false).unwrap());
    keeps_the_laws(Mnk::<8>::new("gomoku", 20, 19, 5, true).unwrap());
}

#[test]
fn connect4_keeps_the_laws() {
    keeps_the_laws(Connect4::<u64>::new(7, 6, 4).unwrap());
    keeps_the_laws(Connect4::<u64>::new(4, 4, 3).unwrap());
    keeps_the_laws(Connect4::<u64>::new(8, 7, 5).unwrap());
    keeps_the_laws(Connect4::<u128>::new(12, 8, 4).unwrap());
    keeps_the_laws(Connect4::<u128>::new(10, 10, 7).unwrap());
}

#[test]
fn othello_keeps_the_laws() {
    keeps_the_laws(Othello::new(8, 8).unwrap());
    keeps_the_laws(Othello::new(4, 4).unwrap());
    keeps_the_laws(Othello::new(6, 8).unwrap());
    keeps_the_laws(Othello::new(8, 6).unwrap());
}

#[test]
fn morris_keeps_the_laws() {
    keeps_the_laws(Morris::new(Draw::Repetition));
    keeps_the_laws(Morris::new(Draw::Turns200));
}

#[test]
fn dots_keeps_the_laws() {
    keeps_the_laws(Dots::<u64>::new(1, 1, Score::Win).unwrap());
    keeps_the_laws(Dots::<u64>::new(5, 5, Score::Win).unwrap());
    keeps_the_laws(Dots::<u64>::new(3, 2, Score::Margin).unwrap());
    keeps_the_laws(Dots::<u128>::new(8, 6, Score::Margin).unwrap());
}

#[test]
fn breakthrough_keeps_the_laws() {
    keeps_the_laws(Breakthrough::new(8, 8).unwrap());
    keeps_the_laws(Breakthrough::new(5, 6).unwrap());
    keeps_the_laws(Breakthrough::new(2, 4).unwrap());
    keeps_the_laws(Breakthrough::new(6, 10).unwrap());
}

#[test]
fn checkers_keeps_the_laws() {
    keeps_the_laws(Checkers::new(8, 8, 40).unwrap());
    keeps_the_laws(Checkers::new(6, 6, 10).unwrap());
    keeps_the_laws(Checkers::new(5, 6, 40).unwrap());
    keeps_the_laws(Checkers::new(6, 10, 255).unwrap());
    keeps_the_laws(Checkers::new(4, 4, 1).unwrap());
}
