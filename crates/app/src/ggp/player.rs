//! `ludex ggp`: a player for match hosts. Sockets are in `http`: here a message and the moment of its arrival go in, and the
//! answer comes out in time.
//!
//! One match at a time: other hosts hear `busy`, unless the host of the running match has been silent for so long that it must
//! be gone. The joint moves of the host count, not what we answered. A joint move that the rules do not allow is ignored, so
//! that no stray message can lose the match.

use super::joint_moves::{JointMoves, parse_joint_move};
use super::match_worker::{MatchSetup, MatchWorker, MoveRequest, Ponder, WorkerCommand, WorkerKind};
use super::message::{Message, Notation};
use super::prepare::{DEFAULT_AGENT, Prepare, SpecAgent, fallback_spec};
use super::rules_cache::RulesCache;
use super::start_clock_learner::StartClockLearner;
use super::{http, lock, note};
use crate::verbs::say;
use crate::{Usage, spec};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::Rng;
use ludex_gdl::GdlGame;
use ludex_play::{Spec, Stop, Table};
use ludex_train::systems::system;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex ggp                                        wait for a match host on port 9147\n  \
    ludex ggp --address 0.0.0.0                      also for hosts on other machines\n  \
    ludex ggp --port 9148 --agent 'uct(c=0.7)'       another player on the same machine\n  \
    ludex ggp --learn carl-playout --keep learned    learn in the start clock, and go on when the same game comes again\n  \
    ludex ggp-server rules/connect4.kif --start 5 --play 2 localhost:9147 localhost:9148\n\nThe agent searches \
    for as long as the clocks allow; limits in its spec, such as sims=1000, count besides."
)]
pub struct Args {
    /// Where to listen; 0 takes any free port
    #[arg(long, default_value_t = 9147)]
    port: u16,
    /// On which address to listen; 0.0.0.0 is for hosts on all machines, and the protocol knows no passwords
    #[arg(long, default_value = "127.0.0.1", alias = "bind")]
    address: String,
    /// Who chooses moves: a spec (see `ludex agents`) or a .toml file
    #[arg(long, value_name = "SPEC", default_value = DEFAULT_AGENT)]
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
    /// Search in the others' time too; worth it for agents that keep their tree (reuse=on)
    #[arg(long)]
    ponder: bool,
    /// Everything random comes from here (time limits apart)
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(Usage("--name takes letters, digits and - _ . only".into()).into());
        }
        let spec = spec(&self.agent)?;
        let prepare = self.prepare(&spec)?;
        let listener = TcpListener::bind((self.address.as_str(), self.port))
            .with_context(|| format!("listening on {}:{}", self.address, self.port))?;
        say(format!("{} listens on {}", self.name, listener.local_addr()?))?;
        let player = GgpPlayer::new(PlayerSettings {
            name: self.name.clone(),
            prepare,
            fallback: fallback_spec(&spec),
            margin: Duration::from_millis(self.margin),
            ponder: self.ponder,
            seed: self.seed,
        });
        http::serve(&listener, move |request, arrived| player.answer(&request.message, arrived));
        Ok(())
    }

    /// What makes the agents of matches. A spec, system or option that no game could use is refused here, before any match: it
    /// is tried on tic-tac-toe.
    fn prepare(&self, spec: &Spec) -> Result<Arc<dyn Prepare>> {
        let game = GdlGame::new("rules.kif", include_str!("../../../../rules/tictactoe.kif"), &Default::default())?;
        let table = ludex_train::learnable(ludex_play::rulesheet_table(Arc::new(game)));
        let Some(name) = &self.learn else {
            check_agent(&*table, spec)?;
            return Ok(Arc::new(SpecAgent(spec.clone())));
        };
        let refused = |e: ludex_train::store::RunError| Usage(e.to_string());
        let (preset, settings, keep) = (self.preset.clone(), self.set.clone(), self.keep.clone());
        let learner =
            StartClockLearner { system: system(name).map_err(refused)?, preset, settings, keep, seed: self.seed };
        learner.plan(&*table, self.preset.as_deref().unwrap_or("tick"), 10.0).map_err(refused)?;
        Ok(Arc::new(learner))
    }
}

/// Refuses an agent that cannot be built. Its models may be those of another game, but must be there.
fn check_agent(table: &dyn Table, spec: &Spec) -> Result<()> {
    let models = spec.models();
    let built = match models.iter().find(|m| !m.path().exists()) {
        Some(missing) => Err(format!("there is no model {missing}")),
        None if models.is_empty() => table.agent(spec, 0).map(|_| ()).map_err(|e| e.to_string()),
        None => table.check(spec).map_err(|e| e.to_string()),
    };
    built.map_err(|line| Usage(format!("agent \"{spec}\": {line}")).into())
}

/// How to play.
pub struct PlayerSettings {
    /// The name to give to hosts.
    pub name: String,
    /// Makes the agent of each match.
    pub prepare: Arc<dyn Prepare>,
    /// The agent that plays where that one cannot.
    pub fallback: Spec,
    /// What is kept back of every clock.
    pub margin: Duration,
    /// Whether to search in the others' time.
    pub ponder: bool,
    /// Everything random comes from here.
    pub seed: u64,
}

/// The player, from one match to the next.
pub struct GgpPlayer {
    settings: PlayerSettings,
    rules_cache: RulesCache,
    state: Mutex<PlayerState>,
}

#[derive(Default)]
struct PlayerState {
    running: Option<RunningMatch>,
    /// Matches that were begun, for seeds.
    begun: u64,
}

/// A match that is being played.
struct RunningMatch {
    setup: MatchSetup,
    play_clock: Duration,
    main: MatchWorker,
    interim: Option<MatchWorker>,
    /// Searches for moves that may still run.
    searches: Vec<Stop>,
    /// The search in the others' time.
    pondering: Stop,
    /// When the match is given up if the host stays silent.
    expires: Instant,
}

impl Drop for RunningMatch {
    fn drop(&mut self) {
        self.stop_searches();
        self.pondering.raise();
        self.setup.stop.raise();
    }
}

impl RunningMatch {
    fn stop_searches(&mut self) {
        self.searches.drain(..).for_each(|stop| stop.raise());
    }

    /// Whether a joint move may be one of this game, as far as can be told without following the match.
    fn may_be_joint_move(&self, joint: &[String]) -> bool {
        self.main.status.get().game.is_none_or(|game| parse_joint_move(&game, joint).is_some())
    }

    /// A legal move after the last joint move that a worker has read, if any worker has come so far.
    fn fallback_move(&self) -> Option<String> {
        let main = self.main.status.get().fallback_move;
        let interim = self.interim.as_ref().and_then(|worker| worker.status.get().fallback_move);
        main.into_iter().chain(interim).max_by_key(|(read, _)| *read).map(|(_, text)| text)
    }
}

/// Until when to search, and when to answer at the latest, counted from a message with this clock: at most 88 % of it. There is
/// time between the two, because on a busy machine a search may end late.
fn deadlines(clock: Duration, margin: Duration) -> (Duration, Duration) {
    const SLACK: Duration = Duration::from_millis(150);
    let latest = clock.mul_f64(0.88).min(clock.saturating_sub(margin / 2));
    let search = clock.mul_f64(0.85).min(clock.saturating_sub(margin)).min(latest.saturating_sub(SLACK));
    (search, latest)
}

/// A host that has been silent for so long after its clock is gone.
fn host_timeout(clock: Duration) -> Duration {
    3 * clock + Duration::from_secs(10)
}

fn seconds(clock: f64) -> Duration {
    Duration::try_from_secs_f64(clock).unwrap_or_default()
}

/// The clocks of a match.
#[derive(Clone, Copy)]
struct Clocks {
    start: Duration,
    play: Duration,
}

impl GgpPlayer {
    /// A player without a match.
    pub fn new(settings: PlayerSettings) -> GgpPlayer {
        GgpPlayer { settings, rules_cache: RulesCache::default(), state: Mutex::default() }
    }

    /// The answer to a message that arrived at this moment: an HTTP status and a text.
    pub fn answer(&self, text: &str, arrived: Instant) -> (u16, String) {
        // A browser that opens the address asks who we are.
        let text = if text.trim().is_empty() { "info()" } else { text };
        let (message, notation) = match Message::read(text) {
            Ok(read) => read,
            Err(line) => return (400, line),
        };
        let answer = match message {
            Message::Info => self.info(notation),
            Message::Ping => notation.word(if self.busy() { "busy" } else { "ready" }),
            Message::Start { id, role, rules, start, play } => {
                let clocks = Clocks { start: seconds(start), play: seconds(play) };
                notation.word(self.start(id, role, rules, clocks, arrived))
            }
            Message::Play { id, joint } => self.play(&id, joint, arrived, notation),
            Message::Stop { id, joint } => notation.word(self.stop(&id, joint)),
            Message::Abort { id } => notation.word(self.abort(&id)),
            Message::Preview { rules, clock } => notation.word(self.preview(rules, seconds(clock), arrived)),
        };
        (200, answer)
    }

    fn busy(&self) -> bool {
        lock(&self.state).running.as_ref().is_some_and(|m| m.expires > Instant::now())
    }

    fn info(&self, notation: Notation) -> String {
        let status = if self.busy() { "busy" } else { "available" };
        let name = &self.settings.name;
        match notation.infix {
            true => format!("[[name,{name}],[status,{status}]]"),
            false => format!("((name {name}) (status {status}))"),
        }
    }

    /// What the workers of a match are told.
    fn setup(&self, id: String, rules: String, role: Option<String>, deadline: Instant, seed: u64) -> MatchSetup {
        MatchSetup {
            id,
            rules,
            role,
            joint_moves: JointMoves::default(),
            deadline,
            seed,
            prepare: self.settings.prepare.clone(),
            fallback: self.settings.fallback.clone(),
            rules_cache: self.rules_cache.clone(),
            stop: Stop::new(),
        }
    }

    fn start(&self, id: String, role: String, rules: String, clocks: Clocks, arrived: Instant) -> &'static str {
        let (search, latest) = deadlines(clocks.start, self.settings.margin);
        let (status, setup) = {
            let mut state = lock(&self.state);
            if let Some(running) = &state.running {
                if running.expires > arrived {
                    note(&id, &format!("refused: {} is running", running.setup.id));
                    return "busy";
                }
                note(&running.setup.id, "given up: its host is silent");
            }
            state.begun += 1;
            let (start, play) = (clocks.start.as_secs_f64(), clocks.play.as_secs_f64());
            note(&id, &format!("{role} with clocks {start} and {play}"));
            let seed = Rng::derive(self.settings.seed, state.begun);
            let setup = self.setup(id, rules, Some(role), arrived + search, seed);
            let main = MatchWorker::spawn(setup.clone(), WorkerKind::Main);
            let status = main.status.clone();
            state.running = Some(RunningMatch {
                setup: setup.clone(),
                play_clock: clocks.play,
                main,
                interim: None,
                searches: Vec::new(),
                pondering: Stop::new(),
                expires: arrived + clocks.start + host_timeout(clocks.play),
            });
            (status, setup)
        };
        status.wait(arrived + search / 4, |s| s.game.is_some() || s.ended);
        if status.get().game.is_none() && !setup.stop.raised() {
            // Reading the rules takes long, or failed.
            let interim = MatchWorker::spawn(setup.clone(), WorkerKind::Interim);
            let mut state = lock(&self.state);
            if let Some(running) = state.running.as_mut().filter(|m| m.setup.joint_moves.same(&setup.joint_moves)) {
                running.interim = Some(interim);
            }
        }
        status.wait(arrived + latest, |s| s.ready || s.ended);
        "ready"
    }

    fn play(&self, id: &str, joint: Option<Vec<String>>, arrived: Instant, notation: Notation) -> String {
        let (reply, replies) = channel();
        let stop = Stop::new();
        let latest = {
            let mut state = lock(&self.state);
            let Some(running) = state.running.as_mut().filter(|m| m.setup.id == id) else {
                return notation.word("busy");
            };
            let (search, latest) = deadlines(running.play_clock, self.settings.margin);
            if let Some(joint) = joint {
                if !running.may_be_joint_move(&joint) {
                    note(id, &format!("ignored: no joint move of this game: {}", joint.join(" ")));
                    return notation.term(&running.fallback_move().unwrap_or("noop".into()));
                }
                running.stop_searches();
                running.setup.joint_moves.push(joint);
            }
            running.expires = arrived + running.play_clock + host_timeout(running.play_clock);
            running.searches.retain(|stop| !stop.raised());
            running.searches.push(stop.clone());
            running.pondering.raise();
            running.pondering = Stop::new();
            let ponder = Ponder { deadline: arrived + running.play_clock, stop: running.pondering.clone() };
            let ponder = self.settings.ponder.then_some(ponder);
            let main = running.main.status.get();
            if main.ended && running.interim.is_none() {
                note(id, "the main worker has ended; an interim one takes over");
                running.interim = Some(MatchWorker::spawn(running.setup.clone(), WorkerKind::Interim));
            } else if main.ready && !main.ended {
                running.interim = None;
            }
            let request = |reply, ponder| {
                WorkerCommand::Choose(MoveRequest { deadline: arrived + search, stop: stop.clone(), reply, ponder })
            };
            if let Some(interim) = &running.interim {
                interim.send(request(reply.clone(), None));
            }
            running.main.send(request(reply, ponder));
            arrived + latest
        };
        let answer = replies.recv_timeout(latest.saturating_duration_since(Instant::now()));
        stop.raise();
        let answer = answer.ok().or_else(|| {
            note(id, "no move in time; any legal one instead");
            lock(&self.state).running.as_ref().filter(|m| m.setup.id == id).and_then(RunningMatch::fallback_move)
        });
        notation.term(&answer.unwrap_or("noop".into()))
    }

    fn stop(&self, id: &str, joint: Option<Vec<String>>) -> &'static str {
        let Some(running) = lock(&self.state).running.take_if(|m| m.setup.id == id) else { return "busy" };
        joint.into_iter().for_each(|joint| running.setup.joint_moves.push(joint));
        running.main.send(WorkerCommand::Finish);
        "done"
    }

    fn abort(&self, id: &str) -> &'static str {
        match lock(&self.state).running.take_if(|m| m.setup.id == id) {
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
        let (search, latest) = deadlines(clock, self.settings.margin);
        let setup = self.setup("preview".into(), rules, None, arrived + search, self.settings.seed);
        let worker = MatchWorker::spawn(setup, WorkerKind::Main);
        worker.status.wait(arrived + latest, |s| s.ready || s.ended);
        "ready"
    }
}

#[cfg(test)]
mod tests {
    use super::super::prepare::{PrepareRequest, PreparedAgent};
    use super::*;
    use ludex_core::{Choice, Control, LimitKind, Payoffs};
    use ludex_play::{Agent, AgentError, Position};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const TICTACTOE: &str = include_str!("../../../../rules/tictactoe.kif");

    /// A clock that no test waits for: agents have limits of their own, or are stopped.
    const LONG: u32 = 120;
    /// An answer that comes sooner did not wait for a long clock, however busy the machine is.
    const SOON: Duration = Duration::from_secs(60);

    fn settings(spec: &str) -> PlayerSettings {
        let spec: Spec = spec.parse().unwrap();
        PlayerSettings {
            name: "test".into(),
            fallback: fallback_spec(&spec),
            prepare: Arc::new(SpecAgent(spec)),
            margin: Duration::from_millis(400),
            ponder: false,
            seed: 1,
        }
    }

    fn player(spec: &str) -> GgpPlayer {
        GgpPlayer::new(settings(spec))
    }

    fn ask(p: &GgpPlayer, text: &str) -> String {
        p.answer(text, Instant::now()).1
    }

    fn ask_soon(p: &GgpPlayer, text: &str) -> String {
        let begun = Instant::now();
        let answer = ask(p, text);
        assert!(begun.elapsed() < SOON, "{text:.60} was answered after {:?}", begun.elapsed());
        answer
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
        assert_eq!(ask(&p, &start("match.1", "x", TICTACTOE, LONG)), "READY");
        assert_eq!(ask(&p, "(info)"), "((name test) (status busy))");
        assert!(ask(&p, "( PLAY match.1 NIL )").starts_with("(mark "));
        // The host says what was played, not we.
        assert_eq!(ask(&p, "( PLAY match.1 ((mark 1 1) noop) )"), "noop");
        assert!(ask(&p, "( PLAY match.1 (noop (mark 1 2)) )").starts_with("(mark "));
        // x on a1 and b1, o on a2 and b2: the winning move is c1.
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
        assert_eq!(ask(&p, &start("match.1", "o", TICTACTOE, LONG)), "READY");
        for stranger in
            ["(play match.2 nil)", "(stop match.2 (noop noop))", "(abort match.2)", "(preview ((role x)) 1)"]
        {
            assert_eq!(ask(&p, stranger), "busy", "{stranger}");
        }
        assert_eq!(ask(&p, &start("match.2", "x", TICTACTOE, LONG)), "BUSY");
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
        assert_eq!(ask(&p, &start("match.2", "x", TICTACTOE, LONG)), "READY");
    }

    #[test]
    fn a_match_whose_host_has_gone_gives_way() {
        let p = player("random");
        assert_eq!(ask(&p, &start("match.1", "x", TICTACTOE, LONG)), "READY");
        let later = Instant::now() + Duration::from_secs(10 * LONG as u64);
        assert_eq!(p.answer(&start("match.2", "x", TICTACTOE, LONG), later).1, "READY");
        assert_eq!(ask(&p, "(play match.1 nil)"), "busy");
    }

    #[test]
    fn rules_that_cannot_be_read_get_answers_without_waiting_for_the_clock() {
        let p = player("random");
        let rules = "((role x) (<= (legal x ?y) (true z)))";
        assert_eq!(ask_soon(&p, &format!("(start m x {rules} {LONG} {LONG})")), "ready");
        assert_eq!(ask_soon(&p, "(play m nil)"), "noop");
        assert_eq!(ask_soon(&p, "(stop m (a))"), "done");
    }

    #[test]
    fn simultaneous_and_single_player_games_are_played() {
        let chicken = "(role a)(role b)(init s)(<= (legal ?r go)(role ?r)(true s))(<= (legal ?r stay)(role ?r)(true s))
            (<= (next (did ?r ?m)) (does ?r ?m)) (<= terminal (not (true s)))
            (<= (goal a 100) (true (did a go)) (true (did b stay))) (<= (goal a 50) (true (did a stay)))
            (<= (goal a 0) (true (did a go)) (true (did b go)))
            (<= (goal b 100) (true (did b go))) (<= (goal b 0) (true (did b stay)))";
        let p = player("uct(sims=5000)");
        assert_eq!(ask(&p, &start("m", "b", chicken, LONG)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "go", "going dominates for the second role");
        assert_eq!(ask(&p, "(abort m)"), "aborted");
        assert_eq!(ask(&p, &start("m", "a", chicken, LONG)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "stay", "against a sensible second role the first must stay");
        assert_eq!(ask(&p, "(abort m)"), "aborted");
        let alone = "(role you)(init (at 0))(succ 0 1)(succ 1 2)(succ 2 3)(<= (legal you up) (role you))(<= (legal you quit)(role you))
            (<= (next (at ?m)) (does you up) (true (at ?n)) (succ ?n ?m)) (<= (next gone) (does you quit))
            (<= terminal (true gone)) (<= terminal (true (at 3))) (<= (goal you 100) (true (at 3))) (<= (goal you 10) (true gone))";
        assert_eq!(ask(&p, &start("m", "you", alone, LONG)), "READY");
        assert_eq!(ask(&p, "(play m nil)"), "up");
        assert_eq!(ask(&p, "(play m (up))"), "up");
    }

    /// What a scripted agent does when it is asked.
    type Script = fn(&dyn Position, &Control) -> Result<Choice, AgentError>;

    /// Prepares an agent that follows a script and counts how often it was asked.
    struct Scripted(Script, Arc<AtomicUsize>);

    impl Prepare for Scripted {
        fn prepare(&self, _: &PrepareRequest) -> Result<PreparedAgent, String> {
            Ok(PreparedAgent::new(Box::new(Scripted(self.0, self.1.clone()))))
        }
    }

    impl Agent for Scripted {
        fn choose(&mut self, at: &dyn Position, control: &Control) -> Result<Choice, AgentError> {
            self.1.fetch_add(1, Ordering::SeqCst);
            (self.0)(at, control)
        }

        fn limits(&self) -> &[LimitKind] {
            &[]
        }
    }

    fn scripted(script: Script, fallback: &str, ponder: bool) -> (GgpPlayer, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let prepare = Arc::new(Scripted(script, asked.clone()));
        (GgpPlayer::new(PlayerSettings { prepare, ponder, ..settings(fallback) }), asked)
    }

    /// The first legal move, at once for the second player of tic-tac-toe and else not before the search is stopped.
    fn first_move_when_stopped(at: &dyn Position, control: &Control) -> Result<Choice, AgentError> {
        assert!(control.limit.is_empty(), "the agent knows no limits");
        while at.mover().0 == 0 && !control.stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mv = at.legal()[0];
        let (value, root, line) = (Payoffs::draw(2), vec![], vec![mv]);
        Ok(Choice { mv, value, root, nodes: 0, simulations: 0, depth: 0, line, bytes: 0 })
    }

    #[test]
    fn pondering_ends_with_the_next_message() {
        let (p, asked) = scripted(first_move_when_stopped, "uct(sims=50)", true);
        assert_eq!(ask_soon(&p, &start("m", "o", TICTACTOE, LONG)), "READY");
        assert_eq!(ask_soon(&p, "(play m nil)"), "noop");
        while asked.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The agent ponders now, and would do so for ever.
        assert_eq!(ask_soon(&p, "(play m ((mark 2 2) noop))"), "(mark 1 1)");
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        assert_eq!(ask_soon(&p, "(play m (noop (mark 1 1)))"), "noop");
        assert_eq!(ask_soon(&p, "(stop m ((mark 1 2) noop))"), "done");
    }

    #[test]
    fn an_agent_that_does_not_come_back_costs_the_search_but_not_the_move() {
        let (p, _) = scripted(first_move_when_stopped, "uct(sims=50)", false);
        assert_eq!(ask(&p, &format!("(start m x ({TICTACTOE}\n) {LONG} 4)")), "ready");
        assert!(ask_soon(&p, "(play m nil)").starts_with("(mark "));
        assert_eq!(ask_soon(&p, "(abort m)"), "aborted");
    }

    #[test]
    fn an_agent_that_fails_is_replaced() {
        let crash: Script = |_, _| panic!("on purpose");
        let error: Script = |_, _| Err(AgentError::Failed("on purpose".into()));
        for script in [crash, error] {
            let (p, asked) = scripted(script, "uct(sims=500)", false);
            assert_eq!(ask(&p, &start("m", "x", TICTACTOE, LONG)), "READY");
            assert!(ask(&p, "(play m nil)").starts_with("(mark "));
            assert_eq!(asked.load(Ordering::SeqCst), 1);
            // From here on the fallback plays, and plays well: x on a1 and b1 wins in c1.
            assert_eq!(ask(&p, "(play m ((mark 1 1) noop))"), "noop");
            assert!(ask(&p, "(play m (noop (mark 1 2)))").starts_with("(mark "));
            assert_eq!(ask(&p, "(play m ((mark 2 1) noop))"), "noop");
            assert_eq!(ask(&p, "(play m (noop (mark 2 2)))"), "(mark 3 1)");
            assert_eq!(asked.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn an_agent_that_does_not_fit_the_game_is_replaced() {
        // Alpha-beta is for two players.
        let p = player("minimax(depth=3, ms=100)");
        let alone = "(role you)(init s)(<= (legal you win)(true s))(<= (legal you lose)(true s))
            (<= (next (did ?m)) (does you ?m))(<= terminal (not (true s)))
            (<= (goal you 100) (true (did win)))(<= (goal you 0) (true (did lose)))";
        assert_eq!(ask(&p, &start("m", "you", alone, LONG)), "READY");
        assert_eq!(ask_soon(&p, "(play m nil)"), "win");
    }

    #[test]
    fn clocks_are_kept_with_a_margin() {
        for clock in [0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 60.0, 600.0] {
            let (search, latest) = deadlines(seconds(clock), Duration::from_millis(400));
            assert!(search <= latest && latest.as_secs_f64() <= 0.88 * clock + 1e-9, "{clock}: {search:?} {latest:?}");
        }
    }
}
