//! The benchmark of the nets.
pub mod boards;
