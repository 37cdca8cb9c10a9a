//! When time is up. Asking the system costs more than a short playout, so the clock looks only now and then.

use cpu_time::ThreadTime;
use ludex_core::Limit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far apart looks should be.
const GAP: Duration = Duration::from_micros(200);

/// Watches the time limits and the stop flag of a [`Limit`], from the moment it is made.
pub struct Clock {
    start: Instant,
    time: Option<Duration>,
    cpu: Option<(ThreadTime, Duration)>,
    stop: Option<Arc<AtomicBool>>,
    last: Instant,
    stride: u32,
    left: u32,
    expired: bool,
    watching: bool,
}

impl Clock {
    /// Starts to run.
    pub fn start(limit: &Limit) -> Self {
        let start = Instant::now();
        let cpu = limit.cpu.map(|d| (ThreadTime::now(), d));
        let watching = limit.time.is_some() || cpu.is_some() || limit.stop.is_some();
        let stop = limit.stop.clone();
        Clock { start, time: limit.time, cpu, stop, last: start, stride: 1, left: 1, expired: false, watching }
    }

    /// Whether time was up at the last look.
    #[inline]
    pub fn expired(&self) -> bool {
        self.expired
    }

    /// Called after every small piece of work; looks at the time about every 200 microseconds.
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

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let gap = now - self.last;
        self.last = now;
        self.stride = if gap < GAP / 2 { (self.stride * 2).min(1 << 16) } else { (self.stride / 2).max(1) };
        self.left = self.stride;
        self.expired |= self.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed));
        self.expired |= self.time.is_some_and(|t| now - self.start >= t);
        self.expired |= self.cpu.as_ref().is_some_and(|(start, d)| start.elapsed() >= *d);
    }
}
