//! Agents as text that people can type: `uct(sims=5000, c=0.78, form=kocsis)`, `minimax(depth=3, eval=positional)`.
//!
//! A spec is a name with options in parentheses; the value of an option is a number, a word, or again a spec. Anything else is
//! quoted: `minimax(model="my runs/a (2)")`, with `\"`, `\\` and `\n` as in most languages. [`Spec`] prints as text that reads
//! as the same spec. `level:3` and `level:best@PATH` are agents of a bundle. The same as TOML: a table with the key `name`, or a bare string or number where there are no options.

use crate::ModelRef;
use std::fmt;

/// A name with options.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What it is called; for numbers, the number as typed.
    pub name: String,
    /// Options by name.
    pub args: Vec<(String, Spec)>,
    /// Where it stood in the text, counted from 1; 0 if it did not come from text.
    column: usize,
}

/// What is wrong with a spec: one line that names the word.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}")]
pub struct SpecError {
    line: String,
}

impl SpecError {
    /// Whatever was typed, the error stays one line.
    fn new(line: impl fmt::Display) -> Self {
        SpecError { line: line.to_string().replace(char::is_control, "?") }
    }
}

/// The beginning of what was typed, for messages.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.args == other.args
    }
}

impl Eq for Spec {}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quoted(&self.name, f)?;
        for (i, (key, value)) in self.args.iter().enumerate() {
            f.write_str(if i == 0 { "(" } else { ", " })?;
            quoted(key, f)?;
            write!(f, "={value}")?;
        }
        if self.args.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// A character that needs no quotes.
fn plain(c: char) -> bool {
    c.is_alphanumeric() || "_.-+/:@".contains(c)
}

/// A word as it is typed: in quotes where it would read as something else.
fn quoted(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !word.is_empty() && word.chars().all(plain) {
        return f.write_str(word);
    }
    f.write_str("\"")?;
    for c in word.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

impl serde::Serialize for Spec {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Spec {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        // A level is a word with a path in it, whatever the path is.
        if text.trim_start().starts_with("level:") {
            return Ok(Spec::word(text.trim()));
        }
        let mut reader = Reader { text: text.chars().collect(), at: 0, depth: 0 };
        let spec = reader.spec()?;
        match reader.peek() {
            None => Ok(spec),
            Some(c) => Err(reader.error(format!("\"{c}\" after the end"))),
        }
    }
}

impl Spec {
    /// A name without options.
    pub fn word(name: impl Into<String>) -> Self {
        Spec { name: name.into(), args: Vec::new(), column: 0 }
    }

    /// The same with one more option.
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.args.push((key.into(), Spec::word(value.to_string())));
        self
    }

    /// Gives an option, named by its path such as `playout.eps`, this value in place of any it has.
    pub fn set(&mut self, path: &str, value: impl fmt::Display) {
        self.set_part(path, Spec::word(value.to_string()));
    }

    /// Gives the option at a path this spec in place of any it has.
    pub fn set_part(&mut self, path: &str, part: Spec) {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let found = self.args.iter().position(|(k, _)| k == key);
        let at = found.unwrap_or_else(|| {
            self.args.push((key.into(), Spec::word("")));
            self.args.len() - 1
        });
        match rest {
            Some(rest) => self.args[at].1.set_part(rest, part),
            None => self.args[at].1 = part,
        }
    }

    /// Makes every `model` option, wherever it stands, refer to this model; adds one if there is none.
    pub fn set_model(&mut self, model: &ModelRef) {
        if !self.replace_model(model) {
            self.set("model", model);
        }
    }

    fn replace_model(&mut self, model: &ModelRef) -> bool {
        let mut found = false;
        for (key, spec) in &mut self.args {
            match key == "model" {
                true => *spec = Spec::word(model.to_string()),
                false => found |= spec.replace_model(model),
            }
            found |= key == "model";
        }
        found
    }

    /// The models that the spec refers to, wherever they stand.
    pub fn models(&self) -> Vec<ModelRef> {
        let own = self.args.iter().filter(|(k, v)| k == "model" && !v.name.is_empty()).map(|(_, v)| v.name.as_str());
        let below = self.args.iter().filter(|(k, _)| k != "model").flat_map(|(_, v)| v.models());
        own.map(ModelRef::from).chain(below).collect()
    }

    /// Removes an option.
    pub fn without(mut self, key: &str) -> Self {
        self.args.retain(|(k, _)| k != key);
        self
    }

    /// The value of an option, named by its path.
    pub fn get(&self, path: &str) -> Option<&Spec> {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let value = self.args.iter().find(|(k, _)| k == key).map(|(_, v)| v)?;
        rest.map_or(Some(value), |rest| value.get(rest))
    }

    /// Reads a TOML table with the key `name`; every other key is an option.
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        let table: toml::Table =
            text.parse().map_err(|e: toml::de::Error| SpecError::new(format!("not TOML: {}", e.message())))?;
        Self::from_value(&toml::Value::Table(table))
    }

    fn from_value(value: &toml::Value) -> Result<Self, SpecError> {
        match value {
            toml::Value::String(text) => Ok(Spec::word(text.clone())),
            toml::Value::Integer(n) => Ok(Spec::word(n.to_string())),
            toml::Value::Float(x) => Ok(Spec::word(x.to_string())),
            toml::Value::Boolean(b) => Ok(Spec::word(if *b { "on" } else { "off" })),
            toml::Value::Table(table) => {
                let Some(toml::Value::String(name)) = table.get("name") else {
                    return Err(SpecError::new("a table that describes a part needs the key `name`"));
                };
                let args = table.iter().filter(|(k, _)| *k != "name");
                let args =
                    args.map(|(k, v)| Ok((k.clone(), Self::from_value(v)?))).collect::<Result<_, SpecError>>()?;
                Ok(Spec { name: name.clone(), args, column: 0 })
            }
            _ => Err(SpecError::new("a part is a word, a number or a table, not a list or date")),
        }
    }

    /// An error about this spec.
    pub fn error(&self, what: impl fmt::Display) -> SpecError {
        let place = if self.column > 0 { format!(" (column {})", self.column) } else { String::new() };
        SpecError::new(format!("{what}{place}"))
    }
}

/// Deeper specs are refused, so that no text can exhaust the stack.
const DEEPEST: usize = 16;

struct Reader {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn error(&self, what: impl fmt::Display) -> SpecError {
        SpecError::new(format!("{what} (column {})", self.at + 1))
    }

    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn word(&mut self, what: &str) -> Result<(String, usize), SpecError> {
        if self.peek() == Some('"') {
            return self.quoted();
        }
        let start = self.at;
        while self.text.get(self.at).is_some_and(|&c| plain(c)) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok((self.text[start..self.at].iter().collect(), start + 1)),
            false => {
                let found = self.text.get(self.at).map_or("the end".into(), |c| format!("\"{}\"", c.escape_debug()));
                Err(self.error(format!("expected {what}, found {found}")))
            }
        }
    }

    fn quoted(&mut self) -> Result<(String, usize), SpecError> {
        let (start, mut word) = (self.at + 1, String::new());
        loop {
            self.at += 1;
            match self.text.get(self.at) {
                Some('"') => break,
                Some('\\') => {
                    self.at += 1;
                    match self.text.get(self.at) {
                        Some('n') => word.push('\n'),
                        Some(&c @ ('"' | '\\')) => word.push(c),
                        _ => return Err(self.error("a backslash in quotes stands before \", \\ or n")),
                    }
                }
                Some(&c) => word.push(c),
                None => return Err(SpecError::new(format!("the quote is not closed (column {start})"))),
            }
        }
        self.at += 1;
        Ok((word, start))
    }

    fn spec(&mut self) -> Result<Spec, SpecError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("too many parentheses inside one another"));
        }
        let (name, column) = self.word("a name or a number")?;
        let mut args: Vec<(String, Spec)> = Vec::new();
        if self.peek() == Some('(') {
            self.at += 1;
            while self.peek() != Some(')') {
                let (key, column) = self.word("an option")?;
                if self.peek() != Some('=') {
                    return Err(self.error(format!("option \"{}\" needs a value", short(&key))));
                }
                self.at += 1;
                if args.iter().any(|(k, _)| *k == key) {
                    return Err(SpecError::new(format!("option \"{}\" is given twice (column {column})", short(&key))));
                }
                args.push((key, self.spec()?));
                match self.peek() {
                    Some(',') => self.at += 1,
                    Some(')') => {}
                    _ => return Err(self.error("expected \",\" or \")\"")),
                }
            }
            self.at += 1;
        }
        self.depth -= 1;
        Ok(Spec { name, args, column })
    }
}
