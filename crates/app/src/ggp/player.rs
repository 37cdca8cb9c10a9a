//! `ludex ggp`: a player for match hosts. This file is the match as the protocol sees it, without sockets: a message and
//! the moment of its arrival go in, the answer comes out in time.
//!
//! One match at a time; whoever asks for another meanwhile hears `busy`, unless the running one has been silent for so long
//! that its host must be gone. The joint moves of the host are the truth: what we answered ourselves is never assumed to
//! have been played. A joint move that the rules do not allow is ignored, so that no stray message can lose the match.

use super::learner::Learner;
use super::message::{Message, Style};
use super::mind::{AtOnce, Mind, Order, PLAIN, Ponder, Prepare, Reader, Shelf, Task, Turn, find_move, lock};
use super::{http, note};
use crate::verbs::say;
use crate::{Usage, spec};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::{Game, Limit, Rng};
use ludex_gdl::GdlGame;
use ludex_play::Spec;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex ggp                                        wait for a match host on port 9147\n  \
    ludex ggp --port 9148 --agent 'uct(c=0.7)'       another player on the same machine\n  \
    ludex ggp --learn carl-playout --keep learned    learn in the start clock, and go on when the same game comes again\n  \
    ludex ggp-server rules/connect4.kif --start 5 --play 2 localhost:9147 localhost:9148\n\nThe agent thinks \
    for as long as the clocks allow; counts in its spec, such as sims=1000, hold besides."
)]
pub struct Args {
    /// Where to listen; 0 takes any free port
    #[arg(long, default_value_t = 9147)]
    port: u16,
    /// On which address to listen; 127.0.0.1 is for hosts on this machine only
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    bind: String,
    /// Who chooses moves: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = PLAIN)]
    agent: String,
    /// Learn in the start clock with this system (see `ludex learn --list`); what it learned plays
    #[arg(long, value_name = "SYSTEM", conflicts_with = "agent")]
    learn: Option<String>,
    /// The preset to learn with; by default as long a one as the clock allows
    #[arg(long, requires = "learn")]
    preset: Option<String>,
    /// Change an option of the system, such as train.regressor=pa
    #[arg(long = "set", value_name = "OPTION=VALUE", requires = "learn")]
    set: Vec<String>,
    /// Keep what was learned in this folder, by the hash of the rules, and go on from there when the game comes again
    #[arg(long, value_name = "DIR", requires = "learn")]
    keep: Option<PathBuf>,
    /// The name to give to hosts
    #[arg(long, default_value = "ludex")]
    name: String,
    /// Milliseconds of every clock that are kept back for the way to the host; at least 15 % always are
    #[arg(long, value_name = "MS", default_value_t = 400)]
    margin: u64,
    /// Think in the others' time too; worth it for agents that keep their tree (reuse=on)
    #[arg(long)]
    ponder: bool,
    /// Everything random comes from here (time limits apart)
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let spec = spec(&self.agent)?;
        try_out(&spec)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(Usage("--name takes letters, digits and - _ . only".into()).into());
        }
        let listener = TcpListener::bind((self.bind.as_str(), self.port))
            .with_context(|| format!("listening on {}:{}", self.bind, self.port))?;
        say(format!("{} listens on {}", self.name, listener.local_addr()?))?;
        let player = Player::new(Settings {
            name: self.name.clone(),
            limit: counts(&spec),
            prepare: match self.learner()? {
                Some(learner) => Arc::new(learner),
                None => Arc::new(AtOnce(spec)),
            },
            margin: Duration::from_millis(self.margin),
            ponder: self.ponder,
            seed: self.seed,
        });
        http::serve(&listener, move |request, arrived| player.answer(&request.message, arrived));
        Ok(())
    }
}

impl Args {
    /// Who learns; options that do not exist are the user's to mend, before any match.
    fn learner(&self) -> Result<Option<Learner>> {
        let Some(system) = self.learn.clone() else { return Ok(None) };
        let (preset, settings, keep) = (self.preset.clone(), self.set.clone(), self.keep.clone());
        let learner = Learner { system, preset, settings, keep, seed: self.seed };
        let preset = self.preset.as_deref().unwrap_or("tick");
        learner.plan("rules.kif", preset).map_err(|e| Usage(e.to_string()))?;
        Ok(Some(learner))
    }
}

/// A spec that no game could use is the user's to mend, before any match.
fn try_out(spec: &Spec) -> Result<()> {
    let game = GdlGame::new("rules.kif", include_str!("../../../../rules/tictactoe.kif"), &Default::default())?;
    let tried = ludex_play::table(Arc::new(game)).agent(spec, 0);
    tried.map(|_| ()).map_err(|e| Usage(format!("agent \"{spec}\": {e}")).into())
}

/// The counts in a spec, which hold beside the clock. Where `nodes` is the size of a tree it is none.
fn counts(spec: &Spec) -> Limit {
    let count = |key: &str| spec.args.iter().find(|(k, _)| k == key).and_then(|(_, v)| v.name.parse::<u64>().ok());
    Limit {
        simulations: count("sims"),
        visits: count("visits"),
        expansions: count("expansions"),
        nodes: count("nodes").filter(|_| spec.name == "minimax"),
        depth: count("depth").map(|d| d.min(1_000) as u32),
        cpu: count("cpu_ms").map(Duration::from_millis),
        ..Limit::default()
    }
}

/// How to play.
pub struct Settings {
    /// The name to give to hosts.
    pub name: String,
    /// Makes the agent of each match.
    pub prepare: Arc<dyn Prepare>,
    /// Counts that hold beside the clock.
    pub limit: Limit,
    /// What is kept back of every clock.
    pub margin: Duration,
    /// Whether to think in the others' time.
    pub ponder: bool,
    /// Everything random comes from here.
    pub seed: u64,
}

/// The player, from one match to the next.
pub struct Player {
    settings: Settings,
    shelf: Shelf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Match>,
    /// Matches begun, for seeds.
    begun: u64,
}

/// A match that is being played.
struct Match {
    task: Task,
    play: Duration,
    mind: Mind,
    stopgap: Option<Mind>,
    /// The stop flags of turns that may still be thought about.
    thinking: Vec<Arc<AtomicBool>>,
    /// The stop flag of thinking in the others' time.
    pondering: Arc<AtomicBool>,
    /// When the host is given up if it stays silent.
    expires: Instant,
}

impl Drop for Match {
    fn drop(&mut self) {
        self.hush();
        self.pondering.store(true, Ordering::Relaxed);
        self.task.stop.store(true, Ordering::Relaxed);
    }
}

impl Match {
    /// Ends all thinking.
    fn hush(&mut self) {
        self.thinking.drain(..).for_each(|stop| stop.store(true, Ordering::Relaxed));
    }

    /// Whether a joint move could belong to this game, as far as can be told without following the match.
    fn plausible(&self, joint: &[String]) -> bool {
        match self.mind.progress.stage().game {
            Some(game) => joint.len() == game.info().players() && joint.iter().all(|m| find_move(&game, m).is_some()),
            None => true,
        }
    }

    /// A legal move of the state we know, if any mind has come so far.
    fn standby(&self) -> Option<String> {
        let full = self.mind.progress.stage().standby;
        let stopgap = self.stopgap.as_ref().and_then(|m| m.progress.stage().standby);
        full.into_iter().chain(stopgap).max_by_key(|(seen, _)| *seen).map(|(_, text)| text)
    }
}

/// How long to think, and when to answer at the very latest, after a message with this clock: at most 88 % of it, with time
/// between the two, because on a busy machine a thread may end its thinking late.
fn deadlines(clock: Duration, margin: Duration) -> (Duration, Duration) {
    const SLACK: Duration = Duration::from_millis(150);
    let latest = clock.mul_f64(0.88).min(clock.saturating_sub(margin / 2));
    let think = clock.mul_f64(0.85).min(clock.saturating_sub(margin)).min(latest.saturating_sub(SLACK));
    (think, latest)
}

/// A host that has been silent for so long is gone.
fn patience(clock: Duration) -> Duration {
    3 * clock + Duration::from_secs(10)
}

fn seconds(clock: f64) -> Duration {
    Duration::try_from_secs_f64(clock).unwrap_or_default()
}

impl Player {
    /// A player without a match.
    pub fn new(settings: Settings) -> Player {
        Player { settings, shelf: Shelf::default(), state: Mutex::default() }
    }

    /// The answer to a message that arrived at this moment: a status and a text.
    pub fn answer(&self, text: &str, arrived: Instant) -> (u16, String) {
        // A page that is merely opened asks who we are.
        let text = if text.trim().is_empty() { "info()" } else { text };
        let (message, style) = match Message::read(text) {
            Ok(read) => read,
            Err(line) => return (400, line),
        };
        let answer = match message {
            Message::Info => self.info(style),
            Message::Ping => style.word(if self.busy() { "busy" } else { "ready" }),
            Message::Start { id, role, rules, start, play } => {
                let clocks = (seconds(start), seconds(play));
                style.word(self.start(&id, role, rules, clocks, arrived))
            }
            Message::Play { id, joint } => self.play(&id, joint, arrived, style),
            Message::Stop { id, joint } => style.word(self.stop(&id, joint)),
            Message::Abort { id } => style.word(self.abort(&id)),
            Message::Preview { rules, clock } => style.word(self.preview(rules, seconds(clock), arrived)),
        };
        (200, answer)
    }

    fn busy(&self) -> bool {
        lock(&self.state).running.as_ref().is_some_and(|m| m.expires > Instant::now())
    }

    fn info(&self, style: Style) -> String {
        let status = if self.busy() { "busy" } else { "available" };
        let name = &self.settings.name;
        match style.infix {
            true => format!("[[name,{name}],[status,{status}]]"),
            false => format!("((name {name}) (status {status}))"),
        }
    }

    fn start(
        &self,
        id: &str,
        role: String,
        rules: String,
        (start, play): (Duration, Duration),
        arrived: Instant,
    ) -> &'static str {
        let (think, latest) = deadlines(start, self.settings.margin);
        let (progress, task) = {
            let mut state = lock(&self.state);
            if let Some(running) = &state.running {
                if running.expires > arrived {
                    note(id, &format!("refused: {} is running", running.task.id));
                    return "busy";
                }
                note(&running.task.id, "given up: its host is silent");
            }
            state.begun += 1;
            let task = Task {
                id: id.to_string(),
                rules,
                role: Some(role),
                ledger: Default::default(),
                until: arrived + think,
                seed: Rng::derive(self.settings.seed, state.begun),
                prepare: self.settings.prepare.clone(),
                limit: self.settings.limit.clone(),
                shelf: self.shelf.clone(),
                stop: Default::default(),
            };
            let (s, p) = (start.as_secs_f64(), play.as_secs_f64());
            note(id, &format!("{} with clocks {s} and {p}", task.role.as_deref().unwrap_or_default()));
            let mind = Mind::begin(task.clone(), Reader::Full);
            let progress = mind.progress.clone();
            let expires = arrived + start + patience(play);
            let (stopgap, thinking, pondering) = (None, Vec::new(), Arc::default());
            state.running = Some(Match { task: task.clone(), play, mind, stopgap, thinking, pondering, expires });
            (progress, task)
        };
        if !progress.wait(arrived + think / 4, |s| s.game.is_some()) && !task.stop.load(Ordering::Relaxed) {
            // Reading the rules takes long, or failed: something must be able to play.
            let stopgap = Mind::begin(task.clone(), Reader::Stopgap);
            let mut state = lock(&self.state);
            if let Some(running) = state.running.as_mut().filter(|m| Arc::ptr_eq(&m.task.ledger, &task.ledger)) {
                running.stopgap = Some(stopgap);
            }
        }
        progress.wait(arrived + latest, |s| s.ready || s.ended);
        "ready"
    }

    fn play(&self, id: &str, joint: Option<Vec<String>>, arrived: Instant, style: Style) -> String {
        let (reply, replies) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let latest = {
            let mut state = lock(&self.state);
            let Some(running) = state.running.as_mut().filter(|m| m.task.id == id) else { return style.word("busy") };
            let (think, latest) = deadlines(running.play, self.settings.margin);
            if let Some(joint) = joint {
                if !running.plausible(&joint) {
                    note(id, &format!("ignored: no joint move of this game: {}", joint.join(" ")));
                    return style.term(&running.standby().unwrap_or("noop".into()));
                }
                running.hush();
                lock(&running.task.ledger).push(joint);
            }
            running.expires = arrived + running.play + patience(running.play);
            running.thinking.retain(|stop| !stop.load(Ordering::Relaxed));
            running.thinking.push(stop.clone());
            running.pondering.store(true, Ordering::Relaxed);
            running.pondering = Arc::default();
            let until = arrived + running.play;
            let ponder = self.settings.ponder.then(|| Ponder { until, stop: running.pondering.clone() });
            let turn = Turn { until: arrived + think, stop: stop.clone(), reply, ponder };
            let stage = running.mind.progress.stage();
            if stage.ended && running.stopgap.is_none() {
                note(id, "the first mind has ended; another takes over");
                running.stopgap = Some(Mind::begin(running.task.clone(), Reader::Stopgap));
            } else if stage.ready && !stage.ended {
                running.stopgap = None;
            }
            if let Some(stopgap) = &running.stopgap {
                stopgap.tell(Order::Turn(Turn { stop: stop.clone(), reply: turn.reply.clone(), ponder: None, ..turn }));
            }
            running.mind.tell(Order::Turn(turn));
            arrived + latest
        };
        let answer = replies.recv_timeout(latest.saturating_duration_since(Instant::now()));
        stop.store(true, Ordering::Relaxed);
        let answer = answer.ok().or_else(|| {
            note(id, "no move in time; any legal one instead");
            lock(&self.state).running.as_ref().filter(|m| m.task.id == id).and_then(Match::standby)
        });
        style.term(&answer.unwrap_or("noop".into()))
    }

    fn stop(&self, id: &str, joint: Option<Vec<String>>) -> &'static str {
        let mut state = lock(&self.state);
        let Some(running) = state.running.take_if(|m| m.task.id == id) else { return "busy" };
        drop(state);
        joint.into_iter().for_each(|joint| lock(&running.task.ledger).push(joint));
        running.mind.tell(Order::Finish);
        "done"
    }

    fn abort(&self, id: &str) -> &'static str {
        match lock(&self.state).running.take_if(|m| m.task.id == id) {
            Some(_) => {
                note(id, "called off by the host");
                "aborted"
            }
            None => "busy",
        }
    }

    fn preview(&self, rules: String, clock: Duration, arrived: Instant) -> &'static str {
        if self.busy() {
            return "busy";
        }
        let (think, latest) = deadlines(clock, self.settings.margin);
        let mind = Mind::begin(
            Task {
                id: "preview".into(),
                rules,
                role: None,
                ledger: Default::default(),
                until: arrived + think,
                seed: self.settings.seed,
                prepare: self.settings.prepare.clone(),
                limit: Limit::default(),
                shelf: self.shelf.clone(),
                stop: Default::default(),
            },
            Reader::Full,
        );
        mind.progress.wait(arrived + latest, |s| s.ready || s.ended);
        "ready"
    }
}

#[cfg(test)]
mod tests {
    use super::super::mind::Brief;
    use super::*;
    use ludex_play::Agent;

    const TICTACTOE: &str = include_str!("../../../../rules/tictactoe.kif");

    fn player(spec: &str) -> Player {
        let spec: Spec = spec.parse().unwrap();
        Player::new(Settings {
            name: "test".into(),
            limit: counts(&spec),
            prepare: Arc::new(AtOnce(spec)),
            margin: Duration::from_millis(400),
            ponder: false,
            seed: 1,
        })
    }

    fn ask(p: &Player, text: &str) -> String {
        p.answer(text, Instant::now()).1
    }

    fn start(id: &str, role: &str, rules: &str, clock: u32) -> String {
        format!("( START {id} {role} ({rules}\n) {clock} {clock} )")
    }

    #[test]
    fn a_match_goes_from_start_to_stop() {
        let p = player("uct(sims=2000)");
        assert_eq!(ask(&p, "( INFO )"), "((name test) (status available))");
        assert_eq!(ask(&p, "info()"), "[[name,test],[status,available]]");
        assert_eq!(ask(&p, "(ping)"), "ready");
        assert_eq!(ask(&p, &start("match.1", "x", TICTACTOE, 5)), "READY");
        assert_eq!(ask(&p, "(info)"), "((name test) (status busy))");
        assert!(ask(&p, "( PLAY match.1 NIL )").starts_with("(mark "));
        // The host says what was played, not we.
        assert_eq!(ask(&p, "( PLAY match.1 ((mark 1 1) noop) )"), "noop");
        assert!(ask(&p, "( PLAY match.1 (noop (mark 1 2)) )").starts_with("(mark "));
        // x on a1 and b1, o on a2 and b2: whoever thinks ends it in c1.
        assert_eq!(ask(&p, "( PLAY match.1 ((mark 2 1) noop) )"), "noop");
        assert_eq!(ask(&p, "( PLAY match.1 (noop (mark 2 2)) )"), "(mark 3 1)");
        assert_eq!(ask(&p, "( STOP match.1 ((mark 3 1) noop) )"), "DONE");
        assert_eq!(ask(&p, "(info)"), "((name test) (status available))");
    }

    #[test]
    fn strangers_hear_busy_and_disturb_nothing() {
        let p = player("uct(sims=100)");
        assert_eq!(ask(&p, "(play match.1 nil)"), "busy");
        assert_eq!(ask(&p, "(stop match.1 nil)"), "busy");
        assert_eq!(ask(&p, &start("match.1", "o", TICTACTOE, 5)), "READY");
        for stranger in
            ["(play match.2 nil)", "(stop match.2 (noop noop))", "(abort match.2)", "(preview ((role x)) 1)"]
        {
            assert_eq!(ask(&p, stranger), "busy", "{stranger}");
        }
        assert_eq!(ask(&p, &start("match.2", "x", TICTACTOE, 5)), "BUSY");
        assert_eq!(ask(&p, "(play match.1 nil)"), "noop");
        // None of these is a joint move that the rules allow.
        for joint in
            ["(noop)", "(noop noop noop)", "((mark 9 9) noop)", "(x y)", "(noop noop)", "((mark 1 1) (mark 2 2))"]
        {
            assert_eq!(ask(&p, &format!("(play match.1 {joint})")), "noop", "{joint}");
        }
        let answer = ask(&p, "(play match.1 ((mark 2 2) noop))");
        assert!(answer.starts_with("(mark ") && answer != "(mark 2 2)", "{answer}");
        assert_eq!(ask(&p, "(abort match.1)"), "aborted");
        assert_eq!(ask(&p, &start("match.2", "x", TICTACTOE, 5)), "READY");
    }

    #[test]
    fn a_match_whose_host_has_gone_gives_way() {
        let p = player("random");
        assert_eq!(ask(&p, &start("match.1", "x", TICTACTOE, 1)), "READY");
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(p.answer(&start("match.2", "x", TICTACTOE, 100), later).1, "READY");
        assert_eq!(ask(&p, "(play match.1 nil)"), "busy");
    }

    #[test]
    fn rules_that_nobody_can_read_still_get_answers_in_time() {
        let p = player("random");
        let begun = Instant::now();
        assert_eq!(ask(&p, "(start m x ((role x) (<= (legal x ?y) (true z)))  1 1)"), "ready");
        assert_eq!(ask(&p, "(play m nil)"), "noop");
        assert!(begun.elapsed() < Duration::from_millis(1900));
        assert_eq!(ask(&p, "(stop m (a))"), "done");
    }

    #[test]
    fn simultaneous_and_single_player_games_are_played() {
        let chicken = "(role a)(role b)(init s)(<= (legal ?r go)(role ?r)(true s))(<= (legal ?r stay)(role ?r)(true s))
            (<= (next (did ?r ?m)) (does ?r ?m)) (<= terminal (not (true s)))
            (<= (goal a 100) (true (did a go)) (true (did b stay))) (<= (goal a 50) (true (did a stay)))
            (<= (goal a 0) (true (did a go)) (true (did b go)))
            (<= (goal b 100) (true (did b go))) (<= (goal b 0) (true (did b stay)))";
        let p = player("uct(sims=5000)");
        assert_eq!(ask(&p, &start("m", "b", chicken, 5)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "go", "going dominates for the second role");
        assert_eq!(ask(&p, "(abort m)"), "aborted");
        assert_eq!(ask(&p, &start("m", "a", chicken, 5)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "stay", "against a sensible second role the first must stay");
        assert_eq!(ask(&p, "(abort m)"), "aborted");
        let alone = "(role you)(init (at 0))(succ 0 1)(succ 1 2)(succ 2 3)(<= (legal you up) (role you))(<= (legal you quit)(role you))
            (<= (next (at ?m)) (does you up) (true (at ?n)) (succ ?n ?m)) (<= (next gone) (does you quit))
            (<= terminal (true gone)) (<= terminal (true (at 3))) (<= (goal you 100) (true (at 3))) (<= (goal you 10) (true gone))";
        assert_eq!(ask(&p, &start("m", "you", alone, 5)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "up");
        assert_eq!(ask(&p, "(play m (up))"), "up");
    }

    #[test]
    fn thinking_in_the_others_time_ends_with_the_next_message() {
        let p = Player::new(Settings { ponder: true, limit: Limit::default(), ..player(PLAIN).settings });
        assert_eq!(ask(&p, &start("m", "o", TICTACTOE, 2)), "READY");
        let begun = Instant::now();
        assert_eq!(ask(&p, "(play m nil)"), "noop");
        assert!(begun.elapsed() < Duration::from_millis(500));
        std::thread::sleep(Duration::from_millis(100));
        assert!(ask(&p, "(play m ((mark 2 2) noop))").starts_with("(mark "));
        let begun = Instant::now();
        assert_eq!(ask(&p, "(stop m (noop (mark 1 1)))"), "done");
        assert!(begun.elapsed() < Duration::from_millis(500));
    }

    /// Makes an agent that fails whenever it is asked: a match must survive it.
    struct Broken;

    impl Prepare for Broken {
        fn prepare(&self, _: &Brief<'_>) -> Result<Box<dyn Agent>, String> {
            struct Crash;
            impl Agent for Crash {
                fn start(&mut self, _: &dyn ludex_play::Position) {}
                fn observe(&mut self, _: ludex_core::Move) {}
                fn choose(&mut self, _: &Limit) -> ludex_core::Choice {
                    panic!("on purpose")
                }
            }
            Ok(Box::new(Crash))
        }
    }

    #[test]
    fn an_agent_that_fails_is_replaced() {
        let settings = Settings { prepare: Arc::new(Broken), ..player("random").settings };
        let p = Player::new(Settings { limit: Limit::simulations(500), ..settings });
        assert_eq!(ask(&p, &start("m", "x", TICTACTOE, 5)), "READY");
        assert!(ask(&p, "(play m nil)").starts_with("(mark "));
        assert_eq!(ask(&p, "(play m ((mark 1 1) noop))"), "noop");
        assert!(ask(&p, "(play m (noop (mark 2 1)))").starts_with("(mark "));
    }

    #[test]
    fn clocks_are_kept_with_a_margin() {
        for clock in [0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 60.0, 600.0] {
            let (think, latest) = deadlines(seconds(clock), Duration::from_millis(400));
            assert!(think <= latest && latest.as_secs_f64() <= 0.88 * clock + 1e-9, "{clock}: {think:?} {latest:?}");
        }
    }
}
