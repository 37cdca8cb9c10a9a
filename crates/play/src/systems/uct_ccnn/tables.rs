//! Tables 1 to 6 of the paper, with ours beside them.
//!
//! The paper's 200 and 600 seconds a move become two numbers of simulations, 1 to 3. Its opponents written for one game are
//! not public: documented ones of our own (`classic`, depth 3) stand in. Its hundred games from the start are repetitions of
//! one or two games; ours begin at random openings, each played with both colours.

use super::{Config, composed};
use crate::arena::Openings;
use crate::spec::Spec;
use crate::stats::Wdl;
use crate::store::RunError;
use crate::systems::Report;
use crate::systems::exhibit::{Duel, Exhibit, Experiment, over_seeds, percent};
use serde::{Deserialize, Serialize};

/// What is played.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-ccnn.toml explains them
pub struct Reproduce {
    pub ratio: u64,
    pub heights: Vec<u32>,
    pub height_games: usize,
    pub mcts_games: usize,
    pub mcts_sims: u64,
    pub budget_games: usize,
    pub ways: Vec<Spec>,
    pub opening_plies: u32,
}

/// A height, and wins, draws and losses not starting and starting.
type Height = (u32, [u32; 3], [u32; 3]);

/// What the paper reports for a game.
struct Paper {
    game: &'static str,
    /// Examples for training and test, error and neurons, with the small and the large budget.
    nets: [(&'static str, &'static str, &'static str); 2],
    /// Wins, draws and losses by height, not starting and starting, with the small and the large budget.
    heights: [&'static [Height]; 2],
    /// NeuralMCTS, not starting and starting.
    mcts: [[u32; 3]; 2],
}

const PAPER: [Paper; 2] = [
    Paper {
        game: "othello",
        nets: [("149,876 + 16,653", "0.015167", "51"), ("144,219 + 16,024", "0.012592", "47")],
        heights: [
            &[
                (3, [100, 0, 0], [0, 0, 100]),
                (4, [0, 0, 100], [0, 0, 100]),
                (5, [0, 0, 100], [0, 0, 100]),
                (6, [0, 0, 100], [100, 0, 0]),
                (7, [0, 0, 100], [0, 0, 100]),
            ],
            &[
                (3, [0, 0, 100], [0, 0, 100]),
                (4, [0, 0, 100], [0, 0, 100]),
                (5, [57, 0, 43], [0, 0, 100]),
                (6, [100, 0, 0], [100, 0, 0]),
                (7, [100, 0, 0], [30, 0, 70]),
            ],
        ],
        mcts: [[156, 6, 38], [154, 3, 43]],
    },
    Paper {
        game: "morris",
        nets: [("167,360 + 18,596", "0.015397", "34"), ("258,260 + 28,696", "0.017419", "37")],
        heights: [
            &[
                (3, [45, 0, 55], [0, 0, 100]),
                (4, [0, 17, 83], [5, 11, 84]),
                (5, [0, 15, 85], [5, 4, 91]),
                (6, [6, 1, 93], [0, 0, 100]),
            ],
            &[
                (3, [100, 0, 0], [0, 0, 100]),
                (4, [0, 4, 96], [0, 4, 96]),
                (5, [65, 35, 0], [0, 1, 99]),
                (6, [0, 3, 97], [1, 9, 90]),
            ],
        ],
        mcts: [[60, 61, 79], [31, 50, 119]],
    },
];

fn counts(wdl: [u32; 3]) -> String {
    format!("{} / {} / {}", wdl[0], wdl[1], wdl[2])
}

fn shown(wdl: &Wdl) -> String {
    counts([wdl.wins, wdl.draws, wdl.losses])
}

fn total<'a>(all: impl Iterator<Item = &'a Wdl>) -> Wdl {
    all.fold(Wdl::default(), |a, b| Wdl::new(a.wins + b.wins, a.draws + b.draws, a.losses + b.losses))
}

/// Milliseconds a move of NeuralMinimax and its opponent where both have the same time.
const EQUAL_MS: u32 = 5;

/// A budget: its label, the paper's, and what was learned with it, seed by seed.
struct Budget {
    label: &'static str,
    paper: &'static str,
    reports: Vec<Report>,
}

fn figure(report: &Report, path: &str) -> f64 {
    report.figures.pointer(path).and_then(|v| v.as_f64()).unwrap_or(f64::NAN)
}

/// What tells a learner to be quiet, not to tune, and how many simulations a move to generate with.
fn fixed(c: f64, sims: u64) -> Vec<String> {
    let quiet = ["measure.games=0", "tune.iterations=0"].map(String::from);
    quiet.into_iter().chain([format!("generate.c={c}"), format!("generate.sims={sims}")]).collect()
}

/// Learns with all seeds.
fn with_seeds(experiment: &Experiment<'_>, label: &str, own: &[String]) -> Result<Vec<Report>, RunError> {
    experiment.seeds.iter().map(|&seed| experiment.learn(label, seed, own)).collect()
}

/// Learns with both budgets and all seeds. The constant is tuned once, by the first run.
fn learned(experiment: &Experiment<'_>, config: &Config) -> Result<(Vec<Budget>, f64), RunError> {
    let first = experiment.learn("small", experiment.seeds[0], &["measure.games=0".to_string()])?;
    let (c, sims) = (figure(&first, "/c"), figure(&first, "/sims") as u64);
    let mut small = vec![first];
    for &seed in &experiment.seeds[1..] {
        small.push(experiment.learn("small", seed, &fixed(c, sims))?);
    }
    let large = with_seeds(experiment, "large", &fixed(c, sims * config.reproduce.ratio))?;
    let budgets = vec![
        Budget { label: "small", paper: "200 s", reports: small },
        Budget { label: "large", paper: "600 s", reports: large },
    ];
    Ok((budgets, c))
}

/// Carries out the paper's experiments.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    let info = experiment.table.info();
    if info.players() != 2 || !info.zero_sum {
        return Err(RunError::Config("the paper's experiments are for zero-sum games of two players".into()));
    }
    let plan = experiment.plan(experiment.seeds[0], &[])?;
    let config: Config = crate::systems::read(&plan.options)?;
    let paper = PAPER.iter().find(|p| p.game == info.family());
    let (budgets, c) = learned(experiment, &config)?;
    let mut all = Vec::new();
    if experiment.wants("Table 1") {
        all.push(table1(&budgets, paper, c));
    }
    let wants = |names: &[&str]| names.iter().any(|n| experiment.wants(n));
    if wants(&["Table 2", "Table 3", "Table 4", "Table 5"]) {
        all.extend(heights(experiment, &config, &budgets, paper)?);
    }
    if experiment.wants("Table 6") {
        all.push(table6(experiment, &config, &budgets, paper, c)?);
    }
    if experiment.wants("Choices") {
        all.push(choices(experiment, &config, &budgets, c)?);
    }
    if experiment.wants("Ways") {
        all.push(ways(experiment, &config, &budgets, c)?);
    }
    if experiment.wants("Budgets") {
        all.push(between_budgets(experiment, &config, &budgets, c)?);
    }
    Ok(all)
}

fn table1(budgets: &[Budget], paper: Option<&Paper>, c: f64) -> Exhibit {
    let columns =
        ["budget", "seed", "simulations", "train + selection + test", "neurons", "train", "selection", "test MSE"];
    let mut e = Exhibit::new("Table 1", "examples, errors and neurons", &columns);
    for (i, b) in budgets.iter().enumerate() {
        if let Some(p) = paper {
            let (examples, mse, units) = p.nets[i];
            let dash = || "-".to_string();
            e.row(["paper".into(), dash(), b.paper.into(), examples.into(), units.into(), dash(), mse.into(), dash()]);
        }
        for r in &b.reports {
            let n = |path: &str| figure(r, path);
            let mse = |name: &str| format!("{:.6}", n(&format!("/metrics/{name}")));
            e.row([
                b.label.into(),
                r.seed.to_string(),
                n("/sims").to_string(),
                format!("{} + {} + {}", n("/train"), n("/selection"), n("/test")),
                n("/units").to_string(),
                mse("train_mse"),
                mse("selection_mse"),
                mse("test_mse"),
            ]);
        }
    }
    e.notes.push(format!("exploration constant {c:.4} by the cross-entropy method, in 2 C sqrt(2 ln N/n) on [-1, 1]"));
    e.notes.push("the paper's error is that of the set which chose the snapshot: compare with `selection`".into());
    e
}

fn heights(
    experiment: &Experiment<'_>,
    config: &Config,
    budgets: &[Budget],
    paper: Option<&Paper>,
) -> Result<Vec<Exhibit>, RunError> {
    let r = &config.reproduce;
    let rivals = experiment.table.rivals();
    let classic = rivals.iter().any(|r| r.1 == "classic");
    let against = if classic { "minimax(depth=3, eval=classic)" } else { "minimax(depth=3)" };
    let against: Spec = against.parse().expect("a sound spec");
    let arena = experiment.arena()?;
    let names = match experiment.table.info().family() {
        "morris" => ["Table 4", "Table 5"],
        _ => ["Table 2", "Table 3"],
    };
    let mut all = Vec::new();
    for (i, b) in budgets.iter().enumerate().filter(|(i, _)| experiment.wants(names[*i])) {
        let title = format!("NeuralMinimax, {} budget (paper: {}), against {against}", b.label, b.paper);
        let columns = ["height", "paper, second", "paper, first", "ours, second", "ours, first", "score", "ms a move"];
        let mut e = Exhibit::new(names[i], title, &columns);
        // Higher than the paper says nothing about it and takes hours.
        let highest = paper.map_or(u32::MAX, |p| p.heights[i].iter().map(|h| h.0).max().unwrap_or(u32::MAX));
        let heights = r.heights.iter().copied().filter(|&h| h <= highest);
        for height in heights.map(Some).chain([None]) {
            let word = height.map_or("time".into(), |h| h.to_string());
            let mut duels: Vec<Duel> = Vec::new();
            for report in &b.reports {
                let mut agent = composed(&config.play.minimax, 0.0, &model_dir(report));
                let mut rival = against.clone();
                match height {
                    Some(height) => agent.set("depth", height),
                    None => {
                        rival.set("depth", 1000);
                        [&mut agent, &mut rival].into_iter().for_each(|s| s.set("cpu_ms", EQUAL_MS));
                    }
                }
                let name = format!("minimax-{}-{word}-{}", b.label, report.seed);
                let openings = Openings::Random(r.opening_plies);
                let seed = height.unwrap_or(0) as u64;
                duels.push(experiment.duel(&arena, &name, [&agent, &rival], r.height_games, openings, seed)?);
            }
            let (score, interval) = over_seeds(&duels);
            let printed = paper.and_then(|p| p.heights[i].iter().find(|h| Some(h.0) == height));
            let quoted = |wdl: Option<[u32; 3]>| wdl.map_or("-".into(), counts);
            let ms = duels.iter().map(|d| d.anchor.ms[0]).sum::<f64>() / duels.len() as f64;
            e.row([
                height.map_or(format!("any, {EQUAL_MS} ms for both"), |h| h.to_string()),
                quoted(printed.map(|h| h.1)),
                quoted(printed.map(|h| h.2)),
                shown(&total(duels.iter().map(|d| &d.anchor.as_second))),
                shown(&total(duels.iter().map(|d| &d.anchor.as_first))),
                percent(score, interval),
                format!("{ms:.2}"),
            ]);
        }
        e.notes.push(format!(
            "ours: {} games a seed and height, {} seeds added up, random openings of {} plies with both colours; the \
            interval is over seeds first, pairs second",
            r.height_games,
            b.reports.len(),
            r.opening_plies
        ));
        e.notes.push("the paper's opponents are not public; ours is documented in crates/rivals and stands in".into());
        all.push(e);
    }
    Ok(all)
}

/// Where the run of a report is: its model stands in a folder there.
fn model_dir(report: &Report) -> std::path::PathBuf {
    report.model.parent().and_then(|p| p.parent()).map_or_else(|| report.model.clone(), |p| p.to_path_buf())
}

fn table6(
    experiment: &Experiment<'_>,
    config: &Config,
    budgets: &[Budget],
    paper: Option<&Paper>,
    c: f64,
) -> Result<Exhibit, RunError> {
    let r = &config.reproduce;
    let arena = experiment.arena()?;
    let title = format!("NeuralMCTS against UCT, {} simulations a move", r.mcts_sims);
    let columns = ["agent", "equal", "seed", "second", "first", "wins", "score", "ms a move: agent, UCT"];
    let mut e = Exhibit::new("Table 6", title, &columns);
    if let Some(p) = paper {
        let [second, first] = p.mcts;
        let wins = 100.0 * (second[0] + first[0]) as f64 / 400.0;
        let score = wins + 50.0 * (second[1] + first[1]) as f64 / 400.0;
        let dash = || "-".to_string();
        e.row([
            "paper".into(),
            "simulations".into(),
            dash(),
            counts(second),
            counts(first),
            format!("{wins:.1} %"),
            format!("{score:.1} %"),
            dash(),
        ]);
    }
    let uct: Spec = format!("uct(c={c}, form=kocsis, reward=signed)").parse().expect("a sound spec");
    let mut literal_ms: f64 = 0.0;
    for (name, spec) in [("literal", &config.play.literal), ("improved", &config.play.mcts)] {
        for equal in ["simulations", "processor time"] {
            let mut duels = Vec::new();
            for report in &budgets[1].reports {
                let mut agent = composed(spec, c, &model_dir(report));
                let mut rival = uct.clone();
                for s in [&mut agent, &mut rival] {
                    match equal {
                        "simulations" => s.set("sims", r.mcts_sims),
                        // As long as UCT thinks about its simulations.
                        _ => s.set("cpu_ms", literal_ms.round().max(1.0)),
                    }
                }
                let file = format!("mcts-{name}-{}-{}", equal.replace(' ', "-"), report.seed);
                let openings = Openings::Random(r.opening_plies);
                let duel = experiment.duel(&arena, &file, [&agent, &rival], r.mcts_games, openings, 7)?;
                let a = &duel.anchor;
                e.row([
                    name.into(),
                    equal.into(),
                    report.seed.to_string(),
                    shown(&a.as_second),
                    shown(&a.as_first),
                    percent(a.win_rate, a.win_interval),
                    percent(a.score, a.interval),
                    format!("{:.2}, {:.2}", a.ms[0], a.ms[1]),
                ]);
                duels.push(duel);
            }
            if equal == "simulations" && literal_ms == 0.0 {
                literal_ms = duels.iter().map(|d| d.anchor.ms[1]).sum::<f64>() / duels.len() as f64;
            }
            let (score, interval) = over_seeds(&duels);
            let all = total(duels.iter().map(|d| &d.anchor.wdl));
            e.row([
                name.into(),
                equal.into(),
                "all".into(),
                shown(&total(duels.iter().map(|d| &d.anchor.as_second))),
                shown(&total(duels.iter().map(|d| &d.anchor.as_first))),
                format!("{:.1} %", 100.0 * all.wins as f64 / all.games().max(1) as f64),
                percent(score, interval),
                String::new(),
            ]);
        }
    }
    e.notes.push(format!("literal: {}; improved: {}", config.play.literal, config.play.mcts));
    e.notes.push(format!(
        "{} games a seed from random openings of {} plies with both colours; intervals over seeds first, pairs second",
        r.mcts_games, r.opening_plies
    ));
    Ok(e)
}

/// The opponent of the cheaper comparisons, and both sides' simulations.
fn yardstick(r: &Reproduce, c: f64) -> (Spec, u64) {
    let sims = (r.mcts_sims / 5).max(1);
    (format!("uct(c={c}, form=kocsis, reward=signed, sims={sims})").parse().expect("a sound spec"), sims)
}

/// What filtering and training are worth: from the same matches, NeuralMCTS as printed with nets that learned differently.
fn choices(experiment: &Experiment<'_>, config: &Config, budgets: &[Budget], c: f64) -> Result<Exhibit, RunError> {
    let r = &config.reproduce;
    let arena = experiment.arena()?;
    let paper = [
        "filter.draws=drop",
        "filter.duplicates=most_visits",
        "train.split=example",
        "train.objective=cascade2",
        "train.output=rprop",
    ];
    let variants: [(&str, &[&str]); 4] = [
        ("paper", &paper),
        ("paper-draws", &[&["filter.draws=keep"], &paper[1..]].concat()),
        ("all-examples", &["filter.matches=all"]),
        ("mover", &["train.view=mover"]),
    ];
    let (uct, sims) = yardstick(r, c);
    let title = format!("what filtering and training are worth: NeuralMCTS as printed against UCT, {sims} simulations");
    let mut e =
        Exhibit::new("Choices", title, &["net", "examples", "neurons", "test MSE", "wins / draws / losses", "score"]);
    let base = &budgets[1].reports[0];
    let mut nets = vec![("ours".to_string(), base.clone())];
    for (name, settings) in variants {
        let own = fixed(c, figure(base, "/sims") as u64).into_iter();
        let own: Vec<String> = own.chain(settings.iter().map(|s| s.to_string())).collect();
        let stages = ["start", "states", "random"];
        match experiment.learn_again(("large", name), base.seed, &stages, &own) {
            Ok(report) => nets.push((settings.join(", "), report)),
            // A game whose roles are not alike has no view of the mover.
            Err(RunError::Config(_)) => {}
            Err(e) => return Err(e),
        }
    }
    for (i, (name, report)) in nets.iter().enumerate() {
        let mut agent = composed(&config.play.literal, c, &model_dir(report));
        agent.set("sims", sims);
        let openings = Openings::Random(r.opening_plies);
        let duel = experiment.duel(&arena, &format!("choices-{i}"), [&agent, &uct], r.mcts_games, openings, 13)?;
        let a = &duel.anchor;
        e.row([
            name.clone(),
            figure(report, "/examples").to_string(),
            figure(report, "/units").to_string(),
            format!("{:.6}", figure(report, "/metrics/test_mse")),
            shown(&a.wdl),
            percent(a.score, a.interval),
        ]);
    }
    e.notes
        .push(format!("seed {}, large budget; test errors are of different sets where the filter differs", base.seed));
    Ok(e)
}

/// What the options of the search are worth: with the same net, it listens to it in different ways.
fn ways(experiment: &Experiment<'_>, config: &Config, budgets: &[Budget], c: f64) -> Result<Exhibit, RunError> {
    let r = &config.reproduce;
    let arena = experiment.arena()?;
    let (uct, sims) = yardstick(r, c);
    let title = format!("what listening to the net is worth: the same net in different searches, {sims} simulations");
    let mut e = Exhibit::new("Ways", title, &["agent", "wins / draws / losses", "score", "ms a move: agent, UCT"]);
    let net = &budgets[1].reports[0];
    for (i, way) in r.ways.iter().enumerate() {
        let mut agent = composed(way, c, &model_dir(net));
        agent.set("sims", sims);
        let openings = Openings::Random(r.opening_plies);
        let duel = experiment.duel(&arena, &format!("ways-{i}"), [&agent, &uct], r.mcts_games, openings, 17)?;
        let a = &duel.anchor;
        let ms = format!("{:.2}, {:.2}", a.ms[0], a.ms[1]);
        e.row([way.to_string(), shown(&a.wdl), percent(a.score, a.interval), ms]);
    }
    e.notes.push(format!("seed {}, large budget, {} games a row, the same openings", net.seed, r.mcts_games));
    Ok(e)
}

/// Whether more generation makes stronger players: more simulations a move as in the paper, or more matches.
fn between_budgets(
    experiment: &Experiment<'_>,
    config: &Config,
    budgets: &[Budget],
    c: f64,
) -> Result<Exhibit, RunError> {
    let r = &config.reproduce;
    let arena = experiment.arena()?;
    let mut e = Exhibit::new(
        "Budgets",
        format!("a large generation budget against a small one, 1 to {}", r.ratio),
        &["budgets", "agent", "seed", "wins / draws / losses", "score"],
    );
    let height = r.heights.iter().copied().find(|&h| h >= 4).unwrap_or(3);
    let minimax = {
        let mut spec = config.play.minimax.clone();
        spec.set("depth", height);
        spec
    };
    let g = &config.generate;
    let [small, large] = [&budgets[0].reports, &budgets[1].reports];
    let part = |n: usize| (n / r.ratio.max(1) as usize).max(1);
    let mut own = fixed(c, figure(&small[0], "/sims") as u64);
    own.extend([format!("generate.matches={}", part(g.matches)), format!("generate.states={}", part(g.states))]);
    let few = with_seeds(experiment, "few", &own)?;
    let sims = [large, small].map(|r| figure(&r[0], "/sims").to_string()).join(" : ");
    let all = [g.matches + g.states * g.repeats, part(g.matches) + part(g.states) * g.repeats];
    let matches = all.map(|n| n.to_string()).join(" : ");
    let pairs = [("", sims + " simulations", large, small), ("matches-", matches + " matches", small, &few)];
    for (mark, compared, large, small) in pairs {
        for (name, spec) in [("NeuralMinimax", &minimax), ("NeuralMCTS", &config.play.mcts)] {
            let mut duels = Vec::new();
            for (small, large) in small.iter().zip(large) {
                let mut agents = [large, small].map(|r| composed(spec, c, &model_dir(r)));
                if name == "NeuralMCTS" {
                    agents.iter_mut().for_each(|a| a.set("sims", (r.mcts_sims / 10).max(1)));
                }
                let file = format!("budgets-{mark}{name}-{}", large.seed);
                let openings = Openings::Random(r.opening_plies);
                let duel = experiment.duel(&arena, &file, [&agents[0], &agents[1]], r.budget_games, openings, 11)?;
                let a = &duel.anchor;
                let seed = large.seed.to_string();
                e.row([compared.clone(), name.into(), seed, shown(&a.wdl), percent(a.score, a.interval)]);
                duels.push(duel);
            }
            let (score, interval) = over_seeds(&duels);
            let all = total(duels.iter().map(|d| &d.anchor.wdl));
            e.row([compared.clone(), name.into(), "all".into(), shown(&all), percent(score, interval)]);
        }
    }
    e.notes.push(format!(
        "simulations a move of generation, or its matches with the small budget's; NeuralMinimax plays at height {height}, NeuralMCTS with {} \
        simulations",
        (r.mcts_sims / 10).max(1)
    ));
    Ok(e)
}
