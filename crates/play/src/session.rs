//! A session: a game in progress with an agent at hand. What terminal, text protocol, page and Python have in common.

use crate::agent::{Agent, AgentError};
use crate::spec::{Spec, SpecError, short};
use crate::table::{Position, Table};
use ludex_core::{Choice, Control, LimitKind, Move, TextError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A position of a game, and an agent that chooses moves there.
pub struct Session {
    table: Arc<dyn Table>,
    position: Box<dyn Position>,
    agent: Box<dyn Agent>,
    spec: Spec,
    seed: u64,
}

impl Session {
    /// Begins at the start of a game; everything random in the agent comes from the seed.
    pub fn new(table: Arc<dyn Table>, spec: Spec, seed: u64) -> Result<Self, SpecError> {
        let (position, agent) = (table.start(), table.agent(&spec, seed)?);
        Ok(Session { table, position, agent, spec, seed })
    }

    /// The game.
    pub fn table(&self) -> &dyn Table {
        &*self.table
    }

    /// The position.
    pub fn position(&self) -> &dyn Position {
        &*self.position
    }

    /// The agent's spec.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The limits that the agent counts; none if it chooses at once.
    pub fn limits(&self) -> &[LimitKind] {
        self.agent.limits()
    }

    /// Begins anew, at the start of this game or of another one with the same agent; a failure changes nothing.
    pub fn new_game(&mut self, other: Option<Arc<dyn Table>>) -> Result<(), SpecError> {
        if let Some(table) = other {
            self.agent = table.agent(&self.spec, self.seed)?;
            self.table = table;
        }
        self.position = self.table.start();
        Ok(())
    }

    /// Sets up a position; a failure changes nothing.
    pub fn set_position(&mut self, text: &str) -> Result<(), TextError> {
        self.position = self.table.position(text)?;
        Ok(())
    }

    /// Goes on from a position of the same game; another is refused, and changes nothing.
    pub fn set(&mut self, position: Box<dyn Position>) -> Result<(), AgentError> {
        if !self.table.owns(&*position) {
            return Err(AgentError::Foreign(self.table.info().name.clone()));
        }
        self.position = position;
        Ok(())
    }

    /// Another agent; a failure changes nothing.
    pub fn set_agent(&mut self, spec: Spec) -> Result<(), SpecError> {
        self.agent = self.table.agent(&spec, self.seed)?;
        self.spec = spec;
        Ok(())
    }

    /// Plays moves by name: all of them, or none.
    pub fn play_names<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Result<(), TextError> {
        let mut position = self.position.clone();
        for name in names {
            let m = self
                .table
                .parse_move(name)
                .ok_or_else(|| TextError::new(format!("\"{}\" is not a move of this game", short(name))))?;
            position.play(m)?;
        }
        self.position = position;
        Ok(())
    }

    /// Plays a move.
    pub fn play(&mut self, m: Move) -> Result<(), TextError> {
        self.position.play(m)
    }

    /// Takes the last move back; `false` if there is none.
    pub fn undo(&mut self) -> bool {
        self.position.undo()
    }

    /// What the agent would play here. An agent that panics has failed, and is made anew.
    pub fn choose(&mut self, control: &Control) -> Result<Choice, AgentError> {
        let (agent, position) = (&mut self.agent, &*self.position);
        match catch_unwind(AssertUnwindSafe(|| agent.choose(position, control))) {
            Ok(chosen) => chosen,
            Err(_) => {
                if let Ok(agent) = self.table.agent(&self.spec, self.seed) {
                    self.agent = agent;
                }
                Err(AgentError::Failed("the agent failed; this is a bug in Ludex".into()))
            }
        }
    }
}
