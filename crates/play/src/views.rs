//! What programs read: positions and choices as JSON, the same from the command line, the server and Python.

use crate::table::{Position, Table};
use ludex_core::{Choice, Move, Payoffs, RootMove};
use serde::Serialize;

fn names(table: &dyn Table, moves: &[Move]) -> Vec<String> {
    moves.iter().map(|&m| table.move_name(m)).collect()
}

/// A position.
#[derive(Clone, Debug, Serialize)]
pub struct PositionView {
    /// The full name of the game.
    pub game: String,
    /// The position as one line of text.
    pub text: String,
    /// The board for people.
    pub board: String,
    /// Who chooses next; `None` if the game is over.
    pub mover: Option<u8>,
    /// The name of the mover's role.
    pub role: Option<String>,
    /// The legal moves.
    pub legal: Vec<String>,
    /// The facts that hold.
    pub facts: Vec<String>,
    /// The moves since the position was set up.
    pub moves: Vec<String>,
    /// What each player got, if the game is over.
    pub outcome: Option<Payoffs>,
}

impl PositionView {
    /// The view of a position of this table.
    pub fn new(table: &dyn Table, p: &dyn Position) -> Self {
        let (outcome, mover) = (p.outcome(), p.mover());
        let goes_on = outcome.is_none();
        PositionView {
            game: table.info().name.clone(),
            text: p.text(),
            board: p.show(),
            mover: goes_on.then_some(mover.0),
            role: goes_on.then(|| table.info().roles[mover.index()].clone()),
            legal: names(table, &p.legal()),
            facts: p.facts().iter().map(|&f| table.fact_name(f)).collect(),
            moves: names(table, p.moves()),
            outcome,
        }
    }
}

/// A root move of a choice.
#[derive(Clone, Debug, Serialize)]
pub struct RootMoveView {
    /// The move.
    #[serde(rename = "move")]
    pub mv: String,
    /// How often it was tried, or the nodes below it.
    pub visits: u64,
    /// What it is worth to each player, where the search knows.
    pub value: Option<Payoffs>,
    /// What a net thought of it beforehand.
    pub prior: f32,
    /// The value is certain.
    pub proven: bool,
}

/// What a search decided, and why.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceView {
    /// The move.
    #[serde(rename = "move")]
    pub mv: String,
    /// What the position is worth to each player.
    pub value: Payoffs,
    /// All root moves.
    pub policy: Vec<RootMoveView>,
    /// The expected continuation.
    pub line: Vec<String>,
    /// Tree nodes, or positions searched.
    pub nodes: u64,
    /// Simulations (MCTS).
    pub simulations: u64,
    /// Plies.
    pub depth: u32,
}

impl ChoiceView {
    /// The view of a choice at this table.
    pub fn new(table: &dyn Table, c: &Choice) -> Self {
        let root = |&RootMove { mv, visits, value, prior, proven }: &RootMove| RootMoveView {
            mv: table.move_name(mv),
            visits,
            value,
            prior,
            proven,
        };
        ChoiceView {
            mv: table.move_name(c.mv),
            value: c.value,
            policy: c.root.iter().map(root).collect(),
            line: names(table, &c.line),
            nodes: c.nodes,
            simulations: c.simulations,
            depth: c.depth,
        }
    }
}
