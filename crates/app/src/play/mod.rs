//! `ludex play`: a person against an agent, in the terminal.

mod board;
mod commands;
mod game;
mod moves;
mod review;
mod saved;
mod terminal;
mod threats;

use crate::agents::LearnedAgent;
use crate::errors::usage;
use crate::verbs::position;
use crate::{open, spec};
use anyhow::Result;
use clap::Parser;
use game::{DEFAULT_AGENT, Game, Setup, setup};
use ludex_core::{Player, Rng};
use ludex_play::{Spec, Table, bundle};
use saved::{KeptGames, Saved};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use terminal::Terminal;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex play connect4\n  ludex play othello --level hard --first\n  \
    ludex play othello --agent 'minimax(depth=6)'\n  \
    ludex play connect4 --resume\n\n\
    While playing: type a move, or help, rules, moves, hint, eval, undo, switch, show, save, load, review, resign, new, \
    rematch, quit.")]
pub struct Play {
    /// Which game
    #[arg(required_unless_present_any = ["load", "resume"])]
    game: Option<String>,
    /// Your opponent: a spec (see `ludex agents`) or a .toml file [default: a ready-made level, or uct(ms=1000)]
    #[arg(long, value_name = "SPEC", conflicts_with = "model")]
    agent: Option<String>,
    #[command(flatten)]
    learned: LearnedAgent,
    /// You move first (otherwise a coin decides)
    #[arg(long, conflicts_with = "second")]
    first: bool,
    /// The agent moves first
    #[arg(long)]
    second: bool,
    /// Where to begin, as text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    position: Option<String>,
    /// Everything random comes from here; a different game each time if not given
    #[arg(long)]
    seed: Option<u64>,
    /// Go on with a game that was saved
    #[arg(long, value_name = "FILE", conflicts_with_all = ["position", "resume"])]
    load: Option<PathBuf>,
    /// Go on with the game that was left last
    #[arg(long, conflicts_with = "position")]
    resume: bool,
}

impl Play {
    pub fn run(&self) -> Result<()> {
        let table = self.game.as_deref().map(open).transpose()?;
        let mut setup = match (&self.load, self.resume, table) {
            (Some(file), _, table) => self.saved(Saved::read(file)?, table, None)?,
            (None, false, Some(table)) => self.begin(table)?,
            (None, _, table) => {
                let found = KeptGames::open().and_then(|games| games.newest(table.as_deref().map(|t| t.info())));
                let Some((file, saved)) = found else { return Err(usage("there is no unfinished game to resume")) };
                self.saved(saved, table, Some(file))?
            }
        };
        setup.person = match (self.first, self.second) {
            (true, _) => Player(0),
            (_, true) => Player(1),
            _ => setup.person,
        };
        Game::new(setup, Terminal::new())?.play()
    }

    /// A game from its start, or from the position that was asked for.
    fn begin(&self, table: Arc<dyn Table>) -> Result<Setup> {
        let position = position(&*table, self.position.as_deref())?;
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
        let seed = self.seed.unwrap_or_else(clock);
        // Where levels come with the program, one of the middle is the most interesting.
        let ready = || bundle::ready_made(table.info()).map(|_| Spec::word("level:medium"));
        let opponent = self.opponent()?.or_else(ready).map_or_else(|| spec(DEFAULT_AGENT), Ok)?;
        let coin = Player(Rng::stream(seed, 1).below(2) as u8);
        Ok(Setup { table, opponent, position, person: coin, seed, kept: None })
    }

    /// A saved game, which must be of the game that was named, if one was.
    fn saved(&self, saved: Saved, table: Option<Arc<dyn Table>>, kept: Option<PathBuf>) -> Result<Setup> {
        let table = match table {
            Some(table) if saved.is_of(table.info()) => table,
            Some(table) => {
                return Err(usage(format!("the saved game is {}, not {}", saved.game, table.info().name)));
            }
            None => open(&saved.game)?,
        };
        let mut setup = setup(table, saved, kept)?;
        setup.opponent = self.opponent()?.unwrap_or(setup.opponent);
        setup.seed = self.seed.unwrap_or(setup.seed);
        Ok(setup)
    }

    /// The opponent that was named, if one was.
    fn opponent(&self) -> Result<Option<Spec>> {
        let named = self.agent.as_deref().map(spec).transpose()?;
        Ok(self.learned.spec()?.or(named))
    }
}
