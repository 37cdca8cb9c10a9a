//! The parts that specs name: an entry has a name, a line about it, its options, and its constructor. What is listed can be
//! built, and what can be built is listed. `parts.txt` describes those that every game has.
//!
//! A [`Composition`] is a name for a filling of another part's options: `uct(c=0.7)` is
//! `mcts(select=ucb1(c=0.7), expand=random)`. Parts of one's own are added with [`crate::TableBuilder`].

mod alphabeta;
mod described;
mod mcts;
mod options;

pub(crate) use alphabeta::observed;
pub use options::{Args, OptionInfo, OptionType};

use crate::bundle;
use crate::spec::{Spec, SpecError, short};
use described::DESCRIBED;
use ludex_core::{Evaluator, EvaluatorFactory, Game, Limit, Search};
use ludex_search::mcts::{Backup, Expand, Playout, PriorSource, Select};
use std::sync::Arc;

/// What a part does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartKind {
    /// Chooses moves by itself.
    Search,
    /// MCTS: chooses a child on the way down, `select=`.
    Select,
    /// MCTS: judges children before they are visited, `prior=`.
    Prior,
    /// MCTS: adds children, `expand=`.
    Expand,
    /// MCTS: plays a simulation to its end, `playout=`.
    Playout,
    /// MCTS: carries results up, `backup=`.
    Backup,
    /// Judges positions, `eval=`.
    Evaluator,
}

impl PartKind {
    /// All of them, searches first.
    pub const ALL: [PartKind; 7] = [
        PartKind::Search,
        PartKind::Select,
        PartKind::Prior,
        PartKind::Expand,
        PartKind::Playout,
        PartKind::Backup,
        PartKind::Evaluator,
    ];

    /// The kind of this name in `parts.txt`.
    fn keyed(key: &str) -> Option<Self> {
        let keys = ["agent", "select", "prior", "expand", "playout", "backup", "evaluator"];
        keys.iter().position(|k| *k == key).map(|i| Self::ALL[i])
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        ["agent", "selection rule", "prior", "expansion", "playout", "backup", "evaluator"][self as usize]
    }
}

/// A part as help pages show it.
#[derive(Clone, Debug, PartialEq)]
pub struct PartInfo {
    /// What it does.
    pub kind: PartKind,
    /// What to type.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its options.
    pub options: Vec<OptionInfo>,
    /// Only this game has it.
    pub own: bool,
}

/// Makes a part from its options.
type Make<G, T> = Arc<dyn Fn(&Args<'_, G>) -> Result<T, SpecError> + Send + Sync>;

/// A part that a spec can name.
struct Entry<G: Game, T> {
    info: PartInfo,
    make: Make<G, T>,
}

/// All parts of one kind.
pub(crate) struct Entries<G: Game, T> {
    kind: PartKind,
    all: Vec<Entry<G, T>>,
}

impl<G: Game, T> Entries<G, T> {
    fn new(kind: PartKind) -> Self {
        Entries { kind, all: Vec::new() }
    }

    /// Adds a part that `parts.txt` describes.
    fn add(&mut self, name: &str, make: impl Fn(&Args<'_, G>) -> Result<T, SpecError> + Send + Sync + 'static) {
        let info = DESCRIBED.parts.iter().find(|p| p.kind == self.kind && p.name == name);
        let info = info.unwrap_or_else(|| panic!("parts.txt describes {name}")).clone();
        self.all.push(Entry { info, make: Arc::new(make) });
    }

    /// Adds a part of one game, under a name that no other part of its kind has.
    pub fn add_own(
        &mut self,
        name: &'static str,
        about: &'static str,
        options: &'static [OptionInfo],
        make: impl Fn(&Args<'_, G>) -> Result<T, SpecError> + Send + Sync + 'static,
    ) {
        let composed = self.kind == PartKind::Search && composition(name).is_some();
        let taken = composed || self.all.iter().any(|e| e.info.name == name);
        assert!(!taken, "{name} is the name of another {}", self.kind.name());
        let info = PartInfo { kind: self.kind, name, about, options: options.to_vec(), own: true };
        self.all.push(Entry { info, make: Arc::new(make) });
    }

    fn find(&self, spec: &Spec, others: &[&'static str]) -> Result<&Entry<G, T>, SpecError> {
        self.all.iter().find(|e| e.info.name == spec.name).ok_or_else(|| {
            let names: Vec<&str> = self.list().map(|p| p.name).chain(others.iter().copied()).collect();
            let (kind, name, hint) = (self.kind.name(), short(&spec.name), hint(&spec.name, "there are", &names));
            spec.error(format!("no {kind} of this game is called \"{name}\": {hint}"))
        })
    }

    /// The part that a spec inside another part names.
    pub fn build(&self, spec: &Spec, outer: &Args<'_, G>) -> Result<T, SpecError> {
        let entry = self.find(spec, &[])?;
        options::check(spec, &entry.info.options)?;
        (entry.make)(&Args {
            spec,
            options: &entry.info.options,
            parts: outer.parts,
            game: outer.game,
            seed: outer.seed,
            inherited: outer.model(),
            dry: outer.dry,
        })
    }

    fn list(&self) -> impl Iterator<Item = &PartInfo> {
        self.all.iter().map(|e| &e.info)
    }
}

/// A source of priors: an evaluator, and what it is asked.
pub type Prior<G> = (Box<dyn Evaluator<G>>, PriorSource);

/// A search as a part: the search, and the limit that its spec sets.
pub type SearchPart<G> = (Box<dyn Search<G>>, Limit);

/// All parts that the specs of one game can name.
pub(crate) struct Parts<G: Game> {
    pub searches: Entries<G, SearchPart<G>>,
    pub selects: Entries<G, Box<dyn Select>>,
    pub priors: Entries<G, Option<Prior<G>>>,
    pub expands: Entries<G, Box<dyn Expand<G>>>,
    pub playouts: Entries<G, Box<dyn Playout<G>>>,
    pub backups: Entries<G, Box<dyn Backup>>,
    pub evaluators: Entries<G, Arc<dyn EvaluatorFactory<G>>>,
}

impl<G: Game> Parts<G> {
    /// What every game has.
    pub fn standard() -> Self {
        let mut parts = Parts {
            searches: Entries::new(PartKind::Search),
            selects: Entries::new(PartKind::Select),
            priors: Entries::new(PartKind::Prior),
            expands: Entries::new(PartKind::Expand),
            playouts: Entries::new(PartKind::Playout),
            backups: Entries::new(PartKind::Backup),
            evaluators: Entries::new(PartKind::Evaluator),
        };
        alphabeta::add(&mut parts);
        mcts::add(&mut parts);
        parts
    }

    /// The search that a spec describes, and the limit that it sets; `dry` if models need not be there yet.
    pub fn search(&self, game: &Arc<G>, spec: &Spec, seed: u64, dry: bool) -> Result<SearchPart<G>, SpecError> {
        let (level, composed);
        let spec = match spec.name.strip_prefix("level:") {
            Some(_) if !spec.args.is_empty() => return Err(spec.error("a level has no options")),
            Some(text) => {
                level = bundle::level_agent(text, game.info()).map_err(|e| spec.error(e))?;
                &level
            }
            None => spec,
        };
        let spec = match composition(&spec.name) {
            Some(composition) => {
                options::check(spec, &composition.info(self).options)?;
                composed = composition.compose(spec);
                &composed
            }
            None => spec,
        };
        let compositions: Vec<&str> = DESCRIBED.compositions.iter().map(|c| c.name).collect();
        let entry = self.searches.find(spec, &compositions)?;
        let options = &entry.info.options;
        options::check(spec, options)?;
        (entry.make)(&Args { spec, options, parts: self, game, seed, inherited: None, dry })
    }

    /// All parts, by kind.
    pub fn list(&self) -> Vec<PartInfo> {
        let searches = self.searches.list().cloned().chain(DESCRIBED.compositions.iter().map(|c| c.info(self)));
        searches.chain(self.entries().filter(|p| p.kind != PartKind::Search).cloned()).collect()
    }

    /// All parts that have an entry, by kind.
    fn entries(&self) -> impl Iterator<Item = &PartInfo> {
        let tree = self.selects.list().chain(self.priors.list()).chain(self.expands.list());
        let leaf = self.playouts.list().chain(self.backups.list()).chain(self.evaluators.list());
        self.searches.list().chain(tree).chain(leaf)
    }

    /// The option at a path such as `playout.eps` of an agent.
    pub fn option_at(&self, agent: &Spec, path: &str) -> Option<OptionInfo> {
        let Some(composition) = composition(&agent.name) else {
            return self.entry_option(agent, path);
        };
        match path.split_once('.') {
            None => composition.info(self).options.into_iter().find(|o| o.name == path),
            Some((option, rest)) => {
                let to = composition.routes.iter().find(|r| r.option == option).map_or(option, |r| r.to);
                self.entry_option(&composition.compose(agent), &format!("{to}.{rest}"))
            }
        }
    }

    /// The same of an agent that is no composition.
    fn entry_option(&self, agent: &Spec, path: &str) -> Option<OptionInfo> {
        let (mut kind, mut spec, mut found) = (PartKind::Search, agent.clone(), None::<OptionInfo>);
        for word in path.split('.') {
            if let Some(outer) = found {
                let OptionType::Part(inner) = outer.ty else { return None };
                (kind, spec) = (inner, outer.value(spec.get(outer.name)));
            }
            let part = self.entries().find(|p| p.kind == kind && p.name == spec.name)?;
            found = part.options.iter().copied().find(|o| o.name == word);
            found?;
        }
        found
    }
}

/// A name for a filling of another part's options.
struct Composition {
    name: &'static str,
    about: &'static str,
    /// What it stands for.
    template: &'static str,
    /// Its own options, and where their values go.
    routes: Vec<Route>,
    /// Options of the part it fills that it has too.
    shared: Vec<OptionInfo>,
}

/// An option of a composition, and the path of the option that its value becomes.
struct Route {
    option: &'static str,
    to: &'static str,
    /// What it is if nothing is typed; empty for the default of the option that it becomes.
    default: &'static str,
    /// The only values that make sense here; empty for all.
    words: &'static [&'static str],
    /// A line of its own; empty for that of the option that it becomes.
    about: &'static str,
}

/// The composition of this name.
fn composition(name: &str) -> Option<&'static Composition> {
    DESCRIBED.compositions.iter().find(|c| c.name == name)
}

impl Composition {
    /// The spec that this one stands for.
    fn compose(&self, spec: &Spec) -> Spec {
        let mut composed: Spec = self.template.parse().expect("templates are specs");
        for r in &self.routes {
            match spec.get(r.option) {
                Some(value) => composed.set_part(r.to, value.clone()),
                None if r.default.is_empty() => {}
                None => composed.set(r.to, r.default),
            }
        }
        for (key, value) in spec.args.iter().filter(|(k, _)| !self.routes.iter().any(|r| r.option == k)) {
            composed.set_part(key, value.clone());
        }
        composed
    }

    /// As help pages show it: the options are those that the routes lead to.
    fn info<G: Game>(&self, parts: &Parts<G>) -> PartInfo {
        let composed = self.compose(&Spec::word(self.name));
        let own = self.routes.iter().map(|r| {
            let found = parts.entry_option(&composed, r.to).expect("routes lead to options");
            OptionInfo {
                name: r.option,
                default: if r.default.is_empty() { found.default } else { r.default },
                ty: if r.words.is_empty() { found.ty } else { OptionType::Word(r.words) },
                about: if r.about.is_empty() { found.about } else { r.about },
            }
        });
        let shared = self.shared.iter().filter(|o| !self.routes.iter().any(|r| r.option == o.name));
        let options = own.chain(shared.copied()).collect();
        PartInfo { kind: PartKind::Search, name: self.name, about: self.about, options, own: false }
    }
}

/// What may have been meant by a word that is not among these.
pub fn hint(word: &str, there_are: &str, names: &[&str]) -> String {
    match names.iter().find(|n| near(n, word)) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("{there_are} {}", names.join(", ")),
    }
}

/// Whether two words are so alike that one may be a slip for the other: at most two letters' difference.
pub fn near(a: &str, b: &str) -> bool {
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
