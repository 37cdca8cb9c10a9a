//! rivals
