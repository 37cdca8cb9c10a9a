//! A match worker: the thread that reads the rules of a match, prepares an agent, follows the joint moves and chooses ours.
//!
//! Everything slow happens here. The thread that answers the host waits for a worker with a deadline, and has a legal move to
//! fall back on: a worker publishes one ([`WorkerStatus::fallback_move`]) before it begins to search.
//!
//! A match may have two workers. The main one reads the rules with the usual budget. If that takes more than a quarter of the
//! start clock, an interim one interprets them and plays until the main one is ready.

use super::joint_moves::{JointMoves, parse_joint_move, parse_role};
use super::prepare::{Prepare, PrepareRequest, PreparedAgent};
use super::rules_cache::{RulesCache, interpret};
use super::{lock, note};
use ludex_core::{Choice, Game, Player, Rng};
use ludex_gdl::GdlGame;
use ludex_play::{Position, Spec, Stop, Table, TypedPosition};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// What a worker is told about its match.
#[derive(Clone)]
pub struct MatchSetup {
    /// The name of the match, for notes.
    pub id: String,
    /// The rulesheet.
    pub rules: String,
    /// Our role; none for a preview.
    pub role: Option<String>,
    /// The joint moves, as they come.
    pub joint_moves: JointMoves,
    /// When the agent must be ready.
    pub deadline: Instant,
    /// Everything random comes from here.
    pub seed: u64,
    /// Makes the agent.
    pub prepare: Arc<dyn Prepare>,
    /// The agent that plays where that one cannot.
    pub fallback: Spec,
    /// Rules that were read before.
    pub rules_cache: RulesCache,
    /// Raised when the match is over.
    pub stop: Stop,
}

/// How a worker plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerKind {
    /// Reads the rules with the usual budget and plays with the prepared agent.
    Main,
    /// Interprets the rules and plays with the fallback agent, until the main worker is ready.
    Interim,
}

/// What a worker is asked to do.
pub enum WorkerCommand {
    /// Choose a move.
    Choose(MoveRequest),
    /// The match is over: note how it ended.
    Finish,
}

/// A move is wanted.
pub struct MoveRequest {
    /// Until when to search.
    pub deadline: Instant,
    /// Raised to end the search at once.
    pub stop: Stop,
    /// Where the move goes.
    pub reply: Sender<String>,
    /// Whether to search on while others have the move.
    pub ponder: Option<Ponder>,
}

/// A search while others have the move, whose tree serves the next choice.
#[derive(Clone)]
pub struct Ponder {
    /// The end of the others' clock.
    pub deadline: Instant,
    /// Raised by the next message.
    pub stop: Stop,
}

/// What a worker has reached.
#[derive(Default, Clone)]
pub struct WorkerStatus {
    /// The game, once the rules are read.
    pub game: Option<Arc<GdlGame>>,
    /// There is an agent.
    pub ready: bool,
    /// The thread has ended, perhaps without a game.
    pub ended: bool,
    /// A legal move, and after how many joint moves it is one.
    pub fallback_move: Option<(usize, String)>,
}

/// The status of a worker, which other threads read and wait for.
#[derive(Default)]
pub struct SharedStatus {
    status: Mutex<WorkerStatus>,
    changed: Condvar,
}

impl SharedStatus {
    /// The status now.
    pub fn get(&self) -> WorkerStatus {
        lock(&self.status).clone()
    }

    fn update(&self, change: impl FnOnce(&mut WorkerStatus)) {
        change(&mut lock(&self.status));
        self.changed.notify_all();
    }

    /// Waits until a condition holds, or until the deadline; whether it holds.
    pub fn wait(&self, deadline: Instant, holds: impl Fn(&WorkerStatus) -> bool) -> bool {
        let mut status = lock(&self.status);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if holds(&status) || left.is_zero() {
                return holds(&status);
            }
            status = self.changed.wait_timeout(status, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A running worker. When it is dropped, the thread ends after the command that it is carrying out.
pub struct MatchWorker {
    /// What it has reached.
    pub status: Arc<SharedStatus>,
    commands: Sender<WorkerCommand>,
}

impl MatchWorker {
    /// Starts the thread.
    pub fn spawn(setup: MatchSetup, kind: WorkerKind) -> MatchWorker {
        let status = Arc::new(SharedStatus::default());
        let (commands, receiver) = channel();
        let shared = status.clone();
        let thread = move || {
            let id = setup.id.clone();
            let failure = match catch_unwind(AssertUnwindSafe(|| run(setup, kind, &shared, &receiver))) {
                Ok(Ok(())) => None,
                Ok(Err(line)) => Some(line),
                Err(_) => Some("the worker panicked".into()),
            };
            failure.into_iter().for_each(|line| note(&id, &line));
            shared.update(|s| s.ended = true);
        };
        if std::thread::Builder::new().name("match worker".into()).spawn(thread).is_err() {
            status.update(|s| s.ended = true);
        }
        MatchWorker { status, commands }
    }

    /// Sends a command; a worker that has ended drops it.
    pub fn send(&self, command: WorkerCommand) {
        let _ = self.commands.send(command);
    }
}

/// The life of a worker: rules, agent, commands.
fn run(
    setup: MatchSetup,
    kind: WorkerKind,
    status: &SharedStatus,
    commands: &Receiver<WorkerCommand>,
) -> Result<(), String> {
    let begun = Instant::now();
    let game = match kind {
        WorkerKind::Main => setup.rules_cache.read(&setup.rules, setup.role.as_deref(), &setup.stop)?,
        WorkerKind::Interim => interpret(&setup.rules, setup.role.as_deref())?,
    };
    let game = Arc::new(game);
    let how = match (kind, game.interpreted()) {
        (WorkerKind::Interim, _) => "interpreted in the meantime",
        (_, true) => "interpreted",
        _ => "grounded",
    };
    let (seconds, hash) = (begun.elapsed().as_secs_f64(), game.info().rules_hash);
    note(&setup.id, &format!("{how} in {seconds:.2} s, rules {hash:016x}"));
    let role = match &setup.role {
        None => 0,
        Some(role) => parse_role(&game, role).ok_or_else(|| format!("the rules know no role {role}"))?,
    };
    status.update(|s| s.game = Some(game.clone()));
    let mut active = ActiveMatch::new(&setup, kind, game.clone(), role)?;
    status.update(|s| s.ready = true);
    while let Ok(command) = commands.recv() {
        match command {
            WorkerCommand::Choose(request) => active.choose_move(request, status),
            WorkerCommand::Finish => active.note_result(),
        }
    }
    // The next match can take the game from the cache only if nobody else holds it.
    drop(active);
    status.update(|s| s.game = None);
    if kind == WorkerKind::Main {
        setup.rules_cache.put(setup.rules, game);
    }
    Ok(())
}

/// A match as its worker follows it: the position, and the agent that chooses there.
struct ActiveMatch<'a> {
    setup: &'a MatchSetup,
    game: Arc<GdlGame>,
    table: Arc<dyn Table>,
    role: usize,
    position: TypedPosition<GdlGame>,
    agent: PreparedAgent,
    rng: Rng,
    /// Joint moves that were read, of which some may have been ignored.
    read: usize,
    /// Steps that were made.
    steps: usize,
}

impl<'a> ActiveMatch<'a> {
    fn new(setup: &'a MatchSetup, kind: WorkerKind, game: Arc<GdlGame>, role: usize) -> Result<Self, String> {
        let table = ludex_train::learnable(ludex_play::rulesheet_table(game.clone()));
        let agent = match kind {
            WorkerKind::Interim => fallback_agent(setup, &*table)?,
            WorkerKind::Main => {
                let (table, stop) = (table.clone(), setup.stop.clone());
                let request = PrepareRequest { table, deadline: setup.deadline, stop, seed: setup.seed };
                let prepared = catch_unwind(AssertUnwindSafe(|| setup.prepare.prepare(&request)));
                match prepared.unwrap_or(Err("the preparation panicked".into())) {
                    Ok(agent) => agent,
                    Err(line) => {
                        note_fallback(setup, &line);
                        fallback_agent(setup, &*request.table)?
                    }
                }
            }
        };
        let position = TypedPosition::new(game.clone(), game.initial());
        Ok(ActiveMatch { setup, game, table, role, position, agent, rng: Rng::new(setup.seed), read: 0, steps: 0 })
    }

    /// Goes on with the fallback agent.
    fn use_fallback(&mut self, reason: &str) {
        note_fallback(self.setup, reason);
        match fallback_agent(self.setup, &*self.table) {
            Ok(agent) => self.agent = agent,
            Err(line) => note(&self.setup.id, &line),
        }
    }

    /// Makes the steps that the host has told of, whatever we chose ourselves.
    fn catch_up(&mut self) {
        while let Some(joint) = self.setup.joint_moves.get(self.read) {
            self.read += 1;
            if let Err(line) = self.step(&joint) {
                note(&self.setup.id, &format!("ignored ({}): {line}", joint.join(" ")));
            }
        }
    }

    /// Makes one step, or says why it cannot be made and changes nothing.
    fn step(&mut self, joint: &[String]) -> Result<(), String> {
        let moves = parse_joint_move(&self.game, joint).ok_or("the rules know no such joint move")?;
        let after = self.game.step(self.position.state(), &moves).ok_or("not legal here")?;
        // The same step as single moves of those who have a choice, which is how agents follow it.
        loop {
            let m = moves[self.position.mover().index()];
            self.position.play(m).expect("the moves of a legal joint move are legal");
            if !self.game.hidden(self.position.state()) {
                break;
            }
        }
        debug_assert_eq!(*self.position.state(), after, "single moves and the joint move lead to the same state");
        self.steps += 1;
        Ok(())
    }

    /// Chooses a move and replies; where there is no choice, replies at once and searches in the others' time.
    fn choose_move(&mut self, request: MoveRequest, status: &SharedStatus) {
        self.catch_up();
        let legal = self.game.legal_moves(self.position.state(), self.role);
        let fallback = self.rng.pick(&legal).map_or("noop".into(), |&m| self.game.move_name(m));
        status.update(|s| s.fallback_move = Some((self.read, fallback.clone())));
        let over = self.position.outcome().is_some();
        if request.stop.raised() {
            // The host has moved on meanwhile: nobody waits for a good answer.
            let _ = request.reply.send(fallback);
            return;
        }
        if legal.len() < 2 || over {
            let _ = request.reply.send(fallback);
            if let Some(Ponder { deadline, stop }) = request.ponder.filter(|_| !over)
                && let Err(e) = self.agent.choose(&self.position, deadline, stop)
            {
                self.use_fallback(&e.to_string());
            }
            return;
        }
        let begun = Instant::now();
        let text = match self.agent.choose(&self.position, request.deadline, request.stop) {
            Ok(choice) if legal.contains(&choice.mv) => {
                self.note_choice(&choice, begun);
                self.game.move_name(choice.mv)
            }
            Ok(_) => {
                self.use_fallback("the agent chose a move that is not legal");
                fallback
            }
            Err(e) => {
                self.use_fallback(&e.to_string());
                fallback
            }
        };
        let _ = request.reply.send(text);
    }

    fn note_choice(&self, choice: &Choice, begun: Instant) {
        let name = self.game.move_name(choice.mv);
        let value = choice.value[Player(self.role as u8)];
        let nodes = choice.simulations.max(choice.nodes);
        let (step, seconds) = (self.steps + 1, begun.elapsed().as_secs_f64());
        note(&self.setup.id, &format!("step {step}: {name}, expects {value:+.2}, {nodes} nodes in {seconds:.2} s"));
    }

    fn note_result(&mut self) {
        self.catch_up();
        let goal = |goals: &Vec<i32>| goals.last().map_or("-".into(), i32::to_string);
        let goals: Vec<String> = self.game.goals(self.position.state()).iter().map(goal).collect();
        note(&self.setup.id, &format!("over after {} steps, goals {}", self.steps, goals.join(" ")));
    }
}

fn fallback_agent(setup: &MatchSetup, table: &dyn Table) -> Result<PreparedAgent, String> {
    PreparedAgent::build(table, &setup.fallback, setup.seed).map_err(|e| e.to_string())
}

fn note_fallback(setup: &MatchSetup, reason: &str) {
    note(&setup.id, &format!("playing {}: {reason}", setup.fallback));
}
