//! The paper's figures and its Table 1, with ours beside them.
//!
//! The paper plays at equal node visits and leaves the net's time out; we also play at equal processor time. Its test compares
//! scores (2 wins + draws - losses) as if they were counts, and its two sides' wins come from the same games: we give the exact
//! sign test on colour-swapped pairs, and Fisher's test where it is valid, between the games that either side began.

use super::{Config, Decay, Job, sweep};
use crate::arena::{Contest, Openings, tally};
use crate::plot::{Frame, Series, svg};
use crate::selfplay::random_length;
use crate::spec::Spec;
use crate::stats::{Pentanomial, Wdl, fisher_exact, sign_test};
use crate::store::{Json, Run, RunError};
use crate::systems::Report;
use crate::systems::exhibit::{Duel, Exhibit, Experiment, over_seeds, percent, plot_file};
use cpu_time::ThreadTime;
use ludex_core::Rng;
use ludex_search::mcts::Keep;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is played.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/uct-nn.toml explains them
pub struct Reproduce {
    pub games: usize,
    pub work: f64,
    pub least_games: usize,
    pub top: u64,
    pub time_top: u64,
    pub opening_plies: u32,
    pub constants: Vec<f64>,
    pub boards: Vec<String>,
    pub limits: Vec<u64>,
    pub tournament_games: usize,
    pub hidden: Vec<usize>,
    pub rates: Vec<f64>,
    pub sweep_epochs: u32,
    pub sweep_patterns: usize,
}

/// A pruning scheme of the paper.
#[derive(Clone, Copy)]
struct Scheme {
    name: &'static str,
    /// The same, in a spec.
    spec: &'static str,
    share: f64,
    keep: Keep,
}

const SCHEMES: [Scheme; 5] = [
    Scheme { name: "constant 25 %", spec: "constant", share: 0.25, keep: Keep::Constant(0.25) },
    Scheme { name: "constant 50 %", spec: "constant", share: 0.5, keep: Keep::Constant(0.5) },
    Scheme { name: "constant 75 %", spec: "constant", share: 0.75, keep: Keep::Constant(0.75) },
    Scheme { name: "exponential", spec: "exponential", share: 0.5, keep: Keep::EXPONENTIAL },
    Scheme { name: "linear", spec: "linear", share: 0.5, keep: Keep::Linear(0.5) },
];

/// The paper's Table 1 for 5x5, in the order of [`SCHEMES`]: whether UCT-NN scored more or less than UCT, and p, where the text
/// of the paper that we have can be read.
const PAPER: [(u64, [&str; 5]); 9] = [
    (610, ["- 0.8335", "- <0.0001", "- <0.0001", "+ <0.0001", "+ <0.0001"]),
    (1221, ["- <0.0001", "- <0.0001", "- <0.0001", "+ <0.0001", "+ 0.0023"]),
    (2442, ["+", "- <0.0001", "-", "+ <0.0001", "+ 0.0002"]),
    (4883, ["-", "- 0.0061", "-", "+ <0.0001", "+ <0.0001"]),
    (9766, ["- 0.2513", "- <0.0001", "- 0.0745", "+ <0.0001", "+ <0.0001"]),
    (19532, ["- 0.403", "- <0.0001", "- 0.8335", "+ 0.1431", "+ 0.018"]),
    (39063, ["- 0.0174", "- <0.0001", "- <0.0001", "+ 0.6059", "- <0.0001"]),
    (78125, ["- <0.0001", "- <0.0001", "- <0.0001", "- 0.8392", "- <0.0001"]),
    (156250, ["- <0.0001", "- <0.0001", "- <0.0001", "- 0.001", "- <0.0001"]),
];

/// The node-visit limits of the paper, 20,000,000 halved fifteen times, up to `top`.
fn limits(top: u64) -> Vec<u64> {
    let limit = |halved: u32| (20_000_000.0 / 2f64.powi(halved as i32)).ceil() as u64;
    let all = (0..=15).rev().map(|k| if k == 15 { 610 } else { limit(k) });
    all.filter(|&l| l <= top.max(610)).collect()
}

/// The paper's score.
fn points(wdl: &Wdl) -> i64 {
    2 * wdl.wins as i64 + wdl.draws as i64 - wdl.losses as i64
}

fn shown(wdl: &Wdl) -> String {
    format!("{} / {} / {}", wdl.wins, wdl.draws, wdl.losses)
}

fn total<'a>(all: impl Iterator<Item = &'a Wdl>) -> Wdl {
    all.fold(Wdl::default(), |a, b| Wdl::new(a.wins + b.wins, a.draws + b.draws, a.losses + b.losses))
}

/// A p-value with as many digits as say something.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") }
}

/// Where the run of a report is: its model stands in a folder there.
fn run_of(report: &Report) -> PathBuf {
    report.model.parent().and_then(|p| p.parent()).map_or_else(|| report.model.clone(), |p| p.to_path_buf())
}

/// Nothing is measured after learning: the tables do that.
fn quiet() -> Vec<String> {
    vec!["measure.games=0".into()]
}

/// Carries out the paper's experiments.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    let info = experiment.table.info();
    if info.players() != 2 || !info.zero_sum {
        return Err(RunError::Config("the paper's experiments are for zero-sum games of two players".into()));
    }
    let plan = experiment.plan(experiment.seeds[0], &[])?;
    let config: Config = crate::systems::read(&plan.options)?;
    let wants = |names: &[&str]| names.iter().any(|n| experiment.wants(n));
    let mut all = Vec::new();
    if wants(&["Figure 3", "Figure 4"]) {
        all.extend(tournament(experiment, &config)?);
    }
    if experiment.wants("Figure 5") {
        all.push(figure5(experiment)?);
    }
    if wants(&["Nets", "Table 1", "Figure 6", "Time", "Cost", "Sweep"]) {
        let learned = |&seed: &u64| experiment.learn("learn", seed, &quiet());
        let reports = experiment.seeds.iter().map(learned).collect::<Result<Vec<_>, _>>()?;
        if experiment.wants("Nets") {
            all.push(nets(&reports));
        }
        if experiment.wants("Sweep") {
            all.push(sweep_table(experiment, &config)?);
        }
        if experiment.wants("Cost") {
            all.push(cost(experiment, &reports[0])?);
        }
        if wants(&["Table 1", "Figure 6", "Time"]) {
            all.extend(Pruning { experiment, config: &config, reports: &reports }.exhibits()?);
        }
    }
    Ok(all)
}

/// A constant's results over all boards and limits.
#[derive(Clone, Copy, Default)]
struct Standing {
    first: Wdl,
    second: Wdl,
    /// Tournaments in which it scored most as first, as second, and in all; equals count in full.
    best: [u32; 3],
}

/// Figures 3 and 4: every constant against every other, on every board, at every limit.
fn tournament(experiment: &Experiment<'_>, config: &Config) -> Result<Vec<Exhibit>, RunError> {
    let r = &config.reproduce;
    let name = &experiment.table.info().name;
    let opened: Result<Vec<_>, _> = match r.boards.first().is_some_and(|b| b == name) {
        true => r.boards.iter().map(|b| crate::open(b).map_err(|e| RunError::Config(e.to_string()))).collect(),
        false => crate::open(name).map(|t| vec![t]).map_err(|e| RunError::Config(e.to_string())),
    };
    let boards = opened?;
    let arena = experiment.arena()?;
    let seed = Rng::derive(experiment.seeds[0], 31);
    let mut standings = vec![Standing::default(); r.constants.len()];
    let columns =
        ["C", "board", "visits", "first", "second", "score 2W+D-L: first", "second", "total", "share of points"];
    let mut rows = Exhibit::new("Figure 3", "exploration constants of UCT against one another", &columns);
    for (b, table) in boards.iter().enumerate() {
        for (l, &limit) in r.limits.iter().enumerate() {
            let agent = |c: &f64| {
                let mut spec = config.play.uct.clone();
                spec.set("c", c);
                spec.set("visits", limit);
                spec
            };
            let contest = Contest {
                game: table.info().name.clone(),
                agents: r.constants.iter().map(agent).collect(),
                pairs: r.tournament_games.div_ceil(2),
                openings: Openings::Random(0),
                seed: Rng::derive(seed, (100 * b + l) as u64),
                sprt: None,
            };
            let file = format!("constants-{}-{limit}", table.info().name.replace(|c: char| !c.is_alphanumeric(), "-"));
            let results = arena.contest(&file, &**table, &contest)?;
            let mut now = vec![Standing::default(); r.constants.len()];
            for t in tally(&contest, &results) {
                let (first, second) = (t.pairs.first(), t.pairs.second());
                let add = |to: &mut Wdl, wdl: Wdl| *to = total([*to, wdl].iter());
                add(&mut now[t.a].first, first);
                add(&mut now[t.a].second, second);
                add(&mut now[t.b].first, second.flipped());
                add(&mut now[t.b].second, first.flipped());
            }
            let scores = |s: &Standing| [points(&s.first), points(&s.second), points(&s.first) + points(&s.second)];
            for (k, s) in now.iter().enumerate() {
                let [first, second, both] = scores(s);
                for (i, mine) in scores(s).into_iter().enumerate() {
                    standings[k].best[i] += now.iter().all(|o| scores(o)[i] <= mine) as u32;
                }
                standings[k].first = total([standings[k].first, s.first].iter());
                standings[k].second = total([standings[k].second, s.second].iter());
                rows.row([
                    r.constants[k].to_string(),
                    table.info().name.clone(),
                    limit.to_string(),
                    shown(&s.first),
                    shown(&s.second),
                    first.to_string(),
                    second.to_string(),
                    both.to_string(),
                    format!("{:.1} %", 100.0 * total([s.first, s.second].iter()).score()),
                ]);
            }
        }
    }
    let line = |f: &dyn Fn(&Standing) -> f64| -> Vec<(f64, f64)> {
        r.constants.iter().zip(&standings).map(|(&c, s)| (c, f(s))).collect()
    };
    let both = |s: &Standing| (points(&s.first) + points(&s.second)) as f64;
    let frame = Frame { title: "Scores of exploration constants", x: "C", y: "2 wins + draws - losses", log_x: false };
    let series = [
        Series::line("first", line(&|s| points(&s.first) as f64)),
        Series::line("second", line(&|s| points(&s.second) as f64)),
        Series::line("total", line(&both)),
    ];
    rows.plot = Some(plot_file(experiment, "figure3.svg", &svg(&frame, &series))?);
    rows.notes.push(format!(
        "{} games between each two constants, half from each seat, from the start; first and second: wins / draws / losses",
        2 * r.tournament_games.div_ceil(2)
    ));
    rows.notes.push("the score rewards draws: the share of points (a draw being half a win) stands beside it".into());
    let columns = [
        "C",
        "best as first",
        "best as second",
        "best in all",
        "wins / draws / losses",
        "score 2W+D-L",
        "share of points",
    ];
    let mut sums =
        Exhibit::new("Figure 4", "how often a constant was best, and its score over all boards and limits", &columns);
    for (c, s) in r.constants.iter().zip(&standings) {
        let wdl = total([s.first, s.second].iter());
        let [first, second, all] = s.best.map(|n| n.to_string());
        sums.row([
            c.to_string(),
            first,
            second,
            all,
            shown(&wdl),
            points(&wdl).to_string(),
            format!("{:.1} %", 100.0 * wdl.score()),
        ]);
    }
    let frame = Frame { title: "How often a constant was best", x: "C", y: "tournaments", log_x: false };
    let series = [
        Series::line("as first", line(&|s| s.best[0] as f64)),
        Series::line("as second", line(&|s| s.best[1] as f64)),
        Series::line("in all", line(&|s| s.best[2] as f64)),
    ];
    sums.plot = Some(plot_file(experiment, "figure4.svg", &svg(&frame, &series))?);
    sums.notes.push("the paper: C = 2 most often best, C = 1 and C = 2 with equal scores, C = 1.41 settled on".into());
    Ok([rows, sums].into_iter().filter(|e| experiment.wants(&e.name)).collect())
}

/// Figure 5: what share of the moves each scheme drops, ply by ply, where every move takes one away.
fn figure5(experiment: &Experiment<'_>) -> Result<Exhibit, RunError> {
    let n0 = experiment.table.start().legal().len();
    let mut columns = vec!["ply"];
    columns.extend(SCHEMES.map(|s| s.name));
    let mut e = Exhibit::new("Figure 5", format!("share of the children dropped, {n0} moves at the start"), &columns);
    let dropped = |s: &Scheme, d: usize| {
        let n = n0 - d;
        100.0 * (n - s.keep.kept(n, d as u32, n0)) as f64 / n as f64
    };
    for d in 0..n0 {
        let mut row = vec![d.to_string()];
        row.extend(SCHEMES.iter().map(|s| format!("{:.0} %", dropped(s, d))));
        e.rows.push(row);
    }
    let line = |s: &Scheme| Series::line(s.name, (0..n0).map(|d| (d as f64, dropped(s, d))).collect());
    let frame = Frame { title: "Share of the children dropped", x: "ply", y: "per cent", log_x: false };
    e.plot = Some(plot_file(experiment, "figure5.svg", &svg(&frame, &SCHEMES.iter().map(line).collect::<Vec<_>>()))?);
    e.notes.push(
        "exponential: p = 0.5 exp(-0.23 d), our formula for what the paper says in words; linear: floor(0.5 n0) - d"
            .into(),
    );
    if n0 != experiment.table.info().moves as usize {
        e.notes.push("in this game a move does not take one away: the plies shown are as if it did".into());
    }
    Ok(e)
}

fn figure(report: &Report, path: &str) -> f64 {
    report.figures.pointer(path).and_then(|v| v.as_f64()).unwrap_or(f64::NAN)
}

/// The nets that the tables use.
fn nets(reports: &[Report]) -> Exhibit {
    let columns = [
        "seed",
        "simulations",
        "train + generalisation + test",
        "net",
        "epoch",
        "MSE: train",
        "generalisation",
        "test",
        "best move kept: 25 %",
        "50 %",
        "75 % dropped",
    ];
    let mut e = Exhibit::new("Nets", "patterns and errors", &columns);
    let dash = || "-".to_string();
    let paper = ["paper", "-", "5,815 + 18,260 + 0", "25-30-25", "15000 of 20000"].map(String::from);
    e.rows.push(paper.into_iter().chain((0..6).map(|_| dash())).collect());
    for r in reports {
        let n = |path: &str| figure(r, path);
        let metric = |name: &str| n(&format!("/metrics/{name}"));
        let share = |name: &str| format!("{:.1} %", 100.0 * metric(name));
        e.row([
            r.seed.to_string(),
            n("/sims").to_string(),
            format!("{} + {} + {}", n("/train"), n("/generalisation"), n("/test")),
            format!("{}-{}-{}", n("/inputs"), n("/hidden"), n("/outputs")),
            format!("{} of {}", metric("epoch"), metric("epochs")),
            format!("{:.5}", metric("train_mse")),
            format!("{:.5}", metric("generalisation_mse")),
            format!("{:.5}", metric("test_mse")),
            share("kept_of_25"),
            share("kept_of_50"),
            share("kept_of_75"),
        ]);
    }
    e.notes.push(
        "best move kept: how often, on untouched patterns, UCT's most visited move survives when the net drops so many"
            .into(),
    );
    e
}

/// The sweep over hidden sizes, rates and decays.
fn sweep_table(experiment: &Experiment<'_>, config: &Config) -> Result<Exhibit, RunError> {
    let seed = experiment.seeds[0];
    let plan = experiment.plan(seed, &quiet())?;
    let dir = experiment.dir.join(format!("learn-seed{seed}"));
    let run = Run::open(&dir, &plan.to_toml(), true, experiment.threads, experiment.watch)?;
    let swept = sweep(&Job { table: experiment.table, run: &run, plan: &plan }, config)?;
    let columns = ["hidden", "rate", "decay", "epoch", "MSE: train", "generalisation"];
    let mut e = Exhibit::new("Sweep", "hidden sizes, rates and decays", &columns);
    for s in &swept {
        e.row([
            s.hidden.to_string(),
            s.rate.to_string(),
            format!("{:?}", s.decay).to_lowercase(),
            s.chosen.epoch.to_string(),
            format!("{:.5}", s.chosen.train),
            s.chosen.generalisation.map_or("-".into(), |g| format!("{g:.5}")),
        ]);
    }
    let error = |s: &super::Swept| s.chosen.generalisation.unwrap_or(s.chosen.train);
    if let Some(best) = swept.iter().min_by(|a, b| error(a).total_cmp(&error(b))) {
        let lower = |d: Decay| swept.iter().filter(move |s| s.decay == d);
        let pairs = lower(Decay::Exponential).zip(lower(Decay::Linear));
        let (wins, n) = pairs.fold((0, 0), |(w, n), (a, b)| (w + (error(a) < error(b)) as usize, n + 1));
        let decay = format!("{:?}", best.decay).to_lowercase();
        e.notes.push(format!(
            "lowest: {} hidden, rate {}, {decay}; exponential lower than linear in {wins} of {n}",
            best.hidden, best.rate
        ));
    }
    e.notes.push("the paper: 30 hidden, rate 0.01, exponential always lower (3,000 epochs, by eye)".into());
    e.notes.push(format!(
        "seed {seed}, {} epochs, at most {} patterns",
        config.reproduce.sweep_epochs, config.reproduce.sweep_patterns
    ));
    Ok(e)
}

/// What the net costs, beside a random playout.
fn cost(experiment: &Experiment<'_>, report: &Report) -> Result<Exhibit, RunError> {
    let table = experiment.table;
    let path = report.model.display().to_string();
    let loaded = crate::nets::load(&path, table.info()).map_err(RunError::Config)?;
    let mut scratch = loaded.net.scratch();
    let columns = ["plies from the start", "net, microseconds", "with the facts", "random playout", "both / playout"];
    let mut e = Exhibit::new(
        "Cost",
        "a call of the net, as at each expansion, beside a random playout from the same state",
        &columns,
    );
    let length = random_length(table) as u32;
    const CALLS: u64 = 20_000;
    for plies in [0, length / 4, length / 2] {
        let mut rng = Rng::stream(1, plies as u64);
        let position = super::opening(table, plies, &mut rng);
        let (moves, mover) = (position.legal(), position.mover());
        let mut scores = vec![0.0; moves.len()];
        let mut facts = position.facts();
        let mut clock = |fresh: bool| {
            microseconds(CALLS, || {
                if fresh {
                    position.facts_into(&mut facts);
                }
                loaded.net.rank_moves(&facts, mover, std::hint::black_box(&moves), &mut scratch, &mut scores);
                std::hint::black_box(&scores);
            })
        };
        let (net, whole) = (clock(false), clock(true));
        let mut rng = Rng::stream(2, plies as u64);
        let playout = microseconds(1, || std::hint::black_box(position.playouts(CALLS, &mut rng))) / CALLS as f64;
        let ratio = format!("{:.2}", whole / playout);
        e.row([plies.to_string(), format!("{net:.3}"), format!("{whole:.3}"), format!("{playout:.3}"), ratio]);
    }
    e.notes.push(format!(
        "processor time, {CALLS} calls each, the least of five runs; a node is expanded once, at its second visit, and \
        played out from at its first"
    ));
    Ok(e)
}

/// Processor time of a call, the least of five runs: other loads on the machine only ever add.
fn microseconds<T>(calls: u64, mut call: impl FnMut() -> T) -> f64 {
    let run = |_| {
        let start = ThreadTime::now();
        (0..calls).for_each(|_| drop(call()));
        1e6 * start.elapsed().as_secs_f64() / calls as f64
    };
    (0..5).map(run).fold(f64::INFINITY, f64::min)
}

/// The tournaments of pruning schemes against UCT.
struct Pruning<'a> {
    experiment: &'a Experiment<'a>,
    config: &'a Config,
    reports: &'a [Report],
}

/// What was played for a scheme and a limit, seed by seed.
struct Cell {
    scheme: usize,
    limit: u64,
    duels: Vec<Duel>,
}

impl Cell {
    fn wdl(&self) -> Wdl {
        total(self.duels.iter().map(|d| &d.anchor.wdl))
    }

    fn first(&self) -> Wdl {
        total(self.duels.iter().map(|d| &d.anchor.as_first))
    }

    fn second(&self) -> Wdl {
        total(self.duels.iter().map(|d| &d.anchor.as_second))
    }

    /// UCT-NN scored more, less or the same, and the sign test on pairs.
    fn sign(&self) -> (char, f64) {
        let pairs = self.duels.iter().fold(Pentanomial::default(), |sum, d| sum.plus(&d.pairs));
        let (plus, minus) = pairs.decided();
        let score = self.wdl().score();
        let arrow = if score > 0.5 {
            '+'
        } else if score < 0.5 {
            '-'
        } else {
            '='
        };
        (arrow, sign_test(plus, minus))
    }

    /// Fisher's test between the games that UCT-NN began and won and those that UCT began and won: different games.
    fn fisher(&self) -> f64 {
        let (first, second) = (self.first(), self.second());
        let row = |wins: u32, wdl: &Wdl| [wins, wdl.games() as u32 - wins];
        fisher_exact([row(first.wins, &first), row(second.losses, &second)])
    }

    /// Processor milliseconds a move, of UCT-NN and of UCT.
    fn ms(&self) -> [f64; 2] {
        let mean = |i: usize| self.duels.iter().map(|d| d.anchor.ms[i]).sum::<f64>() / self.duels.len().max(1) as f64;
        [mean(0), mean(1)]
    }
}

impl Pruning<'_> {
    /// Games for each seed at a limit.
    fn games(&self, limit: u64) -> usize {
        let (r, length) = (&self.config.reproduce, random_length(self.experiment.table).max(1.0));
        let affordable = r.work / (limit as f64 * length * length);
        (affordable as usize).clamp(r.least_games.min(r.games), r.games)
    }

    /// The tournaments of a scheme at a limit; UCT may have more visits than UCT-NN.
    fn play(&self, arena: &Run<'_>, label: &str, scheme: usize, limit: u64, uct_visits: u64) -> Result<Cell, RunError> {
        let s = &SCHEMES[scheme];
        let mut duels = Vec::new();
        for report in self.reports {
            let mut agent = self.config.play.ranked.clone();
            agent.set("scheme", s.spec);
            agent.set("share", s.share);
            agent.set("visits", limit);
            agent.set("model", run_of(report).display());
            let mut uct: Spec = self.config.play.uct.clone();
            uct.set("visits", uct_visits);
            let name = format!("{label}-{}-{}-{limit}-{}", s.spec, (100.0 * s.share) as u32, report.seed);
            let openings = Openings::Random(self.config.reproduce.opening_plies);
            let seed = Rng::derive(limit, report.seed);
            duels.push(self.experiment.duel(arena, &name, [&agent, &uct], self.games(limit), openings, seed)?);
        }
        Ok(Cell { scheme, limit, duels })
    }

    /// How much more processor time a move of UCT-NN takes; measured once and kept, so that what is played stays the same.
    fn ratio(&self, arena: &Run<'_>, cell: &Cell) -> Result<f64, RunError> {
        let part = format!("ratio-{}/{:04}", cell.scheme, cell.limit);
        if let Some(Json(ratio)) = arena.find::<Json<f64>>(&part)? {
            return Ok(ratio);
        }
        let [nn, uct] = cell.ms();
        let ratio = if uct > 0.0 { nn / uct } else { 1.0 };
        arena.keep(&part, &Json(ratio))?;
        Ok(ratio)
    }

    fn exhibits(&self) -> Result<Vec<Exhibit>, RunError> {
        let (experiment, r) = (self.experiment, &self.config.reproduce);
        let arena = experiment.arena()?;
        let (mut equal, mut timed) = (Vec::new(), Vec::new());
        let time = experiment.wants("Time");
        for limit in limits(r.top) {
            for scheme in 0..SCHEMES.len() {
                let wanted = experiment.wants("Table 1") || experiment.wants("Figure 6") || limit <= r.time_top;
                if wanted {
                    equal.push(self.play(&arena, "visits", scheme, limit, limit)?);
                }
                if time && limit <= r.time_top {
                    let ratio = self.ratio(&arena, equal.last().expect("just played"))?;
                    let uct_visits = (limit as f64 * ratio).round().max(1.0) as u64;
                    timed.push((ratio, self.play(&arena, "time", scheme, limit, uct_visits)?));
                }
            }
        }
        let mut all = vec![self.table1(&equal), self.figure6(&equal)?];
        if time {
            all.push(self.time(&timed));
        }
        all.retain(|e| experiment.wants(&e.name));
        Ok(all)
    }

    fn is_paper(&self) -> bool {
        self.experiment.table.info().name == self.config.reproduce.boards.first().map_or("", String::as_str)
    }

    fn table1(&self, cells: &[Cell]) -> Exhibit {
        let mut columns = vec!["visits"];
        columns.extend(SCHEMES.map(|s| s.name));
        let title = "UCT-NN against UCT at equal node visits: more (+) or less (-) of the points; p of the sign test, of Fisher's; the paper's";
        let mut e = Exhibit::new("Table 1", title, &columns);
        for row in cells.chunk_by(|a, b| a.limit == b.limit) {
            let mut texts = vec![row[0].limit.to_string()];
            for cell in row {
                let (arrow, p) = cell.sign();
                let printed = PAPER.iter().find(|l| l.0 == cell.limit && self.is_paper());
                let printed = printed.map_or(String::new(), |l| format!("; {}", l.1[cell.scheme]));
                texts.push(format!("{arrow} {}; {}{printed}", p_value(p), p_value(cell.fisher())));
            }
            e.rows.push(texts);
        }
        for row in cells.chunk_by(|a, b| a.limit == b.limit) {
            let mut order: Vec<&Cell> = row.iter().collect();
            order.sort_by(|a, b| b.wdl().score().total_cmp(&a.wdl().score()));
            let names = order.iter().map(|c| format!("{} {:.1} %", SCHEMES[c.scheme].name, 100.0 * c.wdl().score()));
            e.notes.push(format!("{} visits, best first: {}", row[0].limit, names.collect::<Vec<_>>().join(", ")));
        }
        e.notes.push(
            "the paper's order up to 9,766 visits: exponential, linear, constant 25 %, then constant 75 and 50 %"
                .into(),
        );
        e.notes.push(
            "sign test: on colour-swapped pairs, all seeds together; Fisher's: games won by whoever began them, UCT-NN against \
            UCT, valid where pairs share no opening (reproduce.opening_plies = 0); the paper's: on scores, which are not counts"
                .into(),
        );
        let chance = 0.05 * cells.len() as f64;
        let line =
            format!("{} cells are tested: {chance:.1} p-values below 0.05 are to be expected by chance", cells.len());
        e.notes.push(line);
        e
    }

    fn figure6(&self, cells: &[Cell]) -> Result<Exhibit, RunError> {
        let columns = [
            "visits",
            "scheme",
            "began",
            "second",
            "2W+D-L: UCT-NN",
            "UCT",
            "points of UCT-NN",
            "by seed",
            "ms a move: UCT-NN, UCT",
        ];
        let mut e = Exhibit::new("Figure 6", "UCT-NN against UCT at equal node visits", &columns);
        for cell in cells {
            e.rows.push(self.cells(cell));
        }
        let line = |(i, s): (usize, &Scheme)| {
            let points_per_game = |c: &Cell| points(&c.wdl()) as f64 / c.wdl().games().max(1) as f64;
            let own = cells.iter().filter(|c| c.scheme == i).map(|c| (c.limit as f64, points_per_game(c)));
            Series::line(s.name, own.collect())
        };
        let series: Vec<Series> = SCHEMES.iter().enumerate().map(line).collect();
        let frame = Frame { title: "Scores of UCT-NN", x: "node visits", y: "(2W+D-L) / games", log_x: true };
        e.plot = Some(plot_file(self.experiment, "figure6.svg", &svg(&frame, &series))?);
        e.notes.push(format!(
            "wins / draws / losses of UCT-NN, {} training seeds added up; random openings of {} plies with both colours; the \
            interval is over seeds first, pairs second",
            self.reports.len(),
            self.config.reproduce.opening_plies
        ));
        e.notes.push(format!("UCT-NN: {}; UCT: {}", self.config.play.ranked, self.config.play.uct));
        Ok(e)
    }

    /// What figure 6 and the table at equal time say about a cell.
    fn cells(&self, cell: &Cell) -> Vec<String> {
        let (score, interval) = over_seeds(&cell.duels);
        let by_seed = cell.duels.iter().map(|d| format!("{:.1}", 100.0 * d.anchor.score)).collect::<Vec<_>>();
        let (wdl, [nn, uct]) = (cell.wdl(), cell.ms());
        vec![
            cell.limit.to_string(),
            SCHEMES[cell.scheme].name.into(),
            shown(&cell.first()),
            shown(&cell.second()),
            points(&wdl).to_string(),
            points(&wdl.flipped()).to_string(),
            percent(score, interval),
            by_seed.join(" "),
            format!("{nn:.3}, {uct:.3}"),
        ]
    }

    fn time(&self, cells: &[(f64, Cell)]) -> Exhibit {
        let columns = [
            "visits",
            "scheme",
            "began",
            "second",
            "2W+D-L: UCT-NN",
            "UCT",
            "points of UCT-NN",
            "by seed",
            "ms a move: UCT-NN, UCT",
            "UCT's visits",
            "sign test",
        ];
        let mut e = Exhibit::new("Time", "UCT-NN against UCT at equal processor time", &columns);
        for (ratio, cell) in cells {
            let mut row = self.cells(cell);
            let (arrow, p) = cell.sign();
            row.extend([format!("x {ratio:.2}"), format!("{arrow} {}", p_value(p))]);
            e.rows.push(row);
        }
        e.notes.push(
            "UCT has as many visits more as UCT-NN takes more time for its own, measured in the games at equal visits"
                .into(),
        );
        e
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_double_as_in_the_paper() {
        let all = limits(20_000_000);
        assert_eq!(all.len(), 16);
        assert_eq!(all[..9], PAPER.map(|l| l.0));
        assert_eq!(*all.last().unwrap(), 20_000_000);
        assert_eq!(limits(9766).last(), Some(&9766));
        assert_eq!(limits(0), [610]);
    }

    #[test]
    fn the_paper_counts_a_draw_as_half_a_win_and_a_loss_as_less_than_nothing() {
        assert_eq!(points(&Wdl::new(10, 5, 3)), 22);
    }
}
