//! The peak and the spread of Davidson's likelihood, for `pool.rs`, which states the model.
//!
//! **Prior.** Each player has also won half a game and lost half a game against a phantom of strength 0; the first
//! mover likewise, and half a game between equals was drawn and half was not. Too weak to see in a real table, it keeps
//! strengths finite for players that won or lost everything, and the draw rate below 1 in pools of nothing but draws.
//!
//! **Peak.** The log-posterior is concave: Newton's method with halved steps.
//!
//! **Spread.** The sandwich H^-1 M H^-1 (White 1982): H is the curvature of the log-posterior, M the spread of the
//! gradients of single *pairs*, whose games may be correlated. Where nearly all pairs of an encounter ended alike there
//! is no spread to measure, so M is drawn towards what the model expects of independent games, with weight 5 / (5 +
//! pairs that ended otherwise than the commonest way).

use super::pool::{Pool, Record};
use super::tally::{Pairs, Wdl};
use std::iter::successors;

/// Pairs outside the commonest result at which measured and expected spread weigh the same.
const SPREAD_PRIOR: f64 = 5.0;

/// The likelihood of a pool: strengths first, then the advantage of moving first, then the tendency to draw.
pub(super) struct Model<'a> {
    pool: &'a Pool,
    /// Place of the advantage of moving first, if fitted.
    pub first: Option<usize>,
    /// Place of the tendency to draw, if there were draws.
    pub draw: Option<usize>,
    size: usize,
}

/// One kind of game: its two players, and who moved first (+1 `a`, -1 `b`, 0 unknown or of no interest).
#[derive(Clone, Copy)]
struct Kind {
    a: usize,
    b: usize,
    first: f64,
}

/// Probabilities of a loss, a draw and a win for `a`, and the logarithm of the sum of their odds.
struct Odds {
    p: [f64; 3],
    u: f64,
    log_sum: f64,
}

impl<'a> Model<'a> {
    /// The model of this pool, whose encounters must name its players only.
    pub fn of(pool: &'a Pool) -> Self {
        let first = pool.first_advantage.then_some(pool.players);
        let mut size = pool.players + first.is_some() as usize;
        let draw = pool.scores().any(|s| s.2.draws > 0).then_some(size);
        size += draw.is_some() as usize;
        Model { pool, first, draw, size }
    }

    /// The parameters on which a kind of game depends through u, with their weights.
    fn weights(&self, kind: Kind) -> [(usize, f64); 3] {
        [(kind.a, 0.5), (kind.b, -0.5), self.first.map_or((kind.a, 0.0), |g| (g, 0.5 * kind.first))]
    }

    fn odds(&self, x: &[f64], kind: Kind) -> Odds {
        let u: f64 = self.weights(kind).iter().map(|&(i, w)| w * x[i]).sum();
        let log = [-u, self.draw.map_or(f64::NEG_INFINITY, |d| x[d]), u];
        let top = log[0].max(log[1]).max(log[2]);
        let odds = log.map(|l| (l - top).exp());
        let sum: f64 = odds.iter().sum();
        Odds { p: odds.map(|o| o / sum), u, log_sum: top + sum.ln() }
    }

    /// Visits every kind of game with its results: losses, draws, wins of `a`.
    fn games(&self, mut visit: impl FnMut(Kind, [f64; 3])) {
        let counts = |wdl: Wdl| [wdl.losses, wdl.draws, wdl.wins].map(f64::from);
        for e in &self.pool.encounters {
            let kind = Kind { a: e.a, b: e.b, first: 0.0 };
            match &e.record {
                Record::Pairs(pairs) => {
                    visit(Kind { first: 1.0, ..kind }, counts(pairs.first()));
                    visit(Kind { first: -1.0, ..kind }, counts(pairs.second()));
                }
                Record::Games(games) => visit(kind, counts(*games)),
            }
        }
    }

    /// Log-posterior of these parameters.
    fn value(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.games(|kind, n| {
            let odds = self.odds(x, kind);
            let draws = self.draw.map_or(0.0, |d| n[1] * x[d]);
            sum += (n[2] - n[0]) * odds.u + draws - (n[0] + n[1] + n[2]) * odds.log_sum;
        });
        // Half a win and half a loss at a difference of x: ln of the geometric mean, -ln(2 cosh(x/2)).
        let level = self.draw.unwrap_or(self.size);
        let prior = |x: f64| -(0.5 * x.abs() + (-x.abs()).exp().ln_1p());
        sum += x[..level].iter().map(|&x| prior(x)).sum::<f64>();
        sum + self.draw.map_or(0.0, |d| 0.5 * x[d] - (2.0 + x[d].exp()).ln())
    }

    /// Adds the gradient of one game that brought `a` these counts, all relative to what was expected.
    fn add_gradient(&self, gradient: &mut [f64], kind: Kind, odds: &Odds, n: [f64; 3]) {
        let games = n[0] + n[1] + n[2];
        let surplus = n[2] - n[0] - games * (odds.p[2] - odds.p[0]);
        self.weights(kind).iter().for_each(|&(i, w)| gradient[i] += w * surplus);
        if let Some(d) = self.draw {
            gradient[d] += n[1] - games * odds.p[1];
        }
    }

    /// Adds the curvature (negative second derivative) of `games` games of a kind.
    fn add_curvature(&self, curvature: &mut Matrix, kind: Kind, odds: &Odds, games: f64) {
        let lead = odds.p[2] - odds.p[0];
        let spread = odds.p[2] + odds.p[0] - lead * lead;
        let weights = self.weights(kind);
        for &(i, v) in &weights {
            for &(j, w) in &weights {
                curvature.add(i, j, games * v * w * spread);
            }
            if let Some(d) = self.draw {
                let cross = -games * v * odds.p[1] * lead;
                curvature.add(i, d, cross);
                curvature.add(d, i, cross);
            }
        }
        if let Some(d) = self.draw {
            curvature.add(d, d, games * odds.p[1] * (1.0 - odds.p[1]));
        }
    }

    /// Adds gradient and curvature of the prior.
    fn add_prior(&self, x: &[f64], gradient: &mut [f64], curvature: &mut Matrix) {
        for i in 0..self.draw.unwrap_or(self.size) {
            let half = (0.5 * x[i]).tanh();
            gradient[i] -= 0.5 * half;
            curvature.add(i, i, 0.25 * (1.0 - half * half));
        }
        if let Some(d) = self.draw {
            let p = 1.0 / (1.0 + 2.0 * (-x[d]).exp());
            gradient[d] += 0.5 - p;
            curvature.add(d, d, p * (1.0 - p));
        }
    }

    fn slopes(&self, x: &[f64]) -> (Vec<f64>, Matrix) {
        let (mut gradient, mut curvature) = (vec![0.0; self.size], Matrix::zero(self.size));
        self.add_prior(x, &mut gradient, &mut curvature);
        self.games(|kind, n| {
            let odds = self.odds(x, kind);
            self.add_gradient(&mut gradient, kind, &odds, n);
            self.add_curvature(&mut curvature, kind, &odds, n[0] + n[1] + n[2]);
        });
        (gradient, curvature)
    }

    /// The parameters of the highest posterior, by Newton's method with halved steps: the posterior is concave.
    pub fn peak(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.size];
        let mut value = self.value(&x);
        for _ in 0..200 {
            let (gradient, curvature) = self.slopes(&x);
            let step = curvature.inverse().times(&gradient);
            let length = step.iter().fold(0.0f64, |l, s| l.max(s.abs()));
            let shares = successors(Some((2.0 / length).min(1.0)), |s| Some(0.5 * s).filter(|s| *s >= 1e-6));
            let steps = shares.map(|share| x.iter().zip(&step).map(|(x, s)| x + share * s).collect::<Vec<f64>>());
            // No step up is left: the peak, to the last digits.
            let Some(next) = steps.map(|x| (self.value(&x), x)).find(|(there, _)| *there >= value) else { break };
            (value, x) = next;
            if length < 1e-10 {
                break;
            }
        }
        x
    }

    /// The sandwich covariance of the parameters.
    pub fn covariance(&self, x: &[f64]) -> Matrix {
        let (_, curvature) = self.slopes(x);
        let mut spread = Matrix::zero(self.size);
        self.add_prior(x, &mut vec![0.0; self.size], &mut spread);
        for e in &self.pool.encounters {
            let kind = Kind { a: e.a, b: e.b, first: 0.0 };
            match &e.record {
                Record::Games(games) => {
                    self.add_curvature(&mut spread, kind, &self.odds(x, kind), games.games() as f64);
                }
                Record::Pairs(pairs) => self.add_pair_spread(&mut spread, x, kind, pairs),
            }
        }
        let bread = curvature.inverse();
        bread.product(&spread).product(&bread)
    }

    /// Adds the spread of the gradients of an encounter's pairs, drawn towards that of independent games.
    fn add_pair_spread(&self, spread: &mut Matrix, x: &[f64], kind: Kind, pairs: &Pairs) {
        let n = pairs.pentanomial().pairs() as f64;
        let kinds = [Kind { first: 1.0, ..kind }, Kind { first: -1.0, ..kind }];
        let odds = kinds.map(|kind| self.odds(x, kind));
        let commonest = pairs.counts.iter().flatten().max().map_or(0.0, |&c| c as f64);
        let other = n - commonest;
        let measured = if n > 1.0 { other / (other + SPREAD_PRIOR) } else { 0.0 };
        for (kind, odds) in kinds.iter().zip(&odds) {
            self.add_curvature(spread, *kind, odds, n * (1.0 - measured));
        }
        if measured == 0.0 {
            return;
        }
        pairs.each(|first, second, count| {
            if count > 0 {
                let mut gradient = vec![0.0; self.size];
                for ((kind, odds), outcome) in kinds.iter().zip(&odds).zip([first, second]) {
                    let mut one = [0.0; 3];
                    one[outcome] = 1.0;
                    self.add_gradient(&mut gradient, *kind, odds, one);
                }
                spread.add_square(&gradient, measured * count as f64 * n / (n - 1.0));
            }
        });
    }
}

/// A small square matrix.
pub(super) struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    fn zero(size: usize) -> Self {
        Matrix { size, cells: vec![0.0; size * size] }
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.cells[i * self.size + j]
    }

    fn add(&mut self, i: usize, j: usize, value: f64) {
        self.cells[i * self.size + j] += value;
    }

    /// Adds weight * v v'.
    fn add_square(&mut self, v: &[f64], weight: f64) {
        for i in 0..self.size {
            for j in 0..self.size {
                self.add(i, j, weight * v[i] * v[j]);
            }
        }
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        (0..self.size).map(|i| (0..self.size).map(|j| self.at(i, j) * v[j]).sum()).collect()
    }

    /// v' M w.
    pub fn form(&self, v: &[f64], w: &[f64]) -> f64 {
        self.times(w).iter().zip(v).map(|(a, b)| a * b).sum()
    }

    fn product(&self, other: &Matrix) -> Matrix {
        let mut result = Matrix::zero(self.size);
        for i in 0..self.size {
            for k in 0..self.size {
                let cell = self.at(i, k);
                (0..self.size).for_each(|j| result.add(i, j, cell * other.at(k, j)));
            }
        }
        result
    }

    /// The inverse of a positive definite matrix, by Gauss-Jordan elimination, which needs no pivoting there. The prior
    /// keeps every pivot positive; should rounding make one vanish, a tiny one stands in.
    fn inverse(&self) -> Matrix {
        let n = self.size;
        let mut left = self.cells.clone();
        let mut right = Matrix::zero(n);
        (0..n).for_each(|i| right.add(i, i, 1.0));
        for k in 0..n {
            let pivot = left[k * n + k].max(1e-300);
            for j in 0..n {
                left[k * n + j] /= pivot;
                right.cells[k * n + j] /= pivot;
            }
            for i in (0..n).filter(|&i| i != k) {
                let factor = left[i * n + k];
                for j in 0..n {
                    left[i * n + j] -= factor * left[k * n + j];
                    right.cells[i * n + j] -= factor * right.cells[k * n + j];
                }
            }
        }
        right
    }
}
