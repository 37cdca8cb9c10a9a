//! A part of a search of one's own: an epsilon-greedy selection rule, used in the same tree search as UCB1.
//!
//! cargo run --release -p ludex-train --example 5_new_search_part

use ludex_core::{Rng, Stop};
use ludex_games::Connect4;
use ludex_play::arena::{Contest, tally};
use ludex_play::openings::Openings;
use ludex_play::{OptionInfo, TableBuilder};
use ludex_search::mcts::{Descent, Select};

/// The child with the highest mean for the player who chooses, and now and then any other.
struct EpsilonGreedy {
    eps: f64,
}

impl Select for EpsilonGreedy {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let (tree, children) = (at.tree, at.tree.children(at.node()));
        if rng.unit() < self.eps {
            return rng.below(children.len() as u32) as usize;
        }
        let mover = tree.node(at.node()).mover();
        // Children without a visit come first.
        let mean = |&c: &_| if tree.node(c).visits() == 0 { f64::INFINITY } else { tree.mean(c, mover) };
        let best = children.iter().map(mean).fold(f64::NEG_INFINITY, f64::max);
        children.iter().position(|c| mean(c) == best).unwrap_or(0)
    }
}

const OPTIONS: &[OptionInfo] = &[OptionInfo::real("eps", "0.2", (0.0, 1.0), "the share of random choices")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = TableBuilder::new(Connect4::<u64>::new(7, 6, 4)?)
        .select("epsilon", "the best mean, else any", OPTIONS, |args| {
            Ok(Box::new(EpsilonGreedy { eps: args.real("eps")? }))
        })
        .build();
    let agents = vec![
        "mcts(sims=300, select=epsilon(eps=0.3), expand=second, playout=decisive)".parse()?,
        "mcts(sims=300, select=ucb1(c=0.7), expand=second, playout=decisive)".parse()?,
    ];
    let game = table.info().name.clone();
    let contest = Contest { game, agents, pairs: 30, openings: Openings::Random(2), seed: 1, sprt: None };
    let results = contest.run(&*table, vec![], 2, &Stop::new(), |_| {})?;
    println!("{} against {}: {:?}", contest.agents[0], contest.agents[1], tally(&contest, &results)[0].pairs.wdl());
    Ok(())
}
