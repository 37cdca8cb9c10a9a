//! A number that changes whenever a search behaves differently: fixed seeds, fixed positions.

use crate::openings::random_openings;
use crate::{GAMES, Spec, open};
use ludex_core::{Choice, Control, mix};

/// The searches that are signed for by [`node_count`].
const PLAIN: [&str; 4] =
    ["uct(sims=300)", "grave(sims=200)", "uct(sims=300, expand=second, solver=on)", "minimax(nodes=3000)"];

/// Searches with evaluators and priors, for which nothing need be learned: a net with random weights stands for any.
const GUIDED: [&str; 6] = [
    "minimax(nodes=2000, eval=random(by=net, hidden=16), order=eval)",
    "mcts(sims=200, select=bonus, prior=value(eval=random(by=net, hidden=16)), expand=all)",
    "mcts(sims=200, select=mean(c=0.3), prior=value(eval=random(by=net, hidden=16)), expand=second, graph=on)",
    "mcts(sims=200, select=qprior(first=learned), prior=value(eval=random(by=net, hidden=16)), expand=leftmost)",
    "mcts(sims=200, select=tuned, playout=mast, solver=shared, reuse=on, final=secure)",
    "rave(sims=200, playout=decisive, solver=ends, final=max)",
];

/// Every choice of these agents at three positions of each game.
fn choices(agents: &[&str], mut see: impl FnMut(&Choice)) {
    for listing in &GAMES {
        let table = open(listing.name).expect("a listed game opens");
        for (i, opening) in random_openings(&*table, 3, 4, 1).iter().enumerate() {
            let position = table.position(opening).expect("an opening is a position");
            for spec in agents {
                let spec: Spec = spec.parse().expect("a well-formed spec");
                let mut agent = table.agent(&spec, i as u64).expect("an agent for every game");
                see(&agent.choose(&*position, &Control::default()).expect("the game goes on"));
            }
        }
    }
}

/// The sum of nodes, depths and moves of plain searches.
pub fn node_count() -> u64 {
    let mut sum = 0;
    choices(&PLAIN, |c| sum += c.nodes + c.depth as u64 + c.mv.0 as u64);
    sum
}

/// A hash of everything that plain and guided searches decide: moves, values, visits, priors, lines and nodes.
pub fn signature() -> u64 {
    let mut hash = 0u64;
    let mut add = |n: u64| hash = mix(hash ^ n);
    choices(&[&PLAIN[..], &GUIDED[..]].concat(), |c| {
        [c.nodes, c.simulations, c.depth as u64, c.mv.0 as u64].into_iter().for_each(&mut add);
        c.value.as_slice().iter().for_each(|v| add(v.to_bits() as u64));
        c.line.iter().for_each(|m| add(m.0 as u64));
        for r in &c.root {
            [r.mv.0 as u64, r.visits, r.prior.to_bits() as u64, r.proven as u64].into_iter().for_each(&mut add);
            r.value.iter().flat_map(|v| v.as_slice().to_vec()).for_each(|v| add(v.to_bits() as u64));
        }
    });
    hash
}
