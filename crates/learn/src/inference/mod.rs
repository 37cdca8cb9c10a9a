//! Nets for search: facts in, outputs out, no allocation, well under a microsecond.
//!
//! The encoder is folded into one weight column per fact, so that the first layer of a state is
//!   z = bias + Σ column(f)  over the facts f that hold,
//! which a move changes by a few columns only: the accumulator of NNUE (Nasu 2018). Columns are integers on a grid of
//! their own for each unit, fine enough that a whole sum is as exact as an `f32`. Integer sums do not depend on their
//! order, and all later layers have one fixed order of summation, so every way to evaluate a state gives the same bits.
//! [`InferenceNet::plain`] spells that computation out in plain loops; the tests compare every other way with it.
//!
//! Ways to evaluate, all with buffers that the caller keeps:
//! * one state: [`InferenceNet::forward`];
//! * many states in one call: [`InferenceNet::push`] or [`InferenceNet::push_child`] for each, then
//!   [`InferenceNet::run`] (a [`Batch`]);
//! * along a line of play: [`InferenceNet::refresh`], [`InferenceNet::update`], [`InferenceNet::evaluate`] (an
//!   [`Accumulator`]), or an [`AccumulatorStack`] in a search that takes moves back;
//! * moves of a linear net at every ply of a playout: a [`LinearScorer`].
//!
//! Not checked here: that facts are of the model's game and that each is listed once. That is the caller's contract,
//! like the legality of a move.

mod accumulator;
mod batch;
mod body;
mod first_layer;
mod linear;
mod nnue;

pub use accumulator::{Accumulator, AccumulatorStack};
pub use batch::Batch;
pub use linear::{LinearAccumulator, LinearScorer};
pub use nnue::{NnueStack, QuantisedNnue};

use crate::head::softmax;
use crate::simd::LANES;
use crate::{Encoder, Error, Head, Link, MoveInputs, Net};
use body::Body;
use first_layer::FirstLayer;
use ludex_core::{Fact, Move, Payoffs, Player};
use wide::{f32x8, i32x8};

/// A net with its encoder, laid out for fast evaluation. Immutable, so that threads share it; made by
/// [`crate::Model::inference_net`].
#[derive(Clone, Debug)]
pub struct InferenceNet {
    first: FirstLayer,
    body: Body,
    link: Link,
    head: Head,
    encoder: Encoder,
    outputs: usize,
}

/// Buffers for one evaluation at a time; made by [`InferenceNet::scratch`].
#[derive(Clone, Debug)]
pub struct Scratch {
    sums: Vec<i32x8>,
    z: Vec<f32x8>,
    y: Vec<f32x8>,
    out: Vec<f32>,
}

/// The first layer with the encoder folded in: weights by column, bias, and the order of a cascade's units.
pub(crate) fn first_columns(net: &Net, encoder: &Encoder) -> (Vec<f32>, Vec<f32>, Vec<usize>) {
    let (_, weights, bias) = Body::new(net);
    let (columns, bias) = first_layer::fold_encoder(&weights, &bias, encoder);
    let floats = |v: Vec<f64>| v.into_iter().map(|w| w as f32).collect();
    (floats(columns), floats(bias), body::order(net))
}

impl InferenceNet {
    /// Lays a net out for an encoder and a head; an error if the three do not fit together.
    pub fn new(net: &Net, encoder: &Encoder, head: Head) -> Result<Self, Error> {
        net.check()?;
        if let Net::Nnue(_) = net {
            return Err(Error::Shape("an NNUE is laid out by QuantisedNnue".into()));
        }
        if net.inputs() != encoder.inputs() {
            return Err(Error::Shape(format!("a net of {} inputs for {} encoded", net.inputs(), encoder.inputs())));
        }
        let wanted = match (head, encoder.input_moves()) {
            (Head::MoveScores { moves }, Some(m)) if moves == m => 1,
            (_, Some(_)) => return Err(Error::Shape("an encoder with moves needs the head of move scores".into())),
            (head, None) => head.outputs(),
        };
        if net.outputs() != wanted {
            return Err(Error::Shape(format!("a net of {} outputs for a head of {wanted}", net.outputs())));
        }
        if let (Head::MoveScores { moves } | Head::PolicyValue { moves }, Some(mirror)) = (head, encoder.mirror())
            && mirror.moves.len() != moves
        {
            return Err(Error::Shape(format!("{moves} moves, but the mirror has {}", mirror.moves.len())));
        }
        let (body, weights, bias) = Body::new(net);
        let first = FirstLayer::new(&weights, &bias, encoder);
        Ok(InferenceNet { first, body, link: net.link(), head, encoder: encoder.clone(), outputs: wanted })
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// What the outputs mean.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Whether a move is part of the input, so that each move needs an evaluation of its own.
    pub fn moves_are_inputs(&self) -> bool {
        self.encoder.move_inputs() != MoveInputs::None
    }

    /// The player whose view the outputs take with this player to move.
    pub fn viewer(&self, mover: Player) -> Player {
        self.encoder.viewer(mover)
    }

    /// Each player's expected payoff by these outputs; `None` if the head has no value.
    pub fn payoffs(&self, out: &[f32], mover: Player) -> Option<Payoffs> {
        self.head.payoffs(out, self.encoder.viewer(mover))
    }

    /// Buffers that fit this net.
    pub fn scratch(&self) -> Scratch {
        let wide = self.body.widest().max(self.first.width());
        Scratch {
            sums: vec![i32x8::ZERO; self.first.width()],
            z: vec![f32x8::ZERO; wide],
            y: vec![f32x8::ZERO; wide],
            out: vec![0.0; self.outputs],
        }
    }

    /// The outputs for one state.
    pub fn forward(&self, facts: &[Fact], mover: Player, scratch: &mut Scratch, out: &mut [f32]) {
        let Scratch { sums, z, y, out: raw } = scratch;
        self.first.sum(self.view(mover), facts, self.first.bias(), sums);
        self.body.run(&self.first, sums, z, y);
        self.write_outputs(mover, z, raw, out);
    }

    /// The outputs for one state in plain loops: slow, the reference for the bits of every other way to evaluate.
    pub fn plain(&self, facts: &[Fact], mover: Player) -> Vec<f32> {
        let z = self.first.plain(self.view(mover), facts);
        let mut raw = self.body.plain(z);
        let mut out = vec![0.0; self.outputs];
        self.apply_link(mover, &mut raw, &mut out);
        out
    }

    /// The scores of these moves: outputs of a [`Head::MoveScores`] or probabilities of a [`Head::PolicyValue`], the
    /// latter (and any softmax) adding up to 1 over just these moves.
    ///
    /// # Panics
    /// If the head has no moves.
    pub fn score_moves(&self, facts: &[Fact], mover: Player, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        assert!(matches!(self.head, Head::MoveScores { .. } | Head::PolicyValue { .. }), "the head scores no moves");
        let view = self.view(mover);
        if self.encoder.move_inputs() == MoveInputs::None {
            self.first.sum(view, facts, self.first.bias(), &mut s.sums);
            self.move_sums(view, moves, s, scores);
            return self.link_moves(scores);
        }
        let Scratch { sums, z, y, out } = s;
        let beside = matches!(self.encoder.move_inputs(), MoveInputs::Beside { .. });
        if beside {
            self.first.sum(view, facts, self.first.bias(), sums);
        }
        for (score, &m) in scores.iter_mut().zip(moves) {
            if beside {
                self.first.add_move(self.mirrored(m, view), sums);
            } else {
                self.first.sum_crossed(view, facts, self.mirrored(m, view), sums);
            }
            self.body.run(&self.first, sums, z, y);
            unpack(z, out);
            self.link.apply(out);
            *score = out[0];
            if beside {
                self.first.remove_move(self.mirrored(m, view), sums);
            }
        }
    }

    /// Numbers in the order of [`InferenceNet::score_moves`], for callers that only compare them: a last step that is
    /// monotone, such as a softmax, is left out.
    ///
    /// # Panics
    /// If the head has no moves.
    pub fn rank_moves(&self, facts: &[Fact], mover: Player, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        let monotone = match self.link {
            Link::Each(act) => act.is_monotone(),
            Link::Softmax | Link::SoftmaxAnd(_) => true,
        };
        if monotone && !self.moves_are_inputs() {
            let view = self.view(mover);
            self.first.sum(view, facts, self.first.bias(), &mut s.sums);
            self.move_sums(view, moves, s, scores);
        } else {
            self.score_moves(facts, mover, moves, s, scores);
        }
    }

    /// From the first layer's sums, in `s`, to the sums of the outputs that stand for these moves.
    #[inline]
    fn move_sums(&self, view: usize, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        let Scratch { sums, z, y, .. } = s;
        self.body.run(&self.first, sums, z, y);
        for (score, &m) in scores.iter_mut().zip(moves) {
            let o = self.mirrored(m, view).index();
            *score = z[o / LANES].as_array()[o % LANES];
        }
    }

    /// From the sums of moves to their scores, in place.
    fn link_moves(&self, scores: &mut [f32]) {
        match self.link {
            Link::Each(_) => self.link.apply(scores),
            Link::Softmax | Link::SoftmaxAnd(_) => softmax(scores),
        }
    }

    /// 1 if facts and moves are seen through the mirror with this player to move, else 0.
    fn view(&self, mover: Player) -> usize {
        (self.encoder.mirror().is_some() && mover == Player(1)) as usize
    }

    /// The move that this one is in a view.
    #[inline]
    fn mirrored(&self, m: Move, view: usize) -> Move {
        self.encoder.mirror().filter(|_| view == 1).map_or(m, |mirror| mirror.moves[m.index()])
    }

    /// From the outputs' sums to the outputs; without leaving the registers in the usual case.
    #[inline(always)]
    fn write_outputs(&self, mover: Player, z: &[f32x8], raw: &mut [f32], out: &mut [f32]) {
        match self.link {
            Link::Each(act) if self.outputs <= LANES && !self.permutes_outputs(mover) => {
                out.copy_from_slice(&act.apply_x8(z[0]).as_array()[..self.outputs]);
            }
            _ => {
                unpack(z, raw);
                self.apply_link(mover, raw, out);
            }
        }
    }

    /// Whether outputs are moves seen through the mirror.
    fn permutes_outputs(&self, mover: Player) -> bool {
        let moves = matches!(self.head, Head::MoveScores { .. } | Head::PolicyValue { .. }) && self.outputs > 1;
        moves && self.view(mover) == 1
    }

    /// From the outputs' sums to the outputs, moves in the game's own order.
    #[inline]
    fn apply_link(&self, mover: Player, raw: &mut [f32], out: &mut [f32]) {
        self.link.apply(raw);
        match self.encoder.mirror().filter(|_| self.permutes_outputs(mover)) {
            Some(mirror) => {
                mirror.moves.iter().zip(out.iter_mut()).for_each(|(m, out)| *out = raw[m.index()]);
                let rest = mirror.moves.len();
                out[rest..].copy_from_slice(&raw[rest..]);
            }
            None => out.copy_from_slice(raw),
        }
    }
}

/// Registers to numbers.
#[inline(always)]
fn unpack(z: &[f32x8], out: &mut [f32]) {
    out.chunks_mut(LANES).zip(z).for_each(|(out, z)| out.copy_from_slice(&z.as_array()[..out.len()]));
}
