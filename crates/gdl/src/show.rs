//! The grounded net for people: in numbers, and as a graph.

use crate::desk::Engine;
use crate::facts::size;
use crate::game::GdlGame;
use crate::net::{Kind, Lit};
use ludex_core::Game;
use std::fmt::Write;

/// The net of a game in numbers, several lines.
pub fn show(game: &GdlGame) -> String {
    let (info, size, habits) = (game.info(), size(game), game.habits());
    let mut lines = vec![
        format!("roles       {}", info.roles.join(", ")),
        format!("facts       {}", size.facts),
        format!("moves       {}", size.moves),
        format!("engine      {}", size.engine),
        format!("set-up      {:.1} ms", game.set_up().as_secs_f64() * 1e3),
    ];
    if let Engine::Net { net, tapes, .. } = &game.engine {
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
        lines.push(match tapes {
            Some(t) => format!("moves by    tapes of {} numbers", t.len()),
            None => "moves by    events".into(),
        });
        lines.push(format!(
            "playouts by {}",
            if game.lanes.better { "256 lanes at once, if many" } else { "single lines" }
        ));
    }
    lines.push(format!("turns       {}", if habits.turn_taking { "one role at a time" } else { "simultaneous" }));
    let sum =
        habits.constant_sum.map_or("not constant".into(), |s| format!("always {s} in {} matches", habits.matches));
    lines.push(format!("goals' sum  {sum}"));
    let length = match habits.at_most {
        Some(n) => format!("at most {n} steps, by a step counter"),
        None => format!("at most {} steps in {} matches", habits.longest, habits.matches),
    };
    lines.push(format!("length      {length}"));
    lines.push(format!("exclusive   {} sets of facts of which exactly one holds", habits.exclusive.len()));
    lines.join("\n")
}

/// The net as a graph in Graphviz' language; `None` if the rules are interpreted.
pub fn dot(game: &GdlGame) -> Option<String> {
    let Engine::Net { net, .. } = &game.engine else { return None };
    let mut out = String::from("digraph net {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n");
    let shown = net.cone(net.outputs());
    for n in (0..net.len()).filter(|&n| shown[n]) {
        let (label, shape) = match net.kinds[n] {
            Kind::False => ("false".to_string(), "plaintext"),
            Kind::Fact(f) => (format!("(true {})", net.facts[f as usize]), "box"),
            Kind::Does(d) => {
                let (r, m) = net.does[d as usize];
                (format!("(does {} {})", net.role_names[r as usize], net.moves[m as usize]), "box")
            }
            Kind::And => ("and".to_string(), "ellipse"),
            Kind::Or => ("or".to_string(), "diamond"),
        };
        let _ = writeln!(out, "  n{n} [label=\"{}\", shape={shape}];", escape(&label));
        for &l in net.inputs(n as u32) {
            edge(&mut out, l, &format!("n{n}"));
        }
    }
    output(&mut out, net.terminal, 0, "terminal");
    let mut k = 1;
    for (f, &l) in net.next.iter().enumerate() {
        output(&mut out, l, k, &format!("(next {})", net.facts[f]));
        k += 1;
    }
    for (r, role) in net.roles.iter().enumerate() {
        for &(m, l) in &role.legal {
            output(&mut out, l, k, &format!("(legal {} {})", net.role_names[r], net.moves[m as usize]));
            k += 1;
        }
        for &(v, l) in &role.goals {
            output(&mut out, l, k, &format!("(goal {} {v})", net.role_names[r]));
            k += 1;
        }
    }
    out.push_str("}\n");
    Some(out)
}

fn output(out: &mut String, l: Lit, k: usize, label: &str) {
    let _ = writeln!(out, "  o{k} [label=\"{}\", shape=box, style=rounded];", escape(label));
    edge(out, l, &format!("o{k}"));
}

/// Negated inputs end in a circle.
fn edge(out: &mut String, l: Lit, to: &str) {
    let style = if l & 1 == 1 { " [arrowhead=odot]" } else { "" };
    let _ = writeln!(out, "  n{} -> {to}{style};", l >> 1);
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
