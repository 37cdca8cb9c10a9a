//! Tables and figures as data, as Markdown and as text.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Display;

/// A table or figure of a paper, with our numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperTable {
    /// What the paper calls it: `Table 6`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// What readers must know: what differs, what is only quoted, where we fall short.
    pub notes: Vec<String>,
    /// The file of a plot.
    pub plot: Option<String>,
    /// Notes that come after those about what was found.
    #[serde(skip)]
    pub(crate) closing: Vec<String>,
}

/// What is known of a table beforehand; `papers/*.tables.toml` have it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TableText {
    /// Each `{}` in title, columns and notes stands for a value, in this order.
    title: String,
    /// The heads of the columns, between bars.
    columns: String,
    /// Rows of the paper, before ours.
    rows: Vec<Vec<String>>,
    /// Cells that the paper has in a row of ours.
    pub quoted: HashMap<String, Vec<String>>,
    /// What readers must know, whatever was found.
    notes: Vec<String>,
}

impl TableText {
    /// The table before our rows, with these values in title, columns and notes.
    pub fn table(self, name: &str, values: &[&dyn Display]) -> PaperTable {
        let mut values = values.iter();
        let mut fill = |text: &str| {
            let mut parts = text.split("{}");
            let first = parts.next().unwrap_or_default().to_string();
            parts.fold(first, |text, part| format!("{text}{}{part}", values.next().expect("a value for each place")))
        };
        let (title, columns) = (fill(&self.title), fill(&self.columns));
        let columns = columns.split('|').map(|c| c.trim().to_string()).collect();
        let (rows, closing) = (self.rows, self.notes.iter().map(|note| fill(note)).collect());
        PaperTable { name: name.into(), title, columns, rows, notes: vec![], plot: None, closing }
    }
}

impl PaperTable {
    /// Adds a row.
    pub(crate) fn row(&mut self, cells: &[&dyn Display]) {
        self.join(cells, &[], &[]);
    }

    /// Adds a row whose middle is made already.
    pub(crate) fn join(&mut self, head: &[&dyn Display], cells: &[String], tail: &[&dyn Display]) {
        let text = |c: &[&dyn Display]| c.iter().map(|c| c.to_string()).collect::<Vec<_>>();
        self.rows.push([&text(head)[..], cells, &text(tail)].concat());
    }

    /// Adds a note.
    pub(crate) fn note(&mut self, line: impl Into<String>) {
        self.notes.push(line.into());
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}: {}\n\n", self.name, self.title);
        if !self.columns.is_empty() {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            text += &line(&self.columns);
            text += &line(&vec!["---".to_string(); self.columns.len()]);
            self.rows.iter().for_each(|row| text += &line(row));
            text += "\n";
        }
        self.notes.iter().for_each(|note| text += &format!("* {note}\n"));
        if let Some(plot) = &self.plot {
            text += &format!("* plot: {plot}\n");
        }
        text
    }

    /// The table as text for a terminal.
    pub fn text(&self) -> String {
        let all = || [&self.columns].into_iter().chain(&self.rows);
        let width = |c: usize| all().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells =
                row.iter().enumerate().map(|(c, cell)| format!("{cell:w$}", w = widths.get(c).copied().unwrap_or(0)));
            format!("  {}\n", cells.collect::<Vec<_>>().join("   ").trim_end())
        };
        let mut text = format!("{}: {}\n\n", self.name, self.title);
        all().for_each(|row| text += &line(row));
        self.notes.iter().for_each(|note| text += &format!("  - {note}\n"));
        text
    }
}
