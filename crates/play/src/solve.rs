//! Exact values by search, where the type of the game is forgotten: is a position won, drawn or lost?

use crate::AgentError;
use crate::table::{Position, TypedPosition};
use ludex_core::{Control, Game, Limit, Move, Search};
use ludex_search::Pvs;
pub use ludex_search::pvs::{Goal, MoveBounds, value_of};
use std::sync::Arc;

/// Proves values of positions of one game.
pub trait Prover: Send {
    /// Narrows what is certain about the moves of a position until the goal is reached or the control ends it; `found` is
    /// told whenever a bound has changed. What earlier proofs learned is used. Gives the positions searched.
    fn prove(
        &mut self,
        at: &dyn Position,
        moves: &mut [MoveBounds],
        goal: Goal,
        control: &Control,
        found: &mut dyn FnMut(&[MoveBounds]),
    ) -> Result<u64, AgentError>;

    /// Forgets everything.
    fn reset(&mut self);
}

/// The moves of a position, of which nothing is known.
pub fn unknown_moves(at: &dyn Position) -> Vec<MoveBounds> {
    at.legal().into_iter().map(MoveBounds::unknown).collect()
}

/// The move that a player who knows these bounds makes: the best that is proven; of won moves the one that seems quickest, of
/// lost ones the one that seems slowest.
pub fn best_move(moves: &[MoveBounds]) -> Option<&MoveBounds> {
    let value = value_of(moves)?;
    let plies = |m: &&MoveBounds| -(value as i64) * m.plies.unwrap_or(1000) as i64;
    // Of equals the first.
    moves.iter().rev().filter(|m| m.low == value).max_by_key(plies)
}

/// Best play for both sides from a position whose value was proven, as far as each step is proven again within so many
/// positions.
pub fn proven_line(
    prover: &mut dyn Prover,
    at: &dyn Position,
    first: Move,
    nodes_a_step: u64,
) -> Result<Vec<Move>, AgentError> {
    let (mut at, mut line) = (at.boxed_clone(), Vec::new());
    let mut next = Some(first);
    while let Some(m) = next {
        at.play(m).map_err(|e| AgentError::Failed(e.to_string()))?;
        line.push(m);
        let mut moves = unknown_moves(&*at);
        if !moves.is_empty() {
            prover.prove(&*at, &mut moves, Goal::Value, &Limit::nodes(nodes_a_step).into(), &mut |_| {})?;
        }
        next = best_move(&moves).map(|m| m.mv);
    }
    Ok(line)
}

/// Makes a prover with a table of so many megabytes; every table has it attached.
pub(crate) type MakeProver = dyn Fn(usize) -> Option<Box<dyn Prover>> + Send + Sync;

/// The provers of a game; none where payoffs do not add up to zero.
pub(crate) fn prover_of<G: Game>(game: &Arc<G>) -> Arc<MakeProver> {
    let game = game.clone();
    Arc::new(move |megabytes| {
        let prover = || Box::new(TypedProver { game: game.clone(), search: Pvs::prover(megabytes) }) as _;
        game.info().zero_sum.then(prover)
    })
}

/// A prover of a game whose type is known.
struct TypedProver<G: Game> {
    game: Arc<G>,
    search: Pvs<G>,
}

impl<G: Game> Prover for TypedProver<G> {
    fn prove(
        &mut self,
        at: &dyn Position,
        moves: &mut [MoveBounds],
        goal: Goal,
        control: &Control,
        found: &mut dyn FnMut(&[MoveBounds]),
    ) -> Result<u64, AgentError> {
        let foreign = || AgentError::Foreign(self.game.info().name.clone());
        let at = TypedPosition::of(at, &*self.game).ok_or_else(foreign)?;
        if at.outcome().is_some() {
            return Err(AgentError::GameOver);
        }
        Ok(self.search.prove(&self.game, at.state(), moves, goal, control, found))
    }

    fn reset(&mut self) {
        self.search.reset();
    }
}
