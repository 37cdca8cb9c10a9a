//! How fast an NNUE is evaluated, trained and used on a game: what `ludex bench --learning` prints.

use crate::native::native;
use crate::store::{Result, RunError};
use crate::td::TdConfig;
use cpu_time::ThreadTime;
use ludex_core::{Control, Fact, Limit, Player};
use ludex_learn::*;
use ludex_play::{ModelRef, Spec, Table};
use rayon::prelude::*;
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What was measured for one width.
#[derive(Clone, Debug, Serialize)]
pub struct TdSpeed {
    /// The game.
    pub game: String,
    /// The width of the accumulator.
    pub width: usize,
    /// Processor nanoseconds to follow a move and evaluate, one thread.
    pub evaluation_ns: f64,
    /// Examples a second in training, all threads, by the clock.
    pub training_per_s: f64,
    /// Positions a second in self-play one ply ahead, all threads, by the clock.
    pub selfplay_per_s: f64,
    /// Nodes a second of `pvs` with the net, one thread, processor time.
    pub nodes_per_s: f64,
}

/// Measures one width; `scratch` is a file that may be written for a moment. Nets have learned from some games, so that they
/// prune like nets that learn.
pub fn td_speed(table: &dyn Table, width: usize, threads: usize, seconds: f64, scratch: &Path) -> Result<TdSpeed> {
    let (native, info) = (native(table)?, table.info());
    let (survey, facts) = (native.survey(200, 1), info.facts as usize);
    let mut ignored = vec![false; facts];
    survey.mover_facts.iter().for_each(|&f| ignored[f as usize] = true);
    let (phases, most_active) = (Phases::default(), facts.min(survey.most_active * 5 / 4 + 4));
    let config = NnueConfig {
        width,
        facts,
        movers: 2,
        phases: phases.clone(),
        ignored,
        most_active,
        batch: 512,
        average: 0.999,
    };
    let play = TdConfig { opening_plies: 10, epsilon: 0.05, lambda: 0.95, margin: 0.0, wins: false, nodes: 0 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| RunError::Learning(format!("cannot start threads: {e}")))?;
    let mut learner = NnueLearner::new(config, 1)?;
    let quantised = |learner: &NnueLearner| Ok::<_, Error>(Arc::new(QuantisedNnue::new(&learner.net())?));
    let games = |net: &Arc<QuantisedNnue>, seed: u64| native.td_games(net, &play, &phases, 4096, seed);
    let mut replay = Replay::default();
    let first = quantised(&learner)?;
    pool.install(|| (0..16u64).into_par_iter().map(|s| games(&first, s)).collect::<Vec<_>>())
        .into_iter()
        .for_each(|list| replay.push(list, usize::MAX, usize::MAX));

    let (start, mut steps) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        pool.install(|| (0..50).for_each(|_| _ = learner.step(&replay, &[], 1e-3, 1)));
        steps += 50;
    }
    let training_per_s = (512 * steps) as f64 / start.elapsed().as_secs_f64();

    let net = quantised(&learner)?;
    let (start, mut positions) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        let at = positions as u64;
        let lists = pool.install(|| (0..threads as u64 * 4).into_par_iter().map(|s| games(&net, at + s).len()));
        positions += lists.sum::<usize>();
    }
    let selfplay_per_s = positions as f64 / start.elapsed().as_secs_f64();

    let mut position = table.start();
    let (mut stack, mut changes) = (net.stack(), Vec::new());
    net.refresh(&mut stack, &position.facts());
    for m in position.legal() {
        let before = position.facts();
        position.play(m).map_err(|e| RunError::Learning(e.to_string()))?;
        let after = position.facts();
        let only = |a: &[Fact], b: &[Fact]| a.iter().filter(|f| !b.contains(f)).copied().collect::<Vec<_>>();
        changes.push((only(&after, &before), only(&before, &after)));
        position.undo();
    }
    let (start, mut evaluations) = (ThreadTime::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        for (on, off) in changes.iter().cycle().take(10_000) {
            net.push(&mut stack, on, off);
            black_box(net.value(&stack, Player(1)));
            stack.pop();
        }
        evaluations += 10_000;
    }
    let evaluation_ns = start.elapsed().as_secs_f64() * 1e9 / evaluations as f64;

    let encoder = Encoder::facts(facts).with_movers(2)?;
    let (head, net, provenance) = (Head::Value { outputs: 1 }, Net::Nnue(learner.net()), Provenance::default());
    let model = Model { game: info.name.clone(), rules_hash: info.rules_hash, encoder, head, net, provenance };
    std::fs::write(scratch, model.to_bytes()).map_err(|e| RunError::File(scratch.into(), e))?;
    let agent = Spec::word("pvs").with("model", ModelRef::new(scratch));
    let agent = table.agent(&agent, 1).map_err(|e| RunError::Agent("pvs".into(), e));
    let _ = std::fs::remove_file(scratch);
    let (mut agent, mut nodes, mut cpu) = (agent?, 0, 0.0);
    while cpu < seconds {
        // Along a game, so that early and late positions count.
        let mut position = table.start();
        while position.outcome().is_none() {
            let start = ThreadTime::now();
            let choice = agent.choose(&*position, &Control::from(Limit::nodes(50_000)));
            cpu += start.elapsed().as_secs_f64();
            let choice = choice.map_err(|e| RunError::Learning(e.to_string()))?;
            nodes += choice.nodes;
            position.play(choice.mv).map_err(|e| RunError::Learning(e.to_string()))?;
        }
    }
    let (game, nodes_per_s) = (info.name.clone(), nodes as f64 / cpu);
    Ok(TdSpeed { game, width, evaluation_ns, training_per_s, selfplay_per_s, nodes_per_s })
}
