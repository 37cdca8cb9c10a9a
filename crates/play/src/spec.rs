//! Agents as text that people can type: `uct(sims=5000, c=0.78, form=kocsis)`, `minimax(depth=3, eval=positional)`.
//!
//! A spec is a name with options in parentheses; the value of an option is a number, a word, or again a spec. The same as
//! TOML: a table with the key `name`, or a bare string or number where there are no options.

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

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.args == other.args
    }
}

impl Eq for Spec {}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (key, value)) in self.args.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "(" } else { ", " })?;
        }
        if self.args.is_empty() { Ok(()) } else { f.write_str(")") }
    }
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
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let found = self.args.iter().position(|(k, _)| k == key);
        let at = found.unwrap_or_else(|| {
            self.args.push((key.into(), Spec::word("")));
            self.args.len() - 1
        });
        match rest {
            Some(rest) => self.args[at].1.set(rest, value),
            None => self.args[at].1 = Spec::word(value.to_string()),
        }
    }

    /// Gives every option of this name, wherever it stands, this value; `false` if there is none.
    pub fn replace(&mut self, key: &str, value: &str) -> bool {
        let mut found = false;
        for (k, spec) in &mut self.args {
            match k == key {
                true => *spec = Spec::word(value),
                false => found |= spec.replace(key, value),
            }
            found |= k == key;
        }
        found
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
            text.parse().map_err(|e: toml::de::Error| SpecError { line: format!("not TOML: {}", e.message()) })?;
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
                    return Err(SpecError { line: "a table that describes a part needs the key `name`".into() });
                };
                let args = table.iter().filter(|(k, _)| *k != "name");
                let args =
                    args.map(|(k, v)| Ok((k.clone(), Self::from_value(v)?))).collect::<Result<_, SpecError>>()?;
                Ok(Spec { name: name.clone(), args, column: 0 })
            }
            _ => Err(SpecError { line: "a part is a word, a number or a table, not a list or date".into() }),
        }
    }

    /// An error about this spec.
    pub fn error(&self, what: impl fmt::Display) -> SpecError {
        let place = if self.column > 0 { format!(" (column {})", self.column) } else { String::new() };
        SpecError { line: format!("{what}{place}") }
    }
}

/// Deeper specs are refused: nothing needs them, and whoever types them is up to something.
const DEEPEST: usize = 16;

struct Reader {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn error(&self, what: impl fmt::Display) -> SpecError {
        SpecError { line: format!("{what} (column {})", self.at + 1) }
    }

    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn word(&mut self, what: &str) -> Result<(String, usize), SpecError> {
        self.peek();
        let start = self.at;
        let plain = |c: &char| c.is_alphanumeric() || "_.-+/:".contains(*c);
        while self.text.get(self.at).is_some_and(plain) {
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
                    return Err(self.error(format!("option \"{key}\" needs a value, {key}=.. ")));
                }
                self.at += 1;
                if args.iter().any(|(k, _)| *k == key) {
                    return Err(SpecError { line: format!("option \"{key}\" is given twice (column {column})") });
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

/// Whether two words are so alike that one may be a slip for the other: at most two letters' difference.
pub(crate) fn near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + (x != y) as usize).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()] <= 2.min(a.len().max(b.len()) / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_toml_say_the_same() {
        let text: Spec = "uct(sims=5000, c=0.78, playout=mast(eps=0.2))".parse().unwrap();
        let toml =
            Spec::from_toml("name = 'uct'\nsims = 5000\nc = 0.78\nplayout = { name = 'mast', eps = 0.2 }").unwrap();
        let sorted = |mut s: Spec| {
            s.args.sort_by(|a, b| a.0.cmp(&b.0));
            s
        };
        assert_eq!(sorted(text.clone()), sorted(toml));
        assert_eq!(text.to_string(), "uct(sims=5000, c=0.78, playout=mast(eps=0.2))");
        assert_eq!(text.to_string().parse::<Spec>().unwrap(), text);
    }

    #[test]
    fn an_option_is_replaced_wherever_it_stands() {
        let mut spec: Spec = "uct(sims=5, playout=guided(model=a))".parse().unwrap();
        assert!(spec.replace("model", "b") && !spec.replace("modell", "c"));
        assert_eq!(spec.to_string(), "uct(sims=5, playout=guided(model=b))");
    }

    #[test]
    fn errors_point_at_the_place() {
        let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(error("uct(sims=)").contains("column 10"));
        assert!(error("uct(sims 5)").contains("\"sims\" needs a value"));
        assert!(error("uct(sims=5").contains("expected"));
        assert!(error("uct(sims=5, sims=6)").contains("given twice (column 13)"));
        assert!(error("uct) x").contains("after the end"));
        assert!(error(&"a(b=".repeat(1000)).contains("too many"));
        assert!(error("").contains("found the end"));
    }
}
