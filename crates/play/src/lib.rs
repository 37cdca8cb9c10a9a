//! play

pub mod stats;
