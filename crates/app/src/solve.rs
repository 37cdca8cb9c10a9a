//! `ludex solve`: is a position won, drawn or lost?

use crate::errors::usage;
use crate::open;
use crate::verbs::{SCHEMA, position, say};
use crate::work::{check_bounds, file_name};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::Rng;
use ludex_play::solve::{Goal, MoveBounds, Prover, best_move, proven_line, unknown_moves, value_of};
use ludex_play::{Control, Limit, Position, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Positions searched for one step of the line that is shown, at most.
const LINE_NODES: u64 = 200_000;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex solve dots:3x2\n  ludex solve connect4 --position 4444335 --table 256\n  \
    ludex solve breakthrough:5x5 --minutes 30 --json\n\nThe same command again goes on: moves that are proven are kept below runs/solve.")]
pub struct Solve {
    /// Which game
    game: String,
    /// The position, as text; the initial one if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    position: Option<String>,
    /// Search so many positions at most
    #[arg(long)]
    nodes: Option<u64>,
    /// Take so many minutes at most
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Megabytes of transposition table
    #[arg(long, default_value_t = 128)]
    table: usize,
    /// Prove the value of every move, not only that of the position
    #[arg(long)]
    every_move: bool,
    /// Where proven moves are kept; by default below runs/solve
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Forget what was proven before
    #[arg(long)]
    fresh: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What is kept of a solution, proven or not.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    game: String,
    rules_hash: String,
    position: String,
    /// Positions searched so far.
    nodes: u64,
    /// By the name of the move: at least, at most, and after how many plies at the latest.
    moves: BTreeMap<String, (i8, i8, Option<u32>)>,
}

impl Kept {
    fn new(table: &dyn Table, at: &dyn Position) -> Self {
        let info = table.info();
        let (game, rules_hash) = (info.name.clone(), format!("{:016x}", info.rules_hash));
        Kept { game, rules_hash, position: at.text(), nodes: 0, moves: BTreeMap::new() }
    }

    /// A file whose name follows from rules and position.
    fn default_path(&self) -> PathBuf {
        let text = format!("{} {}", self.rules_hash, self.position);
        let hash = text.bytes().fold(0u64, |h, b| Rng::derive(h, b as u64));
        let family = file_name(self.game.split(':').next().unwrap_or("game"));
        PathBuf::from("runs/solve").join(format!("{family}-{hash:016x}.json"))
    }

    /// What the file says, if there is one.
    fn read(self, path: &Path) -> Result<Self> {
        let text = match std::fs::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(self),
            other => other.with_context(|| format!("reading {}", path.display()))?,
        };
        match serde_json::from_slice::<Kept>(&text) {
            Ok(kept) if kept.rules_hash == self.rules_hash && kept.position == self.position => Ok(kept),
            _ => Err(usage(format!("{} is of something else: give another --out or --fresh", path.display()))),
        }
    }

    /// Writes it aside and renames it: whoever reads sees the old file or the new one.
    fn write(&self, path: &Path) -> Result<()> {
        let write = || {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            let aside = path.with_extension(format!("{}.part", std::process::id()));
            std::fs::write(&aside, serde_json::to_string_pretty(self)? + "\n")?;
            std::fs::rename(&aside, path)
        };
        write().with_context(|| format!("writing {}", path.display()))
    }

    fn note(&mut self, table: &dyn Table, moves: &[MoveBounds]) {
        let known = moves.iter().filter(|m| (m.low, m.high) != (-1, 1));
        self.moves = known.map(|m| (table.move_name(m.mv), (m.low, m.high, m.plies))).collect();
    }

    fn bounds(&self, table: &dyn Table, at: &dyn Position) -> Vec<MoveBounds> {
        let mut moves = unknown_moves(at);
        for m in &mut moves {
            if let Some(&(low, high, plies)) = self.moves.get(&table.move_name(m.mv)) {
                (m.low, m.high, m.plies) = (low, high, plies);
            }
        }
        moves
    }
}

/// 1, 0 and -1 as people say it.
fn word(value: i8) -> &'static str {
    ["lost", "drawn", "won"][(value + 1) as usize]
}

/// What is certain about a move.
fn known(m: &MoveBounds) -> String {
    match (m.low, m.high) {
        (-1, 1) => "not known".into(),
        (low, high) if low == high => word(low).into(),
        (low, high) => format!("{} or {}", word(low), word(high)),
    }
}

impl Solve {
    pub fn run(&self) -> Result<()> {
        let table = open(&self.game)?;
        let at = position(&*table, self.position.as_deref())?;
        if !(self.minutes > 0.0 && self.minutes <= 7.0 * 24.0 * 60.0) {
            return Err(usage("--minutes is a number above 0, at most 10080"));
        }
        check_bounds("--table", self.table, (1, 1 << 16))?;
        if self.nodes == Some(0) {
            return Err(usage("--nodes must be at least 1"));
        }
        if at.outcome().is_some() {
            return Err(usage("the game is over there"));
        }
        let Some(mut prover) = table.prover(self.table) else {
            return Err(usage(format!("{} is no two-player zero-sum game: it cannot be solved", table.info().name)));
        };
        let kept = Kept::new(&*table, &*at);
        let path = self.out.clone().unwrap_or_else(|| kept.default_path());
        let mut kept = if self.fresh { kept } else { kept.read(&path)? };
        let (begun, mut moves) = (Instant::now(), kept.bounds(&*table, &*at));
        let time = Some(Duration::from_secs_f64(60.0 * self.minutes));
        let control: Control = Limit { nodes: self.nodes, time, ..Limit::default() }.into();
        let goal = if self.every_move { Goal::EveryMove } else { Goal::Value };
        let mut unwritten = None;
        let nodes = prover
            .prove(&*at, &mut moves, goal, &control, &mut |moves| {
                kept.note(&*table, moves);
                if let Err(e) = kept.write(&path) {
                    unwritten.get_or_insert(e);
                }
            })
            .map_err(usage)?;
        if let Some(e) = unwritten {
            return Err(e);
        }
        kept.nodes += nodes;
        kept.write(&path)?;
        self.tell(&*table, &*at, &moves, &kept, &mut *prover, begun.elapsed())
    }

    fn tell(
        &self,
        table: &dyn Table,
        at: &dyn Position,
        moves: &[MoveBounds],
        kept: &Kept,
        prover: &mut dyn Prover,
        time: Duration,
    ) -> Result<()> {
        let value = value_of(moves);
        let best = best_move(moves);
        let line = match best {
            Some(best) => proven_line(prover, at, best.mv, LINE_NODES).map_err(usage)?,
            None => Vec::new(),
        };
        let line: Vec<String> = line.iter().map(|&m| table.move_name(m)).collect();
        let mover = &table.info().roles[at.mover().index()];
        // A loss takes as long as the move that holds out longest, as far as that is known of all.
        let plies = match value {
            Some(-1) => moves.iter().map(|m| m.plies).collect::<Option<Vec<_>>>().and_then(|p| p.into_iter().max()),
            _ => best.and_then(|m| m.plies),
        };
        if self.json {
            let moves: Vec<_> = moves
                .iter()
                .map(|m| json!({"move": table.move_name(m.mv), "low": m.low, "high": m.high, "value": m.value(), "plies_at_most": m.plies}))
                .collect();
            let object = json!({
                "schema": SCHEMA, "game": kept.game, "rules_hash": kept.rules_hash, "position": kept.position, "mover": mover,
                "solved": value.is_some(), "value": value, "plies_at_most": plies,
                "best": best.map(|m| table.move_name(m.mv)), "line": line, "moves": moves, "nodes": kept.nodes,
                "seconds": time.as_secs_f64(),
            });
            return say(serde_json::to_string_pretty(&object)?);
        }
        let within = plies.map_or(String::new(), |n| format!(", in at most {n} plies"));
        match value {
            Some(value) => say(format!("{}: {} for {mover}, who is to move{within}", kept.game, word(value)))?,
            None => say(format!("{}: not solved within these bounds; the same command goes on", kept.game))?,
        }
        if !line.is_empty() {
            say(format!("line       {}", line.join(" ")))?;
        }
        for m in moves {
            say(format!("{:<10} {}", table.move_name(m.mv), known(m)))?;
        }
        say(format!("{} positions searched in all, {:.1} s now", kept.nodes, time.as_secs_f64()))
    }
}
