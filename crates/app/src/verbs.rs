//! The small verbs: games, show, perft, agents; and what all verbs print with.

use crate::errors::usage;
use crate::open;
use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ludex_play::views::PositionView;
use ludex_play::{GAMES, OptionInfo, OptionType, PartKind, Position, Table};
use serde_json::{Value, json};
use std::io::Write;

/// The version of the objects that `--json` prints.
pub const SCHEMA: u32 = 1;

/// Prints to standard output; a closed pipe is an error that `main` forgives, not a panic.
pub fn say(text: impl AsRef<str>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_ref().as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// The position that was asked for, or the initial one.
pub fn position(table: &dyn Table, text: Option<&str>) -> Result<Box<dyn Position>> {
    match text {
        None => Ok(table.start()),
        Some(text) => table.position(text).map_err(|e| usage(format!("bad position: {e}"))),
    }
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex games\n  ludex games --json | jq '.games[].name'")]
pub struct Games {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Games {
    pub fn run(&self) -> Result<()> {
        let tables = GAMES.iter().map(|g| Ok((g, open(g.name)?))).collect::<Result<Vec<_>>>()?;
        if self.json {
            let games = tables.iter().map(|(g, t)| {
                let i = t.info();
                json!({
                    "name": g.name, "full_name": i.name, "title": i.title, "options": g.options, "roles": i.roles,
                    "players": i.players(), "moves": i.moves, "facts": i.facts, "zero_sum": i.zero_sum,
                    "rules_hash": format!("{:016x}", i.rules_hash), "start": t.start().text(),
                    "initial_legal": t.start().legal().len(), "mirror": i.mirror.is_some(),
                    "horizon": i.horizon.map(|h| h.plies),
                })
            });
            let object =
                json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "games": games.collect::<Vec<_>>()});
            return say(serde_json::to_string_pretty(&object)?);
        }
        let width = GAMES.iter().map(|g| g.name.len()).max().unwrap_or(0);
        for (g, t) in &tables {
            say(format!("{:width$}  {:<42} {}", g.name, t.info().title, g.options))?;
        }
        say("\nOptions follow a colon, separated by commas: gomoku:9x9, morris:draw=turns200, gomoku:15x15x5,exact")
    }
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex show connect4\n  ludex show connect4 --position 44352\n  \
    ludex show othello --position '---------------------------OX------XO--------------------------- X'\n  \
    ludex show connect4 --position 44352 --json | jq -r '.facts[].name'")]
pub struct Show {
    /// Which game
    game: String,
    /// The position, as text; the initial one if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    position: Option<String>,
    /// Print one JSON object, with the numbers of moves and facts
    #[arg(long)]
    json: bool,
}

/// A position as JSON: moves and facts have the numbers by which nets and records know them.
fn position_json(table: &dyn Table, p: &dyn Position) -> Value {
    let (info, view) = (table.info(), PositionView::new(table, p));
    let numbered = |number: u32, name: &String| json!({"number": number, "name": name});
    let legal = p.legal().iter().zip(&view.legal).map(|(m, name)| numbered(m.0, name)).collect::<Vec<_>>();
    let facts = p.facts().iter().zip(&view.facts).map(|(f, name)| numbered(f.0, name)).collect::<Vec<_>>();
    json!({
        "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "game": info.name, "title": info.title,
        "roles": info.roles, "rules_hash": format!("{:016x}", info.rules_hash), "position": view.text,
        "board": view.board, "mover": view.mover, "role": view.role, "legal": legal, "facts": facts,
        "outcome": view.outcome,
    })
}

impl Show {
    pub fn run(&self) -> Result<()> {
        let table = open(&self.game)?;
        let p = position(&*table, self.position.as_deref())?;
        if self.json {
            return say(serde_json::to_string_pretty(&position_json(&*table, &*p))?);
        }
        let (info, view) = (table.info(), PositionView::new(&*table, &*p));
        say(format!("{} ({})\n\n{}\n", info.title, info.name, view.board))?;
        say(format!("position  {}", view.text))?;
        if let Some(payoffs) = view.outcome {
            say(format!("outcome   {payoffs}"))?;
        }
        if let Some((mover, role)) = view.mover.zip(view.role) {
            say(format!("mover     {mover} ({role})\nlegal     {}", view.legal.join(" ")))?;
        }
        say(format!("facts     {}", view.facts.join(" ")))
    }
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex perft othello 8\n  ludex perft connect4 5 --position 4435 --divide")]
pub struct Perft {
    /// Which game
    game: String,
    /// How many single moves
    depth: u32,
    /// The position, as text; the initial one if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    position: Option<String>,
    /// Also print the count below each first move
    #[arg(long)]
    divide: bool,
}

impl Perft {
    pub fn run(&self) -> Result<()> {
        let table = open(&self.game)?;
        let p = position(&*table, self.position.as_deref())?;
        if self.depth > 1000 {
            return Err(usage(format!("depth {} is beyond 1000 plies", self.depth)));
        }
        if self.depth == 0 {
            return say("1");
        }
        let moves = p.legal();
        let bar = progress(moves.len() as u64, "first moves");
        let mut total = 0u64;
        for m in moves {
            let mut child = p.clone();
            child.play(m).map_err(usage)?;
            let n = child.perft(self.depth - 1);
            total += n;
            bar.inc(1);
            if self.divide {
                say(format!("{} {n}", table.move_name(m)))?;
            }
        }
        bar.finish_and_clear();
        say(total.to_string())
    }
}

/// A progress bar with an estimate of the time left; silent where nobody looks, and during the first moment.
pub fn progress(steps: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {elapsed} elapsed, {eta} left");
    let bar = ProgressBar::new(steps).with_message(what);
    bar.set_style(style.expect("the template is well formed"));
    bar
}

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex agents\n  ludex agents othello      with the yardsticks of that game")]
pub struct Agents {
    /// Also list what only this game has
    game: Option<String>,
}

impl Agents {
    pub fn run(&self) -> Result<()> {
        say(
            "An agent is a name with options in parentheses: uct(sims=5000, c=0.78, form=kocsis, playout=mast(eps=0.2)).",
        )?;
        say("A .toml file with the same keys and name = \"uct\" can stand wherever an agent is asked for.")?;
        // Without a game: what all of them have.
        let table = open(self.game.as_deref().unwrap_or(GAMES[0].name))?;
        let parts = table.parts();
        for kind in PartKind::ALL {
            say(format!("\n{}", heading(kind)))?;
            for part in parts.iter().filter(|p| p.kind == kind && (self.game.is_some() || !p.own)) {
                say(format!("  {:<12} {}", part.name, part.about))?;
                part.options.iter().try_for_each(|o| say(describe(o)))?;
            }
        }
        match &self.game {
            None => say("\nSome games have yardsticks of their own: ludex agents GAME"),
            Some(_) => Ok(()),
        }
    }
}

/// What stands above the parts of a kind: how an option names them.
fn heading(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Search => "Agents",
        PartKind::Select => "select=",
        PartKind::Prior => "prior=",
        PartKind::Expand => "expand=",
        PartKind::Playout => "playout=",
        PartKind::Backup => "backup=",
        PartKind::Evaluator => "eval=",
    }
}

/// A line about an option: its name, what may be typed, what it does, and what it is if nothing is typed.
fn describe(o: &OptionInfo) -> String {
    let values = match o.ty {
        OptionType::Whole(low, high) => format!("{low}..{high}"),
        OptionType::Real(low, high) => format!("{low:?}..{high:?}"),
        OptionType::Word(words) => words.join("|"),
        OptionType::Part(kind) => format!("see {}", heading(kind)),
        OptionType::Model => "PATH".into(),
    };
    let default = if o.default.is_empty() { String::new() } else { format!(" [{}]", o.default) };
    format!("    {:<12} {values:<20} {}{default}", o.name, o.about)
}
