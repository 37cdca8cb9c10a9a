//! The figures and tables of CARL (Loftsdóttir, Hjaltadóttir & Ívarsson 2019), with ours beside them.
//!
//! The paper's "+-" is a standard deviation over policies; ours are 95 % intervals with the policy (training seed) as the unit.
//! Its start clock became a number of training games. Everything is played at equal simulations, each of which adds one node,
//! and at equal processor time: there UCT gets as many simulations more as guided ones take longer.

use crate::common::*;
use ludex_core::GameInfo;
use ludex_play::openings::{played_by, random_length};
use ludex_play::{AgentError, try_in_parallel};
use ludex_train::sarsa::SarsaPoint;
use std::collections::BTreeMap;

/// `papers/carl.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reproduce {
    games: usize,
    sims: u64,
    opening_plies: u32,
    uct: Spec,
    playout: Way,
    selection: Way,
    literal: Vec<String>,
    literal_playout: Spec,
    literal_selection: Spec,
    literal_games: usize,
    by_game: BTreeMap<String, GameChoice>,
    lengths: Vec<u64>,
    regressor_games: usize,
    ks: Vec<f64>,
    k_policies: usize,
    k_games: usize,
    profile_moves: u32,
}

/// What is learned, and who plays with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Way {
    /// Options of learning.
    set: Vec<String>,
    /// Who plays; the model is added.
    agent: Spec,
}

/// What is used for one game in place of the general choice.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GameChoice {
    playout: Option<Way>,
    selection: Option<Way>,
}

/// Which rules these are: the paper's names stand for sheets of the public repository.
fn rules(experiment: &Experiment) -> String {
    let hash = format!("{:016x}", experiment.table.info().rules_hash);
    let sheet = experiment.quoted("Rules", &hash).map(|sheet| format!("the public sheet {}", sheet[0]));
    format!("rules {hash}, {}", sheet.unwrap_or("not a sheet of the paper".into()))
}

/// The game that a name or the file of a rulesheet stands for.
fn family(info: &GameInfo) -> &str {
    match std::path::Path::new(info.family()).file_stem().and_then(|s| s.to_str()) {
        Some("connectFour") => "connect4",
        stem => stem.unwrap_or(""),
    }
}

/// All that the tables share.
struct Stage<'e> {
    experiment: &'e Experiment,
    arena: Arena<'e>,
    r: Reproduce,
    /// The game, as quoted rows name it.
    family: String,
    /// What the table of win rates is called.
    strength: &'static str,
}

/// The regressors, as the paper names them and as options do.
const REGRESSORS: [(&str, &str); 3] = [("SGD", "sgd"), ("passive-aggressive", "pa"), ("MLP", "mlp")];

/// In place of a label: no policy is needed.
const BARE: &str = "";

/// Nothing is measured after learning: the tables do that.
fn own(settings: &[String]) -> Vec<String> {
    [&[UNMEASURED.to_string()], settings].concat()
}

/// The same search without what was learned: what is gained by other constants alone.
fn bare(agent: &Spec) -> Spec {
    let mut bare = agent.clone();
    bare.name = "uct".into();
    ["playout", "model", "k", "first"].into_iter().fold(bare, Spec::without)
}

/// Carries out the paper's experiments on one game.
pub(crate) fn reproduce(experiment: &Experiment) -> Result<Vec<PaperTable>> {
    if experiment.table.info().players() != 2 {
        return Err(RunError::Options("the paper's experiments are for games of two players".into()));
    }
    let mut r: Reproduce = experiment.options()?;
    let family = family(experiment.table.info());
    let GameChoice { playout, selection } = r.by_game.remove(family).unwrap_or_default();
    (r.playout, r.selection) = (playout.unwrap_or(r.playout), selection.unwrap_or(r.selection));
    r.check(experiment)?;
    let strength = match family {
        "breakthrough" => "Table 3",
        "checkers" => "Table 4",
        _ => "Table 2",
    };
    let makers: [Maker<'_, Stage<'_>>; 4] = [
        (&["Table 1"], Stage::shape),
        (&["Figure 4", "Figure 5", "Figure 6"], Stage::regressors),
        (&["K", strength], Stage::policies),
        (&["Table 5", "Table 6", "Table 7"], Stage::profile),
    ];
    experiment
        .make(&makers, || Ok(Stage { experiment, arena: experiment.arena()?, r, family: family.into(), strength }))
}

impl Reproduce {
    /// What the policies of Figures 4 to 6 learn with.
    fn regressor(&self, regressor: &str, length: u64) -> Vec<String> {
        let own = [format!("train.regressor={regressor}"), "train.inputs=beside".into(), "train.roles=own".into()];
        [&self.literal[..], &own, &[format!("train.games={length}")]].concat()
    }

    fn check(&self, experiment: &Experiment) -> Result<()> {
        let (playout, selection) = (&self.playout, &self.selection);
        let agents = [
            ("reproduce.uct", &self.uct),
            ("reproduce.playout.agent", &playout.agent),
            ("reproduce.selection.agent", &selection.agent),
            ("reproduce.literal_playout", &self.literal_playout),
            ("reproduce.literal_selection", &self.literal_selection),
        ];
        agents.into_iter().try_for_each(|(option, agent)| experiment.check_agent(option, agent))?;
        experiment.check_agent("reproduce.sims", &set(&self.uct, "sims", self.sims))?;
        self.ks.iter().try_for_each(|&k| experiment.check_agent("reproduce.ks", &set(&selection.agent, "k", k)))?;
        let mut learned = vec![playout.set.clone(), selection.set.clone(), self.literal.clone()];
        for length in &self.lengths {
            learned.extend(REGRESSORS.map(|(_, regressor)| self.regressor(regressor, *length)));
        }
        learned.iter().try_for_each(|set| experiment.plan(0, &own(set)).map(|_| ()))
    }
}

/// Row over policies: as player 1, as player 2, score, deviation, milliseconds of both, their ratio.
fn cells(duels: &Duels) -> [String; 6] {
    let [ours, theirs] = duels.ms();
    [
        share(duels.first().score()),
        share(duels.second().score()),
        duels.score_text(),
        format!("{:.1}", 100.0 * duels.deviation()),
        format!("{ours:.2}, {theirs:.2}"),
        format!("{:.2}", ours / theirs.max(1e-9)),
    ]
}

impl Stage<'_> {
    /// Learns with several seeds, as many at a time as there are threads: each learns on one.
    fn learn(&self, label: &str, seeds: &[u64], settings: &[String]) -> Result<Vec<Report>> {
        let learn = |i: usize| self.experiment.learn(label, seeds[i], &own(settings));
        try_in_parallel(seeds.len(), self.experiment.threads, learn)
    }

    /// Every policy of a label against UCT with so many simulations.
    fn play(&self, name: &str, (label, seeds): (&str, &[u64]), agent: &Spec, uct: u64, games: usize) -> Result<Duels> {
        self.arena.duels(name, seeds, (games, self.r.opening_plies), |s| {
            let mut agent = match label {
                BARE => agent.clone(),
                _ => with_model(agent, &self.experiment.model(label, seeds[s])),
            };
            if agent.name != "policy" {
                agent.set("sims", self.r.sims);
            }
            ([agent, set(&self.r.uct, "sims", uct)], seeds[s])
        })
    }

    /// Table 1: how wide and deep the game is.
    fn shape(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 1", &[]);
        let reports = self.learn("playout", &self.experiment.seeds[..1], &self.r.playout.set)?;
        let metric = |name: &str| needed(&reports[0], &format!("/metrics/{name}")).map(|n| format!("{n:.1}"));
        let [branching, depth] = self.experiment.quoted_cells("Table 1", &self.family);
        out.row(&[&"branching", &branching, &metric("branching")?, &"-"]);
        let random = format!("{:.1}", random_length(&*self.experiment.table));
        out.row(&[&"depth", &depth, &metric("plies")?, &random]);
        out.note(rules(self.experiment));
        Ok(vec![out])
    }

    /// Figures 4 to 6: the policy alone, three regressors, three lengths.
    fn regressors(&self) -> Result<Vec<PaperTable>> {
        let (r, seeds) = (&self.r, &self.experiment.seeds[..]);
        let mut table = self.experiment.table("Figure 4", &[&r.sims]);
        let (mut wins, mut errors, mut explored) = (Vec::new(), Vec::new(), Vec::new());
        for (name, regressor) in REGRESSORS {
            let (mut line, mut curves) = (Vec::new(), Vec::new());
            for &length in &r.lengths {
                let label = format!("{regressor}-{length}");
                let reports = self.learn(&label, seeds, &r.regressor(regressor, length))?;
                let duels = self.play(&label, (&label, seeds), &Spec::word("policy"), r.sims, r.regressor_games)?;
                line.push((length as f64, 100.0 * duels.score()));
                table.join(&[&name, &length], &cells(&duels), &[]);
                curves = reports.iter().map(curve).collect::<Result<_, _>>()?;
            }
            wins.push(Series::line(name, line));
            errors.push(Series::line(name, averaged(&curves, |p| p.error)));
            explored.push(Series::line(name, averaged(&curves, |p| p.exploration)));
        }
        let plot = |file: &str, x: &str, y: &str, series: &[Series]| {
            self.experiment.plot(file, &Frame { title: y, x, y, log_x: false }, series)
        };
        table.plot = plot("figure4.svg", "training games", "score in percent", &wins)?;
        let mut all = vec![table];
        for (name, file, series) in [("Figure 5", "figure5.svg", &explored), ("Figure 6", "figure6.svg", &errors)] {
            let mut out = self.experiment.table(name, &[]);
            for s in series {
                let at = |share: f64| {
                    let i = ((s.points.len() as f64 * share).ceil() as usize).clamp(1, s.points.len().max(1)) - 1;
                    optional(s.points.get(i).map(|p| p.1), 3)
                };
                let last = optional(s.points.last().map(|p| p.0), 0);
                out.row(&[&s.name, &last, &at(0.1), &at(0.5), &at(1.0)]);
            }
            out.plot = plot(file, "expansions", &out.title, series)?;
            all.push(out);
        }
        Ok(all)
    }

    /// The equivalence parameter, chosen on policies of its own, which are not reported.
    fn equivalence(&self) -> Result<(f64, PaperTable)> {
        let r = &self.r;
        let seed = |i: u64| Rng::derive(self.experiment.seeds[0], 1_000 + i) % 1_000_000 + 1_000_000;
        let mut seeds: Vec<u64> = Vec::new();
        for seed in (0..r.k_policies as u64).map(seed) {
            seeds.extend((!seeds.contains(&seed)).then_some(seed));
        }
        self.learn("selection", &seeds, &self.r.selection.set)?;
        let mut out = self.experiment.table("K", &[&seeds.len()]);
        let mut best = (f64::MIN, 0.0);
        for &k in &r.ks {
            let agent = set(&self.r.selection.agent, "k", k);
            let duels = self.play(&format!("k-{k}"), ("selection", &seeds), &agent, r.sims, r.k_games)?;
            if duels.score() > best.0 {
                best = (duels.score(), k);
            }
            out.row(&[&k, &duels.score_text()]);
        }
        out.note(format!("chosen: k = {}", best.1));
        Ok((best.1, out))
    }

    /// Tables 2 to 4: guided playouts and guided selection against UCT, with the best k.
    fn policies(&self) -> Result<Vec<PaperTable>> {
        let (k, sweep) = self.equivalence()?;
        if !self.experiment.wants(self.strength) {
            return Ok(vec![sweep]);
        }
        let (r, seeds) = (&self.r, &self.experiment.seeds[..]);
        let mut out = self.experiment.text("Strength").table(self.strength, &[&r.sims, &seeds.len()]);
        for guided in ["playout", "selection"] {
            if let Some(cells) = self.experiment.quoted("Strength", format!("{}, {guided}", self.family)) {
                out.join(&[&format!("paper: {guided}"), &"expansions", &1000], &cells, &[&"-", &"-"]);
            }
        }
        let (playout, selection, at_k) = (&r.playout, &r.selection, set(&r.selection.agent, "k", k));
        let rows = [
            ("literal playout", "literal", &r.literal, &r.literal_playout, r.literal_games),
            ("literal selection", "literal", &r.literal, &r.literal_selection, r.literal_games),
            ("playout", "playout", &playout.set, &playout.agent, r.games),
            ("selection", "selection", &selection.set, &at_k, r.games),
        ];
        for (title, label, settings, agent, games) in rows.into_iter().filter(|row| row.4 > 0) {
            self.learn(label, seeds, settings)?;
            let file = title.replace(' ', "-");
            let equal = self.play(&file, (label, seeds), agent, r.sims, games)?;
            // The same at equal processor time, by the ratio found at equal simulations.
            let sims =
                self.arena.run.once(&format!("time-{file}/0000"), || Ok(equal_time(r.sims, equal.time_ratio())))?;
            let timed = self.play(&format!("{file}-time"), (label, seeds), agent, sims, games)?;
            let mut shown = vec![
                (title.to_string(), "simulations", r.sims, equal),
                (title.to_string(), "processor time", sims, timed),
            ];
            if label != "literal" {
                let duels = self.play(&format!("{file}-bare"), (BARE, seeds), &bare(agent), r.sims, games)?;
                shown.push((format!("{title}, nothing learned"), "simulations", r.sims, duels));
            }
            for (title, equal, sims, duels) in shown {
                out.join(&[&title, &equal, &sims], &cells(&duels), &[]);
            }
            let settings = [settings, &self.experiment.settings].map(|s| s.join(" ")).join(" ");
            out.note(format!("{title}: {agent}, learned with {settings}"));
        }
        Ok(vec![sweep, out])
    }

    /// Tables 5 to 7: where the time goes.
    fn profile(&self) -> Result<Vec<PaperTable>> {
        let (r, seed) = (&self.r, self.experiment.seeds[0]);
        let learned = [("playout", &self.r.playout.set), ("selection", &self.r.selection.set), ("literal", &r.literal)];
        for (label, settings) in learned {
            self.learn(label, &[seed], settings)?;
        }
        let mut out = self.experiment.table("Table 5 to Table 7", &[&r.profile_moves]);
        let own = |agent: &Spec, label: &str| with_model(agent, &self.experiment.model(label, seed));
        let searches = [
            ("UCT", r.uct.clone()),
            ("selection", own(&self.r.selection.agent, "selection")),
            ("playout", own(&self.r.playout.agent, "playout")),
            ("literal selection", own(&r.literal_selection, "literal")),
            ("literal playout", own(&r.literal_playout, "literal")),
        ];
        let mut plain = None;
        for (name, agent) in searches {
            let (shares, micros) = self.phases(&set(&agent, "sims", r.sims))?;
            let plain = *plain.get_or_insert(micros.max(1e-9));
            let [a, b, c, d] = shares.map(share);
            out.row(&[&name, &a, &b, &c, &d, &format!("{micros:.2}"), &format!("{:.2}", micros / plain)]);
        }
        Ok(vec![out])
    }

    /// Lets a search think along a game of UCT, once with its phases timed, once without: the share of each phase, and
    /// microseconds a simulation.
    fn phases(&self, spec: &Spec) -> Result<([f64; 4], f64)> {
        let table = &*self.experiment.table;
        let build = |spec: &Spec, seed| table.agent(spec, seed).map_err(|e| RunError::Agent(spec.to_string(), e));
        let failed = |e: AgentError| RunError::Learning(format!("agent \"{spec}\": {e}"));
        let mut leader = build(&set(&self.r.uct, "sims", self.r.sims), 1)?;
        let game = played_by(&mut *leader, table, self.r.profile_moves - 1).map_err(failed)?;
        let (mut agent, mut timed) = (build(spec, 2)?, build(&spec.clone().with("profile", "on"), 2)?);
        let (mut spent, mut seconds, mut simulations) = ([0.0; 4], 0.0, 0);
        let mut think = |position: &dyn Position| -> Result<()> {
            let begun = ThreadTime::now();
            simulations += agent.choose(position, &Control::default()).map_err(failed)?.simulations;
            seconds += begun.elapsed().as_secs_f64();
            timed.choose(position, &Control::default()).map_err(failed)?;
            spent.iter_mut().zip(timed.counters()).for_each(|(s, (_, ns))| *s += ns);
            Ok(())
        };
        let mut position = table.start();
        think(&*position)?;
        for &m in game.moves() {
            position.play(m).map_err(|e| RunError::Learning(e.to_string()))?;
            think(&*position)?;
        }
        let total: f64 = spent.iter().sum::<f64>().max(1.0);
        Ok((spent.map(|s| s / total), 1e6 * seconds / simulations.max(1) as f64))
    }
}

/// What a policy measured while it learned.
fn curve(report: &Report) -> Result<Vec<SarsaPoint>> {
    let curve = report.figures.get("curve").cloned().unwrap_or_default();
    serde_json::from_value(curve).map_err(|e| RunError::Learning(format!("the curve of a policy: {e}")))
}

/// The mean of several curves, point by point.
fn averaged(curves: &[Vec<SarsaPoint>], value: fn(&SarsaPoint) -> f64) -> Vec<(f64, f64)> {
    let points = curves.iter().map(Vec::len).min().unwrap_or(0);
    let mean =
        |i: usize, f: &dyn Fn(&SarsaPoint) -> f64| curves.iter().map(|c| f(&c[i])).sum::<f64>() / curves.len() as f64;
    (0..points).map(|i| (mean(i, &|p| p.expansions as f64), mean(i, &value))).collect()
}
