//! Errors: why a rulesheet cannot be played, with the place in the text.

use std::fmt;

/// A place in the text: line and column, both from 1; 0 means the sheet as a whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// The reason why a rulesheet cannot be played, with its place. Displayed as one line.
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

/// The reason why a rulesheet cannot be played.
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
    /// `()` stands where a sentence or a term is expected.
    #[error("an empty list means nothing here")]
    EmptyList,
    /// The first element of a list is not a name.
    #[error("a list must start with a name")]
    NoName,
    /// A variable stands where a sentence is expected.
    #[error("the variable {0} stands where a sentence is expected")]
    VariableSentence(String),
    /// A rule `(<=)` has no head.
    #[error("a rule needs a head: (<= HEAD BODY ..)")]
    NoHead,
    /// A non-standard form, which strict reading refuses.
    #[error("{0}; strict reading refuses it")]
    NonStandard(&'static str),
    /// A keyword has the wrong number of arguments.
    #[error("{name} takes {expected}, not {found}")]
    KeywordArity {
        /// The keyword.
        name: String,
        /// What it takes, in words.
        expected: &'static str,
        /// The number of arguments found.
        found: usize,
    },
    /// A keyword that no rule may define is the head of a rule.
    #[error("no rule may define {0}")]
    BadHead(&'static str),
    /// Expanding the `or`s of a rule gives too many alternatives.
    #[error("the `or`s of this rule multiply into more than {0} bodies")]
    TooManyBodies(usize),
    /// No positive condition binds a variable of the head, of a `distinct` or, in strict reading, of a `not`.
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
    /// The sheet has no role.
    #[error("there is no (role NAME)")]
    NoRole,
    /// The sheet has more roles than Ludex has players.
    #[error("there are {0} roles; at most {max} can play", max = ludex_core::MAX_PLAYERS)]
    TooManyRoles(usize),
    /// The sheet has the role `random`, which is chance in GDL-II.
    #[error("the role `random` (chance, GDL-II) is not supported")]
    Random,
    /// The sheet uses `sees`, which is imperfect information in GDL-II.
    #[error("`sees` (imperfect information, GDL-II) is not supported")]
    Sees,
    /// This role never has a legal move.
    #[error("{0} never has a legal move")]
    NoLegal(String),
    /// A goal is not a whole number.
    #[error("the goal {0} is not a whole number")]
    BadGoal(String),
    /// The sheet exceeds the budget even with the interpreter, or its rules have infinitely many consequences.
    #[error("the rules need more than the budget allows: {0}")]
    Budget(String),
}

impl ErrorKind {
    /// The error of this kind at a place.
    pub fn at(self, place: Place) -> Error {
        Error { line: place.line, column: place.column, kind: self }
    }

    /// The error of this kind about the sheet as a whole.
    pub fn without_place(self) -> Error {
        self.at(Place::default())
    }
}
