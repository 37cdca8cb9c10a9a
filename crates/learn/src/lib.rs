//! x
#![allow(missing_docs, dead_code)]
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
pub use data::{Data, Row, Split};
pub use encode::{Actions, Code, Encoder, Table};
pub use error::Error;
pub use fold::{Batch, Folded, Line, Scratch};
pub use head::{Head, Link};
pub use learn::cascade::{CascadeConfig, CascadeLearner, Choose, Objective, Output, Phase, Shape, Step};
pub use learn::mlp::{Errors, Loss, MlpConfig, MlpLearner};
pub use learn::online::{LinearSgd, LinearSgdConfig, PassiveAggressive, PassiveAggressiveConfig, Regressor};
pub use learn::optim::{Optimiser, Rate, Rprop, RpropKind};
pub use learn::os_elm::{HiddenSearch, OsElm, OsElmConfig, choose_hidden};
pub use model::{Model, Provenance};
pub use net::{Cascade, Layer, Mlp, Net, Unit};
pub use onnx::Names;
