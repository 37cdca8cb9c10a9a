//! General game playing over HTTP: `ludex ggp` is a player, `ludex ggp-server` a match host.
//!
//! | modules | what they do |
//! |---|---|
//! | `message`, `http` | read and write the messages of the protocol, and carry them |
//! | `player` | `ludex ggp`: answers every message in time |
//! | `match_worker` | the thread that reads the rules of a match, follows its joint moves and chooses ours |
//! | `rules_cache`, `joint_moves` | what a worker needs: rules that were read before, and the moves that were made |
//! | `prepare`, `start_clock_learner` | make the agent of a match while the start clock runs |
//! | `host` | `ludex ggp-server`: holds matches |

pub mod host;
mod http;
mod joint_moves;
mod match_worker;
mod message;
pub mod player;
mod prepare;
mod rules_cache;
mod start_clock_learner;

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes a line about a match to standard error, and ignores errors. Names come from outside: control characters do not reach
/// the terminal.
fn note(id: &str, line: &str) {
    let printable = |text: &str, most: usize| -> String {
        text.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
    };
    let _ = writeln!(std::io::stderr(), "{}: {}", printable(id, 60), printable(line, 300));
}

/// Locks a mutex, also after a thread panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
