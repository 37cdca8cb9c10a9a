//! Measures playouts per second of CPU time for rulesheets, sequential and bit-parallel, relative to OpenSpiel's Connect Four.
//!
//! `cargo run --release -p ludex-gdl --example speed -- SHEET.kif ..`; medians of five runs of about a fifth of a second.
//! OpenSpiel is measured before and after each sheet, because the speed of shared machines varies. The mean of the two
//! scales the reference rates, which were taken where OpenSpiel made 108,000 playouts a second.
//! Python is `LUDEX_PYTHON`, else the workspace's virtual environment, else `python3`.

use ludex_core::{Game, Rng};
use ludex_gdl::{GdlGame, GdlOptions};
use std::path::Path;
use std::process::Command;

/// The CPU time of this thread, in seconds.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Runs per second of CPU time: the median of five measurements.
fn rate(mut run: impl FnMut(u64)) -> f64 {
    let mut n = 1;
    loop {
        let start = cpu();
        run(n);
        if cpu() - start > 0.05 {
            break;
        }
        n *= 2;
    }
    n *= 4;
    let mut rates: Vec<f64> = (0..5)
        .map(|_| {
            let start = cpu();
            run(n);
            n as f64 / (cpu() - start)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[2]
}

/// The playouts per second of OpenSpiel in Connect Four; `None` if it is not installed.
fn openspiel() -> Option<f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var("LUDEX_PYTHON").unwrap_or_else(|_| {
        let own = root.join("target/venv/bin/python");
        if own.exists() { own.display().to_string() } else { "python3".into() }
    });
    let script = "import pyspiel,time\n\
        g=pyspiel.load_game('connect_four')\n\
        n=30000\n\
        r=[]\n\
        for seed in range(5):\n\
        \tbot=pyspiel.MCTSBot(g,pyspiel.RandomRolloutEvaluator(n,seed),1.4,1,1000,False,seed,False)\n\
        \tt=time.process_time(); bot.step(g.new_initial_state()); r.append(n/(time.process_time()-t))\n\
        print(sorted(r)[2])";
    let out = Command::new(python).args(["-c", script]).output().ok()?;
    String::from_utf8_lossy(&out.stdout).trim().parse().ok()
}

fn main() {
    let reference_rates = [
        ("ticTacToe", 379_000.0),
        ("connectFour", 117_000.0),
        ("breakthrough", 20_200.0),
        ("checkers", 5_300.0),
        ("reversi", 1_460.0),
        ("hex", 480.0),
    ];
    println!(
        "{:<20}{:>10}{:>12}{:>8}{:>12}{:>8}{:>14}",
        "sheet", "set-up ms", "line/s", "x peer", "lanes/s", "x peer", "OpenSpiel c4/s"
    );
    let mut before = openspiel();
    for path in std::env::args().skip(1) {
        let name = Path::new(&path).file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned());
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("{name}: cannot be read");
            continue;
        };
        let set_up = cpu();
        let game = match GdlGame::new(&name, &text, &GdlOptions::default()) {
            Ok(game) => game,
            Err(e) => {
                println!("{name}: {e}");
                continue;
            }
        };
        let set_up = cpu() - set_up;
        let start = game.initial();
        let mut rng = Rng::new(1);
        let mut totals = vec![0.0; game.info().players()];
        let sequential = rate(|n| {
            game.sequential_playouts(&start, n, &mut rng, &mut totals);
        });
        let parallel = 1_024.0
            * rate(|n| {
                game.bit_parallel_playouts(&start, n * 1_024, &mut rng, &mut totals);
            });
        let after = openspiel();
        let scale = before.zip(after).map(|(a, b)| (a + b) / 2.0);
        before = after;
        let peer = reference_rates.iter().find(|m| m.0 == name).map(|m| m.1 * scale.unwrap_or(108_000.0) / 108_000.0);
        let times = |rate: f64| peer.map_or(String::new(), |p| format!("{:.1}", rate / p));
        let openspiel = scale.map_or("none here".into(), |s| format!("{s:.0}"));
        println!(
            "{name:<20}{:>10.1}{sequential:>12.0}{:>8}{parallel:>12.0}{:>8}{openspiel:>14}",
            set_up * 1e3,
            times(sequential),
            times(parallel)
        );
    }
}
