//! An evaluator of one's own: mobility in Othello, named in a spec and matched against no evaluation.
//!
//! cargo run --release -p ludex-train --example 4_new_evaluator

use ludex_core::{Evaluator, Game, Payoffs, Stop};
use ludex_games::Othello;
use ludex_play::arena::{Contest, tally};
use ludex_play::openings::Openings;
use ludex_play::{OptionInfo, TableBuilder};
use std::sync::Arc;

/// The more moves there are to choose from, the better for the mover.
struct Mobility {
    scale: f32,
}

impl<G: Game> Evaluator<G> for Mobility {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let moves = game.count_legal(s) as f32;
        Payoffs::of(game.mover(s), (self.scale * (moves - 6.0)).tanh())
    }
}

const OPTIONS: &[OptionInfo] = &[OptionInfo::real("scale", "0.1", (0.0, 10.0), "how much a move is worth")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = TableBuilder::new(Othello::new(6, 6)?)
        .evaluator("mobility", "legal moves", OPTIONS, |args| {
            let scale = args.real("scale")? as f32;
            Ok(Arc::new(move |_seed| Box::new(Mobility { scale }) as Box<dyn Evaluator<Othello>>))
        })
        .build();
    let agents = vec!["minimax(depth=3, eval=mobility(scale=0.2))".parse()?, "minimax(depth=3)".parse()?];
    let game = table.info().name.clone();
    let contest = Contest { game, agents, pairs: 30, openings: Openings::Random(6), seed: 1, sprt: None };
    let results = contest.run(&*table, vec![], 2, &Stop::new(), |_| {})?;
    let t = &tally(&contest, &results)[0];
    println!("{} against {}: {:?}", contest.agents[0], contest.agents[1], t.pairs.wdl());
    Ok(())
}
