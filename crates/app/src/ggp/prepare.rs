//! Making the agent of a match while the start clock runs.

use ludex_core::TREE_LIMITS;
use ludex_play::{Agent, AgentError, Choice, Control, Limit, LimitKind, Position, Spec, SpecError, Stop, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is to be prepared.
pub struct PrepareRequest {
    /// The game. Its `rules_hash` is the same whenever the same rules come, whichever role is played.
    pub table: Arc<dyn Table>,
    /// When the agent must be ready.
    pub deadline: Instant,
    /// Raised if the match is called off before.
    pub stop: Stop,
    /// Everything random comes from here.
    pub seed: u64,
}

/// Makes an agent for a match while the start clock runs.
pub trait Prepare: Send + Sync {
    /// An agent for the game before the deadline, or a line that says why there is none.
    fn prepare(&self, request: &PrepareRequest) -> Result<PreparedAgent, String>;
}

/// Builds the agent of a spec, which takes no time.
pub struct SpecAgent(pub Spec);

impl Prepare for SpecAgent {
    fn prepare(&self, request: &PrepareRequest) -> Result<PreparedAgent, String> {
        PreparedAgent::build(&*request.table, &self.0, request.seed).map_err(|e| e.to_string())
    }
}

/// The agent that plays where none is named, and where the one that was asked for does not fit the game: plain UCT.
pub const DEFAULT_AGENT: &str = "uct(c=0.7, solver=on, reuse=on)";

/// The agent that plays where the one of this spec cannot: [`DEFAULT_AGENT`] with the limits of the spec that it knows.
pub fn fallback_spec(spec: &Spec) -> Spec {
    let mut fallback: Spec = DEFAULT_AGENT.parse().expect("the default agent is well formed");
    for kind in TREE_LIMITS {
        if let Some(value) = spec.get(kind.name()) {
            fallback.set(kind.name(), &value.name);
        }
    }
    fallback
}

/// An agent that chooses moves until a deadline, and within the limits of its spec.
pub struct PreparedAgent {
    agent: Box<dyn Agent>,
    /// The limits in its spec, which count besides the deadline.
    limit: Limit,
}

impl PreparedAgent {
    /// The agent of a spec.
    pub fn build(table: &dyn Table, spec: &Spec, seed: u64) -> Result<PreparedAgent, SpecError> {
        let agent = table.agent(spec, seed)?;
        let mut limit = Limit::default();
        // An option of the same name that is no limit of this agent is left out: `nodes` of a tree search is its size.
        for &kind in agent.limits() {
            if let Some(n) = spec.get(kind.name()).and_then(|value| value.name.parse().ok()) {
                limit.set(kind, n);
            }
        }
        Ok(PreparedAgent { agent, limit })
    }

    /// An agent without limits of its own.
    #[cfg(test)]
    pub fn new(agent: Box<dyn Agent>) -> PreparedAgent {
        PreparedAgent { agent, limit: Limit::default() }
    }

    /// Chooses a move before the deadline, or soon after the stop is raised. A panic of the agent is an error like others.
    pub fn choose(&mut self, at: &dyn Position, deadline: Instant, stop: Stop) -> Result<Choice, AgentError> {
        let mut limit = self.limit;
        if self.agent.limits().contains(&LimitKind::Time) {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            limit.time = Some(limit.time.map_or(left, |own| own.min(left)));
        }
        let control = Control { limit, stop: Some(stop), progress: None };
        catch_unwind(AssertUnwindSafe(|| self.agent.choose(at, &control)))
            .unwrap_or_else(|_| Err(AgentError::Failed("the agent panicked".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(spec: &str) -> Limit {
        let table = ludex_train::open("tictactoe").unwrap();
        PreparedAgent::build(&*table, &spec.parse().unwrap(), 1).unwrap().limit
    }

    #[test]
    fn every_agent_gets_only_limits_that_it_has() {
        assert_eq!(limit("uct(c=0.7, sims=50, nodes=1000)"), Limit::simulations(50));
        assert_eq!(limit("minimax(nodes=1000, depth=3)"), Limit { depth: Some(3), ..Limit::nodes(1000) });
        assert_eq!(limit("uct(ms=20)"), Limit::time(Duration::from_millis(20)));
        assert_eq!(limit("random"), Limit::default());
        let table = ludex_train::open("tictactoe").unwrap();
        for spec in ["random", "uct", "minimax", "uct(sims=9, nodes=50)", "minimax(nodes=9)", "mcts(visits=9)", "grave"]
        {
            let mut agent = PreparedAgent::build(&*table, &spec.parse().unwrap(), 1).unwrap();
            let deadline = Instant::now() + Duration::from_millis(20);
            let choice = agent.choose(&*table.start(), deadline, Stop::new()).unwrap();
            assert!(table.start().legal().contains(&choice.mv), "{spec}");
        }
    }

    #[test]
    fn the_fallback_keeps_the_limits_that_it_knows() {
        let fallback = |spec: &str| fallback_spec(&spec.parse().unwrap()).to_string();
        assert_eq!(fallback("random"), DEFAULT_AGENT);
        assert_eq!(fallback("minimax(depth=3, nodes=5)"), DEFAULT_AGENT);
        assert_eq!(fallback("grave(sims=300, nodes=5)"), "uct(c=0.7, solver=on, reuse=on, sims=300)");
    }
}
