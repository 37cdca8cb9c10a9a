//! What can be wrong with a rulesheet, with the place where it is.

use std::fmt;

/// A place in the text: line and column, both from 1; 0 means the sheet as a whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Why a rulesheet cannot be played: one line, with the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Error {
    /// The line, from 1; 0 if the sheet as a whole is meant.
    pub line: u32,
    /// The column in characters, from 1; 0 if the sheet as a whole is meant.
    pub column: u32,
    /// What is wrong.
    pub kind: ErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        self.kind.fmt(f)
    }
}

/// What is wrong with a rulesheet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parenthesis is closed that was never opened.
    #[error("this parenthesis closes nothing")]
    Unopened,
    /// A parenthesis is opened and never closed.
    #[error("this parenthesis is never closed")]
    Unclosed,
    /// The text is longer than the budget allows.
    #[error("the rulesheet has {bytes} bytes; at most {limit} are read")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Parentheses are nested too deeply.
    #[error("parentheses are nested more than {0} deep")]
    TooDeep(usize),
    /// `()` where something is expected.
    #[error("an empty list means nothing here")]
    EmptyList,
    /// The first element of a list is not a name.
    #[error("a list must start with a name")]
    NoName,
    /// A variable stands where a sentence is expected.
    #[error("the variable {0} stands where a sentence is expected")]
    VariableSentence(String),
    /// `<=` without a head.
    #[error("a rule needs a head: (<= HEAD BODY ..)")]
    NoHead,
    /// A form that only lenient reading accepts.
    #[error("{0}; strict reading refuses it")]
    Liberty(&'static str),
    /// A keyword with the wrong number of arguments.
    #[error("{name} takes {expected}, not {found}")]
    KeywordArity {
        /// The keyword.
        name: String,
        /// What it takes, in words.
        expected: &'static str,
        /// The number of arguments found.
        found: usize,
    },
    /// A keyword at the head of a rule that no rule may define.
    #[error("no rule may define {0}")]
    BadHead(&'static str),
    /// `or` and `not` multiply into too many bodies.
    #[error("the `or`s of this rule multiply into more than {0} bodies")]
    TooManyBodies(usize),
    /// A variable of the head, of a `distinct` or, read strictly, of a `not` that no positive condition binds.
    #[error("the variable {variable} in {place} is bound by no positive condition")]
    Unsafe {
        /// The variable.
        variable: String,
        /// Where it stands: the head, a `distinct`, a `not`.
        place: &'static str,
    },
    /// A relation depends on its own negation.
    #[error("{0} depends on its own negation")]
    Unstratified(String),
    /// A relation depends on something it must not depend on.
    #[error("{what} must not depend on {on}")]
    Depends {
        /// The dependent relation.
        what: String,
        /// What it must not depend on.
        on: String,
    },
    /// No role.
    #[error("there is no (role NAME)")]
    NoRole,
    /// More roles than Ludex has players.
    #[error("there are {0} roles; at most {max} can play", max = ludex_core::MAX_PLAYERS)]
    TooManyRoles(usize),
    /// Chance.
    #[error("the role `random` (chance, GDL-II) is not supported")]
    Random,
    /// Imperfect information.
    #[error("`sees` (imperfect information, GDL-II) is not supported")]
    Sees,
    /// No role ever has a legal move.
    #[error("{0} never has a legal move")]
    NoLegal(String),
    /// A goal that is not a number.
    #[error("the goal {0} is not a whole number")]
    BadGoal(String),
    /// The initial state breaks the budget even of the interpreter, or the rules are infinite.
    #[error("the rules need more than the budget allows: {0}")]
    Budget(String),
}

impl ErrorKind {
    /// This at a place.
    pub fn at(self, place: Place) -> Error {
        Error { line: place.line, column: place.column, kind: self }
    }

    /// This, about the sheet as a whole.
    pub fn anywhere(self) -> Error {
        self.at(Place::default())
    }
}
