//! `ludex play`: a person against an agent, in the terminal.

use crate::learn::learned;
use crate::verbs::{position, say};
use crate::{Usage, open, spec};
use anyhow::Result;
use clap::Parser;
use ludex_core::{Choice, Limit, Player, Rng};
use ludex_play::{Agent, Position, Table};
use std::io::{BufRead, IsTerminal, Write};

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex play connect4\n  ludex play othello --agent 'minimax(depth=6)' --first\n\n\
    While playing: type a move, or help, moves, hint, undo, show, resign, quit.")]
pub struct Play {
    /// Which game
    game: String,
    /// Your opponent: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = "uct(ms=1000)")]
    agent: String,
    /// Your opponent: what a run learned (its directory), or a model file
    #[arg(long, value_name = "RUN", conflicts_with = "agent")]
    model: Option<std::path::PathBuf>,
    /// How strong it plays: one of the run's levels, from 1
    #[arg(long, requires = "model")]
    level: Option<usize>,
    /// You move first (otherwise a coin decides)
    #[arg(long, conflicts_with = "second")]
    first: bool,
    /// The agent moves first
    #[arg(long)]
    second: bool,
    /// Where to begin, as text
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Everything random comes from here; a different game each time if not given
    #[arg(long)]
    seed: Option<u64>,
}

/// What the person typed.
enum Typed {
    Move(ludex_core::Move),
    Again,
    Show,
    Undo,
    Hint,
    Resign,
    Quit,
}

impl Play {
    pub fn run(&self) -> Result<()> {
        let table = open(&self.game)?;
        if table.info().players() != 2 {
            return Err(Usage("play is for games of two".into()).into());
        }
        let start = position(&*table, self.position.as_deref())?;
        let clock =
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
        let seed = self.seed.unwrap_or_else(clock);
        let spec = match &self.model {
            Some(model) => learned(model, self.level)?,
            None => spec(&self.agent)?,
        };
        let agent = table.agent(&spec, seed).map_err(|e| Usage(format!("agent \"{spec}\": {e}")))?;
        let coin = Rng::stream(seed, 1).below(2) as u8;
        let person = match (self.first, self.second) {
            (true, _) => Player(0),
            (_, true) => Player(1),
            _ => Player(coin),
        };
        say(format!("{}: you are {}, against {spec}.", table.info().title, role(&*table, person)))?;
        say("Type a move; help shows what else you can type.\n")?;
        Session { table: &*table, position: start, agent, person }.play()
    }
}

fn role(table: &dyn Table, p: Player) -> String {
    table.info().roles[p.index()].to_uppercase()
}

struct Session<'a> {
    table: &'a dyn Table,
    position: Box<dyn Position>,
    agent: Box<dyn Agent>,
    person: Player,
}

impl Session<'_> {
    fn play(&mut self) -> Result<()> {
        self.agent.start(&*self.position);
        let mut drawn = false;
        while self.position.outcome().is_none() {
            if self.position.mover() != self.person {
                let choice = self.agent.choose(&Limit::default());
                self.position.play(choice.mv).map_err(anyhow::Error::from)?;
                self.agent.observe(choice.mv);
                say(format!(
                    "{} plays {}   {}",
                    role(self.table, Player(self.person.0 ^ 1)),
                    self.table.move_name(choice.mv),
                    self.opinion(&choice)
                ))?;
                drawn = false;
                continue;
            }
            if !std::mem::replace(&mut drawn, true) {
                say(format!("\n{}", self.position.show()))?;
            }
            match self.ask()? {
                Typed::Again => {}
                Typed::Show => drawn = false,
                Typed::Quit => return say("Good-bye."),
                Typed::Resign => {
                    return say(format!("You resign; {} wins.", role(self.table, Player(self.person.0 ^ 1))));
                }
                Typed::Undo => {
                    self.undo()?;
                    drawn = false;
                }
                Typed::Hint => {
                    let choice = self.agent.choose(&Limit::default());
                    say(format!(
                        "The agent would play {}   {}",
                        self.table.move_name(choice.mv),
                        self.opinion(&choice)
                    ))?;
                }
                Typed::Move(m) => {
                    self.position.play(m).map_err(anyhow::Error::from)?;
                    self.agent.observe(m);
                    drawn = false;
                }
            }
        }
        say(format!("\n{}", self.position.show()))?;
        let mine = self.position.outcome().map_or(0.0, |p| p[self.person]);
        say(if mine > 0.0 {
            "You win."
        } else if mine < 0.0 {
            "You lose."
        } else {
            "A draw."
        })
    }

    /// The agent's view of the position, from the person's side.
    fn opinion(&self, c: &Choice) -> String {
        let yours = (c.value[self.person] + 1.0) * 50.0;
        let line: Vec<String> = c.line.iter().take(6).map(|&m| self.table.move_name(m)).collect();
        format!("(your chances {yours:.0} %, expecting {})", line.join(" "))
    }

    /// Takes back to the person's move before.
    fn undo(&mut self) -> Result<()> {
        let mut back = false;
        while self.position.undo() {
            back = true;
            if self.position.mover() == self.person {
                break;
            }
        }
        self.agent.start(&*self.position);
        say(if back { "Taken back." } else { "There is no move to take back." })
    }

    fn ask(&self) -> Result<Typed> {
        if std::io::stdin().is_terminal() {
            print!("{}> ", role(self.table, self.person));
            std::io::stdout().flush()?;
        }
        let mut line = Vec::new();
        if std::io::stdin().lock().read_until(b'\n', &mut line)? == 0 {
            return Ok(Typed::Quit);
        }
        let line = String::from_utf8_lossy(&line);
        let typed = match line.trim() {
            "" => Typed::Again,
            "show" => Typed::Show,
            "quit" | "exit" | "q" => Typed::Quit,
            "resign" => Typed::Resign,
            "undo" | "u" => Typed::Undo,
            "hint" => Typed::Hint,
            "moves" | "legal" => {
                say(self.moves())?;
                Typed::Again
            }
            "help" | "?" | "h" => {
                say(format!(
                    "{}\nmoves: list them   hint: ask the agent   undo: take your last move back\nshow: draw the board   resign   quit",
                    self.moves()
                ))?;
                Typed::Again
            }
            text => match self.table.parse_move(text).filter(|m| self.position.legal().contains(m)) {
                Some(m) => Typed::Move(m),
                None => {
                    let short: String = text.chars().take(40).collect();
                    say(format!("\"{short}\" is not a legal move here. {}", self.moves()))?;
                    Typed::Again
                }
            },
        };
        Ok(typed)
    }

    fn moves(&self) -> String {
        let moves: Vec<String> = self.position.legal().iter().map(|&m| self.table.move_name(m)).collect();
        format!("You can play: {}", moves.join(" "))
    }
}
