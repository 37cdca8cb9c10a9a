//! What a person can type besides moves, and the texts that explain it.

use ludex_core::Move;
use ludex_play::{Table, listing};
use std::collections::BTreeSet;

/// What was typed.
#[derive(PartialEq, Eq, Debug)]
pub enum Command {
    /// An empty line.
    Nothing,
    Help,
    Rules,
    Moves,
    Hint,
    Eval,
    Undo,
    Switch,
    Show,
    Save(String),
    Load(String),
    Review,
    Resign,
    New,
    Rematch,
    Quit,
    /// Anything else: a move, or a slip.
    Move(String),
}

impl Command {
    /// Reads a line. Commands may be typed in any case; those that take no file stand alone.
    pub fn read(line: &str) -> Command {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(w, r)| (w, r.trim()));
        match (word.to_lowercase().as_str(), rest) {
            ("", _) => Command::Nothing,
            ("save", file) => Command::Save(file.into()),
            ("load", file) => Command::Load(file.into()),
            ("help" | "h" | "?", "") => Command::Help,
            ("rules", "") => Command::Rules,
            ("moves" | "legal", "") => Command::Moves,
            ("hint", "") => Command::Hint,
            ("eval", "") => Command::Eval,
            ("undo" | "u", "") => Command::Undo,
            ("switch", "") => Command::Switch,
            ("show", "") => Command::Show,
            ("review", "") => Command::Review,
            ("resign", "") => Command::Resign,
            ("new", "") => Command::New,
            ("rematch", "") => Command::Rematch,
            ("quit" | "exit" | "q", "") => Command::Quit,
            _ => Command::Move(line.into()),
        }
    }
}

/// What `help` says besides the legal moves.
pub const HELP: &str = "\
rules            how to play and how to type moves
moves  show      list legal moves, draw the board
hint  eval       ask for a move, for your chances
undo  switch     take back, exchange sides
save [FILE]      save the game; load FILE: go on
review           go over your mistakes
resign  quit     give up, leave (the game is kept)
new  rematch     begin again; with exchanged sides
Ctrl-C           makes an agent that thinks move";

/// Moves whose names are looked at for examples.
const EXAMPLES: u32 = 100_000;

/// What `rules` says: the game, the roles, the number of moves, and how moves are typed.
pub fn rules(table: &dyn Table) -> String {
    let info = table.info();
    let roles: Vec<String> = info.roles.iter().map(|r| r.to_uppercase()).collect();
    let start = table.start().legal().len();
    let mut text = vec![
        format!("{} ({})", info.title, info.name),
        format!("Players: {}. Moves: {start} at the start, {} in all.", roles.join(" and "), info.moves),
    ];
    match listing(info) {
        Some(listing) => text.push(listing.rules.into()),
        None => {
            let names = (0..info.moves.min(EXAMPLES)).map(|m| table.move_name(Move(m)));
            let (mut kinds, mut examples) = (BTreeSet::new(), Vec::new());
            for name in names {
                let kind = name.trim_start_matches('(').split([' ', ')']).next().unwrap_or_default().to_string();
                if kinds.len() < 8 && kinds.insert(kind) {
                    examples.push(name);
                }
            }
            text.push(format!("The rules are in the file {}.", info.name));
            text.push(format!("Moves such as {} may be typed without parentheses.", examples.join(", ")));
        }
    }
    if let Some(horizon) = info.horizon {
        text.push(format!("A game ends after {} moves at the latest.", horizon.plies));
    }
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case_and_everything_else_is_a_move() {
        assert_eq!(Command::read("  "), Command::Nothing);
        assert_eq!(Command::read("QUIT"), Command::Quit);
        assert_eq!(Command::read(" Save  My Game.toml "), Command::Save("My Game.toml".into()));
        assert_eq!(Command::read("save"), Command::Save(String::new()));
        for text in ["a1", "(mark 1 2)", "show me", "undo 3", "\u{fffd}"] {
            assert_eq!(Command::read(text), Command::Move(text.into()));
        }
    }

    #[test]
    fn the_rules_of_every_game_say_how_moves_are_typed() {
        for g in &ludex_play::GAMES {
            let table = ludex_play::open(g.name).unwrap();
            let text = rules(&*table);
            let typed = text.split([' ', '\n', ',', '.', ':']).filter_map(|w| table.parse_move(w)).count();
            assert!(typed > 0 || text.contains("h0,2"), "{text}");
            assert!(text.contains(&table.info().title) && text.lines().count() < 8, "{text}");
        }
        let sheet = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/tictactoe.kif");
        let text = rules(&*ludex_play::open(sheet).unwrap());
        assert!(text.contains("(mark 1 1)") && text.contains("tictactoe.kif"), "{text}");
    }
}
