//! Playouts that end as soon as a net is sure who wins (Cotarelo et al. 2021, their Algorithm 5 and Figure 7).
//!
//! Before a random move the [`WdlEvaluator`] says how likely win, draw and loss are. If the largest of the three reaches the
//! threshold, the playout ends there: with that result itself ([`CutValue::Hard`], as the paper says), or with the expected
//! value ([`CutValue::Expected`]). Otherwise the random move is played. Probabilities name the player that they are for, so that
//! games in which somebody moves twice in a row need nothing special. With a threshold above 1 this is exactly the uniform
//! playout.
//!
//! The evaluator follows the playout move by move, so that a net can update its first layer instead of summing it afresh at each
//! state. Two players only: with more, win, draw and loss do not say who gets what.

use super::playout::{Playout, PlayoutContext};
use ludex_core::{Game, Move, Payoffs, Player};

/// The probabilities of win, draw and loss. Outputs of single sigmoids need not add up to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wdl {
    /// The player whose win and loss are meant.
    pub of: Player,
    /// The probability that it wins.
    pub win: f32,
    /// The probability of a draw.
    pub draw: f32,
    /// The probability that it loses.
    pub loss: f32,
}

impl Wdl {
    /// The most likely result and its probability; of equals the earlier in the order win, draw, loss.
    pub fn most_likely(&self) -> (Payoffs, f32) {
        let (mut value, mut top) = (1.0, self.win);
        for (v, p) in [(0.0, self.draw), (-1.0, self.loss)] {
            if p > top {
                (value, top) = (v, p);
            }
        }
        (Payoffs::of(self.of, value), top)
    }

    /// The expected payoffs.
    pub fn expected(&self) -> Payoffs {
        let total = (self.win + self.draw + self.loss).max(f32::MIN_POSITIVE);
        Payoffs::of(self.of, ((self.win - self.loss) / total).clamp(-1.0, 1.0))
    }
}

/// Predicts the result of a match while following a playout move by move: the joint to a net with three outputs.
pub trait WdlEvaluator<G: Game>: Send {
    /// A search begins.
    fn begin_search(&mut self, _game: &G) {}

    /// A playout begins at `s`.
    fn refresh(&mut self, game: &G, s: &G::State);

    /// Plays a legal move in `s`, the state that is followed.
    fn play(&mut self, game: &G, s: &mut G::State, m: Move);

    /// The probabilities of the results in `s`, the state that is followed, which is not over.
    fn wdl(&mut self, game: &G, s: &G::State) -> Wdl;
}

/// When the evaluator is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutCheck {
    /// Before the first move of the playout.
    AtStart,
    /// Before every `step`-th move, after the first `after` moves.
    Every {
        /// Moves that are played at random in any case.
        after: u32,
        /// 1 asks before every move from then on.
        step: u32,
    },
}

/// What is backed up when a playout is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutValue {
    /// The most likely result.
    Hard,
    /// The expected value.
    Expected,
}

/// What the playouts of one search did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CutCounts {
    /// Playouts.
    pub playouts: u64,
    /// How often the evaluator was asked.
    pub asked: u64,
    /// Playouts that were cut: good predictions, as the paper calls them.
    pub cut: u64,
    /// Random moves played before the cut, in those that were cut.
    pub plies: u64,
}

/// Random moves until the evaluator is sure of the result.
pub struct CutPlayout<G: Game> {
    eval: Box<dyn WdlEvaluator<G>>,
    check: CutCheck,
    threshold: f32,
    value: CutValue,
    counts: CutCounts,
}

impl<G: Game> CutPlayout<G> {
    /// Asks this evaluator at these times, cuts from this probability on, and gives this value then.
    pub fn new(eval: Box<dyn WdlEvaluator<G>>, check: CutCheck, threshold: f32, value: CutValue) -> Self {
        CutPlayout { eval, check, threshold, value, counts: CutCounts::default() }
    }

    /// What the playouts of the last search did.
    pub fn counts(&self) -> CutCounts {
        self.counts
    }

    /// The value to cut with, if the evaluator is sure enough.
    #[inline]
    fn cut_value(&mut self, game: &G, s: &G::State) -> Option<Payoffs> {
        self.counts.asked += 1;
        let wdl = self.eval.wdl(game, s);
        let (result, probability) = wdl.most_likely();
        (probability >= self.threshold).then(|| match self.value {
            CutValue::Hard => result,
            CutValue::Expected => wdl.expected(),
        })
    }
}

impl<G: Game> Playout<G> for CutPlayout<G> {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        let horizon = game.info().horizon;
        let cap = horizon.map_or(u32::MAX, |h| h.plies);
        // The evaluator is asked, and so it follows, from ply `first` to `last`.
        let (first, step, last) = match self.check {
            CutCheck::AtStart => (0, 1, 0),
            CutCheck::Every { after, step } => (after, step.max(1), u32::MAX),
        };
        self.counts.playouts += 1;
        for ply in 0..cap {
            let Some(m) = game.sample(s, context.rng) else { return game.outcome(s) };
            if ply == first {
                self.eval.refresh(game, s);
            }
            if ply >= first
                && ply <= last
                && (ply - first).is_multiple_of(step)
                && let Some(result) = self.cut_value(game, s)
            {
                self.counts.cut += 1;
                self.counts.plies += ply as u64;
                return Some(result);
            }
            if let Some(trace) = &mut context.trace {
                trace.push((game.mover(s), m));
            }
            match ply >= first && ply < last {
                true => self.eval.play(game, s, m),
                false => game.play(s, m),
            }
            if (ply + 1) % 32 == 0 && context.clock.tick() {
                return None;
            }
        }
        game.outcome(s).or(horizon.map(|h| h.payoffs))
    }

    fn begin_search(&mut self, game: &G, _fresh: bool) {
        self.counts = CutCounts::default();
        self.eval.begin_search(game);
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let CutCounts { playouts, asked, cut, plies } = self.counts;
        [("playouts", playouts), ("asked", asked), ("cut", cut), ("cut_plies", plies)]
            .map(|(k, n)| (k, n as f64))
            .into()
    }
}
