//! Learners whose inner loops know the type of the game, attached to tables by [`open`] and [`table`].

use crate::proof_selfplay::{ProofMatch, proof_match};
use crate::records::{Labelled, Records};
use crate::sarsa::Sarsa;
use crate::store::RunError;
use crate::td::{Survey, TdConfig, TdPlayer, survey};
use ludex_core::symmetry::{Symmetry, symmetries};
use ludex_core::{Fact, Game, GameInfo, Move, Payoffs, TextError};
use ludex_learn::{NnueExamples, Phases, QuantisedNnue};
use ludex_play::*;
use std::any::{Any, TypeId};
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
    ) -> Result<Payoffs, RunError>;

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
    ) -> Result<Payoffs, RunError> {
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

/// A table with what learners ask of its game.
struct LearningTable {
    table: Arc<dyn Table>,
    native: Arc<dyn NativeLearning>,
}

impl Table for LearningTable {
    fn info(&self) -> &GameInfo {
        self.table.info()
    }
    fn start(&self) -> Box<dyn Position> {
        self.table.start()
    }
    fn position(&self, text: &str) -> Result<Box<dyn Position>, TextError> {
        self.table.position(text)
    }
    fn move_name(&self, m: Move) -> String {
        self.table.move_name(m)
    }
    fn parse_move(&self, text: &str) -> Option<Move> {
        self.table.parse_move(text)
    }
    fn fact_name(&self, f: Fact) -> String {
        self.table.fact_name(f)
    }
    fn agent(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Agent>, SpecError> {
        self.table.agent(spec, seed)
    }
    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        self.table.check(spec)
    }
    fn parts(&self) -> Vec<PartInfo> {
        self.table.parts()
    }
    fn option(&self, agent: &Spec, path: &str) -> Option<OptionInfo> {
        self.table.option(agent, path)
    }
    fn owns(&self, position: &dyn Position) -> bool {
        self.table.owns(position)
    }
    fn solve(&self, position: &dyn Position) -> Option<Box<dyn Solution>> {
        self.table.solve(position)
    }
    fn attached(&self, ty: TypeId) -> Option<&(dyn Any + Send + Sync)> {
        if ty == TypeId::of::<dyn NativeLearning>() { Some(&self.native) } else { self.table.attached(ty) }
    }
}

/// A table that [`ludex_play`] opened, to learn on too.
pub fn learnable(table: Arc<dyn Table>) -> Arc<dyn Table> {
    match visit_native(&*table, MakeNative) {
        Some(native) => Arc::new(LearningTable { table, native }),
        None => table,
    }
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
pub fn native(table: &dyn Table) -> Result<&Arc<dyn NativeLearning>, RunError> {
    let line = || RunError::Options(format!("{} was opened without what learning needs", table.info().name));
    table.extension::<dyn NativeLearning>().ok_or_else(line)
}
