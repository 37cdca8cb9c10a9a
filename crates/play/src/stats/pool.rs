//! Ratings of more than two players: Bradley-Terry with draws.
//!
//! Davidson's model (1970). With strengths x_a, x_b (natural logarithms), an advantage g of moving first and a tendency
//! d to draw, a game of `a`, moving first, against `b` ends in a win, draw or loss for `a` with odds
//!
//! > e^u : e^d : e^(-u),   u = (x_a - x_b + g) / 2.
//!
//! Chosen over Rao & Kupper (1967) because it makes a draw exactly half a win and half a loss: at the maximum
//! likelihood every player's expected points equal its points, so the model never argues with the score table; and it
//! is an exponential family, so the likelihood has one peak, which Newton's method finds. Without any draw it is plain
//! Bradley-Terry.
//!
//! A weak prior (see `davidson.rs`) keeps clean sheets finite.
//!
//! **Scale.** Elo points are x * 400/ln 10 * 2/(2 + e^d), the anchor being 0. The last factor makes the slope of the
//! expected score at equality that of logistic Elo, as BayesElo does; without it draws stretch ratings, twofold where
//! half the games are drawn. Differences then agree with `match_elo` closely, except for large differences in very
//! drawish games.
//!
//! **Intervals** are normal, in the scale of x, and allow for correlation within pairs; `davidson.rs` says how.
//!
//! One number per player cannot show that A beats B beats C beats A; [`Pool::cycles`] does. Ratings of players that no
//! chain of games connects cannot be compared: see [`Ratings::groups`].

use serde::Serialize;

use super::davidson::Model;
use super::interval::{Estimate, games_as_units, is_level, normal_quantile, score_interval};
use super::tally::{Pairs, Pentanomial, Wdl};

/// Elo points of one unit of natural log-strength.
const ELO: f64 = 400.0 / std::f64::consts::LN_10;

/// What happened between two players, seen from the first named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Colour-swapped pairs.
    Pairs(Pairs),
    /// Single games that share nothing, each side moving first about as often as the other.
    Games(Wdl),
}

/// The games of two players of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encounter {
    /// The player from whose side the record is seen.
    pub a: usize,
    /// The other player.
    pub b: usize,
    /// What happened.
    pub record: Record,
}

/// Players, numbered from 0, and the games between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Number of players.
    pub players: usize,
    /// The player whose rating is 0 by definition.
    pub anchor: usize,
    /// Whether to fit an advantage of moving first; single games say nothing about it.
    pub first_advantage: bool,
    /// All games, in any order; two players may meet in several encounters.
    pub encounters: Vec<Encounter>,
}

/// Why a pool cannot be rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The anchor or an encounter names a player that the pool does not have.
    #[error("the pool has no player number {0}")]
    NoSuchPlayer(usize),
    /// An encounter of a player with itself.
    #[error("player number {0} is paired with itself")]
    AgainstItself(usize),
    /// More players than [`Pool::MOST_PLAYERS`].
    #[error("{0} players are more than {most}", most = Pool::MOST_PLAYERS)]
    TooMany(usize),
}

/// The ratings of a pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratings {
    /// Confidence level of the intervals.
    pub level: f64,
    /// Lead over the anchor in Elo points, per player.
    pub players: Vec<Estimate>,
    /// What moving first is worth in Elo points, if it was fitted.
    pub first_advantage: Option<Estimate>,
    /// Share of draws expected between equal players.
    pub draw_rate: f64,
    /// The group of each player: chains of games connect players of the same group only. Across groups, differences are
    /// the prior's invention.
    pub groups: Vec<usize>,
    /// Whether all players are in one group.
    pub connected: bool,
    /// Whether some players never dropped half a point to some others, directly or through others: how far the former
    /// are ahead is then known from below only, and the value is the prior's choice.
    pub one_sided: bool,
    /// Covariance of the ratings, in Elo points squared, for intervals of leads: those of two single ratings may overlap
    /// although the difference is clear, since both share the anchor's uncertainty.
    pub covariance: Vec<Vec<f64>>,
}

impl Pool {
    /// The largest pool: the work grows with the cube of the players.
    pub const MOST_PLAYERS: usize = 1000;

    /// Rates every player, with intervals at this level (0.95 if it is not a level at all).
    pub fn rate(&self, level: f64) -> Result<Ratings, PoolError> {
        self.check()?;
        let level = if is_level(level) { level } else { 0.95 };
        let model = Model::of(self);
        let x = model.peak();
        let covariance = model.covariance(&x);

        let nu = model.draw.map_or(0.0, |d| x[d].exp());
        let scale = ELO * 2.0 / (2.0 + nu);
        let lead = |p: usize| scale * (x[p] - x[self.anchor]);
        // Rows of the derivative of each rating by the parameters, the draw parameter moving the scale.
        let row = |p: usize| {
            let mut row = vec![0.0; x.len()];
            row[p] += scale;
            row[self.anchor] -= scale;
            if let Some(d) = model.draw {
                row[d] = -lead(p) * nu / (2.0 + nu);
            }
            row
        };
        let rows: Vec<Vec<f64>> = (0..self.players).map(row).collect();
        let elo_covariance: Vec<Vec<f64>> =
            rows.iter().map(|r| rows.iter().map(|s| covariance.form(r, s)).collect()).collect();
        let groups = self.groups();
        Ok(Ratings {
            level,
            players: (0..self.players).map(|p| around(lead(p), elo_covariance[p][p], level)).collect(),
            first_advantage: model.first.map(|g| around(scale * x[g], scale * scale * covariance.at(g, g), level)),
            draw_rate: nu / (2.0 + nu),
            connected: groups.iter().all(|&g| g == 0),
            groups,
            one_sided: self.one_sided(),
            covariance: elo_covariance,
        })
    }

    /// Cycles A beats B beats C beats A in which each score is significantly above 1/2, each cycle once, led by its
    /// lowest number. The level is that of the whole list: Bonferroni's correction over all pairings is applied, so
    /// that a transitive pool shows any cycle with probability at most 1 - level.
    pub fn cycles(&self, level: f64) -> Result<Vec<[usize; 3]>, PoolError> {
        self.check()?;
        let level = if is_level(level) { level } else { 0.95 };
        let n = self.players;
        let mut units = vec![Pentanomial::default(); n * n];
        for e in &self.encounters {
            let mut seen = match &e.record {
                Record::Pairs(pairs) => pairs.pentanomial(),
                Record::Games(games) => games_as_units(games),
            };
            units[e.a * n + e.b] = units[e.a * n + e.b].plus(&seen);
            seen.counts.reverse();
            units[e.b * n + e.a] = units[e.b * n + e.a].plus(&seen);
        }
        let pairings = units.iter().filter(|u| u.pairs() > 0).count() / 2;
        let each = 1.0 - (1.0 - level) / pairings.max(1) as f64;
        let beats: Vec<bool> = units.iter().map(|u| u.pairs() > 0 && score_interval(u, each).low > 0.5).collect();
        let beats = |a: usize, b: usize| beats[a * n + b];
        let mut cycles = Vec::new();
        for a in 0..n {
            for b in (a + 1..n).filter(|&b| beats(a, b)) {
                cycles.extend((a + 1..n).filter(|&c| beats(b, c) && beats(c, a)).map(|c| [a, b, c]));
            }
        }
        Ok(cycles)
    }

    fn check(&self) -> Result<(), PoolError> {
        if self.players > Self::MOST_PLAYERS {
            return Err(PoolError::TooMany(self.players));
        }
        let named = self.encounters.iter().flat_map(|e| [e.a, e.b]).chain([self.anchor]);
        if let Some(player) = named.into_iter().find(|&p| p >= self.players) {
            return Err(PoolError::NoSuchPlayer(player));
        }
        match self.encounters.iter().find(|e| e.a == e.b) {
            Some(e) => Err(PoolError::AgainstItself(e.a)),
            None => Ok(()),
        }
    }

    /// All games of each encounter.
    pub(super) fn scores(&self) -> impl Iterator<Item = (usize, usize, Wdl)> {
        self.encounters.iter().map(|e| match &e.record {
            Record::Pairs(pairs) => (e.a, e.b, pairs.wdl()),
            Record::Games(games) => (e.a, e.b, *games),
        })
    }

    /// Numbers the connected groups in the order of their lowest players.
    fn groups(&self) -> Vec<usize> {
        let n = self.players;
        let linked = self.closure(self.scores().filter(|s| s.2.games() > 0).flat_map(|(a, b, _)| [(a, b), (b, a)]));
        let mut groups = vec![usize::MAX; n];
        let mut next = 0;
        for p in 0..n {
            if groups[p] == usize::MAX {
                (p..n).filter(|&q| q == p || linked[p * n + q]).for_each(|q| groups[q] = next);
                next += 1;
            }
        }
        groups
    }

    /// Ford's condition (1957) violated within a group: some player is reached from no other by a chain of points
    /// taken.
    fn one_sided(&self) -> bool {
        let n = self.players;
        let took = self.closure(self.scores().flat_map(|(a, b, wdl)| {
            let ours = (wdl.wins > 0 || wdl.draws > 0).then_some((a, b));
            let theirs = (wdl.losses > 0 || wdl.draws > 0).then_some((b, a));
            ours.into_iter().chain(theirs)
        }));
        let groups = self.groups();
        (0..n).any(|a| (0..n).any(|b| a != b && groups[a] == groups[b] && !took[a * n + b]))
    }

    /// Who is reached from whom through these links.
    fn closure(&self, links: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
        let n = self.players;
        let mut reached = vec![false; n * n];
        links.for_each(|(a, b)| reached[a * n + b] = true);
        for via in 0..n {
            for a in (0..n).filter(|&a| a != via) {
                if reached[a * n + via] {
                    (0..n).for_each(|b| reached[a * n + b] |= reached[via * n + b]);
                }
            }
        }
        reached
    }
}

/// Value and normal interval.
fn around(value: f64, variance: f64, level: f64) -> Estimate {
    let half = normal_quantile(0.5 + 0.5 * level) * variance.max(0.0).sqrt();
    Estimate { value, low: value - half, high: value + half }
}
