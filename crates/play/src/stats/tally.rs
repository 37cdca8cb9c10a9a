//! Counts of what happened: games, and pairs of games.
//!
//! A *pair* is one opening played twice with colours swapped. Its two games share the opening, so they are not
//! independent: the pair is the unit of every interval and test here, as in fishtest. A pair is worth 0, 1/2, 1, 3/2 or
//! 2 points to one side; counts of these five are the *pentanomial*. The pentanomial forgets who moved first and cannot
//! tell two draws from a win and a loss; [`Pairs`] keeps both, and every coarser count derives from it.
//!
//! All counts are seen from one side ("ours", player `a` of a pool); counting stops at the largest number rather than
//! wrapping round. Crashes and forfeits are the arena's to count: here they are losses.

use serde::{Deserialize, Serialize};

/// How one game ended for our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// 0 points.
    Loss,
    /// Half a point.
    Draw,
    /// 1 point.
    Win,
}

/// Results of single games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wdl {
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
}

impl Wdl {
    /// These counts.
    pub fn new(wins: u32, draws: u32, losses: u32) -> Self {
        Wdl { wins, draws, losses }
    }

    /// Counts one more game.
    pub fn record(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Win => &mut self.wins,
            Outcome::Draw => &mut self.draws,
            Outcome::Loss => &mut self.losses,
        };
        *count = count.saturating_add(1);
    }

    /// Number of games.
    pub fn games(&self) -> u64 {
        self.wins as u64 + self.draws as u64 + self.losses as u64
    }

    /// Share of the points won, a draw being half a point; 1/2 if there are no games.
    pub fn score(&self) -> f64 {
        let games = self.games();
        if games == 0 { 0.5 } else { (self.wins as f64 + 0.5 * self.draws as f64) / games as f64 }
    }

    /// These games and those.
    pub fn plus(&self, other: &Wdl) -> Wdl {
        let add = u32::saturating_add;
        Wdl::new(add(self.wins, other.wins), add(self.draws, other.draws), add(self.losses, other.losses))
    }

    /// The same games seen from the other side.
    pub fn flipped(&self) -> Wdl {
        Wdl { wins: self.losses, draws: self.draws, losses: self.wins }
    }
}

/// The two games of one opening, seen from our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The game in which we moved first.
    pub first: Outcome,
    /// The game in which we moved second.
    pub second: Outcome,
}

/// Pairs by the points they brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pentanomial {
    /// Number of pairs worth 0, 1/2, 1, 3/2 and 2 points.
    pub counts: [u32; 5],
}

impl Pentanomial {
    /// These counts, worst pair first.
    pub fn new(counts: [u32; 5]) -> Self {
        Pentanomial { counts }
    }

    /// Counts one more pair.
    pub fn record(&mut self, pair: Pair) {
        let count = &mut self.counts[pair.first as usize + pair.second as usize];
        *count = count.saturating_add(1);
    }

    /// Number of pairs, half the number of games.
    pub fn pairs(&self) -> u64 {
        self.counts.iter().map(|&c| c as u64).sum()
    }

    /// Share of the points won; 1/2 if there are no pairs.
    pub fn score(&self) -> f64 {
        let pairs = self.pairs();
        let quarters: u64 = self.counts.iter().zip(0..).map(|(&c, i)| c as u64 * i).sum();
        if pairs == 0 { 0.5 } else { quarters as f64 / (4 * pairs) as f64 }
    }

    /// Pairs in which we scored more, and pairs in which we scored less, than the other side.
    pub fn decided(&self) -> (u64, u64) {
        let [ll, ld, _, wd, ww] = self.counts.map(u64::from);
        (wd + ww, ll + ld)
    }

    /// These pairs and those.
    pub fn plus(&self, other: &Pentanomial) -> Pentanomial {
        let mut sum = *self;
        sum.counts.iter_mut().zip(other.counts).for_each(|(c, o)| *c = c.saturating_add(o));
        sum
    }
}

/// Pairs by the outcomes of both their games: the whole record of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pairs {
    /// `counts[x][y]` pairs in which the game where we moved first ended `x` and the other `y` (0 loss, 1 draw, 2 win).
    pub counts: [[u32; 3]; 3],
}

impl Pairs {
    /// Counts one more pair.
    pub fn record(&mut self, pair: Pair) {
        let count = &mut self.counts[pair.first as usize][pair.second as usize];
        *count = count.saturating_add(1);
    }

    /// The pairs by their points.
    pub fn pentanomial(&self) -> Pentanomial {
        let mut sum = Pentanomial::default();
        self.each(|x, y, c| sum.counts[x + y] = sum.counts[x + y].saturating_add(c));
        sum
    }

    /// The games in which we moved first.
    pub fn first(&self) -> Wdl {
        self.games(|x, _| x)
    }

    /// The games in which we moved second.
    pub fn second(&self) -> Wdl {
        self.games(|_, y| y)
    }

    /// One game of each pair, by its outcome.
    fn games(&self, outcome: fn(usize, usize) -> usize) -> Wdl {
        let mut counts = [0u32; 3];
        self.each(|x, y, c| counts[outcome(x, y)] = counts[outcome(x, y)].saturating_add(c));
        Wdl::new(counts[2], counts[1], counts[0])
    }

    /// All games.
    pub fn wdl(&self) -> Wdl {
        self.first().plus(&self.second())
    }

    /// Visits the nine outcomes and their counts.
    pub(super) fn each(&self, mut visit: impl FnMut(usize, usize, u32)) {
        for (x, row) in self.counts.iter().enumerate() {
            for (y, &c) in row.iter().enumerate() {
                visit(x, y, c);
            }
        }
    }
}
