//! The value of every move in a state, learned one example at a time: the Q of SARSA.
//!
//! What a regressor sees of a state s (its facts) and a move a, by [`Inputs`]:
//!
//!   beside    s and a                linear: Q = w.s + u_a, so that the order of moves does not depend on the state
//!   crossed   a and s x a            linear: Q = w_a.s + u_a
//!   shared    s, a and s x a         linear: Q = (v + w_a).s + u_a; what a state is worth is learned from all moves at once
//!   state     s alone                a net with one output for each move: one call scores them all
//!
//! Linear ones end as one layer from facts to moves whatever they saw, so that they are asked in one call too.

use super::mlp::MlpLearner;
use super::online::{LinearSgd, LinearSgdConfig, PassiveAggressive, PassiveAggressiveConfig, Regressor};
use crate::{Act, Actions, Error, Layer, Link, Mlp, MlpConfig, Net, Row};
use ludex_core::{Fact, Move};
use serde::{Deserialize, Serialize};

/// What a regressor sees of a state and a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// The state and the move.
    Beside,
    /// The move and its pairs with all facts.
    Crossed,
    /// The state, the move and their pairs.
    Shared,
    /// The state only; each move has an output of its own.
    State,
}

/// How values are learned.
#[derive(Clone, PartialEq, Debug)]
pub enum Method {
    /// Linear, by stochastic gradient descent.
    Sgd(LinearSgdConfig),
    /// Linear, passive-aggressive.
    PassiveAggressive(PassiveAggressiveConfig),
    /// A multilayer perceptron.
    Mlp(MlpConfig),
}

/// The most inputs that pairs of facts and moves may have.
const MOST: usize = 1 << 23;

enum Core {
    Linear(Box<dyn Regressor>),
    Deep(Box<MlpLearner>),
}

/// Values of moves while they are learned.
pub struct ActionValues {
    facts: usize,
    moves: usize,
    inputs: Inputs,
    core: Core,
    row: Vec<u32>,
}

impl ActionValues {
    /// Nothing is known yet; refused if inputs and method do not go together.
    pub fn new(facts: usize, moves: usize, inputs: Inputs, method: &Method, seed: u64) -> Result<Self, Error> {
        let pairs = facts.saturating_mul(moves);
        let width = match inputs {
            Inputs::Beside => facts + moves,
            Inputs::Crossed => moves.saturating_add(pairs),
            Inputs::Shared => (facts + moves).saturating_add(pairs),
            Inputs::State => facts,
        };
        if width > MOST {
            return Err(Error::Config(format!("{facts} facts and {moves} moves have too many pairs: use beside")));
        }
        let core = match (method, inputs) {
            (Method::Mlp(config), Inputs::Beside) => {
                Core::Deep(Box::new(MlpLearner::new(config.clone(), width, 1, seed)?))
            }
            (Method::Mlp(config), Inputs::State) => {
                Core::Deep(Box::new(MlpLearner::new(config.clone(), width, moves, seed)?))
            }
            (Method::Mlp(_), _) => {
                return Err(Error::Config("a multilayer perceptron takes the inputs beside or state".into()));
            }
            (_, Inputs::State) => {
                return Err(Error::Config("one output for each move: a linear one takes crossed or shared".into()));
            }
            (Method::Sgd(config), _) => Core::Linear(Box::new(LinearSgd::new(*config, width))),
            (Method::PassiveAggressive(config), _) => Core::Linear(Box::new(PassiveAggressive::new(*config, width))),
        };
        Ok(ActionValues { facts, moves, inputs, core, row: Vec::new() })
    }

    /// Where moves and where pairs begin among the inputs.
    fn places(&self) -> (usize, usize) {
        let moves_at = if self.inputs == Inputs::Crossed { 0 } else { self.facts };
        (moves_at, moves_at + self.moves)
    }

    /// Replaces the row by the inputs of a state and, unless there are outputs for all, of a move.
    fn encode(&mut self, facts: &[Fact], m: Move) {
        let (moves_at, pairs_at) = self.places();
        self.row.clear();
        if self.inputs != Inputs::Crossed {
            self.row.extend(facts.iter().map(|f| f.0));
        }
        if self.inputs != Inputs::State {
            self.row.push(moves_at as u32 + m.0);
        }
        if matches!(self.inputs, Inputs::Crossed | Inputs::Shared) {
            // Pairs of one move stand together: a state's row is read from one stretch of memory.
            let from = (pairs_at + m.index() * self.facts) as u32;
            self.row.extend(facts.iter().map(|f| from + f.0));
        }
    }

    /// Replaces `out` by the values of these moves.
    pub fn values(&mut self, facts: &[Fact], moves: &[Move], out: &mut Vec<f64>) {
        out.clear();
        if self.inputs == Inputs::State {
            self.encode(facts, Move(0));
            if let Core::Deep(net) = &mut self.core {
                let all = net.outputs(Row::ones(&self.row));
                out.extend(moves.iter().map(|m| all[m.index()]));
            }
            return;
        }
        out.extend(moves.iter().map(|&m| {
            self.encode(facts, m);
            match &mut self.core {
                Core::Linear(regressor) => regressor.predict(Row::ones(&self.row)),
                Core::Deep(net) => net.outputs(Row::ones(&self.row))[0],
            }
        }));
    }

    /// The value of one move.
    pub fn value(&mut self, facts: &[Fact], m: Move) -> f64 {
        self.encode(facts, m);
        match &mut self.core {
            Core::Linear(regressor) => regressor.predict(Row::ones(&self.row)),
            Core::Deep(net) => {
                net.outputs(Row::ones(&self.row))[if self.inputs == Inputs::State { m.index() } else { 0 }]
            }
        }
    }

    /// Learns that the move was worth this much.
    pub fn learn(&mut self, facts: &[Fact], m: Move, target: f64) {
        self.encode(facts, m);
        let row = Row::ones(&self.row);
        match &mut self.core {
            Core::Linear(regressor) => regressor.update(row, target),
            Core::Deep(net) => net.update_one(row, if self.inputs == Inputs::State { m.index() } else { 0 }, target),
        }
    }

    /// The net that gives `factor` times the value plus `shift`, and how moves are its inputs.
    pub fn net(&self, factor: f32, shift: f32) -> (Net, Actions) {
        let (mut mlp, actions) = match &self.core {
            Core::Linear(regressor) => (self.unfold(&regressor.net()), Actions::None),
            Core::Deep(net) => {
                let Net::Mlp(mlp) = net.net() else { unreachable!("a multilayer perceptron is one") };
                let moves = self.moves;
                (mlp, if self.inputs == Inputs::State { Actions::None } else { Actions::Beside { moves } })
            }
        };
        let last = mlp.layers.last_mut().expect("a net has layers");
        last.weights.iter_mut().for_each(|w| *w *= factor);
        last.bias.iter_mut().for_each(|b| *b = *b * factor + shift);
        (Net::Mlp(mlp), actions)
    }

    /// A linear regressor over states and moves as one layer from facts to moves.
    fn unfold(&self, net: &Net) -> Mlp {
        let Net::Mlp(Mlp { layers, .. }) = net else { unreachable!("a linear net is one layer") };
        let (w, bias) = (&layers[0].weights, layers[0].bias[0]);
        let (moves_at, pairs_at) = self.places();
        let weight = |f: usize, m: usize| {
            let own = if self.inputs == Inputs::Crossed { 0.0 } else { w[f] };
            own + if self.inputs == Inputs::Beside { 0.0 } else { w[pairs_at + m * self.facts + f] }
        };
        let layer = Layer {
            inputs: self.facts,
            outputs: self.moves,
            weights: (0..self.facts)
                .flat_map(|f| (0..self.moves).map(move |m| (f, m)))
                .map(|(f, m)| weight(f, m))
                .collect(),
            bias: (0..self.moves).map(|m| bias + w[moves_at + m]).collect(),
        };
        Mlp { layers: vec![layer], hidden: Act::Identity, link: Link::Each(Act::Identity) }
    }

    /// All that is remembered, from which [`ActionValues::restore`] goes on as if nothing had happened.
    pub fn numbers(&self) -> Vec<f64> {
        match &self.core {
            Core::Linear(regressor) => regressor.numbers(),
            Core::Deep(net) => net.numbers(),
        }
    }

    /// Remembers what [`ActionValues::numbers`] gave for the same settings; `false` if these are not as many.
    pub fn restore(&mut self, numbers: &[f64]) -> bool {
        match &mut self.core {
            Core::Linear(regressor) => regressor.restore(numbers),
            Core::Deep(net) => net.restore(numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    const ALL: [(Inputs, fn() -> Method); 7] = [
        (Inputs::Beside, || Method::Sgd(LinearSgdConfig::default())),
        (Inputs::Crossed, || Method::Sgd(LinearSgdConfig::default())),
        (Inputs::Shared, || Method::Sgd(LinearSgdConfig::default())),
        (Inputs::Crossed, || Method::PassiveAggressive(PassiveAggressiveConfig::default())),
        (Inputs::Shared, || Method::PassiveAggressive(PassiveAggressiveConfig::default())),
        (Inputs::Beside, || Method::Mlp(MlpConfig { hidden: vec![8, 6], ..MlpConfig::default() })),
        (Inputs::State, || Method::Mlp(MlpConfig { hidden: vec![8, 6], ..MlpConfig::default() })),
    ];

    /// Fact 0 makes move 1 good and move 0 bad; fact 2 is always there.
    fn teach(q: &mut ActionValues, rounds: usize, rng: &mut Rng) {
        for _ in 0..rounds {
            let (turned, m) = (rng.below(2) == 0, Move(rng.below(2)));
            let facts: &[Fact] = if turned { &[Fact(0), Fact(2)] } else { &[Fact(2)] };
            q.learn(facts, m, if turned == (m == Move(1)) { 10.0 } else { -10.0 });
        }
    }

    #[test]
    fn what_depends_on_state_and_move_is_learned_by_all_but_the_linear_literal_inputs() {
        for (inputs, method) in ALL {
            let mut q = ActionValues::new(3, 4, inputs, &method(), 1).unwrap();
            teach(&mut q, 6000, &mut Rng::new(2));
            let mut out = Vec::new();
            q.values(&[Fact(0), Fact(2)], &[Move(0), Move(1)], &mut out);
            let turned = out[1] - out[0];
            q.values(&[Fact(2)], &[Move(0), Move(1)], &mut out);
            let plain = out[1] - out[0];
            match inputs == Inputs::Beside && matches!(method(), Method::Sgd(_)) {
                true => assert!((turned - plain).abs() < 1e-9, "the order of moves ignores the state"),
                false => assert!(turned > 10.0 && plain < -10.0, "{inputs:?} {:?}: {turned} {plain}", method()),
            }
        }
    }

    #[test]
    fn the_net_gives_the_same_values_and_learning_goes_on_from_numbers() {
        for (inputs, method) in ALL {
            let mut rng = Rng::new(3);
            let mut q = ActionValues::new(3, 4, inputs, &method(), 1).unwrap();
            teach(&mut q, 50, &mut rng);
            let mut again = ActionValues::new(3, 4, inputs, &method(), 9).unwrap();
            assert!(again.restore(&q.numbers()) && !again.restore(&[1.0]));
            let mut same = rng.clone();
            teach(&mut q, 50, &mut rng);
            teach(&mut again, 50, &mut same);
            assert_eq!(q.numbers(), again.numbers());
            let (net, actions) = q.net(0.5, 1.0);
            let facts = [Fact(0), Fact(2)];
            for m in (0..4).map(Move) {
                let wanted = (0.5 * q.value(&facts, m) + 1.0) as f32;
                let given = match actions {
                    Actions::None => net.forward(Row::ones(&[0, 2]))[m.index()],
                    _ => net.forward(Row::ones(&[0, 2, 3 + m.0]))[0],
                };
                assert!((wanted - given).abs() < 1e-4, "{inputs:?}: {wanted} {given}");
            }
        }
    }

    #[test]
    fn inputs_that_do_not_fit_the_method_are_refused() {
        let mlp = Method::Mlp(MlpConfig::default());
        assert!(ActionValues::new(3, 4, Inputs::Crossed, &mlp, 1).is_err());
        assert!(ActionValues::new(3, 4, Inputs::State, &Method::Sgd(LinearSgdConfig::default()), 1).is_err());
        let sgd = Method::Sgd(LinearSgdConfig::default());
        assert!(ActionValues::new(1 << 20, 1 << 20, Inputs::Crossed, &sgd, 1).is_err());
    }
}
