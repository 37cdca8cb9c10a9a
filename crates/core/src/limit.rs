//! When a search ends: [`Limit`] says how much it may do, [`Control`] adds a stop from outside and reports of progress.

use crate::Choice;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a search can be limited by. A search declares those that it counts ([`crate::Search::limits`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LimitKind {
    /// MCTS: simulations.
    Simulations,
    /// MCTS: nodes touched on the way down, the new one included.
    Visits,
    /// MCTS: nodes added to the tree.
    Expansions,
    /// Alpha-beta: positions searched.
    Nodes,
    /// Alpha-beta: plies.
    Depth,
    /// Wall-clock milliseconds.
    Time,
    /// Milliseconds that the thread of the search computes.
    Cpu,
}

impl LimitKind {
    /// All of them.
    pub const ALL: [LimitKind; 7] = [
        LimitKind::Simulations,
        LimitKind::Visits,
        LimitKind::Expansions,
        LimitKind::Nodes,
        LimitKind::Depth,
        LimitKind::Time,
        LimitKind::Cpu,
    ];

    /// What to type: `sims`.
    pub const fn name(self) -> &'static str {
        match self {
            LimitKind::Simulations => "sims",
            LimitKind::Visits => "visits",
            LimitKind::Expansions => "expansions",
            LimitKind::Nodes => "nodes",
            LimitKind::Depth => "depth",
            LimitKind::Time => "ms",
            LimitKind::Cpu => "cpu_ms",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<LimitKind> {
        LimitKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The greatest value that may be typed: a search that takes longer is a slip, or wants `infinite` and a stop.
    pub const fn most(self) -> u64 {
        match self {
            LimitKind::Depth => 1_000,
            LimitKind::Time | LimitKind::Cpu => 7 * 24 * 3_600_000,
            _ => 1_000_000_000_000,
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a search may do. Whatever is set counts; the first to be reached ends the search. Nothing set: the search's own
/// default.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Limit {
    /// MCTS: simulations.
    pub simulations: Option<u64>,
    /// MCTS: nodes touched on the way down, the new one included.
    pub visits: Option<u64>,
    /// MCTS: nodes added to the tree.
    pub expansions: Option<u64>,
    /// Alpha-beta: positions searched.
    pub nodes: Option<u64>,
    /// Alpha-beta: plies.
    pub depth: Option<u32>,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Time that this thread computes.
    pub cpu: Option<Duration>,
    /// Until [`Control::stop`] is raised, or everything is proven; without a stop it is refused.
    pub infinite: bool,
}

impl Limit {
    /// Until the stop is raised.
    pub const INFINITE: Limit = Limit {
        simulations: None,
        visits: None,
        expansions: None,
        nodes: None,
        depth: None,
        time: None,
        cpu: None,
        infinite: true,
    };

    /// So many MCTS simulations.
    pub fn simulations(n: u64) -> Self {
        Limit { simulations: Some(n), ..Limit::default() }
    }

    /// So many plies of alpha-beta.
    pub fn depth(plies: u32) -> Self {
        Limit { depth: Some(plies), ..Limit::default() }
    }

    /// So many alpha-beta nodes.
    pub fn nodes(n: u64) -> Self {
        Limit { nodes: Some(n), ..Limit::default() }
    }

    /// So much wall-clock time.
    pub fn time(d: Duration) -> Self {
        Limit { time: Some(d), ..Limit::default() }
    }

    /// So much processor time.
    pub fn cpu(d: Duration) -> Self {
        Limit { cpu: Some(d), ..Limit::default() }
    }

    /// The value of one kind, times in milliseconds.
    pub fn get(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Simulations => self.simulations,
            LimitKind::Visits => self.visits,
            LimitKind::Expansions => self.expansions,
            LimitKind::Nodes => self.nodes,
            LimitKind::Depth => self.depth.map(u64::from),
            LimitKind::Time => self.time.map(|t| t.as_millis() as u64),
            LimitKind::Cpu => self.cpu.map(|t| t.as_millis() as u64),
        }
    }

    /// Sets one kind, times in milliseconds; what is beyond [`LimitKind::most`] becomes that.
    pub fn set(&mut self, kind: LimitKind, n: u64) {
        let n = n.min(kind.most());
        match kind {
            LimitKind::Simulations => self.simulations = Some(n),
            LimitKind::Visits => self.visits = Some(n),
            LimitKind::Expansions => self.expansions = Some(n),
            LimitKind::Nodes => self.nodes = Some(n),
            LimitKind::Depth => self.depth = Some(n as u32),
            LimitKind::Time => self.time = Some(Duration::from_millis(n)),
            LimitKind::Cpu => self.cpu = Some(Duration::from_millis(n)),
        }
    }

    /// The kinds that are set.
    pub fn kinds(&self) -> impl Iterator<Item = LimitKind> + '_ {
        LimitKind::ALL.into_iter().filter(|&k| self.get(k).is_some())
    }

    /// Nothing is limited, nor asked to be without limit.
    pub fn is_empty(&self) -> bool {
        !self.infinite && self.kinds().next().is_none()
    }

    /// This limit, or `other` if it sets nothing.
    pub fn or(&self, other: &Limit) -> Limit {
        if self.is_empty() { *other } else { *self }
    }
}

/// As it is typed: `sims=5000 ms=100`.
impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.kinds().map(|k| format!("{k}={}", self.get(k).unwrap_or(0)));
        let infinite = self.infinite.then(|| "infinite".to_string());
        f.write_str(&set.chain(infinite).collect::<Vec<_>>().join(" "))
    }
}

/// Ends searches from another thread; clones are raised together.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Not raised yet.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Asks everything that holds this stop to end.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has been raised.
    #[inline]
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Receives snapshots of the choice while a search runs, about twenty a second.
pub type Progress = Arc<dyn Fn(&Choice) + Send + Sync>;

/// How a search is controlled while it runs.
#[derive(Clone, Default)]
pub struct Control {
    /// How much it may do.
    pub limit: Limit,
    /// Ends it early: within milliseconds, with the best move so far.
    pub stop: Option<Stop>,
    /// Told what the search would choose now; never changes what it chooses.
    pub progress: Option<Progress>,
}

impl Control {
    /// Whether someone asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::raised)
    }
}

impl From<Limit> for Control {
    fn from(limit: Limit) -> Self {
        Control { limit, ..Control::default() }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, stopped: {}, watched: {}", self.limit, self.stopped(), self.progress.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_found_by_kind_and_name() {
        for kind in LimitKind::ALL {
            let mut limit = Limit::default();
            assert!(limit.is_empty());
            limit.set(kind, 7);
            assert_eq!(limit.kinds().collect::<Vec<_>>(), [kind]);
            assert_eq!((limit.get(kind), LimitKind::named(kind.name())), (Some(7), Some(kind)));
            assert_eq!(format!("{limit:?}"), format!("{kind}=7"));
        }
        assert_eq!(Limit::default().or(&Limit::depth(3)), Limit::depth(3));
        assert_eq!(Limit::INFINITE.or(&Limit::depth(3)), Limit::INFINITE);
    }
}
