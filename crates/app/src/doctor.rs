//! `ludex doctor`: what this program runs on, what of it makes it slow, and what to do about it.
//!
//! Nothing is written. The speed is that of uniform playouts of Connect Four on one thread for two seconds; whether other
//! programs compete for the processor is the share of that time in which this thread ran.

use crate::open;
use crate::verbs::{SCHEMA, say};
use anyhow::Result;
use clap::Parser;
use cpu_time::ThreadTime;
use ludex_core::Rng;
use serde::Serialize;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex doctor\n  ludex doctor --json | jq '.checks[] | select(.ok | not)'")]
pub struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How long the playouts are measured.
const MEASURED: Duration = Duration::from_secs(2);

/// Less memory than this is little for transposition tables and self-play.
const LOW_MEMORY: u64 = 1 << 30;

/// Less room than this is little for a run of an hour.
const LOW_DISK: u64 = 1 << 30;

/// Playouts a second below which a processor of the last ten years is held up by something.
const LOW_SPEED: f64 = 1_000_000.0;

/// A line of the report.
#[derive(Serialize)]
struct Check {
    /// What is looked at.
    what: &'static str,
    /// What was found.
    found: String,
    /// Whether nothing need be done.
    ok: bool,
    /// What to do, and why.
    advice: Option<String>,
}

impl Check {
    /// A check that is fine unless there is advice.
    fn new(what: &'static str, found: impl Into<String>, advice: Option<String>) -> Self {
        Check { what, found: found.into(), ok: advice.is_none(), advice }
    }
}

impl Doctor {
    pub fn run(&self) -> Result<()> {
        let speed = Speed::measure()?;
        let checks = [version(), build(), processor(), threads(), memory(), disk(), terminal(), speed.check()];
        if self.json {
            let object = json!({
                "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "ok": checks.iter().all(|c| c.ok),
                "release": !cfg!(debug_assertions), "threads": cores(), "playouts_per_s": speed.playouts_per_s,
                "running_share": speed.running, "checks": checks,
            });
            return say(serde_json::to_string_pretty(&object)?);
        }
        for c in &checks {
            say(format!("{:<10} {:<6} {}", c.what, if c.ok { "ok" } else { "to do" }, c.found))?;
            c.advice.iter().try_for_each(|advice| say(format!("{:17} {advice}", "")))?;
        }
        match checks.iter().filter(|c| !c.ok).count() {
            0 => say("\nall is well"),
            1 => say("\n1 thing to do"),
            n => say(format!("\n{n} things to do")),
        }
    }
}

fn version() -> Check {
    let found = format!("ludex {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    Check::new("version", found, None)
}

fn build() -> Check {
    match cfg!(debug_assertions) {
        true => {
            let advice =
                "assertions and less optimisation make it slower: `cargo build --release`, then target/release/ludex";
            Check::new("build", "debug", Some(advice.into()))
        }
        false => Check::new("build", "release", None),
    }
}

/// The features of the processor that matter here: name, compiled in, there.
#[cfg(target_arch = "x86_64")]
fn features() -> Vec<(&'static str, bool, bool)> {
    macro_rules! features {
        ($($name:tt),*) => {
            vec![$(($name, cfg!(target_feature = $name), std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    features!("popcnt", "bmi2", "avx2", "fma", "avx512f", "avx512vnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<(&'static str, bool, bool)> {
    Vec::new()
}

fn processor() -> Check {
    let features = features();
    if features.is_empty() {
        return Check::new("processor", format!("{}, its own vector instructions", std::env::consts::ARCH), None);
    }
    let list = |wanted: fn(&(&str, bool, bool)) -> bool| {
        let names: Vec<&str> = features.iter().filter(|f| wanted(f)).map(|f| f.0).collect();
        if names.is_empty() { "none".into() } else { names.join(" ") }
    };
    let found = format!("in use: {}; there but not used: {}", list(|f| f.1), list(|f| f.2 && !f.1));
    let of = |name: &str| features.iter().find(|f| f.0 == name).map_or((false, false), |f| (f.1, f.2));
    let advice = match of("avx2") {
        (true, _) => None,
        (false, true) => Some(
            "built without AVX2, up to three times slower: build in the repository, whose .cargo/config.toml asks for it, \
            and without RUSTFLAGS of your own"
                .into(),
        ),
        (false, false) => Some("this processor has no AVX2: nets and rulesheets are up to three times slower here".into()),
    };
    Check::new("processor", found, advice)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn threads() -> Check {
    let advice = (cores() == 1).then(|| "self-play, matches and tuning use all cores, and there is one".into());
    Check::new("threads", format!("{} at once", cores()), advice)
}

/// Bytes in gigabytes.
fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / (1u64 << 30) as f64)
}

/// The bytes of memory that programs can still have, where the system tells.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

fn memory() -> Check {
    let Some(free) = free_memory() else {
        return Check::new("memory", "the system does not tell how much is free", None);
    };
    let low = "end other programs, or use fewer --threads and smaller trees (`nodes=` of a tree search)";
    Check::new("memory", format!("{} free", gigabytes(free)), (free < LOW_MEMORY).then(|| low.into()))
}

/// The folder that a path is in or will be made in: the nearest that exists.
fn existing(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or(path.into());
    whole.ancestors().find(|p| p.exists()).unwrap_or(Path::new("/")).into()
}

/// The free bytes for files in a folder, and whether files can be made there, where the system tells.
#[cfg(unix)]
fn room(folder: &Path) -> Option<(u64, bool)> {
    use rustix::fs::{Access, access, statvfs};
    let stat = statvfs(folder).ok()?;
    let writable = folder.is_dir() && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    Some((stat.f_bavail.saturating_mul(stat.f_frsize), writable))
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<(u64, bool)> {
    None
}

fn disk() -> Check {
    let folder = existing(Path::new("runs"));
    let shown = folder.display();
    match room(&folder) {
        None => Check::new("disk", format!("the system does not tell how much is free in {shown}"), None),
        Some((free, true)) => {
            let low = || "a run of an hour may need more: make room, or give --run DIR on another disk".into();
            let found = format!("{} free for runs/, in {shown}", gigabytes(free));
            Check::new("disk", found, (free < LOW_DISK).then(low))
        }
        Some((_, false)) => {
            let advice = "nothing can be kept: change the directory, or give --run DIR and --out FILE elsewhere";
            Check::new("disk", format!("runs/ cannot be made in {shown}"), Some(advice.into()))
        }
    }
}

fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        return Check::new("terminal", "none: the output goes to a file or program", None);
    }
    let width = terminal_size::terminal_size().map(|(w, _)| w.0);
    let dumb = std::env::var("TERM").is_ok_and(|t| t == "dumb");
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let colour = match (dumb, plain) {
        (true, _) => "no colour (TERM=dumb)",
        (_, true) => "no colour (NO_COLOR)",
        _ => "colour",
    };
    let narrow = |w: u16| (w < 80).then(|| "tables are up to 110 columns wide: make it wider".into());
    let columns = width.map_or("unknown width".into(), |w| format!("{w} columns"));
    Check::new("terminal", format!("{columns}, {colour}"), width.and_then(narrow))
}

/// How fast Connect Four is played.
struct Speed {
    playouts_per_s: f64,
    /// The share of the time in which this thread ran.
    running: f64,
}

impl Speed {
    fn measure() -> Result<Speed> {
        let start = open("connect4")?.start();
        let (mut rng, mut playouts) = (Rng::new(1), 0u64);
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        while wall.elapsed() < MEASURED {
            start.playouts(1000, &mut rng);
            playouts += 1000;
        }
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        Ok(Speed { playouts_per_s: playouts as f64 / wall, running: (cpu / wall).min(1.0) })
    }

    fn check(&self) -> Check {
        let Speed { playouts_per_s, running } = *self;
        let found = format!("{playouts_per_s:.0} random games of Connect Four a second on one thread");
        let advice = match playouts_per_s < LOW_SPEED {
            _ if running < 0.8 => Some(format!(
                "other programs hold the processor {:.0} % of the time: whatever has a time limit plays worse",
                100.0 * (1.0 - running)
            )),
            true if cfg!(debug_assertions) => Some("slow because of the debug build".into()),
            true => Some(format!("slow: {LOW_SPEED} and more are usual; is the processor throttled or emulated?")),
            false => None,
        };
        Check::new("speed", found, advice)
    }
}
