//! Learners, from examples to nets: cascade-correlation, MLPs, NNUEs, OS-ELM, online linear regressors, and action values.

pub(crate) mod action;
pub(crate) mod cascade;
mod cholesky;
pub(crate) mod mlp;
pub(crate) mod nnue;
pub(crate) mod online;
pub(crate) mod optim;
pub(crate) mod os_elm;
