//! `ludex bench`: how fast games are played and searched, alone or beside the engines of others.
//!
//! One thread, processor time, medians. With `--peers` each game is measured beside OpenSpiel's C++ loops, and Connect Four
//! beside the Rust crates `minimax` and `board-game`, turn by turn in the same run: only the ratio means anything on a
//! machine that does other things too.

use crate::errors::usage;
use crate::open;
use crate::verbs::{SCHEMA, progress, say};
use anyhow::{Context, Result, bail};
use clap::Parser;
use cpu_time::{ProcessTime, ThreadTime};
use ludex_core::{Control, Rng};
use ludex_play::signature::{node_count, signature};
use ludex_play::{Spec, Table, play_match};
use ludex_train::records::{Child, Records};
use ludex_train::selfplay::self_match;
use ludex_train::store::{self, Run, Silent};
use ludex_train::td_speed;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What is measured: the games in the variants that OpenSpiel has too.
const GAMES: [&str; 10] = [
    "tictactoe",
    "connect4",
    "othello",
    "morris:draw=turns200",
    "dots:3x3",
    "dots:5x5",
    "breakthrough",
    "checkers",
    "gomoku:9x9",
    "gomoku:15x15",
];

/// Where learning is measured.
const LEARNED: &[&str] = &["connect4", "othello", "breakthrough"];

/// Simulations of one measured search, as in OpenSpiel's benchmark.
const SIMULATIONS: u64 = 10_000;
/// Plies of the measured alpha-beta.
const DEPTH: u32 = 12;
const SEED: u64 = 1;
/// How often everything is measured.
const REPEATS: usize = 5;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex bench\n  ludex bench --game othello --game connect4 --json\n  \
    ludex bench --peers     needs Python with open_spiel (./check sets it up in target/venv) and cargo")]
pub struct Bench {
    /// Measure only this game; may be given several times
    #[arg(long, value_name = "GAME")]
    game: Vec<String>,
    /// Measure OpenSpiel, and for Connect Four the fastest Rust crates, beside Ludex
    #[arg(long)]
    peers: bool,
    /// Measure instead how much of a bare search's speed is left when its matches are recorded in a run (two threads)
    #[arg(long, conflicts_with = "peers")]
    generation: bool,
    /// Measure instead how fast NNUE nets of several widths are evaluated, trained and searched with (two threads)
    #[arg(long, conflicts_with_all = ["peers", "generation"])]
    learning: bool,
    /// Seconds of processor time for each of five repeats
    #[arg(long, default_value_t = 0.2)]
    seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Plays a match of an agent against itself and records nothing; gives the number of its searches.
fn bare_match(table: &dyn Table, agent: &Spec, i: usize) -> u64 {
    let seed = Rng::derive(SEED, i as u64);
    let build = |p: usize| table.agent(agent, Rng::derive(seed, p as u64)).expect("a sound spec");
    let mut agents: Vec<_> = (0..table.info().players()).map(build).collect();
    let episode = play_match(table, &*table.start(), &mut agents, &Control::default(), &mut |_| {});
    episode.plies.len() as u64
}

struct Row {
    game: String,
    playouts: f64,
    plies: f64,
    simulations: f64,
    bytes: f64,
    peer: Option<Value>,
}

/// Matches in a part of the generation benchmark: those of `generate.batch` in systems/uct-ccnn.toml.
const BATCH: usize = 10;
/// How long a repeat of it takes at least.
const REPEAT_SECONDS: f64 = 1.0;

/// How fast matches are recorded, and how fast they are only searched.
struct Generation {
    game: String,
    matches: usize,
    examples: u64,
    /// Of recording, by processor time.
    simulations: f64,
    /// Of recording, on two threads by the clock.
    parts: f64,
    /// Recording's share of the bare search's speed, by processor time and by the clock.
    shares: [f64; 2],
}

impl Generation {
    fn to_json(&self) -> Value {
        json!({"game": self.game, "matches": self.matches, "examples": self.examples,
            "simulations_per_cpu_second": self.simulations, "parts_per_second": self.parts,
            "share_of_bare_search": self.shares[0], "share_by_the_clock": self.shares[1]})
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a work gives, and its seconds of processor time and by the clock.
fn timed<T>(work: impl FnOnce() -> T) -> (T, [f64; 2]) {
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let made = work();
    (made, [cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64()])
}

impl Bench {
    /// The same matches with the same seeds in turn: recorded as parts of a run, and searched only, each on two threads.
    /// Evaluation, training, self-play and search with NNUE nets.
    fn learning(&self, games: &[&str]) -> Result<()> {
        let scratch = std::env::temp_dir().join(format!("ludex-bench-{}", std::process::id()));
        let mut rows = Vec::new();
        if !self.json {
            say(format!(
                "{:<22} {:>6} {:>14} {:>18} {:>19} {:>13}",
                "game", "width", "evaluation ns", "examples/s trained", "positions/s played", "pvs nodes/s"
            ))?;
        }
        for game in games {
            let table = open(game)?;
            for width in [128, 256, 512] {
                let r = td_speed(&*table, width, 2, 5.0 * self.seconds, &scratch)?;
                if !self.json {
                    say(format!(
                        "{:<22} {width:>6} {:>14.0} {:>18.0} {:>19.0} {:>13.0}",
                        r.game, r.evaluation_ns, r.training_per_s, r.selfplay_per_s, r.nodes_per_s
                    ))?;
                }
                rows.push(r);
            }
        }
        if self.json {
            let version = env!("CARGO_PKG_VERSION");
            let config = json!({"seconds": 5.0 * self.seconds, "threads": 2, "batch": 512});
            let object =
                json!({"schema": SCHEMA, "version": version, "seed": SEED, "config": config, "learning": rows});
            say(serde_json::to_string_pretty(&object)?)?;
        }
        Ok(())
    }

    fn generation(&self, games: &[String]) -> Result<()> {
        let agent = crate::spec("uct(sims=1000, c=0.78, form=kocsis, reward=signed, final=max)")?;
        let bar = progress((games.len() * REPEATS) as u64, "repeats");
        bar.tick();
        let rows: Result<Vec<Generation>> = games.iter().map(|game| self.recorded(game, &agent, &bar)).collect();
        let rows = rows?;
        bar.finish_and_clear();
        if self.json {
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "seed": SEED,
                "config": {"agent": agent, "repeats": REPEATS, "batch": BATCH, "threads": 2},
                "generation": rows.iter().map(Generation::to_json).collect::<Vec<_>>()});
            return say(serde_json::to_string_pretty(&object)?);
        }
        say(format!("{agent}, {BATCH} matches a part, two threads, medians of {REPEATS} repeats"))?;
        say(
            "game                     simulations/CPU s   parts/s   of the bare search: by CPU   by the clock   matches",
        )?;
        rows.iter().try_for_each(|g| {
            let [cpu, clock] = g.shares.map(|s| 100.0 * s);
            let (game, simulations, parts, matches) = (&g.game, g.simulations, g.parts, g.matches);
            say(format!("{game:<24} {simulations:>17.0} {parts:>9.2} {cpu:>26.1} % {clock:>12.1} % {matches:>9}"))
        })
    }

    fn recorded(&self, game: &str, agent: &Spec, bar: &indicatif::ProgressBar) -> Result<Generation> {
        let table = open(game)?;
        let dir = std::env::temp_dir().join(format!("ludex-bench-{}", std::process::id()));
        let clean = || drop(std::fs::remove_dir_all(&dir));
        let record = |matches: usize| {
            clean();
            let run = Run::open(&dir, "bench = true\n", false, 2, Arc::new(Silent)).context("making a run")?;
            let (made, times) = timed(|| {
                run.stage("start", matches / BATCH, |part| {
                    let mut records = Records::<Child>::new(table.info());
                    for i in part * BATCH..(part + 1) * BATCH {
                        let of = (i as u32, Rng::derive(SEED, i as u64));
                        self_match(&*table, agent, &*table.start(), of, &mut records)?;
                    }
                    Ok(records)
                })
            });
            let examples = made.and_then(|_| store::entries(&dir)).map(|all| all.iter().map(|e| e.rows).sum::<u64>());
            clean();
            anyhow::Ok((examples?, times))
        };
        let search = |matches: usize| {
            let next = AtomicUsize::new(0);
            let one = || {
                let turns = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                let matches = turns.map(|part| part * BATCH..(part + 1) * BATCH).take_while(|part| part.end <= matches);
                matches.flatten().map(|i| bare_match(&*table, agent, i)).sum::<u64>()
            };
            timed(|| {
                std::thread::scope(|scope| [scope.spawn(one), scope.spawn(one)].map(|t| t.join().expect("no panic")))
                    .iter()
                    .sum::<u64>()
            })
        };
        // As many on either thread.
        let least = 2 * BATCH;
        let (_, [_, seconds]) = record(least)?;
        let matches = least * (REPEAT_SECONDS / seconds).clamp(1.0, 1000.0).ceil() as usize;
        let (mut shares, mut parts, mut simulations) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
        let mut examples = 0;
        for _ in 0..REPEATS {
            let (made, recorded) = record(matches)?;
            let (searches, alone) = search(matches);
            examples = made;
            (0..2).for_each(|k| shares[k].push(alone[k] / recorded[k]));
            parts.push((matches / BATCH) as f64 / recorded[1]);
            simulations.push(1000.0 * searches as f64 / recorded[0]);
            bar.inc(1);
        }
        let (simulations, parts, shares) = (median(simulations), median(parts), shares.map(median));
        Ok(Generation { game: table.info().name.clone(), matches, examples, simulations, parts, shares })
    }

    pub fn run(&self) -> Result<()> {
        let games: Vec<String> = match self.game.is_empty() {
            true => GAMES.iter().map(|g| g.to_string()).collect(),
            false => self.game.clone(),
        };
        for game in &games {
            open(game)?; // refuse before anything takes time
        }
        if !(self.seconds > 0.0 && self.seconds <= 60.0) {
            return Err(usage("--seconds is a number above 0 and at most 60"));
        }
        if self.learning {
            let learned: Vec<&str> = games.iter().map(String::as_str).collect();
            return self.learning(if self.game.is_empty() { LEARNED } else { &learned });
        }
        if self.generation {
            return self.generation(&games);
        }
        let peers = if self.peers { Some(Peers::find()?) } else { None };
        let bar = progress(games.len() as u64 + 1, "games");
        bar.tick();
        let mut rows = Vec::new();
        for game in &games {
            rows.push(self.row(game, peers.as_ref())?);
            bar.inc(1);
        }
        let rust = peers.as_ref().filter(|_| games.iter().any(|g| g == "connect4")).map(Peers::rust).transpose()?;
        let (nodes, seconds) = self.alphabeta()?;
        let signatures = self.game.is_empty().then(|| (node_count(), signature()));
        bar.finish_and_clear();
        if self.json {
            self.print_json(&rows, rust, nodes, seconds, signatures)
        } else {
            print(&rows, rust, nodes, seconds, signatures)
        }
    }

    fn row(&self, game: &str, peers: Option<&Peers>) -> Result<Row> {
        let table = open(game)?;
        // Ours, then theirs, then ours again: a machine that slows down meanwhile hurts both.
        let first = self.measure(&*table)?;
        let peer = peers.filter(|_| GAMES.contains(&game)).map(|p| p.openspiel(game)).transpose()?;
        let second = if peer.is_some() { self.measure(&*table)? } else { first };
        let mean = |a: f64, b: f64| (a + b) / 2.0;
        Ok(Row {
            game: game.into(),
            playouts: mean(first.0, second.0),
            plies: mean(first.1, second.1),
            simulations: mean(first.2, second.2),
            bytes: first.3,
            peer,
        })
    }

    /// Playouts a second, plies of each, simulations a second, bytes a node.
    fn measure(&self, table: &dyn Table) -> Result<(f64, f64, f64, f64)> {
        let position = table.start();
        let mut rng = Rng::new(SEED);
        let (mut plies, mut played) = (0, 0);
        let playouts = self.rate(|| {
            let n = 200;
            plies += position.playouts(n, &mut rng).1;
            played += n;
            n
        });
        let spec = format!("uct(sims={SIMULATIONS})").parse()?;
        let mut agent = table.agent(&spec, SEED)?;
        agent.choose(&*position, &Control::default())?;
        let mut bytes = 0.0;
        let simulations = self.rate(|| {
            let choice = agent.choose(&*position, &Control::default()).expect("the agent chose here before");
            bytes = choice.bytes as f64 / choice.nodes.max(1) as f64;
            choice.simulations
        });
        Ok((playouts, plies as f64 / played.max(1) as f64, simulations, bytes))
    }

    /// The median rate of some repeats of a piece of work that says how much it did.
    fn rate(&self, mut work: impl FnMut() -> u64) -> f64 {
        work();
        let rates = (0..REPEATS)
            .map(|_| {
                let start = ThreadTime::now();
                let mut done = 0;
                loop {
                    done += work();
                    let spent = start.elapsed().as_secs_f64();
                    if spent >= self.seconds {
                        return done as f64 / spent;
                    }
                }
            })
            .collect();
        median(rates)
    }

    /// Alpha-beta on Connect Four from the start, without evaluation: nodes, and the median time.
    fn alphabeta(&self) -> Result<(u64, f64)> {
        let table = open("connect4")?;
        let spec = format!("minimax(depth={DEPTH}, ties=first, table=1)").parse()?;
        let mut runs = Vec::new();
        let start = ThreadTime::now();
        while runs.len() < 5 || start.elapsed().as_secs_f64() < 5.0 * self.seconds {
            // A fresh table each time, or the second search would find everything in it; making it is not searching.
            let (mut agent, position) = (table.agent(&spec, SEED)?, table.start());
            let start = ThreadTime::now();
            let nodes = agent.choose(&*position, &Control::default())?.nodes;
            runs.push((start.elapsed().as_secs_f64(), nodes));
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, nodes) = runs[runs.len() / 2];
        Ok((nodes, seconds))
    }

    fn print_json(
        &self,
        rows: &[Row],
        rust: Option<Vec<Value>>,
        nodes: u64,
        seconds: f64,
        signatures: Option<(u64, u64)>,
    ) -> Result<()> {
        let row = |r: &Row| {
            json!({"game": r.game, "playouts_per_s": r.playouts, "plies": r.plies, "sims_per_s": r.simulations,
                "bytes_per_node": r.bytes, "openspiel": r.peer,
                "playouts_ratio": ratio(r, "playouts_per_s", r.playouts), "sims_ratio": ratio(r, "sims_per_s", r.simulations)})
        };
        let object = json!({
            "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "seed": SEED,
            "config": {"seconds": self.seconds, "repeats": 5, "simulations": SIMULATIONS, "depth": DEPTH, "threads": 1, "time": "cpu"},
            "games": rows.iter().map(row).collect::<Vec<_>>(), "rust_peers": rust,
            "alphabeta": {"game": "connect4", "depth": DEPTH, "nodes": nodes, "seconds": seconds, "nodes_per_s": nodes as f64 / seconds},
            "signature": signatures.map(|s| s.0), "signature_hash": signatures.map(|s| format!("{:016x}", s.1)),
        });
        say(serde_json::to_string_pretty(&object)?)
    }
}

fn ratio(row: &Row, key: &str, ours: f64) -> Option<f64> {
    row.peer.as_ref()?.get(key)?.as_f64().map(|theirs| ours / theirs)
}

fn print(
    rows: &[Row],
    rust: Option<Vec<Value>>,
    nodes: u64,
    seconds: f64,
    signatures: Option<(u64, u64)>,
) -> Result<()> {
    let peers = rows.iter().any(|r| r.peer.is_some());
    let head = if peers { "   x OpenSpiel: playouts, simulations" } else { "" };
    say(format!(
        "{:<22} {:>7} {:>13} {:>8} {:>15} {:>11}{head}",
        "game", "plies", "playouts/s", "ns/ply", "simulations/s", "bytes/node"
    ))?;
    for r in rows {
        let times = |key, ours| ratio(r, key, ours).map_or(String::new(), |x| format!("{x:>12.1}"));
        let peer = times("playouts_per_s", r.playouts) + &times("sims_per_s", r.simulations);
        let ns = 1e9 / r.playouts / r.plies;
        say(format!(
            "{:<22} {:>7.1} {:>13.0} {:>8.1} {:>15.0} {:>11.1}{peer}",
            r.game, r.plies, r.playouts, ns, r.simulations, r.bytes
        ))?;
    }
    say(format!(
        "\nalpha-beta, connect4 to depth {DEPTH}: {nodes} nodes in {seconds:.3} s, {:.1} M nodes/s",
        nodes as f64 / seconds / 1e6
    ))?;
    for peer in rust.iter().flatten() {
        say(format!("peer: {peer}"))?;
    }
    match signatures {
        Some((nodes, hash)) => say(format!("signature: {nodes}\nsignature of guided searches too: {hash:016x}")),
        None => Ok(()),
    }
}

/// Where the peers are.
struct Peers {
    tools: PathBuf,
    python: PathBuf,
}

impl Peers {
    /// Looks for `tools` here and above, and for a Python that has OpenSpiel.
    fn find() -> Result<Self> {
        let here = std::env::current_dir()?;
        let root = here.ancestors().find(|d| d.join("tools/openspiel/bench.py").exists());
        let Some(root) = root else {
            bail!("--peers needs the repository: run it there (no tools/openspiel here or above)")
        };
        let python = match std::env::var_os("LUDEX_PYTHON") {
            Some(python) => PathBuf::from(python),
            None => {
                Some(root.join("target/venv/bin/python")).filter(|p| p.exists()).unwrap_or_else(|| "python3".into())
            }
        };
        let found = Command::new(&python).args(["-c", "import pyspiel"]).stderr(Stdio::null()).status();
        if !found.is_ok_and(|s| s.success()) {
            bail!("{} has no open_spiel: ./check sets one up, or set LUDEX_PYTHON", python.display());
        }
        Ok(Peers { tools: root.join("tools"), python })
    }

    fn openspiel(&self, game: &str) -> Result<Value> {
        let script = self.tools.join("openspiel/bench.py");
        let lines = run(Command::new(&self.python).arg(&script).args(["--only", game]), &script)?;
        lines.into_iter().next().with_context(|| format!("OpenSpiel's benchmark printed nothing for {game}"))
    }

    fn rust(&self) -> Result<Vec<Value>> {
        let manifest = self.tools.join("peers/Cargo.toml");
        run(Command::new("cargo").args(["run", "--release", "--quiet", "--manifest-path"]).arg(&manifest), &manifest)
    }
}

/// The JSON lines that a command prints.
fn run(command: &mut Command, what: &Path) -> Result<Vec<Value>> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("running {}", what.display()))?;
    if !output.status.success() {
        bail!("{} failed", what.display());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|l| serde_json::from_str(l).with_context(|| format!("reading what {} printed", what.display())))
        .collect()
}
