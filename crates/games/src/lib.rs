//! Native rules.
