//! From what a person types to a move: in any case, and without the parentheses of a rulesheet.

use ludex_core::Move;
use ludex_play::Table;

/// What typed text means among the legal moves.
#[derive(PartialEq, Eq, Debug)]
pub enum Meaning {
    /// This move.
    Move(Move),
    /// One of several.
    Ambiguous(Vec<Move>),
    /// None.
    Nothing,
}

/// Whether the words of a name fit the words that were typed.
type Fit = fn(&[String], &[String]) -> bool;

/// Finds the move: by its name in any case; then by its words, that is, without parentheses and commas; then by its words
/// without the first (`1 2` for `(mark 1 2)`); then by its first words.
pub fn find(table: &dyn Table, legal: &[Move], text: &str) -> Meaning {
    let forms = [text.to_string(), text.to_lowercase(), text.to_uppercase()];
    if let Some(m) = forms.iter().find_map(|t| table.parse_move(t).filter(|m| legal.contains(m))) {
        return Meaning::Move(m);
    }
    let typed = words(text);
    if typed.is_empty() {
        return Meaning::Nothing;
    }
    let named: Vec<(Move, Vec<String>)> = legal.iter().map(|&m| (m, words(&table.move_name(m)))).collect();
    let fits: [Fit; 3] = [
        |name, typed| name == typed,
        |name, typed| name.get(1..) == Some(typed),
        |name, typed| name.starts_with(typed),
    ];
    for fit in fits {
        let found: Vec<Move> = named.iter().filter(|(_, name)| fit(name, &typed)).map(|&(m, _)| m).collect();
        match found[..] {
            [] => {}
            [m] => return Meaning::Move(m),
            _ => return Meaning::Ambiguous(found),
        }
    }
    Meaning::Nothing
}

/// The words of a name, in lower case.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || "(),".contains(c))
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn meaning(table: &Arc<dyn Table>, position: &str, text: &str) -> String {
        let legal = table.position(position).unwrap().legal();
        match find(&**table, &legal, text) {
            Meaning::Move(m) => table.move_name(m),
            Meaning::Ambiguous(moves) => format!("{} moves", moves.len()),
            Meaning::Nothing => "nothing".into(),
        }
    }

    #[test]
    fn a_move_is_found_in_any_case() {
        let table = ludex_play::open("othello").unwrap();
        let start = table.start().text();
        assert_eq!(meaning(&table, &start, "D3"), "d3");
        for other in ["d4", "a", "", "( )", "d3 d3", "pass"] {
            assert_eq!(meaning(&table, &start, other), "nothing", "{other}");
        }
        let dots = ludex_play::open("dots:2x2").unwrap();
        for typed in ["h0,1", "H0,1", "h0 1"] {
            assert_eq!(meaning(&dots, &dots.start().text(), typed), "h0,1");
        }
    }

    #[test]
    fn a_rulesheet_needs_no_parentheses() {
        let sheet = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/tictactoe.kif");
        let table = ludex_play::open(sheet).unwrap();
        for typed in ["(mark 1 2)", "mark 1 2", "Mark 1 2", "1 2", "(1 2)", "1,2"] {
            assert_eq!(meaning(&table, "start", typed), "(mark 1 2)", "{typed}");
        }
        assert_eq!(meaning(&table, "start", "mark 1"), "3 moves");
        assert_eq!(meaning(&table, "start", "mark"), "9 moves");
        for other in ["1", "2 4", "mark 1 2 3", "noop", "mark1 2"] {
            assert_eq!(meaning(&table, "start", other), "nothing", "{other}");
        }
    }
}
