//! From records to what nets learn from: equal states joined, labels, splits.

use crate::driver::{Context, Stream};
use crate::records::{Played, Record, Records};
use crate::store::{Parts, Result, RunError};
use indexmap::IndexMap;
use ludex_core::{Fact, GameInfo, MAX_PLAYERS, Payoffs, Player, Rng};
use ludex_learn::{Data, EncodedRow, Encoder, Split};
use ludex_play::arena::outcome;
use ludex_play::stats::Outcome;
use serde::{Deserialize, Serialize};

/// Examples as a net sees them, with the match each comes from.
pub struct Dataset {
    /// Inputs and targets.
    pub data: Data,
    /// The match of each example.
    pub matches: Vec<u64>,
}

/// What is kept together when examples are split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// Nothing.
    Example,
    /// All examples of a match.
    Match,
}

impl Dataset {
    /// No examples yet.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Dataset { data: Data::new(inputs, outputs), matches: Vec::new() }
    }

    /// Deals the examples out: these shares choose the net and test it, the rest is learned from.
    pub fn split(&self, by: SplitBy, selection: f64, test: f64, rng: &mut Rng) -> Split {
        match by {
            SplitBy::Example => Split::random(self.data.len(), selection, test, rng),
            SplitBy::Match => Split::by_group(&self.matches, selection, test, rng),
        }
    }

    /// How many first targets fall into each tenth of [-1, 1].
    pub fn histogram(&self) -> [usize; 10] {
        let mut bins = [0; 10];
        let bin = |i| ((self.data.targets(i)[0] + 1.0) * 5.0).clamp(0.0, 9.0) as usize;
        (0..self.data.len()).for_each(|i| bins[bin(i)] += 1);
        bins
    }

    /// An error if there is nothing to learn from.
    pub fn not_empty(&self, hint: &str) -> Result<()> {
        if self.data.is_empty() { Err(RunError::Learning(format!("nothing to learn from: {hint}"))) } else { Ok(()) }
    }
}

/// What becomes of states that have several labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// The label of the highest rank stays, of equals the first.
    HighestRank,
    /// Their mean by weight.
    Mean,
}

/// What a state is worth, on its way into a dataset.
pub struct ValueLabel {
    /// The state's facts.
    pub facts: Vec<Fact>,
    /// Who is to move there.
    pub mover: Player,
    /// What it is worth to each player.
    pub value: Payoffs,
    /// How much the label counts in a mean.
    pub weight: f64,
    /// Which label counts, if only one does.
    pub rank: u32,
    /// The match it comes from.
    pub match_id: u32,
}

/// Labels of states, joined where states are equal.
pub struct ValueLabels {
    duplicates: Duplicates,
    /// Labels by the keys of their states, with sums of weighted payoffs.
    unique: IndexMap<Box<[u8]>, (ValueLabel, [f64; MAX_PLAYERS])>,
}

impl ValueLabels {
    /// No labels yet.
    pub fn new(duplicates: Duplicates) -> Self {
        ValueLabels { duplicates, unique: IndexMap::new() }
    }

    /// Adds the label of the state of this key.
    pub fn add(&mut self, key: &[u8], label: ValueLabel) {
        let mut sums = [0.0; MAX_PLAYERS];
        sums.iter_mut().zip(label.value.as_slice()).for_each(|(s, &v)| *s = label.weight * v as f64);
        match (self.unique.get_mut(key), self.duplicates) {
            (None, _) => drop(self.unique.insert(key.into(), (label, sums))),
            (Some(old), Duplicates::HighestRank) if label.rank > old.0.rank => *old = (label, sums),
            (Some(_), Duplicates::HighestRank) => {}
            (Some((old, total)), Duplicates::Mean) => {
                total.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
                old.weight += label.weight;
            }
        }
    }

    /// How many different states there are.
    pub fn len(&self) -> usize {
        self.unique.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of each different state.
    pub fn iter(&self) -> impl Iterator<Item = &ValueLabel> {
        self.unique.values().map(|(label, _)| label)
    }

    /// The examples, at most so many of them (0: all), drawn at random: one value for whom the encoder speaks, or one a player
    /// where payoffs do not add up to zero.
    pub fn dataset(self, info: &GameInfo, encoder: &Encoder, most: usize, rng: &mut Rng) -> Result<Dataset> {
        let mut labels: Vec<_> = self.unique.into_values().collect();
        sample(&mut labels, most, rng);
        let (players, outputs) = (info.players(), if info.zero_sum { 1 } else { info.players() });
        let mut examples = Dataset::new(encoder.inputs(), outputs);
        let mut code = EncodedRow::default();
        for (label, sums) in &labels {
            encoder.encode(&label.facts, label.mover, &mut code);
            let values: Vec<f32> = sums[..players].iter().map(|v| (v / label.weight) as f32).collect();
            let viewer = encoder.viewer(label.mover).index();
            examples.data.push_row(code.row(), if outputs == 1 { &values[viewer..=viewer] } else { &values })?;
            examples.matches.push(label.match_id as u64);
        }
        Ok(examples)
    }
}

/// Keeps so many items, drawn uniformly, in their order; 0 keeps all.
pub fn sample<T>(items: &mut Vec<T>, most: usize, rng: &mut Rng) {
    if most == 0 || items.len() <= most {
        return;
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    rng.shuffle(&mut order);
    let mut keep = vec![false; items.len()];
    order[..most].iter().for_each(|&i| keep[i] = true);
    let mut keep = keep.into_iter();
    items.retain(|_| keep.next().unwrap_or(false));
}

/// The states of a stage as examples of win, draw and loss for the player for whom the encoder speaks, and how many there are
/// of each; at most so many states (0: all), drawn at random. With `mirror`, a net that speaks for player 0 sees each state with
/// the roles exchanged as well, where the game allows it.
pub fn wdl_examples(
    cx: &Context<'_>,
    parts: &Parts<'_, Records<Played>>,
    encoder: &Encoder,
    (mirror, most): (bool, usize),
) -> Result<(Dataset, [usize; 3])> {
    let mut states = 0;
    for_each_row(parts, |_, _| states += 1)?;
    let mut kept: Vec<usize> = (0..states).collect();
    sample(&mut kept, most, &mut cx.rng(Stream::Sample));
    let (mut kept, mut state) = (kept.into_iter().peekable(), 0);
    let (mut examples, mut results, mut code) = (Dataset::new(encoder.inputs(), 3), [0; 3], EncodedRow::default());
    let mirror = cx.info().mirror.as_ref().filter(|_| mirror && encoder.mirror().is_none());
    for_each_row(parts, |part, i| {
        state += 1;
        if kept.next_if_eq(&(state - 1)).is_none() {
            return;
        }
        let (row, facts) = (part.row(i), part.facts(i));
        let mut add = |facts: &[Fact], mover: Player, class: usize| {
            encoder.encode(facts, mover, &mut code);
            let mut target = [0.0; 3];
            target[class] = 1.0;
            examples.data.push_row(code.row(), &target).expect("rows fit the dataset");
            examples.matches.push(row.match_id as u64);
            results[class] += 1;
        };
        let class = match outcome(&row.result, encoder.viewer(row.mover)) {
            Outcome::Win => 0,
            Outcome::Draw => 1,
            Outcome::Loss => 2,
        };
        add(&facts, row.mover, class);
        if let Some(mirror) = mirror {
            let mut facts: Vec<Fact> = facts.iter().map(|f| mirror.facts[f.index()]).collect();
            facts.sort_unstable();
            add(&facts, row.mover.other(), 2 - class);
        }
    })?;
    Ok((examples, results))
}

/// Calls `see` for every row of a stage, with the table it stands in and its number there. One part is in memory at a time.
pub fn for_each_row<R: Record>(parts: &Parts<'_, Records<R>>, mut see: impl FnMut(&Records<R>, usize)) -> Result<()> {
    for part in parts.iter() {
        let part = part?;
        (0..part.len()).for_each(|i| see(&part, i));
    }
    Ok(())
}
