//! Writes a propositional network as a graph in the DOT language of Graphviz.

use crate::evaluator::Engine;
use crate::game::GdlGame;
use crate::propnet::{Kind, Lit};
use std::fmt::Write;

/// The propositional network of a game in the DOT language; `None` if the rules are interpreted.
pub fn dot(game: &GdlGame) -> Option<String> {
    let Engine::Propnet { net, .. } = &game.engine else { return None };
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

/// Writes an output and the edge to it.
fn output(out: &mut String, l: Lit, k: usize, label: &str) {
    let _ = writeln!(out, "  o{k} [label=\"{}\", shape=box, style=rounded];", escape(label));
    edge(out, l, &format!("o{k}"));
}

/// Writes an edge; a circle at its end marks a negated input.
fn edge(out: &mut String, l: Lit, to: &str) {
    let style = if l & 1 == 1 { " [arrowhead=odot]" } else { "" };
    let _ = writeln!(out, "  n{} -> {to}{style};", l >> 1);
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
