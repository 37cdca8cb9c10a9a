//! Nets that learn from facts and numbers.
//!
//! Four families carry the five systems: cascade-correlation ([`CascadeLearner`]), multilayer perceptrons
//! ([`MlpLearner`]), online sequential extreme learning machines ([`OsElm`]) and online linear regressors ([`LinearSgd`],
//! [`PassiveAggressive`]), which like MLPs also learn values of moves ([`ActionValues`]). All learn from [`Data`] and end as a [`Net`]; a [`Model`] is a net with its [`Encoder`], its
//! [`Head`], the game it is for and where it came from. A search asks a [`Folded`] model: sparse column sums over the
//! facts that hold, alone, in batches of siblings or along a line of play, with equal bits in all three.
//!
//! Nothing here knows a game, and every random choice comes from a seed: the same seed gives the same bits on one thread
//! or many.
//!
//! ```
//! use ludex_core::{Fact, Player};
//! use ludex_learn::{CascadeConfig, CascadeLearner, Data, Encoder, Folded, Head, Output, Split};
//! let mut data = Data::new(2, 1); // exclusive or
//! for (facts, value) in [(&[][..], -1.0), (&[0], 1.0), (&[1], 1.0), (&[0, 1], -1.0)] {
//!     data.push(facts, &[value])?;
//! }
//! let output = Output::Ridge { lambdas: vec![1e-9] };
//! let config = CascadeConfig { units: 2, output, ..CascadeConfig::default() };
//! let mut learner = CascadeLearner::new(config, &data, &Split::all(4), 1)?;
//! learner.run();
//! let net = Folded::new(&learner.best(), &Encoder::facts(2), Head::Value { outputs: 1 })?;
//! assert!(net.plain(&[Fact(1)], Player(0))[0] > 0.9 && net.plain(&[Fact(0), Fact(1)], Player(0))[0] < -0.9);
//! # Ok::<(), ludex_learn::Error>(())
//! ```

mod act;
pub mod bench;
mod data;
mod encode;
mod error;
mod fold;
mod head;
mod lanes;
mod learn;
mod model;
mod net;
mod onnx;
mod store;

pub use act::Act;
pub use data::{Data, Errors, Row, Split};
pub use encode::{Actions, Code, Encoder, Table};
pub use error::Error;
pub use fold::{Batch, Folded, Line, Scratch, Side, SideLine};
pub use head::{Head, Link};
pub use learn::action::{ActionValues, Inputs, Method};
pub use learn::cascade::{CascadeConfig, CascadeLearner, Choose, Objective, Output, Phase, Shape, Step};
pub use learn::mlp::{Loss, MlpConfig, MlpLearner};
pub use learn::online::{LinearSgd, LinearSgdConfig, PassiveAggressive, PassiveAggressiveConfig, Regressor};
pub use learn::optim::{Optimiser, Rate, Rprop, RpropKind};
pub use learn::os_elm::{Chosen, HiddenSearch, OsElm, OsElmConfig, choose_hidden};
pub use model::{Model, Provenance};
pub use net::{Cascade, Layer, Mlp, Net, Unit};
pub use onnx::Names;
