//! Nets, and learners that train them, for games whose states are sets of facts.
//!
//! * Learners: cascade-correlation ([`CascadeLearner`]), multilayer perceptrons ([`MlpLearner`]), online sequential
//!   extreme learning machines ([`OsElm`]), online linear regressors ([`LinearSgd`], [`PassiveAggressive`]), and action
//!   values built on these ([`ActionValues`]). They learn from [`Data`], or example by example, and give a [`Net`].
//! * Models: a [`Model`] is a net with its [`Encoder`], its [`Head`], the game it is for and its provenance, as a file
//!   or as ONNX.
//! * Inference: a search evaluates an [`InferenceNet`], from facts alone, in batches, or incrementally along a line of
//!   play ([`Accumulator`], [`AccumulatorStack`]), with the same bits in every case.
//!
//! Nothing here knows a game or plays one, and every random choice comes from a seed: the same seed gives the same bits
//! on any number of threads.
//!
//! ```
//! use ludex_core::{Fact, Player};
//! use ludex_learn::{CascadeConfig, CascadeLearner, Data, Encoder, Head, InferenceNet, OutputTraining, Split};
//! let mut data = Data::new(2, 1); // exclusive or
//! for (facts, value) in [(&[][..], -1.0), (&[0], 1.0), (&[1], 1.0), (&[0, 1], -1.0)] {
//!     data.push(facts, &[value])?;
//! }
//! let output = OutputTraining::Ridge { lambdas: vec![1e-9] };
//! let config = CascadeConfig { units: 2, output, ..CascadeConfig::default() };
//! let mut learner = CascadeLearner::new(config, &data, &Split::all(4), 1)?;
//! learner.run();
//! let net = InferenceNet::new(&learner.best(), &Encoder::facts(2), Head::Value { outputs: 1 })?;
//! assert!(net.plain(&[Fact(1)], Player(0))[0] > 0.9 && net.plain(&[Fact(0), Fact(1)], Player(0))[0] < -0.9);
//! # Ok::<(), ludex_learn::Error>(())
//! ```

mod activation;
pub mod bench;
mod data;
mod encode;
mod error;
mod head;
mod inference;
mod learn;
mod model;
mod net;
mod nnue;
mod onnx;
mod simd;
mod tensor_file;

pub use activation::Activation;
pub use data::{Data, Row, Split, SplitErrors};
pub use encode::{EncodedRow, Encoder, InputCodes, MoveInputs};
pub use error::Error;
pub use head::{Head, Link};
pub use inference::{
    Accumulator, AccumulatorStack, Batch, InferenceNet, LinearAccumulator, LinearScorer, NnueStack, QuantisedNnue,
    Scratch,
};
pub use learn::action::{ActionFeatures, ActionValues, Method};
pub use learn::cascade::{
    CascadeConfig, CascadeLearner, CascadeStep, EarlyStopping, Objective, OutputTraining, SelectBy, Topology,
};
pub use learn::mlp::{Loss, MlpConfig, MlpLearner};
pub use learn::nnue::{FactPermutation, NnueConfig, NnueExamples, NnueLearner, Replay};
pub use learn::online::{LinearSgd, LinearSgdConfig, PassiveAggressive, PassiveAggressiveConfig, Regressor};
pub use learn::optim::{LearningRate, Optimiser, Rprop, RpropKind};
pub use learn::os_elm::{HiddenSizeChoice, HiddenSizeSearch, OsElm, OsElmConfig, choose_hidden_size};
pub use model::{ExportNames, Model, Provenance};
pub use net::{Cascade, Layer, Mlp, Net, Unit};
pub use nnue::{Nnue, NnueHead, Phases, WIDTHS};
