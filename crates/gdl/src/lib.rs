//! x
#![allow(dead_code, missing_docs)]
mod bits;
mod budget;
mod code;
mod datalog;
mod desk;
mod draw;
mod error;
mod event;
mod exclusive;
mod extract;
mod facts;
mod game;
mod gates;
mod ground;
mod habits;
mod interpreter;
mod kif;
mod lanes;
mod net;
mod places;
mod playouts;
mod sheet;
mod strata;
mod tapes;
mod terms;
pub use budget::Budget;
pub use error::{Error, ErrorKind, Place};
pub use facts::{FactsOptions, FactsReport, HabitFacts, PlayoutFacts, Size, facts, joint_perft, legal_moves, size};
pub use game::{GdlGame, GdlState, Options};
pub use habits::Habits;
pub use sheet::Reading;
impl GdlGame {
    pub fn sizes(&self) -> String {
        match &self.engine {
            desk::Engine::Net { net, .. } => format!(
                "facts {} moves {} nodes {} wires {} guards {} loops {}",
                net.facts.len(),
                net.moves.len(),
                net.len(),
                net.wires(),
                net.guards.len(),
                net.loops.len()
            ),
            _ => format!("rules facts {} moves {}", self.names.facts.len(), self.names.moves.len()),
        }
    }
}
