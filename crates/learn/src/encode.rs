//! From facts to a net's inputs.
//!
//! Independent choices, none with knowledge of a game:
//! * facts as they are, or relative to the mover: with player 1 to move, every fact and move is replaced by its image
//!   under the game's [`Mirror`], so that a net learns the view of one player only;
//! * one input per fact, or [`InputCodes`] that give several facts one input, for codings such as 0.25 / 0.5 / 0.75 or
//!   +1 / -1;
//! * the state alone, or the state and a move ([`MoveInputs`]), for nets that score one move at a time, or the state and who
//!   moves, for nets with weights for each mover.
//!
//! Learners see encoded rows. Searches do not encode: [`crate::InferenceNet`] folds the encoder into the first layer.
//! Planes of a board and convolutions are not offered: a fact has no place on a board here.

use crate::{Error, Row};
use ludex_core::{Fact, Mirror, Move, Player};
use serde::{Deserialize, Serialize};

/// How facts become a net's inputs. Part of every model file.
#[derive(Clone, PartialEq, Debug)]
pub struct Encoder {
    facts: usize,
    mirror: Option<Mirror>,
    codes: Option<InputCodes>,
    move_inputs: MoveInputs,
    /// Inputs that say who moves, one for each player; 0 if there are none.
    movers: usize,
}

/// Inputs that several facts share: input `i` has the value `base[i]`, plus `code - base[i]` for each fact with
/// `by_fact[fact] = (i, code)` that holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InputCodes {
    /// The value of each input when none of its facts holds.
    pub base: Vec<f32>,
    /// The input and the code of each fact; `None` if it has no influence.
    pub by_fact: Vec<Option<(u32, f32)>>,
}

/// Whether a move is an input of the net too, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MoveInputs {
    /// The state is the only input.
    #[default]
    None,
    /// One input per fact and one per move.
    Beside {
        /// The number of moves of the game.
        moves: usize,
    },
    /// One input per pair of fact and move, so that even a linear net ranks moves differently in different states.
    Crossed {
        /// The number of moves of the game.
        moves: usize,
    },
}

/// A buffer for the inputs of one state, filled by [`Encoder::encode`].
#[derive(Clone, Debug, Default)]
pub struct EncodedRow {
    indices: Vec<u32>,
    values: Vec<f32>,
    dense: Vec<f32>,
}

impl EncodedRow {
    /// The inputs.
    #[inline]
    pub fn row(&self) -> Row<'_> {
        if self.values.is_empty() { Row::ones(&self.indices) } else { Row::new(&self.indices, &self.values) }
    }
}

impl Encoder {
    /// The version of the encodings described here, written into model files.
    pub const VERSION: u32 = 1;

    /// One input per fact, for a game of this many facts.
    pub fn facts(facts: usize) -> Self {
        Encoder { facts, mirror: None, codes: None, move_inputs: MoveInputs::None, movers: 0 }
    }

    /// The same encoder relative to the mover, by this mirror.
    pub fn mover_relative(self, mirror: Mirror) -> Result<Self, Error> {
        if !involution(mirror.facts.iter().map(|f| f.index()), self.facts) {
            return Err(Error::Config(format!("the mirror is not a symmetry of {} facts", self.facts)));
        }
        if !involution(mirror.moves.iter().map(|m| m.index()), mirror.moves.len()) {
            return Err(Error::Config("the mirror is not a symmetry of the moves".into()));
        }
        let encoder = Encoder { mirror: Some(mirror), ..self };
        encoder.check_moves().map(|()| encoder)
    }

    /// The same encoder with these input codes.
    pub fn with_codes(self, codes: InputCodes) -> Result<Self, Error> {
        if codes.by_fact.len() != self.facts {
            return Err(Error::Config(format!("the codes are for {} of {} facts", codes.by_fact.len(), self.facts)));
        }
        if let Some((i, _)) = codes.by_fact.iter().flatten().find(|(i, _)| *i as usize >= codes.base.len()) {
            return Err(Error::Input { input: *i as usize, inputs: codes.base.len() });
        }
        if !codes.base.iter().chain(codes.by_fact.iter().flatten().map(|(_, code)| code)).all(|v| v.is_finite()) {
            return Err(Error::Config("there is a code that is not finite".into()));
        }
        let encoder = Encoder { codes: Some(codes), ..self };
        encoder.check_moves().map(|()| encoder)
    }

    /// The same encoder with one more input for each of so many players: who moves. Outputs then take the mover's view. For
    /// nets that judge for each mover by weights of their own.
    pub fn with_movers(self, movers: usize) -> Result<Self, Error> {
        if self.mirror.is_some() || self.codes.is_some() || self.move_inputs != MoveInputs::None || movers == 0 {
            return Err(Error::Config("who moves is an input beside plain facts only".into()));
        }
        Ok(Encoder { movers, ..self })
    }

    /// The number of inputs that say who moves.
    pub fn movers(&self) -> usize {
        self.movers
    }

    /// The same encoder with moves as inputs.
    pub fn with_moves(self, move_inputs: MoveInputs) -> Result<Self, Error> {
        let encoder = Encoder { move_inputs, ..self };
        encoder.check_moves().map(|()| encoder)
    }

    fn check_moves(&self) -> Result<(), Error> {
        let moves = self.input_moves();
        match (&self.mirror, moves) {
            (Some(mirror), Some(moves)) if mirror.moves.len() != moves => {
                Err(Error::Config(format!("{moves} moves, but the mirror has {}", mirror.moves.len())))
            }
            _ if self.codes.is_some() && matches!(self.move_inputs, MoveInputs::Crossed { .. }) => {
                Err(Error::Config("input codes cannot be crossed with moves".into()))
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
        match self.move_inputs {
            MoveInputs::None => state,
            MoveInputs::Beside { moves } => state + moves,
            MoveInputs::Crossed { moves } => state * moves,
        }
    }

    fn state_inputs(&self) -> usize {
        self.codes.as_ref().map_or(self.facts, |c| c.base.len()) + self.movers
    }

    /// Whether a move is an input, and how.
    pub fn move_inputs(&self) -> MoveInputs {
        self.move_inputs
    }

    pub(crate) fn input_moves(&self) -> Option<usize> {
        match self.move_inputs {
            MoveInputs::None => None,
            MoveInputs::Beside { moves } | MoveInputs::Crossed { moves } => Some(moves),
        }
    }

    /// The mirror, if inputs are relative to the mover.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.mirror.as_ref()
    }

    /// The input codes, if there are any.
    pub fn codes(&self) -> Option<&InputCodes> {
        self.codes.as_ref()
    }

    /// The player whose view inputs and outputs take: the mover, or always player 0.
    pub fn viewer(&self, mover: Player) -> Player {
        if self.mirror.is_some() || self.movers > 0 { mover } else { Player(0) }
    }

    /// The mirror to apply with this player to move.
    fn mirror_for(&self, mover: Player) -> Option<&Mirror> {
        self.mirror.as_ref().filter(|_| mover == Player(1))
    }

    /// Replaces `out` by the inputs of a state.
    pub fn encode(&self, facts: &[Fact], mover: Player, out: &mut EncodedRow) {
        out.indices.clear();
        out.values.clear();
        let mirror = self.mirror_for(mover);
        let seen = facts.iter().map(|&f| mirror.map_or(f, |m| m.facts[f.index()]));
        let Some(codes) = &self.codes else {
            out.indices.extend(seen.map(|f| f.0));
            if self.movers > 0 {
                out.indices.push(self.facts as u32 + mover.0 as u32);
            }
            return;
        };
        out.dense.clear();
        out.dense.extend_from_slice(&codes.base);
        for (i, code) in seen.filter_map(|f| codes.by_fact[f.index()]) {
            out.dense[i as usize] += code - codes.base[i as usize];
        }
        for (i, &v) in out.dense.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            out.indices.push(i as u32);
            out.values.push(v);
        }
    }

    /// Replaces `out` by the inputs of a state and a move.
    pub fn encode_action(&self, facts: &[Fact], mover: Player, m: Move, out: &mut EncodedRow) {
        self.encode(facts, mover, out);
        let m = self.mirror_for(mover).map_or(m, |mirror| mirror.moves[m.index()]);
        match self.move_inputs {
            MoveInputs::None => {}
            MoveInputs::Beside { .. } => {
                out.indices.push(self.state_inputs() as u32 + m.0);
                if !out.values.is_empty() {
                    out.values.push(1.0);
                }
            }
            MoveInputs::Crossed { moves } => out.indices.iter_mut().for_each(|i| *i = *i * moves as u32 + m.0),
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

    fn row(code: &EncodedRow) -> Vec<(usize, f32)> {
        code.row().iter().collect()
    }

    fn mirror() -> Mirror {
        Mirror { facts: [1, 0, 2, 4, 3].map(Fact).to_vec(), moves: [1, 0].map(Move).to_vec() }
    }

    #[test]
    fn the_mover_sees_the_mirrored_facts_and_moves() {
        let encoder =
            Encoder::facts(5).mover_relative(mirror()).unwrap().with_moves(MoveInputs::Beside { moves: 2 }).unwrap();
        let mut code = EncodedRow::default();
        encoder.encode_action(&[Fact(0), Fact(3)], Player(0), Move(0), &mut code);
        assert_eq!(row(&code), [(0, 1.0), (3, 1.0), (5, 1.0)]);
        encoder.encode_action(&[Fact(0), Fact(3)], Player(1), Move(0), &mut code);
        assert_eq!(row(&code), [(1, 1.0), (4, 1.0), (6, 1.0)]);
    }

    #[test]
    fn input_codes_give_base_values_and_codes() {
        let codes =
            InputCodes { base: vec![0.0, 1.0], by_fact: vec![Some((0, 0.25)), Some((1, 0.5)), Some((1, 0.75)), None] };
        let encoder = Encoder::facts(4).with_codes(codes).unwrap();
        let mut code = EncodedRow::default();
        encoder.encode(&[], Player(0), &mut code);
        assert_eq!(row(&code), [(1, 1.0)]);
        encoder.encode(&[Fact(0), Fact(2), Fact(3)], Player(1), &mut code);
        assert_eq!(row(&code), [(0, 0.25), (1, 0.75)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bad = Mirror { facts: [1, 2, 0, 3, 4].map(Fact).to_vec(), moves: vec![] };
        assert!(Encoder::facts(5).mover_relative(bad).is_err());
        assert!(Encoder::facts(4).mover_relative(mirror()).is_err());
        assert!(
            Encoder::facts(5).mover_relative(mirror()).unwrap().with_moves(MoveInputs::Beside { moves: 3 }).is_err()
        );
        let codes = InputCodes { base: vec![0.0], by_fact: vec![Some((1, 1.0))] };
        assert!(Encoder::facts(1).with_codes(codes).is_err());
    }
}
