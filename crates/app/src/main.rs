//! `ludex`: one binary, a verb for each thing that people do with games.

mod agents;
mod bench;
mod completions;
mod contest;
mod doctor;
mod engine;
mod errors;
mod export;
mod gdl;
mod ggp;
mod learn;
mod lines;
mod play;
mod regret;
mod reproduce;
mod runs;
mod shell;
mod solve;
mod tune;
mod verbs;
mod work;

pub use agents::spec;
pub use errors::Usage;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use std::sync::Arc;

/// Ludex turns the rules of a game into players.
///
/// A GAME is a name such as connect4, gomoku:9x9 or morris:draw=turns200 (`ludex games` lists them with their options), or
/// the path of a rulesheet that ends in .kif or .gdl.
#[derive(Parser)]
#[command(name = "ludex", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the games, their sizes and options
    Games(verbs::Games),
    /// Show a position: the board, who is to move, the legal moves and the facts
    Show(verbs::Show),
    /// Count the move sequences of a given length: the standard proof that rules are right
    Perft(verbs::Perft),
    /// Measure how fast games are played
    Bench(bench::Bench),
    /// List all agents and the parts they are made of, with every option
    Agents(verbs::Agents),
    /// Play against an agent in the terminal
    Play(play::Play),
    /// Learn to play: rules in, graded agents and a strength report out
    Learn(learn::Learn),
    /// List, show and verify what was learned
    Runs(runs::Runs),
    /// Write what was learned as a file that other programs read
    Export(export::Export),
    /// Tune numeric options of an agent by the cross-entropy method
    Tune(tune::Tune),
    /// Carry out a paper's experiments and print its tables beside ours
    Reproduce(reproduce::Reproduce),
    /// Let two agents play a match, and say how sure the result is
    Match(contest::Match),
    /// Let several agents play each other, and rate them
    Tournament(contest::Tournament),
    /// Find out whether a position is won, drawn or lost
    Solve(solve::Solve),
    /// Ask an agent at solved positions, and say how often it keeps their value
    Regret(regret::Regret),
    /// Check, describe and draw rulesheets
    Gdl(gdl::Gdl),
    /// Play through a text protocol on standard input and output (for other programs)
    Engine(engine::Args),
    /// Play in general game playing matches: wait for a host that sends rules and asks for moves
    Ggp(ggp::player::Args),
    /// Hold general game playing matches between players on the network
    GgpServer(ggp::host::Args),
    /// Look at what the program runs on, and say what makes it slow
    Doctor(doctor::Doctor),
    /// Print the completions of this command line for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write the pages of all verbs
    Man(completions::Man),
}

/// Opens a game to play and to learn.
pub fn open(name: &str) -> Result<Arc<dyn ludex_play::Table>> {
    ludex_train::open(name).map_err(|e| errors::open_error(&e))
}

/// The command line, for what describes it.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

fn run() -> Result<()> {
    match Cli::parse().verb {
        Verb::Games(args) => args.run(),
        Verb::Show(args) => args.run(),
        Verb::Perft(args) => args.run(),
        Verb::Bench(args) => args.run(),
        Verb::Agents(args) => args.run(),
        Verb::Play(args) => args.run(),
        Verb::Learn(args) => args.run(),
        Verb::Runs(args) => args.run(),
        Verb::Export(args) => args.run(),
        Verb::Tune(args) => args.run(),
        Verb::Reproduce(args) => args.run(),
        Verb::Match(args) => args.run(),
        Verb::Tournament(args) => args.run(),
        Verb::Solve(args) => args.run(),
        Verb::Regret(args) => args.run(),
        Verb::Gdl(args) => args.run(),
        Verb::Engine(args) => args.run(),
        Verb::Ggp(args) => args.run(),
        Verb::GgpServer(args) => args.run(),
        Verb::Doctor(args) => args.run(),
        Verb::Completions(args) => args.run(),
        Verb::Man(args) => args.run(),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has gone: nothing to say and nobody to say it to.
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(e) => {
            let line = format!("{e:#}").replace('\n', " ");
            eprintln!("ludex: {line}");
            ExitCode::from(if e.is::<Usage>() { 2 } else { 1 })
        }
    }
}
