//! From searched states to patterns, and from patterns to three sets.

use super::{Target, Train};
use crate::selfplay::PLAYED;
use crate::store::{Examples, RunError};
use crate::table::Table as Seat;
use ludex_core::{Fact, GameInfo, Move, Player, Rng};
use ludex_learn::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What the net sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// One input for each fact.
    Facts,
    /// One input for each two facts that differ in their owner only: 1 the mover's, -1 the opponent's, 0 neither.
    Signed,
}

/// The encoder: as the mover sees the state, wherever the roles are alike.
pub(super) fn encoder(table: &dyn Seat, input: Input) -> Result<Encoder, RunError> {
    let info = table.info();
    let facts = Encoder::facts(info.facts as usize);
    match (input, &info.mirror) {
        (Input::Facts, None) => Ok(facts),
        (Input::Facts, Some(mirror)) => Ok(facts.relative(mirror.clone())?),
        (Input::Signed, None) => Err(unlike(info)),
        (Input::Signed, Some(mirror)) => {
            let codes = signs(table, &mirror.facts).ok_or_else(|| unlike(info))?;
            let inputs = codes.iter().flatten().map(|(i, _)| i + 1).max().unwrap_or(0);
            let table = Table { base: vec![0.0; inputs as usize], codes };
            Ok(facts.relative(mirror.clone())?.coded(table)?)
        }
    }
}

fn unlike(info: &GameInfo) -> RunError {
    let line = format!(
        "in {} the facts of the two roles do not stand in the same places: train.input must be facts",
        info.name
    );
    RunError::Config(line)
}

/// For each fact its input and sign. Names tell what belongs together: `(cell 2 3 x)` and `(cell 2 3 o)` differ in one word.
/// What is the same for both roles is no input if it only says that nobody is there, and has one of its own otherwise; who is
/// to move is no input, being always the mover.
fn signs(table: &dyn Seat, mirror: &[Fact]) -> Option<Vec<Option<(u32, f32)>>> {
    let name = |f: usize| table.fact_name(Fact(f as u32));
    let words = |f: usize| name(f).split_whitespace().map(String::from).collect::<Vec<_>>();
    let without = |words: &[String], k: usize| {
        let mut words = words.to_vec();
        words[k] = "_".into();
        words.join(" ")
    };
    let mut codes: Vec<Option<(u32, f32)>> = vec![None; mirror.len()];
    let (mut inputs, mut places) = (0, HashSet::new());
    for (f, image) in mirror.iter().enumerate().filter(|(f, image)| *f < image.index()) {
        let (a, b) = (words(f), words(image.index()));
        let differ: Vec<usize> = (0..a.len().min(b.len())).filter(|&k| a[k] != b[k]).collect();
        if a.len() != b.len() || differ.len() != 1 {
            return None;
        }
        if a[0].trim_start_matches('(') == "control" {
            continue;
        }
        places.insert(without(&a, differ[0]));
        (codes[f], codes[image.index()]) = (Some((inputs, 1.0)), Some((inputs, -1.0)));
        inputs += 1;
    }
    for (f, _) in mirror.iter().enumerate().filter(|(f, image)| *f == image.index()) {
        let a = words(f);
        if !(0..a.len()).any(|k| places.contains(&without(&a, k))) {
            codes[f] = Some((inputs, 1.0));
            inputs += 1;
        }
    }
    (inputs > 0).then_some(codes)
}

/// Patterns in three sets.
pub(super) struct Lessons {
    pub encoder: Encoder,
    pub data: Data,
    pub split: Split,
    /// States searched, before equal ones were joined.
    pub states: usize,
}

/// What searches say about one move of a state.
#[derive(Clone, Copy, Default)]
struct Said {
    visits: f64,
    /// What it was worth to the chooser, by visits.
    total: f64,
    played: f64,
}

/// One state, with the moves as the mover sees them.
struct Pattern {
    at: Vec<u32>,
    values: Vec<f32>,
    moves: Vec<(u32, Said)>,
}

impl Pattern {
    fn said(&mut self, m: u32) -> &mut Said {
        let found = self.moves.iter().position(|(n, _)| *n == m);
        let i = found.unwrap_or_else(|| {
            self.moves.push((m, Said::default()));
            self.moves.len() - 1
        });
        &mut self.moves[i].1
    }

    /// How much each move is liked, from 0 to 1.
    fn liked(&self, target: Target) -> Vec<(u32, f64)> {
        let most = |f: fn(&Said) -> f64| self.moves.iter().map(|(_, s)| f(s)).fold(f64::MIN_POSITIVE, f64::max);
        let liked = |s: &Said| match target {
            Target::Visits => s.visits / most(|s| s.visits),
            Target::WinRate => (s.total / s.visits.max(1.0) + 1.0) / 2.0,
            Target::Played => s.played / most(|s| s.played),
        };
        self.moves.iter().map(|(m, s)| (*m, liked(s).clamp(0.0, 1.0))).collect()
    }
}

/// Targets stand between these.
const RANGE: (f64, f64) = (0.1, 0.9);

/// With fewer patterns nothing is held back.
const FEW: usize = 20;

/// Numbers that all targets may take at most: games with many moves learn from fewer patterns.
const TARGETS: usize = 100_000_000;

impl Lessons {
    /// Joins equal states, makes targets, and deals the patterns out.
    pub fn new(
        parts: &[Examples],
        info: &GameInfo,
        encoder: Encoder,
        config: &Train,
        seed: u64,
    ) -> Result<Self, RunError> {
        let (mut patterns, states) = joined(parts, &encoder);
        let outputs = info.moves as usize;
        let most = (TARGETS / outputs.max(1)).max(FEW);
        let most = if config.most == 0 { most } else { most.min(config.most) };
        let mut rng = Rng::stream(seed, 4);
        rng.shuffle(&mut patterns);
        patterns.truncate(most);
        let mut data = Data::new(encoder.inputs(), outputs);
        let (mut targets, mut known) = (vec![0.0; outputs], vec![false; outputs]);
        for p in &patterns {
            targets.fill(0.0);
            known.fill(false);
            for (m, liked) in p.liked(config.target) {
                targets[m as usize] = (RANGE.0 + (RANGE.1 - RANGE.0) * liked) as f32;
                known[m as usize] = true;
            }
            let row = if p.values.is_empty() { Row::ones(&p.at) } else { Row::new(&p.at, &p.values) };
            data.push_masked(row, &targets, &known)?;
        }
        Ok(Lessons { encoder, split: deal(data.len(), config.split), data, states })
    }

    /// How often, on untouched patterns, the move with the highest target is kept when the net drops this share; `None` if
    /// there are no such patterns.
    pub fn best_kept(&self, learner: &MlpLearner, share: f64) -> Option<f64> {
        let mut kept = 0;
        for &i in &self.split.test {
            let i = i as usize;
            let out = learner.predict(self.data.row(i));
            let moves: Vec<usize> = (0..self.data.outputs()).filter(|&o| self.data.known(i, o)).collect();
            let target = |o: &usize| self.data.targets(i)[*o];
            let Some(&best) = moves.iter().max_by(|a, b| target(a).total_cmp(&target(b)).then(b.cmp(a))) else {
                continue;
            };
            let better = moves.iter().filter(|&&o| out[o] > out[best]).count();
            kept += (better < moves.len() - (share * moves.len() as f64).floor() as usize) as usize;
        }
        (!self.split.test.is_empty()).then(|| kept as f64 / self.split.test.len() as f64)
    }
}

/// All patterns, equal ones joined, and how many states there were.
fn joined(parts: &[Examples], encoder: &Encoder) -> (Vec<Pattern>, usize) {
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut known: HashMap<Vec<(u32, u32)>, usize> = HashMap::new();
    let (mut code, mut states) = (Code::default(), 0);
    let seen = |m: Move, mover: Player| match encoder.mirror() {
        Some(mirror) if mover == Player(1) => mirror.moves[m.index()].0,
        _ => m.0,
    };
    for part in parts {
        // A state is followed by the children that were looked at there.
        let (mut at, mut mover) = (None, Player(0));
        for i in 0..part.len() {
            let e = part.brief(i);
            if *e.source == *PLAYED {
                states += 1;
                mover = e.mover;
                encoder.encode(&part.row(i).facts, mover, &mut code);
                let key: Vec<(u32, u32)> = code.row().iter().map(|(i, v)| (i as u32, v.to_bits())).collect();
                let place = *known.entry(key).or_insert_with(|| {
                    let (at, values): (Vec<u32>, Vec<f32>) = code.row().iter().map(|(i, v)| (i as u32, v)).unzip();
                    let values = if values.iter().all(|&v| v == 1.0) { Vec::new() } else { values };
                    patterns.push(Pattern { at, values, moves: Vec::new() });
                    patterns.len() - 1
                });
                patterns[place].said(seen(e.mv, mover)).played += 1.0;
                at = Some(place);
            } else if let Some(place) = at {
                let said = patterns[place].said(seen(e.mv, mover));
                said.visits += e.visits as f64;
                said.total += e.visits as f64 * e.payoffs[e.chooser] as f64;
            }
        }
    }
    (patterns, states)
}

/// Patterns that are in random order already, in these proportions.
fn deal(n: usize, shares: [f64; 3]) -> Split {
    let all: f64 = shares.iter().map(|s| s.max(0.0)).sum();
    if n < FEW || all <= 0.0 {
        return Split::all(n);
    }
    let count = |share: f64| (share.max(0.0) / all * n as f64).round() as usize;
    let learned = count(shares[0]).clamp(1, n);
    let chosen = (learned + count(shares[1])).min(n);
    let range = |r: std::ops::Range<usize>| r.map(|i| i as u32).collect();
    Split { train: range(0..learned), validation: range(learned..chosen), test: range(chosen..n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selfplay::SelfPlay;
    use crate::systems::{Plan, uct_nn::Config};

    fn config(settings: &[&str]) -> Config {
        let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
        let plan = Plan::new("tictactoe", "uct-nn", "tick", 1, &settings).unwrap();
        crate::systems::read(&plan.options).unwrap()
    }

    fn matches(table: &dyn Seat, n: u32) -> Vec<Examples> {
        let agent = "uct(sims=60, expand=second)".parse().unwrap();
        let play = SelfPlay { table, agent: &agent, children: true, states: true };
        let part = |i| {
            let mut all = Examples::new(table.info());
            play.play(&*table.start(), i, i as u64, &mut all);
            all
        };
        (0..n).map(part).collect()
    }

    #[test]
    fn signed_inputs_are_one_for_each_point_and_change_with_the_mover() {
        let table = crate::open("gomoku:5x5x4").unwrap();
        let encoder = encoder(&*table, Input::Signed).unwrap();
        assert_eq!(encoder.inputs(), 25);
        let mut position = table.start();
        let m = position.legal()[7];
        position.play(m).unwrap();
        let mut code = Code::default();
        encoder.encode(&position.facts(), position.mover(), &mut code);
        assert_eq!(code.row().iter().collect::<Vec<_>>(), [(7, -1.0)], "the opponent's stone");
        assert!(super::encoder(&*crate::open("breakthrough").unwrap(), Input::Signed).is_err());
    }

    #[test]
    fn no_pattern_stands_twice_and_the_sets_share_none() {
        let table = crate::open("tictactoe").unwrap();
        let config = config(&["train.most=0"]);
        let parts = matches(&*table, 40);
        let encoder = encoder(&*table, Input::Facts).unwrap();
        let lessons = Lessons::new(&parts, table.info(), encoder, &config.train, 3).unwrap();
        let mut seen = HashSet::new();
        for i in 0..lessons.data.len() {
            assert!(seen.insert(lessons.data.row(i).iter().map(|(i, _)| i).collect::<Vec<_>>()));
        }
        assert!(lessons.data.len() < lessons.states);
        let s = &lessons.split;
        let all: HashSet<u32> = s.train.iter().chain(&s.validation).chain(&s.test).copied().collect();
        assert_eq!(all.len(), lessons.data.len());
        assert_eq!(s.train.len() + s.validation.len() + s.test.len(), all.len());
        assert!(!s.validation.is_empty() && !s.test.is_empty());
    }

    #[test]
    fn targets_are_between_a_tenth_and_nine_tenths_and_taken_points_count_in_no_error() {
        let table = crate::open("tictactoe").unwrap();
        for target in ["visits", "win_rate", "played"] {
            let config = config(&["train.most=0", &format!("train.target={target}")]);
            let encoder = encoder(&*table, Input::Signed).unwrap();
            let lessons = Lessons::new(&matches(&*table, 10), table.info(), encoder, &config.train, 3).unwrap();
            let data = &lessons.data;
            for i in 0..data.len() {
                let taken: Vec<usize> = data.row(i).iter().map(|(i, _)| i).collect();
                let free: Vec<usize> = (0..9).filter(|&o| data.known(i, o)).collect();
                assert!(!free.is_empty() && free.iter().all(|o| !taken.contains(o)));
                assert!(free.iter().all(|&o| (0.0999..=0.9001).contains(&data.targets(i)[o])));
                let top = free.iter().map(|&o| data.targets(i)[o]).fold(0.0, f32::max);
                assert!(target == "win_rate" || (top - 0.9).abs() < 1e-6, "the best move has the highest target");
            }
        }
    }

    #[test]
    fn patterns_are_dealt_out_in_proportion() {
        let split = deal(1000, [70.0, 15.0, 15.0]);
        assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [700, 150, 150]);
        let split = deal(300, [5815.0, 18260.0, 6000.0]);
        assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [58, 182, 60]);
        assert_eq!(deal(5, [1.0, 1.0, 1.0]), Split::all(5));
    }
}
