//! Learns a small game and lets what was learned play the same search without it, in colour-swapped pairs.
//!
//! cargo run --release -p ludex-train --example 3_learn

use ludex_core::Stop;
use ludex_play::arena::{Contest, tally};
use ludex_play::openings::Openings;
use ludex_play::stats::score_interval;
use ludex_train::store::{Run, RunObserver};
use ludex_train::{Job, Plan, open, systems::system};
use std::sync::Arc;

/// Prints what the run notes; a program would draw a progress bar.
struct Print;

impl RunObserver for Print {
    fn stage(&self, name: &str, parts: usize, done: usize) {
        println!("{name}: {done} of {parts} parts are there");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = open("connect4:5x5x4")?;
    let plan = Plan::new(&*table, system("nhb")?, "smoke", 1, &["measure.games=0".into()])?;
    let dir = std::env::temp_dir().join(format!("ludex-3_learn-{}", std::process::id()));
    let run = Run::open(&dir, &plan.to_toml(), false, 2, Arc::new(Print))?;
    let report = Job { table: table.clone(), run, plan }.learn()?;
    println!("{}\nagent: {}", report.log.join("\n"), report.agent);

    let agents = vec![report.agent.clone(), "minimax(nodes=1000, table=1)".parse()?];
    let game = table.info().name.clone();
    let contest = Contest { game, agents, pairs: 50, openings: Openings::Random(2), seed: 1, sprt: None };
    let results = contest.run(&*table, vec![], 2, &Stop::new(), |_| {})?;
    let pairs = &tally(&contest, &results)[0].pairs;
    let interval = score_interval(&pairs.pentanomial(), 0.95);
    println!("against the bare search: {:.3} [{:.3}, {:.3}]", pairs.wdl().score(), interval.low, interval.high);
    Ok(std::fs::remove_dir_all(dir)?)
}
