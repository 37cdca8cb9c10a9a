//! Learners: from examples to nets.

pub(crate) mod action;
pub(crate) mod cascade;
pub(crate) mod mlp;
pub(crate) mod online;
pub(crate) mod optim;
pub(crate) mod os_elm;
mod solve;
