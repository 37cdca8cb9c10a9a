//! The hand-written opponents of `ludex-baselines`, by name. Nothing that learns may use this module.

use crate::parts::OptionInfo;
use crate::table::{Position, Solution, TableBuilder, TypedPosition, Worth};
use ludex_baselines::{
    BASELINES, Chains, Exact, MorrisClassic, NetBoxes, OthelloClassic, PieceAdvantage, Positional, Solved,
};
use ludex_core::{Evaluator, Game, Move};
use ludex_games::{Dots, Morris, Othello, Score, Word};
use std::sync::Arc;

const PLAYOUTS: &[OptionInfo] = &[OptionInfo::whole(
    "playouts",
    "1000",
    (0, 1_000_000_000),
    "playouts while safe edges are left; below 100 also the share of decisions thought through, %",
)];

fn about(game: &str, name: &str) -> &'static str {
    BASELINES.iter().find(|b| b.game == game && b.name == name).map_or("", |b| b.about)
}

fn evaluator<G: Game, E: Evaluator<G> + 'static>(
    table: TableBuilder<G>,
    game: &str,
    name: &'static str,
    make: fn() -> E,
) -> TableBuilder<G> {
    table.evaluator(name, about(game, name), &[], move |_| {
        Ok(Arc::new(move |_| Box::new(make()) as Box<dyn Evaluator<G>>))
    })
}

pub(crate) fn othello(table: TableBuilder<Othello>) -> TableBuilder<Othello> {
    let table = evaluator(table, "othello", "positional", Positional::default);
    let table = evaluator(table, "othello", "pieces", || PieceAdvantage);
    evaluator(table, "othello", "classic", OthelloClassic::default)
}

pub(crate) fn morris(table: TableBuilder<Morris>) -> TableBuilder<Morris> {
    evaluator(table, "morris", "classic", MorrisClassic::default)
}

pub(crate) fn dots<B: Word>(table: TableBuilder<Dots<B>>) -> TableBuilder<Dots<B>> {
    evaluator(table, "dots", "boxes", || NetBoxes)
        .search("chains", about("dots", "chains"), PLAYOUTS, |a| Ok(Box::new(Chains::<B>::new(a.whole("playouts")?))))
        .search("exact", about("dots", "exact"), &[], |_| Ok(Box::new(Exact::<B>::default())))
        .solver(|game, s| {
            let solved = Solved::new(game, s)?;
            Some(Box::new(SolvedDots { game: game.clone(), solved }))
        })
}

/// All exact values below a position of Dots and Boxes.
struct SolvedDots<B: Word> {
    game: Arc<Dots<B>>,
    solved: Solved<B>,
}

impl<B: Word> Solution for SolvedDots<B> {
    fn worth(&self, position: &dyn Position) -> Option<Vec<Worth>> {
        let s = TypedPosition::of(position, &*self.game)?.state();
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
        let moves = self.solved.moves(self.game.drawn(s)).filter(|moves| !moves.is_empty())?;
        Some(moves.into_iter().map(worth).collect())
    }
}
