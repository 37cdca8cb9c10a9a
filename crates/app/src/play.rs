//! `ludex play`: a person against an agent, in the terminal.

use crate::agents::LearnedAgent;
use crate::errors::{agent_error, usage};
use crate::lines::{Line, read_line};
use crate::verbs::{position, say};
use crate::{open, spec};
use anyhow::Result;
use clap::Parser;
use ludex_core::{Choice, Control, Move, Player, Rng};
use ludex_play::Session;
use std::io::{IsTerminal, Write};

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex play connect4\n  ludex play othello --agent 'minimax(depth=6)' --first\n\n\
    While playing: type a move, or help, moves, hint, undo, show, resign, quit.")]
pub struct Play {
    /// Which game
    game: String,
    /// Your opponent: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = "uct(ms=1000)", conflicts_with = "model")]
    agent: String,
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
}

/// What the person typed.
enum Typed {
    Move(Move),
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
            return Err(usage("play is for games of two"));
        }
        let start = position(&*table, self.position.as_deref())?;
        let clock =
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
        let seed = self.seed.unwrap_or_else(clock);
        let spec = self.learned.spec()?.map_or_else(|| spec(&self.agent), Ok)?;
        let session = Session::new(table.clone(), spec.clone(), seed);
        let mut session = session.map_err(|e| agent_error(&*table, &spec, &e))?;
        session.set(start).map_err(usage)?;
        let coin = Rng::stream(seed, 1).below(2) as u8;
        let person = match (self.first, self.second) {
            (true, _) => Player(0),
            (_, true) => Player(1),
            _ => Player(coin),
        };
        let mut game = Game { session, person };
        say(format!("{}: you are {}, against {spec}.", table.info().title, game.role(person)))?;
        say("Type a move; help shows what else you can type.\n")?;
        game.play()
    }
}

/// A game between a person and an agent.
struct Game {
    session: Session,
    person: Player,
}

impl Game {
    fn play(&mut self) -> Result<()> {
        let mut drawn = false;
        while self.session.position().outcome().is_none() {
            if self.session.position().mover() != self.person {
                let choice = self.session.choose(&Control::default())?;
                self.session.play(choice.mv)?;
                say(format!("{} plays {}", self.role(self.person.other()), self.opinion(&choice)))?;
                drawn = false;
                continue;
            }
            if !std::mem::replace(&mut drawn, true) {
                say(format!("\n{}", self.session.position().show()))?;
            }
            match self.ask()? {
                Typed::Again => {}
                Typed::Show => drawn = false,
                Typed::Quit => return say("Good-bye."),
                Typed::Resign => {
                    return say(format!("You resign; {} wins.", self.role(self.person.other())));
                }
                Typed::Undo => {
                    self.undo()?;
                    drawn = false;
                }
                Typed::Hint => {
                    let choice = self.session.choose(&Control::default())?;
                    say(format!("The agent would play {}", self.opinion(&choice)))?;
                }
                Typed::Move(m) => {
                    self.session.play(m)?;
                    drawn = false;
                }
            }
        }
        say(format!("\n{}", self.session.position().show()))?;
        let mine = self.session.position().outcome().map_or(0.0, |p| p[self.person]);
        say(if mine > 0.0 {
            "You win."
        } else if mine < 0.0 {
            "You lose."
        } else {
            "A draw."
        })
    }

    fn role(&self, p: Player) -> String {
        self.session.table().info().roles[p.index()].to_uppercase()
    }

    /// A move with the agent's view of the position, from the person's side.
    fn opinion(&self, c: &Choice) -> String {
        let name = |m| self.session.table().move_name(m);
        let yours = (c.value[self.person] + 1.0) * 50.0;
        let line: Vec<String> = c.line.iter().take(6).map(|&m| name(m)).collect();
        format!("{}   (your chances {yours:.0} %, expecting {})", name(c.mv), line.join(" "))
    }

    /// Takes back to the person's move before.
    fn undo(&mut self) -> Result<()> {
        let mut back = false;
        while self.session.undo() {
            back = true;
            if self.session.position().mover() == self.person {
                break;
            }
        }
        say(if back { "Taken back." } else { "There is no move to take back." })
    }

    fn ask(&self) -> Result<Typed> {
        if std::io::stdin().is_terminal() {
            print!("{}> ", self.role(self.person));
            std::io::stdout().flush()?;
        }
        let line = match read_line(&mut std::io::stdin().lock())? {
            None => return Ok(Typed::Quit),
            Some(Line::Text(line)) => line,
            Some(Line::TooLong) => {
                say("That line is too long.")?;
                return Ok(Typed::Again);
            }
        };
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
            text => match self.session.table().parse_move(text).filter(|m| self.legal().contains(m)) {
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

    fn legal(&self) -> Vec<Move> {
        self.session.position().legal()
    }

    fn moves(&self) -> String {
        let moves: Vec<String> = self.legal().iter().map(|&m| self.session.table().move_name(m)).collect();
        format!("You can play: {}", moves.join(" "))
    }
}
