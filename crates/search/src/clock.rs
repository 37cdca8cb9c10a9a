//! When a search must end, and when it is time to report progress.
//!
//! Asking the system for the time costs more than a short playout, so the clock looks only now and then: about every 200
//! microseconds, whatever the work between two ticks takes. A raised stop is seen at the next look.

use cpu_time::ThreadTime;
use ludex_core::{Control, Game, Limit, LimitKind, Search, Stop};
use std::time::{Duration, Instant};

/// How far apart looks should be.
const GAP: Duration = Duration::from_micros(200);

/// How far apart reports of progress should be.
const REPORT_GAP: Duration = Duration::from_millis(50);

/// Watches the time limits and the stop of a [`Control`], from the moment it is made.
pub struct Clock {
    start: Instant,
    time: Option<Duration>,
    cpu: Option<(ThreadTime, Duration)>,
    stop: Option<Stop>,
    /// When the next report of progress is due, if anybody wants one.
    next_report: Option<Instant>,
    last_look: Instant,
    /// Ticks between two looks.
    stride: u32,
    /// Ticks to the next look.
    left: u32,
    expired: bool,
    report_due: bool,
    watching: bool,
}

impl Clock {
    /// Starts to run.
    pub fn start(control: &Control) -> Self {
        let start = Instant::now();
        let cpu = control.limit.cpu.map(|d| (ThreadTime::now(), d));
        let (time, stop) = (control.limit.time, control.stop.clone());
        let next_report = control.progress.as_ref().map(|_| start + REPORT_GAP);
        let watching = time.is_some() || cpu.is_some() || stop.is_some() || next_report.is_some();
        Clock {
            start,
            time,
            cpu,
            stop,
            next_report,
            last_look: start,
            stride: 1,
            left: 1,
            expired: false,
            report_due: false,
            watching,
        }
    }

    /// Whether the search had to end at the last look.
    #[inline]
    pub fn expired(&self) -> bool {
        self.expired
    }

    /// Called after every small piece of work; whether the search must end.
    #[inline]
    pub fn tick(&mut self) -> bool {
        if self.watching {
            self.left -= 1;
            if self.left == 0 {
                self.look();
            }
        }
        self.expired
    }

    /// Whether it was time for a report of progress at the last look; the next one is due 50 milliseconds later.
    #[inline]
    pub fn report_due(&mut self) -> bool {
        std::mem::take(&mut self.report_due)
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let gap = now - self.last_look;
        self.last_look = now;
        self.stride = match gap {
            g if g < GAP / 2 => (self.stride * 2).min(1 << 16),
            // Work has become slower: as many ticks as fit the gap, at once, so that a stop is never seen late twice.
            g => (self.stride as f64 * (GAP.as_secs_f64() / g.as_secs_f64()).min(1.0)).max(1.0) as u32,
        };
        self.left = self.stride;
        self.expired |= self.stop.as_ref().is_some_and(Stop::raised);
        self.expired |= self.time.is_some_and(|t| now - self.start >= t);
        self.expired |= self.cpu.as_ref().is_some_and(|(start, d)| start.elapsed() >= *d);
        if self.next_report.is_some_and(|at| now >= at) {
            self.next_report = Some(now + REPORT_GAP);
            self.report_due = true;
        }
    }
}

/// The limit that a search obeys: of what is set, the kinds that it counts, and its default if nothing is left.
///
/// Callers refuse a kind that the search does not know and an infinite search without a stop; here neither may make a search
/// endless.
pub fn effective_limit<G: Game, S: Search<G> + ?Sized>(search: &S, control: &Control) -> Limit {
    let Limit { simulations, visits, expansions, nodes, depth, time, cpu, infinite } = control.limit;
    let counts = |kind| search.limits().contains(&kind);
    let known = Limit {
        simulations: simulations.filter(|_| counts(LimitKind::Simulations)),
        visits: visits.filter(|_| counts(LimitKind::Visits)),
        expansions: expansions.filter(|_| counts(LimitKind::Expansions)),
        nodes: nodes.filter(|_| counts(LimitKind::Nodes)),
        depth: depth.filter(|_| counts(LimitKind::Depth)),
        time: time.filter(|_| counts(LimitKind::Time)),
        cpu: cpu.filter(|_| counts(LimitKind::Cpu)),
        infinite: infinite && control.stop.is_some(),
    };
    known.or(&search.default_limit())
}
