//! Opens a game by name and plays one match of it: plain UCT against a random player.
//!
//! cargo run --release -p ludex-train --example 1_play -- othello

use ludex_play::{Control, open, play_match};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "connect4".into());
    let table = open(&name)?;
    let mut agents = [table.agent(&"uct(sims=1000)".parse()?, 1)?, table.agent(&"random".parse()?, 2)?];
    let mut board = table.start();
    let episode = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |view| {
        board = view.position.boxed_clone();
    });
    if let Some(last) = episode.plies.last() {
        board.play(last.choice.mv)?;
    }
    println!("{}\n{} moves, payoffs {}", board.show(), episode.plies.len(), episode.outcome);
    Ok(())
}
