//! Graded levels: opponents of evenly spread strength, made of one learned agent and verified in games.
//!
//! An agent is weakened in two ways: it overlooks moves (`limited`), and it searches less. A ladder of such agents, from the
//! random player to the full search, is rated by matches of neighbours. From the top down a level is placed where the one
//! above it should win as often as wanted; a match shows whether it does, and moves it if not. Then fresh games verify every
//! step: where a level does not win often enough against the one below, the lower one is dropped, and where it wins too often
//! the lower one is moved up, or there is room for one more between them.
//!
//! Everything is counted in nodes or simulations, so a run that was killed goes on to the same levels, bit for bit.

use crate::driver::{Context, Stream};
use crate::measure::{LEVEL, Measure};
use crate::store::{Json, Result, RunError};
use ludex_core::{Control, LimitKind, Rng};
use ludex_play::arena::tally;
use ludex_play::bundle::{Level, level_name};
use ludex_play::openings::{random_length, random_plies};
use ludex_play::stats::{Encounter, Estimate, Pairs, Pool, Record, elo_of_score, score_interval};
use ludex_play::{Limit, Spec};
use std::time::Duration;

/// A level should score so much against the one below, at least and at most.
pub const STEP: [f64; 2] = [0.60, 0.75];

/// The differences in Elo that are aimed at, for games in which skill has little and much room.
const AIM: [f64; 2] = [110.0, 150.0];

/// Attempts to place a level.
const ATTEMPTS: usize = 5;

/// The shares of moves overlooked on the ladder.
const OVERLOOKED: [f64; 9] = [1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.0];

/// An agent between the random player and the full search.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rung {
    overlook: f64,
    careful: bool,
    /// Nodes or simulations a move.
    budget: f64,
}

impl Rung {
    /// Between two rungs, where they differ in one way only; else the nearer one.
    fn between(a: Rung, b: Rung, share: f64) -> Rung {
        if a.careful != b.careful || (a.overlook != b.overlook && a.budget != b.budget) {
            return if share < 0.5 { a } else { b };
        }
        let mix = |a: f64, b: f64| a + (b - a) * share;
        Rung { overlook: mix(a.overlook, b.overlook), budget: mix(a.budget.ln(), b.budget.ln()).exp(), ..a }
    }
}

/// The agent whose levels are made, and how.
struct Grading<'a> {
    cx: &'a Context<'a>,
    measure: &'a Measure,
    agent: &'a Spec,
    /// What a move is counted in, if the agent counts anything.
    unit: Option<LimitKind>,
    ladder: Vec<Rung>,
    /// The ratings of the ladder, the random player being 0.
    elo: Vec<f64>,
}

/// Makes and verifies the levels of an agent, the weakest first; none where none are asked for or the game is not for two.
pub fn levels(cx: &Context<'_>, measure: &Measure, agent: &Spec) -> Result<Vec<Level>> {
    if measure.games == 0 || measure.levels == 0 || measure.level_games == 0 || cx.info().players() != 2 {
        return Ok(Vec::new());
    }
    let made = cx.table.agent(agent, 0).map_err(|e| RunError::Agent("the learned agent".into(), e))?;
    let unit = [LimitKind::Nodes, LimitKind::Simulations].into_iter().find(|k| made.limits().contains(k));
    let mut grading = Grading { cx, measure, agent, unit, ladder: Vec::new(), elo: Vec::new() };
    let full = match unit {
        Some(unit) => grading.full_budget(unit)?,
        None => 1.0,
    };
    grading.ladder = ladder(full);
    grading.rate_ladder()?;
    let placed = grading.place()?;
    grading.verify(placed)
}

/// From the random player to the full search. Up to a point careless agents are weaker than the weakest careful one.
fn ladder(full: f64) -> Vec<Rung> {
    let least = (full / 64.0).clamp(4.0, 100.0).min(full).round();
    let careless = OVERLOOKED[..5].iter().map(|&overlook| Rung { overlook, careful: false, budget: least });
    let careful = OVERLOOKED.iter().map(|&overlook| Rung { overlook, careful: true, budget: least });
    let mut all: Vec<Rung> = careless.chain(careful).collect();
    let steps = ((full / least).ln() / 4f64.ln()).ceil().max(0.0) as i32;
    let budget = |i: i32| least * (full / least).powf(i as f64 / steps as f64);
    all.extend((1..=steps).map(|i| Rung { overlook: 0.0, careful: true, budget: budget(i).round() }));
    all
}

impl Grading<'_> {
    /// What the best level searches: as the options say, or what its time allows, measured once and kept.
    fn full_budget(&self, unit: LimitKind) -> Result<f64> {
        if self.measure.level_budget > 0 {
            return Ok(self.measure.level_budget as f64);
        }
        if let Some(Json(budget)) = self.cx.run.recorded::<Json<u64>>("level-budget")? {
            return Ok(budget as f64);
        }
        const SEARCHES: u64 = 16;
        let (table, mut counted, mut rng) = (self.cx.table, 0, self.cx.rng(Stream::Measure));
        let failed = |e: &dyn std::fmt::Display| RunError::Learning(format!("the learned agent: {e}"));
        let plies = (random_length(table) / 2.0) as u32;
        let mut agent = table.agent(self.agent, 1).map_err(|e| failed(&e))?;
        for _ in 0..SEARCHES {
            let position = random_plies(table.start(), rng.below(plies + 1), &mut rng);
            if position.outcome().is_some() {
                continue;
            }
            let limit = Limit::cpu(Duration::from_millis(self.measure.level_ms.max(1)));
            let choice = agent.choose(&*position, &Control::from(limit)).map_err(|e| failed(&e))?;
            counted += if unit == LimitKind::Nodes { choice.nodes } else { choice.simulations };
        }
        let budget = (counted / SEARCHES).clamp(4, 10_000_000);
        self.cx.run.keep("level-budget", &Json(budget))?;
        Ok(budget as f64)
    }

    /// The agent of a rung.
    fn spec(&self, rung: Rung) -> Spec {
        let mut search = LimitKind::ALL.iter().fold(self.agent.clone(), |s, k| s.without(k.name()));
        if let Some(unit) = self.unit {
            search.set(unit.name(), rung.budget.round() as u64);
        }
        let top = self.ladder.last().is_some_and(|top| top.budget == rung.budget) && rung.overlook == 0.0;
        if top {
            return search;
        }
        let mut limited = Spec::word("limited");
        limited.set_part("search", search);
        limited.set("overlook", (rung.overlook * 1000.0).round() / 1000.0);
        limited.set("careful", if rung.careful { "on" } else { "off" });
        limited
    }

    /// Games of two agents under a name of their own, as the first sees them.
    fn games(&self, name: &str, agents: [Spec; 2], games: usize) -> Result<Pairs> {
        let number = name.bytes().fold(0u64, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ b as u64);
        let seed = Rng::derive(self.cx.seed(Stream::Measure), number);
        let contest = self.measure.contest(self.cx.table, agents.to_vec(), games, seed);
        let results = self.cx.run.contest(name, self.cx.table, &contest)?;
        Ok(tally(&contest, &results)[0].pairs)
    }

    /// Rates the ladder by matches of neighbours; rungs of careless agents that are no weaker than careful ones are dropped.
    fn rate_ladder(&mut self) -> Result<()> {
        let games = (self.measure.level_games / 2).max(2);
        let first_careful = self.ladder.iter().position(|r| r.careful).unwrap_or(0);
        let mut gaps = vec![0.0];
        for i in 1..self.ladder.len() {
            // The weakest careful agent is compared with the random player, not with the strongest careless one.
            let below = if i == first_careful { 0 } else { i - 1 };
            let agents = [self.spec(self.ladder[i]), self.spec(self.ladder[below])];
            gaps.push(gap(&self.games(&format!("levels/ladder-{i:02}"), agents, games)?));
        }
        let mut elo = vec![0.0; gaps.len()];
        for i in 1..gaps.len() {
            let below = if i == first_careful { 0.0 } else { elo[i - 1] };
            elo[i] = below + gaps[i].max(0.0);
        }
        let careful = elo.get(first_careful).copied().unwrap_or(0.0);
        let keep = |i: &usize| *i == 0 || *i >= first_careful || elo[*i] < careful;
        let kept: Vec<usize> = (0..elo.len()).filter(keep).collect();
        self.ladder = kept.iter().map(|&i| self.ladder[i]).collect();
        self.elo = kept.iter().map(|&i| elo[i]).collect();
        Ok(())
    }

    /// The rung of a rating.
    fn rung(&self, elo: f64) -> Rung {
        let above = self.elo.iter().position(|&e| e >= elo).unwrap_or(self.elo.len() - 1);
        if above == 0 {
            return self.ladder[0];
        }
        let (low, high) = (self.elo[above - 1], self.elo[above]);
        let share = if high > low { (elo - low) / (high - low) } else { 1.0 };
        Rung::between(self.ladder[above - 1], self.ladder[above], share)
    }

    /// The rating of the full search.
    fn top(&self) -> f64 {
        *self.elo.last().expect("the ladder has the random player")
    }

    /// The difference in Elo from one level to the next that is aimed at.
    fn aim(&self) -> f64 {
        (self.top() / (self.measure.levels.max(2) - 1) as f64).clamp(AIM[0], AIM[1])
    }

    /// Places levels from the top down, as ratings of the ladder; the weakest first.
    fn place(&self) -> Result<Vec<f64>> {
        let (mut levels, aim) = (vec![self.top()], self.aim());
        while levels.len() < self.measure.levels {
            let at = levels[levels.len() - 1];
            let (above, mut distance, mut best) = (self.spec(self.rung(at)), aim, None::<(f64, f64)>);
            // The nearest distances on the ladder that were too short and too long, and the differences that they made.
            let (mut short, mut long) = ((0.0, 0.0), None::<(f64, f64)>);
            for attempt in 0..ATTEMPTS {
                let elo = (at - distance).max(0.0);
                let name = format!("levels/place-{:02}-{attempt}", levels.len());
                let found = self.games(&name, [above.clone(), self.spec(self.rung(elo))], self.measure.level_games)?;
                let gap = gap(&found);
                let error = (gap - aim).abs();
                if best.is_none_or(|(e, _)| error < e) {
                    best = Some((error, elo));
                }
                if error < 0.25 * aim || (elo == 0.0 && gap < aim) {
                    break;
                }
                match gap < aim {
                    true if distance >= short.0 => short = (distance, gap),
                    false if long.is_none_or(|(d, _)| distance <= d) => long = Some((distance, gap)),
                    _ => {}
                }
                distance = match long {
                    Some((d, g)) if g > short.1 && d > short.0 => {
                        short.0 + (d - short.0) * ((aim - short.1) / (g - short.1)).clamp(0.1, 0.9)
                    }
                    _ => distance * (aim / gap.max(1.0)).clamp(0.5, 2.0),
                };
            }
            match best {
                // What is no better than the random player is no level.
                Some((_, elo)) if elo > elo_of_score(STEP[0]) / 2.0 => levels.push(elo),
                _ => break,
            }
        }
        levels.reverse();
        Ok(levels)
    }

    /// Verifies the levels in fresh games and rates them. A level that is no step below the next is dropped; where a step is
    /// too high, the lower level is moved up, or another one is tried between.
    fn verify(&self, mut levels: Vec<f64>) -> Result<Vec<Level>> {
        let (most, aim) = (self.measure.levels, self.aim());
        let mut steps = vec![None::<Pairs>; levels.len()];
        for round in 0.. {
            for i in (0..levels.len()).filter(|&i| steps[i].is_none()).collect::<Vec<_>>() {
                let below = i.checked_sub(1).map_or(Spec::word("random"), |b| self.spec(self.rung(levels[b])));
                let agents = [self.spec(self.rung(levels[i])), below];
                let name = format!("levels/verify-{round:02}-{i:02}");
                steps[i] = Some(self.games(&name, agents, self.measure.level_games)?);
            }
            let score = |i: usize| steps[i].map_or(0.5, |p| p.wdl().score());
            let careful = |i: usize| self.rung(levels[i]).careful;
            let (low, high) = ((0..levels.len()).rfind(|&i| score(i) < STEP[0]), round < 2 * most);
            // In the upper half no move may lose at once where another does not.
            let careless = (levels.len() / 2..levels.len()).any(|i| !careful(i));
            if let Some(i) = low.filter(|_| levels.len() > 1) {
                let dropped = i.saturating_sub(1);
                levels.remove(dropped);
                steps.remove(dropped);
                steps[dropped] = None;
            } else if careless && levels.len() > 1 {
                levels.remove(0);
                steps.remove(0);
                steps[0] = None;
            } else if let Some(i) = (1..levels.len()).rfind(|&i| high && score(i) > STEP[1]) {
                let (gap, distance) = (steps[i].as_ref().map_or(aim, gap), levels[i] - levels[i - 1]);
                match gap > 2.0 * aim && levels.len() < most {
                    true => {
                        levels.insert(i, levels[i] - distance / 2.0);
                        steps.insert(i, None);
                        steps[i + 1] = None;
                    }
                    false => {
                        levels[i - 1] = levels[i] - distance * aim / gap;
                        (steps[i - 1], steps[i]) = (None, None);
                    }
                }
            } else {
                break;
            }
        }
        let steps: Vec<Pairs> = steps.into_iter().flatten().collect();
        let encounter = |(i, &pairs): (usize, &Pairs)| Encounter { a: i + 1, b: i, record: Record::Pairs(pairs) };
        let encounters = steps.iter().enumerate().map(encounter).collect();
        let pool = Pool { players: levels.len() + 1, anchor: 0, first_advantage: true, encounters };
        let ratings = pool.rate(LEVEL).map_err(|e| RunError::Learning(format!("levels cannot be rated: {e}")))?;
        let level = |(i, &elo): (usize, &f64)| {
            let (number, wdl) = (i + 1, steps[i].wdl());
            let interval = score_interval(&steps[i].pentanomial(), LEVEL);
            Level {
                level: number,
                name: level_name(number, levels.len()).map(String::from),
                agent: self.spec(self.rung(elo)),
                elo: ratings.players[number],
                score: Estimate { value: wdl.score(), low: interval.low, high: interval.high },
                games: wdl.games(),
            }
        };
        Ok(levels.iter().enumerate().map(level).collect())
    }
}

/// The difference in Elo that games show; a sweep counts as if half a game more had been played and lost.
fn gap(pairs: &Pairs) -> f64 {
    let (wdl, n) = (pairs.wdl(), pairs.wdl().games() as f64);
    elo_of_score((wdl.score() * n + 0.25) / (n + 0.5))
}
