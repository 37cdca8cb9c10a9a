//! The hand-written yardsticks of `ludex-rivals`, by name. Nothing that learns may use this module.

use crate::build::{House, Rival};
use crate::parts::Opt;
use crate::table::{Line, Position, Solution, Worth};
use ludex_core::{Evaluator, Game, Move};
use ludex_games::{Dots, Morris, Othello, Score, Word};
use ludex_rivals::{
    ChainRival, ExactRival, FAMILY, MorrisClassic, NetBoxes, OthelloClassic, PieceAdvantage, Positional, RIVALS, Solved,
};
use std::sync::Arc;

const PLAYOUTS: &[Opt] = &[Opt {
    name: "playouts",
    default: "1000",
    about: "playouts while safe edges are left; below 100 also the share of decisions thought through, %",
}];

fn about(game: &str, name: &str) -> &'static str {
    RIVALS.iter().find(|r| r.game == game && r.name == name).map_or("", |r| r.about)
}

fn judge<G: Game, E: Evaluator<G> + 'static>(
    game: &str,
    name: &'static str,
    make: fn() -> E,
) -> Rival<Box<dyn Evaluator<G>>> {
    Rival { name, about: about(game, name), options: &[], make: Box::new(move |_| Ok(Box::new(make()))) }
}

pub(crate) fn othello() -> House<Othello> {
    let evaluators = vec![
        judge("othello", "positional", Positional::default),
        judge("othello", "pieces", || PieceAdvantage),
        judge("othello", "classic", OthelloClassic::default),
    ];
    House { evaluators, ..House::default() }
}

pub(crate) fn morris() -> House<Morris> {
    House { evaluators: vec![judge("morris", "classic", MorrisClassic::default)], ..House::default() }
}

pub(crate) fn dots<B: Word>() -> House<Dots<B>> {
    let chains = Rival {
        name: "chains",
        about: about("dots", "chains"),
        options: PLAYOUTS,
        make: Box::new(|r| Ok(Box::new(ChainRival::<B>::new(r.set("playouts", 0, 1_000_000_000)?)) as _)),
    };
    let exact = Rival {
        name: "exact",
        about: about("dots", "exact"),
        options: &[],
        make: Box::new(|_| Ok(Box::new(ExactRival::<B>::default()) as _)),
    };
    House {
        evaluators: vec![judge("dots", "boxes", || NetBoxes)],
        searches: vec![chains, exact],
        solver: Some(|game, s| {
            let solved = Solved::new(game, s)?;
            Some(Box::new(SolvedDots { game: game.clone(), solved }))
        }),
        family: FAMILY,
    }
}

/// All exact values below a position of Dots and Boxes.
struct SolvedDots<B: Word> {
    game: Arc<Dots<B>>,
    solved: Solved<B>,
}

impl<B: Word> Solution for SolvedDots<B> {
    fn worth(&self, position: &dyn Position) -> Option<Vec<Worth>> {
        let s = position.as_any().downcast_ref::<Line<Dots<B>>>()?.state();
        let (boxes, mover) = (self.game.boxes(s).map(|n| n as f32), self.game.mover(s).index());
        let lead = boxes[mover] - boxes[mover ^ 1];
        let payoff = |margin: f32| match self.game.score() {
            Score::Win => margin.partial_cmp(&0.0).map_or(0.0, |o| o as i8 as f32),
            Score::Margin => margin / (self.game.size().0 * self.game.size().1) as f32,
        };
        let worth = |(mv, boxes): (Move, i32)| {
            let margin = lead + boxes as f32;
            Worth { mv, payoff: payoff(margin), margin }
        };
        Some(self.solved.moves(self.game.drawn(s))?.into_iter().map(worth).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_strength_is_the_documented_one() {
        assert_eq!(PLAYOUTS[0].default, ChainRival::<u64>::STRENGTH.to_string());
    }

    #[test]
    fn every_rival_is_reachable_by_name() {
        for r in &RIVALS {
            let names = [(othello().list(), "othello"), (morris().list(), "morris"), (dots::<u64>().list(), "dots")];
            assert!(names.iter().any(|(l, game)| *game == r.game && l.iter().any(|x| x.1 == r.name)), "{}", r.name);
        }
    }
}
