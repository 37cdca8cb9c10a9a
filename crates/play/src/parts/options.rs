//! Options of parts: their names, types, defaults and bounds. Help pages print them, [`Args`] checks what was typed against
//! them, and tuning asks them for types, so that none can disagree with another.

use super::{Entries, PartKind, Parts, SearchPart, hint};
use crate::models::{self, LoadedModel, ModelRef, Need};
use crate::spec::{Spec, SpecError, short};
use ludex_core::{Evaluator, EvaluatorFactory, Game, Limit, LimitKind, Rng};
use std::sync::Arc;

/// What may be typed for an option.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OptionType {
    /// A whole number within bounds.
    Whole(u64, u64),
    /// A number within bounds.
    Real(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A part, by name and options.
    Part(PartKind),
    /// A run, or a model file.
    Model,
}

/// An option of a part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionInfo {
    /// What to type.
    pub name: &'static str,
    /// What it is if nothing is typed; empty for "not set".
    pub default: &'static str,
    /// What may be typed.
    pub ty: OptionType,
    /// One line about it.
    pub about: &'static str,
}

impl OptionInfo {
    /// A whole number.
    pub const fn whole(
        name: &'static str,
        default: &'static str,
        (low, high): (u64, u64),
        about: &'static str,
    ) -> Self {
        OptionInfo { name, default, ty: OptionType::Whole(low, high), about }
    }

    /// A number.
    pub const fn real(name: &'static str, default: &'static str, (low, high): (f64, f64), about: &'static str) -> Self {
        OptionInfo { name, default, ty: OptionType::Real(low, high), about }
    }

    /// A word of a list.
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        OptionInfo { name, default, ty: OptionType::Word(words), about }
    }

    /// `on` or `off`.
    pub const fn flag(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self::word(name, default, &["on", "off"], about)
    }

    /// What was typed for it, or the default. A part of which only options were set (`select.c`) is the default part.
    pub(super) fn value(&self, typed: Option<&Spec>) -> Spec {
        let default = || self.default.parse().unwrap_or_else(|_| Spec::word(self.default));
        let mut value = typed.cloned().unwrap_or_else(default);
        if value.name.is_empty() && matches!(self.ty, OptionType::Part(_)) {
            value.name = default().name;
        }
        value
    }

    /// Refuses a value that this option cannot have. What a part says inside is checked when it is built.
    fn check(&self, value: &Spec) -> Result<(), SpecError> {
        let name = self.name;
        let leaf = value.args.is_empty();
        let (fits, wanted) = match self.ty {
            OptionType::Whole(low, high) => (
                leaf && value.name.parse::<u64>().is_ok_and(|n| (low..=high).contains(&n)),
                format!("a whole number from {low} to {high}"),
            ),
            OptionType::Real(low, high) => (
                leaf && value.name.parse::<f64>().is_ok_and(|n| (low..=high).contains(&n)),
                format!("a number from {low} to {high}"),
            ),
            OptionType::Word(words) => {
                (leaf && words.contains(&value.name.as_str()), format!("one of {}", words.join(", ")))
            }
            OptionType::Part(_) => (true, String::new()),
            OptionType::Model => (leaf, "the path of a run or of a model file".into()),
        };
        if fits { Ok(()) } else { Err(value.error(format!("{name}={} is not {wanted}", short(&value.to_string())))) }
    }
}

/// Refuses options that are not in the list, and values that they cannot have.
pub(super) fn check(spec: &Spec, options: &[OptionInfo]) -> Result<(), SpecError> {
    for (key, value) in &spec.args {
        match options.iter().find(|o| o.name == key) {
            Some(option) => option.check(value)?,
            None => {
                let names = options.iter().map(|o| o.name).collect();
                return Err(value.error(unknown(&spec.name, key, names)));
            }
        }
    }
    Ok(())
}

/// The line about an option that a part does not have.
pub(super) fn unknown(part: &str, key: &str, names: Vec<&str>) -> String {
    let hint = if names.is_empty() { "it takes none".into() } else { hint(key, "it takes", &names) };
    format!("{part} has no option \"{}\": {hint}", short(key))
}

/// The options of a part that is being built, checked against its list: values that were typed, else defaults.
pub struct Args<'a, G: Game> {
    pub(super) spec: &'a Spec,
    pub(super) options: &'a [OptionInfo],
    pub(super) parts: &'a Parts<G>,
    pub(super) game: &'a Arc<G>,
    /// Everything random in the part comes from here.
    pub seed: u64,
    /// The model of the part that this one belongs to.
    pub(super) inherited: Option<ModelRef>,
    /// Models that are not there yet are replaced by placeholders: the part is only checked.
    pub(super) dry: bool,
}

impl<'a, G: Game> Args<'a, G> {
    /// The game that the part is for.
    pub fn game(&self) -> &Arc<G> {
        self.game
    }

    /// An error about this part.
    pub fn error(&self, what: impl std::fmt::Display) -> SpecError {
        self.spec.error(format!("{}: {what}", self.spec.name))
    }

    /// Whether a value was typed.
    pub fn given(&self, key: &str) -> bool {
        self.spec.get(key).is_some()
    }

    /// The value as a spec: as typed, or the default; empty if the part has no such option.
    pub fn value(&self, key: &str) -> Spec {
        let option = self.options.iter().find(|o| o.name == key);
        option.map_or_else(|| Spec::word(""), |o| o.value(self.spec.get(key)))
    }

    fn parsed<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, SpecError> {
        let value = self.value(key);
        match value.name.is_empty() {
            true => Ok(None),
            false => value.name.parse().map(Some).map_err(|_| value.error(format!("{key}={value} is not a number"))),
        }
    }

    /// A whole number.
    pub fn whole<T: TryFrom<u64>>(&self, key: &str) -> Result<T, SpecError> {
        let n: Option<u64> = self.parsed(key)?;
        n.and_then(|n| T::try_from(n).ok()).ok_or_else(|| self.error(format!("needs {key}=")))
    }

    /// A number.
    pub fn real(&self, key: &str) -> Result<f64, SpecError> {
        self.parsed(key)?.ok_or_else(|| self.error(format!("needs {key}=")))
    }

    /// What the word stands for; the list has all words of the option.
    pub fn word<T: Copy>(&self, key: &str, meanings: &[(&str, T)]) -> Result<T, SpecError> {
        let value = self.value(key);
        let found = meanings.iter().find(|(word, _)| *word == value.name);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| value.error(format!("{key}={value} is not known here")))
    }

    /// `on` or `off`.
    pub fn flag(&self, key: &str) -> Result<bool, SpecError> {
        self.word(key, &[("on", true), ("off", false)])
    }

    /// Refuses a value that was typed if it asks for more memory than the machine has left, so far as that is known.
    pub fn check_memory(&self, key: &str, bytes: u64) -> Result<(), SpecError> {
        if !self.given(key) {
            return Ok(());
        }
        let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = known.lines().find_map(|l| l.strip_prefix("MemAvailable:")?.strip_suffix("kB"));
        match available.and_then(|kb| kb.trim().parse::<u64>().ok()) {
            Some(kb) if bytes > kb << 10 => {
                let (value, takes, has) = (self.value(key), bytes >> 20, kb >> 10);
                Err(value.error(format!("{key}={value} takes {takes} MB of memory, {has} MB are available")))
            }
            _ => Ok(()),
        }
    }

    /// The limits among the options.
    pub fn limit(&self) -> Result<Limit, SpecError> {
        let mut limit = Limit::default();
        for kind in LimitKind::ALL {
            // `nodes` of a tree search is the size of its tree: a limit is an option without a default.
            let has = self.options.iter().any(|o| o.name == kind.name() && o.default.is_empty());
            if let Some(n) = self.parsed(kind.name())?.filter(|_| has) {
                limit.set(kind, n);
            }
        }
        Ok(limit)
    }

    /// The model of this part, or that of the part that it belongs to.
    pub fn model(&self) -> Option<ModelRef> {
        let own = self.value("model").name;
        if own.is_empty() { self.inherited.clone() } else { Some(ModelRef::from(own.as_str())) }
    }

    /// The model of all roles; refused if it does not do what is needed.
    pub(crate) fn loaded(&self, need: Need) -> Result<Arc<LoadedModel>, SpecError> {
        let mut roles = self.loaded_roles(need)?;
        match (roles.pop(), roles.is_empty()) {
            (Some(model), true) => Ok(model),
            _ => Err(self.error("needs one model for all roles, and this run has one for each")),
        }
    }

    /// The models of all roles, or one for all of them; refused if they do not do what is needed.
    pub(crate) fn loaded_roles(&self, need: Need) -> Result<Vec<Arc<LoadedModel>>, SpecError> {
        let info = self.game.info();
        if need == Need::Wdl && !info.zero_sum {
            return Err(self.error("win, draw and loss are for two-player zero-sum games"));
        }
        if self.dry {
            return Ok(vec![need.placeholder(info)]);
        }
        let missing = || self.error("needs a model: model=PATH of a run or of a model file");
        let model = self.model().ok_or_else(missing)?;
        let roles = models::load_roles(&model, info).map_err(|e| self.error(e))?;
        match roles.iter().all(|m| need.fits(m.head)) {
            true => Ok(roles),
            false => Err(self.error(format!("the model {model} does not {}", need.text()))),
        }
    }

    /// The part of this kind that an option names.
    pub(super) fn part<T>(&self, kind: &Entries<G, T>, key: &str) -> Result<T, SpecError> {
        kind.build(&self.value(key), self)
    }

    /// The search that an option names, and the limit that it sets.
    pub(super) fn search(&self, key: &str) -> Result<SearchPart<G>, SpecError> {
        self.parts.search(self.game, &self.value(key), self.seed, self.dry)
    }

    /// A factory of the evaluator that an option names.
    pub fn evaluators(&self, key: &str) -> Result<Arc<dyn EvaluatorFactory<G>>, SpecError> {
        self.part(&self.parts.evaluators, key)
    }

    /// The evaluator that an option names.
    pub fn evaluator(&self, key: &str) -> Result<Box<dyn Evaluator<G>>, SpecError> {
        Ok(self.evaluators(key)?.evaluator(Rng::derive(self.seed, 1)))
    }
}
