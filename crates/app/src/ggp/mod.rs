//! General game playing over HTTP: `ludex ggp` is a player, `ludex ggp-server` a match host.
//!
//! `message` reads what is said, `http` carries it, `player`, `mind` and `learner` are our side of a match, `host`
//! the other one.

pub mod host;
mod http;
mod learner;
mod message;
mod mind;
pub mod player;

use std::io::Write;

/// Writes a line about a match to standard error; whether anybody reads it does not matter. Names come from outside, so
/// that nothing but plain characters reaches the terminal.
fn note(id: &str, line: &str) {
    let clean = |text: &str, most: usize| -> String {
        text.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
    };
    let _ = writeln!(std::io::stderr(), "{}: {}", clean(id, 60), clean(line, 300));
}
