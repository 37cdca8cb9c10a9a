//! Tables 1 and 2 of the paper with ours beside them; direct matches against hand-made heuristics; what the learned order of
//! moves saves.
//!
//! The paper gives seconds a move on a machine of its time: budgets here are nodes, and matches at equal time stand beside
//! them. Its best rows are chosen by the tests they report; here every row of every seed is shown.

use super::{Config, UNTRAINED_HIDDEN, Untrained, learned, refuse, untrained};
use crate::arena::{Openings, random_openings};
use crate::parts::Kind;
use crate::plot::{Frame, Series, svg};
use crate::spec::Spec;
use crate::store::{Json, RunError};
use crate::systems::Report;
use crate::systems::exhibit::{Duel, Exhibit, Experiment, over_seeds, percent, plot_file};
use ludex_core::{Limit, Rng};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is played.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/nhb.toml explains them
pub struct Reproduce {
    pub budgets: Vec<u64>,
    pub test_games: usize,
    pub cpu_ms: u64,
    pub direct_games: usize,
    pub opening_plies: u32,
    pub positions: usize,
    pub depth: u32,
}

/// A row of the paper: training matches, losses, draws, wins.
type Row = (usize, [u32; 3]);

/// Table 1, by move time: 0.25, 0.5 and 1 second.
const TABLE_1: [(&str, [Row; 10]); 3] = [
    (
        "0.25 s",
        [
            (20, [79, 11, 110]),
            (40, [53, 9, 138]),
            (60, [46, 13, 141]),
            (80, [68, 18, 114]),
            (100, [46, 12, 142]),
            (120, [42, 10, 148]),
            (140, [66, 11, 123]),
            (160, [59, 9, 132]),
            (180, [60, 14, 126]),
            (200, [47, 13, 140]),
        ],
    ),
    (
        "0.5 s",
        [
            (10, [54, 14, 132]),
            (20, [68, 12, 120]),
            (30, [88, 13, 99]),
            (40, [44, 12, 144]),
            (50, [43, 9, 148]),
            (60, [69, 13, 118]),
            (70, [50, 8, 142]),
            (80, [54, 13, 133]),
            (90, [58, 7, 135]),
            (100, [55, 11, 134]),
        ],
    ),
    (
        "1 s",
        [
            (5, [59, 18, 123]),
            (10, [64, 13, 123]),
            (15, [57, 13, 130]),
            (20, [69, 16, 115]),
            (25, [61, 19, 120]),
            (30, [47, 18, 135]),
            (35, [84, 18, 98]),
            (40, [77, 12, 111]),
            (45, [62, 14, 124]),
            (50, [61, 10, 129]),
        ],
    ),
];

/// Table 2: NHB.
const TABLE_2: [Row; 10] = [
    (50, [36, 5, 59]),
    (100, [24, 4, 72]),
    (150, [39, 2, 59]),
    (200, [36, 0, 64]),
    (250, [30, 6, 64]),
    (300, [41, 4, 55]),
    (350, [38, 5, 57]),
    (400, [42, 2, 56]),
    (550, [39, 2, 59]),
    (600, [36, 3, 61]),
];

/// Table 2: heuristics made by hand; the paper calls `pieces` piece-advantage.
const TABLE_2_HAND: [(&str, [u32; 3]); 2] = [("pieces", [53, 3, 44]), ("positional", [26, 2, 72])];

/// What one budget gave.
struct Budget {
    nodes: u64,
    reports: Vec<Report>,
    /// Training matches and the tests then, seed by seed.
    tests: Vec<(usize, Vec<Duel>)>,
}

impl Budget {
    fn agent(&self, config: &Config) -> Spec {
        let mut search = config.search.clone();
        search.nodes = self.nodes;
        search.agent()
    }
}

/// Losses, draws and wins, as the paper prints them.
fn ldw(duel: &Duel) -> String {
    let wdl = &duel.anchor.wdl;
    format!("{} / {} / {}", wdl.losses, wdl.draws, wdl.wins)
}

fn printed(ldw: Option<[u32; 3]>) -> String {
    ldw.map_or("-".into(), |[l, d, w]| format!("{l} / {d} / {w}"))
}

/// The share of wins over all seeds.
fn win_rate(duels: &[Duel]) -> f64 {
    duels.iter().map(|d| d.anchor.win_rate).sum::<f64>() / duels.len().max(1) as f64
}

/// The run of a report.
fn run_of(report: &Report) -> PathBuf {
    report.model.parent().and_then(Path::parent).map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Carries out the paper's experiments.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    let info = experiment.table.info();
    refuse(info)?;
    let plan = experiment.plan(experiment.seeds[0], &[])?;
    let config: Config = crate::systems::read(&plan.options)?;
    let reversi = info.family() == "othello";
    let main = if reversi { "Table 2" } else { "Table 1" };
    let budgets = match reversi {
        true => &config.reproduce.budgets[..1],
        false => &config.reproduce.budgets[..],
    };
    let mut learned = Vec::new();
    // What follows the tests needs the first budget only.
    let wanted = if experiment.wants(main) { budgets } else { &budgets[..1] };
    for &nodes in wanted {
        learned.push(budget(experiment, &config, nodes, reversi)?);
    }
    let mut all = Vec::new();
    if experiment.wants(main) {
        for (i, budget) in learned.iter_mut().enumerate() {
            test(experiment, &config, budget)?;
            all.push(match reversi {
                true => table2(experiment, &config, budget)?,
                false => table1(experiment, &config, budget, TABLE_1.get(i).filter(|_| info.family() == "connect4")),
            });
        }
        if let Some(first) = all.first_mut() {
            first.plot = Some(plot_file(experiment, "learning.svg", &curve(&learned[0], &info.name))?);
        }
    }
    if experiment.wants("Direct") {
        all.push(direct(experiment, &config, &learned[0])?);
    }
    if experiment.wants("Order") {
        all.push(order(experiment, &config, &learned[0])?);
    }
    Ok(all)
}

/// Learns with all seeds at so many nodes a move. As in the paper, a double budget gets half the matches.
fn budget(experiment: &Experiment<'_>, config: &Config, nodes: u64, reversi: bool) -> Result<Budget, RunError> {
    let first = config.reproduce.budgets[0];
    // The paper tests Reversi every fifty matches, Connect Four every twenty.
    let base = if reversi { config.cycle.matches * 5 / 2 } else { config.cycle.matches };
    let matches = (base as u64 * first / nodes.max(1)).max(2);
    let own = ["measure.games=0".to_string(), format!("search.nodes={nodes}"), format!("cycle.matches={matches}")];
    let learn = |&seed: &u64| experiment.learn(&format!("nodes{nodes}"), seed, &own);
    let reports = experiment.seeds.iter().map(learn).collect::<Result<_, RunError>>()?;
    Ok(Budget { nodes, reports, tests: Vec::new() })
}

/// Tests the net of every cycle of every seed against nets that never learned.
fn test(experiment: &Experiment<'_>, config: &Config, budget: &mut Budget) -> Result<(), RunError> {
    let arena = experiment.arena()?;
    let agent = budget.agent(config);
    let rival = untrained(&agent, Untrained::Net, UNTRAINED_HIDDEN);
    let models: Vec<Vec<(usize, PathBuf)>> = budget.reports.iter().map(cycle_models).collect::<Result<_, _>>()?;
    for cycle in 1..models[0].len() {
        let mut duels = Vec::new();
        for (report, models) in budget.reports.iter().zip(&models) {
            let mine = learned(&agent, &models[cycle].1);
            let name = format!("test-{}-{cycle:04}-{}", budget.nodes, report.seed);
            let games = config.reproduce.test_games;
            duels.push(experiment.duel(&arena, &name, [&mine, &rival], games, Openings::Random(0), cycle as u64)?);
        }
        budget.tests.push((models[0][cycle].0, duels));
    }
    Ok(())
}

/// The net of every cycle of a run, with its training matches.
fn cycle_models(report: &Report) -> Result<Vec<(usize, PathBuf)>, RunError> {
    let dir = run_of(report);
    let entries = crate::store::entries(&dir)?;
    let matches = report.config.options["cycle"]["matches"].as_integer().unwrap_or(1) as usize;
    let models = entries.iter().filter_map(|e| Some((e.part.strip_prefix("model/cycle-")?, &e.file)));
    let mut models: Vec<(usize, PathBuf)> =
        models.filter_map(|(n, file)| Some((n.parse::<usize>().ok()? * matches, dir.join(file)))).collect();
    models.sort();
    Ok(models)
}

fn hidden(budget: &Budget) -> String {
    let units = |r: &Report| r.figures["hidden"].to_string();
    budget.reports.iter().map(units).collect::<Vec<_>>().join(", ")
}

/// The rows of a budget: training matches, the paper's, ours by seed, the share of wins, the score.
fn rows(e: &mut Exhibit, budget: &Budget, paper: &[Row]) {
    for (matches, duels) in &budget.tests {
        let theirs = paper.iter().find(|r| r.0 == *matches).map(|r| r.1);
        let (score, interval) = over_seeds(duels);
        let mut row = vec![format!("NHB, {matches}"), printed(theirs)];
        row.extend(duels.iter().map(ldw));
        row.extend([format!("{:.1} %", 100.0 * win_rate(duels)), percent(score, interval)]);
        e.rows.push(row);
    }
}

fn columns(budget: &Budget) -> Vec<String> {
    let mut columns = vec!["training matches".to_string(), "paper, L / D / W".to_string()];
    columns.extend(budget.reports.iter().map(|r| format!("seed {}, L / D / W", r.seed)));
    columns.extend(["wins".to_string(), "score".to_string()]);
    columns
}

/// What readers of both tables must know.
fn notes(e: &mut Exhibit, config: &Config, budget: &Budget) {
    let tests = &budget.tests;
    let mean = tests.iter().map(|t| win_rate(&t.1)).sum::<f64>() / tests.len().max(1) as f64;
    let last = tests.last().map_or(0.0, |t| win_rate(&t.1));
    e.notes.push(format!("wins at the end {:.1} %, on the mean of all rows {:.1} %", 100.0 * last, 100.0 * mean));
    e.notes.push(format!(
        "{} test games a row and seed, {} nodes a move for both, a new net with random weights as opponent in every game, \
        both colours; intervals over seeds first, pairs second",
        config.reproduce.test_games, budget.nodes
    ));
    e.notes.push(format!("hidden units by seed: {}", hidden(budget)));
    e.notes.push("the paper's machine time is not reproducible: its rows stand beside ours by training matches".into());
}

fn table1(_: &Experiment<'_>, config: &Config, budget: &Budget, paper: Option<&(&'static str, [Row; 10])>) -> Exhibit {
    let theirs = paper.map_or(String::new(), |(time, _)| format!(" (paper: {time})"));
    let title = format!("tests by training matches, {} nodes a move{theirs}", budget.nodes);
    let mut e = Exhibit::new("Table 1", title, &[]);
    e.columns = columns(budget);
    rows(&mut e, budget, paper.map_or(&[], |p| &p.1));
    notes(&mut e, config, budget);
    e
}

fn table2(experiment: &Experiment<'_>, config: &Config, budget: &Budget) -> Result<Exhibit, RunError> {
    let title = format!("NHB and heuristics made by hand against random ones, {} nodes a move", budget.nodes);
    let mut e = Exhibit::new("Table 2", title, &[]);
    e.columns = columns(budget);
    rows(&mut e, budget, &TABLE_2);
    let arena = experiment.arena()?;
    let agent = budget.agent(config);
    let rival = untrained(&agent, Untrained::Net, UNTRAINED_HIDDEN);
    for (name, ldw_paper) in TABLE_2_HAND {
        let mut hand = agent.clone();
        hand.set("eval", name);
        let mut duels = Vec::new();
        for &seed in &experiment.seeds {
            let label = format!("test-{}-{name}-{seed}", budget.nodes);
            let games = config.reproduce.test_games;
            duels.push(experiment.duel(&arena, &label, [&hand, &rival], games, Openings::Random(0), seed)?);
        }
        let (score, interval) = over_seeds(&duels);
        let mut row = vec![name.to_string(), printed(Some(ldw_paper))];
        row.extend(duels.iter().map(ldw));
        row.extend([format!("{:.1} %", 100.0 * win_rate(&duels)), percent(score, interval)]);
        e.rows.push(row);
    }
    notes(&mut e, config, budget);
    Ok(e)
}

fn curve(budget: &Budget, game: &str) -> String {
    let title = format!("Wins against nets that never learned, {game}");
    let frame = Frame { title: &title, x: "training matches", y: "share of wins", log_x: false };
    let mut series = vec![Series::line(
        "mean",
        budget.tests.iter().map(|(matches, duels)| (*matches as f64, win_rate(duels))).collect(),
    )];
    for (i, report) in budget.reports.iter().enumerate() {
        let points = budget.tests.iter().map(|(matches, d)| (*matches as f64, d[i].anchor.win_rate)).collect();
        series.push(Series::line(format!("seed {}", report.seed), points));
    }
    svg(&frame, &series)
}

/// Matches against every heuristic made by hand that the game has, and against a net that never learned, at equal nodes and
/// at equal time.
fn direct(experiment: &Experiment<'_>, config: &Config, budget: &Budget) -> Result<Exhibit, RunError> {
    let r = &config.reproduce;
    let title = format!("the last nets against heuristics, after {} random plies", r.opening_plies);
    let columns = ["opponent's heuristic", "budget", "seed", "W / D / L", "score", "Elo", "ms a move, ours and theirs"];
    let mut e = Exhibit::new("Direct", title, &columns);
    let arena = experiment.arena()?;
    let by_nodes = budget.agent(config);
    let mut by_time = by_nodes.clone();
    by_time.args.retain(|(k, _)| k != "nodes");
    by_time.set("cpu_ms", r.cpu_ms);
    let hand = experiment.table.rivals().into_iter().filter(|h| h.0 == Kind::Evaluator).map(|h| h.1);
    let names: Vec<&str> = std::iter::once("untrained").chain(hand).collect();
    for name in names {
        for (label, agent) in [(format!("{} nodes", budget.nodes), &by_nodes), (format!("{} ms", r.cpu_ms), &by_time)] {
            let mut rival = untrained(agent, Untrained::Net, UNTRAINED_HIDDEN);
            if name != "untrained" {
                rival.set("eval", name);
            }
            let mut duels = Vec::new();
            for report in &budget.reports {
                let mine = learned(agent, &run_of(report));
                let file = format!("direct-{name}-{}-{}", label.replace(' ', "-"), report.seed);
                let openings = Openings::Random(r.opening_plies);
                let duel = experiment.duel(&arena, &file, [&mine, &rival], r.direct_games, openings, report.seed)?;
                let a = &duel.anchor;
                e.row([
                    name.to_string(),
                    label.clone(),
                    report.seed.to_string(),
                    format!("{} / {} / {}", a.wdl.wins, a.wdl.draws, a.wdl.losses),
                    percent(a.score, a.interval),
                    format!("{:+.0} [{:+.0}, {:+.0}]", a.elo.value, a.elo.low, a.elo.high),
                    format!("{:.2}, {:.2}", a.ms[0], a.ms[1]),
                ]);
                duels.push(duel);
            }
            let (score, interval) = over_seeds(&duels);
            let dash = || "-".to_string();
            e.row([name.into(), label, "all".into(), dash(), percent(score, interval), dash(), dash()]);
        }
    }
    e.notes.push(
        "all players have the same alpha-beta, ordered by their own heuristic; pairs with colours swapped".into(),
    );
    e.notes.push("equal nodes compare what is known, equal time what it costs to know it".into());
    Ok(e)
}

/// The orders that are compared.
const ORDERS: [&str; 3] = ["eval", "none", "random"];

/// Nodes to a given depth, the same heuristic at the leaves, by order of moves.
fn order(experiment: &Experiment<'_>, config: &Config, budget: &Budget) -> Result<Exhibit, RunError> {
    /// Positions in a part.
    const PART: usize = 10;
    let r = &config.reproduce;
    let title = format!("nodes to depth {} from {} random positions, by order of moves", r.depth, r.positions);
    let columns = ["seed", "learned", "none", "random", "none / learned", "random / learned"];
    let mut e = Exhibit::new("Order", title, &columns);
    let arena = experiment.arena()?;
    let table = experiment.table;
    // Early and late positions alike.
    let plies = [4, 8, 12, 16];
    let seed = Rng::derive(experiment.seeds[0], 77);
    let positions: Vec<String> = plies
        .iter()
        .flat_map(|&p| random_openings(table, r.positions.div_ceil(plies.len()), p, Rng::derive(seed, p as u64)))
        .collect();
    for report in &budget.reports {
        let model = run_of(report);
        let agents = ORDERS.map(|order| {
            let agent = Spec::word("minimax").with("order", order).with("table", config.search.table);
            learned(&agent, &model)
        });
        for agent in &agents {
            table.agent(agent, 0).map_err(|e| RunError::Config(e.to_string()))?;
        }
        let stage = format!("order-{}-{}", r.depth, report.seed);
        let counts = arena.stage(&stage, positions.len().div_ceil(PART), |part| {
            let end = ((part + 1) * PART).min(positions.len());
            let count = |text: &String| {
                agents.each_ref().map(|agent| {
                    let mut player = table.agent(agent, seed).expect("it has been checked");
                    player.start(&*table.position(text).expect("it was a position"));
                    player.choose(&Limit::depth(r.depth)).nodes
                })
            };
            Json(positions[part * PART..end].iter().map(count).collect::<Vec<[u64; 3]>>())
        })?;
        let mut total = [0u64; 3];
        counts.iter().flat_map(|Json(c)| c).for_each(|c| (0..3).for_each(|o| total[o] += c[o]));
        let ratio = |o: usize| format!("{:.2}", total[o] as f64 / total[0].max(1) as f64);
        let mean = |o: usize| format!("{:.0}", total[o] as f64 / positions.len().max(1) as f64);
        e.row([report.seed.to_string(), mean(0), mean(1), mean(2), ratio(1), ratio(2)]);
    }
    e.notes.push(
        "mean nodes a position; iterative deepening with a table in all three, so each begins with its own best".into(),
    );
    e.notes.push("the learned order also asks the net for every child: those calls are not nodes".into());
    Ok(e)
}
