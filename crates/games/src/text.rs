//! Reading and writing of squares, fields and boards, which the position formats of all games share.

use ludex_core::{Player, TextError};

/// The names of the roles in positions.
pub(crate) const LETTERS: [char; 2] = ['X', 'O'];
/// The names of the roles in facts.
pub(crate) const ROLES: [&str; 2] = ["x", "o"];

/// An error with this message.
pub(crate) fn refuse<T>(line: impl Into<String>) -> Result<T, TextError> {
    Err(TextError::new(line))
}

/// The name of a square; column and row count from 0: (2, 4) is `c5`.
pub(crate) fn square(col: usize, row: usize) -> String {
    format!("{}{}", (b'a' + col as u8) as char, row + 1)
}

/// Parses the name of a square, as [`square`] writes it.
pub(crate) fn parse_square(text: &str, cols: usize, rows: usize) -> Option<(usize, usize)> {
    let letter = *text.as_bytes().first()?;
    let col = (letter as usize).checked_sub(b'a' as usize).filter(|&c| c < cols)?;
    let digits = &text[1..];
    let row = digits.parse::<usize>().ok().filter(|&r| r >= 1 && r <= rows && !digits.starts_with(['0', '+']))?;
    Some((col, row - 1))
}

/// A position split at spaces into its words and its `key=value` fields.
pub(crate) struct Fields<'a> {
    pub words: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Fields<'a> {
    /// Splits a position, which must have this number of words. `form` describes the position in the error message.
    pub fn read(text: &'a str, words: usize, form: &str) -> Result<Self, TextError> {
        let (options, plain): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(|w| w.contains('='));
        if plain.len() != words {
            return refuse(format!("a position reads {form}, not \"{}\"", excerpt(text)));
        }
        let options = options.iter().filter_map(|w| w.split_once('=')).collect();
        Ok(Fields { words: plain, options })
    }

    /// Removes a field and returns its value.
    pub fn take(&mut self, key: &str) -> Option<&'a str> {
        let i = self.options.iter().position(|(k, _)| *k == key)?;
        Some(self.options.remove(i).1)
    }

    /// Removes a field and returns its value as a number of at most `most`.
    pub fn number(&mut self, key: &str, most: u32) -> Result<Option<u32>, TextError> {
        match self.take(key) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(n) if n <= most => Ok(Some(n)),
                _ => refuse(format!("{key}={} is not a number from 0 to {most}", excerpt(text))),
            },
        }
    }

    /// Fails if a field has not been removed.
    pub fn finish(self) -> Result<(), TextError> {
        match self.options.first() {
            Some((key, _)) => refuse(format!("unknown or repeated field {}=", excerpt(key))),
            None => Ok(()),
        }
    }
}

/// Parses the letter of the mover.
pub(crate) fn parse_mover(text: &str) -> Result<Player, TextError> {
    match text {
        "X" | "x" => Ok(Player(0)),
        "O" | "o" => Ok(Player(1)),
        _ => refuse(format!("the mover is X or O, not \"{}\"", excerpt(text))),
    }
}

/// The beginning of a text, shortened to 40 characters and without control characters, for error messages.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().count() > 40 {
        short.push_str("..");
    }
    short
}

/// A board with the labels of rows at the left and those of columns below. Rows are given from the top.
pub(crate) fn grid(rows: impl IntoIterator<Item = (String, Vec<char>)>, columns: &[String]) -> String {
    let width = 1 + columns.iter().map(String::len).max().unwrap_or(1);
    let mut text = String::new();
    for (label, cells) in rows {
        text += &format!("{label:>3}");
        cells.iter().for_each(|c| text += &format!("{c:>width$}"));
        text += "\n";
    }
    text += "   ";
    columns.iter().for_each(|c| text += &format!("{c:>width$}"));
    text
}

/// The column letters `a`, `b`, ..
pub(crate) fn letters(cols: usize) -> Vec<String> {
    (0..cols).map(|c| ((b'a' + c as u8) as char).to_string()).collect()
}

/// The line below a board: who is to move, or the result.
pub(crate) fn caption(mover: Player, outcome: Option<ludex_core::Payoffs>) -> String {
    match outcome {
        None => format!("{} to move", LETTERS[mover.index()]),
        Some(p) if p[Player(0)] == p[Player(1)] => "draw".into(),
        Some(p) => format!("{} won", LETTERS[(p[Player(0)] < p[Player(1)]) as usize]),
    }
}

/// Exchanges the facts `2i` and `2i + 1` of the first `pairs` pairs, as most games number the facts of `x` and `o`.
pub(crate) fn swap_pairs(pairs: u32) -> impl Fn(u32) -> u32 {
    move |f| if f < 2 * pairs { f ^ 1 } else { f }
}
