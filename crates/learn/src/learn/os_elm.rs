//! The online sequential extreme learning machine (Liang et al. 2006), as the NHB player uses it.
//!
//! A hidden logistic layer with fixed random weights gives the row h of an example; only the linear output weights W
//! are learned. With H and T the rows and targets of a chunk of examples:
//!   P0 = (H0'H0 + ridge·I)^-1,   W0 = P0·H0'·T0                                              (first chunk)
//!   P  <- (P^-1 + H'H)^-1,       W  <- W + P·H'·(T - H·W)                                    (each further chunk)
//!
//! Instead of P this module keeps the normal equations A = ridge·I + Σ H'H and B = Σ H'T, and solves A·W = B by
//! Cholesky after each chunk. In exact arithmetic this equals the recursion (tests run both), but rounding errors do
//! not build up, and any chunking of the same examples gives the same W to rounding. With M hidden units a chunk costs
//! rows·M² and a solve M³/6: far below a millisecond for the paper's M of about 100. `keep` < 1 forgets old chunks
//! exponentially: both sums are multiplied by it before each chunk.
//!
//! [`choose_hidden_size`] finds the hidden size by cross-validation as in the paper. The hidden layer itself is never
//! trained.

use super::cholesky::Symmetric;
use crate::simd::{axpy, dot64};
use crate::{Activation, Data, Error, Layer, Link, Mlp, Net, Row, SplitErrors};
use ludex_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The settings of an [`OsElm`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OsElmConfig {
    /// The number of hidden units.
    pub hidden: usize,
    /// Input weights and biases are uniform in ± this.
    pub bound: f64,
    /// The ridge penalty.
    pub ridge: f64,
    /// The factor by which earlier chunks count less with each new one; 1 forgets nothing.
    pub keep: f64,
}

impl Default for OsElmConfig {
    fn default() -> Self {
        OsElmConfig { hidden: 100, bound: 1.0, ridge: 1e-4, keep: 1.0 }
    }
}

/// An online sequential extreme learning machine.
#[derive(Clone, PartialEq, Debug)]
pub struct OsElm {
    config: OsElmConfig,
    inputs: usize,
    hidden: HiddenLayer,
    sums: NormalEquations,
    weights: Vec<Vec<f64>>, // by output
}

/// The fixed random hidden layer: weights by input, and biases.
#[derive(Clone, PartialEq, Debug)]
struct HiddenLayer {
    weights: Vec<f64>,
    bias: Vec<f64>,
}

/// The sums Σ H'H and, by output, Σ H'T.
#[derive(Clone, PartialEq, Debug)]
struct NormalEquations {
    gram: Symmetric,
    right: Vec<Vec<f64>>,
}

impl OsElm {
    /// Draws the hidden layer from the seed; all output weights are 0.
    pub fn new(config: OsElmConfig, inputs: usize, outputs: usize, seed: u64) -> Result<Self, Error> {
        let bounds = config.bound > 0.0 && config.bound.is_finite() && config.ridge >= 0.0;
        if !bounds || config.keep <= 0.0 || config.keep > 1.0 || config.hidden == 0 || outputs == 0 {
            return Err(Error::Config(format!("a setting out of range: {config:?}, {outputs} outputs")));
        }
        let hidden = HiddenLayer::new(config.hidden, config.bound, inputs, &mut Rng::new(seed));
        let sums = NormalEquations::zero(config.hidden, outputs);
        Ok(OsElm { config, inputs, hidden, sums, weights: vec![vec![0.0; config.hidden]; outputs] })
    }

    /// Learns from one more chunk of examples, of any size.
    pub fn learn(&mut self, data: &Data, rows: &[u32]) -> Result<(), Error> {
        if (data.inputs(), data.outputs()) != (self.inputs, self.weights.len()) || data.masked() {
            return Err(Error::Shape("the examples do not fit the net, or have unknown targets".into()));
        }
        let mut sums = self.sums.clone();
        if self.config.keep < 1.0 {
            sums.scale(self.config.keep);
        }
        sums.add(&self.hidden, data, rows);
        let weights = sums.solve(self.config.ridge);
        self.weights = weights.ok_or_else(|| Error::Config("too few examples for no ridge at all".into()))?;
        self.sums = sums;
        Ok(())
    }

    /// The outputs for one row.
    pub fn predict(&self, row: Row) -> Vec<f64> {
        let mut h = vec![0.0; self.config.hidden];
        self.hidden.activate(row, &mut h);
        self.weights.iter().map(|w| dot64(w, &h)).collect()
    }

    /// The weights of each output, by hidden unit.
    pub fn weights(&self) -> &[Vec<f64>] {
        &self.weights
    }

    /// The activations of the hidden layer for one row.
    pub fn activations(&self, row: Row) -> Vec<f64> {
        let mut h = vec![0.0; self.config.hidden];
        self.hidden.activate(row, &mut h);
        h
    }

    /// The mean squared error.
    pub fn mse(&self, data: &Data, rows: &[u32]) -> f64 {
        let squared_error = |&i: &u32| {
            let out = self.predict(data.row(i as usize));
            out.iter().zip(data.targets(i as usize)).map(|(y, &t)| (y - t as f64).powi(2)).sum::<f64>()
        };
        rows.iter().map(squared_error).sum::<f64>() / (rows.len() * self.weights.len()).max(1) as f64
    }

    /// The net as learned so far.
    pub fn net(&self) -> Net {
        let (hidden, outputs) = (self.config.hidden, self.weights.len());
        let floats = |v: &[f64]| v.iter().map(|&w| w as f32).collect::<Vec<f32>>();
        let out = (0..hidden).flat_map(|i| self.weights.iter().map(move |w| w[i] as f32)).collect();
        Net::Mlp(Mlp {
            layers: vec![
                Layer {
                    inputs: self.inputs,
                    outputs: hidden,
                    weights: floats(&self.hidden.weights),
                    bias: floats(&self.hidden.bias),
                },
                Layer { inputs: hidden, outputs, weights: out, bias: vec![0.0; outputs] },
            ],
            hidden: Activation::Logistic,
            link: Link::Each(Activation::Identity),
        })
    }
}

impl HiddenLayer {
    fn new(units: usize, bound: f64, inputs: usize, rng: &mut Rng) -> Self {
        let mut draw = |n: usize| (0..n).map(|_| bound * (2.0 * rng.unit() - 1.0)).collect();
        HiddenLayer { weights: draw(inputs * units), bias: draw(units) }
    }

    fn activate(&self, row: Row, h: &mut [f64]) {
        h.copy_from_slice(&self.bias);
        for (i, x) in row.iter() {
            axpy(x as f64, &self.weights[i * h.len()..][..h.len()], h);
        }
        h.iter_mut().for_each(|z| *z = Activation::Logistic.apply_f64(*z));
    }
}

impl NormalEquations {
    fn zero(hidden: usize, outputs: usize) -> Self {
        NormalEquations { gram: Symmetric::zero(hidden), right: vec![vec![0.0; hidden]; outputs] }
    }

    fn scale(&mut self, factor: f64) {
        (0..self.gram.len()).for_each(|i| self.gram.row_mut(i).iter_mut().for_each(|v| *v *= factor));
        self.right.iter_mut().flatten().for_each(|v| *v *= factor);
    }

    /// Adds examples, four at a time so that each cell is loaded and stored once for all four.
    fn add(&mut self, hidden: &HiddenLayer, data: &Data, rows: &[u32]) {
        let m = self.gram.len();
        let mut h = vec![vec![0.0; m]; 4];
        for rows in rows.chunks(4) {
            h.iter_mut().for_each(|h| h.fill(0.0));
            for (h, &i) in h.iter_mut().zip(rows) {
                hidden.activate(data.row(i as usize), h);
                for (r, &t) in self.right.iter_mut().zip(data.targets(i as usize)) {
                    axpy(t as f64, h, r);
                }
            }
            for i in 0..m {
                let (a, b, c, d) = (h[0][i], h[1][i], h[2][i], h[3][i]);
                let columns = h[0].iter().zip(&h[1]).zip(&h[2]).zip(&h[3]);
                for (cell, (((w, x), y), z)) in self.gram.row_mut(i)[..=i].iter_mut().zip(columns) {
                    *cell += (a * w + b * x) + (c * y + d * z);
                }
            }
        }
    }

    /// These sums plus `factor` times the others.
    fn plus(&self, factor: f64, other: &NormalEquations) -> NormalEquations {
        let mut both = self.clone();
        for i in 0..both.gram.len() {
            axpy(factor, other.gram.row(i), both.gram.row_mut(i));
        }
        both.right.iter_mut().zip(&other.right).for_each(|(a, b)| axpy(factor, b, a));
        both
    }

    fn solve(&self, ridge: f64) -> Option<Vec<Vec<f64>>> {
        let mut gram = self.gram.clone();
        (0..gram.len()).for_each(|i| *gram.cell(i, i) += ridge);
        let factor = gram.cholesky()?;
        Some(self.right.iter().map(|r| factor.solve(r)).collect())
    }

    /// The squared error Σ (h·w - t)² over the examples of these sums, whose Σt² is `tt`.
    fn squared_error(&self, weights: &[Vec<f64>], tt: f64) -> f64 {
        let mut total = tt;
        for (w, r) in weights.iter().zip(&self.right) {
            for i in 0..w.len() {
                let row = self.gram.row(i);
                let off: f64 = dot64(&row[..i], &w[..i]);
                total += w[i] * (2.0 * off + row[i] * w[i]) - 2.0 * w[i] * r[i];
            }
        }
        total.max(0.0)
    }
}

/// The settings of [`choose_hidden_size`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HiddenSizeSearch {
    /// The first size.
    pub first: usize,
    /// The difference from one size to the next.
    pub step: usize,
    /// The largest size.
    pub most: usize,
    /// The number of random hidden layers tried for each size.
    pub draws: usize,
    /// The number of folds of the cross-validation.
    pub folds: usize,
    /// The search ends after this many sizes in a row without a smaller error.
    pub patience: usize,
}

/// The paper's numbers: ten folds, three draws, ten sizes of patience.
impl Default for HiddenSizeSearch {
    fn default() -> Self {
        HiddenSizeSearch { first: 10, step: 1, most: 1000, draws: 3, folds: 10, patience: 10 }
    }
}

/// The result of [`choose_hidden_size`].
#[derive(Clone, PartialEq, Debug)]
pub struct HiddenSizeChoice {
    /// An OS-ELM with the best hidden layer, trained on all examples.
    pub elm: OsElm,
    /// The best hidden size.
    pub hidden: usize,
    /// The seed of its hidden layer: [`OsElm::new`] draws the same layer from it.
    pub seed: u64,
    /// Each size that was tried, and the mean errors of its best hidden layer.
    pub tried: Vec<(usize, SplitErrors)>,
}

/// Finds the hidden size and layer with the least error in k-fold cross-validation.
///
/// The sums of each fold are computed once; those of all other folds are the difference from the total.
pub fn choose_hidden_size(
    config: OsElmConfig,
    search: &HiddenSizeSearch,
    data: &Data,
    rows: &[u32],
    seed: u64,
) -> Result<HiddenSizeChoice, Error> {
    if search.folds < 2 || rows.len() < search.folds || search.draws == 0 || search.step == 0 || search.first == 0 {
        return Err(Error::Config(format!("{search:?} with {} examples", rows.len())));
    }
    let mut order = rows.to_vec();
    Rng::stream(seed, 0).shuffle(&mut order);
    let folds: Vec<&[u32]> = order.chunks(order.len().div_ceil(search.folds)).collect();
    let mut tried: Vec<(usize, SplitErrors)> = Vec::new();
    let mut best: Option<(f64, usize, u64)> = None;
    let mut waited = 0;
    let mut size = search.first;
    while size <= search.most && waited < search.patience {
        let seeds: Vec<u64> =
            (0..search.draws).map(|d| Rng::derive(seed, (size * search.draws + d + 1) as u64)).collect();
        let sized = OsElmConfig { hidden: size, ..config };
        let errors: Vec<Option<SplitErrors>> = seeds
            .par_iter()
            .map(|&s| validate(OsElm::new(sized, data.inputs(), data.outputs(), s).ok()?, data, &folds))
            .collect();
        let score = |e: &SplitErrors| e.validation.unwrap_or(f64::INFINITY);
        let draw = errors.iter().zip(&seeds).filter_map(|(e, &s)| e.map(|e| (e, s)));
        let (errors, s) = draw
            .min_by(|a, b| score(&a.0).total_cmp(&score(&b.0)))
            .ok_or_else(|| Error::Config("no layer of this size can be solved: use a ridge".into()))?;
        waited += 1;
        if best.is_none_or(|(least, ..)| score(&errors) < least) {
            best = Some((score(&errors), size, s));
            waited = 0;
        }
        tried.push((size, errors));
        size += search.step;
    }
    let (_, hidden, s) = best.ok_or_else(|| Error::Config(format!("{search:?} allows no size at all")))?;
    let mut elm = OsElm::new(OsElmConfig { hidden, ..config }, data.inputs(), data.outputs(), s)?;
    elm.learn(data, rows)?;
    Ok(HiddenSizeChoice { elm, hidden, seed: s, tried })
}

/// The mean errors over the folds; `None` if the equations of one fold cannot be solved.
fn validate(elm: OsElm, data: &Data, folds: &[&[u32]]) -> Option<SplitErrors> {
    let parts: Vec<NormalEquations> = folds
        .iter()
        .map(|rows| {
            let mut sums = elm.sums.clone();
            sums.add(&elm.hidden, data, rows);
            sums
        })
        .collect();
    let mut all = elm.sums.clone();
    parts.iter().for_each(|p| all = all.plus(1.0, p));
    let squares =
        |rows: &[u32]| rows.iter().flat_map(|&i| data.targets(i as usize)).map(|&t| (t as f64).powi(2)).sum::<f64>();
    let per = |rows: usize| 1.0 / (rows * data.outputs()) as f64;
    let (rows, tt) = (folds.iter().map(|f| f.len()).sum::<usize>(), folds.iter().map(|f| squares(f)).sum::<f64>());
    let (mut train, mut validation) = (0.0, 0.0);
    for (fold, part) in folds.iter().zip(&parts) {
        let rest = all.plus(-1.0, part);
        let weights = rest.solve(elm.config.ridge)?;
        let held = squares(fold);
        train += rest.squared_error(&weights, tt - held) * per(rows - fold.len()) / folds.len() as f64;
        validation += part.squared_error(&weights, held) * per(fold.len()) / folds.len() as f64;
    }
    Some(SplitErrors { train, validation: Some(validation), test: None })
}
