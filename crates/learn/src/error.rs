//! What can be wrong with what a caller hands in.

use thiserror::Error;

/// One clear line about bad input; nothing has changed when it is returned.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Error {
    /// An input number beyond the data's.
    #[error("input {input} does not exist: inputs are 0..{inputs}")]
    Input {
        /// The number given.
        input: usize,
        /// How many there are.
        inputs: usize,
    },
    /// A wrong number of targets.
    #[error("{found} targets for {outputs} outputs")]
    Targets {
        /// How many were given.
        found: usize,
        /// How many are needed.
        outputs: usize,
    },
    /// A target or value that is infinite or not a number.
    #[error("example {example} has a value that is not finite")]
    NotFinite {
        /// Its number.
        example: usize,
    },
    /// Parts that do not fit together.
    #[error("{0}")]
    Shape(String),
    /// A setting out of its range.
    #[error("{0}")]
    Config(String),
    /// A file of another kind.
    #[error("not a Ludex {0} file")]
    Kind(&'static str),
    /// A file that ends too early, or too late.
    #[error("the file is truncated: {found} bytes of {expected}")]
    Truncated {
        /// How many bytes there are.
        found: u64,
        /// How many its header promises.
        expected: u64,
    },
    /// A file whose checksum is wrong.
    #[error("the file is damaged: its sha256 does not match its contents")]
    Altered,
    /// A file of a later version.
    #[error("the file has format {found}; this program reads {known}")]
    Version {
        /// What the file says.
        found: String,
        /// What we know.
        known: String,
    },
    /// A well-made file whose contents make no sense.
    #[error("the file is malformed: {0}")]
    Malformed(String),
    /// A model of another game or of other rules.
    #[error("the model is for {model} (rules {model_rules:016x}), not for {game} (rules {game_rules:016x})")]
    OtherGame {
        /// The model's game.
        model: String,
        /// The rules it was trained for.
        model_rules: u64,
        /// The game at hand.
        game: String,
        /// Its rules.
        game_rules: u64,
    },
}
