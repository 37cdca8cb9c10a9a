//! `ludex regret`: how often an agent keeps the value of solved positions.

use crate::errors::{agent_error, usage};
use crate::verbs::{SCHEMA, progress, say};
use crate::work::{Threads, check_bounds, file_name};
use crate::{open, spec};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_play::Table;
use ludex_play::regret::{RegretError, Score, SetPlan, SolvedPosition, ask, bands, score};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// More positions than this are a slip.
const MOST_POSITIONS: usize = 1_000_000;
/// More plies than this are a slip.
const MOST_PLIES: u32 = 1_000;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex regret connect4 --make 500 --plies 12..24 --agent 'uct(sims=1000)'\n  \
    ludex regret tictactoe --positions set.tsv --make 100 --plies 2..6 --agent random --json\n\n\
    A set is a file with a line for each position: POSITION <tab> MOVE=VALUE; MOVE=VALUE; .. where values are 1, 0 or -1 for \
    the mover. It is kept, used again, and goes on where it ended.")]
pub struct Regret {
    /// Which game
    game: String,
    /// The agent to ask, with its limit: a spec (see `ludex agents`) or a .toml file; without one the set is only made
    #[arg(long)]
    agent: Option<String>,
    /// The set of positions; by default below runs/positions
    #[arg(long, value_name = "FILE")]
    positions: Option<PathBuf>,
    /// Make or extend the set to so many positions, each solved for every move
    #[arg(long, value_name = "N")]
    make: Option<usize>,
    /// Random plies before each position
    #[arg(long, value_name = "A..B", default_value = "8..24")]
    plies: String,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave out a position that takes more than so many positions searched
    #[arg(long, default_value_t = 1_000_000_000)]
    nodes: u64,
    /// Megabytes of transposition table for each thread that solves
    #[arg(long, default_value_t = 64)]
    table: usize,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `A..B`, both included.
fn plies(text: &str) -> Result<RangeInclusive<u32>> {
    let parsed = text.split_once("..").and_then(|(a, b)| Some(a.trim().parse().ok()?..=b.trim().parse().ok()?));
    match parsed {
        Some(p) if p.start() <= p.end() && *p.end() <= MOST_PLIES => Ok(p),
        _ => Err(usage(format!("--plies is A..B with A <= B <= {MOST_PLIES}, not \"{text}\""))),
    }
}

/// The first line of a set that was made here: what it depends on.
fn header(table: &dyn Table, plan: &SetPlan) -> String {
    let (game, low, high) = (&table.info().name, plan.plies.start(), plan.plies.end());
    format!("# {game} plies={low}..{high} seed={} nodes={}", plan.seed, plan.nodes)
}

/// The lines of a set, all whole: what an interruption cut off is dropped.
fn read(table: &dyn Table, path: &Path, text: &str) -> Result<Vec<SolvedPosition>> {
    let lines = text.split_inclusive('\n').enumerate().filter(|(_, l)| !l.starts_with('#') && !l.trim().is_empty());
    let whole = lines.filter(|(_, l)| l.ends_with('\n'));
    whole
        .map(|(i, l)| {
            let bad = |e| usage(format!("{}, line {}: {e}", path.display(), i + 1));
            SolvedPosition::parse(table, l.trim_end_matches(['\n', '\r'])).map_err(bad)
        })
        .collect()
}

impl Regret {
    pub fn run(&self) -> Result<()> {
        let threads = self.threads.count()?;
        let table = open(&self.game)?;
        let plan = SetPlan {
            count: self.make.unwrap_or(0),
            plies: plies(&self.plies)?,
            seed: self.seed,
            nodes: self.nodes,
            table: self.table,
            threads,
        };
        check_bounds("--make", plan.count, (0, MOST_POSITIONS))?;
        check_bounds("--table", plan.table, (1, 1 << 16))?;
        if self.nodes == 0 {
            return Err(usage("--nodes must be at least 1"));
        }
        let agent = self.agent.as_deref().map(spec).transpose()?;
        if let Some(agent) = &agent {
            table.agent(agent, 0).map_err(|e| agent_error(&*table, agent, &e))?;
        }
        if !table.info().zero_sum {
            return Err(usage(format!("{} is no two-player zero-sum game: it cannot be solved", table.info().name)));
        }
        if agent.is_none() && self.make.is_none() {
            return Err(usage("give --agent to ask one, or --make to make a set of positions"));
        }
        if self.positions.is_none() && self.make.is_none() {
            return Err(usage("give --positions FILE, or --make N to make a set"));
        }
        let path = self.positions.clone().unwrap_or_else(|| {
            let (low, high) = (plan.plies.start(), plan.plies.end());
            let name = format!("{}-{low}-{high}-{}.tsv", file_name(&table.info().name), plan.seed);
            PathBuf::from("runs/positions").join(name)
        });
        let mut set = self.set(&*table, &path, &plan)?;
        if self.make.is_some() {
            set.truncate(plan.count);
        }
        if set.is_empty() {
            return Err(usage(format!("{} has no positions", path.display())));
        }
        let Some(agent) = agent else {
            return say(format!("{} positions in {}", set.len(), path.display()));
        };
        let bar = progress(set.len() as u64, "positions");
        let asked = ask(&*table, &agent, &set, self.seed, threads, || bar.inc(1));
        bar.finish_and_clear();
        let answers = asked.map_err(|e| match e {
            RegretError::Spec(e) => agent_error(&*table, &agent, &e),
            e => usage(e),
        })?;
        let (all, bands) = (score(answers.iter()), bands(&set, &answers));
        if self.json {
            let bands: Vec<Value> = bands
                .iter()
                .map(|(plies, s)| json!({"plies": [plies.start(), plies.end()], "score": score_json(s)}))
                .collect();
            let object = json!({
                "schema": SCHEMA, "game": table.info().name, "agent": agent, "positions": path, "seed": self.seed,
                "score": score_json(&all), "bands": bands,
            });
            return say(serde_json::to_string_pretty(&object)?);
        }
        say(format!("{agent} at {} solved positions of {}\n", all.positions, table.info().name))?;
        say("plies      positions  keeps the value    95 %           regret    ms a move")?;
        for (plies, s) in &bands {
            say(row(&format!("{}..{}", plies.start(), plies.end()), s))?;
        }
        say(row("all", &all))
    }

    /// The positions: those of the file, and as many more as are wanted, each written as soon as those before it are.
    fn set(&self, table: &dyn Table, path: &Path, plan: &SetPlan) -> Result<Vec<SolvedPosition>> {
        let text = match std::fs::read_to_string(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && self.make.is_some() => String::new(),
            Err(e) if self.make.is_none() => return Err(usage(format!("cannot read {}: {e}", path.display()))),
            other => other.with_context(|| format!("reading {}", path.display()))?,
        };
        let mut set = read(table, path, &text)?;
        if set.len() >= plan.count {
            return Ok(set);
        }
        let header = header(table, plan);
        if !text.is_empty() && text.lines().next() != Some(&header) {
            let line = "was not made with these options, so it cannot be extended";
            return Err(usage(format!("{} {line}: give another --positions", path.display())));
        }
        let writing = || format!("writing {}", path.display());
        path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(writing)?;
        let mut file = open_at_end(path, &text, &header).with_context(writing)?;
        let bar = progress(plan.count as u64, "positions solved");
        bar.set_position(set.len() as u64);
        let made = plan.extend(table, &mut set, |p| {
            bar.inc(1);
            file.write_all(format!("{}\n", p.line(table)).as_bytes())
        });
        bar.finish_and_clear();
        made.with_context(writing)?;
        if set.len() < plan.count {
            eprintln!("only {} positions were found", set.len());
        }
        Ok(set)
    }
}

/// The file, ready to be extended; a line that was cut off is dropped.
fn open_at_end(path: &Path, text: &str, header: &str) -> std::io::Result<File> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    match text.is_empty() {
        true => file.write_all(format!("{header}\n").as_bytes())?,
        false => file.set_len(text.rfind('\n').map_or(0, |i| i + 1) as u64)?,
    }
    Ok(file)
}

fn score_json(s: &Score) -> Value {
    json!({"positions": s.positions, "kept": s.kept, "share": s.share, "interval": [s.interval.low, s.interval.high],
        "mean_regret": s.regret, "cpu_ms_per_move": s.ms})
}

fn row(name: &str, s: &Score) -> String {
    let percent = |x: f64| format!("{:.1}", 100.0 * x);
    let interval = format!("{}..{}", percent(s.interval.low), percent(s.interval.high));
    format!(
        "{name:<10} {:>9}  {:>15} %  {interval:>13}  {:>7.3}  {:>11.2}",
        s.positions,
        percent(s.share),
        s.regret,
        s.ms
    )
}
