//! From facts to a net's inputs.
//!
//! Three choices, each independent of the others and none with knowledge of a game:
//! * facts as they are, or as the *mover* sees them: with player 1 to move, every fact (and move) is replaced by its image
//!   under the game's [`Mirror`], so that a net learns one side only;
//! * one input per fact, or a [`Table`] from fact to (input, code) for codings such as 0.25 / 0.5 / 0.75 or +1 / -1;
//! * the state alone, or with a move as further input ([`Actions`]), for nets that score one move at a time.
//!
//! Learners see encoded rows. Searches never encode: a loaded model folds all this into one weight column per fact
//! (`Folded`).

use crate::{Error, Row};
use ludex_core::{Fact, Mirror, Move, Player};
use serde::{Deserialize, Serialize};

/// How facts become inputs. Part of every model; its version is written into the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Encoder {
    facts: usize,
    mirror: Option<Mirror>,
    table: Option<Table>,
    actions: Actions,
}

/// Input `i` has the value `base[i]`, plus `code - base[i]` for each fact with `codes[fact] = (i, code)` that holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// The value of each input when none of its facts holds.
    pub base: Vec<f32>,
    /// For each fact its input and code, or nothing.
    pub codes: Vec<Option<(u32, f32)>>,
}

/// Whether a move is an input too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Actions {
    /// No.
    #[default]
    None,
    /// One more input per move.
    Beside {
        /// Moves of the game.
        moves: usize,
    },
    /// One input per pair of fact and move, so that even a linear net ranks moves by state.
    Crossed {
        /// Moves of the game.
        moves: usize,
    },
}

/// An encoded row, owned; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct Code {
    at: Vec<u32>,
    values: Vec<f32>,
    dense: Vec<f32>,
}

impl Code {
    /// The row.
    #[inline]
    pub fn row(&self) -> Row<'_> {
        if self.values.is_empty() { Row::ones(&self.at) } else { Row::new(&self.at, &self.values) }
    }
}

impl Encoder {
    /// The version of the codings described here.
    pub const VERSION: u32 = 1;

    /// One input per fact.
    pub fn facts(facts: usize) -> Self {
        Encoder { facts, mirror: None, table: None, actions: Actions::None }
    }

    /// The same, seen by the mover.
    pub fn relative(self, mirror: Mirror) -> Result<Self, Error> {
        if !involution(mirror.facts.iter().map(|f| f.index()), self.facts) {
            return Err(Error::Config(format!("the mirror is not a symmetry of {} facts", self.facts)));
        }
        if !involution(mirror.moves.iter().map(|m| m.index()), mirror.moves.len()) {
            return Err(Error::Config("the mirror is not a symmetry of the moves".into()));
        }
        let encoder = Encoder { mirror: Some(mirror), ..self };
        encoder.check_moves().map(|()| encoder)
    }

    /// The same with the inputs and codes of this table.
    pub fn coded(self, table: Table) -> Result<Self, Error> {
        if table.codes.len() != self.facts {
            return Err(Error::Config(format!("the table codes {} of {} facts", table.codes.len(), self.facts)));
        }
        if let Some((i, _)) = table.codes.iter().flatten().find(|(i, _)| *i as usize >= table.base.len()) {
            return Err(Error::Input { input: *i as usize, inputs: table.base.len() });
        }
        if !table.base.iter().chain(table.codes.iter().flatten().map(|(_, code)| code)).all(|v| v.is_finite()) {
            return Err(Error::Config("the table has a code that is not finite".into()));
        }
        let encoder = Encoder { table: Some(table), ..self };
        encoder.check_moves().map(|()| encoder)
    }

    /// The same with a move as further input.
    pub fn with(self, actions: Actions) -> Result<Self, Error> {
        let encoder = Encoder { actions, ..self };
        encoder.check_moves().map(|()| encoder)
    }

    fn check_moves(&self) -> Result<(), Error> {
        let moves = self.action_moves();
        match (&self.mirror, moves) {
            (Some(mirror), Some(moves)) if mirror.moves.len() != moves => {
                Err(Error::Config(format!("{moves} moves, but the mirror has {}", mirror.moves.len())))
            }
            _ if self.table.is_some() && matches!(self.actions, Actions::Crossed { .. }) => {
                Err(Error::Config("a table of codes cannot be crossed with moves".into()))
            }
            _ => Ok(()),
        }
    }

    /// The number of facts.
    pub fn fact_count(&self) -> usize {
        self.facts
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        let state = self.state_inputs();
        match self.actions {
            Actions::None => state,
            Actions::Beside { moves } => state + moves,
            Actions::Crossed { moves } => state * moves,
        }
    }

    fn state_inputs(&self) -> usize {
        self.table.as_ref().map_or(self.facts, |t| t.base.len())
    }

    /// Whether a move is an input, and how.
    pub fn actions(&self) -> Actions {
        self.actions
    }

    pub(crate) fn action_moves(&self) -> Option<usize> {
        match self.actions {
            Actions::None => None,
            Actions::Beside { moves } | Actions::Crossed { moves } => Some(moves),
        }
    }

    /// The permutation of roles, if inputs are seen by the mover.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.mirror.as_ref()
    }

    /// The table of codes, if there is one.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// For whom the outputs speak: the mover, or always player 0.
    pub fn viewer(&self, mover: Player) -> Player {
        if self.mirror.is_some() { mover } else { Player(0) }
    }

    /// The mirror to apply with this player to move.
    fn turned(&self, mover: Player) -> Option<&Mirror> {
        self.mirror.as_ref().filter(|_| mover == Player(1))
    }

    /// Replaces `out` by the inputs of a state.
    pub fn encode(&self, facts: &[Fact], mover: Player, out: &mut Code) {
        out.at.clear();
        out.values.clear();
        let mirror = self.turned(mover);
        let seen = facts.iter().map(|&f| mirror.map_or(f, |m| m.facts[f.index()]));
        let Some(table) = &self.table else {
            out.at.extend(seen.map(|f| f.0));
            return;
        };
        out.dense.clear();
        out.dense.extend_from_slice(&table.base);
        for (i, code) in seen.filter_map(|f| table.codes[f.index()]) {
            out.dense[i as usize] += code - table.base[i as usize];
        }
        for (i, &v) in out.dense.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            out.at.push(i as u32);
            out.values.push(v);
        }
    }

    /// Replaces `out` by the inputs of a state and a move.
    pub fn encode_action(&self, facts: &[Fact], mover: Player, m: Move, out: &mut Code) {
        self.encode(facts, mover, out);
        let m = self.turned(mover).map_or(m, |mirror| mirror.moves[m.index()]);
        match self.actions {
            Actions::None => {}
            Actions::Beside { .. } => {
                out.at.push(self.state_inputs() as u32 + m.0);
                if !out.values.is_empty() {
                    out.values.push(1.0);
                }
            }
            Actions::Crossed { moves } => out.at.iter_mut().for_each(|i| *i = *i * moves as u32 + m.0),
        }
    }
}

fn involution(images: impl Iterator<Item = usize>, n: usize) -> bool {
    let images: Vec<usize> = images.collect();
    images.len() == n && images.iter().enumerate().all(|(i, &j)| images.get(j) == Some(&i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(code: &Code) -> Vec<(usize, f32)> {
        code.row().iter().collect()
    }

    fn mirror() -> Mirror {
        Mirror { facts: [1, 0, 2, 4, 3].map(Fact).to_vec(), moves: [1, 0].map(Move).to_vec() }
    }

    #[test]
    fn the_mover_sees_the_mirrored_facts_and_moves() {
        let encoder = Encoder::facts(5).relative(mirror()).unwrap().with(Actions::Beside { moves: 2 }).unwrap();
        let mut code = Code::default();
        encoder.encode_action(&[Fact(0), Fact(3)], Player(0), Move(0), &mut code);
        assert_eq!(row(&code), [(0, 1.0), (3, 1.0), (5, 1.0)]);
        encoder.encode_action(&[Fact(0), Fact(3)], Player(1), Move(0), &mut code);
        assert_eq!(row(&code), [(1, 1.0), (4, 1.0), (6, 1.0)]);
    }

    #[test]
    fn a_table_gives_base_values_and_codes() {
        let table = Table { base: vec![0.0, 1.0], codes: vec![Some((0, 0.25)), Some((1, 0.5)), Some((1, 0.75)), None] };
        let encoder = Encoder::facts(4).coded(table).unwrap();
        let mut code = Code::default();
        encoder.encode(&[], Player(0), &mut code);
        assert_eq!(row(&code), [(1, 1.0)]);
        encoder.encode(&[Fact(0), Fact(2), Fact(3)], Player(1), &mut code);
        assert_eq!(row(&code), [(0, 0.25), (1, 0.75)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bad = Mirror { facts: [1, 2, 0, 3, 4].map(Fact).to_vec(), moves: vec![] };
        assert!(Encoder::facts(5).relative(bad).is_err());
        assert!(Encoder::facts(4).relative(mirror()).is_err());
        assert!(Encoder::facts(5).relative(mirror()).unwrap().with(Actions::Beside { moves: 3 }).is_err());
        let table = Table { base: vec![0.0], codes: vec![Some((1, 1.0))] };
        assert!(Encoder::facts(1).coded(table).is_err());
    }
}
