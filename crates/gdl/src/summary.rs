//! A description of an opened game for people: how large it is, how it is evaluated, and what was inferred about it.
//!
//! [`crate::facts`](crate::facts()) has the figures that programs read.

use crate::evaluator::Engine;
use crate::facts::size;
use crate::game::GdlGame;
use crate::propnet::Kind;
use ludex_core::Game;

/// Describes the size, the evaluators and the inferred properties of a game, one per line.
pub fn summary(game: &GdlGame) -> String {
    let (info, size, inferred) = (game.info(), size(game), game.inferred());
    let mut lines = vec![
        format!("roles       {}", info.roles.join(", ")),
        format!("facts       {}", size.facts),
        format!("moves       {}", size.moves),
        format!("engine      {}", size.engine),
        format!("set-up      {:.1} ms", game.set_up_time().as_secs_f64() * 1e3),
    ];
    if let Engine::Propnet { net, deltas, .. } = &game.engine {
        let wires = |k: Kind| (0..net.len()).filter(|&n| net.kinds[n] == k).count();
        lines.push(format!(
            "gates       {} ({} and, {} or), {} wires",
            size.gates,
            wires(Kind::And),
            wires(Kind::Or),
            size.wires
        ));
        lines.push(format!("loops       {}", size.loops));
        let names: Vec<&str> = net.guards.iter().map(|&g| net.facts[g as usize].as_str()).collect();
        lines.push(format!("guards      {}", if names.is_empty() { "none".into() } else { names.join(" ") }));
        lines.push(match deltas {
            Some(t) => format!("moves by    tapes of {} numbers", t.len()),
            None => "moves by    events".into(),
        });
        lines.push(format!(
            "playouts by {}",
            if game.bit_parallel.preferred { "256 lanes at once, if many" } else { "single lines" }
        ));
    }
    lines.push(format!("turns       {}", if inferred.turn_taking { "one role at a time" } else { "simultaneous" }));
    let sum =
        inferred.constant_sum.map_or("not constant".into(), |s| format!("always {s} in {} matches", inferred.matches));
    lines.push(format!("goals' sum  {sum}"));
    let length = match inferred.max_steps {
        Some(n) => format!("at most {n} steps, by a step counter"),
        None => format!("at most {} steps in {} matches", inferred.longest_seen, inferred.matches),
    };
    lines.push(format!("length      {length}"));
    lines.push(format!("exclusive   {} sets of facts of which exactly one holds", inferred.exclusive_sets.len()));
    lines.join("\n")
}
