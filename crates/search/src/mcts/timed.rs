//! How long each phase of a simulation takes: decorators around the four parts.
//!
//! Each call of a part is timed by itself and the cost of reading the clock is subtracted, since a simulation of a fast game takes
//! no longer than a few dozen readings. Shares of the phases are reliable, sums less so.

use super::backup::Backup;
use super::expand::{At, Expand, Step};
use super::playout::{Playout, PlayoutContext};
use super::select::{Descent, Select};
use super::tree::{NodeId, Tree};
use ludex_core::{Game, Move, Payoffs, Player, Rng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Nanoseconds in selection, expansion, playout and backup since a search began.
#[derive(Default)]
struct Spent {
    phases: [AtomicU64; 4],
    look: u64,
}

impl Spent {
    fn time<T>(&self, phase: usize, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        let spent = (begun.elapsed().as_nanos() as u64).saturating_sub(self.look);
        self.phases[phase].fetch_add(spent, Ordering::Relaxed);
        result
    }
}

/// A part whose calls are timed.
pub struct Timed<P: ?Sized> {
    part: Box<P>,
    spent: Arc<Spent>,
}

/// The same parts, timed; the counters of the search give the times.
#[allow(clippy::type_complexity)] // the four parts of a search, as they are handed on
pub fn timed<G: Game>(
    select: Box<dyn Select>,
    expand: Box<dyn Expand<G>>,
    playout: Box<dyn Playout<G>>,
    backup: Box<dyn Backup>,
) -> (Box<dyn Select>, Box<dyn Expand<G>>, Box<dyn Playout<G>>, Box<dyn Backup>) {
    let mut looks: Vec<u64> = (0..1001).map(|_| Instant::now().elapsed().as_nanos() as u64).collect();
    looks.sort_unstable();
    let spent = Arc::new(Spent { look: looks[looks.len() / 2], ..Spent::default() });
    (
        Box::new(Timed { part: select, spent: spent.clone() }),
        Box::new(Timed { part: expand, spent: spent.clone() }),
        Box::new(Timed { part: playout, spent: spent.clone() }),
        Box::new(Timed { part: backup, spent }),
    )
}

impl Select for Timed<dyn Select> {
    fn select(&mut self, at: &Descent<'_>, rng: &mut Rng) -> usize {
        self.spent.time(0, || self.part.select(at, rng))
    }

    fn wants_squares(&self) -> bool {
        self.part.wants_squares()
    }

    fn prior_visits(&self) -> Option<f32> {
        self.part.prior_visits()
    }

    fn wants_amaf(&self) -> bool {
        self.part.wants_amaf()
    }
}

impl<G: Game> Expand<G> for Timed<dyn Expand<G>> {
    fn expand(&mut self, game: &G, s: &G::State, tree: &mut Tree, at: At, rng: &mut Rng) -> Step {
        self.spent.time(1, || self.part.expand(game, s, tree, at, rng))
    }
}

impl<G: Game> Playout<G> for Timed<dyn Playout<G>> {
    fn playout(&mut self, game: &G, s: &mut G::State, context: &mut PlayoutContext<'_>) -> Option<Payoffs> {
        self.spent.time(2, || self.part.playout(game, s, context))
    }

    fn wants_trace(&self) -> bool {
        self.part.wants_trace()
    }

    fn learn(&mut self, trace: &[(Player, Move)], payoffs: &Payoffs) {
        self.part.learn(trace, payoffs);
    }

    fn begin_search(&mut self, game: &G, fresh: bool) {
        self.spent.phases.iter().for_each(|p| p.store(0, Ordering::Relaxed));
        self.part.begin_search(game, fresh);
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let names = ["selection_ns", "expansion_ns", "playout_ns", "backup_ns"];
        let spent = self.spent.phases.iter().map(|p| p.load(Ordering::Relaxed) as f64);
        names.into_iter().zip(spent).chain(self.part.counters()).collect()
    }
}

impl Backup for Timed<dyn Backup> {
    fn backup(&mut self, tree: &mut Tree, path: &[NodeId], payoffs: &Payoffs) {
        self.spent.time(3, || self.part.backup(tree, path, payoffs));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Mcts, MctsOptions, Mean, Next, OneChild, Reward, Ucb1, Uniform};
    use super::*;
    use ludex_core::toy::Nim;
    use ludex_core::{Limit, Search};

    #[test]
    fn a_timed_search_chooses_the_same_and_tells_where_the_time_went() {
        let game = Nim::new(60);
        let parts = || {
            let select: Box<dyn Select> = Box::new(Ucb1::new(1.4, Form::Plain, Reward::Unit));
            let expand: Box<dyn Expand<Nim>> = Box::new(OneChild::new(Next::Random));
            (select, expand, Box::new(Uniform) as Box<dyn Playout<Nim>>, Box::new(Mean) as Box<dyn Backup>)
        };
        let search = |(s, e, p, b)| {
            let mut mcts = Mcts::new(&game, s, e, p, b, MctsOptions::default());
            let choice = mcts.search(&game, &game.initial(), &Limit::simulations(3_000).into(), &mut Rng::new(1));
            (choice, mcts.counters())
        };
        let (s, e, p, b) = parts();
        let (plain, none) = search(parts());
        let (choice, counters) = search(timed(s, e, p, b));
        assert!(none.is_empty() && choice == plain);
        assert_eq!(
            counters.iter().map(|t| t.0).collect::<Vec<_>>(),
            ["selection_ns", "expansion_ns", "playout_ns", "backup_ns"]
        );
        assert!(counters[2].1 > 0.0);
    }
}
