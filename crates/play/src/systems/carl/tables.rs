//! The paper's figures and tables, with ours beside them.
//!
//! The paper's "+-" is a standard deviation over policies; ours are 95 % intervals with the policy (training seed) as the unit.
//! Its start clock became a number of training games. Everything is played at equal simulations, each of which adds one node,
//! and at equal processor time: there UCT gets as many simulations more as guided ones take longer.

use super::{Config, with_model};
use crate::arena::Openings;
use crate::plot::{Frame, Series, svg};
use crate::sarsa::Point;
use crate::selfplay::random_length;
use crate::spec::Spec;
use crate::stats::Wdl;
use crate::store::{Json, Run, RunError};
use crate::systems::Report;
use crate::systems::exhibit::{Duel, Exhibit, Experiment, over_seeds, percent, plot_file};
use ludex_core::{GameInfo, Limit, Rng};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is played.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // systems/carl-playout.toml explains them
pub struct Reproduce {
    pub games: usize,
    pub sims: u64,
    pub opening_plies: u32,
    pub uct: Spec,
    pub playout: Way,
    pub selection: Way,
    pub literal: Vec<String>,
    pub literal_playout: Spec,
    pub literal_selection: Spec,
    pub literal_games: usize,
    pub by_game: BTreeMap<String, Choice>,
    pub lengths: Vec<u64>,
    pub regressor_games: usize,
    pub ks: Vec<f64>,
    pub k_policies: u64,
    pub k_games: usize,
    pub profile_moves: usize,
}

/// What is learned, and who plays with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Options of learning.
    pub set: Vec<String>,
    /// Who plays; the model is added.
    pub agent: Spec,
}

/// What is used for one game in place of the general choice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choice {
    /// With guided playouts.
    pub playout: Option<Way>,
    /// With guided selection.
    pub selection: Option<Way>,
}

/// The paper's win rates in percent and their standard deviations: as player 1, as player 2, in all.
type Paper = [[(f64, f64); 3]; 2];

/// Branching, depth and the number and rows of the table, playout first.
fn paper(family: &str) -> Option<(f64, f64, &'static str, Paper)> {
    Some(match family {
        "connect4" => (
            4.0,
            36.0,
            "Table 2",
            [[(46.17, 12.16), (33.67, 13.11), (39.92, 12.63)], [(51.16, 11.26), (34.5, 11.24), (42.83, 11.25)]],
        ),
        "breakthrough" => (
            15.5,
            50.0,
            "Table 3",
            [[(83.65, 10.53), (72.93, 14.85), (78.29, 11.58)], [(45.52, 18.19), (27.52, 14.89), (36.52, 16.54)]],
        ),
        "checkers" => (
            6.4,
            60.0,
            "Table 4",
            [[(48.30, 13.78), (59.79, 16.23), (54.045, 15.01)], [(39.27, 15.53), (46.43, 22.59), (42.85, 19.06)]],
        ),
        _ => return None,
    })
}

/// The sheets of the public repository that the paper's names stand for, by the hash of their rules (eight columns in its Connect
/// Four); Tables 5 to 7 are of the last.
const SHEETS: [(&str, u64); 4] = [
    ("connectFour", 0x209b_ef69_ccc0_855a),
    ("breakthrough", 0x891f_b2f7_918d_935e),
    ("checkers", 0x2119_b4d9_dbfe_09d6),
    ("breakthroughSmall", 0x400c_bf6a_a828_ddcb),
];

/// Which rules these are.
fn rules(info: &GameInfo) -> String {
    let known = SHEETS.iter().find(|s| s.1 == info.rules_hash);
    let known = known.map_or("not a sheet of the paper".into(), |s| format!("the public sheet {}", s.0));
    format!("rules {:016x}, {known}", info.rules_hash)
}

/// All that the exhibits share.
struct Stage<'a> {
    experiment: &'a Experiment<'a>,
    r: &'a Reproduce,
    family: String,
    arena: Run<'a>,
}

/// In place of a label: no policy is needed.
const BARE: &str = "";

/// A row of games against UCT, over policies.
struct Row {
    duels: Vec<Duel>,
}

impl Row {
    fn total(&self, of: fn(&Duel) -> Wdl) -> f64 {
        let sum = self
            .duels
            .iter()
            .map(of)
            .fold(Wdl::default(), |a, b| Wdl::new(a.wins + b.wins, a.draws + b.draws, a.losses + b.losses));
        100.0 * sum.score()
    }

    /// Standard deviation of the scores of policies, in percent.
    fn deviation(&self) -> f64 {
        let n = self.duels.len() as f64;
        let mean = self.duels.iter().map(|d| d.anchor.score).sum::<f64>() / n;
        let squares = self.duels.iter().map(|d| (d.anchor.score - mean).powi(2)).sum::<f64>();
        100.0 * (squares / (n - 1.0).max(1.0)).sqrt()
    }

    /// Processor time a move of both, in milliseconds.
    fn ms(&self) -> [f64; 2] {
        [0, 1].map(|i| self.duels.iter().map(|d| d.anchor.ms[i]).sum::<f64>() / self.duels.len() as f64)
    }

    fn cells(&self) -> [String; 6] {
        let (mean, interval) = over_seeds(&self.duels);
        let [ours, theirs] = self.ms();
        [
            format!("{:.1} %", self.total(|d| d.anchor.as_first)),
            format!("{:.1} %", self.total(|d| d.anchor.as_second)),
            percent(mean, interval),
            format!("{:.1}", self.deviation()),
            format!("{ours:.2}, {theirs:.2}"),
            format!("{:.2}", ours / theirs.max(1e-9)),
        ]
    }
}

/// Options of an experiment's own: nothing is measured after learning, the tables do that.
fn own(settings: &[String]) -> Vec<String> {
    [&["measure.games=0".to_string()], settings].concat()
}

/// The same search without what was learned: what is gained by other constants alone.
fn bare(agent: &Spec) -> Spec {
    let mut bare = agent.clone();
    bare.name = "uct".into();
    bare.args.retain(|(key, _)| !["playout", "model", "k", "first"].contains(&key.as_str()));
    bare
}

impl Stage<'_> {
    fn choice(&self) -> Option<&Choice> {
        self.r.by_game.get(&self.family)
    }

    fn playout(&self) -> &Way {
        self.choice().and_then(|c| c.playout.as_ref()).unwrap_or(&self.r.playout)
    }

    fn selection(&self) -> &Way {
        self.choice().and_then(|c| c.selection.as_ref()).unwrap_or(&self.r.selection)
    }

    fn learn(&self, label: &str, seeds: &[u64], settings: &[String]) -> Result<Vec<Report>, RunError> {
        self.experiment.learn_all(label, seeds, &own(settings))
    }

    fn at(&self, spec: &Spec, sims: u64) -> Spec {
        let mut spec = spec.clone();
        spec.set("sims", sims);
        spec
    }

    /// Every policy of a label against UCT.
    fn play(
        &self,
        name: &str,
        (label, seeds): (&str, &[u64]),
        agent: &Spec,
        uct: u64,
        games: usize,
    ) -> Result<Row, RunError> {
        let opponent = self.at(&self.r.uct, uct);
        let duel = |&seed: &u64| {
            let mut agent = match label {
                BARE => agent.clone(),
                _ => with_model(agent, &self.experiment.run_dir(label, seed)),
            };
            if agent.name != "policy" {
                agent.set("sims", self.r.sims);
            }
            let openings = Openings::Random(self.r.opening_plies);
            self.experiment.duel(&self.arena, &format!("{name}-seed{seed}"), [&agent, &opponent], games, openings, seed)
        };
        Ok(Row { duels: seeds.iter().map(duel).collect::<Result<_, _>>()? })
    }

    /// The same at equal processor time, by the ratio found at equal simulations; found once and kept.
    fn in_time(
        &self,
        name: &str,
        policies: (&str, &[u64]),
        agent: &Spec,
        equal: &Row,
        games: usize,
    ) -> Result<(Row, u64), RunError> {
        let part = format!("time/{name}");
        let sims = match self.arena.find::<Json<u64>>(&part)? {
            Some(Json(sims)) => sims,
            None => {
                let [ours, theirs] = equal.ms();
                let sims = ((self.r.sims as f64 * ours / theirs.max(1e-9)).round() as u64).max(1);
                self.arena.keep(&part, &Json(sims))?;
                sims
            }
        };
        Ok((self.play(&format!("{name}-time"), policies, agent, sims, games)?, sims))
    }
}

/// Carries out the paper's experiments on one game.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    let info = experiment.table.info();
    if info.players() != 2 {
        return Err(RunError::Config("the paper's experiments are for games of two players".into()));
    }
    let config: Config = crate::systems::read(&experiment.plan(experiment.seeds[0], &[])?.options)?;
    let stem = std::path::Path::new(info.family()).file_stem().map_or("", |s| s.to_str().unwrap_or(""));
    let stem = if stem == "connectFour" { "connect4" } else { stem };
    let r = config.reproduce.ok_or_else(|| RunError::Config("[reproduce] is missing".into()))?;
    let stage = Stage { experiment, r: &r, family: stem.into(), arena: experiment.arena()? };
    let strength = paper(&stage.family).map_or("Table 2", |p| p.2);
    let wants = |names: &[&str]| names.iter().any(|n| experiment.wants(n));
    let mut all = Vec::new();
    if experiment.wants("Table 1") {
        all.push(shape(&stage)?);
    }
    if wants(&["Figure 4", "Figure 5", "Figure 6"]) {
        all.extend(regressors(&stage)?.into_iter().filter(|e| experiment.wants(&e.name)));
    }
    if wants(&["K", strength]) {
        let (k, sweep) = equivalence(&stage)?;
        all.extend(Some(sweep).filter(|e| experiment.wants(&e.name)));
        if experiment.wants(strength) {
            all.push(policies(&stage, strength, k)?);
        }
    }
    if wants(&["Table 5", "Table 6", "Table 7"]) {
        all.push(profile(&stage)?);
    }
    Ok(all)
}

/// Table 1: how wide and deep the game is.
fn shape(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let mut out =
        Exhibit::new("Table 1", "branching factor and depth", &["", "paper", "while learning", "random games"]);
    let reports = stage.learn("playout", &stage.experiment.seeds[..1], &stage.playout().set)?;
    let metric = |name: &str| reports[0].figures["metrics"][name].as_f64().unwrap_or(f64::NAN);
    let quoted = paper(&stage.family);
    let quote = |f: fn(&(f64, f64, &str, Paper)) -> f64| quoted.as_ref().map_or("-".into(), |p| f(p).to_string());
    out.row(["branching".into(), quote(|p| p.0), format!("{:.1}", metric("branching")), "-".into()]);
    let random = random_length(stage.experiment.table);
    out.row(["depth".into(), quote(|p| p.1), format!("{:.1}", metric("plies")), format!("{random:.1}")]);
    out.notes.push(rules(stage.experiment.table.info()));
    out.notes.push("states with a single legal move are no decisions and count in neither branching factor".into());
    Ok(out)
}

/// Figures 4 to 6: the policy alone, three regressors, three lengths.
fn regressors(stage: &Stage<'_>) -> Result<Vec<Exhibit>, RunError> {
    let (r, seeds) = (stage.r, &stage.experiment.seeds);
    let columns =
        ["regressor", "games", "as player 1", "as player 2", "score", "deviation", "ms a move: policy, UCT", "ratio"];
    let title = format!("the policy alone against UCT, {} simulations a move", r.sims);
    let mut table = Exhibit::new("Figure 4", title, &columns);
    let names = ["SGD", "passive-aggressive", "MLP"];
    let (mut wins, mut errors, mut explored) = (Vec::new(), Vec::new(), Vec::new());
    for (name, regressor) in names.into_iter().zip(["sgd", "pa", "mlp"]) {
        let mut line = Vec::new();
        for &length in &r.lengths {
            let label = format!("{regressor}-{length}");
            let set = [
                format!("train.regressor={regressor}"),
                "train.inputs=beside".into(),
                "train.roles=own".into(),
                format!("train.games={length}"),
            ];
            let reports = stage.learn(&label, seeds, &[&r.literal[..], &set].concat())?;
            let row = stage.play(&label, (&label, seeds), &Spec::word("policy"), r.sims, r.regressor_games)?;
            line.push((length as f64, 100.0 * over_seeds(&row.duels).0));
            let [first, second, score, deviation, ms, ratio] = row.cells();
            table.row([name.into(), length.to_string(), first, second, score, deviation, ms, ratio]);
            if Some(&length) == r.lengths.last() {
                let curves: Vec<Vec<Point>> =
                    reports.iter().filter_map(|r| serde_json::from_value(r.figures["curve"].clone()).ok()).collect();
                errors.push(Series::line(name, averaged(&curves, |p| p.error)));
                explored.push(Series::line(name, averaged(&curves, |p| p.exploration)));
            }
        }
        wins.push(Series::line(name, line));
    }
    table.notes.push(
        "literal inputs: state and move beside one another, a Q for each role; lengths are training games".into(),
    );
    let plot = |file: &str, x: &str, y: &str, series: &[Series]| {
        plot_file(stage.experiment, file, &svg(&Frame { title: y, x, y, log_x: false }, series))
    };
    table.plot = Some(plot("figure4.svg", "training games", "score in percent", &wins)?);
    let curve = |name: &str, title: &str, file: &str, series: &[Series]| -> Result<Exhibit, RunError> {
        let mut out =
            Exhibit::new(name, title, &["regressor", "expansions", "after a tenth", "after half", "at the end"]);
        for s in series {
            let at = |share: f64| {
                let i = ((s.points.len() as f64 * share).ceil() as usize).clamp(1, s.points.len().max(1)) - 1;
                s.points.get(i).map_or("-".into(), |p| format!("{:.3}", p.1))
            };
            let last = s.points.last().map_or("-".into(), |p| format!("{:.0}", p.0));
            out.row([s.name.clone(), last, at(0.1), at(0.5), at(1.0)]);
        }
        out.plot = Some(plot(file, "expansions", title, series)?);
        Ok(out)
    };
    let figure5 = curve("Figure 5", "expected exploration factor", "figure5.svg", &explored)?;
    let figure6 = curve("Figure 6", "error over time, of 100", "figure6.svg", &errors)?;
    Ok(vec![table, figure5, figure6])
}

/// The mean of several curves, point by point.
fn averaged(curves: &[Vec<Point>], value: fn(&Point) -> f64) -> Vec<(f64, f64)> {
    let points = curves.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |i: usize, f: &dyn Fn(&Point) -> f64| curves.iter().map(|c| f(&c[i])).sum::<f64>() / curves.len() as f64;
    (0..points).map(|i| (mean(i, &|p| p.expansions as f64), mean(i, &value))).collect()
}

/// Policies that choose k: not those that are reported.
fn apart(stage: &Stage<'_>) -> Vec<u64> {
    (0..stage.r.k_policies).map(|i| Rng::derive(stage.experiment.seeds[0], 1_000 + i) % 1_000_000 + 1_000_000).collect()
}

/// The equivalence parameter, chosen on policies of its own.
fn equivalence(stage: &Stage<'_>) -> Result<(f64, Exhibit), RunError> {
    let (r, selection) = (stage.r, stage.selection());
    let seeds = apart(stage);
    stage.learn("selection", &seeds, &selection.set)?;
    let mut out =
        Exhibit::new("K", format!("k, on {} policies that are not reported below", seeds.len()), &["k", "score"]);
    let mut best = (f64::MIN, 0.0);
    for &k in &r.ks {
        let mut agent = selection.agent.clone();
        agent.set("k", k);
        let row = stage.play(&format!("k-{k}"), ("selection", &seeds), &agent, r.sims, r.k_games)?;
        let (score, interval) = over_seeds(&row.duels);
        if score > best.0 {
            best = (score, k);
        }
        out.row([k.to_string(), percent(score, interval)]);
    }
    out.notes.push(format!("chosen: k = {}", best.1));
    Ok((best.1, out))
}

/// Tables 2 to 4: guided playouts and guided selection against UCT.
fn policies(stage: &Stage<'_>, name: &str, k: f64) -> Result<Exhibit, RunError> {
    let (r, seeds) = (stage.r, &stage.experiment.seeds[..]);
    let columns = [
        "agent",
        "equal",
        "UCT simulations",
        "as player 1",
        "as player 2",
        "score",
        "deviation",
        "ms a move: agent, UCT",
        "ratio",
    ];
    let mut out = Exhibit::new(name, format!("against UCT, {} simulations a move", r.sims), &columns);
    if let Some((.., rows)) = paper(&stage.family) {
        for (agent, [first, second, both]) in ["paper: playout", "paper: selection"].into_iter().zip(rows) {
            let shown = |(mean, _): (f64, f64)| format!("{mean:.1} %");
            let [dash, sims] = ["-", "1000"].map(String::from);
            out.row([
                agent.into(),
                "expansions".into(),
                sims,
                shown(first),
                shown(second),
                shown(both),
                format!("{:.1}", both.1),
                dash.clone(),
                dash,
            ]);
        }
    }
    let (playout, selection) = (stage.playout(), stage.selection());
    let mut at_k = selection.agent.clone();
    at_k.set("k", k);
    let rows = [
        ("literal playout", "literal", &r.literal, &r.literal_playout, r.literal_games),
        ("literal selection", "literal", &r.literal, &r.literal_selection, r.literal_games),
        ("playout", "playout", &playout.set, &playout.agent, r.games),
        ("selection", "selection", &selection.set, &at_k, r.games),
    ];
    for (title, label, settings, agent, games) in rows {
        if games == 0 {
            continue;
        }
        stage.learn(label, seeds, settings)?;
        let file = title.replace(' ', "-");
        let equal = stage.play(&file, (label, seeds), agent, r.sims, games)?;
        let (timed, sims) = stage.in_time(&file, (label, seeds), agent, &equal, games)?;
        let mut shown =
            vec![(title.to_string(), "simulations", r.sims, equal), (title.to_string(), "processor time", sims, timed)];
        if label != "literal" {
            let row = stage.play(&format!("{file}-bare"), (BARE, seeds), &bare(agent), r.sims, games)?;
            shown.push((format!("{title}, nothing learned"), "simulations", r.sims, row));
        }
        for (title, equal, sims, row) in shown {
            let [first, second, score, deviation, ms, ratio] = row.cells();
            out.row([title, equal.into(), sims.to_string(), first, second, score, deviation, ms, ratio]);
        }
        let user = &stage.experiment.settings;
        out.notes.push(format!("{title}: {agent}, learned with {}", [settings, user].map(|s| s.join(" ")).join(" ")));
    }
    out.notes.push("nothing learned: the same search with the same constants, but without what was learned".into());
    out.notes.push(format!("{} policies; deviation: standard deviation over policies, in percent", seeds.len()));
    Ok(out)
}

/// Tables 5 to 7: where the time goes.
fn profile(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let (r, playout, selection) = (stage.r, stage.playout(), stage.selection());
    let (table, seed) = (stage.experiment.table, stage.experiment.seeds[0]);
    stage.learn("playout", &[seed], &playout.set)?;
    stage.learn("selection", &[seed], &selection.set)?;
    stage.learn("literal", &[seed], &r.literal)?;
    let mut out = Exhibit::new(
        "Table 5 to Table 7",
        "share of each phase, and time a simulation",
        &["search", "selection", "expansion", "playout", "backup", "us a simulation", "x UCT"],
    );
    let quoted = [
        ("paper: UCT", ["23.9 %", "14.3 %", "55.4 %", "5.8 %"], "1"),
        ("paper: selection", ["64.9 %", "6.5 %", "25.8 %", "2.5 %"], "over 2"),
        ("paper: playout", ["0.5 %", "0.4 %", "98.9 %", "0.2 %"], "nearly 50"),
    ];
    for (name, [a, b, c, d], ratio) in quoted {
        out.row([name, a, b, c, d, "-", ratio].map(String::from));
    }
    let own = |agent: &Spec, label: &str| with_model(agent, &stage.experiment.run_dir(label, seed));
    let searches = [
        ("UCT", r.uct.clone()),
        ("selection", own(&selection.agent, "selection")),
        ("playout", own(&playout.agent, "playout")),
        ("literal selection", own(&r.literal_selection, "literal")),
        ("literal playout", own(&r.literal_playout, "literal")),
    ];
    let mut plain = None;
    for (name, agent) in searches {
        let measured = measure(stage, &stage.at(&agent, r.sims), table)?;
        let micros = measured.micros;
        let plain = *plain.get_or_insert(micros);
        let [a, b, c, d] = measured.shares.map(|s| format!("{:.1} %", 100.0 * s));
        out.row([name.into(), a, b, c, d, format!("{micros:.2}"), format!("{:.2}", micros / plain)]);
    }
    out.notes.push(format!(
        "the first {} moves of a game that UCT plays against itself; the paper: the small Breakthrough, SGD",
        r.profile_moves
    ));
    Ok(out)
}

/// What the phases of a search cost.
struct Measured {
    shares: [f64; 4],
    micros: f64,
}

/// Lets a search think along a game: once with its phases timed, once without.
fn measure(stage: &Stage<'_>, agent: &Spec, table: &dyn crate::Table) -> Result<Measured, RunError> {
    let bad = |e: crate::SpecError| RunError::Config(e.to_string());
    let mut profiled = agent.clone();
    profiled.set("profile", "on");
    let mut leader = table.agent(&stage.at(&stage.r.uct, stage.r.sims), 1).map_err(bad)?;
    let mut agents = [table.agent(agent, 2).map_err(bad)?, table.agent(&profiled, 2).map_err(bad)?];
    let mut position = table.start();
    leader.start(&*position);
    agents.iter_mut().for_each(|a| a.start(&*position));
    let (mut spent, mut seconds, mut simulations) = ([0.0; 4], 0.0, 0);
    for _ in 0..stage.r.profile_moves {
        if position.outcome().is_some() {
            break;
        }
        let begun = cpu_time::ThreadTime::now();
        simulations += agents[0].choose(&Limit::default()).simulations;
        seconds += begun.elapsed().as_secs_f64();
        agents[1].choose(&Limit::default());
        spent.iter_mut().zip(agents[1].tally()).for_each(|(s, (_, ns))| *s += ns);
        let m = leader.choose(&Limit::default()).mv;
        position.play(m).map_err(|e| RunError::Learning(e.to_string()))?;
        leader.observe(m);
        agents.iter_mut().for_each(|a| a.observe(m));
    }
    let total: f64 = spent.iter().sum::<f64>().max(1.0);
    Ok(Measured { shares: spent.map(|s| s / total), micros: 1e6 * seconds / simulations.max(1) as f64 })
}
