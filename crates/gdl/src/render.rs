//! Renders a state as text for people: boards as grids where the facts have that form, all other facts as lists.

use crate::game::{GdlGame, GdlState, write_expr};
use crate::kif::{self, Expr, ExprKind};
use crate::terms::natural_order;
use ludex_core::{Fact, Game};
use std::collections::BTreeMap;

/// Renders facts `(name column row content)` as a grid and all others as one line per relation.
pub(crate) fn render_state(game: &GdlGame, s: &GdlState) -> String {
    let mut held = Vec::new();
    game.facts(s, &mut held);
    let mut by_name: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for f in held {
        let mut words = words(&game.fact_name(f));
        by_name.entry(words.remove(0)).or_default().push(words);
    }
    let mut lines = Vec::new();
    for (name, tuples) in &by_name {
        match grid(game, name, tuples) {
            Some(rows) => lines.extend(rows),
            None => {
                let list: Vec<String> = tuples.iter().map(|t| t.join(" ")).collect();
                lines.push(format!("{name} {}", list.join(", ")).trim_end().to_string());
            }
        }
    }
    lines.join("\n")
}

/// The name and arguments of a fact.
fn words(name: &str) -> Vec<String> {
    match kif::read(name).as_deref() {
        Ok([Expr { kind: ExprKind::List(list), .. }]) => list.iter().map(write_expr).collect(),
        _ => vec![name.to_string()],
    }
}

/// The lines of a grid, if all facts of a relation have the arguments column, row and content.
fn grid(game: &GdlGame, name: &str, tuples: &[Vec<String>]) -> Option<Vec<String>> {
    if tuples.iter().any(|t| t.len() != 3) {
        return None;
    }
    let prefix = format!("({name} ");
    let all = (0..game.info().facts).map(|f| game.fact_name(Fact(f))).filter(|n| n.starts_with(&prefix));
    let cells_of_board: Vec<Vec<String>> = all.map(|n| words(&n)[1..].to_vec()).filter(|w| w.len() == 3).collect();
    let axis = |i: usize| {
        let mut values: Vec<&String> = cells_of_board.iter().map(|p| &p[i]).collect();
        values.sort_by(|a, b| natural_order(a, b));
        values.dedup();
        values
    };
    let (columns, rows) = (axis(0), axis(1));
    if !(2..=30).contains(&columns.len()) || !(2..=30).contains(&rows.len()) {
        return None;
    }
    let mut cells: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for t in tuples {
        if cells.insert((&t[0], &t[1]), &t[2]).is_some() {
            return None; // two contents on one square: not a board
        }
    }
    let width = cells.values().map(|c| c.chars().count()).max().unwrap_or(1).min(6);
    let margin = rows.iter().map(|r| r.chars().count()).max().unwrap_or(1);
    let cell = |c: &str| format!("{:<width$}", c.chars().take(width).collect::<String>());
    let mut lines = Vec::new();
    for row in &rows {
        let squares = columns.iter().map(|c| match cells.get(&(c.as_str(), row.as_str())) {
            None | Some(&("b" | "blank" | "empty")) => cell("."),
            Some(content) => cell(content),
        });
        lines.push(format!("{row:>margin$} {}", squares.collect::<Vec<_>>().join(" ")).trim_end().to_string());
    }
    let header = columns.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" ");
    lines.push(format!("{:margin$} {}", "", header).trim_end().to_string());
    Some(lines)
}
