//! Statistics of matches.
