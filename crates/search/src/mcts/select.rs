//! Selection: which child a simulation goes to.
//!
//! Every rule sees the player who chooses at the node: q is that player's own mean payoff, so draws, repeated turns and
//! more than two players need nothing special. Children without a visit come first. Ties are broken by the seeded generator.
//!
//! UCB1 (Auer et al. 2002; Kocsis & Szepesvári 2006): q + factor * sqrt(ln N / n). The papers write the constant in three
//! ways and scale rewards in three; [`Form`] and [`Reward`] keep both apart, and [`Ucb1::plain_constant`] converts.

use super::amaf::Amaf;
use super::tree::{LANES, NodeId, Tree};
use ludex_core::{Player, Rng};
use std::sync::LazyLock;
use wide::f32x8;

/// How the exploration constant is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// C * sqrt(ln N / n)
    Plain,
    /// 2 * C * sqrt(2 ln N / n), as Kocsis & Szepesvári write it with Cp
    Kocsis,
    /// C * sqrt(2 ln N / n), as Burger et al. write it
    Burger,
}

/// The scale on which rewards are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reward {
    /// loss 0, draw 1/2, win 1
    Unit,
    /// loss -1, draw 0, win 1
    Signed,
    /// loss 0, draw 50, win 100, as in GDL
    Hundred,
}

/// What a simulation knows where it has to choose.
pub struct Descent<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// The nodes from the root to the one where a child is to be chosen.
    pub path: &'a [NodeId],
    /// All-moves-as-first statistics, where the rule asked for them.
    pub amaf: Option<&'a Amaf>,
}

impl Descent<'_> {
    /// Where a child is to be chosen.
    #[inline]
    pub fn node(&self) -> NodeId {
        self.path[self.path.len() - 1]
    }
}

/// A rule that chooses among the children of a node.
pub trait Select: Send {
    /// The index of a child of the last node of the path, which has at least one.
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize;

    /// Sums of squares must be kept.
    fn wants_squares(&self) -> bool {
        false
    }

    /// Priors are part of the edge statistics, and count like so many visits.
    fn prior_visits(&self) -> Option<f32> {
        None
    }

    /// All-moves-as-first statistics must be kept.
    fn wants_amaf(&self) -> bool {
        false
    }
}

/// The index of the best score; among equals a random one. Children proven lost for the chooser come last.
#[inline]
pub(super) fn best(
    tree: &Tree,
    children: &[NodeId],
    p: Player,
    rng: &mut Rng,
    mut score: impl FnMut(usize, NodeId) -> f32,
) -> usize {
    highest_of(
        children.iter().enumerate().map(|(i, &c)| {
            let node = tree.node(c);
            match node.proven() && tree.total(c, p) <= -(node.visits() as f64) {
                true => f32::MIN,
                false => score(i, c),
            }
        }),
        rng,
    )
}

/// The index of the highest score; among equals a random one.
#[inline]
pub(super) fn highest_of(scores: impl Iterator<Item = f32>, rng: &mut Rng) -> usize {
    let (mut top, mut found, mut equals) = (f32::NEG_INFINITY, 0, 0);
    for (i, score) in scores.enumerate() {
        if score > top {
            (top, found, equals) = (score, i, 1);
        } else if score == top {
            equals += 1;
            if rng.below(equals) == 0 {
                found = i;
            }
        }
    }
    found
}

/// UCB1.
#[derive(Clone, Debug)]
pub struct Ucb1 {
    /// Multiplies sqrt(ln N / n) on the signed scale.
    factor: f32,
    logs: Logs,
    /// Scores of a wide node's children.
    scores: Vec<f32x8>,
}

impl Ucb1 {
    /// The rule with this constant, written in this form for this scale.
    pub fn new(c: f64, form: Form, reward: Reward) -> Self {
        let factor = 2.0 * Self::plain_constant(c, form, reward) as f32;
        Ucb1 { factor, logs: Logs::default(), scores: Vec::new() }
    }

    /// The equivalent constant in the plain form on rewards in [0, 1].
    pub fn plain_constant(c: f64, form: Form, reward: Reward) -> f64 {
        let plain = match form {
            Form::Plain => c,
            Form::Kocsis => 2.0 * c * 2f64.sqrt(),
            Form::Burger => c * 2f64.sqrt(),
        };
        match reward {
            Reward::Unit => plain,
            Reward::Signed => plain / 2.0,
            Reward::Hundred => plain / 100.0,
        }
    }
}

impl Select for Ucb1 {
    #[inline]
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let node = at.tree.node(at.node());
        let spread = self.factor * self.logs.root(node.visits());
        let children = at.tree.children(at.node()).len();
        let chunks = at.tree.edge_stats_by_eight(at.node());
        let mut few = [f32x8::ZERO; FEW];
        let scores = match few.get_mut(..chunks.len()) {
            Some(few) => few,
            None => {
                self.scores.resize(chunks.len(), f32x8::ZERO);
                &mut self.scores[..]
            }
        };
        // First the highest score, then who has it.
        for (score, c) in scores.iter_mut().zip(chunks) {
            *score = f32x8::new(c.map(|c| c.mean + spread * c.inv_sqrt_visits));
        }
        if let Some(last) = scores.last_mut() {
            *last = masked(*last, children - LANES * (chunks.len() - 1));
        }
        let top = scores.iter().fold(f32x8::splat(f32::NEG_INFINITY), |top, s| top.fast_max(*s));
        let top = f32x8::splat(highest(top.as_array()));
        let equals = |s: &f32x8| s.simd_eq(top).to_bitmask();
        let count: u32 = scores.iter().map(|s| equals(s).count_ones()).sum();
        let mut nth = if count > 1 { rng.below(count) } else { 0 };
        for (i, equals) in scores.iter().map(equals).enumerate() {
            if nth < equals.count_ones() {
                return LANES * i + nth_bit(equals, nth);
            }
            nth -= equals.count_ones();
        }
        unreachable!("some child has the highest score")
    }
}

/// UCB1 with |q| in place of q: equation 3 of Cotarelo et al. (2021) as printed, which their text contradicts. A sure loss
/// then looks as good as a sure win; it stays selectable to reproduce that.
#[derive(Clone, Debug)]
pub struct Ucb1Abs(pub Ucb1);

impl Select for Ucb1Abs {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let (p, spread) = (node.mover(), self.0.factor * self.0.logs.root(node.visits()));
        best(tree, tree.children(at.node()), p, rng, |_, c| match tree.node(c).visits() {
            0 => f32::INFINITY,
            n => (tree.mean(c, p) as f32).abs() + spread / (n as f32).sqrt(),
        })
    }
}

/// Chunks of children whose scores need no memory of their own: 64 children.
const FEW: usize = 8;

/// Scores of lanes that hold no child become the least there is.
#[inline]
fn masked(scores: f32x8, children: usize) -> f32x8 {
    let lanes = f32x8::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    lanes.simd_lt(f32x8::splat(children as f32)).select(scores, f32x8::splat(f32::NEG_INFINITY))
}

#[inline]
fn highest(s: &[f32; LANES]) -> f32 {
    let max = |a: f32, b: f32| if a > b { a } else { b };
    max(max(max(s[0], s[4]), max(s[1], s[5])), max(max(s[2], s[6]), max(s[3], s[7])))
}

#[inline]
fn nth_bit(mut bits: u32, n: u32) -> usize {
    (0..n).for_each(|_| bits &= bits - 1);
    bits.trailing_zeros() as usize
}

/// UCB1-Tuned (Auer et al. 2002): q + C * sqrt(ln N / n * min(1/4, variance + sqrt(2 ln N / n))), on rewards in [0, 1].
#[derive(Clone, Debug)]
pub struct Ucb1Tuned {
    c: f32,
    logs: Logs,
}

impl Ucb1Tuned {
    /// The rule, with 1 for `c` as published.
    pub fn new(c: f64) -> Self {
        Ucb1Tuned { c: c as f32, logs: Logs::default() }
    }
}

impl Select for Ucb1Tuned {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let p = node.mover();
        let log = self.logs.ln(node.visits());
        best(tree, tree.children(at.node()), p, rng, |_, c| {
            let n = tree.node(c).visits();
            if n == 0 {
                return f32::INFINITY;
            }
            let inverse = 1.0 / n as f32;
            let signed = tree.total(c, p) as f32 * inverse;
            // On [0, 1] the variance is a quarter of that on [-1, 1].
            let variance = (tree.squares(c, p) as f32 * inverse - signed * signed).max(0.0) / 4.0;
            let bound = (variance + (2.0 * log * inverse).sqrt()).min(0.25);
            (signed + 1.0) / 2.0 + self.c * (log * inverse * bound).sqrt()
        })
    }

    fn wants_squares(&self) -> bool {
        true
    }
}

/// RAVE (Gelly & Silver 2007) and GRAVE (Cazenave 2015): the mean is mixed with how the move did wherever it was played
/// later in a simulation, (1 - b) * q + b * q_amaf with b = n_amaf / (n_amaf + n + bias * n_amaf * n).
///
/// The statistics are those of the nearest ancestor with at least `reference` visits; with `reference` 0 the node's own,
/// which is RAVE. Wants all children at once (`expand=all`), so that untried moves are compared too.
#[derive(Clone, Debug)]
pub struct Grave {
    /// Visits an ancestor needs to be asked.
    pub reference: u32,
    /// How soon the mean takes over; on rewards in [0, 1].
    pub bias: f32,
    /// Exploration on top, as in UCB1, plain form on [0, 1]; usually 0.
    pub c: f32,
    logs: Logs,
}

impl Grave {
    /// The rule with these settings.
    pub fn new(reference: u32, bias: f64, c: f64) -> Self {
        Grave { reference, bias: bias as f32, c: c as f32, logs: Logs::default() }
    }
}

impl Select for Grave {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        let tree = at.tree;
        let node = tree.node(at.node());
        let p = node.mover();
        let asked = at.path.iter().rev().find(|&&n| tree.node(n).visits() >= self.reference).unwrap_or(&at.path[0]);
        let spread = self.c * self.c * self.logs.ln(node.visits());
        best(tree, tree.children(at.node()), p, rng, |_, c| {
            let n = tree.node(c).visits() as f32;
            let (amaf_n, amaf_total) = at.amaf.map_or((0.0, 0.0), |a| a.get(*asked, p, tree.node(c).mv()));
            if n == 0.0 && amaf_n == 0.0 {
                return f32::MAX;
            }
            let unit = |total: f32, n: f32| if n == 0.0 { 0.0 } else { (total / n + 1.0) / 2.0 };
            let b = amaf_n / (amaf_n + n + self.bias * amaf_n * n);
            let mixed = (1.0 - b) * unit(tree.total(c, p) as f32, n) + b * unit(amaf_total, amaf_n);
            mixed + if spread > 0.0 { (spread / n.max(1.0)).sqrt() } else { 0.0 }
        })
    }

    fn wants_amaf(&self) -> bool {
        true
    }
}

/// Natural logarithms of small numbers and their square roots, which selection asks for all the time.
/// All searches share them: self-play builds searches by the hundred thousand.
#[derive(Clone, Debug)]
pub(super) struct Logs(&'static [f32]);

impl Default for Logs {
    fn default() -> Self {
        static ROOTS: LazyLock<Vec<f32>> =
            LazyLock::new(|| (0..1 << 14).map(|n: u32| (n.max(1) as f64).ln().sqrt() as f32).collect());
        Logs(&ROOTS)
    }
}

impl Logs {
    /// sqrt(ln n)
    #[inline]
    pub(super) fn root(&self, n: u32) -> f32 {
        match self.0.get(n as usize) {
            Some(&root) => root,
            None => (n as f64).ln().sqrt() as f32,
        }
    }

    /// ln n
    #[inline]
    pub(super) fn ln(&self, n: u32) -> f32 {
        self.root(n) * self.root(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_convert_as_the_papers_need() {
        // Rezende: Cp = 0.78 in 2 Cp sqrt(2 ln n / nj) on [-1, 1] is sqrt(2) * 0.78 on [0, 1].
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(Ucb1::plain_constant(0.78, Form::Kocsis, Reward::Signed), 2f64.sqrt() * 0.78));
        assert!(close(Ucb1::plain_constant(1.41, Form::Burger, Reward::Unit), 2f64.sqrt() * 1.41));
        assert!(close(Ucb1::plain_constant(140.0, Form::Plain, Reward::Hundred), 1.4));
        assert!(close(Ucb1::plain_constant(1.4, Form::Plain, Reward::Unit), 1.4));
    }
}
