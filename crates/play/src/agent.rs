//! Agents: whoever chooses moves at a table.

use crate::table::{Position, TypedPosition};
use ludex_core::{Choice, Control, Game, Limit, LimitKind, Move, Rng, Search};
use std::sync::Arc;

/// A player. It follows a match by the positions that it is given: where the last one is the beginning of the line of the next
/// one, what it knows below may be used again.
pub trait Agent: Send {
    /// Chooses a move at a position of the table that made the agent. Where the control sets no limit, the agent's own counts.
    fn choose(&mut self, at: &dyn Position, control: &Control) -> Result<Choice, AgentError>;

    /// The limits that it knows.
    fn limits(&self) -> &[LimitKind];

    /// What the last choice counted besides, by name: for those who measure an agent's parts.
    fn counters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Why an agent does not choose: one line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AgentError {
    /// The position belongs to another game.
    #[error("the position is not one of {0}")]
    Foreign(String),
    /// There is nothing to choose.
    #[error("the game is over")]
    GameOver,
    /// A limit would never be reached.
    #[error("{agent} has no limit {limit}: {}", known(.has))]
    Limit {
        /// The agent.
        agent: String,
        /// What it was given.
        limit: LimitKind,
        /// What it knows.
        has: Vec<LimitKind>,
    },
    /// A search without limit that nobody can stop.
    #[error("a search without limit needs a stop")]
    Endless,
    /// The agent itself failed.
    #[error("{0}")]
    Failed(String),
}

fn known(limits: &[LimitKind]) -> String {
    match limits.is_empty() {
        true => "it takes none".into(),
        false => format!("it has {}", limits.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")),
    }
}

/// A search that plays.
pub(crate) struct SearchAgent<G: Game> {
    game: Arc<G>,
    name: String,
    search: Box<dyn Search<G>>,
    limit: Limit,
    rng: Rng,
    /// The position that was given last: where its line began, and the moves since.
    followed: Option<(G::State, Vec<Move>)>,
}

impl<G: Game> SearchAgent<G> {
    pub fn new(game: Arc<G>, name: &str, (search, limit): (Box<dyn Search<G>>, Limit), seed: u64) -> Self {
        SearchAgent { game, name: name.into(), search, limit, rng: Rng::new(seed), followed: None }
    }

    /// Tells the search which moves were played since the last position, or that another match begins.
    fn follow(&mut self, at: &TypedPosition<G>) {
        let same = |s: &G::State| *s == *at.first() && self.game.history_key(s) == self.game.history_key(at.first());
        let moves = at.moves();
        let new = match &mut self.followed {
            Some((start, line)) if same(start) && moves.starts_with(line) => {
                let new = line.len();
                line.extend_from_slice(&moves[new..]);
                new
            }
            followed => {
                self.search.reset();
                *followed = Some((at.first().clone(), moves.to_vec()));
                0
            }
        };
        moves[new..].iter().for_each(|&m| self.search.advance(m));
    }
}

impl<G: Game> Agent for SearchAgent<G> {
    fn choose(&mut self, at: &dyn Position, control: &Control) -> Result<Choice, AgentError> {
        let foreign = || AgentError::Foreign(self.game.info().name.clone());
        let at = TypedPosition::of(at, &*self.game).ok_or_else(foreign)?;
        if at.outcome().is_some() {
            return Err(AgentError::GameOver);
        }
        let limit = control.limit.or(&self.limit).or(&self.search.default_limit());
        let has = self.search.limits();
        if let Some(limit) = limit.kinds().find(|k| !has.contains(k)) {
            return Err(AgentError::Limit { agent: self.name.clone(), limit, has: has.to_vec() });
        }
        if limit.infinite && control.stop.is_none() {
            return Err(AgentError::Endless);
        }
        self.follow(at);
        let control = Control { limit, ..control.clone() };
        // No search gets to see what the player must not.
        let drawn = self.game.hidden(at.state()).then(|| self.game.determinize(at.state(), &mut self.rng));
        let state = drawn.as_ref().unwrap_or(at.state());
        Ok(self.search.search(&self.game, state, &control, &mut self.rng))
    }

    fn limits(&self) -> &[LimitKind] {
        self.search.limits()
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        self.search.counters()
    }
}
