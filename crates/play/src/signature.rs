//! One number that changes whenever a search behaves differently: fixed seeds, fixed positions, total nodes.

use crate::arena::random_openings;
use crate::{GAMES, Spec, open};
use ludex_core::Limit;

/// The searches that are signed for.
const AGENTS: [&str; 4] =
    ["uct(sims=300)", "grave(sims=200)", "uct(sims=300, expand=second, solver=on)", "minimax(nodes=3000)"];

/// The sum, over all games and searches and three positions each, of nodes, depth and the move chosen.
pub fn signature() -> u64 {
    let mut sum = 0u64;
    for listing in &GAMES {
        let table = open(listing.name).expect("a listed game opens");
        for (i, opening) in random_openings(&*table, 3, 4, 1).iter().enumerate() {
            let position = table.position(opening).expect("an opening is a position");
            for spec in AGENTS {
                let spec: Spec = spec.parse().expect("a well-formed spec");
                let mut agent = table.agent(&spec, i as u64).expect("an agent for every game");
                agent.start(&*position);
                let choice = agent.choose(&Limit::default());
                sum += choice.nodes + choice.depth as u64 + choice.mv.0 as u64;
            }
        }
    }
    sum
}
