//! Action values Q(s, a), learned one example at a time, as SARSA needs them.
//!
//! The features of a state s (its facts) and a move a, by [`ActionFeatures`]:
//!
//!   beside    s and a                linear: Q = w.s + u_a, so that the order of moves does not depend on the state
//!   crossed   a and s x a            linear: Q = w_a.s + u_a
//!   shared    s, a and s x a         linear: Q = (v + w_a).s + u_a, where v is learned from all moves
//!   state     s alone                a net with one output for each move
//!
//! Linear action values of any features become a net of one layer from facts to moves, which scores all moves in one
//! call. Which targets to learn (the bootstrap of SARSA) is up to the caller.

use super::mlp::MlpLearner;
use super::online::{LinearSgd, LinearSgdConfig, PassiveAggressive, PassiveAggressiveConfig, Regressor};
use crate::{Activation, Error, Layer, Link, Mlp, MlpConfig, MoveInputs, Net, Row};
use ludex_core::{Fact, Move};
use serde::{Deserialize, Serialize};

/// The features of a state and a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionFeatures {
    /// The facts of the state and the move.
    Beside,
    /// The move and its pairs with the facts.
    Crossed,
    /// The facts, the move and their pairs.
    Shared,
    /// The facts only; each move has an output of its own.
    State,
}

/// The learning method of action values.
#[derive(Clone, PartialEq, Debug)]
pub enum Method {
    /// Linear regression by stochastic gradient descent.
    Sgd(LinearSgdConfig),
    /// Passive-aggressive linear regression.
    PassiveAggressive(PassiveAggressiveConfig),
    /// A multilayer perceptron.
    Mlp(MlpConfig),
}

/// The largest number of features.
const MAX_FEATURES: usize = 1 << 23;

enum Learner {
    Linear(Box<dyn Regressor>),
    Mlp(Box<MlpLearner>),
}

/// Action values in training.
pub struct ActionValues {
    facts: usize,
    moves: usize,
    features: ActionFeatures,
    learner: Learner,
    row: Vec<u32>,
}

impl ActionValues {
    /// Untrained action values; an error if features and method do not go together.
    pub fn new(
        facts: usize,
        moves: usize,
        features: ActionFeatures,
        method: &Method,
        seed: u64,
    ) -> Result<Self, Error> {
        let pairs = facts.saturating_mul(moves);
        let width = match features {
            ActionFeatures::Beside => facts + moves,
            ActionFeatures::Crossed => moves.saturating_add(pairs),
            ActionFeatures::Shared => (facts + moves).saturating_add(pairs),
            ActionFeatures::State => facts,
        };
        if width > MAX_FEATURES {
            return Err(Error::Config(format!("{facts} facts and {moves} moves have too many pairs: use beside")));
        }
        let learner = match (method, features) {
            (Method::Mlp(config), ActionFeatures::Beside) => {
                Learner::Mlp(Box::new(MlpLearner::new(config.clone(), width, 1, seed)?))
            }
            (Method::Mlp(config), ActionFeatures::State) => {
                Learner::Mlp(Box::new(MlpLearner::new(config.clone(), width, moves, seed)?))
            }
            (Method::Mlp(_), _) => {
                return Err(Error::Config("a multilayer perceptron takes the inputs beside or state".into()));
            }
            (_, ActionFeatures::State) => {
                return Err(Error::Config("one output for each move: a linear one takes crossed or shared".into()));
            }
            (Method::Sgd(config), _) => Learner::Linear(Box::new(LinearSgd::new(*config, width))),
            (Method::PassiveAggressive(config), _) => Learner::Linear(Box::new(PassiveAggressive::new(*config, width))),
        };
        Ok(ActionValues { facts, moves, features, learner, row: Vec::new() })
    }

    /// Where moves and where pairs begin among the features.
    fn places(&self) -> (usize, usize) {
        let moves_at = if self.features == ActionFeatures::Crossed { 0 } else { self.facts };
        (moves_at, moves_at + self.moves)
    }

    /// Replaces the row by the features of a state and a move.
    fn encode(&mut self, facts: &[Fact], m: Move) {
        let (moves_at, pairs_at) = self.places();
        self.row.clear();
        if self.features != ActionFeatures::Crossed {
            self.row.extend(facts.iter().map(|f| f.0));
        }
        if self.features != ActionFeatures::State {
            self.row.push(moves_at as u32 + m.0);
        }
        if matches!(self.features, ActionFeatures::Crossed | ActionFeatures::Shared) {
            // Pairs are ordered by move, so that the weights of one state and move are close together in memory.
            let from = (pairs_at + m.index() * self.facts) as u32;
            self.row.extend(facts.iter().map(|f| from + f.0));
        }
    }

    /// Replaces `out` by the values of these moves.
    pub fn values(&mut self, facts: &[Fact], moves: &[Move], out: &mut Vec<f64>) {
        out.clear();
        if self.features == ActionFeatures::State {
            self.encode(facts, Move(0));
            if let Learner::Mlp(net) = &mut self.learner {
                let all = net.outputs(Row::ones(&self.row));
                out.extend(moves.iter().map(|m| all[m.index()]));
            }
            return;
        }
        out.extend(moves.iter().map(|&m| {
            self.encode(facts, m);
            match &mut self.learner {
                Learner::Linear(regressor) => regressor.predict(Row::ones(&self.row)),
                Learner::Mlp(net) => net.outputs(Row::ones(&self.row))[0],
            }
        }));
    }

    /// The value of one move.
    pub fn value(&mut self, facts: &[Fact], m: Move) -> f64 {
        self.encode(facts, m);
        match &mut self.learner {
            Learner::Linear(regressor) => regressor.predict(Row::ones(&self.row)),
            Learner::Mlp(net) => {
                net.outputs(Row::ones(&self.row))[if self.features == ActionFeatures::State { m.index() } else { 0 }]
            }
        }
    }

    /// Learns from one target for the value of a move.
    pub fn learn(&mut self, facts: &[Fact], m: Move, target: f64) {
        self.encode(facts, m);
        let row = Row::ones(&self.row);
        match &mut self.learner {
            Learner::Linear(regressor) => regressor.update(row, target),
            Learner::Mlp(net) => {
                net.update_one(row, if self.features == ActionFeatures::State { m.index() } else { 0 }, target)
            }
        }
    }

    /// The net whose outputs are `factor` times the value plus `shift`, and how moves are its inputs.
    pub fn net(&self, factor: f32, shift: f32) -> (Net, MoveInputs) {
        let (mut mlp, actions) = match &self.learner {
            Learner::Linear(regressor) => (self.linear_layer(&regressor.net()), MoveInputs::None),
            Learner::Mlp(net) => {
                let Net::Mlp(mlp) = net.net() else { unreachable!("a multilayer perceptron is one") };
                let moves = self.moves;
                (
                    mlp,
                    if self.features == ActionFeatures::State {
                        MoveInputs::None
                    } else {
                        MoveInputs::Beside { moves }
                    },
                )
            }
        };
        let last = mlp.layers.last_mut().expect("a net has layers");
        last.weights.iter_mut().for_each(|w| *w *= factor);
        last.bias.iter_mut().for_each(|b| *b = *b * factor + shift);
        (Net::Mlp(mlp), actions)
    }

    /// Linear action values as one layer from facts to moves.
    fn linear_layer(&self, net: &Net) -> Mlp {
        let Net::Mlp(Mlp { layers, .. }) = net else { unreachable!("a linear net is one layer") };
        let (w, bias) = (&layers[0].weights, layers[0].bias[0]);
        let (moves_at, pairs_at) = self.places();
        let weight = |f: usize, m: usize| {
            let shared = if self.features == ActionFeatures::Crossed { 0.0 } else { w[f] };
            shared + if self.features == ActionFeatures::Beside { 0.0 } else { w[pairs_at + m * self.facts + f] }
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
        Mlp { layers: vec![layer], hidden: Activation::Identity, link: Link::Each(Activation::Identity) }
    }

    /// Weights and optimiser state as numbers: with [`ActionValues::set_training_state`], learning resumes to the same
    /// bits.
    pub fn training_state(&self) -> Vec<f64> {
        match &self.learner {
            Learner::Linear(regressor) => regressor.training_state(),
            Learner::Mlp(net) => net.training_state(),
        }
    }

    /// Sets the state to what [`ActionValues::training_state`] gave for the same settings; `false` if the number of
    /// values differs.
    pub fn set_training_state(&mut self, numbers: &[f64]) -> bool {
        match &mut self.learner {
            Learner::Linear(regressor) => regressor.set_training_state(numbers),
            Learner::Mlp(net) => net.set_training_state(numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    const ALL: [(ActionFeatures, fn() -> Method); 7] = [
        (ActionFeatures::Beside, || Method::Sgd(LinearSgdConfig::default())),
        (ActionFeatures::Crossed, || Method::Sgd(LinearSgdConfig::default())),
        (ActionFeatures::Shared, || Method::Sgd(LinearSgdConfig::default())),
        (ActionFeatures::Crossed, || Method::PassiveAggressive(PassiveAggressiveConfig::default())),
        (ActionFeatures::Shared, || Method::PassiveAggressive(PassiveAggressiveConfig::default())),
        (ActionFeatures::Beside, || Method::Mlp(MlpConfig { hidden: vec![8, 6], ..MlpConfig::default() })),
        (ActionFeatures::State, || Method::Mlp(MlpConfig { hidden: vec![8, 6], ..MlpConfig::default() })),
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
    fn values_that_depend_on_state_and_move_are_learned_by_all_but_linear_beside() {
        for (inputs, method) in ALL {
            let mut q = ActionValues::new(3, 4, inputs, &method(), 1).unwrap();
            teach(&mut q, 6000, &mut Rng::new(2));
            let mut out = Vec::new();
            q.values(&[Fact(0), Fact(2)], &[Move(0), Move(1)], &mut out);
            let turned = out[1] - out[0];
            q.values(&[Fact(2)], &[Move(0), Move(1)], &mut out);
            let plain = out[1] - out[0];
            match inputs == ActionFeatures::Beside && matches!(method(), Method::Sgd(_)) {
                true => assert!((turned - plain).abs() < 1e-9, "the order of moves ignores the state"),
                false => assert!(turned > 10.0 && plain < -10.0, "{inputs:?} {:?}: {turned} {plain}", method()),
            }
        }
    }

    #[test]
    fn the_net_gives_the_same_values_and_learning_resumes_from_its_state() {
        for (inputs, method) in ALL {
            let mut rng = Rng::new(3);
            let mut q = ActionValues::new(3, 4, inputs, &method(), 1).unwrap();
            teach(&mut q, 50, &mut rng);
            let mut again = ActionValues::new(3, 4, inputs, &method(), 9).unwrap();
            assert!(again.set_training_state(&q.training_state()) && !again.set_training_state(&[1.0]));
            let mut same = rng.clone();
            teach(&mut q, 50, &mut rng);
            teach(&mut again, 50, &mut same);
            assert_eq!(q.training_state(), again.training_state());
            let (net, actions) = q.net(0.5, 1.0);
            let facts = [Fact(0), Fact(2)];
            for m in (0..4).map(Move) {
                let wanted = (0.5 * q.value(&facts, m) + 1.0) as f32;
                let given = match actions {
                    MoveInputs::None => net.forward(Row::ones(&[0, 2]))[m.index()],
                    _ => net.forward(Row::ones(&[0, 2, 3 + m.0]))[0],
                };
                assert!((wanted - given).abs() < 1e-4, "{inputs:?}: {wanted} {given}");
            }
        }
    }

    #[test]
    fn inputs_that_do_not_fit_the_method_are_refused() {
        let mlp = Method::Mlp(MlpConfig::default());
        assert!(ActionValues::new(3, 4, ActionFeatures::Crossed, &mlp, 1).is_err());
        assert!(ActionValues::new(3, 4, ActionFeatures::State, &Method::Sgd(LinearSgdConfig::default()), 1).is_err());
        let sgd = Method::Sgd(LinearSgdConfig::default());
        assert!(ActionValues::new(1 << 20, 1 << 20, ActionFeatures::Crossed, &sgd, 1).is_err());
    }
}
