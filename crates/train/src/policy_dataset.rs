//! From searched states to patterns that a policy net learns: the state as its mover sees it, and for each move that the search
//! tried a target in [0.1, 0.9] that says how much the search liked it. Moves that were not tried count in no error.
//!
//! Equal states are joined before patterns are dealt out, so that no state stands in two sets.

use crate::dataset::for_each_row;
use crate::records::{Records, RootMove};
use crate::store::{Parts, Result};
use indexmap::IndexMap;
use ludex_core::{GameInfo, Move, Player, Rng};
use ludex_learn::*;
use serde::{Deserialize, Serialize};

/// What a policy net learns of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyTarget {
    /// Its visits, as a share of the most visited move's.
    Visits,
    /// What it was worth to the player who chose, from 0 to 1.
    WinRate,
    /// Whether it was played.
    Played,
}

/// Patterns in three sets.
pub struct PolicyDataset {
    /// Inputs and targets; targets of moves that were not tried are masked.
    pub data: Data,
    /// What is learned from, chosen by and never looked at.
    pub split: Split,
    /// States searched, before equal ones were joined.
    pub states: usize,
}

/// What searches say about one move of a state.
#[derive(Clone, Copy)]
struct MoveStats {
    visits: f64,
    /// What it was worth to the chooser, by visits.
    total: f64,
    played: f64,
}

/// One state, with the moves as the mover sees them.
struct Pattern {
    inputs: Vec<u32>,
    values: Vec<f32>,
    moves: Vec<(u32, MoveStats)>,
}

impl Pattern {
    /// How much each move is liked, from 0 to 1.
    fn liked(&self, target: PolicyTarget) -> Vec<(u32, f64)> {
        let most = |f: fn(&MoveStats) -> f64| self.moves.iter().map(|(_, s)| f(s)).fold(f64::MIN_POSITIVE, f64::max);
        let liked = |s: &MoveStats| match target {
            PolicyTarget::Visits => s.visits / most(|s| s.visits),
            PolicyTarget::WinRate => (s.total / s.visits.max(1.0) + 1.0) / 2.0,
            PolicyTarget::Played => s.played / most(|s| s.played),
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

impl PolicyDataset {
    /// Joins equal states, makes targets, and deals the patterns out in these proportions; at most so many of them (0: all).
    pub fn new(
        parts: &Parts<'_, Records<RootMove>>,
        info: &GameInfo,
        encoder: &Encoder,
        (target, shares, most): (PolicyTarget, [f64; 3], usize),
        rng: &mut Rng,
    ) -> Result<Self> {
        let (mut patterns, states) = patterns(parts, encoder)?;
        let outputs = info.moves as usize;
        let affordable = (TARGETS / outputs.max(1)).max(FEW);
        rng.shuffle(&mut patterns);
        patterns.truncate(if most == 0 { affordable } else { affordable.min(most) });
        let mut data = Data::new(encoder.inputs(), outputs);
        let (mut targets, mut known) = (vec![0.0; outputs], vec![false; outputs]);
        for p in &patterns {
            targets.fill(0.0);
            known.fill(false);
            for (m, liked) in p.liked(target) {
                targets[m as usize] = (RANGE.0 + (RANGE.1 - RANGE.0) * liked) as f32;
                known[m as usize] = true;
            }
            let row = if p.values.is_empty() { Row::ones(&p.inputs) } else { Row::new(&p.inputs, &p.values) };
            data.push_masked(row, &targets, &known)?;
        }
        Ok(PolicyDataset { split: deal(data.len(), shares), data, states })
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
fn patterns(parts: &Parts<'_, Records<RootMove>>, encoder: &Encoder) -> Result<(Vec<Pattern>, usize)> {
    let mut unique: IndexMap<Vec<u8>, Pattern> = IndexMap::new();
    let (mut code, mut states) = (EncodedRow::default(), 0);
    let seen = |m: Move, mover: Player| match encoder.mirror() {
        Some(mirror) if mover == Player(1) => mirror.moves[m.index()].0,
        _ => m.0,
    };
    let (mut state, mut key) = (None, Vec::new());
    for_each_row(parts, |part, i| {
        let row = part.row(i);
        if state != Some((row.match_id, row.ply)) {
            // The rows of a state stand together.
            state = Some((row.match_id, row.ply));
            states += 1;
            encoder.encode(&part.facts(i), row.mover, &mut code);
            key = code.row().iter().flat_map(|(i, v)| [(i as u32).to_le_bytes(), v.to_le_bytes()].concat()).collect();
        }
        let m = seen(row.mv, row.mover);
        let said = MoveStats {
            visits: row.visits as f64,
            total: row.visits as f64 * row.value[row.mover] as f64,
            played: row.played as u32 as f64,
        };
        let pattern = unique.entry(key.clone()).or_insert_with(|| {
            let (inputs, values): (Vec<u32>, Vec<f32>) = code.row().iter().map(|(i, v)| (i as u32, v)).unzip();
            let values = if values.iter().all(|&v| v == 1.0) { Vec::new() } else { values };
            Pattern { inputs, values, moves: Vec::new() }
        });
        match pattern.moves.iter_mut().find(|(n, _)| *n == m) {
            Some((_, stats)) => {
                stats.visits += said.visits;
                stats.total += said.total;
                stats.played += said.played;
            }
            None => pattern.moves.push((m, said)),
        }
    })?;
    Ok((unique.into_values().collect(), states))
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
