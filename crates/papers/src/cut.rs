//! Tables 3 to 6 and equations 4 to 6 of Cut playouts (Cotarelo et al. 2021), with ours beside them.
//!
//! Matches begin at the published family of positions with 40 of 60 edges drawn and are played from both seats against the
//! chain-aware rival, at a fixed strength. What the paper says of programs that cannot be had is marked as quoted.

use crate::annotated_games::{AnnotatedGames, AnnotatedMatch, Decision, SeedGames};
use crate::common::*;
use ludex_baselines::FAMILY;
use ludex_core::Move;
use ludex_learn::InferenceNet;
use ludex_search::mcts::Wdl;
use ludex_train::records::{Played, Records, fact_bits};
use std::collections::HashSet;
use std::path::PathBuf;

/// `papers/cut.toml` explains them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    games: usize,
    rival: Spec,
    unique: Vec<u64>,
    plain: Vec<u64>,
    net: Vec<u64>,
    compare: u64,
    sweep: Vec<f64>,
    sweep_sims: u64,
    sweep_games: usize,
    empty_games: usize,
    empty_sims: u64,
    accuracy_playouts: usize,
    opening_share: [f64; 2],
}

/// The agents of the system's options.
#[derive(Deserialize)]
struct Play {
    agent: Spec,
    literal: Spec,
    bare: Spec,
    plain: Spec,
}

impl Tables {
    /// The paper does not say where its matches begin; ours begin around the positions of the tables.
    fn settings(&self) -> [String; 1] {
        let [from, to] = self.opening_share;
        [format!("generate.opening_share=[{from:?}, {to:?}]")]
    }

    fn check(&self, experiment: &Experiment, play: &Play) -> Result<()> {
        let sims = [self.compare, self.sweep_sims, self.empty_sims];
        for &n in self.unique.iter().chain(&self.plain).chain(&self.net).chain(&sims) {
            experiment.check_agent("tables", &set(&play.plain, "sims", n))?;
        }
        for &threshold in &self.sweep {
            experiment.check_agent("tables.sweep", &set(&play.agent, THRESHOLD, threshold))?;
        }
        experiment.check_agent("tables.rival", &self.rival)?;
        experiment.plan(0, &self.settings()).map(|_| ())
    }
}

/// The option that says how sure the net must be.
const THRESHOLD: &str = "playout.threshold";

/// What one training seed gave.
struct Trained {
    seed: u64,
    model: PathBuf,
    /// The states that were learned from, as rows of facts.
    known: HashSet<Vec<u8>>,
}

/// All that the tables share.
struct Stage<'e> {
    experiment: &'e Experiment,
    arena: Arena<'e>,
    t: Tables,
    play: Play,
    starts: Vec<String>,
    trained: Vec<Trained>,
}

/// Carries out the paper's experiments.
pub(crate) fn reproduce(experiment: &Experiment) -> Result<Vec<PaperTable>> {
    let table = &*experiment.table;
    let starts = FAMILY.lines().filter_map(|line| line.split('\t').next());
    let starts: Vec<String> = starts.filter(|text| table.position(text).is_ok()).map(String::from).collect();
    if starts.is_empty() {
        let line =
            format!("the tables are for dots:5x5, which has published positions; {} has none", table.info().name);
        return Err(RunError::Options(line));
    }
    let (t, play): (Tables, Play) = (experiment.options()?, experiment.system_option("play")?);
    t.check(experiment, &play)?;
    let makers: [Maker<'_, Stage<'_>>; 9] = [
        (&["Table 3"], Stage::table3),
        (&["Table 4"], Stage::table4),
        (&["Table 5"], Stage::table5),
        (&["Equations 4-6"], Stage::equations),
        (&["Table 6"], Stage::table6),
        (&["Cost"], Stage::cost),
        (&["Sweep"], Stage::sweep),
        (&["Accuracy"], Stage::accuracy),
        (&["Empty"], Stage::empty),
    ];
    experiment.make(&makers, || {
        // The first two need no net.
        let trained = match makers[2..].iter().any(|(names, _)| experiment.wants_any(names)) {
            true => train(experiment, &t.settings())?,
            false => Vec::new(),
        };
        Ok(Stage { experiment, arena: experiment.arena()?, t, play, starts, trained })
    })
}

/// Learns with each seed, and reads what was learned from.
fn train(experiment: &Experiment, own: &[String]) -> Result<Vec<Trained>> {
    let rounds: usize = experiment.system_option("generate.rounds")?;
    let stage = if rounds == 0 { "generate/".into() } else { format!("generate-{rounds}/") };
    let mut all = Vec::new();
    for report in experiment.learn_seeds("cut", own)? {
        let run = experiment.job("cut", report.seed, own)?.run;
        let mut known = HashSet::new();
        for part in entries(run.dir())?.iter().map(|e| &e.part).filter(|part| part.starts_with(&stage)) {
            let states: Option<Records<Played>> = run.find(part)?;
            known.extend(states.iter().flat_map(|s| (0..s.len()).map(|i| s.key(i).to_vec())));
        }
        all.push(Trained { seed: report.seed, model: report.model, known });
    }
    Ok(all)
}

fn thousands(n: u64) -> String {
    if n.is_multiple_of(1000) && n > 0 { format!("{}K", n / 1000) } else { n.to_string() }
}

/// Net predictions in states with so many legal moves: states, sure ones, right ones of these, right ones of all.
type Bin = [u64; 4];

fn add(bin: &mut Bin, other: &Bin) {
    bin.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}

impl Stage<'_> {
    /// A match of ours against somebody, from these starts.
    fn games(&self, name: &str, ours: &Spec, opponent: &Spec, from: (&[String], usize)) -> Result<AnnotatedGames> {
        let ((starts, games), seed) = (from, Rng::derive(self.experiment.seeds[0], 77));
        let table = &*self.experiment.table;
        AnnotatedMatch { table, ours, opponent, starts, games, seed }.play(&self.arena.run, name)
    }

    /// A row without a net: one match.
    fn without_net(&self, name: &str, spec: &Spec) -> Result<SeedGames> {
        Ok(SeedGames(vec![self.games(name, spec, &self.t.rival, (&self.starts, self.t.games))?]))
    }

    /// Plain UCT at so many iterations.
    fn plain(&self, sims: u64) -> Result<SeedGames> {
        self.without_net(&format!("plain-{sims}"), &set(&self.play.plain, "sims", sims))
    }

    /// What exact play scores against the rival.
    fn ceiling(&self) -> Result<SeedGames> {
        self.without_net("exact", &Spec::word("exact"))
    }

    /// A row with the nets: a match for each seed.
    fn with_nets(&self, name: &str, spec: &Spec, opponent: &Spec, from: (&[String], usize)) -> Result<SeedGames> {
        let games = |t: &Trained| {
            let ours = with_model(spec, &ModelRef::new(&t.model));
            self.games(&format!("{name}-seed{}", t.seed), &ours, opponent, from)
        };
        Ok(SeedGames(self.trained.iter().map(games).collect::<Result<_, _>>()?))
    }

    /// The searches with a net: the paper's, and ours.
    fn searches(&self) -> [(&'static str, &Spec); 2] {
        [("literal", &self.play.literal), ("improved", &self.play.agent)]
    }

    /// A row of one of the searches at so many iterations.
    fn search(&self, (name, spec): (&str, &Spec), sims: u64) -> Result<SeedGames> {
        let from = (&self.starts[..], self.t.games);
        self.with_nets(&format!("{name}-{sims}"), &set(spec, "sims", sims), &self.t.rival, from)
    }

    /// Microseconds of processor time for an iteration and milliseconds for a search of each position of the family: the same
    /// positions for all searches, whose games take different turns and end at different times.
    fn pace(&self, name: &str, spec: &Spec) -> Result<[f64; 2]> {
        self.arena.run.once(&format!("pace-{name}/0000"), || {
            let table = &*self.experiment.table;
            let mut agent = table.agent(spec, 1).map_err(|e| RunError::Agent(name.into(), e))?;
            let (mut seconds, mut iterations) = (0.0, 0);
            // The first search takes hold of its memory, which a match does once.
            for (i, start) in self.starts.iter().take(1).chain(&self.starts).enumerate() {
                let position = table.position(start).expect("a published position");
                let begun = ThreadTime::now();
                let choice = agent.choose(&*position, &Control::default());
                let choice = choice.map_err(|e| RunError::Learning(format!("{name}: {e}")))?;
                if i > 0 {
                    iterations += choice.simulations;
                    seconds += begun.elapsed().as_secs_f64();
                }
            }
            Ok([1e6 * seconds / iterations.max(1) as f64, 1e3 * seconds / self.starts.len() as f64])
        })
    }

    /// The mean over the nets of all seeds.
    fn net_pace(&self, (name, spec): (&str, &Spec), sims: u64) -> Result<[f64; 2]> {
        let mut sum = [0.0; 2];
        for t in &self.trained {
            let spec = set(&with_model(spec, &ModelRef::new(&t.model)), "sims", sims);
            let pace = self.pace(&format!("{name}-{sims}-seed{}", t.seed), &spec)?;
            sum.iter_mut().zip(pace).for_each(|(s, p)| *s += p / self.trained.len() as f64);
        }
        Ok(sum)
    }

    /// States of the games that were not among those learned from: different ones, and all.
    fn unseen(&self, row: &SeedGames) -> (f64, f64) {
        let (mut unique, mut total) = (0, 0);
        for (games, trained) in row.0.iter().zip(&self.trained) {
            let mut seen = HashSet::new();
            for (i, game) in games.all().enumerate() {
                let start = &self.starts[i / 2 % self.starts.len()];
                let mut position = self.experiment.table.position(start).expect("played before");
                for &m in &game.moves {
                    position.play(Move(m)).expect("played before");
                    let key = fact_bits(&position.facts(), self.experiment.table.info().facts as usize);
                    if position.outcome().is_none() && !trained.known.contains(&key) {
                        total += 1;
                        unique += seen.insert(key) as usize;
                    }
                }
            }
        }
        let n = row.0.len().max(1) as f64;
        (unique as f64 / n, total as f64 / n)
    }

    /// The strength of the rival, in words.
    fn rival_note(&self, out: &mut PaperTable) {
        out.note(format!(
            "rival: {}, which stands in for QDab, whom the paper played. {} games from the family \
             of {} positions, each from both seats; the paper's system always sat second in one position",
            self.t.rival,
            self.t.games,
            self.starts.len()
        ));
    }

    fn table3(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 3", &[]);
        for &sims in &self.t.unique {
            let spec = set(&self.play.plain, "sims", sims).with("backup", "unique");
            let row = self.without_net(&format!("unique-{sims}"), &spec)?;
            let [paper] = self.experiment.quoted_cells("Table 3", sims);
            out.join(&[&thousands(sims), &paper], &row.cells()[..5], &[]);
        }
        self.rival_note(&mut out);
        Ok(vec![out])
    }

    fn table4(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 4", &[]);
        for &sims in &self.t.plain {
            let [won, ms] = self.experiment.quoted_cells("Table 4", sims);
            out.join(&[&thousands(sims), &won, &ms], &self.plain(sims)?.cells(), &[]);
        }
        out.join(&[&"exact play (ceiling)", &"-", &"-"], &self.ceiling()?.cells(), &[]);
        self.rival_note(&mut out);
        Ok(vec![out])
    }

    fn table5(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 5", &[]);
        let searches = self.searches();
        for (search, &sims) in searches.iter().flat_map(|s| self.t.net.iter().map(move |n| (*s, n))) {
            let row = self.search(search, sims)?;
            let [a, b, c, d] = self.experiment.quoted_cells("Table 5", sims);
            let good = format!("{:.0}", row.mean(|g| g.mean(|d| d.cut)));
            let by_seed: Vec<String> =
                row.0.iter().map(|g| format!("{:.0} %", 100.0 * g.pairs().wdl().score())).collect();
            let ((unique, total), cells, by_seed) = (self.unseen(&row), row.cells(), by_seed.join(", "));
            let (sims, unseen) = (thousands(sims), format!("{unique:.0}, {total:.0}"));
            let head: [&dyn Display; 10] = [&search.0, &sims, &a, &b, &c, &d, &good, &cells[0], &cells[1], &by_seed];
            out.join(&head, &cells[2..], &[&unseen]);
        }
        self.rival_note(&mut out);
        let seeds: Vec<String> = self.experiment.seeds.iter().map(u64::to_string).collect();
        out.note(format!("training seeds {}; every one counts", seeds.join(", ")));
        searches.iter().for_each(|(name, spec)| out.note(format!("{name}: {spec}")));
        Ok(vec![out])
    }

    fn equations(&self) -> Result<Vec<PaperTable>> {
        let sims = self.t.compare;
        let row = self.search(self.searches()[1], sims)?;
        let (moves, time) = (row.mean(AnnotatedGames::moves), row.ms());
        let closing = row.mean(|g| g.mean(|d| d.again as u8 as f64)) * moves;
        let real = moves - closing;
        let mut out = self.experiment.table("Equations 4-6", &[&thousands(sims)]);
        for (label, ours) in [
            ("our moves a game, Mvs", format!("{moves:.2}")),
            ("of these closing boxes, CB", format!("{closing:.2}")),
            ("(4) real moves, RMvs = Mvs - CB", format!("{real:.2}")),
            ("ms a move, MT", format!("{time:.1}")),
            ("(5) ms a game, MTG = MT * RMvs", format!("{:.1}", time * real)),
            ("(6) ms a move then, MT' = MTG / Mvs", format!("{:.1}", time * real / moves.max(1e-9))),
        ] {
            let [paper] = self.experiment.quoted_cells("Equations 4-6", label);
            out.row(&[&label, &paper, &ours]);
        }
        Ok(vec![out])
    }

    fn table6(&self) -> Result<Vec<PaperTable>> {
        let mut out = self.experiment.table("Table 6", &[]);
        for search in self.searches() {
            let w = self.search(search, self.t.compare)?.wdl();
            let lost = share(w.losses as f64 / w.games().max(1) as f64);
            out.row(&[&format!("the rival against this system, {}", search.0), &"19 %", &lost]);
        }
        out.note("the first three rows are quoted: these programs cannot be had; QDab played them on the whole board");
        self.rival_note(&mut out);
        Ok(vec![out])
    }

    /// Net and plain search at equal iterations, at equal time, and the ceiling.
    fn cost(&self) -> Result<Vec<PaperTable>> {
        let (sims, Play { plain, bare, .. }) = (self.t.compare, &self.play);
        let mut out = self.experiment.table("Cost", &[]);
        let mut add = |label: &str, sims: &str, row: &SeedGames, pace: Option<[f64; 2]>| {
            let (search, iteration) = (optional(pace.map(|p| p[1]), 1), optional(pace.map(|p| p[0]), 3));
            out.join(&[&label, &sims], &row.cells()[1..5], &[&search, &iteration]);
        };
        let (without, top, shown) = (self.plain(sims)?, self.ceiling()?, thousands(sims));
        let plain_pace = self.pace(&format!("plain-{sims}"), &set(plain, "sims", sims))?;
        add("plain UCT", &shown, &without, Some(plain_pace));
        let (bare, name) = (set(bare, "sims", sims), format!("bare-{sims}"));
        let bare_pace = self.pace(&name, &bare)?;
        add("improved, without its net", &shown, &self.without_net(&name, &bare)?, Some(bare_pace));
        let mut notes = vec![
            "family: the first move from each of its positions, the same for all searches; a move of the games takes \
             less, for games go on with fewer edges and proven positions end a search early"
                .to_string(),
        ];
        for search in self.searches() {
            let (with, pace) = (self.search(search, sims)?, self.net_pace(search, sims)?);
            add(&format!("{}, with the net", search.0), &shown, &with, Some(pace));
            let ratio = pace[0] / plain_pace[0].max(1e-9);
            let equal = ((sims as f64 * ratio) as u64).min(1_000_000_000).div_ceil(100) * 100;
            let label = format!("plain UCT, as much time as {}", search.0);
            add(&label, &equal.to_string(), &self.plain(equal)?, None);
            let per = |of: fn(&Decision) -> f64| with.mean(|g| g.per_simulation(of));
            let gap = top.score() - without.score();
            let bare = match search.0 {
                "improved" => format!(", {:.2} times as long as without its net", pace[0] / bare_pace[0].max(1e-9)),
                _ => String::new(),
            };
            let closes = 100.0 * (with.score() - without.score()) / gap;
            let closed = match gap > 0.0 {
                true => format!("it closes {closes:.0} % of the gap to exact play"),
                false => "there is no gap between plain UCT and exact play".into(),
            };
            notes.push(format!(
                "{}: an iteration takes {ratio:.2} times as long as one of plain UCT (paper: 7,345 / 586 = 12.5){bare}; \
                 {:.2} questions an iteration, {} of the playouts cut (paper: 60.8 %); {closed}",
                search.0,
                per(|d| d.asked),
                share(per(|d| d.cut)),
            ));
        }
        add("exact play (ceiling)", "-", &top, None);
        out.notes = notes;
        Ok(vec![out])
    }

    fn sweep(&self) -> Result<Vec<PaperTable>> {
        let t = &self.t;
        let mut out = self.experiment.table("Sweep", &[&thousands(t.sweep_sims)]);
        for &threshold in &t.sweep {
            let spec = set(&set(&self.play.agent, "sims", t.sweep_sims), THRESHOLD, threshold);
            let row = self.with_nets(&format!("sweep-{threshold}"), &spec, &t.rival, (&self.starts, t.sweep_games))?;
            let per = |of: fn(&Decision) -> f64| row.mean(|g| g.per_simulation(of));
            let (cut, asked) = (share(per(|d| d.cut)), format!("{:.2}", per(|d| d.asked)));
            out.join(&[&threshold, &cut, &asked], &row.cells()[1..4], &[&format!("{:.3}", 1e3 * per(|d| d.ms))]);
        }
        Ok(vec![out])
    }

    /// Sure predictions against exact results in states that random playouts from the family reach: those that the net is
    /// asked about in earnest.
    fn accuracy(&self) -> Result<Vec<PaperTable>> {
        let threshold = self.play.agent.get(THRESHOLD).and_then(|t| t.name.parse().ok()).unwrap_or(0.9f32);
        let mut out = self.experiment.table("Accuracy", &[&threshold]);
        let nets = self.trained.iter().map(|t| self.experiment.net(&t.model)).collect::<Result<Vec<_>>>()?;
        let parts =
            self.arena.run.stage("accuracy", self.starts.len(), |i| Ok(Json(self.predictions(i, &nets, threshold))))?;
        let (mut bins, mut all) = (Vec::new(), Bin::default());
        for part in parts.iter() {
            let Json(part) = part?;
            bins.resize(part.len(), Bin::default());
            bins.iter_mut().zip(&part).for_each(|(sum, b)| add(sum, b));
        }
        bins.iter().for_each(|b| add(&mut all, b));
        let rows = bins.iter().enumerate().rev().filter(|(_, b)| b[0] > 0).map(|(free, b)| (free.to_string(), *b));
        let part = |a: u64, b: u64| if b == 0 { "-".into() } else { share(a as f64 / b as f64) };
        for (label, [states, sure, right, argmax]) in rows.chain([("all".into(), all)]) {
            out.row(&[&label, &states, &part(sure, states), &part(right, sure), &part(argmax, states)]);
        }
        Ok(vec![out])
    }

    /// The predictions along random playouts from start `i`, by free edges.
    fn predictions(&self, i: usize, nets: &[InferenceNet], threshold: f32) -> Vec<Bin> {
        let table = &*self.experiment.table;
        let mut bins = vec![Bin::default(); table.info().moves as usize + 1];
        let start = table.position(&self.starts[i]).expect("a published position");
        let Some(solution) = table.solve(&*start) else { return bins };
        for n in 0..self.t.accuracy_playouts {
            let (mut rng, mut position) = (Rng::stream(i as u64, n as u64), start.clone());
            while let Some(worth) = solution.worth(&*position).filter(|_| position.outcome().is_none()) {
                let (best, mover) = (worth.iter().map(|w| w.payoff).fold(f32::MIN, f32::max), position.mover());
                for net in nets {
                    let mut out = [0.0; 3];
                    net.forward(&position.facts(), mover, &mut net.scratch(), &mut out);
                    let [win, draw, loss] = out;
                    let (guess, probability) = Wdl { of: net.viewer(mover), win, draw, loss }.most_likely();
                    let (right, sure) = (guess[mover] == best, probability >= threshold);
                    add(&mut bins[worth.len()], &[true, sure, right && sure, right].map(u64::from));
                }
                let m = *rng.pick(&position.legal()).expect("the game is not over");
                position.play(m).expect("it is legal");
            }
        }
        bins
    }

    fn empty(&self) -> Result<Vec<PaperTable>> {
        let t = &self.t;
        let (start, shown) = ([self.experiment.table.start().text()], thousands(t.empty_sims));
        let from = (&start[..], t.empty_games);
        let mut out = self.experiment.table("Empty", &[&shown, &t.empty_games]);
        let (plain, agent) = (set(&self.play.plain, "sims", t.empty_sims), set(&self.play.agent, "sims", t.empty_sims));
        let rows = [
            ("plain UCT against the rival", SeedGames(vec![self.games("empty-plain", &plain, &t.rival, from)?])),
            ("with the net against the rival", self.with_nets("empty-net", &agent, &t.rival, from)?),
            ("with the net against plain UCT", self.with_nets("empty-net-plain", &agent, &plain, from)?),
        ];
        for (label, row) in &rows {
            let [wdl, score, _, _, ms, _] = row.cells();
            out.row(&[label, &wdl, &score, &ms]);
        }
        Ok(vec![out])
    }
}
