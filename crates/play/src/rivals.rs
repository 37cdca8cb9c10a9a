//! The hand-written yardsticks of `ludex-rivals`, by name. Nothing that learns may use this module.

use crate::build::{House, Opt, Rival};
use ludex_core::{Evaluator, Game};
use ludex_games::{Dots, Morris, Othello, Word};
use ludex_rivals::{ChainRival, MorrisClassic, NetBoxes, OthelloClassic, PieceAdvantage, Positional, RIVALS};

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
    House { evaluators, searches: Vec::new() }
}

pub(crate) fn morris() -> House<Morris> {
    House { evaluators: vec![judge("morris", "classic", MorrisClassic::default)], searches: Vec::new() }
}

pub(crate) fn dots<B: Word>() -> House<Dots<B>> {
    let chains = Rival {
        name: "chains",
        about: about("dots", "chains"),
        options: PLAYOUTS,
        make: Box::new(|r| Ok(Box::new(ChainRival::<B>::new(r.set("playouts", 0, 1_000_000_000)?)) as _)),
    };
    House { evaluators: vec![judge("dots", "boxes", || NetBoxes)], searches: vec![chains] }
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
