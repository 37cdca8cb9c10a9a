//! Tables 1 to 6 of UCT-CCNN (Rezende & Chaimowicz), with ours beside them.
//!
//! The paper's 200 and 600 seconds a move become two numbers of simulations, 1 to 3. Its opponents written for one game are
//! not public: documented ones of our own (`classic`, depth 3) stand in. Its hundred games from the start are repetitions of
//! one or two games; ours begin at random openings, each played with both colours.

use crate::common::*;
use ludex_train::systems::composed;

/// `papers/uct-ccnn.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reproduce {
    ratio: u64,
    heights: Vec<u32>,
    height_games: usize,
    mcts_games: usize,
    mcts_sims: u64,
    budget_games: usize,
    ways: Vec<Spec>,
    opening_plies: u32,
}

/// The agents of the system's options.
#[derive(Deserialize)]
struct Play {
    mcts: Spec,
    literal: Spec,
    minimax: Spec,
}

/// Milliseconds a move of NeuralMinimax and its opponent where both have the same time.
const EQUAL_MS: u64 = 5;

/// A budget: its label, the paper's, and what was learned with it, seed by seed.
struct Budget {
    label: &'static str,
    paper: &'static str,
    reports: Vec<Report>,
}

/// All that the tables share.
struct Stage<'e> {
    experiment: &'e Experiment,
    arena: Arena<'e>,
    r: Reproduce,
    play: Play,
    /// What the tables of heights are called.
    names: [&'static str; 2],
    /// Simulations a move of the first budget.
    sims: u64,
    /// The tuned constant.
    c: f64,
    budgets: [Budget; 2],
}

/// What tells a learner to be quiet, not to tune, and how many simulations a move to generate with.
fn fixed(c: f64, sims: u64) -> Vec<String> {
    vec![UNMEASURED.into(), "tune.iterations=0".into(), format!("generate.c={c}"), format!("generate.sims={sims}")]
}

/// UCT as it was tuned.
fn uct(c: f64, sims: u64) -> Spec {
    Spec::word("uct").with("c", c).with("form", "kocsis").with("reward", "signed").with("sims", sims)
}

impl Reproduce {
    /// Simulations of the cheaper comparisons.
    fn few_sims(&self) -> u64 {
        (self.mcts_sims / 5).max(1)
    }

    fn check(&self, experiment: &Experiment, play: &Play) -> Result<()> {
        let [sims, most]: [u64; 2] =
            [experiment.system_option("generate.sims")?, experiment.system_option("generate.most_sims")?];
        experiment.plan(0, &fixed(1.0, self.ratio * if sims > 0 { sims } else { most }))?;
        for &height in &self.heights {
            experiment.check_agent("reproduce.heights", &set(&play.minimax, "depth", height))?;
        }
        for way in &self.ways {
            experiment.check_agent("reproduce.ways", &set(&composed(way, 1.0, &ModelRef::from("model")), "sims", 1))?;
        }
        experiment.check_agent("reproduce.mcts_sims", &uct(1.0, self.mcts_sims))
    }
}

/// Carries out the paper's experiments.
pub(crate) fn reproduce(experiment: &Experiment) -> Result<Vec<PaperTable>> {
    experiment.check_zero_sum()?;
    let (r, play): (Reproduce, Play) = (experiment.options()?, experiment.system_option("play")?);
    r.check(experiment, &play)?;
    let family = experiment.table.info().family();
    let names = if family == "morris" { ["Table 4", "Table 5"] } else { ["Table 2", "Table 3"] };
    let makers: [Maker<'_, Stage<'_>>; 7] = [
        (&["Table 1"], Stage::nets),
        (&names[..1], |stage| stage.heights(0)),
        (&names[1..], |stage| stage.heights(1)),
        (&["Table 6"], Stage::table6),
        (&["Choices"], Stage::choices),
        (&["Ways"], Stage::ways),
        (&["Budgets"], Stage::between_budgets),
    ];
    experiment.make(&makers, || {
        // The constant is tuned once, by the first run.
        let first = experiment.learn("small", experiment.seeds[0], &[UNMEASURED.into()])?;
        let (c, sims) = (needed(&first, "/c")?, needed(&first, "/sims")? as u64);
        let mut small = vec![first];
        for &seed in &experiment.seeds[1..] {
            small.push(experiment.learn("small", seed, &fixed(c, sims))?);
        }
        let large = experiment.learn_seeds("large", &fixed(c, sims * r.ratio))?;
        let budgets = [
            Budget { label: "small", paper: "200 s", reports: small },
            Budget { label: "large", paper: "600 s", reports: large },
        ];
        Ok(Stage { experiment, arena: experiment.arena()?, r, play, names, sims, c, budgets })
    })
}

impl Stage<'_> {
    fn family(&self) -> &str {
        self.experiment.table.info().family()
    }

    /// An agent with the tuned constant and what a run learned.
    fn agent(&self, spec: &Spec, report: &Report) -> Spec {
        composed(spec, self.c, &run_model(report))
    }

    /// The large budget's net of the first seed, alone or another in its place, against UCT with few simulations.
    fn cheap_duel(&self, name: &str, spec: &Spec, report: &Report, seed: u64) -> Result<Duels> {
        let sims = self.r.few_sims();
        self.arena.duels(name, &[report.seed], (self.r.mcts_games, self.r.opening_plies), |_| {
            ([set(&self.agent(spec, report), "sims", sims), uct(self.c, sims)], seed)
        })
    }

    /// Table 1.
    fn nets(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 1", &[&format!("{:.4}", self.c)]);
        for b in &self.budgets {
            out.rows.extend(self.experiment.quoted("Table 1", format!("{}, {}", self.family(), b.label)));
            for r in &b.reports {
                let whole = |path: &str| optional(figure(r, path), 0);
                let mse = |name: &str| optional(figure(r, &format!("/metrics/{name}")), 6);
                let examples = ["/train", "/selection", "/test"].map(whole).join(" + ");
                let [train, selection, test] = ["train_mse", "selection_mse", "test_mse"].map(mse);
                out.row(&[&b.label, &r.seed, &whole("/sims"), &examples, &whole("/units"), &train, &selection, &test]);
            }
        }
        Ok(vec![out])
    }

    /// Tables 2 to 5: alpha-beta with the nets of a budget.
    fn heights(&self, i: usize) -> Result<Vec<PaperTable>> {
        let (r, b) = (&self.r, &self.budgets[i]);
        let classic = self.experiment.table.parts().iter().any(|p| p.own && p.name == "classic");
        let against = Spec::word("minimax").with("depth", 3);
        let against = if classic { against.with("eval", "classic") } else { against };
        let text = self.experiment.text("Heights");
        let quoted = text.quoted.clone();
        let mut out = text
            .table(self.names[i], &[&b.label, &b.paper, &against, &r.height_games, &b.reports.len(), &r.opening_plies]);
        let printed = |height: u32| quoted.get(&format!("{}, {}, {height}", self.family(), b.label));
        // Higher than the paper says nothing about it and takes hours.
        let highest = (0..100).rev().find(|&h| printed(h).is_some()).unwrap_or(u32::MAX);
        for height in r.heights.iter().filter(|&&h| h <= highest).map(|&h| Some(h)).chain([None]) {
            let word = height.map_or("time".into(), |h| h.to_string());
            let file = format!("minimax-{}-{word}", b.label);
            let duels = self.arena.duels(&file, &self.experiment.seeds, (r.height_games, r.opening_plies), |s| {
                let agent = self.agent(&self.play.minimax, &b.reports[s]);
                let agents = match height {
                    Some(height) => [set(&agent, "depth", height), against.clone()],
                    None => [agent, set(&against, "depth", 1000)].map(|a| set(&a, "cpu_ms", EQUAL_MS)),
                };
                (agents, height.unwrap_or(0) as u64)
            })?;
            let dashes = ["-", "-"].map(String::from);
            let printed = height.and_then(printed).map_or(&dashes[..], |cells| cells);
            let shown = height.map_or(format!("any, {EQUAL_MS} ms for both"), |h| h.to_string());
            let [ours_second, ours_first] = [duels.second(), duels.first()].map(|wdl| wdl_text(&wdl));
            let ms = format!("{:.2}", duels.ms()[0]);
            out.join(&[&shown], printed, &[&ours_second, &ours_first, &duels.score_text(), &ms]);
        }
        Ok(vec![out])
    }

    fn table6(&self) -> Result<Vec<PaperTable>> {
        let (r, play) = (&self.r, &self.play);
        let values: [&dyn Display; 5] = [&r.mcts_sims, &play.literal, &play.mcts, &r.mcts_games, &r.opening_plies];
        let mut out = self.experiment.table("Table 6", &values);
        out.rows.extend(self.experiment.quoted("Table 6", self.family()));
        let mut uct_ms = None;
        for (name, spec) in [("literal", &play.literal), ("improved", &play.mcts)] {
            for equal in ["simulations", "processor time"] {
                let file = format!("mcts-{name}-{}", equal.replace(' ', "-"));
                // At equal time both think as long as UCT thinks about its simulations.
                let ms = uct_ms.map_or(1.0, |ms: f64| ms.round().max(1.0)) as u64;
                let duels = self.arena.duels(&file, &self.experiment.seeds, (r.mcts_games, r.opening_plies), |s| {
                    let agent = self.agent(spec, &self.budgets[1].reports[s]);
                    let agents = match equal {
                        "simulations" => [set(&agent, "sims", r.mcts_sims), uct(self.c, r.mcts_sims)],
                        _ => [agent, uct(self.c, 1).without("sims")].map(|a| set(&a, "cpu_ms", ms)),
                    };
                    (agents, 7)
                })?;
                for d in &duels.0 {
                    let [second, first] = [d.pairs.second(), d.pairs.first()].map(|wdl| wdl_text(&wdl));
                    let wins = percent(d.summary.win_rate, d.summary.win_interval);
                    out.row(&[&name, &equal, &d.seed, &second, &first, &wins, &d.score_text(), &d.ms_text()]);
                }
                uct_ms.get_or_insert(duels.ms()[1]);
                let [second, first] = [duels.second(), duels.first()].map(|wdl| wdl_text(&wdl));
                let (all, score) = (duels.wdl(), duels.score_text());
                let wins = share(all.wins as f64 / all.games().max(1) as f64);
                out.row(&[&name, &equal, &"all", &second, &first, &wins, &score, &""]);
            }
        }
        Ok(vec![out])
    }

    /// What filtering and training are worth: from the same matches, NeuralMCTS as printed with nets that learned differently.
    fn choices(&self) -> Result<Vec<PaperTable>> {
        let paper = [
            "filter.draws=drop",
            "filter.duplicates=most_visits",
            "train.split=example",
            "train.objective=cascade2",
            "train.output=rprop",
        ];
        let keeping_draws = [&["filter.draws=keep"], &paper[1..]].concat();
        let mut variants: Vec<(&str, &[&str])> =
            vec![("paper", &paper), ("paper-draws", &keeping_draws), ("all-examples", &["filter.matches=all"])];
        // A game whose roles are not alike has no view of the mover.
        if self.experiment.table.info().mirror.is_some() {
            variants.push(("mover", &["train.view=mover"]));
        }
        let base = &self.budgets[1].reports[0];
        let mut nets = vec![("ours".to_string(), base.clone())];
        for (label, settings) in variants {
            let mut own = fixed(self.c, self.sims * self.r.ratio);
            own.extend(settings.iter().map(|s| s.to_string()));
            let report =
                self.experiment.learn_again(("large", label), base.seed, &["start", "states", "random"], &own)?;
            nets.push((settings.join(", "), report));
        }
        let mut out = self.experiment.table("Choices", &[&self.r.few_sims(), &base.seed]);
        for (i, (name, report)) in nets.iter().enumerate() {
            let duels = self.cheap_duel(&format!("choices-{i}"), &self.play.literal, report, 13)?;
            let [examples, units] = ["/examples", "/units"].map(|path| optional(figure(report, path), 0));
            let mse = optional(figure(report, "/metrics/test_mse"), 6);
            out.row(&[name, &examples, &units, &mse, &wdl_text(&duels.wdl()), &duels.0[0].score_text()]);
        }
        Ok(vec![out])
    }

    /// What the options of the search are worth: with the same net, it listens to it in different ways.
    fn ways(&self) -> Result<Vec<PaperTable>> {
        let r = &self.r;
        let net = &self.budgets[1].reports[0];
        let mut out = self.experiment.table("Ways", &[&r.few_sims(), &net.seed, &r.mcts_games]);
        for (i, way) in r.ways.iter().enumerate() {
            let duels = self.cheap_duel(&format!("ways-{i}"), way, net, 17)?;
            let duel = &duels.0[0];
            out.row(&[way, &wdl_text(&duels.wdl()), &duel.score_text(), &duel.ms_text()]);
        }
        Ok(vec![out])
    }

    /// Whether more generation makes stronger players: more simulations a move as in the paper, or more matches.
    fn between_budgets(&self) -> Result<Vec<PaperTable>> {
        let (r, play) = (&self.r, &self.play);
        let count = |name: &str| self.experiment.system_option::<usize>(&format!("generate.{name}"));
        let (matches, states, repeats) = (count("matches")?, count("states")?, count("repeats")?);
        let height = r.heights.iter().copied().find(|&h| h >= 4).unwrap_or(3);
        let mcts_sims = (r.mcts_sims / 10).max(1);
        let mut out = self.experiment.table("Budgets", &[&r.ratio, &height, &mcts_sims]);
        let agents = [
            ("NeuralMinimax", set(&play.minimax, "depth", height)),
            ("NeuralMCTS", set(&play.mcts, "sims", mcts_sims)),
        ];
        let [small, large] = [&self.budgets[0].reports, &self.budgets[1].reports];
        let part = |n: usize| (n / r.ratio as usize).max(1);
        let mut own = fixed(self.c, self.sims);
        own.extend([format!("generate.matches={}", part(matches)), format!("generate.states={}", part(states))]);
        let few = self.experiment.learn_seeds("few", &own)?;
        let [many, some] = [needed(&large[0], "/sims")?, needed(&small[0], "/sims")?];
        let sims = format!("{many} : {some} simulations");
        let [all, part] = [matches + states * repeats, part(matches) + part(states) * repeats];
        let matches = format!("{all} : {part} matches");
        for (mark, compared, large, small) in [("", sims, large, small), ("matches-", matches, small, &few)] {
            for (name, spec) in &agents {
                let file = format!("budgets-{mark}{name}");
                let duels =
                    self.arena.duels(&file, &self.experiment.seeds, (r.budget_games, r.opening_plies), |s| {
                        ([&large[s], &small[s]].map(|report| self.agent(spec, report)), 11)
                    })?;
                for d in &duels.0 {
                    out.row(&[&compared, name, &d.seed, &wdl_text(&d.summary.wdl), &d.score_text()]);
                }
                out.row(&[&compared, name, &"all", &wdl_text(&duels.wdl()), &duels.score_text()]);
            }
        }
        Ok(vec![out])
    }
}
