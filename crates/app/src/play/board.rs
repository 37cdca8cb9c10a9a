//! Boards for people: pieces as coloured discs, with marks on what the last move changed and on what can be taken.
//!
//! Works on the text that a position draws of itself and knows no game. A line of text below the board is told from the lines
//! of the board by its first word. Where the terminal has no colour, the text stays as it is.

use super::terminal::Style;
use std::collections::BTreeSet;

/// Places in a text: line and column, from 0.
pub type Places = BTreeSet<(usize, usize)>;

/// What is marked on a board.
#[derive(Default)]
pub struct Marks {
    /// Shown in reverse: what the last move changed.
    pub changed: Places,
    /// Underlined: what can be taken.
    pub threatened: Places,
}

/// The characters of the board by line.
fn grid(text: &str) -> Vec<Vec<char>> {
    text.lines().map(|l| l.chars().collect()).collect()
}

/// The places of the board at which the second text differs from the first.
pub fn difference(before: &str, after: &str) -> Places {
    let (before, after) = (grid(before), grid(after));
    if before.len() != after.len() {
        return Places::new(); // the boards are not drawn alike
    }
    let mut places = Places::new();
    for (i, (a, b)) in before.iter().zip(&after).enumerate().filter(|(_, (a, b))| !prose(a) && !prose(b)) {
        let at = |line: &[char], j: usize| line.get(j).copied().unwrap_or(' ');
        places.extend((0..a.len().max(b.len())).filter(|&j| at(a, j) != at(b, j)).map(|j| (i, j)));
    }
    places
}

/// The character at a place, if there is one.
pub fn at(text: &str, (line, column): (usize, usize)) -> Option<char> {
    text.lines().nth(line)?.chars().nth(column)
}

/// The places of all words that a place is in.
pub fn whole_words(text: &str, places: &Places) -> Places {
    let grid = grid(text);
    let word = |&(i, j): &(usize, usize)| {
        let span = grid.get(i).map_or(j..j + 1, |line| word_at(line, j));
        span.map(move |j| (i, j))
    };
    places.iter().flat_map(word).collect()
}

/// A line of text rather than of a board: it begins with a word, where a row begins with its number or one letter, or with the
/// name of a player.
fn prose(line: &[char]) -> bool {
    let word = line.iter().take_while(|c| c.is_alphabetic()).count();
    word > 1 || word == 1 && matches!(line[0], 'X' | 'O')
}

/// The line that names the columns: letters or numbers that follow one another.
fn header(line: &[char]) -> bool {
    let text: String = line.iter().collect();
    let labels: Vec<&str> = text.split_whitespace().collect();
    let number = |label: &str| match label.chars().collect::<Vec<_>>()[..] {
        [c] if c.is_ascii_alphabetic() => Some(c as u32),
        _ => label.parse().ok(),
    };
    labels.len() > 1 && labels.windows(2).all(|w| number(w[0]).is_some_and(|n| number(w[1]) == Some(n + 1)))
}

/// The letters and digits that a place is among; only itself if it is none of them.
fn word_at(line: &[char], j: usize) -> std::ops::Range<usize> {
    let part = |j: usize| line.get(j).is_some_and(|c| c.is_alphanumeric());
    if !part(j) {
        return j..j + 1;
    }
    let start = (0..j).rev().take_while(|&i| part(i)).last().unwrap_or(j);
    let end = (j..).take_while(|&i| part(i)).last().unwrap_or(j);
    start..end + 1
}

/// The player whose piece a word stands for: `x` and `o` in either case, or the name of a role, which boards cut after six
/// letters.
fn owner(word: &str, roles: &[String]) -> Option<usize> {
    let cut = |role: &str| role.chars().take(6).collect::<String>();
    match word {
        "x" | "X" => Some(0),
        "o" | "O" => Some(1),
        _ => roles.iter().position(|r| r.eq_ignore_ascii_case(word) || cut(r).eq_ignore_ascii_case(word)),
    }
}

/// How the boards of a game are drawn.
pub struct BoardStyle<'a> {
    roles: &'a [String],
    /// Capitals are other pieces than small letters, as kings are.
    kings: bool,
    style: Style,
}

impl<'a> BoardStyle<'a> {
    /// The style for a game whose first position is drawn so: if that has pieces in small letters, capitals are kings.
    pub fn new(roles: &'a [String], start: &str, style: Style) -> Self {
        let small = |line: &Vec<char>| (0..line.len()).any(|j| word_at(line, j).len() == 1 && "xo".contains(line[j]));
        let kings = grid(start).iter().any(|line| !header(line) && !prose(line) && small(line));
        BoardStyle { roles, kings, style }
    }

    /// How a piece of one character is drawn.
    fn disc(&self, c: char) -> char {
        match (c, self.kings) {
            ('X', true) => '◆',
            ('O', true) => '◇',
            ('X' | 'x', _) => '●',
            ('O' | 'o', _) => '○',
            _ => c,
        }
    }

    /// The board, with marks.
    pub fn draw(&self, text: &str, marks: &Marks) -> String {
        match self.style.colour {
            true => grid(text).iter().enumerate().map(|(i, l)| self.line(i, l, marks)).collect::<Vec<_>>().join("\n"),
            false => text.to_string(),
        }
    }

    fn line(&self, i: usize, line: &[char], marks: &Marks) -> String {
        let (labels, prose) = (header(line), prose(line));
        let alone = |j: usize| line.get(j).is_none_or(|c| *c == ' ');
        let mut drawn = String::new();
        for (j, &c) in line.iter().enumerate() {
            let span = word_at(line, j);
            let word: String = line[span.clone()].iter().collect();
            let owner = if labels { None } else { owner(&word, self.roles) };
            let empty = matches!(c, '-' | '.') && alone(j + 1) && (j == 0 || alone(j - 1)) && !prose;
            let shown = match (self.style.discs, owner.is_some() && span.len() == 1, empty) {
                // Below the board a player is named, not a piece.
                (true, true, _) if prose => self.disc(c.to_ascii_lowercase()),
                (true, true, _) => self.disc(c),
                (true, _, true) => '·',
                _ => c,
            };
            let mut codes: Vec<&str> = owner.map(|p| ["1;31", "1;36"][p.min(1)]).into_iter().collect();
            codes.extend(marks.changed.contains(&(i, j)).then_some("7"));
            codes.extend(marks.threatened.contains(&(i, j)).then_some("4"));
            drawn += &match codes.is_empty() {
                true => shown.to_string(),
                false => format!("\x1b[{}m{shown}\x1b[0m", codes.join(";")),
            };
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRETTY: Style = Style { colour: true, discs: true };

    fn roles() -> Vec<String> {
        ["x", "o"].map(String::from).to_vec()
    }

    fn draw(text: &str, roles: &[String], marks: &Marks, style: Style) -> String {
        BoardStyle::new(roles, "  1 - -\n    n o", style).draw(text, marks)
    }

    #[test]
    fn what_changed_on_the_board_is_found_and_the_text_below_is_not() {
        let before = "  1 X - -\n  2 - O -\n    a b c\nX to move";
        let after = "  1 X - X\n  2 - - -\n    a b c\nO to move";
        assert_eq!(difference(before, after), Places::from([(0, 8), (1, 6)]));
        assert_eq!(difference(before, before), Places::new());
        assert_eq!(difference(before, "another"), Places::new());
        // Lines of rulesheets end where their last square does.
        assert_eq!(difference("1 . wp", "1 . ."), Places::from([(0, 4), (0, 5)]));
        assert_eq!(difference("control white", "control black"), Places::new());
    }

    #[test]
    fn pieces_become_discs_and_labels_stay() {
        let text = "  1 X - o\n    m n o\nO to move";
        let drawn = draw(text, &roles(), &Marks::default(), PRETTY);
        let (x, o) = ("\x1b[1;31m●\x1b[0m", "\x1b[1;36m");
        assert_eq!(drawn, format!("  1 {x} · {o}○\x1b[0m\n    m n o\n{o}○\x1b[0m to move"));
        let letters = draw(text, &roles(), &Marks::default(), Style { colour: true, discs: false });
        assert_eq!(letters, format!("  1 {} - {o}o\x1b[0m\n    m n o\n{o}O\x1b[0m to move", x.replace('●', "X")));
        assert_eq!(draw(text, &roles(), &Marks::default(), Style::default()), text);
    }

    #[test]
    fn a_frame_is_left_alone_and_words_of_rulesheets_are_coloured() {
        let frame = "7  X-----O-----.\n   |     |     |";
        let drawn = draw(frame, &roles(), &Marks::default(), PRETTY);
        assert!(drawn.contains("●\x1b[0m-----\x1b[1;36m○\x1b[0m-----."), "{drawn}");
        let roles = ["white", "black"].map(String::from);
        let drawn = draw("1 white . black", &roles, &Marks::default(), PRETTY);
        assert!(drawn.starts_with("1 \x1b[1;31mw\x1b[0m") && drawn.ends_with("\x1b[1;36mk\x1b[0m"), "{drawn}");
    }

    #[test]
    fn where_men_are_small_letters_capitals_are_kings() {
        let (roles, start) = (roles(), "  1 x - o");
        let style = BoardStyle::new(&roles, start, PRETTY);
        let plain = |text: &str| {
            ["●", "○", "◆", "◇"]
                .into_iter()
                .filter(|d| style.draw(text, &Marks::default()).contains(d))
                .collect::<Vec<_>>()
        };
        assert_eq!(plain(start), ["●", "○"]);
        assert_eq!(plain("  1 X O"), ["◆", "◇"]);
        assert_eq!(plain("X to move"), ["●"]);
    }

    #[test]
    fn marks_are_drawn_on_their_places() {
        let marks = Marks { changed: Places::from([(0, 2)]), threatened: Places::from([(0, 0)]) };
        assert_eq!(draw("X -", &roles(), &marks, PRETTY), "\x1b[1;31;4m●\x1b[0m \x1b[7m-\x1b[0m");
        assert_eq!(whole_words("1 wp .", &Places::from([(0, 3), (0, 5)])), Places::from([(0, 2), (0, 3), (0, 5)]));
    }

    #[test]
    fn every_text_can_be_drawn() {
        for text in ["", "\n\n", "é x ü\n\t-", "X", "a b", "1"] {
            let all = (0..4).flat_map(|i| (0..9).map(move |j| (i, j))).collect();
            let marks = Marks { changed: all, threatened: whole_words(text, &Places::from([(0, 3), (7, 7)])) };
            draw(text, &roles(), &marks, PRETTY);
        }
    }
}
