//! A model folded for search: facts in, outputs out, no allocation, well under a microsecond.
//!
//! The encoder is folded into one weight column per fact, so that the first layer of a state is the sum of the columns
//! of the facts that hold. Columns are integers on a grid of their own for each unit (fine enough that a whole sum is as
//! exact as an `f32`), because integer sums do not depend on their order: a state evaluated alone, in a batch of
//! siblings, or step by step along a line of play has the same bits. All that follows the first layer has a fixed
//! order of summation, the same in every path; [`Folded::plain`] spells it out and is the oracle of the tests.
//!
//! Three ways to ask, all with buffers that the caller keeps:
//! * [`Folded::forward`] for one state;
//! * [`Folded::push`] (or [`Folded::push_child`]) for each child of a node, then [`Folded::run`];
//! * [`Folded::start`], [`Folded::update`] with the facts that a move turns on and off, [`Folded::finish`].
//!
//! That facts are of the model's game and each listed once is the caller's contract, like the legality of a move.

mod body;
mod first;
mod side;

pub use side::{Side, SideLine};

use crate::head::softmax;
use crate::lanes::LANES;
use crate::{Actions, Encoder, Error, Head, Link, Net};
use body::Body;
use first::First;
use ludex_core::{Fact, Move, Payoffs, Player};
use wide::{f32x8, i32x8};

/// A net with its encoder, ready for search. Cheap to share between threads; made by [`crate::Model::fold`].
#[derive(Clone, Debug)]
pub struct Folded {
    first: First,
    body: Body,
    link: Link,
    head: Head,
    encoder: Encoder,
    outputs: usize,
}

/// Buffers for one evaluation at a time.
#[derive(Clone, Debug)]
pub struct Scratch {
    sums: Vec<i32x8>,
    z: Vec<f32x8>,
    y: Vec<f32x8>,
    out: Vec<f32>,
}

/// First-layer sums along a line of play.
#[derive(Clone, Debug)]
pub struct Line {
    sums: Vec<i32x8>, // one view after the other
}

/// States waiting to be evaluated together.
#[derive(Clone, Debug)]
pub struct Batch {
    sums: Vec<i32x8>,
    movers: Vec<Player>,
    scratch: Scratch,
    room: Vec<f32x8>,
}

/// The first layer with the encoder folded in: weights by column, bias, and the order of a cascade's units.
pub(crate) fn first_columns(net: &Net, encoder: &Encoder) -> (Vec<f32>, Vec<f32>, Vec<usize>) {
    let (_, weights, bias) = Body::new(net);
    let (columns, bias) = first::fold_encoder(&weights, &bias, encoder);
    let floats = |v: Vec<f64>| v.into_iter().map(|w| w as f32).collect();
    (floats(columns), floats(bias), body::order(net))
}

impl Batch {
    /// How many states wait.
    pub fn len(&self) -> usize {
        self.movers.len()
    }

    /// Whether no state waits.
    pub fn is_empty(&self) -> bool {
        self.movers.is_empty()
    }
}

impl Folded {
    /// Folds a net for an encoder; refused if they do not fit each other or the head.
    pub fn new(net: &Net, encoder: &Encoder, head: Head) -> Result<Self, Error> {
        net.check()?;
        if net.inputs() != encoder.inputs() {
            return Err(Error::Shape(format!("a net of {} inputs for {} encoded", net.inputs(), encoder.inputs())));
        }
        let wanted = match (head, encoder.action_moves()) {
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
        let first = First::new(&weights, &bias, encoder);
        Ok(Folded { first, body, link: net.link(), head, encoder: encoder.clone(), outputs: wanted })
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// What the outputs mean.
    pub fn head(&self) -> Head {
        self.head
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
        self.conclude(mover, z, raw, out);
    }

    /// What the outputs promise each player; `None` if the head has no value.
    pub fn payoffs(&self, out: &[f32], mover: Player) -> Option<Payoffs> {
        self.head.payoffs(out, self.encoder.viewer(mover))
    }

    /// For whom the outputs speak with this player to move.
    pub fn viewer(&self, mover: Player) -> Player {
        self.encoder.viewer(mover)
    }

    /// The scores of these moves: outputs of a [`Head::MoveScores`] or probabilities of a [`Head::PolicyValue`], the
    /// latter (and any softmax) adding up to 1 over just these moves.
    ///
    /// # Panics
    /// If the head has no moves.
    pub fn score_moves(&self, facts: &[Fact], mover: Player, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        assert!(matches!(self.head, Head::MoveScores { .. } | Head::PolicyValue { .. }), "the head scores no moves");
        let view = self.view(mover);
        if self.encoder.actions() == Actions::None {
            self.first.sum(view, facts, self.first.bias(), &mut s.sums);
            self.pick(view, moves, s, scores);
            return self.link_moves(scores);
        }
        let Scratch { sums, z, y, out } = s;
        let beside = matches!(self.encoder.actions(), Actions::Beside { .. });
        if beside {
            self.first.sum(view, facts, self.first.bias(), sums);
        }
        for (score, &m) in scores.iter_mut().zip(moves) {
            if beside {
                self.first.add_move(self.seen(m, view), sums);
            } else {
                self.first.sum_crossed(view, facts, self.seen(m, view), sums);
            }
            self.body.run(&self.first, sums, z, y);
            spill(z, out);
            self.link.apply(out);
            *score = out[0];
            if beside {
                self.first.remove_move(self.seen(m, view), sums);
            }
        }
    }

    /// Numbers in the order of [`Folded::score_moves`], for those who only compare: what every rising function would keep in
    /// order is left out.
    ///
    /// # Panics
    /// If the head has no moves.
    pub fn rank_moves(&self, facts: &[Fact], mover: Player, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        let rising = match self.link {
            Link::Each(act) => act.rises(),
            Link::Softmax | Link::SoftmaxAnd(_) => true,
        };
        if rising && !self.by_move() {
            let view = self.view(mover);
            self.first.sum(view, facts, self.first.bias(), &mut s.sums);
            self.pick(view, moves, s, scores);
        } else {
            self.score_moves(facts, mover, moves, s, scores);
        }
    }

    /// [`Folded::score_moves`] for the state at the end of a line, where no move is an input.
    pub fn score_line(&self, line: &Line, mover: Player, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        debug_assert!(!self.by_move());
        let (view, width) = (self.view(mover), self.first.width());
        s.sums.copy_from_slice(&line.sums[view * width..][..width]);
        self.pick(view, moves, s, scores);
        self.link_moves(scores);
    }

    /// From the first layer's sums to those of the outputs that stand for these moves.
    #[inline]
    fn pick(&self, view: usize, moves: &[Move], s: &mut Scratch, scores: &mut [f32]) {
        let Scratch { sums, z, y, .. } = s;
        self.body.run(&self.first, sums, z, y);
        for (score, &m) in scores.iter_mut().zip(moves) {
            let o = self.seen(m, view).index();
            *score = z[o / LANES].as_array()[o % LANES];
        }
    }

    /// Sums of moves to scores.
    fn link_moves(&self, scores: &mut [f32]) {
        match self.link {
            Link::Each(_) => self.link.apply(scores),
            Link::Softmax | Link::SoftmaxAnd(_) => softmax(scores),
        }
    }

    /// The move as the mover sees it.
    #[inline]
    fn seen(&self, m: Move, view: usize) -> Move {
        self.encoder.mirror().filter(|_| view == 1).map_or(m, |mirror| mirror.moves[m.index()])
    }

    /// Whether moves are inputs of the net, so that each is asked about by itself.
    pub fn by_move(&self) -> bool {
        self.encoder.actions() != Actions::None
    }

    /// Sums for a line of play; [`Folded::start`] fills them.
    pub fn line(&self) -> Line {
        Line { sums: vec![i32x8::ZERO; self.first.width() * self.first.views()] }
    }

    /// Makes `line` stand where `from` stands, without allocating.
    #[inline]
    pub fn rewind(&self, line: &mut Line, from: &Line) {
        line.sums.copy_from_slice(&from.sums);
    }

    /// Begins a line at the state with these facts.
    pub fn start(&self, line: &mut Line, facts: &[Fact]) {
        for (view, sums) in line.sums.chunks_exact_mut(self.first.width()).enumerate() {
            self.first.sum(view, facts, self.first.bias(), sums);
        }
    }

    /// Follows a move that turned these facts on and those off. Exact: any number of updates equals a new start.
    pub fn update(&self, line: &mut Line, on: &[Fact], off: &[Fact]) {
        for (view, sums) in line.sums.chunks_exact_mut(self.first.width()).enumerate() {
            self.first.add(view, on, sums);
            self.first.remove(view, off, sums);
        }
    }

    /// The outputs for the state at the end of a line.
    pub fn finish(&self, line: &Line, mover: Player, scratch: &mut Scratch, out: &mut [f32]) {
        let (view, width) = (self.view(mover), self.first.width());
        let Scratch { z, y, out: raw, .. } = scratch;
        self.body.run(&self.first, &line.sums[view * width..][..width], z, y);
        self.conclude(mover, z, raw, out);
    }

    /// An empty batch that fits this net; it grows to the largest number of states it has held, then never again.
    pub fn batch(&self) -> Batch {
        Batch { sums: vec![], movers: vec![], scratch: self.scratch(), room: vec![f32x8::ZERO; self.body.room()] }
    }

    /// Adds a state.
    pub fn push(&self, batch: &mut Batch, facts: &[Fact], mover: Player) {
        let row = self.grow(batch, mover);
        self.first.sum(self.view(mover), facts, self.first.bias(), row);
    }

    /// Adds the child of a line's last state that a move leads to, by the facts it turns on and off.
    pub fn push_child(&self, batch: &mut Batch, line: &Line, on: &[Fact], off: &[Fact], mover: Player) {
        let (view, width) = (self.view(mover), self.first.width());
        let row = self.grow(batch, mover);
        self.first.sum(view, on, &line.sums[view * width..][..width], row);
        self.first.remove(view, off, row);
    }

    fn grow<'a>(&self, batch: &'a mut Batch, mover: Player) -> &'a mut [i32x8] {
        let start = batch.movers.len() * self.first.width();
        batch.movers.push(mover);
        if batch.sums.len() < start + self.first.width() {
            batch.sums.resize(start + self.first.width(), i32x8::ZERO);
        }
        &mut batch.sums[start..][..self.first.width()]
    }

    /// The outputs of all states in the batch, one state after the other, and empties it.
    ///
    /// # Panics
    /// If `out` does not hold exactly that many numbers.
    pub fn run(&self, batch: &mut Batch, out: &mut [f32]) {
        let (n, width) = (batch.movers.len(), self.first.width());
        assert_eq!(out.len(), n * self.outputs, "room for the outputs of each state");
        match &self.body {
            Body::Chain(chain) => {
                chain.batch(&self.first, &batch.sums[..n * width], &mut batch.room, out);
                for (out, &mover) in out.chunks_exact_mut(self.outputs).zip(&batch.movers) {
                    batch.scratch.out.copy_from_slice(out);
                    self.output(mover, &mut batch.scratch.out, out);
                }
            }
            Body::Layers(_) => {
                for ((out, &mover), sums) in
                    out.chunks_exact_mut(self.outputs).zip(&batch.movers).zip(batch.sums.chunks_exact(width))
                {
                    let Scratch { z, y, out: raw, .. } = &mut batch.scratch;
                    self.body.run(&self.first, sums, z, y);
                    self.conclude(mover, z, raw, out);
                }
            }
        }
        batch.movers.clear();
    }

    /// The definition of all the above in plain loops: the oracle of the tests.
    pub fn plain(&self, facts: &[Fact], mover: Player) -> Vec<f32> {
        let z = self.first.plain(self.view(mover), facts);
        let mut raw = self.body.plain(z);
        let mut out = vec![0.0; self.outputs];
        self.output(mover, &mut raw, &mut out);
        out
    }

    fn view(&self, mover: Player) -> usize {
        (self.encoder.mirror().is_some() && mover == Player(1)) as usize
    }

    /// From the outputs' sums to the outputs; without leaving the registers in the usual case.
    #[inline(always)]
    fn conclude(&self, mover: Player, z: &[f32x8], raw: &mut [f32], out: &mut [f32]) {
        match self.link {
            Link::Each(act) if self.outputs <= LANES && !self.moved(mover) => {
                out.copy_from_slice(&act.lanes(z[0]).as_array()[..self.outputs]);
            }
            _ => {
                spill(z, raw);
                self.output(mover, raw, out);
            }
        }
    }

    /// Whether outputs are moves seen by the other player.
    fn moved(&self, mover: Player) -> bool {
        let moves = matches!(self.head, Head::MoveScores { .. } | Head::PolicyValue { .. }) && self.outputs > 1;
        moves && self.view(mover) == 1
    }

    /// Sums to outputs, back in the order of the real moves.
    #[inline]
    fn output(&self, mover: Player, raw: &mut [f32], out: &mut [f32]) {
        self.link.apply(raw);
        match self.encoder.mirror().filter(|_| self.moved(mover)) {
            Some(mirror) => {
                mirror.moves.iter().zip(out.iter_mut()).for_each(|(m, out)| *out = raw[m.index()]);
                let rest = mirror.moves.len();
                out[rest..].copy_from_slice(&raw[rest..]);
            }
            None => out.copy_from_slice(raw),
        }
    }
}

/// Registers as numbers.
#[inline(always)]
fn spill(z: &[f32x8], out: &mut [f32]) {
    out.chunks_mut(LANES).zip(z).for_each(|(out, z)| out.copy_from_slice(&z.as_array()[..out.len()]));
}
