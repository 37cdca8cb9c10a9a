//! How facts become the inputs of a net.

use crate::store::{Result, RunError};
use ludex_core::{Fact, GameInfo, Mirror};
use ludex_learn::{Encoder, InputCodes};
use ludex_play::Table;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// For whom a net speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// For player 0.
    Absolute,
    /// For the player to move, with roles mirrored; refused where they are not alike.
    Mover,
    /// For the player to move where the roles are alike, else for player 0.
    Auto,
}

/// How facts are numbered as inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// One input for each fact.
    Facts,
    /// One input for a fact and its image for the other role: 1, -1, or 0 if neither holds.
    Signed,
    /// The same, but facts that say who is to move or that a place is empty are no inputs.
    SignedCells,
    /// The input codes of a paper, for games that have them.
    Paper,
    /// The same, with one more input that says who is to move.
    PaperWithTurn,
}

fn unlike(info: &GameInfo, what: &str) -> RunError {
    RunError::Options(format!("the roles of {} are not alike: {what}", info.name))
}

/// The encoder for a view and a coding; refused where the game does not allow them.
pub fn encoder(table: &dyn Table, view: View, coding: Coding) -> Result<Encoder> {
    let info = table.info();
    let mut encoder = Encoder::facts(info.facts as usize);
    match (view, &info.mirror) {
        (View::Absolute, _) | (View::Auto, None) => {}
        (View::Mover | View::Auto, Some(mirror)) => encoder = encoder.mover_relative(mirror.clone())?,
        (View::Mover, None) => return Err(unlike(info, "the view must be absolute or auto")),
    }
    let apart = || unlike(info, "facts must be inputs by themselves");
    let codes = match (coding, &info.mirror) {
        (Coding::Facts, _) => return Ok(encoder),
        (Coding::Signed, Some(mirror)) => signed(mirror),
        (Coding::SignedCells, Some(mirror)) => signed_cells(table, mirror).ok_or_else(apart)?,
        (Coding::Signed | Coding::SignedCells, None) => return Err(apart()),
        (Coding::Paper | Coding::PaperWithTurn, _) => {
            let codes = ludex_games::paper_codes(info, coding == Coding::PaperWithTurn);
            let line = || RunError::Options(format!("no paper has input codes for {}: use facts", info.name));
            let codes = codes.ok_or_else(line)?;
            InputCodes { base: codes.base, by_fact: codes.codes }
        }
    };
    Ok(encoder.with_codes(codes)?)
}

/// One input for each two facts that are images of one another, +1 for the first and -1 for the second; facts that are their
/// own image are 1 or 0.
fn signed(mirror: &Mirror) -> InputCodes {
    let mut codes = vec![None; mirror.facts.len()];
    let mut inputs = 0;
    for (f, image) in mirror.facts.iter().enumerate().filter(|(f, image)| *f <= image.index()) {
        codes[f] = Some((inputs, 1.0));
        if f != image.index() {
            codes[image.index()] = Some((inputs, -1.0));
        }
        inputs += 1;
    }
    InputCodes { base: vec![0.0; inputs as usize], by_fact: codes }
}

/// Names tell what belongs together: `(cell 2 3 x)` and `(cell 2 3 o)` differ in one word. What is the same for both roles is
/// no input if it only says that nobody is there, and has one of its own otherwise; who is to move is no input.
fn signed_cells(table: &dyn Table, mirror: &Mirror) -> Option<InputCodes> {
    let words =
        |f: usize| table.fact_name(Fact(f as u32)).split_whitespace().map(String::from).collect::<Vec<String>>();
    let without = |words: &[String], k: usize| {
        let mut words = words.to_vec();
        words[k] = "_".into();
        words.join(" ")
    };
    let mut codes: Vec<Option<(u32, f32)>> = vec![None; mirror.facts.len()];
    let (mut inputs, mut places) = (0, HashSet::new());
    for (f, image) in mirror.facts.iter().enumerate().filter(|(f, image)| *f < image.index()) {
        let (a, b) = (words(f), words(image.index()));
        let differ: Vec<usize> = (0..a.len().min(b.len())).filter(|&k| a[k] != b[k]).collect();
        if a.len() != b.len() || differ.len() != 1 {
            return None;
        }
        if a[0].trim_start_matches('(') == "control" {
            continue;
        }
        places.insert(without(&a, differ[0]));
        (codes[f], codes[image.index()]) = (Some((inputs, 1.0)), Some((inputs, -1.0)));
        inputs += 1;
    }
    for (f, _) in mirror.facts.iter().enumerate().filter(|(f, image)| *f == image.index()) {
        let a = words(f);
        if !(0..a.len()).any(|k| places.contains(&without(&a, k))) {
            codes[f] = Some((inputs, 1.0));
            inputs += 1;
        }
    }
    (inputs > 0).then_some(InputCodes { base: vec![0.0; inputs as usize], by_fact: codes })
}
