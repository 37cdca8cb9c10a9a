//! `ludex engine`: the text protocol for other programs, with the framing of GTP.
//!
//! `= answer` or `? reason`, then an empty line. `#` starts a comment, a number before the command is echoed. A command
//! that fails changes nothing. `analyze infinite` runs until the next line arrives, or the input ends.

use crate::agents::LearnedAgent;
use crate::errors::agent_error;
use crate::lines::{Inbox, LONGEST_LINE, Line};
use crate::{open, spec};
use anyhow::Result;
use clap::Parser;
use ludex_core::{Control, Limit, LimitKind, Move};
use ludex_play::views::ChoiceView;
use ludex_play::{Session, Spec, Table};
use std::io::{BufReader, Write};
use std::sync::Arc;

#[derive(Parser)]
#[command(
    after_help = "Example:\n  printf 'moves 4 4\\nlegal\\ngenmove sims=2000\\nshow\\nquit\\n' | ludex engine connect4\n\n\
    Commands:\n  name version protocol_version list_commands known_command quit\n  newgame [GAME]  position TEXT  \
    moves M1 M2 ..  play M  undo  legal  mover  outcome  show\n  agent SPEC  level N|NAME  genmove [LIMIT]  analyze [LIMIT]\n\n\
    LIMIT: sims=N visits=N expansions=N nodes=N depth=N ms=N cpu_ms=N, as the agent knows them; \
    analyze infinite runs until the next line arrives"
)]
pub struct Args {
    /// Which game to begin with
    game: String,
    /// Who chooses moves: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = "uct(sims=1000)", conflicts_with = "model")]
    agent: String,
    #[command(flatten)]
    learned: LearnedAgent,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let table = open(&self.game)?;
        let spec = self.learned.spec()?.map_or_else(|| spec(&self.agent), Ok)?;
        let mut engine = Engine::new(table, spec, self.seed)?;
        engine.inbox = Inbox::open(BufReader::new(std::io::stdin()))?;
        engine.serve(&mut std::io::stdout().lock())
    }
}

const COMMANDS: [&str; 19] = [
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
    "level",
    "analyze",
    "show",
];

/// One conversation.
struct Engine {
    session: Session,
    /// The bundle whose levels are meant, if it is not the ready-made one.
    bundle: Option<String>,
    inbox: Arc<Inbox>,
    done: bool,
}

/// The answer to a command: text for `=` or for `?`.
type Answer = Result<String, String>;

impl Engine {
    /// An engine whose input has ended.
    fn new(table: Arc<dyn Table>, spec: Spec, seed: u64) -> Result<Self> {
        let session = Session::new(table.clone(), spec.clone(), seed);
        let session = session.map_err(|e| agent_error(&*table, &spec, &e))?;
        let bundle = spec.name.strip_prefix("level:").and_then(|l| l.split_once('@')).map(|(_, path)| path.to_string());
        Ok(Engine { session, bundle, inbox: Inbox::ended(), done: false })
    }

    /// A level as an agent.
    fn level(&self, level: &str) -> String {
        match &self.bundle {
            Some(path) if !level.contains('@') => format!("level:{level}@{path}"),
            _ => format!("level:{level}"),
        }
    }

    fn serve(&mut self, output: &mut impl Write) -> Result<()> {
        while !self.done
            && let Some(line) = self.inbox.next()?
        {
            let answer = match line {
                Line::Text(text) => self.reply(&text),
                Line::TooLong => Some(format!("? the line is longer than {LONGEST_LINE} bytes\n\n")),
            };
            if let Some(answer) = answer {
                output.write_all(answer.as_bytes())?;
                output.flush()?;
            }
        }
        Ok(())
    }

    /// What a line is answered with; nothing if it holds no command.
    fn reply(&mut self, line: &str) -> Option<String> {
        let line: String = without_comment(line).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
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
            "position" if rest.is_empty() => Err("position needs a text: position TEXT".into()),
            "position" => self.session.set_position(rest).map(quiet).map_err(text),
            "moves" => self.session.play_names(words(rest)).map(quiet).map_err(text),
            "play" if words(rest).len() != 1 => Err("play takes one move".into()),
            "play" => self.session.play_names([rest]).map(quiet).map_err(text),
            "undo" => self.session.undo().then(String::new).ok_or("no move to take back".into()),
            "legal" => Ok(self.names(&self.session.position().legal())),
            "mover" => Ok(self.session.position().mover().0.to_string()),
            "outcome" => Ok(self.session.position().outcome().map_or("none".into(), |p| p.to_string())),
            "show" => Ok(format!("\n{}", self.session.position().show())),
            "level" if rest.is_empty() => Err("level needs a number or a name: level best".into()),
            "level" => self.session.set_agent(Spec::word(self.level(rest))).map(quiet).map_err(text),
            "agent" => self.session.set_agent(spec(rest).map_err(text)?).map(quiet).map_err(text),
            "genmove" => {
                let m = self.session.choose(&limit(rest)?.into()).map_err(text)?.mv;
                self.session.play(m).map_err(|e| format!("the agent failed: {e}"))?;
                Ok(self.session.table().move_name(m))
            }
            "analyze" => self.analyze(rest),
            _ => Err(format!("unknown command \"{}\"; list_commands lists them", short(command))),
        }
    }

    fn newgame(&mut self, name: &str) -> Result<(), String> {
        let table = if name.is_empty() { None } else { Some(open(name).map_err(text)?) };
        let spec = self.session.spec().clone();
        self.session.new_game(table).map_err(|e| format!("the agent {spec} does not play this game: {e}"))
    }

    /// What the agent thinks of the position, as JSON.
    fn analyze(&mut self, rest: &str) -> Answer {
        let control = match rest {
            "infinite" => Control { stop: Some(self.inbox.stop_at_next()), ..Limit::INFINITE.into() },
            _ => limit(rest)?.into(),
        };
        let choice = self.session.choose(&control).map_err(text)?;
        serde_json::to_string(&ChoiceView::new(self.session.table(), &choice)).map_err(text)
    }

    fn names(&self, moves: &[Move]) -> String {
        moves.iter().map(|&m| self.session.table().move_name(m)).collect::<Vec<_>>().join(" ")
    }
}

/// Reads `sims=5000 ms=100`.
fn limit(text: &str) -> Result<Limit, String> {
    let mut limit = Limit::default();
    for item in text.split_whitespace() {
        let Some((key, value)) = item.split_once('=') else {
            return Err(match item {
                "infinite" => "infinite stands alone, and only after analyze".into(),
                _ => format!("a limit reads sims=5000, not \"{}\"", short(item)),
            });
        };
        let Some(kind) = LimitKind::named(key) else {
            let names = LimitKind::ALL.map(LimitKind::name).join(" ");
            return Err(format!("no limit is called {}: {names}", short(key)));
        };
        let n = value.parse().ok().filter(|n| (0..=kind.most()).contains(n));
        let Some(n) = n else {
            let most = kind.most();
            return Err(format!("{key}= needs a whole number from 0 to {most}, not \"{}\"", short(value)));
        };
        limit.set(kind, n);
    }
    Ok(limit)
}

/// The line that an error is.
fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A line up to its comment. A `#` between quotes begins none: a spec may hold one.
fn without_comment(line: &str) -> &str {
    let (mut quoted, mut escaped) = (None, false);
    for (i, c) in line.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if quoted.is_some() => escaped = true,
            '"' => quoted = if quoted.is_some() { None } else { Some(i) },
            '#' if quoted.is_none() => return &line[..i],
            _ => {}
        }
    }
    // A quote that is not closed is an ordinary character.
    let open = quoted.unwrap_or(line.len());
    line[open..].find('#').map_or(line, |i| &line[..open + i])
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
        Engine::new(open(game).unwrap(), "uct(sims=30)".parse().unwrap(), 1).unwrap()
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
            "genmove ms=99999999999",
            "genmove sims=99999999999999999999",
            "genmove depth=3",
            "genmove infinite",
            "analyze nodes=10",
            "analyze infinite sims=10",
            "position",
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
    fn a_limit_that_the_agent_does_not_know_is_refused() {
        let mut e = engine("connect4");
        let has = "sims, visits, expansions, ms, cpu_ms";
        assert_eq!(ask(&mut e, "genmove nodes=100"), format!("? uct has no limit nodes: it has {has}\n\n"));
        assert_eq!(ask(&mut e, "agent minimax(depth=2)"), "=\n\n");
        let has = "nodes, depth, ms, cpu_ms";
        assert_eq!(ask(&mut e, "genmove sims=100"), format!("? minimax has no limit sims: it has {has}\n\n"));
        assert!(ask(&mut e, "genmove nodes=100").starts_with("= "));
        for kind in LimitKind::ALL {
            let answer = ask(&mut e, &format!("genmove {kind}={}", kind.most() + 1));
            assert_eq!(answer.lines().count(), 2, "{answer}");
            assert!(answer.contains(&format!("from 0 to {}", kind.most())), "{answer}");
        }
    }

    #[test]
    fn an_infinite_analysis_ends_with_the_input() {
        let mut e = engine("connect4");
        for agent in ["uct", "minimax", "random"] {
            ask(&mut e, &format!("agent {agent}"));
            assert!(ask(&mut e, "analyze infinite").contains("\"policy\""), "{agent}");
        }
    }

    #[test]
    fn comments_do_not_begin_between_quotes() {
        for (line, kept) in [
            ("a # b", "a "),
            ("#", ""),
            ("a \"b#c\" d # e", "a \"b#c\" d "),
            ("a \"b # c", "a \"b "),
            ("a \"b\\\"#c\" # d", "a \"b\\\"#c\" "),
            ("a", "a"),
        ] {
            assert_eq!(without_comment(line), kept);
        }
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
            "analyze",
            "infinite",
            "nodes=9",
            "\"",
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
