//! `ludex engine`: the text protocol for other programs, with the framing of GTP.
//!
//! `= answer` or `? reason`, then an empty line. `#` starts a comment, a number before the command is echoed. A command
//! that fails changes nothing.

use crate::{Usage, open, spec};
use anyhow::Result;
use clap::Parser;
use ludex_core::{Choice, Limit, Move};
use ludex_play::{Agent, Position, Spec, Table};
use serde_json::json;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[derive(Parser)]
#[command(
    after_help = "Example:\n  printf 'moves 4 4\\nlegal\\ngenmove sims=2000\\nshow\\nquit\\n' | ludex engine connect4\n\n\
    Commands:\n  name version protocol_version list_commands known_command quit\n  newgame [GAME]  position TEXT  \
    moves M1 M2 ..  play M  undo  legal  mover  outcome  show\n  agent SPEC  genmove [LIMIT]  analyze [LIMIT]\n\n\
    LIMIT: sims=N visits=N expansions=N nodes=N depth=N ms=N cpu_ms=N"
)]
pub struct Args {
    /// Which game to begin with
    game: String,
    /// Who chooses moves: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = "uct(sims=1000)")]
    agent: String,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let mut engine = Engine::new(open(&self.game)?, spec(&self.agent)?, self.seed).map_err(Usage)?;
        let mut input = std::io::stdin().lock();
        let mut output = std::io::stdout().lock();
        engine.serve(&mut input, &mut output)
    }
}

const COMMANDS: [&str; 18] = [
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
    "agent",
    "analyze",
    "show",
];

/// Longer lines are refused: no command needs them.
const LONGEST_LINE: usize = 1 << 20;

/// One conversation.
struct Engine {
    table: Box<dyn Table>,
    position: Box<dyn Position>,
    agent: Box<dyn Agent>,
    spec: Spec,
    seed: u64,
    /// The agent has been told all that happened.
    followed: bool,
    done: bool,
}

/// The answer to a command: text for `=` or for `?`.
type Answer = Result<String, String>;

impl Engine {
    fn new(table: Box<dyn Table>, spec: Spec, seed: u64) -> Result<Self, String> {
        let position = table.start();
        let agent = table.agent(&spec, seed).map_err(|e| e.to_string())?;
        Ok(Engine { table, position, agent, spec, seed, followed: false, done: false })
    }

    fn serve(&mut self, input: &mut impl BufRead, output: &mut impl Write) -> Result<()> {
        let mut line = Vec::new();
        while !self.done && input.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]).into_owned();
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
        let (id, command, rest) = match !first.is_empty() && first.chars().all(|c| c.is_ascii_digit()) {
            true => {
                let (command, rest) = word(rest);
                (first, command, rest)
            }
            false => ("", first, rest),
        };
        if command.is_empty() && id.is_empty() {
            return None;
        }
        let (sign, text) = match self.command(command, rest.trim()) {
            Ok(text) => ("=", text),
            Err(reason) => ("?", reason),
        };
        let space = if text.starts_with('\n') { "" } else { " " };
        Some(format!("{sign}{id}{space}{text}").trim_end().to_string() + "\n\n")
    }

    fn command(&mut self, command: &str, rest: &str) -> Answer {
        let quiet = |()| String::new();
        match command {
            "name" => Ok("Ludex".into()),
            "version" => Ok(env!("CARGO_PKG_VERSION").into()),
            "protocol_version" => Ok("1".into()),
            "list_commands" => Ok(COMMANDS.join("\n")),
            "known_command" => Ok(COMMANDS.contains(&rest).to_string()),
            "quit" => {
                self.done = true;
                Ok(String::new())
            }
            "newgame" => self.newgame(rest).map(quiet),
            "position" => {
                self.position = self.table.position(rest).map_err(|e| e.to_string())?;
                self.followed = false;
                Ok(String::new())
            }
            "moves" => self.moves(rest).map(quiet),
            "play" if words(rest).len() != 1 => Err("play takes one move".into()),
            "play" => self.moves(rest).map(quiet),
            "undo" => {
                self.followed = false;
                if self.position.undo() { Ok(String::new()) } else { Err("no move to take back".into()) }
            }
            "legal" => Ok(self.names(&self.position.legal())),
            "mover" => Ok(self.position.mover().0.to_string()),
            "outcome" => Ok(self.position.outcome().map_or("none".into(), |p| p.to_string())),
            "show" => Ok(format!("\n{}", self.position.show())),
            "agent" => self.change_agent(rest).map(quiet),
            "genmove" => {
                let m = self.choose(rest)?.mv;
                self.position.play(m).map_err(|e| format!("the agent failed: {e}"))?;
                self.agent.observe(m);
                Ok(self.table.move_name(m))
            }
            "analyze" => self.choose(rest).map(|c| self.describe(&c)),
            _ => Err(format!("unknown command \"{}\"; list_commands lists them", short(command))),
        }
    }

    fn newgame(&mut self, name: &str) -> Result<(), String> {
        if !name.is_empty() {
            let table = ludex_play::open(name).map_err(|e| e.to_string())?;
            let agent = table.agent(&self.spec, self.seed);
            self.agent = agent.map_err(|e| format!("the agent {} does not play this game: {e}", self.spec))?;
            self.table = table;
        }
        self.position = self.table.start();
        self.followed = false;
        Ok(())
    }

    /// All of the moves, or none.
    fn moves(&mut self, rest: &str) -> Result<(), String> {
        let mut position = self.position.clone();
        let mut played = Vec::new();
        for text in words(rest) {
            let Some(m) = self.table.parse_move(text) else {
                return Err(format!("\"{}\" is not a move of this game", short(text)));
            };
            position.play(m).map_err(|e| e.to_string())?;
            played.push(m);
        }
        self.position = position;
        if self.followed {
            played.into_iter().for_each(|m| self.agent.observe(m));
        }
        Ok(())
    }

    fn change_agent(&mut self, text: &str) -> Result<(), String> {
        let spec = spec(text).map_err(|e| e.to_string())?;
        self.agent = self.table.agent(&spec, self.seed).map_err(|e| e.to_string())?;
        self.spec = spec;
        self.followed = false;
        Ok(())
    }

    fn choose(&mut self, rest: &str) -> Result<Choice, String> {
        let limit = limit(rest)?;
        if self.position.outcome().is_some() {
            return Err("the game is over".into());
        }
        if !std::mem::replace(&mut self.followed, true) {
            self.agent.start(&*self.position);
        }
        let chosen = catch_unwind(AssertUnwindSafe(|| self.agent.choose(&limit)));
        chosen.map_err(|_| {
            self.followed = false;
            "the agent failed; this is a bug in Ludex".to_string()
        })
    }

    fn describe(&self, c: &Choice) -> String {
        let names = |moves: &[Move]| -> Vec<String> { moves.iter().map(|&m| self.table.move_name(m)).collect() };
        let policy: Vec<_> = c
            .root
            .iter()
            .map(|r| {
                json!({
                    "move": self.table.move_name(r.mv), "visits": r.visits,
                    "value": r.value.map(|v| v.as_slice().to_vec()), "prior": r.prior, "proven": r.proven,
                })
            })
            .collect();
        json!({
            "move": self.table.move_name(c.mv), "value": c.value.as_slice(), "policy": policy, "line": names(&c.line),
            "nodes": c.nodes, "simulations": c.simulations, "depth": c.depth,
        })
        .to_string()
    }

    fn names(&self, moves: &[Move]) -> String {
        moves.iter().map(|&m| self.table.move_name(m)).collect::<Vec<_>>().join(" ")
    }
}

/// Reads `sims=5000 ms=100`.
pub fn limit(text: &str) -> Result<Limit, String> {
    let mut limit = Limit::default();
    for item in text.split_whitespace() {
        let (key, value) =
            item.split_once('=').ok_or_else(|| format!("a limit reads sims=5000, not \"{}\"", short(item)))?;
        let n: u64 =
            value.parse().map_err(|_| format!("{}= needs a whole number, not \"{}\"", short(key), short(value)))?;
        let n = n.min(u64::MAX / 4);
        match key {
            "sims" => limit.simulations = Some(n),
            "visits" => limit.visits = Some(n),
            "expansions" => limit.expansions = Some(n),
            "nodes" => limit.nodes = Some(n),
            "depth" => limit.depth = Some(n.min(1_000) as u32),
            "ms" => limit.time = Some(Duration::from_millis(n)),
            "cpu_ms" => limit.cpu = Some(Duration::from_millis(n)),
            _ => {
                return Err(format!("no limit is called {}: sims visits expansions nodes depth ms cpu_ms", short(key)));
            }
        }
    }
    Ok(limit)
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    fn engine(game: &str) -> Engine {
        Engine::new(ludex_play::open(game).unwrap(), "uct(sims=30)".parse().unwrap(), 1).unwrap()
    }

    fn ask(e: &mut Engine, line: &str) -> String {
        e.reply(line).unwrap_or_default()
    }

    #[test]
    fn the_framing_is_that_of_gtp() {
        let mut e = engine("connect4");
        assert_eq!(ask(&mut e, "mover"), "= 0\n\n");
        assert_eq!(ask(&mut e, "17 mover # who?"), "=17 0\n\n");
        assert_eq!(ask(&mut e, "# only a comment"), "");
        assert_eq!(ask(&mut e, "   "), "");
        assert_eq!(ask(&mut e, "12"), "?12 unknown command \"\"; list_commands lists them\n\n");
        assert_eq!(ask(&mut e, "moves 4 4"), "=\n\n");
        assert_eq!(ask(&mut e, "known_command genmove"), "= true\n\n");
        for command in COMMANDS {
            assert!(ask(&mut e, &format!("known_command {command}")).starts_with("= true"));
        }
    }

    #[test]
    fn what_fails_changes_nothing() {
        let mut e = engine("connect4");
        ask(&mut e, "moves 4 4 4");
        let before = ask(&mut e, "show");
        let bad = [
            "play 9",
            "play",
            "play 4 4",
            "moves 1 2 99",
            "moves 4 4 4 4",
            "position 48",
            "position 4x",
            "newgame chess",
            "newgame connect4:0x0",
            "agent nobody",
            "agent uct(simz=1)",
            "genmove sims",
            "genmove simz=3",
            "genmove ms=-1",
            "frobnicate",
        ];
        for line in bad {
            let answer = ask(&mut e, line);
            assert!(
                answer.starts_with("? ") && answer.ends_with("\n\n") && answer.trim().lines().count() == 1,
                "{line}: {answer}"
            );
            assert_eq!(ask(&mut e, "show"), before, "{line}");
        }
        ask(&mut e, "position 12121213");
        ask(&mut e, "position 1212121");
        assert!(ask(&mut e, "outcome").starts_with("= 1 -1"));
        assert!(
            ask(&mut e, "legal") == "=\n\n"
                && ask(&mut e, "genmove").starts_with("? ")
                && ask(&mut e, "play 5").starts_with("? ")
        );
    }

    #[test]
    fn a_whole_game_can_be_played_and_taken_back() {
        for game in ["morris", "checkers:6x6", "dots:3x3", "othello:4x4"] {
            let mut e = engine(game);
            let start = ask(&mut e, "show");
            let mut plies = 0;
            while ask(&mut e, "outcome") == "= none\n\n" && plies < 400 {
                assert!(ask(&mut e, "analyze sims=10").contains("\"policy\""));
                assert!(ask(&mut e, "genmove sims=10").starts_with("= "));
                plies += 1;
            }
            (0..plies).for_each(|_| assert_eq!(ask(&mut e, "undo"), "=\n\n"));
            assert_eq!(ask(&mut e, "show"), start);
            assert!(ask(&mut e, "undo").starts_with("? "));
        }
    }

    #[test]
    fn nothing_that_is_typed_panics() {
        let mut rng = Rng::new(3);
        let pieces = [
            "position",
            "moves",
            "play",
            "genmove",
            "agent",
            "newgame",
            "4",
            "a1",
            "h0,1",
            "(",
            ")",
            "=",
            "uct",
            "sims=3",
            "XO-",
            "/",
            "\u{7f}",
            "é",
            "999999999999",
            "-1",
            ":",
            ",",
            "x",
            "seen=",
            "owners=",
            "start",
            "connect4",
            "dots:2x2",
            "#",
        ];
        let mut e = engine("dots:2x2");
        for _ in 0..20_000 {
            let n = 1 + rng.below(6);
            let glue = if rng.below(4) == 0 { "" } else { " " };
            let line: Vec<&str> = (0..n).map(|_| *rng.pick(&pieces).unwrap()).collect();
            let answer = e.reply(&line.join(glue)).unwrap_or_default();
            assert!(answer.is_empty() || answer.starts_with('=') || answer.starts_with('?'));
        }
    }
}
