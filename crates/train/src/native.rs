//! Learners whose inner loops know the type of the game, attached to tables by [`open`] and [`table`].

use crate::proof_selfplay::{ProofMatch, proof_match};
use crate::records::{Labelled, Records};
use crate::sarsa::Sarsa;
use crate::store::{Result, RunError};
use ludex_core::{Game, Payoffs};
use ludex_play::*;
use std::sync::Arc;

/// What learners ask of a game whose type they do not know.
pub trait NativeLearning: Send + Sync {
    /// Plays a match of alpha-beta players, adds the labels of what was proven, and gives the result. `of` is the match's number
    /// and its seed.
    fn proof_match(
        &self,
        table: &dyn Table,
        m: &ProofMatch<'_>,
        of: (u32, u64),
        out: &mut Records<Labelled>,
    ) -> Result<Payoffs>;

    /// Lets a learner of action values play on until it has learned from so many games, or `stop` holds between two of them.
    fn sarsa_games(&self, learner: &mut Sarsa, games: u64, stop: &dyn Fn() -> bool);
}

impl<G: Game> NativeLearning for NativeTable<G> {
    fn proof_match(
        &self,
        table: &dyn Table,
        m: &ProofMatch<'_>,
        of: (u32, u64),
        out: &mut Records<Labelled>,
    ) -> Result<Payoffs> {
        proof_match(self, table, m, of, out)
    }

    fn sarsa_games(&self, learner: &mut Sarsa, games: u64, stop: &dyn Fn() -> bool) {
        while learner.games() < games && !stop() {
            learner.play(&**self.game());
        }
    }
}

/// The extension of tables that can be learned on.
pub struct Learning;

impl Extension for Learning {
    fn extend<G: Game>(table: TableBuilder<G>) -> TableBuilder<G> {
        table.attach(|native| Arc::new(native) as Arc<dyn NativeLearning>)
    }
}

/// Makes what learners ask of a game of any type.
struct MakeNative;

impl NativeVisitor for MakeNative {
    type Output = Arc<dyn NativeLearning>;

    fn visit<G: Game>(self, native: &Arc<NativeTable<G>>) -> Self::Output {
        native.clone()
    }
}

/// Lets a table that [`ludex_play`] opened be learned on too.
pub fn learnable(table: Arc<dyn Table>) -> Arc<dyn Table> {
    if let Some(native) = visit_native(&*table, MakeNative) {
        table.extensions().attach(native);
    }
    table
}

/// Opens a game by its name, to play and to learn.
pub fn open(name: &str) -> Result<Arc<dyn Table>, OpenError> {
    ludex_play::open(name).map(learnable)
}

/// A table of rules of one's own, to play and to learn.
pub fn table<G: Game>(game: impl Into<Arc<G>>) -> Arc<dyn Table> {
    TableBuilder::new(game).extend::<Learning>().build()
}

/// What learners ask of the game behind a table.
pub fn native(table: &dyn Table) -> Result<Arc<dyn NativeLearning>> {
    let line = || RunError::Options(format!("{} was opened without what learning needs", table.info().name));
    table.extension::<dyn NativeLearning>().ok_or_else(line)
}
