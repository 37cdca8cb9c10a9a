//! The terminal of a person who plays: lines are edited, text is wrapped at its width, and Ctrl-C ends a search.
//! Where input or output is no terminal, lines are read and text is written as they are.

use crate::lines::{Line, read_line};
use crate::verbs::say;
use anyhow::Result;
use ludex_core::{Choice, Control, Stop};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::sync::{Arc, Mutex, PoisonError};

/// Shown while an agent thinks.
pub const THINKING: &str = "thinking ..";

/// The width of a line that shows progress, where a terminal does not tell its own.
const USUAL_WIDTH: usize = 80;

/// What boards are drawn with.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Style {
    /// Pieces in the colours of their owners, and marks.
    pub colour: bool,
    /// ● and ○ in place of X and O.
    pub discs: bool,
}

/// What came when a line was asked for.
pub enum Asked {
    /// The line.
    Line(String),
    /// A line that is too long to be kept.
    TooLong,
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// Where a person plays.
pub struct Terminal {
    /// What boards are drawn with.
    pub style: Style,
    /// Edits lines, with a history; `None` where nobody sits at a terminal that can.
    editor: Option<DefaultEditor>,
    /// Ends the search that runs.
    running: Arc<Mutex<Option<Stop>>>,
}

impl Terminal {
    /// The terminal on standard input and output.
    pub fn new() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let able = !["", "dumb"].contains(&variable("TERM").as_str());
        let interactive = stdin().is_terminal() && stdout().is_terminal() && able;
        let colour = interactive && variable("NO_COLOR").is_empty();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable).into_iter().find(|v| !v.is_empty());
        let unicode = locale.is_some_and(|l| ["utf-8", "utf8"].iter().any(|u| l.to_lowercase().ends_with(u)));
        let editor = interactive.then(|| DefaultEditor::new().ok()).flatten();
        let running = Arc::<Mutex<Option<Stop>>>::default();
        if editor.is_some() {
            end_searches_at_ctrl_c(running.clone());
        }
        Terminal { style: Style { colour, discs: colour && unicode }, editor, running }
    }

    /// Whether a person sits at a terminal that can edit lines.
    pub fn interactive(&self) -> bool {
        self.editor.is_some()
    }

    /// Waits for a line.
    pub fn ask(&mut self, prompt: &str) -> Result<Asked> {
        let Some(editor) = &mut self.editor else {
            if stdin().is_terminal() {
                print!("{prompt}");
                stdout().flush()?;
            }
            return Ok(match read_line(&mut stdin().lock())? {
                None => Asked::End,
                Some(Line::Text(line)) => Asked::Line(line),
                Some(Line::TooLong) => Asked::TooLong,
            });
        };
        match editor.readline(prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    let _ = editor.add_history_entry(line.trim()); // a line that is not remembered is still a line
                }
                Ok(Asked::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Asked::Interrupted),
            Err(ReadlineError::Eof) => Ok(Asked::End),
            Err(e) => Err(e.into()),
        }
    }

    /// Prints text, wrapped at the width of the terminal.
    pub fn say(&self, text: impl AsRef<str>) -> Result<()> {
        match self.width() {
            Some(width) => say(text.as_ref().lines().map(|l| wrap(l, width)).collect::<Vec<_>>().join("\n")),
            None => say(text),
        }
    }

    /// The width that lines may have; `None` if any.
    fn width(&self) -> Option<usize> {
        let (width, _) = terminal_size::terminal_size_of(stdout())?;
        Some(usize::from(width.0).max(20))
    }

    /// Begins a search: Ctrl-C ends it, and a line of text shows what it would choose now.
    pub fn watch(&self, progress: impl Fn(&Choice) -> String + Send + Sync + 'static) -> Watched<'_> {
        let mut watched = Watched { terminal: self, control: Control::default() };
        if !self.interactive() {
            return watched;
        }
        let width = self.width().unwrap_or(USUAL_WIDTH);
        let stop = Stop::new();
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop.clone());
        watched.control.stop = Some(stop);
        watched.control.progress = Some(Arc::new(move |c: &Choice| show_line(&progress(c), width)));
        watched.show(THINKING);
        watched
    }
}

/// A search that the person watches. When it is dropped, its line is erased.
pub struct Watched<'a> {
    terminal: &'a Terminal,
    /// Controls the search.
    pub control: Control,
}

impl Watched<'_> {
    /// Replaces the line that shows how the search goes.
    pub fn show(&self, text: &str) {
        if self.terminal.interactive() {
            show_line(text, self.terminal.width().unwrap_or(USUAL_WIDTH));
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        *self.terminal.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.show("");
    }
}

/// Replaces the line of the cursor. A terminal that has gone is noticed by whatever is printed next.
fn show_line(text: &str, width: usize) {
    let text: String = text.chars().take(width - 1).collect();
    let mut out = stdout().lock();
    let _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}

/// From now on Ctrl-C ends the search that runs, and the program if the search does not end. Where no handler can be set,
/// Ctrl-C ends the program.
fn end_searches_at_ctrl_c(running: Arc<Mutex<Option<Stop>>>) {
    let _ = ctrlc::set_handler(move || match &*running.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(stop) if stop.raised() => std::process::exit(130),
        Some(stop) => stop.raise(),
        None => {} // between a search and the prompt
    });
}

/// The line in lines of at most this width, broken at spaces; what follows the first is indented. Words that are longer
/// stay whole.
fn wrap(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_string();
    }
    let indent = line.chars().take_while(|&c| c == ' ').count();
    let (mut text, mut length) = (" ".repeat(indent), indent);
    let mut first = true;
    for word in line.split_whitespace() {
        let long = word.chars().count();
        if !std::mem::take(&mut first) {
            if length + 1 + long > width {
                text += &format!("\n{}", " ".repeat(indent + 2));
                length = indent + 2;
            } else {
                text.push(' ');
                length += 1;
            }
        }
        text += word;
        length += long;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_no_word_is_lost() {
        assert_eq!(wrap("a  short line", 20), "a  short line");
        assert_eq!(wrap("  a line that is too long", 12), "  a line\n    that is\n    too long");
        assert_eq!(wrap("unbreakableword and more", 8), "unbreakableword\n  and\n  more");
        assert_eq!(wrap("", 8), "");
    }
}
