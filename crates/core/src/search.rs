//! The interface between searches, evaluators and their callers.

use crate::{Control, Fact, Game, Limit, LimitKind, Move, Payoffs, Rng};

/// Estimates what a state is worth: a net, a heuristic, a rollout. The only joint between learning and search.
///
/// `&mut self` so that scratch buffers and seeded randomness may live inside; a search on several threads gets one evaluator
/// for each from an [`EvaluatorFactory`].
///
/// An evaluator may follow the line of a search ([`Evaluator::follows`]): the search then calls [`Evaluator::refresh`] where
/// the line begins, [`Evaluator::push`] and [`Evaluator::pop`] as it plays and takes back, and [`Evaluator::line_value`] for
/// the state at the end of the line. That is how an accumulator (NNUE) is kept up to date instead of being summed afresh.
pub trait Evaluator<G: Game>: Send {
    /// What each player can expect from a state that is not over; within [-1, 1].
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs;

    /// The value of a state, and how good each of its moves looks to the mover, in one call.
    fn judge(&mut self, game: &G, s: &G::State, moves: &[Move], priors: &mut [f32]) -> Payoffs {
        self.score_moves(game, s, moves, priors);
        self.value(game, s)
    }

    /// What the state that each move leads to is worth to the mover of `s`, in one call; where the game is over, what it got.
    fn child_values(&mut self, game: &G, s: &G::State, moves: &[Move], values: &mut [f32]) {
        let mover = game.mover(s);
        for (&m, value) in moves.iter().zip(values) {
            let mut child = s.clone();
            game.play(&mut child, m);
            *value = game.outcome(&child).unwrap_or_else(|| self.value(game, &child))[mover];
        }
    }

    /// How good each move looks to the mover of `s`; only the order counts.
    fn score_moves(&mut self, game: &G, s: &G::State, moves: &[Move], scores: &mut [f32]) {
        self.child_values(game, s, moves, scores);
    }

    /// The values of several states that are not over, such as leaves of several searches, in one call.
    fn values(&mut self, game: &G, states: &[&G::State], values: &mut [Payoffs]) {
        states.iter().zip(values).for_each(|(s, value)| *value = self.value(game, s));
    }

    /// Whether it is worth telling this evaluator of every move of a line.
    fn follows(&self) -> bool {
        false
    }

    /// A line of search begins at `s`.
    fn refresh(&mut self, _game: &G, _s: &G::State) {}

    /// A move was played at the end of the line; it made these facts true and untrue.
    fn push(&mut self, _on: &[Fact], _off: &[Fact]) {}

    /// The last move of the line was taken back.
    fn pop(&mut self) {}

    /// The value of `s`, the state at the end of the line, which is not over.
    fn line_value(&mut self, game: &G, s: &G::State) -> Payoffs {
        self.value(game, s)
    }
}

/// Makes evaluators, one for each thread that searches. Everything random in an evaluator comes from the seed.
pub trait EvaluatorFactory<G: Game>: Send + Sync {
    /// An evaluator of its own for one thread.
    fn evaluator(&self, seed: u64) -> Box<dyn Evaluator<G>>;
}

impl<G: Game, F: Fn(u64) -> Box<dyn Evaluator<G>> + Send + Sync> EvaluatorFactory<G> for F {
    fn evaluator(&self, seed: u64) -> Box<dyn Evaluator<G>> {
        self(seed)
    }
}

/// A root move as the search sees it.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RootMove {
    /// The move.
    pub mv: Move,
    /// How often it was tried (MCTS), or the nodes below it (alpha-beta).
    pub visits: u64,
    /// What it is worth to each player, where the search knows.
    pub value: Option<Payoffs>,
    /// What a net thought of it beforehand; 0 without one.
    pub prior: f32,
    /// The value is certain.
    pub proven: bool,
}

/// What a search decided, and why.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Choice {
    /// The move to play.
    pub mv: Move,
    /// What the position is worth to each player.
    pub value: Payoffs,
    /// All root moves, in order of move number.
    pub root: Vec<RootMove>,
    /// Positions looked at: tree nodes (MCTS) or positions searched (alpha-beta).
    pub nodes: u64,
    /// Simulations (MCTS).
    pub simulations: u64,
    /// Plies of the deepest line in the tree (MCTS) or of the last finished iteration (alpha-beta).
    pub depth: u32,
    /// The expected continuation, beginning with `mv`.
    pub line: Vec<Move>,
    /// Memory that the search's tree or table takes.
    pub bytes: u64,
}

/// Chooses moves.
pub trait Search<G: Game>: Send {
    /// Searches a state that is not over, within a limit that it knows ([`Search::limits`]).
    fn search(&mut self, game: &G, s: &G::State, control: &Control, rng: &mut Rng) -> Choice;

    /// The limits that this search counts. Any other would never be reached: callers refuse it.
    fn limits(&self) -> &'static [LimitKind];

    /// What counts where no limit is given.
    fn default_limit(&self) -> Limit;

    /// A move was played from the state last searched or advanced to: what is known below it may be kept.
    fn advance(&mut self, _m: Move) {}

    /// Forgets everything: a new match begins.
    fn reset(&mut self) {}

    /// What the last search counted besides, by name: for those who measure its parts.
    fn counters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// The limits of a search that answers at once: any time is enough for it.
pub const INSTANT: &[LimitKind] = &[LimitKind::Time, LimitKind::Cpu];

/// The limits of every Monte Carlo tree search.
pub const TREE_LIMITS: &[LimitKind] =
    &[LimitKind::Simulations, LimitKind::Visits, LimitKind::Expansions, LimitKind::Time, LimitKind::Cpu];

/// The limits of every alpha-beta search.
pub const ALPHABETA_LIMITS: &[LimitKind] = &[LimitKind::Nodes, LimitKind::Depth, LimitKind::Time, LimitKind::Cpu];
