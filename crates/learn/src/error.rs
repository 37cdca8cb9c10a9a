//! Errors about what a caller hands in: examples, settings, parts of a model, files.

use thiserror::Error;

/// What is wrong with data, settings or a file, as one line of text. The call that returns it has changed nothing.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Error {
    /// An input that does not exist.
    #[error("input {input} does not exist: inputs are 0..{inputs}")]
    Input {
        /// The input given.
        input: usize,
        /// The number of inputs.
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
        /// The number of the example.
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
    /// A file that is shorter or longer than its header says.
    #[error("the file is truncated: {found} bytes of {expected}")]
    Truncated {
        /// How many bytes there are.
        found: u64,
        /// How many its header says.
        expected: u64,
    },
    /// A file whose checksum is wrong.
    #[error("the file is damaged: its sha256 does not match its contents")]
    Altered,
    /// A file of another version.
    #[error("the file has format {found}; this program reads {known}")]
    Version {
        /// The format and version of the file.
        found: String,
        /// The format and version that this program reads.
        known: String,
    },
    /// A file with a valid checksum whose contents are inconsistent.
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
