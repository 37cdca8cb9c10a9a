//! Learners whose inner loops know the type of the game, attached to tables by [`open`], [`learnable_as`] and [`table`].

use crate::proof_selfplay::{ProofMatch, proof_match};
use crate::records::{Labelled, Records};
use crate::sarsa::Sarsa;
use crate::store::{Result, RunError};
use crate::td::{Survey, TdConfig, TdPlayer, survey};
use ludex_core::symmetry::{Symmetry, symmetries};
use ludex_core::{Game, Payoffs};
use ludex_learn::{NnueExamples, Phases, QuantisedNnue};
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

    /// What random play shows of the game.
    fn survey(&self, games: u64, seed: u64) -> Survey;

    /// The symmetries of the rules, the identity first.
    fn symmetries(&self, seed: u64) -> Vec<Symmetry>;

    /// Examples of games that a net plays against itself, so many at least.
    fn td_games(
        &self,
        net: &Arc<QuantisedNnue>,
        config: &TdConfig,
        phases: &Phases,
        wanted: usize,
        seed: u64,
    ) -> NnueExamples;
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

    fn survey(&self, games: u64, seed: u64) -> Survey {
        survey(&**self.game(), games, seed)
    }

    fn symmetries(&self, seed: u64) -> Vec<Symmetry> {
        symmetries(&**self.game(), &Default::default(), seed)
    }

    fn td_games(
        &self,
        net: &Arc<QuantisedNnue>,
        config: &TdConfig,
        phases: &Phases,
        wanted: usize,
        seed: u64,
    ) -> NnueExamples {
        TdPlayer::new(&**self.game(), net, config, phases).play(wanted, seed)
    }
}

/// Attaches what learners ask of a game of any type.
struct Attach<'t>(&'t Extensions);

impl NativeVisitor for Attach<'_> {
    fn visit<G: Game>(&self, native: Arc<NativeTable<G>>) {
        self.0.attach::<dyn NativeLearning>(native);
    }
}

/// Lets a table that [`ludex_play`] opened be learned on too.
pub fn learnable(table: Arc<dyn Table>) -> Arc<dyn Table> {
    visit_native(&*table, &Attach(table.extensions()));
    table
}

/// Opens a game by its name, to play and to learn.
pub fn open(name: &str) -> Result<Arc<dyn Table>, OpenError> {
    ludex_play::open(name).map(learnable)
}

/// Lets a table of rules of one's own be learned on too.
pub fn learnable_as<G: Game>(table: Arc<dyn Table>) -> Arc<dyn Table> {
    if let Some(native) = table.extension::<NativeTable<G>>() {
        table.extensions().attach::<dyn NativeLearning>(native);
    }
    table
}

/// A table of rules of one's own, to play and to learn.
pub fn table<G: Game>(game: impl Into<Arc<G>>) -> Arc<dyn Table> {
    learnable_as::<G>(TableBuilder::new(game).build())
}

/// What learners ask of the game behind a table.
pub fn native(table: &dyn Table) -> Result<Arc<dyn NativeLearning>> {
    let line = || RunError::Options(format!("{} was opened without what learning needs", table.info().name));
    table.extension::<dyn NativeLearning>().ok_or_else(line)
}
