//! `ludex match` and `ludex tournament`.

use crate::agents::LearnedAgent;
use crate::errors::{contest_error, usage};
use crate::verbs::{SCHEMA, progress, say};
use crate::work::{Threads, file_name};
use crate::{open, spec};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::Rng;
use ludex_play::arena::{Contest, ContestError, Manifest, PairResult, Tally, tally};
use ludex_play::openings::Openings;
use ludex_play::stats::*;
use ludex_play::{Cost, Spec, Stop};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Intervals are at this level.
pub const LEVEL: f64 = 0.95;

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex match connect4 'uct(sims=1000)' 'uct(sims=500)' --games 200\n  \
    ludex match othello 'minimax(depth=3)' random --games 40 --json\n  \
    ludex match connect4 'uct(sims=800)' 'rave(sims=800)' --games 4000 --sprt 0,50")]
pub struct Match {
    /// Which game
    game: String,
    /// The agents: specs (see `ludex agents`) or .toml files; with --model, only the second
    #[arg(required = true, num_args = 1..=2)]
    agents: Vec<String>,
    #[command(flatten)]
    learned: LearnedAgent,
    #[command(flatten)]
    held: ContestOptions,
    /// Stop as soon as a sequential test decides between these Elo differences (error rates 5 %)
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true)]
    sprt: Option<String>,
}

#[derive(Parser)]
#[command(
    after_help = "Example:\n  ludex tournament connect4 random 'uct(sims=100)' 'uct(sims=400)' 'minimax(depth=4)' --games 40"
)]
pub struct Tournament {
    /// Which game
    game: String,
    /// The agents: specs (see `ludex agents`) or .toml files
    #[arg(required = true, num_args = 2..)]
    agents: Vec<String>,
    #[command(flatten)]
    held: ContestOptions,
    /// Which agent stands at 0 Elo, by number
    #[arg(long, default_value_t = 1)]
    anchor: usize,
}

/// How a contest is held.
#[derive(clap::Args)]
struct ContestOptions {
    /// Games for each two agents; played in pairs with colours swapped, so an odd number is rounded up
    #[arg(long, default_value_t = 100)]
    games: usize,
    /// Everything random comes from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Random plies before each pair
    #[arg(long, default_value_t = 2)]
    opening_plies: u32,
    /// Begin at the positions of this file instead, one a line
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Where the results are kept as they come, so that an interrupted contest goes on; by default below runs/arena, if
    /// that can be written
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Forget earlier results of the same contest
    #[arg(long)]
    fresh: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl ContestOptions {
    /// Plays a contest, or what is missing of it.
    fn contest(&self, game: &str, agents: Vec<Spec>, sprt: Option<SprtPlan>) -> Result<(Contest, Vec<PairResult>)> {
        let threads = self.threads.count()?;
        let table = open(game)?;
        let openings = match &self.openings {
            None => Openings::Random(self.opening_plies),
            Some(file) => {
                let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
                let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
                Openings::Listed(lines.map(String::from).collect())
            }
        };
        if self.games == 0 {
            return Err(usage("--games must be at least 1"));
        }
        let pairs = self.games.div_ceil(2);
        let game = table.info().name.clone();
        let contest = Contest { game, agents, pairs, openings, seed: self.seed, sprt };
        let failed = |e| contest_error(&*table, e);
        contest.check(&*table).map_err(failed)?;
        let path = self.out.clone().unwrap_or_else(|| default_path(&contest));
        if self.fresh && path.exists() {
            std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
        let (mut manifest, done) = match Manifest::open(&path, &contest) {
            Ok((manifest, done)) => (Some(manifest), done),
            Err(e @ ContestError::File(..)) if self.out.is_none() => {
                eprintln!("nothing is kept: {e}");
                (None, Vec::new())
            }
            Err(e) => return Err(failed(e)),
        };
        if !done.is_empty() {
            eprintln!("{} of {} pairs are already in {}", done.len(), contest.len(), path.display());
        }
        let bar = progress(contest.len() as u64, "pairs");
        bar.set_position(done.len() as u64);
        let stop = Stop::new();
        let mut unwritten = None;
        let results = contest.run(&*table, done, threads, &stop, |result| {
            bar.inc(1);
            if let Some(Err(e)) = manifest.as_mut().map(|m| m.add(result)) {
                if self.out.is_none() {
                    bar.suspend(|| eprintln!("nothing more is kept: {e}"));
                    manifest = None;
                    return;
                }
                unwritten.get_or_insert(e);
                stop.raise();
            }
        });
        bar.finish_and_clear();
        match unwritten {
            Some(e) => Err(failed(e)),
            None => Ok((contest, results.map_err(failed)?)),
        }
    }
}

/// What was held, as JSON.
fn config_json(c: &Contest) -> Value {
    json!({"game": c.game, "agents": c.agents, "pairs": c.pairs, "seed": c.seed, "sprt": c.sprt, "openings": c.openings})
}

/// A file whose name follows from the contest, so that the same command finds it again.
fn default_path(c: &Contest) -> PathBuf {
    let text = serde_json::to_string(c).unwrap_or_default();
    let hash = text.bytes().fold(0u64, |h, b| Rng::derive(h, b as u64));
    let family = file_name(c.game.split(':').next().unwrap_or("game"));
    PathBuf::from("runs/arena").join(format!("{family}-{hash:016x}.jsonl"))
}

pub fn percent(x: f64) -> String {
    format!("{:.1}", 100.0 * x)
}

fn wdl_json(w: &Wdl) -> Value {
    let wins = rate_interval(w.wins, w.games() as u32, LEVEL);
    json!({"wins": w.wins, "draws": w.draws, "losses": w.losses, "games": w.games(), "score": w.score(),
        "win_rate_interval": [wins.low, wins.high], "level": LEVEL})
}

fn cost_json(c: &Cost) -> Value {
    json!({"moves": c.moves, "nodes_per_move": c.nodes_per_move(), "cpu_ms_per_move": c.ms_per_move()})
}

/// All figures about two agents as JSON.
pub fn tally_json(t: &Tally) -> Value {
    let (p, wdl) = (t.pairs.pentanomial(), t.pairs.wdl());
    let (score, elo) = (score_interval(&p, LEVEL), match_elo(&p, LEVEL));
    let (more, fewer) = p.decided();
    let not = |wins: u32| wdl.games() as u32 - wins;
    json!({
        "a": t.a, "b": t.b, "wdl": wdl_json(&wdl), "score": wdl.score(), "score_interval": [score.low, score.high],
        "elo": elo.value, "elo_interval": [elo.low, elo.high], "pentanomial": p.counts,
        "as_first": wdl_json(&t.pairs.first()), "as_second": wdl_json(&t.pairs.second()),
        "fisher_p": fisher_exact([[wdl.wins, not(wdl.wins)], [wdl.losses, not(wdl.losses)]]),
        "sign_test_p": sign_test(more, fewer),
        "faults": {"a": {"crashes": t.faults[0][0], "illegal": t.faults[0][1]}, "b": {"crashes": t.faults[1][0], "illegal": t.faults[1][1]}},
        "cost": {"a": cost_json(&t.cost[0]), "b": cost_json(&t.cost[1])},
        "plies_per_game": t.plies as f64 / wdl.games().max(1) as f64,
    })
}

fn faults(t: &Tally) -> String {
    let side = |f: [u32; 2]| format!("{} crashes, {} illegal moves", f[0], f[1]);
    match t.faults {
        [[0, 0], [0, 0]] => "none".into(),
        [a, b] => format!("A {}; B {}", side(a), side(b)),
    }
}

/// What no loss, or no win, in so many games says: an upper bound of the rate.
fn zero_count_bound(w: &Wdl) -> String {
    let bound = |k: u32| percent(upper_bound(k, w.games() as u32, LEVEL));
    match (w.losses, w.wins) {
        (0, _) => format!("no loss in {} games: the loss rate is below {} % (95 %, one-sided)\n", w.games(), bound(0)),
        (_, 0) => format!("no win in {} games: the win rate is below {} % (95 %, one-sided)\n", w.games(), bound(0)),
        _ => String::new(),
    }
}

impl Match {
    pub fn run(&self) -> Result<()> {
        let sprt = self.sprt.as_deref().map(sprt_plan).transpose()?;
        let typed = self.agents.iter().map(|a| spec(a));
        let agents = self.learned.spec()?.into_iter().map(Ok).chain(typed).collect::<Result<Vec<_>>>()?;
        if agents.len() != 2 {
            return Err(usage("a match is between two agents: name both, or --model RUN and the second"));
        }
        let (contest, results) = self.held.contest(&self.game, agents, sprt)?;
        let t = &tally(&contest, &results)[0];
        let test = sprt.map(|plan| {
            let mut sprt = Sprt::new(plan).expect("the plan has been checked");
            let verdict = results.iter().fold(Verdict::Continue, |_, r| sprt.update(r.pair()));
            (plan, sprt.llr(), verdict)
        });
        if self.held.json {
            let sprt = test.map(|(plan, llr, verdict)| json!({"plan": plan, "llr": llr, "verdict": verdict}));
            let object = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "config": config_json(&contest),
                "seed": contest.seed, "result": tally_json(t), "sprt_result": sprt});
            return say(serde_json::to_string_pretty(&object)?);
        }
        let (p, wdl) = (t.pairs.pentanomial(), t.pairs.wdl());
        let (score, elo) = (score_interval(&p, LEVEL), match_elo(&p, LEVEL));
        let seat = |w: &Wdl| format!("+{} ={} -{}", w.wins, w.draws, w.losses);
        say(format!("{}, {} games in colour-swapped pairs, seed {}", contest.game, wdl.games(), contest.seed))?;
        say(format!("A  {}\nB  {}\n", contest.agents[0], contest.agents[1]))?;
        say(format!(
            "A scores {} % [{}, {}]   +{} ={} -{}   Elo {:+.0} [{:+.0}, {:+.0}]",
            percent(wdl.score()),
            percent(score.low),
            percent(score.high),
            wdl.wins,
            wdl.draws,
            wdl.losses,
            elo.value,
            elo.low,
            elo.high
        ))?;
        say(format!("A as player 0: {}   as player 1: {}", seat(&t.pairs.first()), seat(&t.pairs.second())))?;
        let (more, fewer) = p.decided();
        let not = |wins: u32| wdl.games() as u32 - wins;
        let fisher = fisher_exact([[wdl.wins, not(wdl.wins)], [wdl.losses, not(wdl.losses)]]);
        say(format!(
            "pairs for A {more}, for B {fewer}: sign test p = {:.4}; wins against losses: Fisher p = {fisher:.4}",
            sign_test(more, fewer)
        ))?;
        if let Some((plan, llr, verdict)) = test {
            say(format!("sequential test Elo {} against {}: LLR {llr:.2}, {verdict:?}", plan.elo0, plan.elo1))?;
        }
        say(format!(
            "{}nodes a move: A {:.0}, B {:.0}   processor ms a move: A {:.3}, B {:.3}   plies a game: {:.1}\nfaults: {}",
            zero_count_bound(&wdl),
            t.cost[0].nodes_per_move(),
            t.cost[1].nodes_per_move(),
            t.cost[0].ms_per_move(),
            t.cost[1].ms_per_move(),
            t.plies as f64 / wdl.games().max(1) as f64,
            faults(t)
        ))
    }
}

/// Reads the two Elo differences of a sequential test.
fn sprt_plan(text: &str) -> Result<SprtPlan> {
    let elos: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse()).collect();
    let Ok([elo0, elo1]) = elos.as_deref() else {
        return Err(usage(format!("--sprt takes two Elo differences such as 0,50, not \"{text}\"")));
    };
    let plan = SprtPlan::between(*elo0, *elo1);
    plan.check().map_err(usage)?;
    Ok(plan)
}

impl Tournament {
    pub fn run(&self) -> Result<()> {
        if self.anchor == 0 || self.anchor > self.agents.len() {
            return Err(usage(format!("--anchor is the number of an agent, 1 to {}", self.agents.len())));
        }
        let agents = self.agents.iter().map(|a| spec(a)).collect::<Result<Vec<_>>>()?;
        let (contest, results) = self.held.contest(&self.game, agents, None)?;
        let agents = &contest.agents;
        let tallies = tally(&contest, &results);
        let encounter = |t: &Tally| Encounter { a: t.a, b: t.b, record: Record::Pairs(t.pairs) };
        let pool = Pool {
            players: agents.len(),
            anchor: self.anchor - 1,
            first_advantage: true,
            encounters: tallies.iter().map(encounter).collect(),
        };
        let ratings = pool.rate(LEVEL).map_err(usage)?;
        let cycles = pool.cycles(LEVEL).map_err(usage)?;
        if self.held.json {
            let object = json!({
                "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "config": config_json(&contest), "seed": contest.seed,
                "ratings": ratings, "anchor": self.anchor - 1, "cycles": cycles,
                "results": tallies.iter().map(tally_json).collect::<Vec<_>>(),
            });
            return say(serde_json::to_string_pretty(&object)?);
        }
        let games = 2 * contest.pairs * (agents.len() - 1);
        say(format!(
            "{}, {} games for each agent in colour-swapped pairs, seed {}\n",
            contest.game, games, contest.seed
        ))?;
        let points = |i: usize| -> f64 {
            tallies
                .iter()
                .map(|t| match () {
                    _ if t.a == i => t.pairs.wdl().score(),
                    _ if t.b == i => 1.0 - t.pairs.wdl().score(),
                    _ => 0.0,
                })
                .sum::<f64>()
                / (agents.len() - 1) as f64
        };
        let mut order: Vec<usize> = (0..agents.len()).collect();
        order.sort_by(|&a, &b| ratings.players[b].value.total_cmp(&ratings.players[a].value));
        let width = contest.agents.iter().map(|a| a.to_string().len()).max().unwrap_or(0);
        say(format!("  {:width$}     Elo   95 % interval   score %", "agent"))?;
        for &i in &order {
            let e = ratings.players[i];
            let name = contest.agents[i].to_string();
            say(format!(
                "{} {name:width$}  {:+6.0}   [{:+.0}, {:+.0}]   {}",
                i + 1,
                e.value,
                e.low,
                e.high,
                percent(points(i))
            ))?;
        }
        say("\nscore of the row against the column, %")?;
        let heads: String = order.iter().map(|i| format!("{:>7}", i + 1)).collect();
        say(format!("   {heads}"))?;
        for &i in &order {
            let cell = |&j: &usize| {
                let found = tallies.iter().find(|t| (t.a, t.b) == (i.min(j), i.max(j)));
                let score = found.map(|t| if t.a == i { t.pairs.wdl().score() } else { 1.0 - t.pairs.wdl().score() });
                format!("{:>7}", score.map_or("-".into(), percent))
            };
            say(format!("{:>2} {}", i + 1, order.iter().map(cell).collect::<String>()))?;
        }
        if let Some(first) = ratings.first_advantage {
            say(format!(
                "\nfirst player: {:+.0} Elo [{:+.0}, {:+.0}]; draws between equals: {} %",
                first.value,
                first.low,
                first.high,
                percent(ratings.draw_rate)
            ))?;
        }
        for c in cycles {
            say(format!(
                "not transitive: {} beats {}, which beats {}, which beats {}",
                c[0] + 1,
                c[1] + 1,
                c[2] + 1,
                c[0] + 1
            ))?;
        }
        let faulty: Vec<String> = tallies
            .iter()
            .filter(|t| t.faults != [[0; 2]; 2])
            .map(|t| format!("{}-{}: {}", t.a + 1, t.b + 1, faults(t)))
            .collect();
        say(format!("faults: {}", if faulty.is_empty() { "none".into() } else { faulty.join("; ") }))
    }
}
