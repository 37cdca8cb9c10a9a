//! Where the type of a game is forgotten: the one face that the command line, the web, the protocols and Python see.

use crate::agent::Agent;
use crate::build::{self, House};
use crate::parts::{Kind, Opt};
use crate::sarsa::Sarsa;
use crate::spec::{Spec, SpecError};
use crate::store::Examples;
use crate::study::{self, Study};
use ludex_core::{Fact, Game, GameInfo, Move, Payoffs, Player, Rng, TextError, perft, playouts};
use std::any::Any;
use std::sync::Arc;

/// A game that has been opened by name.
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

    /// Plays a match of alpha-beta players, adds what their searches proved to the examples, and gives the result. Everything
    /// random comes from the seed.
    fn study(&self, study: &Study<'_>, match_id: u32, seed: u64, out: &mut Examples) -> Result<Payoffs, SpecError>;

    /// Lets a learner of action values play on until it has learned from so many games, or `stop` holds between two of them.
    fn train(&self, learner: &mut Sarsa, games: u64, stop: &dyn Fn() -> bool);

    /// Yardsticks of this game only, for help: what they are for, their names, a line about each, their options.
    fn rivals(&self) -> Vec<(Kind, &'static str, &'static str, &'static [Opt])>;

    /// All exact values below a position, where this game has a solver and the position is small enough: for measuring.
    fn solve(&self, position: &dyn Position) -> Option<Box<dyn Solution>>;

    /// The published starting positions of this game, if it has any.
    fn family(&self) -> Vec<&'static str>;
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

    /// For agents, which know the type of the game they were built for.
    fn as_any(&self) -> &dyn Any;
}

impl Clone for Box<dyn Position> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// A game behind a [`Table`].
pub(crate) struct Seated<G: Game> {
    pub game: Arc<G>,
    pub house: House<G>,
}

impl<G: Game> Table for Seated<G> {
    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self) -> Box<dyn Position> {
        Box::new(Line::new(self.game.clone(), self.game.initial()))
    }

    fn position(&self, text: &str) -> Result<Box<dyn Position>, TextError> {
        Ok(Box::new(Line::new(self.game.clone(), self.game.parse_position(text)?)))
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
        build::agent(&self.game, &self.house, spec, seed)
    }

    fn study(&self, study: &Study<'_>, match_id: u32, seed: u64, out: &mut Examples) -> Result<Payoffs, SpecError> {
        study::study(&*self.game, &self.house, study, match_id, seed, out)
    }

    fn train(&self, learner: &mut Sarsa, games: u64, stop: &dyn Fn() -> bool) {
        while learner.games() < games && !stop() {
            learner.play(&*self.game);
        }
    }

    fn rivals(&self) -> Vec<(Kind, &'static str, &'static str, &'static [Opt])> {
        self.house.list()
    }

    fn solve(&self, position: &dyn Position) -> Option<Box<dyn Solution>> {
        let line = position.as_any().downcast_ref::<Line<G>>()?;
        self.house.solver.and_then(|solver| solver(&self.game, line.state()))
    }

    fn family(&self) -> Vec<&'static str> {
        let positions = self.house.family.lines().filter_map(|line| line.split('\t').next());
        positions.filter(|text| self.game.parse_position(text).is_ok()).collect()
    }
}

/// A line of play of a game whose type is known.
pub struct Line<G: Game> {
    game: Arc<G>,
    states: Vec<G::State>,
    moves: Vec<Move>,
}

impl<G: Game> Line<G> {
    /// Begins at a state.
    pub fn new(game: Arc<G>, s: G::State) -> Self {
        Line { game, states: vec![s], moves: Vec::new() }
    }

    /// The state now.
    pub fn state(&self) -> &G::State {
        self.states.last().expect("a line has at least its first state")
    }
}

impl<G: Game> Position for Line<G> {
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
        Box::new(Line { game: self.game.clone(), states: self.states.clone(), moves: self.moves.clone() })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
