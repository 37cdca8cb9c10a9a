//! Tables 3 to 6 and equations 4 to 6 of Cotarelo et al. (2021), with ours beside them.
//!
//! Matches begin at the published family of positions with 40 of 60 edges drawn and are played from both seats against the
//! chain-aware rival, at a fixed strength. What the paper says of programs that cannot be had is marked
//! as quoted.

use super::bouts::{BOXES, Bouts, Match, PAYOFF, regret_text};
use super::{Config, Play, composed, generate};
use crate::spec::Spec;
use crate::stats::{Wdl, seeds_interval};
use crate::store::{Json, Run, RunError};
use crate::systems::Plan;
use crate::systems::exhibit::{Exhibit, Experiment, percent};
use crate::systems::measure::LEVEL;
use crate::table::Position;
use cpu_time::ThreadTime;
use ludex_core::{Limit, Move, Rng};
use ludex_learn::{Folded, Model};
use std::collections::HashSet;
use std::path::PathBuf;

/// What one training seed gave.
struct Trained {
    model: PathBuf,
    /// The states that were learned from, as facts.
    known: HashSet<Vec<u8>>,
}

/// Everything that the tables share.
struct Stage<'a> {
    experiment: &'a Experiment<'a>,
    arena: Run<'a>,
    config: Config,
    starts: Vec<String>,
    trained: Vec<Trained>,
}

fn options(plan: &Plan) -> Result<Config, RunError> {
    super::super::read(&plan.options)
}

fn thousands(n: u64) -> String {
    if n.is_multiple_of(1000) && n > 0 { format!("{}K", n / 1000) } else { n.to_string() }
}

fn at(spec: &Spec, sims: u64) -> Spec {
    let mut spec = spec.clone();
    spec.set("sims", sims);
    spec
}

/// W-D-L over all seeds.
fn wdl(rows: &[Bouts]) -> Wdl {
    rows.iter()
        .map(|b| b.pairs().wdl())
        .fold(Wdl::default(), |a, b| Wdl::new(a.wins + b.wins, a.draws + b.draws, a.losses + b.losses))
}

fn score(rows: &[Bouts]) -> f64 {
    rows.iter().map(|b| b.pairs().wdl().score()).sum::<f64>() / rows.len().max(1) as f64
}

fn score_text(rows: &[Bouts]) -> String {
    let pairs: Vec<_> = rows.iter().map(|b| b.pairs().pentanomial()).collect();
    percent(score(rows), seeds_interval(&pairs, LEVEL))
}

fn mean(rows: &[Bouts], of: impl Fn(&Bouts) -> f64) -> f64 {
    rows.iter().map(of).sum::<f64>() / rows.len().max(1) as f64
}

impl Stage<'_> {
    /// A match of ours against somebody, from these starts.
    fn play(&self, name: &str, ours: &Spec, rival: &Spec, starts: &[String], games: usize) -> Result<Bouts, RunError> {
        let seed = Rng::derive(self.experiment.seeds.first().copied().unwrap_or(1), 77);
        let bout = Match { table: self.experiment.table, ours, rival, starts, games, seed };
        bout.play(&self.arena, name)
    }

    /// A row without a net: one match.
    fn plain(&self, name: &str, ours: &Spec) -> Result<Vec<Bouts>, RunError> {
        let t = &self.config.tables;
        Ok(vec![self.play(name, ours, &t.rival, &self.starts, t.games)?])
    }

    /// The searches with a net: the paper's, and ours.
    fn searches(&self) -> [(&'static str, &Spec); 2] {
        [("literal", &self.config.play.literal), ("improved", &self.config.play.agent)]
    }

    /// A row with the nets: a match for each seed.
    fn net(&self, name: &str, spec: &Spec, games: usize) -> Result<Vec<Bouts>, RunError> {
        let row = |(trained, seed): (&Trained, &u64)| {
            let ours = composed(spec, &trained.model);
            let name = format!("{name}-seed{seed}");
            self.play(&name, &ours, &self.config.tables.rival, &self.starts, games)
        };
        self.trained.iter().zip(&self.experiment.seeds).map(row).collect()
    }

    /// A row of one of the searches at so many iterations.
    fn with_net(&self, (name, spec): (&str, &Spec), sims: u64) -> Result<Vec<Bouts>, RunError> {
        self.net(&format!("{name}-{sims}"), &at(spec, sims), self.config.tables.games)
    }

    /// Microseconds of processor time for an iteration and milliseconds for a search of each position of the family: the same
    /// positions for all searches, whose games take different turns and end at different times. Measured once and kept, so that
    /// a resumed experiment goes on with the same numbers.
    fn pace(&self, name: &str, spec: &Spec) -> Result<[f64; 2], RunError> {
        let part = format!("pace-{name}/0000");
        if let Some(Json(pace)) = self.arena.find::<Json<[f64; 2]>>(&part)? {
            return Ok(pace);
        }
        let table = self.experiment.table;
        let mut agent = table.agent(spec, 1).map_err(|e| RunError::Config(e.to_string()))?;
        let (mut seconds, mut iterations) = (0.0, 0);
        // The first search takes hold of its memory, which a match does once.
        for (i, start) in self.starts.iter().take(1).chain(&self.starts).enumerate() {
            agent.start(&*table.position(start).expect("a published position"));
            let begun = ThreadTime::now();
            let choice = agent.choose(&Limit::default());
            if i > 0 {
                iterations += choice.simulations;
                seconds += begun.elapsed().as_secs_f64();
            }
        }
        let pace = [1e6 * seconds / iterations.max(1) as f64, 1e3 * seconds / self.starts.len().max(1) as f64];
        self.arena.keep(&part, &Json(pace))?;
        Ok(pace)
    }

    /// The mean over the nets of all seeds.
    fn net_pace(&self, (name, spec): (&str, &Spec), sims: u64) -> Result<[f64; 2], RunError> {
        let mut sum = [0.0; 2];
        for (trained, seed) in self.trained.iter().zip(&self.experiment.seeds) {
            let pace = self.pace(&format!("{name}-{sims}-seed{seed}"), &at(&composed(spec, &trained.model), sims))?;
            sum.iter_mut().zip(pace).for_each(|(s, p)| *s += p / self.trained.len() as f64);
        }
        Ok(sum)
    }

    /// States of the games that were not among those learned from: different ones, and all.
    fn unseen(&self, rows: &[Bouts]) -> (f64, f64) {
        let (mut unique, mut total) = (0, 0);
        for (bouts, trained) in rows.iter().zip(&self.trained) {
            let mut seen = HashSet::new();
            for (i, bout) in bouts.all().enumerate() {
                let start = &self.starts[i / 2 % self.starts.len()];
                let mut position = self.experiment.table.position(start).expect("played before");
                for &m in &bout.moves {
                    position.play(Move(m)).expect("played before");
                    if position.outcome().is_none() {
                        let key = self.key(&*position);
                        total += !trained.known.contains(&key) as usize;
                        unique += (!trained.known.contains(&key) && seen.insert(key)) as usize;
                    }
                }
            }
        }
        let n = rows.len().max(1) as f64;
        (unique as f64 / n, total as f64 / n)
    }

    fn key(&self, position: &dyn Position) -> Vec<u8> {
        let mut key = vec![0; (self.experiment.table.info().facts as usize).div_ceil(8).max(1)];
        position.facts().iter().for_each(|f| key[f.index() / 8] |= 1 << (f.index() % 8));
        key
    }
}

/// Learns with each seed, and reads what was learned from.
fn train(experiment: &Experiment<'_>) -> Result<Vec<Trained>, RunError> {
    let mut all = Vec::new();
    let [from, to] = options(&experiment.plan(1, &[])?)?.tables.opening_share;
    // The paper does not say where its matches begin; ours begin around the positions of the tables.
    let own = [format!("generate.opening_share=[{from:?}, {to:?}]")];
    for &seed in &experiment.seeds {
        let report = experiment.learn("cut", seed, &own)?;
        let plan = experiment.plan(seed, &own)?;
        let dir = experiment.dir.join(format!("cut-seed{seed}"));
        let run = Run::open(&dir, &plan.to_toml(), true, experiment.threads, experiment.watch)?;
        let g = options(&plan)?.generate;
        let (parts, _) = generate(experiment.table, &run, &g, g.rounds, seed)?;
        let known = parts.iter().flat_map(|p| (0..p.len()).map(|i| p.key(i).to_vec())).collect();
        all.push(Trained { model: report.model, known });
    }
    Ok(all)
}

/// Everything, or the tables that are wanted.
pub fn reproduce(experiment: &Experiment<'_>) -> Result<Vec<Exhibit>, RunError> {
    let table = experiment.table;
    let starts: Vec<String> = table.family().into_iter().map(String::from).collect();
    if starts.is_empty() {
        let line =
            format!("the tables are for dots:5x5, which has published positions; {} has none", table.info().name);
        return Err(RunError::Config(line));
    }
    let config = options(&experiment.plan(experiment.seeds.first().copied().unwrap_or(1), &[])?)?;
    let arena = experiment.arena()?;
    let mut stage = Stage { experiment, arena, config, starts, trained: Vec::new() };
    let mut exhibits = Vec::new();
    let mut add = |wanted: bool, make: &mut dyn FnMut() -> Result<Exhibit, RunError>| -> Result<(), RunError> {
        if wanted {
            exhibits.push(make()?);
        }
        Ok(())
    };
    add(experiment.wants("Table 3"), &mut || table3(&stage))?;
    add(experiment.wants("Table 4"), &mut || table4(&stage))?;
    let rest = ["Table 5", "Table 6", "Sweep", "Cost", "Equations 4-6", "Accuracy", "Empty"];
    if rest.iter().any(|name| experiment.wants(name)) {
        stage.trained = train(experiment)?;
    }
    add(experiment.wants("Table 5"), &mut || table5(&stage))?;
    add(experiment.wants("Equations 4-6"), &mut || equations(&stage))?;
    add(experiment.wants("Table 6"), &mut || table6(&stage))?;
    add(experiment.wants("Cost"), &mut || cost(&stage))?;
    add(experiment.wants("Sweep"), &mut || sweep(&stage))?;
    add(experiment.wants("Accuracy"), &mut || accuracy(&stage))?;
    add(experiment.wants("Empty"), &mut || empty(&stage))?;
    Ok(exhibits)
}

/// The strength of the rival, in words.
fn rival_note(stage: &Stage<'_>) -> String {
    format!(
        "rival: {}, which stands in for QDab, whom the paper played. {} games from the family \
         of {} positions, each from both seats; the paper's system always sat second in one position",
        stage.config.tables.rival,
        stage.config.tables.games,
        stage.starts.len()
    )
}

fn table3(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let mut out = Exhibit::new(
        "Table 3",
        "one counter for both players",
        &[
            "iterations",
            "paper: won of 100",
            "won-drawn-lost",
            "score",
            "payoff lost a move",
            "boxes lost a move",
            "ms a move",
        ],
    );
    for &sims in &stage.config.tables.unique {
        let spec = at(&stage.config.play.plain, sims).with("backup", "unique");
        let rows = stage.plain(&format!("unique-{sims}"), &spec)?;
        let w = wdl(&rows);
        let paper = if [10_000, 100_000].contains(&sims) { "0" } else { "-" };
        out.row([
            thousands(sims),
            paper.into(),
            format!("{}-{}-{}", w.wins, w.draws, w.losses),
            score_text(&rows),
            regret_text(&rows, PAYOFF),
            regret_text(&rows, BOXES),
            format!("{:.1}", mean(&rows, Bouts::ms)),
        ]);
    }
    out.notes.push(rival_note(stage));
    Ok(out)
}

/// Ours, the paper's wins and milliseconds.
const TABLE_4: [(u64, u32, u32); 6] =
    [(1000, 5, 13), (5000, 14, 67), (10_000, 28, 129), (30_000, 35, 363), (50_000, 48, 586), (100_000, 49, 1226)];

fn table4(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let mut out = Exhibit::new(
        "Table 4",
        "a counter for each player, without a net",
        &[
            "iterations",
            "paper: won of 100",
            "paper: ms",
            "won-drawn-lost",
            "score",
            "payoff lost a move",
            "boxes lost a move",
            "ms a move",
            "rival ms",
        ],
    );
    let mut row = |label: String, paper: Option<&(u64, u32, u32)>, rows: &[Bouts]| {
        let w = wdl(rows);
        let quoted = |f: fn(&(u64, u32, u32)) -> u32| paper.map_or("-".into(), |p| f(p).to_string());
        out.row([
            label,
            quoted(|p| p.1),
            quoted(|p| p.2),
            format!("{}-{}-{}", w.wins, w.draws, w.losses),
            score_text(rows),
            regret_text(rows, PAYOFF),
            regret_text(rows, BOXES),
            format!("{:.1}", mean(rows, Bouts::ms)),
            format!("{:.1}", mean(rows, Bouts::rival_ms)),
        ]);
    };
    for &sims in &stage.config.tables.plain {
        let rows = stage.plain(&format!("plain-{sims}"), &at(&stage.config.play.plain, sims))?;
        row(thousands(sims), TABLE_4.iter().find(|p| p.0 == sims), &rows);
    }
    row("exact play (ceiling)".into(), None, &ceiling(stage)?);
    out.notes.push(rival_note(stage));
    out.notes.push("lost: against exact play, by exhaustive search from the starting position".into());
    Ok(out)
}

/// What exact play scores against the rival.
fn ceiling(stage: &Stage<'_>) -> Result<Vec<Bouts>, RunError> {
    stage.plain("exact", &Spec::word("exact"))
}

/// Iterations, good predictions, wins, milliseconds, unique and all states not in training.
type Row5 = (u64, u32, u32, u32, &'static str, &'static str);

/// The time columns of the first row stand in its last two columns as well: a slip of the paper.
const TABLE_5: [Row5; 5] = [
    (5000, 2430, 54, 734, "384 (slip)", "734 (slip)"),
    (10_000, 5553, 66, 1451, "816", "1816"),
    (30_000, 17_885, 75, 4336, "795", "1851"),
    (50_000, 30_410, 81, 7345, "822", "1859"),
    (70_000, 41_093, 82, 10_260, "784", "1867"),
];

fn table5(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let mut out = Exhibit::new(
        "Table 5",
        "with the net",
        &[
            "search",
            "iterations",
            "paper: good predictions",
            "paper: won of 100",
            "paper: ms",
            "paper: not in training (unique, all)",
            "good predictions a move",
            "won-drawn-lost",
            "score",
            "by seed",
            "payoff lost a move",
            "boxes lost a move",
            "ms a move",
            "rival ms",
            "not in training (unique, all)",
        ],
    );
    let searches = stage.searches();
    for (search, sims) in searches.iter().flat_map(|s| stage.config.tables.net.iter().map(move |&n| (*s, n))) {
        let rows = stage.with_net(search, sims)?;
        let (w, (unique, total)) = (wdl(&rows), stage.unseen(&rows));
        let paper = TABLE_5.iter().find(|p| p.0 == sims);
        let quoted = |f: &dyn Fn(&Row5) -> String| paper.map_or("-".into(), f);
        let by_seed: Vec<String> = rows.iter().map(|b| format!("{:.0} %", 100.0 * b.pairs().wdl().score())).collect();
        out.row([
            search.0.into(),
            thousands(sims),
            quoted(&|p| p.1.to_string()),
            quoted(&|p| p.2.to_string()),
            quoted(&|p| p.3.to_string()),
            quoted(&|p| format!("{}, {}", p.4, p.5)),
            format!("{:.0}", mean(&rows, |b| b.mean(|d| d.cut))),
            format!("{}-{}-{}", w.wins, w.draws, w.losses),
            score_text(&rows),
            by_seed.join(", "),
            regret_text(&rows, PAYOFF),
            regret_text(&rows, BOXES),
            format!("{:.1}", mean(&rows, Bouts::ms)),
            format!("{:.1}", mean(&rows, Bouts::rival_ms)),
            format!("{unique:.0}, {total:.0}"),
        ]);
    }
    out.notes.push(rival_note(stage));
    let seeds: Vec<String> = stage.experiment.seeds.iter().map(u64::to_string).collect();
    out.notes.push(format!("training seeds {}; every one counts", seeds.join(", ")));
    searches.iter().for_each(|(name, spec)| out.notes.push(format!("{name}: {spec}")));
    Ok(out)
}

/// Net and plain search at equal iterations, at equal time, and the ceiling.
fn cost(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let sims = stage.config.tables.compare;
    let mut out = Exhibit::new(
        "Cost",
        "the net at equal iterations and at equal processor time",
        &[
            "search",
            "iterations",
            "score",
            "payoff lost a move",
            "boxes lost a move",
            "ms a move",
            "family: ms a search",
            "us an iteration",
        ],
    );
    let mut row = |label: &str, sims: String, rows: &[Bouts], pace: Option<[f64; 2]>| {
        out.row([
            label.into(),
            sims,
            score_text(rows),
            regret_text(rows, PAYOFF),
            regret_text(rows, BOXES),
            format!("{:.1}", mean(rows, Bouts::ms)),
            pace.map_or("-".into(), |p| format!("{:.1}", p[1])),
            pace.map_or("-".into(), |p| format!("{:.3}", p[0])),
        ]);
    };
    let Play { plain, bare, .. } = &stage.config.play;
    let (without, top) = (stage.plain(&format!("plain-{sims}"), &at(plain, sims))?, ceiling(stage)?);
    let plain_pace = stage.pace(&format!("plain-{sims}"), &at(plain, sims))?;
    row("plain UCT", thousands(sims), &without, Some(plain_pace));
    let bare_pace = stage.pace(&format!("bare-{sims}"), &at(bare, sims))?;
    let bare_rows = stage.plain(&format!("bare-{sims}"), &at(bare, sims))?;
    row("improved, without its net", thousands(sims), &bare_rows, Some(bare_pace));
    let mut notes = vec![
        "family: the first move from each of its positions, the same for all searches; a move of the games takes less, for \
         games go on with fewer edges and proven positions end a search early"
            .to_string(),
    ];
    for search in stage.searches() {
        let (with, pace) = (stage.with_net(search, sims)?, stage.net_pace(search, sims)?);
        row(&format!("{}, with the net", search.0), thousands(sims), &with, Some(pace));
        let ratio = pace[0] / plain_pace[0].max(1e-9);
        let equal = ((sims as f64 * ratio) as u64).div_ceil(100) * 100;
        let rows = stage.plain(&format!("plain-{equal}"), &at(plain, equal))?;
        row(&format!("plain UCT, as much time as {}", search.0), equal.to_string(), &rows, None);
        let per = |of: fn(&super::bouts::Decision) -> f64| mean(&with, |b| b.mean(of) / b.mean(|d| d.sims).max(1.0));
        let gap = score(&top) - score(&without);
        notes.push(format!(
            "{}: an iteration takes {:.2} times as long as one of plain UCT (paper: 7,345 / 586 = 12.5){}; {:.2} questions an \
             iteration, {:.1} % of the playouts cut (paper: 60.8 %); {}",
            search.0,
            ratio,
            match search.0 {
                "improved" => format!(", {:.2} times as long as without its net", pace[0] / bare_pace[0].max(1e-9)),
                _ => String::new(),
            },
            per(|d| d.asked),
            100.0 * per(|d| d.cut),
            match gap > 0.0 {
                true =>
                    format!("it closes {:.0} % of the gap to exact play", 100.0 * (score(&with) - score(&without)) / gap),
                false => "there is no gap between plain UCT and exact play".into(),
            }
        ));
    }
    row("exact play (ceiling)", "-".into(), &top, None);
    out.notes = notes;
    Ok(out)
}

fn equations(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let sims = stage.config.tables.compare;
    let rows = stage.with_net(stage.searches()[1], sims)?;
    let (moves, time) = (mean(&rows, Bouts::moves), mean(&rows, Bouts::ms));
    let closing = mean(&rows, |b| b.mean(|d| d.again as u8 as f64)) * moves;
    let real = moves - closing;
    let mut out =
        Exhibit::new("Equations 4-6", "what a rule that closes boxes at once would save", &["", "paper", "ours"]);
    out.row(["our moves a game, Mvs".into(), "10".into(), format!("{moves:.2}")]);
    out.row(["of these closing boxes, CB".into(), "6".into(), format!("{closing:.2}")]);
    out.row(["(4) real moves, RMvs = Mvs - CB".into(), "4".into(), format!("{real:.2}")]);
    out.row(["ms a move, MT".into(), "7345".into(), format!("{time:.1}")]);
    out.row(["(5) ms a game, MTG = MT * RMvs".into(), "29380".into(), format!("{:.1}", time * real)]);
    out.row([
        "(6) ms a move then, MT' = MTG / Mvs".into(),
        "2938".into(),
        format!("{:.1}", time * real / moves.max(1e-9)),
    ]);
    out.notes.push(format!("improved, with the net, at {} iterations", thousands(sims)));
    Ok(out)
}

fn table6(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let sims = stage.config.tables.compare;
    let mut out = Exhibit::new("Table 6", "the rival's winning rate", &["match", "paper", "ours"]);
    for (name, paper) in
        [("QDab against Dabble", "100 %"), ("QDab against PRsBoxes", "90 %"), ("QDab against MCTS", "100 %")]
    {
        out.row([name.into(), format!("{paper} (quoted)"), "-".into()]);
    }
    for search in stage.searches() {
        let w = wdl(&stage.with_net(search, sims)?);
        let lost = 100.0 * w.losses as f64 / w.games().max(1) as f64;
        out.row([format!("the rival against this system, {}", search.0), "19 %".into(), format!("{lost:.1} %")]);
    }
    out.notes.push(
        "the first three rows are quoted: these programs cannot be had; QDab played them on the whole board".into(),
    );
    out.notes.push(rival_note(stage));
    Ok(out)
}

fn sweep(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let t = &stage.config.tables;
    let mut out = Exhibit::new(
        "Sweep",
        format!("the threshold, at {} iterations", thousands(t.sweep_sims)),
        &[
            "threshold",
            "playouts cut",
            "questions an iteration",
            "score",
            "payoff lost a move",
            "boxes lost a move",
            "us an iteration",
        ],
    );
    for &threshold in &t.sweep {
        let mut spec = at(&stage.config.play.agent, t.sweep_sims);
        spec.set("playout.threshold", threshold);
        let rows = stage.net(&format!("sweep-{threshold}"), &spec, t.sweep_games)?;
        out.row([
            threshold.to_string(),
            format!("{:.1} %", 100.0 * mean(&rows, |b| b.mean(|d| d.cut) / b.mean(|d| d.sims).max(1.0))),
            format!("{:.2}", mean(&rows, |b| b.mean(|d| d.asked) / b.mean(|d| d.sims).max(1.0))),
            score_text(&rows),
            regret_text(&rows, PAYOFF),
            regret_text(&rows, BOXES),
            format!("{:.3}", mean(&rows, |b| 1e3 * b.ms() / b.mean(|d| d.sims).max(1.0))),
        ]);
    }
    out.notes.push("the paper found 0.9 by a sweep that it does not show".into());
    Ok(out)
}

/// Net predictions in states with so many legal moves.
#[derive(Clone, Copy, Default)]
struct Bin {
    states: u64,
    sure: u64,
    right: u64,
    /// Right in all states, sure or not.
    argmax: u64,
}

/// Sure predictions against exact results in states that random playouts from the family reach: those that the net is
/// asked about in earnest.
fn accuracy(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let threshold =
        stage.config.play.agent.get("playout.threshold").and_then(|t| t.name.parse().ok()).unwrap_or(0.9f32);
    let mut out = Exhibit::new(
        "Accuracy",
        format!("predictions at threshold {threshold} against exact results, in states of random playouts"),
        &["free edges", "states", "sure", "of these right", "right in all states"],
    );
    let nets: Vec<Folded> = stage.trained.iter().map(load).collect::<Result<_, RunError>>()?;
    let table = stage.experiment.table;
    let mut bins = vec![Bin::default(); table.info().moves as usize + 1];
    for (i, start) in stage.starts.iter().enumerate() {
        let origin = table.position(start).expect("a published position");
        let Some(solution) = table.solve(&*origin) else { continue };
        for n in 0..stage.config.tables.accuracy_playouts {
            let mut rng = Rng::stream(i as u64, n as u64);
            let mut position = origin.clone();
            while let Some(worth) = solution.worth(&*position).filter(|_| position.outcome().is_none()) {
                let best = worth.iter().map(|w| w.payoff).fold(f32::MIN, f32::max);
                let mover = position.mover();
                for net in &nets {
                    let (guess, chance) = predict(net, &*position);
                    let right = guess[mover] == best;
                    let bin = &mut bins[worth.len()];
                    bin.states += 1;
                    bin.argmax += right as u64;
                    bin.sure += (chance >= threshold) as u64;
                    bin.right += (right && chance >= threshold) as u64;
                }
                let m = *rng.pick(&position.legal()).expect("the game is not over");
                position.play(m).expect("it is legal");
            }
        }
    }
    let share = |a: u64, b: u64| if b == 0 { "-".into() } else { format!("{:.1} %", 100.0 * a as f64 / b as f64) };
    let mut all = Bin::default();
    for (free, b) in bins.iter().enumerate().rev().filter(|(_, b)| b.states > 0) {
        out.row([
            free.to_string(),
            b.states.to_string(),
            share(b.sure, b.states),
            share(b.right, b.sure),
            share(b.argmax, b.states),
        ]);
        all = Bin {
            states: all.states + b.states,
            sure: all.sure + b.sure,
            right: all.right + b.right,
            argmax: all.argmax + b.argmax,
        };
    }
    out.row([
        "all".into(),
        all.states.to_string(),
        share(all.sure, all.states),
        share(all.right, all.sure),
        share(all.argmax, all.states),
    ]);
    Ok(out)
}

fn load(trained: &Trained) -> Result<Folded, RunError> {
    let bytes = std::fs::read(&trained.model).map_err(|e| RunError::File(trained.model.clone(), e))?;
    Ok(Model::from_bytes(&bytes)?.fold()?)
}

/// The likeliest result and how likely it is.
fn predict(net: &Folded, position: &dyn Position) -> (ludex_core::Payoffs, f32) {
    let (mut scratch, mut out, mover) = (net.scratch(), [0.0; 3], position.mover());
    net.forward(&position.facts(), mover, &mut scratch, &mut out);
    let [win, draw, loss] = out;
    ludex_search::mcts::Chances { of: net.viewer(mover), win, draw, loss }.best()
}

fn empty(stage: &Stage<'_>) -> Result<Exhibit, RunError> {
    let t = &stage.config.tables;
    let starts = vec![stage.experiment.table.start().text()];
    let mut out = Exhibit::new(
        "Empty",
        format!("from the empty board, {} iterations a move, {} games a row", thousands(t.empty_sims), t.empty_games),
        &["match", "won-drawn-lost", "score", "ms a move"],
    );
    let plain = at(&stage.config.play.plain, t.empty_sims);
    let mut row = |label: &str, rows: &[Bouts]| {
        let w = wdl(rows);
        out.row([
            label.into(),
            format!("{}-{}-{}", w.wins, w.draws, w.losses),
            score_text(rows),
            format!("{:.1}", mean(rows, Bouts::ms)),
        ]);
    };
    row("plain UCT against the rival", &[stage.play("empty-plain", &plain, &t.rival, &starts, t.empty_games)?]);
    for (against, label) in [(&t.rival, "with the net against the rival"), (&plain, "with the net against plain UCT")] {
        let mut rows = Vec::new();
        for (trained, seed) in stage.trained.iter().zip(&stage.experiment.seeds) {
            let ours = at(&composed(&stage.config.play.agent, &trained.model), t.empty_sims);
            let name = format!("empty-{}-seed{seed}", if against == &plain { "net-plain" } else { "net" });
            rows.push(stage.play(&name, &ours, against, &starts, t.empty_games)?);
        }
        row(label, &rows);
    }
    out.notes.push("the same board each time: games differ by the seeds of the players only".into());
    Ok(out)
}
