//! Opens a game by name and plays one match of it: plain UCT against a random player.
//!
//! cargo run --release -p ludex-play --example 1_play -- othello

use ludex_core::Limit;
use ludex_play::{Spec, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "connect4".into());
    let table = open(&name)?;
    let specs: [Spec; 2] = ["uct(sims=1000)".parse()?, "random".parse()?];
    let mut agents = [table.agent(&specs[0], 1)?, table.agent(&specs[1], 2)?];
    let mut position = table.start();
    agents.iter_mut().for_each(|a| a.start(&*position));
    while position.outcome().is_none() {
        let choice = agents[position.mover().index()].choose(&Limit::default());
        position.play(choice.mv)?;
        agents.iter_mut().for_each(|a| a.observe(choice.mv));
    }
    println!("{}\n{} moves, payoffs {}", position.show(), position.moves().len(), position.outcome().unwrap());
    Ok(())
}
