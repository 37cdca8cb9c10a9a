//! Tables 1 and 2 of NHB (Ghignone & Cancelliere) with ours beside them; direct matches against hand-made heuristics; what the
//! learned order of moves saves.
//!
//! The paper gives seconds a move on a machine of its time: budgets here are nodes, and matches at equal time stand beside
//! them. Its best rows are chosen by the tests they report; here every row of every seed is shown.

use crate::common::*;
use ludex_play::openings::random_openings;
use ludex_play::{Limit, PartKind};
use ludex_train::systems;
use std::path::PathBuf;

/// `papers/nhb.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reproduce {
    budgets: Vec<u64>,
    test_games: usize,
    cpu_ms: u64,
    direct_games: usize,
    opening_plies: u32,
    positions: usize,
    depth: u32,
}

/// The move times of Table 1.
const TIMES: [&str; 3] = ["0.25 s", "0.5 s", "1 s"];

/// The heuristics made by hand of Table 2.
const BY_HAND: [&str; 2] = ["pieces", "positional"];

/// All that the tables share.
struct Stage<'e> {
    experiment: &'e Experiment,
    arena: Arena<'e>,
    r: Reproduce,
    /// What the table of tests is called.
    main: &'static str,
    learned: Vec<Budget>,
}

/// What one budget gave.
struct Budget {
    nodes: u64,
    reports: Vec<Report>,
    /// Alpha-beta without its heuristic.
    agent: Spec,
}

/// Training matches, and the tests after them.
type Test = (usize, Duels);

/// The agent with a net that never learned.
fn untrained(agent: &Spec) -> Spec {
    systems::untrained(agent, "net", systems::UNTRAINED_HIDDEN)
}

impl Reproduce {
    /// What is learned with so many nodes a move. As in the paper, a double budget gets half the matches.
    fn settings(&self, matches: u64, nodes: u64, reversi: bool) -> [String; 3] {
        // The paper tests Reversi every fifty matches, Connect Four every twenty.
        let base = if reversi { matches * 5 / 2 } else { matches };
        let matches = (base * self.budgets[0] / nodes).max(2);
        [UNMEASURED.to_string(), format!("search.nodes={nodes}"), format!("cycle.matches={matches}")]
    }

    fn check(&self, experiment: &Experiment, matches: u64) -> Result<()> {
        for &nodes in &self.budgets {
            experiment.check_agent("reproduce.budgets", &set(&Spec::word("minimax"), "nodes", nodes))?;
            experiment.plan(0, &self.settings(matches, nodes, true))?;
        }
        experiment.check_agent("reproduce.cpu_ms", &set(&Spec::word("minimax"), "cpu_ms", self.cpu_ms))?;
        experiment.check_agent("reproduce.depth", &set(&Spec::word("minimax"), "depth", self.depth))
    }
}

/// Carries out the paper's experiments.
pub(crate) fn reproduce(experiment: &Experiment) -> Result<Vec<PaperTable>> {
    let (r, matches): (Reproduce, u64) = (experiment.options()?, experiment.system_option("cycle.matches")?);
    r.check(experiment, matches)?;
    let main = if experiment.table.info().family() == "othello" { "Table 2" } else { "Table 1" };
    let makers: [Maker<'_, Stage<'_>>; 3] =
        [(&[main], Stage::tests), (&["Direct"], Stage::direct), (&["Order"], Stage::order)];
    experiment.make(&makers, || {
        let reversi = main == "Table 2";
        // Reversi has one budget in the paper, and what follows the tests needs the first only.
        let wanted = if reversi || !experiment.wants(main) { &r.budgets[..1] } else { &r.budgets[..] };
        let mut learned = Vec::new();
        for &nodes in wanted {
            let reports = experiment.learn_seeds(&format!("nodes{nodes}"), &r.settings(matches, nodes, reversi))?;
            let agent = reports[0].agent.clone().without("model").without("cpu_ms");
            learned.push(Budget { nodes, agent: set(&agent, "nodes", nodes), reports });
        }
        Ok(Stage { experiment, arena: experiment.arena()?, r, main, learned })
    })
}

/// The net of every cycle of a run, with its training matches.
fn cycle_models(report: &Report) -> Result<Vec<(usize, PathBuf)>> {
    let run = run_model(report);
    let matches = report.config.options["cycle"]["matches"].as_integer().unwrap_or(1) as usize;
    let entries = entries(run.path())?;
    let cycle = |part: &str| part.strip_prefix("model/cycle-")?.parse::<usize>().ok();
    let models = entries.iter().filter_map(|e| Some((cycle(&e.part)? * matches, run.path().join(&e.file))));
    let mut models: Vec<_> = models.collect();
    models.sort();
    Ok(models)
}

impl Stage<'_> {
    fn seeds(&self) -> &[u64] {
        &self.experiment.seeds
    }

    /// Tables 1 and 2: the net of every cycle of every seed, and heuristics made by hand, against nets that never learned.
    fn tests(&self) -> Result<Vec<PaperTable>> {
        let connect4 = self.experiment.table.info().family() == "connect4";
        let mut all = Vec::new();
        for (i, budget) in self.learned.iter().enumerate() {
            let time = TIMES.get(i).filter(|_| connect4);
            let shown = time.map_or(String::new(), |time| format!(" (paper: {time})"));
            let seeds: String = self.seeds().iter().map(|seed| format!("seed {seed}, L / D / W | ")).collect();
            let hidden: Vec<String> = budget.reports.iter().map(|r| r.figures["hidden"].to_string()).collect();
            let (tests, hidden) = (&self.r.test_games, hidden.join(", "));
            let values: [&dyn Display; 6] = [&budget.nodes, &shown, &seeds, tests, &budget.nodes, &hidden];
            let mut out = self.experiment.table(self.main, &values);
            let mut add = |name: &str, row: &str, duels: &Duels| {
                // Losses, draws and wins, as the paper prints them.
                let ldw: Vec<String> = duels.0.iter().map(|d| wdl_text(&d.summary.wdl.flipped())).collect();
                let [paper] = self.experiment.quoted_cells(self.main, row);
                out.join(&[&name, &paper], &ldw, &[&share(duels.win_rate()), &duels.score_text()]);
            };
            let tests = self.cycle_tests(budget)?;
            for (matches, duels) in &tests {
                let name = format!("NHB, {matches}");
                let row = time.map_or(name.clone(), |time| format!("{time}, {matches}"));
                add(&name, &row, duels);
            }
            for name in BY_HAND.into_iter().filter(|_| self.main == "Table 2") {
                let hand = budget.agent.clone().with("eval", name);
                let file = format!("test-{}-{name}", budget.nodes);
                add(name, name, &self.against_untrained(&file, budget, |s| (hand.clone(), self.seeds()[s]))?);
            }
            let mean = tests.iter().map(|t| t.1.win_rate()).sum::<f64>() / tests.len().max(1) as f64;
            let last = tests.last().map_or(0.0, |t| t.1.win_rate());
            out.note(format!("wins at the end {}, on the mean of all rows {}", share(last), share(mean)));
            out.plot = if i == 0 { self.curve(&tests)? } else { None };
            all.push(out);
        }
        Ok(all)
    }

    /// The tests of the net of every cycle of every seed.
    fn cycle_tests(&self, budget: &Budget) -> Result<Vec<Test>> {
        let models: Vec<_> = budget.reports.iter().map(cycle_models).collect::<Result<_, _>>()?;
        let test = |cycle: usize| {
            let duels = self.against_untrained(&format!("test-{}-{cycle:04}", budget.nodes), budget, |s| {
                let model = ModelRef::new(&models[s][cycle].1);
                (budget.agent.clone().with("model", model), cycle as u64)
            })?;
            Ok((models[0][cycle].0, duels))
        };
        // All runs have the same cycles.
        (1..models[0].len()).map(test).collect()
    }

    fn against_untrained(&self, name: &str, budget: &Budget, agent: impl Fn(usize) -> (Spec, u64)) -> Result<Duels> {
        self.arena.duels(name, self.seeds(), (self.r.test_games, 0), |s| {
            let (agent, seed) = agent(s);
            ([agent, untrained(&budget.agent)], seed)
        })
    }

    fn curve(&self, tests: &[Test]) -> Result<Option<String>> {
        let title = format!("Wins against nets that never learned, {}", self.experiment.table.info().name);
        let frame = Frame { title: &title, x: "training matches", y: "share of wins", log_x: false };
        let line = |name: String, wins: &dyn Fn(&Duels) -> f64| {
            Series::line(name, tests.iter().map(|(matches, duels)| (*matches as f64, wins(duels))).collect())
        };
        let mut series = vec![line("mean".into(), &Duels::win_rate)];
        for (i, seed) in self.seeds().iter().enumerate() {
            series.push(line(format!("seed {seed}"), &|duels| duels.0[i].summary.win_rate));
        }
        self.experiment.plot("learning.svg", &frame, &series)
    }

    /// Matches against every heuristic made by hand that the game has, and against a net that never learned, at equal nodes
    /// and at equal time.
    fn direct(&self) -> Result<Vec<PaperTable>> {
        let budget = &self.learned[0];
        let r = &self.r;
        let mut out = self.experiment.table("Direct", &[&r.opening_plies]);
        let by_time = set(&budget.agent.clone().without("nodes"), "cpu_ms", r.cpu_ms);
        let searches = [(format!("{} nodes", budget.nodes), &budget.agent), (format!("{} ms", r.cpu_ms), &by_time)];
        let parts = self.experiment.table.parts();
        let hand = parts.iter().filter(|p| p.own && p.kind == PartKind::Evaluator).map(|p| p.name);
        for name in std::iter::once("untrained").chain(hand) {
            for (label, agent) in &searches {
                let rival = match name {
                    "untrained" => untrained(agent),
                    _ => (*agent).clone().with("eval", name),
                };
                let file = format!("direct-{name}-{}", label.replace(' ', "-"));
                let duels = self.arena.duels(&file, self.seeds(), (r.direct_games, r.opening_plies), |s| {
                    let mine = (*agent).clone().with("model", run_model(&budget.reports[s]));
                    ([mine, rival.clone()], self.seeds()[s])
                })?;
                for d in &duels.0 {
                    let (wdl, e) = (wdl_text(&d.summary.wdl), &d.summary.elo);
                    let elo = format!("{:+.0} [{:+.0}, {:+.0}]", e.value, e.low, e.high);
                    out.row(&[&name, label, &d.seed, &wdl, &d.score_text(), &elo, &d.ms_text()]);
                }
                out.row(&[&name, label, &"all", &"-", &duels.score_text(), &"-", &"-"]);
            }
        }
        Ok(vec![out])
    }

    /// Nodes to a given depth, the same heuristic at the leaves, by order of moves.
    fn order(&self) -> Result<Vec<PaperTable>> {
        let budget = &self.learned[0];
        /// Positions in a part.
        const PART: usize = 10;
        let (r, table) = (&self.r, &*self.experiment.table);
        let mut out = self.experiment.table("Order", &[&r.depth, &r.positions]);
        // Early and late positions alike.
        let plies = [4, 8, 12, 16];
        let seed = Rng::derive(self.seeds()[0], 77);
        let openings =
            |&p: &u32| random_openings(table, r.positions.div_ceil(plies.len()), p, Rng::derive(seed, p as u64));
        let positions: Vec<String> = plies.iter().flat_map(openings).collect();
        for report in &budget.reports {
            let agent = budget.agent.clone().without("nodes").with("model", run_model(report));
            let nodes = |order: &str, text: &str| -> Result<u64> {
                let player = table.agent(&set(&agent, "order", order), seed);
                let mut player = player.map_err(|e| RunError::Agent("minimax".into(), e))?;
                let position = table.position(text).expect("it was a position");
                let choice = player.choose(&*position, &Control::from(Limit::depth(r.depth)));
                Ok(choice.map_err(|e| RunError::Learning(e.to_string()))?.nodes)
            };
            let stage = format!("order-{}-{}", r.depth, report.seed);
            let parts = self.arena.run.stage(&stage, positions.len().div_ceil(PART), |part| {
                let chunk = positions.chunks(PART).nth(part).unwrap_or_default().iter();
                let count = |text: &String| -> Result<[u64; 3]> {
                    Ok([nodes("eval", text)?, nodes("none", text)?, nodes("random", text)?])
                };
                Ok(Json(chunk.map(count).collect::<Result<Vec<_>, _>>()?))
            })?;
            let mut total = [0u64; 3];
            for part in parts.iter() {
                part?.0.iter().for_each(|c| (0..3).for_each(|o| total[o] += c[o]));
            }
            let [a, b, c] = total.map(|n| format!("{:.0}", n as f64 / positions.len().max(1) as f64));
            let ratio = |o: usize| format!("{:.2}", total[o] as f64 / total[0].max(1) as f64);
            out.row(&[&report.seed, &a, &b, &c, &ratio(1), &ratio(2)]);
        }
        Ok(vec![out])
    }
}
