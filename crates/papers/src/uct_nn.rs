//! The figures and Table 1 of UCT-NN (Burger, du Plessis & Cilliers), with ours beside them.
//!
//! The paper plays at equal node visits and leaves the net's time out; we also play at equal processor time. Its test compares
//! scores (2 wins + draws - losses) as if they were counts, and its two sides' wins come from the same games: we give the exact
//! sign test on colour-swapped pairs, and Fisher's test where it is valid, between the games that either side began.

use crate::common::*;
use ludex_play::arena::Contest;
use ludex_play::openings::{random_length, random_plies};
use ludex_play::stats::{Pentanomial, Wdl, fisher_exact, sign_test};
use ludex_search::mcts::Keep;
use ludex_train::Stream;
use ludex_train::fit::{ErrorPoint, Learner};
use ludex_train::nets::MlpTrainer;
use ludex_train::systems::{Decay, TypedSystem, UctNn};
use std::sync::Arc;

/// `papers/uct-nn.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reproduce {
    games: usize,
    work: f64,
    least_games: usize,
    top: u64,
    time_top: u64,
    opening_plies: u32,
    constants: Vec<f64>,
    boards: Vec<String>,
    limits: Vec<u64>,
    tournament_games: usize,
    hidden: Vec<usize>,
    rates: Vec<f64>,
    sweep_epochs: u32,
    sweep_patterns: usize,
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

/// A p-value with as many digits as say something.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") }
}

/// All that the tables share.
struct Stage<'e> {
    experiment: &'e Experiment,
    arena: Arena<'e>,
    r: Reproduce,
    /// The agents of the system's options.
    ranked: Spec,
    uct: Spec,
    reports: Vec<Report>,
}

/// A board, a limit of node visits, and all constants against one another.
type Tournament = (Arc<dyn Table>, u64, Contest);

impl Reproduce {
    /// Whether the game is the paper's.
    fn is_paper(&self, experiment: &Experiment) -> bool {
        self.boards.first().is_some_and(|b| *b == experiment.table.info().name)
    }

    /// The tournaments of exploration constants: on the boards of the paper if the game is its first, else on the game; at
    /// every limit.
    fn tournaments(&self, experiment: &Experiment, uct: &Spec) -> Result<Vec<Tournament>> {
        let open = |b: &String| ludex_play::open(b).map_err(|e| RunError::Options(format!("reproduce.boards: {e}")));
        let boards = match self.is_paper(experiment) {
            true => self.boards.iter().map(open).collect::<Result<_, _>>()?,
            false => vec![experiment.table.clone()],
        };
        let seed = Rng::derive(experiment.seeds[0], 31);
        let mut all = Vec::new();
        for (b, table) in boards.into_iter().enumerate() {
            for (l, &limit) in self.limits.iter().enumerate() {
                let agents = self.constants.iter().map(|c| set(&set(uct, "visits", limit), "c", c)).collect();
                let seed = Rng::derive(seed, (100 * b + l) as u64);
                let contest = Contest::new(&*table, agents, (self.tournament_games, 0), seed);
                all.push((table.clone(), limit, contest));
            }
        }
        Ok(all)
    }

    fn check(&self, experiment: &Experiment, uct: &Spec) -> Result<()> {
        let mut tournaments = self.tournaments(experiment, uct)?;
        tournaments.iter_mut().for_each(|(_, _, contest)| contest.pairs = 1);
        tournaments.iter().try_for_each(|(table, _, contest)| Ok(contest.check(&**table)?))
    }
}

/// Carries out the paper's experiments.
pub(crate) fn reproduce(experiment: &Experiment) -> Result<Vec<PaperTable>> {
    experiment.check_zero_sum()?;
    let r: Reproduce = experiment.options()?;
    let (ranked, uct) = (experiment.system_option("play.ranked")?, experiment.system_option("play.uct")?);
    r.check(experiment, &uct)?;
    let makers: [Maker<'_, Stage<'_>>; 6] = [
        (&["Figure 3", "Figure 4"], Stage::tournament),
        (&["Figure 5"], Stage::figure5),
        (&["Nets"], Stage::nets),
        (&["Sweep"], Stage::sweep),
        (&["Cost"], Stage::cost),
        (&["Table 1", "Figure 6", "Time"], Stage::pruning),
    ];
    experiment.make(&makers, || {
        // Figures 3 to 5 need no net.
        let reports = match makers[2..].iter().any(|(names, _)| experiment.wants_any(names)) {
            true => experiment.learn_seeds("learn", &[UNMEASURED.into()])?,
            false => Vec::new(),
        };
        Ok(Stage { experiment, arena: experiment.arena()?, r, ranked, uct, reports })
    })
}

/// A constant's results over all boards and limits.
#[derive(Clone, Copy, Default)]
struct Standing {
    first: Wdl,
    second: Wdl,
    /// Tournaments in which it scored most as first, as second, and in all; equals count in full.
    best: [u32; 3],
}

impl Standing {
    fn add(&mut self, first: Wdl, second: Wdl) {
        (self.first, self.second) = (self.first.plus(&first), self.second.plus(&second));
    }

    fn wdl(&self) -> Wdl {
        self.first.plus(&self.second)
    }

    /// The paper's scores, as first, as second, and in all.
    fn points(&self) -> [i64; 3] {
        [points(&self.first), points(&self.second), points(&self.wdl())]
    }
}

/// A net of the sweep: hidden neurons, first rate, its decay, and the errors of the epoch with the least generalisation error.
type Swept = (usize, f64, Decay, ErrorPoint);

/// Processor time of a call, the least of five runs: other loads on the machine only ever add.
fn microseconds<T>(calls: u64, mut call: impl FnMut() -> T) -> f64 {
    let run = |_| {
        let start = ThreadTime::now();
        (0..calls).for_each(|_| drop(call()));
        1e6 * start.elapsed().as_secs_f64() / calls as f64
    };
    (0..5).map(run).fold(f64::INFINITY, f64::min)
}

/// What was played for a scheme and a limit, seed by seed.
struct Cell {
    scheme: usize,
    limit: u64,
    duels: Duels,
}

impl Cell {
    /// UCT-NN scored more, less or the same, and the sign test on pairs.
    fn sign(&self) -> String {
        let pairs = self.duels.0.iter().fold(Pentanomial::default(), |sum, d| sum.plus(&d.pairs.pentanomial()));
        let (plus, minus) = pairs.decided();
        let arrow = match self.duels.wdl().score() {
            s if s > 0.5 => '+',
            s if s < 0.5 => '-',
            _ => '=',
        };
        format!("{arrow} {}", p_value(sign_test(plus, minus)))
    }

    /// Fisher's test between the games that UCT-NN began and won and those that UCT began and won: different games.
    fn fisher(&self) -> f64 {
        let (first, second) = (self.duels.first(), self.duels.second());
        let row = |wins: u32, wdl: &Wdl| [wins, wdl.games() as u32 - wins];
        fisher_exact([row(first.wins, &first), row(second.losses, &second)])
    }

    /// What figure 6 and the table at equal time say about it.
    fn row(&self) -> Vec<String> {
        let by_seed: Vec<String> = self.duels.0.iter().map(|d| format!("{:.1}", 100.0 * d.summary.score)).collect();
        let (wdl, [nn, uct]) = (self.duels.wdl(), self.duels.ms());
        vec![
            self.limit.to_string(),
            SCHEMES[self.scheme].name.into(),
            wdl_text(&self.duels.first()),
            wdl_text(&self.duels.second()),
            points(&wdl).to_string(),
            points(&wdl.flipped()).to_string(),
            self.duels.score_text(),
            by_seed.join(" "),
            format!("{nn:.3}, {uct:.3}"),
        ]
    }
}

impl Stage<'_> {
    /// Figures 3 and 4: every constant against every other, on every board, at every limit.
    fn tournament(&self) -> Result<Vec<PaperTable>> {
        let r = &self.r;
        let mut standings = vec![Standing::default(); r.constants.len()];
        let mut rows = self.experiment.table("Figure 3", &[&(2 * r.tournament_games.div_ceil(2))]);
        for (table, limit, contest) in r.tournaments(self.experiment, &self.uct)? {
            let board = &table.info().name;
            let file = format!("constants-{}-{limit}", board.replace(|c: char| !c.is_alphanumeric(), "-"));
            let mut now = vec![Standing::default(); r.constants.len()];
            for t in self.arena.contest(&file, &*table, &contest)?.0 {
                let (first, second) = (t.pairs.first(), t.pairs.second());
                now[t.a].add(first, second);
                now[t.b].add(second.flipped(), first.flipped());
            }
            for (k, s) in now.iter().enumerate() {
                for (i, best) in standings[k].best.iter_mut().enumerate() {
                    *best += now.iter().all(|o| o.points()[i] <= s.points()[i]) as u32;
                }
                standings[k].add(s.first, s.second);
                let ([a, b, c], won) = (s.points(), share(s.wdl().score()));
                let (first, second) = (wdl_text(&s.first), wdl_text(&s.second));
                rows.row(&[&r.constants[k], board, &limit, &first, &second, &a, &b, &c, &won]);
            }
        }
        let plot = |file: &str, title: &str, y: &str, names: [&str; 3], values: fn(&Standing) -> [f64; 3]| {
            let points = |i: usize| r.constants.iter().zip(&standings).map(move |(&c, s)| (c, values(s)[i])).collect();
            let series = [0, 1, 2].map(|i| Series::line(names[i], points(i)));
            self.experiment.plot(file, &Frame { title, x: "C", y, log_x: false }, &series)
        };
        let (title, y) = ("Scores of exploration constants", "2 wins + draws - losses");
        rows.plot = plot("figure3.svg", title, y, ["first", "second", "total"], |s| s.points().map(|p| p as f64))?;
        let mut sums = self.experiment.table("Figure 4", &[]);
        for (c, s) in r.constants.iter().zip(&standings) {
            let (wdl, [first, second, all]) = (s.wdl(), s.best);
            sums.row(&[c, &first, &second, &all, &wdl_text(&wdl), &points(&wdl), &share(wdl.score())]);
        }
        let (title, names) = ("How often a constant was best", ["as first", "as second", "in all"]);
        sums.plot = plot("figure4.svg", title, "tournaments", names, |s| s.best.map(f64::from))?;
        Ok(vec![rows, sums])
    }

    /// Figure 5: what share of the moves each scheme drops, ply by ply, where every move takes one away.
    fn figure5(&self) -> Result<Vec<PaperTable>> {
        let n0 = self.experiment.table.start().legal().len();
        let mut out = self.experiment.table("Figure 5", &[&n0]);
        let dropped = |s: &Scheme, d: usize| {
            let n = n0 - d;
            100.0 * (n - s.keep.kept(n, d as u32, n0)) as f64 / n as f64
        };
        for d in 0..n0 {
            let row = SCHEMES.iter().map(|s| format!("{:.0} %", dropped(s, d)));
            out.rows.push([d.to_string()].into_iter().chain(row).collect());
        }
        let line = |s: &Scheme| Series::line(s.name, (0..n0).map(|d| (d as f64, dropped(s, d))).collect());
        let frame = Frame { title: "Share of the children dropped", x: "ply", y: "per cent", log_x: false };
        out.plot = self.experiment.plot("figure5.svg", &frame, &SCHEMES.each_ref().map(line))?;
        if n0 != self.experiment.table.info().moves as usize {
            out.closing.push("in this game a move does not take one away: the plies shown are as if it did".into());
        }
        Ok(vec![out])
    }

    /// The nets that the tables use.
    fn nets(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Nets", &[]);
        for r in &self.reports {
            let whole = |path: &str| optional(figure(r, path), 0);
            let joined = |paths: [&str; 3], by: &str| paths.map(whole).join(by);
            let metric = |name: &str| figure(r, &format!("/metrics/{name}"));
            let examples = joined(["/train", "/selection", "/test"], " + ");
            let layers = joined(["/inputs", "/hidden", "/outputs"], "-");
            let epochs = format!("{} of {}", whole("/metrics/epoch"), whole("/metrics/epochs"));
            let errors = ["train_mse", "selection_mse", "test_mse"].map(|n| optional(metric(n), 5));
            let kept = ["kept_of_25", "kept_of_50", "kept_of_75"].map(|n| metric(n).map_or("-".into(), share));
            out.join(&[&r.seed, &whole("/sims"), &examples, &layers, &epochs], &[errors, kept].concat(), &[]);
        }
        Ok(vec![out])
    }

    /// Learns with every hidden size, rate and decay; each net is a part of the first run.
    fn swept(&self) -> Result<Vec<Swept>> {
        let r = &self.r;
        let job = self.experiment.job("learn", self.experiment.seeds[0], &[UNMEASURED.into()])?;
        let cx = job.context();
        let system: <UctNn as TypedSystem>::Options = cx.options()?;
        let (mut set, _) = system.patterns(&cx)?;
        if r.sweep_patterns > 0 {
            set.split.train.truncate(r.sweep_patterns);
            set.split.validation.truncate(r.sweep_patterns);
        }
        set.split.test.clear();
        let mut grid = Vec::new();
        for &hidden in &r.hidden {
            for &rate in &r.rates {
                grid.extend([Decay::Exponential, Decay::Linear].map(|decay| (hidden, rate, decay)));
            }
        }
        let epochs = r.sweep_epochs.max(1);
        let parts = job.run.stage("sweep", grid.len(), |i| {
            let (hidden, rate, decay) = grid[i];
            let mut train = system.train.clone();
            (train.hidden, train.rate, train.last_rate, train.decay) = (hidden, rate, 0.01 * rate, decay);
            let mut trainer = MlpTrainer::new(train.mlp(epochs), &set.data, &set.split, true, cx.seed(Stream::Sweep))?;
            let mut chosen = trainer.measure();
            while trainer.steps() < epochs as u64 {
                if job.run.observer().stopped() {
                    return Err(RunError::Stopped);
                }
                trainer.step()?;
                if trainer.steps().is_multiple_of(5) || trainer.steps() == epochs as u64 {
                    let now = trainer.measure();
                    chosen = if MlpTrainer::error(&now) < MlpTrainer::error(&chosen) { now } else { chosen };
                }
            }
            Ok(Json((hidden, rate, decay, chosen)))
        })?;
        parts.iter().map(|part| Ok(part?.0)).collect()
    }

    /// The sweep over hidden sizes, rates and decays.
    fn sweep(&self) -> Result<Vec<PaperTable>> {
        let swept = self.swept()?;
        let (seed, r) = (self.experiment.seeds[0], &self.r);
        let mut out = self.experiment.table("Sweep", &[&seed, &r.sweep_epochs, &r.sweep_patterns]);
        let name = |d: Decay| format!("{d:?}").to_lowercase();
        for (hidden, rate, decay, chosen) in &swept {
            let (train, selection) = (optional(chosen.train, 5), optional(chosen.selection, 5));
            out.row(&[hidden, rate, &name(*decay), &chosen.step, &train, &selection]);
        }
        let error = |s: &Swept| MlpTrainer::error(&s.3);
        if let Some((hidden, rate, decay, _)) = swept.iter().min_by(|a, b| error(a).total_cmp(&error(b))) {
            let of = |d: Decay| swept.iter().filter(move |s| s.2 == d);
            let pairs = of(Decay::Exponential).zip(of(Decay::Linear));
            let (n, lower) = (swept.len() / 2, pairs.filter(|(a, b)| error(a) < error(b)).count());
            let lowest = format!("lowest: {hidden} hidden, rate {rate}, {}", name(*decay));
            out.note(format!("{lowest}; exponential lower than linear in {lower} of {n}"));
        }
        Ok(vec![out])
    }

    /// What the net costs, beside a random playout.
    fn cost(&self) -> Result<Vec<PaperTable>> {
        const CALLS: u64 = 20_000;
        let (table, net) = (&*self.experiment.table, self.experiment.net(&self.reports[0].model)?);
        let mut scratch = net.scratch();
        let mut out = self.experiment.table("Cost", &[&CALLS]);
        let length = random_length(table) as u32;
        for plies in [0, length / 4, length / 2] {
            let position = random_plies(table.start(), plies, &mut Rng::stream(1, plies as u64));
            let (moves, mover) = (position.legal(), position.mover());
            let (mut scores, mut facts) = (vec![0.0; moves.len()], position.facts());
            let mut clock = |fresh: bool| {
                microseconds(CALLS, || {
                    if fresh {
                        position.facts_into(&mut facts);
                    }
                    net.rank_moves(&facts, mover, std::hint::black_box(&moves), &mut scratch, &mut scores);
                    std::hint::black_box(&scores);
                })
            };
            let (call, whole) = (clock(false), clock(true));
            let mut rng = Rng::stream(2, plies as u64);
            let playout = microseconds(1, || std::hint::black_box(position.playouts(CALLS, &mut rng))) / CALLS as f64;
            let [a, b, c] = [call, whole, playout].map(|x| format!("{x:.3}"));
            out.row(&[&plies, &a, &b, &c, &format!("{:.2}", whole / playout)]);
        }
        Ok(vec![out])
    }

    /// Games for each seed at a limit.
    fn games(&self, limit: u64) -> usize {
        let (r, length) = (&self.r, random_length(&*self.experiment.table).max(1.0));
        let affordable = r.work / (limit as f64 * length * length);
        (affordable as usize).clamp(r.least_games.min(r.games), r.games)
    }

    /// The tournaments of a scheme at a limit; UCT may have more visits than UCT-NN.
    fn cell(&self, label: &str, scheme: usize, limit: u64, uct_visits: u64) -> Result<Cell> {
        let Scheme { spec, share, .. } = SCHEMES[scheme];
        let name = format!("{label}-{spec}-{}-{limit}", (100.0 * share) as u32);
        let seeds = &self.experiment.seeds;
        let duels = self.arena.duels(&name, seeds, (self.games(limit), self.r.opening_plies), |s| {
            let mut agent = set(&with_model(&self.ranked, &run_model(&self.reports[s])), "visits", limit);
            agent.set("scheme", spec);
            agent.set("share", share);
            ([agent, set(&self.uct, "visits", uct_visits)], Rng::derive(limit, seeds[s]))
        })?;
        Ok(Cell { scheme, limit, duels })
    }

    /// The tournaments of pruning schemes against UCT.
    fn pruning(&self) -> Result<Vec<PaperTable>> {
        let (experiment, r) = (self.experiment, &self.r);
        let (mut equal, mut timed) = (Vec::new(), Vec::new());
        let (time, visits) = (experiment.wants("Time"), experiment.wants_any(&["Table 1", "Figure 6"]));
        for limit in limits(r.top) {
            for scheme in (0..SCHEMES.len()).filter(|_| visits || limit <= r.time_top) {
                let cell = self.cell("visits", scheme, limit, limit)?;
                if time && limit <= r.time_top {
                    // How much more processor time a move of UCT-NN takes.
                    let ratio =
                        self.arena.run.once(&format!("ratio-{scheme}-{limit}/0000"), || Ok(cell.duels.time_ratio()))?;
                    timed.push((ratio, self.cell("time", scheme, limit, equal_time(limit, ratio))?));
                }
                equal.push(cell);
            }
        }
        let mut all = vec![self.table1(&equal), self.figure6(&equal)?];
        if time {
            // How many times more visits UCT had, and what came of it.
            let mut out = self.experiment.table("Time", &[]);
            let tail = |(ratio, cell): &(f64, Cell)| [format!("x {ratio:.2}"), cell.sign()];
            out.rows.extend(timed.iter().map(|t| [t.1.row(), tail(t).to_vec()].concat()));
            all.push(out);
        }
        Ok(all)
    }

    fn table1(&self, cells: &[Cell]) -> PaperTable {
        let chance = format!("{:.1}", 0.05 * cells.len() as f64);
        let mut out = self.experiment.table("Table 1", &[&cells.len(), &chance]);
        let is_paper = self.r.is_paper(self.experiment);
        for row in cells.chunk_by(|a, b| a.limit == b.limit) {
            let quoted = self.experiment.quoted("Table 1", row[0].limit).filter(|_| is_paper);
            let text = |cell: &Cell| {
                let quoted = quoted.as_ref().map_or(String::new(), |q| format!("; {}", q[cell.scheme]));
                format!("{}; {}{quoted}", cell.sign(), p_value(cell.fisher()))
            };
            out.rows.push([row[0].limit.to_string()].into_iter().chain(row.iter().map(text)).collect());
            let mut order: Vec<(f64, usize)> = row.iter().map(|c| (c.duels.wdl().score(), c.scheme)).collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0));
            let names: Vec<String> =
                order.iter().map(|&(score, s)| format!("{} {}", SCHEMES[s].name, share(score))).collect();
            out.note(format!("{} visits, best first: {}", row[0].limit, names.join(", ")));
        }
        out
    }

    fn figure6(&self, cells: &[Cell]) -> Result<PaperTable> {
        let values: [&dyn Display; 4] = [&self.reports.len(), &self.r.opening_plies, &self.ranked, &self.uct];
        let mut out = self.experiment.table("Figure 6", &values);
        out.rows.extend(cells.iter().map(Cell::row));
        let line = |(i, s): (usize, &Scheme)| {
            let own = cells.iter().filter(|c| c.scheme == i).map(|c| (c.limit as f64, c.duels.wdl()));
            Series::line(s.name, own.map(|(x, wdl)| (x, points(&wdl) as f64 / wdl.games().max(1) as f64)).collect())
        };
        let series: Vec<Series> = SCHEMES.iter().enumerate().map(line).collect();
        let frame = Frame { title: "Scores of UCT-NN", x: "node visits", y: "(2W+D-L) / games", log_x: true };
        out.plot = self.experiment.plot("figure6.svg", &frame, &series)?;
        Ok(out)
    }
}
