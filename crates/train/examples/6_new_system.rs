//! A system of one's own in the same driver: UCT plays itself, and an extreme learning machine learns the results.

use ludex_core::Rng;
use ludex_learn::{Head, OsElm, OsElmConfig};
use ludex_play::{Spec, Table};
use ludex_train::dataset::{Duplicates, ValueLabel, ValueLabels, for_each_row};
use ludex_train::encoders::{Coding, View, encoder};
use ludex_train::store::{Run, RunError, Silent};
use ludex_train::{Context, Job, Learned, Plan, Stream, measure::Measure, records::Played, systems::TypedSystem};

struct Results;

#[derive(serde::Deserialize)]
struct Options {
    matches: usize,
    agent: Spec,
    measure: Measure,
}

impl TypedSystem for Results {
    type Options = Options;
    const NAME: &'static str = "results";
    const ABOUT: &'static str = "a value net on the results of UCT's matches";
    const FILE: &'static str = "matches = 200\nagent = 'uct(sims=50)'\npreset.quick = {}\n[measure]\ngames = 40\n\
        cpu_ms = 2\nminutes = 1.0\nlevels = 4\nlevel_games = 20\nlevel_ms = 1\nlevel_budget = 50\nopening_plies = 2\n";

    fn check(o: &Options, table: &dyn Table) -> Result<(), RunError> {
        table.check(&o.agent).map_err(|e| RunError::Agent("agent".into(), e))
    }
    fn agent(_: &Options, cx: &Context<'_>) -> Spec {
        Spec::word("neural").with("rule", "mean").with("model", cx.learned_model())
    }
    fn learn(o: &Options, cx: &Context<'_>) -> Result<Learned, RunError> {
        let play = ludex_train::selfplay::SelfPlay { stage: "play", agent: &o.agent, matches: o.matches, batch: 20 };
        let seed = |i: usize| Rng::derive(cx.seed(Stream::SelfPlay), i as u64);
        let parts = play.run::<Played>(cx, |i| Ok((cx.table.start(), i as u32, seed(i))))?;
        let (encoder, mut labels) = (encoder(cx.table, View::Auto, Coding::Facts)?, ValueLabels::new(Duplicates::Mean));
        for_each_row(&parts, |part, i| {
            let Played { mover, result: value, match_id, .. } = part.row(i);
            labels.add(part.key(i), ValueLabel { facts: part.facts(i), mover, value, weight: 1.0, rank: 0, match_id });
        })?;
        let data = labels.dataset(cx.info(), &encoder, 0, &mut cx.rng(Stream::Sample))?.data;
        let config = OsElmConfig { hidden: 60, bound: 0.3, ridge: 1.0, keep: 1.0 };
        let mut elm = OsElm::new(config, encoder.inputs(), 1, cx.seed(Stream::Weights))?;
        elm.learn(&data, &(0..data.len() as u32).collect::<Vec<_>>())?;
        cx.run.keep_model("final", &cx.model(&encoder, Head::Value { outputs: 1 }, elm.net(), &data, &[]))?;
        let (log, unlearned) = (vec![format!("{} states", data.len())], Spec::word("uct"));
        let (agent, measure, figures) = (Self::agent(o, cx), o.measure.clone(), serde_json::Value::Null);
        Ok(Learned { agent, unlearned, measure, curves: vec![], log, figures })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (table, dir) = (ludex_train::open("breakthrough:5x5")?, std::env::temp_dir().join("ludex-6_new_system"));
    let plan = Plan::new(&*table, &Results, "quick", 1, &[])?;
    let run = Run::open(&dir, &plan.to_toml(), true, 2, std::sync::Arc::new(Silent))?;
    println!("{}", Job { table, run, plan }.learn_with(&Results)?.text());
    Ok(std::fs::remove_dir_all(dir)?)
}
