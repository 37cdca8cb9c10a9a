//! A mind: one thread that reads the rules of a match, follows it, and chooses moves when asked.
//!
//! It owns all that is slow. Whoever talks to the host only waits for it, with a deadline, and has a legal move to fall back
//! on: a mind that has caught up with the match names one ([`Stage::standby`]) before it begins to think.
//!
//! A match may have two minds. The first reads the rules with the usual budget. If that takes more than a quarter of the
//! start clock, a second one, the *stopgap*, interprets them with hardly any preparation and plays until the first is ready.

use super::note;
use ludex_core::{Choice, Game, Limit, Move, Player, Rng};
use ludex_gdl::{Budget, ErrorKind, GdlGame, GdlState, Options, Reading};
use ludex_play::{Agent, Line, Spec, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What there is to prepare for.
pub struct Brief<'a> {
    /// The game. `table.info().rules_hash` tells rulesheets apart: what was learned for one fits whenever it comes again,
    /// whichever role is played.
    pub table: &'a dyn Table,
    /// Our role; none if the game is only previewed.
    #[allow(dead_code)] // for preparations that learn one role only
    pub role: Option<Player>,
    /// When to be ready.
    pub until: Instant,
    /// Raised if the match is called off before.
    pub stop: Arc<AtomicBool>,
    /// Everything random comes from here.
    pub seed: u64,
}

/// Makes an agent for a match while the start clock runs. What it learns it may keep by the hash of the rules.
pub trait Prepare: Send + Sync {
    /// An agent for the game, or a line that says why there is none; it has until `brief.until`.
    fn prepare(&self, brief: &Brief<'_>) -> Result<Box<dyn Agent>, String>;
}

/// An agent that needs no preparation.
pub struct AtOnce(pub Spec);

impl Prepare for AtOnce {
    fn prepare(&self, brief: &Brief<'_>) -> Result<Box<dyn Agent>, String> {
        brief.table.agent(&self.0, brief.seed).map_err(|e| e.to_string())
    }
}

/// What is played where the agent that was asked for does not fit the game.
pub const PLAIN: &str = "uct(c=0.7, solver=on, reuse=on)";

/// A move is wanted.
pub struct Turn {
    /// Until when to think.
    pub until: Instant,
    /// Raised to end the thinking at once.
    pub stop: Arc<AtomicBool>,
    /// Where the move goes.
    pub reply: Sender<String>,
    /// Whether to go on thinking while others have the move.
    pub ponder: Option<Ponder>,
}

/// Thinking for the next turn, until the next message raises the flag.
#[derive(Clone)]
pub struct Ponder {
    /// Nobody else thinks longer than this.
    pub until: Instant,
    /// Raised to end it at once.
    pub stop: Arc<AtomicBool>,
}

/// What a mind is told.
pub enum Order {
    /// Choose a move.
    Turn(Turn),
    /// The match is over; tell how it ended.
    Finish,
}

/// How far a mind has come, for everybody to see.
#[derive(Default)]
pub struct Progress {
    state: Mutex<Stage>,
    changed: Condvar,
}

/// See [`Progress`].
#[derive(Default, Clone)]
pub struct Stage {
    /// The rules have been read.
    pub game: Option<Arc<GdlGame>>,
    /// There is an agent.
    pub ready: bool,
    /// The thread has ended, perhaps without a game.
    pub ended: bool,
    /// A legal move, and after how many joint moves.
    pub standby: Option<(usize, String)>,
}

impl Progress {
    /// How far it is now.
    pub fn stage(&self) -> Stage {
        lock(&self.state).clone()
    }

    fn set(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    /// Waits until something holds, or until then; whether it holds.
    pub fn wait(&self, until: Instant, holds: impl Fn(&Stage) -> bool) -> bool {
        let mut stage = lock(&self.state);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if holds(&stage) || left.is_zero() {
                return holds(&stage);
            }
            stage = self.changed.wait_timeout(stage, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Locks, whatever happened to the last owner.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The joint moves of a match, as they came.
pub type Ledger = Arc<Mutex<Vec<Vec<String>>>>;

/// What a mind needs to know of its match.
#[derive(Clone)]
pub struct Task {
    /// The match, for notes.
    pub id: String,
    /// The rulesheet.
    pub rules: String,
    /// Our role; none for a preview.
    pub role: Option<String>,
    /// The joint moves.
    pub ledger: Ledger,
    /// When the preparation must be over.
    pub until: Instant,
    /// Everything random comes from here.
    pub seed: u64,
    /// Makes the agent.
    pub prepare: Arc<dyn Prepare>,
    /// Counts in the agent's spec that hold beside the clock.
    pub limit: Limit,
    /// Rules read before.
    pub shelf: Shelf,
    /// Raised when the match is over.
    pub stop: Arc<AtomicBool>,
}

/// A running mind. Dropped, it ends when it has done what it is at.
pub struct Mind {
    /// How far it has come.
    pub progress: Arc<Progress>,
    orders: Sender<Order>,
}

impl Mind {
    /// Begins to think about a match.
    pub fn begin(task: Task, reader: Reader) -> Mind {
        let progress = Arc::new(Progress::default());
        let (orders, inbox) = channel();
        let seen = progress.clone();
        let live = move || {
            let id = task.id.clone();
            let lived = catch_unwind(AssertUnwindSafe(|| live(task, reader, &seen, &inbox)));
            let line = match lived {
                Ok(Ok(())) => None,
                Ok(Err(line)) => Some(line),
                Err(_) => Some("the reasoner failed".into()),
            };
            line.into_iter().for_each(|line| note(&id, &line));
            seen.set(|s| s.ended = true);
        };
        if std::thread::Builder::new().name("mind".into()).spawn(live).is_err() {
            progress.set(|s| s.ended = true);
        }
        Mind { progress, orders }
    }

    /// Gives an order; a mind that has ended does not hear it.
    pub fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

/// How the rules are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// With the usual budget.
    Full,
    /// With next to none, so that they are interpreted.
    Stopgap,
}

/// The rules read last, and how many are being read: rules that nobody waits for any more are read to the end all the same,
/// and must not pile up.
#[derive(Clone, Default)]
pub struct Shelf(Arc<(Mutex<Stock>, Condvar)>);

#[derive(Default)]
struct Stock {
    reading: usize,
    last: Option<(String, Arc<GdlGame>)>,
}

/// Rulesheets that are read at the same time, stopgaps aside.
const READING: usize = 2;

impl Shelf {
    /// The game that these rules describe, with this role choosing first.
    fn game(&self, task: &Task, reader: Reader) -> Result<Arc<GdlGame>, String> {
        if reader == Reader::Stopgap {
            let budget = Budget { work: 2_000_000, atoms: 500_000, instances: 0, ..Budget::default() };
            return open(&task.rules, task.role.as_deref(), budget).map(Arc::new);
        }
        let (stock, changed) = &*self.0;
        let mut held = lock(stock);
        while held.reading >= READING {
            held = changed.wait_timeout(held, Duration::from_millis(100)).unwrap_or_else(PoisonError::into_inner).0;
            if task.stop.load(Ordering::Relaxed) {
                return Err("called off before its rules were read".into());
            }
        }
        if held.last.as_ref().is_some_and(|(rules, _)| *rules == task.rules)
            && let Some((_, mut game)) = held.last.take()
            && let Some(sole) = Arc::get_mut(&mut game)
        {
            place(sole, task.role.as_deref());
            return Ok(game);
        }
        held.reading += 1;
        drop(held);
        let game = catch_unwind(AssertUnwindSafe(|| open(&task.rules, task.role.as_deref(), Budget::default())));
        lock(stock).reading -= 1;
        changed.notify_all();
        game.unwrap_or(Err("the rules cannot be read: the reader failed".into())).map(Arc::new)
    }

    /// Keeps rules for the next match.
    fn put(&self, rules: String, game: Arc<GdlGame>) {
        lock(&self.0.0).last = Some((rules, game));
    }
}

/// Reads rules: as they are, else with symbols in any case.
fn open(rules: &str, role: Option<&str>, budget: Budget) -> Result<GdlGame, String> {
    let read = |reading| GdlGame::new("rules.kif", rules, &Options { reading, budget });
    let mut game = read(Reading::Plain)
        .or_else(
            |e| if matches!(e.kind, ErrorKind::Budget(_)) { Err(e) } else { read(Reading::Lenient).map_err(|_| e) },
        )
        .map_err(|e| format!("the rules cannot be read: {e}"))?;
    place(&mut game, role);
    Ok(game)
}

fn place(game: &mut GdlGame, role: Option<&str>) {
    if let Some(r) = role.and_then(|role| number_of(&game.info().roles, role)) {
        game.choose_first(r);
    }
}

/// The place of a name in a list: as it is spelt, else in any case.
pub fn number_of(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|n| n == name).or_else(|| names.iter().position(|n| n.eq_ignore_ascii_case(name)))
}

/// A move by its text: as it is spelt, else in any case if only one is meant.
pub fn find_move(game: &GdlGame, text: &str) -> Option<Move> {
    /// Beyond this, looking through all names takes too long.
    const FEW: u32 = 50_000;
    game.parse_move(text).or_else(|| {
        if game.info().moves > FEW {
            return None;
        }
        let wanted = text.to_lowercase();
        let mut like = (0..game.info().moves).map(Move).filter(|&m| game.move_name(m).to_lowercase() == wanted);
        like.next().filter(|_| like.next().is_none())
    })
}

fn live(task: Task, reader: Reader, progress: &Progress, orders: &Receiver<Order>) -> Result<(), String> {
    let begun = Instant::now();
    let game = task.shelf.game(&task, reader)?;
    let how = match (reader, game.interpreted()) {
        (Reader::Stopgap, _) => "stopgap: interpreted",
        (_, true) => "interpreted",
        _ => "grounded",
    };
    note(&task.id, &format!("{how} in {:.2} s, rules {:016x}", begun.elapsed().as_secs_f64(), game.info().rules_hash));
    let role = match &task.role {
        None => 0,
        Some(role) => number_of(&game.info().roles, role).ok_or_else(|| format!("the rules know no role {role}"))?,
    };
    progress.set(|s| s.game = Some(game.clone()));
    let table = ludex_play::table(game.clone());
    let mut seat = Seat::take(&task, reader, game, &*table, role)?;
    progress.set(|s| s.ready = true);
    while let Ok(order) = orders.recv() {
        match order {
            Order::Turn(turn) => seat.turn(turn, progress),
            Order::Finish => {
                seat.catch_up();
                let goals: Vec<String> =
                    seat.game.goals(&seat.state).iter().map(|g| g.last().map_or("-".into(), i32::to_string)).collect();
                note(&task.id, &format!("over after {} steps, goals {}", seat.steps, goals.join(" ")));
            }
        }
    }
    // The shelf can give a role the first choice only if nobody else has the game.
    let Seat { game, agent, plain, .. } = seat;
    drop((agent, plain, table));
    progress.set(|s| s.game = None);
    if reader == Reader::Full {
        task.shelf.put(task.rules, game);
    }
    Ok(())
}

/// A place at the table: where the match stands, and who thinks.
struct Seat<'a> {
    task: &'a Task,
    game: Arc<GdlGame>,
    role: usize,
    state: GdlState,
    agent: Box<dyn Agent>,
    plain: Box<dyn Agent>,
    rng: Rng,
    /// Entries of the ledger that were read, and steps that were made.
    seen: usize,
    steps: usize,
}

impl<'a> Seat<'a> {
    fn take(
        task: &'a Task,
        reader: Reader,
        game: Arc<GdlGame>,
        table: &dyn Table,
        role: usize,
    ) -> Result<Self, String> {
        let plain = || {
            let spec: Spec = PLAIN.parse().map_err(|_| "no plain agent")?;
            table.agent(&spec, task.seed).map_err(|e| e.to_string())
        };
        let brief = Brief {
            table,
            role: task.role.is_some().then_some(Player(role as u8)),
            until: task.until,
            stop: task.stop.clone(),
            seed: task.seed,
        };
        let agent = match reader {
            Reader::Stopgap => plain()?,
            Reader::Full => match catch_unwind(AssertUnwindSafe(|| task.prepare.prepare(&brief))) {
                Ok(Ok(agent)) => agent,
                Ok(Err(line)) => {
                    note(&task.id, &format!("{line}; playing {PLAIN}"));
                    plain()?
                }
                Err(_) => {
                    note(&task.id, &format!("the preparation failed; playing {PLAIN}"));
                    plain()?
                }
            },
        };
        let state = game.initial();
        let mut seat =
            Seat { task, role, state, agent, plain: plain()?, rng: Rng::new(task.seed), seen: 0, steps: 0, game };
        seat.sit();
        Ok(seat)
    }

    /// Tells the agent where the match stands.
    fn sit(&mut self) {
        let line = Line::new(self.game.clone(), self.state.clone());
        if catch_unwind(AssertUnwindSafe(|| self.agent.start(&line))).is_err() {
            self.give_up("the agent failed at the start");
        }
    }

    /// Goes on with the plain agent.
    fn give_up(&mut self, line: &str) {
        note(&self.task.id, &format!("{line}; playing {PLAIN}"));
        std::mem::swap(&mut self.agent, &mut self.plain);
        self.agent.start(&Line::new(self.game.clone(), self.state.clone()));
    }

    /// Makes the steps that the host has told of, whatever we had in mind ourselves.
    fn catch_up(&mut self) {
        loop {
            let Some(joint) = lock(&self.task.ledger).get(self.seen).cloned() else { break };
            self.seen += 1;
            if let Err(line) = self.step(&joint) {
                note(&self.task.id, &format!("ignored ({}): {line}", joint.join(" ")));
            }
        }
    }

    fn step(&mut self, joint: &[String]) -> Result<(), String> {
        let moves: Option<Vec<Move>> = joint.iter().map(|m| find_move(&self.game, m)).collect();
        let moves = moves.ok_or("the rules know no such move")?;
        let after = self.game.step(&self.state, &moves).ok_or("not a joint move that can be made here")?;
        let mut s = self.state.clone();
        let mut told = Ok(());
        loop {
            let m = moves[self.game.mover(&s).index()];
            self.game.play(&mut s, m);
            told = told.and_then(|()| catch_unwind(AssertUnwindSafe(|| self.agent.observe(m))));
            if !self.game.hidden(&s) {
                break;
            }
        }
        debug_assert_eq!(s, after, "serialised and joint play meet");
        self.state = after;
        self.steps += 1;
        if told.is_err() {
            self.give_up("the agent failed to follow");
        }
        Ok(())
    }

    fn turn(&mut self, turn: Turn, progress: &Progress) {
        self.catch_up();
        let legal = self.game.legal_moves(&self.state, self.role);
        let standby = self.rng.pick(&legal).map_or("noop".into(), |&m| self.game.move_name(m));
        progress.set(|s| s.standby = Some((self.seen, standby.clone())));
        let over = self.game.outcome(&self.state).is_some();
        if turn.stop.load(Ordering::Relaxed) {
            // The host has moved on meanwhile: any answer will do.
            let _ = turn.reply.send(standby);
            return;
        }
        if legal.len() < 2 || over {
            let _ = turn.reply.send(standby);
            if let Some(Ponder { until, stop }) = turn.ponder.filter(|_| !over)
                && self.think(until, stop).is_none()
            {
                self.give_up("the agent failed");
            }
            return;
        }
        let begun = Instant::now();
        let chosen = self.think(turn.until, turn.stop);
        let text = match chosen {
            Some(choice) if legal.contains(&choice.mv) => {
                let name = self.game.move_name(choice.mv);
                let mine = choice.value[Player(self.role as u8)];
                let spent = begun.elapsed().as_secs_f64();
                let work = choice.simulations.max(choice.nodes);
                note(
                    &self.task.id,
                    &format!("step {}: {name}, expects {mine:+.2}, {work} nodes in {spent:.2} s", self.steps + 1),
                );
                name
            }
            Some(_) => {
                self.give_up("the agent chose a move that is not legal");
                standby
            }
            None => {
                self.give_up("the agent failed");
                standby
            }
        };
        let _ = turn.reply.send(text);
    }

    /// Lets the agent choose; none if it fails.
    fn think(&mut self, until: Instant, stop: Arc<AtomicBool>) -> Option<Choice> {
        let time = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let limit = Limit { time: Some(time), stop: Some(stop), ..self.task.limit.clone() };
        catch_unwind(AssertUnwindSafe(|| self.agent.choose(&limit))).ok()
    }
}
