//! Where the type of a game is forgotten: the one face that the command line, the web, the protocols and Python see.

use crate::agent::{Agent, SearchAgent};
use crate::bundle;
use crate::models::{self, LoadedModel};
use crate::parts::{Args, OptionInfo, PartInfo, Parts};
use crate::solve::{MakeProver, Prover, prover_of};
use crate::spec::{Spec, SpecError};
use ludex_core::{
    EvaluatorFactory, Fact, Game, GameInfo, Move, Payoffs, Player, Rng, Search, TextError, perft, playouts,
};
use ludex_search::mcts::{Expand, Playout, Select};
use ludex_search::{AlphaBeta, ExactObserver};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A game that has been opened. [`crate::open`] makes one by name, [`TableBuilder`] of rules of one's own.
pub trait Table: Send + Sync {
    /// Names and sizes.
    fn info(&self) -> &GameInfo;

    /// The initial position.
    fn start(&self) -> Box<dyn Position>;

    /// The position that a text describes.
    fn position(&self, text: &str) -> Result<Box<dyn Position>, TextError>;

    /// The move as people write it.
    fn move_name(&self, m: Move) -> String;

    /// The move of this name, legal or not.
    fn parse_move(&self, text: &str) -> Option<Move>;

    /// The fact in GDL style.
    fn fact_name(&self, f: Fact) -> String;

    /// The agent that a spec describes; everything random in it comes from the seed.
    fn agent(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Agent>, SpecError>;

    /// Whether a spec describes an agent, apart from models, which need not be there yet.
    fn check(&self, spec: &Spec) -> Result<(), SpecError>;

    /// Every part that specs of this game can name.
    fn parts(&self) -> Vec<PartInfo>;

    /// The option at a path such as `playout.eps` of an agent.
    fn option(&self, agent: &Spec, path: &str) -> Option<OptionInfo>;

    /// Whether a position is one of this game.
    fn owns(&self, position: &dyn Position) -> bool;

    /// All exact values below a position, where this game has a solver and the position is small enough.
    fn solve(&self, position: &dyn Position) -> Option<Box<dyn Solution>>;

    /// What is attached to the table: the [`NativeTable`], and whatever somebody made of it.
    fn extensions(&self) -> &Extensions;
}

impl dyn Table + '_ {
    /// The extension of this type, if the table has it.
    pub fn extension<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.extensions().lock().get(&TypeId::of::<T>())?.downcast_ref().cloned()
    }

    /// Proves values of positions by search, with a table of so many megabytes; `None` where payoffs do not add up to zero.
    pub fn prover(&self, megabytes: usize) -> Option<Box<dyn Prover>> {
        self.extension::<MakeProver>()?(megabytes)
    }

    /// The models that an agent uses. They are read once for all agents that are made while somebody holds them.
    pub fn models(&self, spec: &Spec) -> Result<Vec<Arc<LoadedModel>>, SpecError> {
        let load = |m| models::load_roles(&m, self.info()).map_err(|e| spec.error(e));
        let level = spec.name.strip_prefix("level:").map(|text| bundle::level_agent(text, self.info())).transpose();
        let level = level.map_err(|e| spec.error(e))?;
        Ok(level.as_ref().unwrap_or(spec).models().into_iter().map(load).collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// What is attached to a table, by its type.
#[derive(Default)]
pub struct Extensions(Mutex<HashMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl Extensions {
    fn lock(&self) -> MutexGuard<'_, HashMap<TypeId, Box<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Attaches this in place of what was attached under the same type.
    pub fn attach<T: ?Sized + Send + Sync + 'static>(&self, made: Arc<T>) {
        self.lock().insert(TypeId::of::<T>(), Box::new(made));
    }
}

/// What a move is worth to the player who makes it, exactly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worth {
    /// The move.
    pub mv: Move,
    /// The payoff in the end.
    pub payoff: f32,
    /// By how much, in the game's own unit (boxes, discs).
    pub margin: f32,
}

/// Exact values below one position.
pub trait Solution: Send {
    /// What each legal move is worth there; `None` if the position is not below the solved one, or the game is over.
    fn worth(&self, position: &dyn Position) -> Option<Vec<Worth>>;
}

/// A state with the line of play that led to it. Legality is checked here, once.
pub trait Position: Send {
    /// Who chooses next.
    fn mover(&self) -> Player;

    /// All legal moves; empty exactly when the game is over.
    fn legal(&self) -> Vec<Move>;

    /// What each player got, if the game is over.
    fn outcome(&self) -> Option<Payoffs>;

    /// Plays a move, or says why it cannot be played and changes nothing.
    fn play(&mut self, m: Move) -> Result<(), TextError>;

    /// Takes the last move back; `false` if there is none.
    fn undo(&mut self) -> bool;

    /// The moves played since the position was set up.
    fn moves(&self) -> &[Move];

    /// The facts that hold.
    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.facts_into(&mut facts);
        facts
    }

    /// Replaces `out` by the facts that hold.
    fn facts_into(&self, out: &mut Vec<Fact>);

    /// Replaces `out` by the facts that would hold after a legal move, and tells who would be to move.
    fn facts_after(&self, m: Move, out: &mut Vec<Fact>) -> Player;

    /// The position as one line of text.
    fn text(&self) -> String;

    /// The board for people.
    fn show(&self) -> String;

    /// The number of move sequences of this length.
    fn perft(&self, depth: u32) -> u64;

    /// Total payoffs by player, and plies, of `n` uniformly random playouts.
    fn playouts(&self, n: u64, rng: &mut Rng) -> (Vec<f64>, u64);

    /// Another position that plays on independently.
    fn boxed_clone(&self) -> Box<dyn Position>;

    /// The [`TypedPosition`], for what knows the type of the game.
    fn as_any(&self) -> &dyn Any;
}

impl Clone for Box<dyn Position> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// From a state to all exact values below it.
pub(crate) type Solve<G> = fn(&Arc<G>, &<G as Game>::State) -> Option<Box<dyn Solution>>;

/// Makes a table of rules, with parts of one's own.
///
/// ```
/// use ludex_core::toy::Nim;
/// use ludex_play::{OptionInfo, TableBuilder};
/// let table = TableBuilder::new(Nim::new(9))
///     .search("first", "the lowest move", &[], |_| Ok(Box::new(ludex_search::Random)))
///     .build();
/// assert!(table.agent(&"first".parse().unwrap(), 1).is_ok());
/// ```
///
/// # Panics
/// If a part is added under a name that another part of its kind has.
pub struct TableBuilder<G: Game> {
    game: Arc<G>,
    parts: Parts<G>,
    solver: Option<Solve<G>>,
}

/// Declares the methods that add parts of one's own, which differ in the kind of the part only.
macro_rules! own_parts {
    ($($about:literal $method:ident, $entries:ident, $part:ty;)*) => {$(
        #[doc = $about]
        pub fn $method(
            mut self,
            name: &'static str,
            about: &'static str,
            options: &'static [OptionInfo],
            make: impl Fn(&Args<'_, G>) -> Result<$part, SpecError> + Send + Sync + 'static,
        ) -> Self {
            self.parts.$entries.add_own(name, about, options, make);
            self
        }
    )*};
}

impl<G: Game> TableBuilder<G> {
    /// A table of these rules, with all standard parts.
    pub fn new(game: impl Into<Arc<G>>) -> Self {
        TableBuilder { game: game.into(), parts: Parts::standard(), solver: None }
    }

    /// Adds a search, which specs then name as an agent.
    pub fn search(
        mut self,
        name: &'static str,
        about: &'static str,
        options: &'static [OptionInfo],
        make: impl Fn(&Args<'_, G>) -> Result<Box<dyn Search<G>>, SpecError> + Send + Sync + 'static,
    ) -> Self {
        self.parts.searches.add_own(name, about, options, move |a| Ok((make(a)?, a.limit()?)));
        self
    }

    own_parts! {
        "Adds an evaluator: `eval=NAME`." evaluator, evaluators, Arc<dyn EvaluatorFactory<G>>;
        "Adds a selection rule: `mcts(select=NAME)`." select, selects, Box<dyn Select>;
        "Adds an expansion: `mcts(expand=NAME)`." expand, expands, Box<dyn Expand<G>>;
        "Adds a playout: `playout=NAME` of every tree search." playout, playouts, Box<dyn Playout<G>>;
    }

    /// Adds an exact solver.
    pub(crate) fn solver(mut self, solve: Solve<G>) -> Self {
        self.solver = Some(solve);
        self
    }

    /// The table.
    pub fn build(self) -> Arc<dyn Table> {
        let TableBuilder { game, parts, solver } = self;
        let (parts, extensions) = (Arc::new(parts), Extensions::default());
        extensions.attach(Arc::new(NativeTable { game: game.clone(), parts: parts.clone() }));
        extensions.attach(prover_of(&game));
        Arc::new(TypedTable { game, parts, solver, extensions })
    }
}

/// The game behind a table with its type, for what must know it: learners with inner loops of their own, say.
pub struct NativeTable<G: Game> {
    game: Arc<G>,
    parts: Arc<Parts<G>>,
}

impl<G: Game> NativeTable<G> {
    /// The game.
    pub fn game(&self) -> &Arc<G> {
        &self.game
    }

    /// The alpha-beta search of a spec `minimax(..)` with an observer of its exact nodes, and the limit that the spec sets.
    pub fn observed_alphabeta<O: ExactObserver<G>>(
        &self,
        spec: &Spec,
        seed: u64,
        observer: O,
    ) -> Result<(AlphaBeta<G, O>, ludex_core::Limit), SpecError> {
        crate::parts::observed(&self.parts, &self.game, spec, seed, observer)
    }
}

/// A game behind a [`Table`].
struct TypedTable<G: Game> {
    game: Arc<G>,
    parts: Arc<Parts<G>>,
    solver: Option<Solve<G>>,
    extensions: Extensions,
}

impl<G: Game> Table for TypedTable<G> {
    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self) -> Box<dyn Position> {
        Box::new(TypedPosition::new(self.game.clone(), self.game.initial()))
    }

    fn position(&self, text: &str) -> Result<Box<dyn Position>, TextError> {
        Ok(Box::new(TypedPosition::new(self.game.clone(), self.game.parse_position(text)?)))
    }

    fn move_name(&self, m: Move) -> String {
        self.game.move_name(m)
    }

    fn parse_move(&self, text: &str) -> Option<Move> {
        self.game.parse_move(text)
    }

    fn fact_name(&self, f: Fact) -> String {
        self.game.fact_name(f)
    }

    fn agent(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Agent>, SpecError> {
        let search = self.parts.search(&self.game, spec, seed, false)?;
        Ok(Box::new(SearchAgent::new(self.game.clone(), &spec.name, search, seed)))
    }

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        self.parts.search(&self.game, spec, 0, true).map(|_| ())
    }

    fn parts(&self) -> Vec<PartInfo> {
        self.parts.list()
    }

    fn option(&self, agent: &Spec, path: &str) -> Option<OptionInfo> {
        self.parts.option_at(agent, path)
    }

    fn solve(&self, position: &dyn Position) -> Option<Box<dyn Solution>> {
        let position = TypedPosition::of(position, &*self.game)?;
        self.solver.and_then(|solve| solve(&self.game, position.state()))
    }

    fn owns(&self, position: &dyn Position) -> bool {
        TypedPosition::of(position, &*self.game).is_some()
    }

    fn extensions(&self) -> &Extensions {
        &self.extensions
    }
}

/// A position of a game whose type is known, with the line of play that led to it.
pub struct TypedPosition<G: Game> {
    game: Arc<G>,
    states: Vec<G::State>,
    moves: Vec<Move>,
}

impl<G: Game> TypedPosition<G> {
    /// Begins at a state.
    pub fn new(game: Arc<G>, s: G::State) -> Self {
        TypedPosition { game, states: vec![s], moves: Vec::new() }
    }

    /// The position with its type, if it is one of this game.
    pub fn of<'a>(position: &'a dyn Position, game: &G) -> Option<&'a Self> {
        let typed = position.as_any().downcast_ref::<Self>()?;
        (typed.game.info().rules_hash == game.info().rules_hash).then_some(typed)
    }

    /// The game.
    pub fn game(&self) -> &Arc<G> {
        &self.game
    }

    /// The state at which the line began.
    pub fn first(&self) -> &G::State {
        &self.states[0]
    }

    /// The state now.
    pub fn state(&self) -> &G::State {
        self.states.last().expect("a line begins with a state")
    }
}

impl<G: Game> Position for TypedPosition<G> {
    fn mover(&self) -> Player {
        self.game.mover(self.state())
    }

    fn legal(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        self.game.legal(self.state(), &mut moves);
        moves
    }

    fn outcome(&self) -> Option<Payoffs> {
        self.game.outcome(self.state())
    }

    fn play(&mut self, m: Move) -> Result<(), TextError> {
        if self.legal().binary_search(&m).is_err() {
            let name = self.game.move_name(m);
            let why = if self.outcome().is_some() { "the game is over" } else { "not legal here" };
            return Err(TextError::new(format!("cannot play {name}: {why}")));
        }
        let mut s = self.state().clone();
        self.game.play(&mut s, m);
        self.states.push(s);
        self.moves.push(m);
        Ok(())
    }

    fn undo(&mut self) -> bool {
        let back = self.moves.pop().is_some();
        if back {
            self.states.pop();
        }
        back
    }

    fn moves(&self) -> &[Move] {
        &self.moves
    }

    fn facts_into(&self, out: &mut Vec<Fact>) {
        self.game.facts(self.state(), out);
    }

    fn facts_after(&self, m: Move, out: &mut Vec<Fact>) -> Player {
        let mut s = self.state().clone();
        self.game.play(&mut s, m);
        self.game.facts(&s, out);
        self.game.mover(&s)
    }

    fn text(&self) -> String {
        self.game.position(self.state())
    }

    fn show(&self) -> String {
        self.game.show(self.state())
    }

    fn perft(&self, depth: u32) -> u64 {
        perft(&*self.game, self.state(), depth)
    }

    fn playouts(&self, n: u64, rng: &mut Rng) -> (Vec<f64>, u64) {
        playouts(&*self.game, self.state(), n, rng)
    }

    fn boxed_clone(&self) -> Box<dyn Position> {
        Box::new(TypedPosition { game: self.game.clone(), states: self.states.clone(), moves: self.moves.clone() })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
