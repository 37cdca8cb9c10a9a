//! `ludex engine`: the text protocol for other programs, with the framing of GTP.
//!
//! `= answer` or `? reason`, then an empty line. `#` starts a comment, a number before the command is echoed. A command
//! that fails changes nothing.

use crate::open;
use anyhow::Result;
use clap::Parser;
use ludex_core::{Move, Rng, TextError};
use ludex_play::{Position, Table};
use std::io::{BufRead, Write};

#[derive(Parser)]
#[command(
    after_help = "Example:\n  printf 'moves 4 4\\nlegal\\ngenmove\\nshow\\nquit\\n' | ludex engine connect4\n\nCommands: \
    name version protocol_version list_commands known_command quit newgame position moves play undo legal mover outcome \
    genmove show"
)]
pub struct Args {
    /// Which game to begin with
    game: String,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let mut engine = Engine::new(open(&self.game)?, self.seed);
        let mut input = std::io::stdin().lock();
        let mut output = std::io::stdout().lock();
        engine.serve(&mut input, &mut output)
    }
}

const COMMANDS: [&str; 16] = [
    "name",
    "version",
    "protocol_version",
    "list_commands",
    "known_command",
    "quit",
    "newgame",
    "position",
    "moves",
    "play",
    "undo",
    "legal",
    "mover",
    "outcome",
    "genmove",
    "show",
];

/// One conversation.
struct Engine {
    table: Box<dyn Table>,
    position: Box<dyn Position>,
    rng: Rng,
    done: bool,
}

/// The answer to a command: text for `=` or for `?`.
type Answer = Result<String, String>;

impl Engine {
    fn new(table: Box<dyn Table>, seed: u64) -> Self {
        let position = table.start();
        Engine { table, position, rng: Rng::new(seed), done: false }
    }

    fn serve(&mut self, input: &mut impl BufRead, output: &mut impl Write) -> Result<()> {
        let mut line = Vec::new();
        while !self.done && input.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line).into_owned();
            if let Some(answer) = self.reply(&text) {
                output.write_all(answer.as_bytes())?;
                output.flush()?;
            }
            line.clear();
        }
        Ok(())
    }

    /// What a line is answered with; nothing if it holds no command.
    fn reply(&mut self, line: &str) -> Option<String> {
        let line: String = line.split('#').next()?.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = line.trim();
        let (first, rest) = word(line);
        let (id, command, rest) = match first.chars().all(|c| c.is_ascii_digit()) {
            true if !first.is_empty() => {
                let (command, rest) = word(rest);
                (first, command, rest)
            }
            _ => ("", first, rest),
        };
        if command.is_empty() && id.is_empty() {
            return None;
        }
        let (sign, text) = match self.command(command, rest) {
            Ok(text) => ("=", text),
            Err(reason) => ("?", reason),
        };
        let space = if text.starts_with('\n') { "" } else { " " };
        Some(format!("{sign}{id}{space}{text}").trim_end().to_string() + "\n\n")
    }

    fn command(&mut self, command: &str, rest: &str) -> Answer {
        match command {
            "name" => Ok("Ludex".into()),
            "version" => Ok(env!("CARGO_PKG_VERSION").into()),
            "protocol_version" => Ok("1".into()),
            "list_commands" => Ok(COMMANDS.join("\n")),
            "known_command" => Ok(COMMANDS.contains(&rest.trim()).to_string()),
            "quit" => {
                self.done = true;
                Ok(String::new())
            }
            "newgame" => self.newgame(rest),
            "position" => {
                self.position = self.table.position(rest).map_err(|e| e.to_string())?;
                Ok(String::new())
            }
            "moves" => self.moves(rest),
            "play" if words(rest).len() != 1 => Err("play takes one move".into()),
            "play" => self.moves(rest),
            "undo" => {
                if self.position.undo() {
                    Ok(String::new())
                } else {
                    Err("no move to take back".into())
                }
            }
            "legal" => Ok(self.names(&self.position.legal())),
            "mover" => Ok(self.position.mover().0.to_string()),
            "outcome" => Ok(self.position.outcome().map_or("none".into(), |p| p.to_string())),
            "show" => Ok(format!("\n{}", self.position.show())),
            "genmove" => self.genmove(),
            _ => Err(format!(
                "unknown command \"{}\"; list_commands lists them",
                command.chars().take(40).collect::<String>()
            )),
        }
    }

    fn newgame(&mut self, name: &str) -> Answer {
        if !name.trim().is_empty() {
            self.table = ludex_play::open(name).map_err(|e| e.to_string())?;
        }
        self.position = self.table.start();
        Ok(String::new())
    }

    /// All of the moves, or none.
    fn moves(&mut self, rest: &str) -> Answer {
        let mut position = self.position.clone();
        for text in words(rest) {
            let Some(m) = self.table.parse_move(text) else {
                return Err(format!("\"{}\" is not a move of this game", text.chars().take(40).collect::<String>()));
            };
            position.play(m).map_err(|e: TextError| e.to_string())?;
        }
        self.position = position;
        Ok(String::new())
    }

    fn genmove(&mut self) -> Answer {
        let Some(&m) = self.rng.pick(&self.position.legal()) else { return Err("the game is over".into()) };
        self.position.play(m).map_err(|e| e.to_string())?;
        Ok(self.table.move_name(m))
    }

    fn names(&self, moves: &[Move]) -> String {
        moves.iter().map(|&m| self.table.move_name(m)).collect::<Vec<_>>().join(" ")
    }
}

/// The first word and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Words at spaces, except that what stands in parentheses stays together: `(mark 1 2) noop` are two.
fn words(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0i32, None);
    for (i, c) in text.char_indices() {
        if c.is_whitespace() && depth <= 0 {
            found.extend(start.take().map(|s| &text[s..i]));
            continue;
        }
        start.get_or_insert(i);
        depth += (c == '(') as i32 - (c == ')') as i32;
    }
    found.extend(start.map(|s| &text[s..]));
    found
}
