//! Playouts that end as soon as a net is sure who wins (Cotarelo et al. 2021, their Algorithm 5 and Figure 7).
//!
//! Before a random move the [`Outlook`] is asked how likely win, draw and loss are. If the largest of the three reaches the
//! threshold, the playout ends there: with that result itself ([`Call::Hard`], as the paper says), or with the expected value
//! ([`Call::Expected`]). Otherwise the random move is played. Chances name the player they are of, so that games in which
//! somebody moves twice in a row need nothing special. With a threshold above 1 this is exactly the uniform playout.
//!
//! The outlook follows the playout move by move, so that a net can keep its first layer up to date instead of starting
//! again at each state. Two players only: win, draw and loss are what they share.

use super::playout::{Playout, Run};
use ludex_core::{Game, Move, Payoffs, Player};

/// How likely each result is. Outputs of single sigmoids need not add up to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chances {
    /// Whose win and loss are meant.
    pub of: Player,
    /// That it wins.
    pub win: f32,
    /// That nobody does.
    pub draw: f32,
    /// That it loses.
    pub loss: f32,
}

impl Chances {
    /// The likeliest result, and how likely it is; of equals the earlier in the order win, draw, loss.
    pub fn best(&self) -> (Payoffs, f32) {
        let (mut value, mut top) = (1.0, self.win);
        for (v, chance) in [(0.0, self.draw), (-1.0, self.loss)] {
            if chance > top {
                (value, top) = (v, chance);
            }
        }
        (Payoffs::of(self.of, value), top)
    }

    /// What the chances are worth on average.
    pub fn mean(&self) -> Payoffs {
        let total = (self.win + self.draw + self.loss).max(f32::MIN_POSITIVE);
        Payoffs::of(self.of, ((self.win - self.loss) / total).clamp(-1.0, 1.0))
    }
}

/// Says how a match will end while following it move by move: the joint to a net with three outputs.
pub trait Outlook<G: Game>: Send {
    /// A search begins.
    fn begin(&mut self, _game: &G) {}

    /// Follows from `s` on.
    fn start(&mut self, game: &G, s: &G::State);

    /// Plays a legal move in the state that is followed.
    fn play(&mut self, game: &G, s: &mut G::State, m: Move);

    /// How likely each result is in the state that is followed, which is not over.
    fn chances(&mut self, game: &G, s: &G::State) -> Chances;
}

/// When the outlook is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Before the first move of the playout.
    Once,
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
pub enum Call {
    /// The likeliest result.
    Hard,
    /// The expected value.
    Expected,
}

/// What the playouts of one search did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cuts {
    /// Playouts.
    pub playouts: u64,
    /// How often the outlook was asked.
    pub asked: u64,
    /// Playouts that were cut: good predictions, as the paper calls them.
    pub cut: u64,
    /// Random moves played before the cut, in those that were cut.
    pub plies: u64,
}

/// Random moves until the outlook is sure.
pub struct CutPlayout<G: Game> {
    outlook: Box<dyn Outlook<G>>,
    ask: Ask,
    threshold: f32,
    call: Call,
    cuts: Cuts,
}

impl<G: Game> CutPlayout<G> {
    /// Asks this outlook at these times, and is sure from this chance on.
    pub fn new(outlook: Box<dyn Outlook<G>>, ask: Ask, threshold: f32, call: Call) -> Self {
        CutPlayout { outlook, ask, threshold, call, cuts: Cuts::default() }
    }

    /// What the playouts of the last search did.
    pub fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// The result that the outlook is sure of.
    #[inline]
    fn verdict(&mut self, game: &G, s: &G::State) -> Option<Payoffs> {
        self.cuts.asked += 1;
        let chances = self.outlook.chances(game, s);
        let (result, chance) = chances.best();
        (chance >= self.threshold).then(|| match self.call {
            Call::Hard => result,
            Call::Expected => chances.mean(),
        })
    }
}

impl<G: Game> Playout<G> for CutPlayout<G> {
    fn playout(&mut self, game: &G, s: &mut G::State, run: &mut Run<'_>) -> Option<Payoffs> {
        let horizon = game.info().horizon;
        let cap = horizon.map_or(u32::MAX, |h| h.plies);
        // Up to `last` the outlook is asked, and so it follows; never before `first`.
        let (first, step, last) = match self.ask {
            Ask::Once => (0, 1, 0),
            Ask::Every { after, step } => (after, step.max(1), u32::MAX),
        };
        self.cuts.playouts += 1;
        for ply in 0..cap {
            let Some(m) = game.sample(s, run.rng) else { return game.outcome(s) };
            if ply == first {
                self.outlook.start(game, s);
            }
            if ply >= first
                && ply <= last
                && (ply - first).is_multiple_of(step)
                && let Some(result) = self.verdict(game, s)
            {
                self.cuts.cut += 1;
                self.cuts.plies += ply as u64;
                return Some(result);
            }
            if let Some(trace) = &mut run.trace {
                trace.push((game.mover(s), m));
            }
            match ply >= first && ply < last {
                true => self.outlook.play(game, s, m),
                false => game.play(s, m),
            }
            if (ply + 1) % 32 == 0 && run.clock.tick() {
                return None;
            }
        }
        game.outcome(s).or(horizon.map(|h| h.payoffs))
    }

    fn begin(&mut self, game: &G, _fresh: bool) {
        self.cuts = Cuts::default();
        self.outlook.begin(game);
    }

    fn tally(&self) -> Vec<(&'static str, f64)> {
        let Cuts { playouts, asked, cut, plies } = self.cuts;
        [("playouts", playouts), ("asked", asked), ("cut", cut), ("cut_plies", plies)]
            .map(|(k, n)| (k, n as f64))
            .into()
    }
}
