//! The GGP player and the match host as others meet them: the real binary over real sockets.
//!
//! Some tests exist in a longer form: `LUDEX_GGP_TURNS=1000` asks for so many moves under load, `LUDEX_GGP_HOSTILE=10000`
//! sends so many malformed messages. Public rulesheets are found through `LUDEX_GDL_SHEETS`, else beside the workspace in
//! `../shared/gdl`; without them the tests say so and use our own.

use ludex_core::{Game, Move, Rng};
use ludex_gdl::{GdlGame, GdlState};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds of clocks that no test waits for, because the agents have limits of their own.
const CLOCK: u32 = 120;

/// An answer that comes sooner did not wait for such a clock, however busy the machine is.
const SOON: Duration = Duration::from_secs(60);

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A program that listens on a port, killed at the end of the test.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a program whose first line ends in its port. Its notes go to a file, if one is given.
    fn begin(command: &mut Command, notes: Option<&Path>) -> Server {
        let notes = notes.map_or(Stdio::null(), |path| std::fs::File::create(path).unwrap().into());
        let mut child = command.stdout(Stdio::piped()).stderr(notes).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().and_then(|p| p.parse().ok());
        Server { child, port: port.unwrap_or_else(|| panic!("no port in {line:?}")) }
    }

    fn player(agent: &str) -> Server {
        Server::with(&["--agent", agent], None)
    }

    fn with(options: &[&str], notes: Option<&Path>) -> Server {
        let args = ["ggp", "--address", "127.0.0.1", "--port", "0"];
        Server::begin(Command::new(env!("CARGO_BIN_EXE_ludex")).args(args).args(options), notes)
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends bytes and gives all that comes back.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(2 * CLOCK as u64))).unwrap();
        // Who refuses early may close before all is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Posts a message as the standard server does, and gives the body of the answer.
    fn post(&self, message: &str) -> String {
        let head = "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: GAMESERVER\r\nReceiver: GAMEPLAYER\r\nContent-type: text/acl";
        let answer = self.send(format!("{head}\r\nContent-length: {}\r\n\r\n{message}", message.len()).as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {message:.60}"));
        assert!(head.starts_with("HTTP/1.0 200"), "{head}");
        body.to_string()
    }
}

fn rules(name: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/rules/{name}.kif")).unwrap()
}

/// A sheet as the standard server writes it: on one line, with spaces around parentheses; symbols are replaced.
fn server_layout(text: &str, rename: impl Fn(&str) -> String) -> String {
    let mut words = Vec::new();
    for line in text.lines() {
        let code = line.split(';').next().unwrap().replace('(', " ( ").replace(')', " ) ");
        words.extend(code.split_whitespace().map(&rename));
    }
    words.join(" ")
}

fn xplayer(word: &str) -> String {
    match word {
        "x" => "xplayer".into(),
        "o" => "oplayer".into(),
        other => other.into(),
    }
}

/// Every symbol replaced at random; keywords and numbers stay.
fn scramble(text: &str, seed: u64) -> String {
    const KEPT: [&str; 17] = [
        "role", "init", "true", "next", "legal", "does", "goal", "terminal", "base", "input", "not", "or", "distinct",
        "<=", "and", "(", ")",
    ];
    let rng = std::cell::RefCell::new(Rng::new(seed));
    let names = std::cell::RefCell::new(HashMap::<String, String>::new());
    server_layout(text, |word| {
        if KEPT.contains(&word) || word.parse::<i64>().is_ok() {
            return word.into();
        }
        let mut names = names.borrow_mut();
        let n = names.len();
        let mark = if word.starts_with('?') { "?" } else { "" };
        let odd = ["Zz", "q.", "é", "a_B-", "%41"][rng.borrow_mut().below(5) as usize];
        names.entry(word.into()).or_insert_with(|| format!("{mark}{odd}{n}")).clone()
    })
}

/// A match as its host sees it, with random moves for the roles that are not asked.
struct HostedMatch {
    game: GdlGame,
    state: GdlState,
    last: String,
    rng: Rng,
}

impl HostedMatch {
    fn new(rules: &str) -> HostedMatch {
        let game = GdlGame::new("test", rules, &Default::default()).unwrap();
        HostedMatch { state: game.initial(), game, last: "NIL".into(), rng: Rng::new(9) }
    }

    fn legal(&self, role: usize) -> Vec<String> {
        self.game.legal_moves(&self.state, role).into_iter().map(|m| self.game.move_name(m)).collect()
    }

    /// Makes a step in which one role plays this move, or any if it is not given.
    fn step(&mut self, role: usize, played: Option<&str>) {
        let pick = |r: usize, rng: &mut Rng| *rng.pick(&self.game.legal_moves(&self.state, r)).unwrap();
        let joint: Vec<Move> = (0..self.game.info().players())
            .map(|r| match played.filter(|_| r == role) {
                Some(text) => self.game.parse_move(text).unwrap(),
                None => pick(r, &mut self.rng),
            })
            .collect();
        let names: Vec<String> = joint.iter().map(|&m| self.game.move_name(m)).collect();
        self.last = format!("( {} )", names.join(" "));
        self.state = self.game.step(&self.state, &joint).unwrap();
        if self.game.outcome(&self.state).is_some() {
            self.state = self.game.initial();
            self.last = "over".into();
        }
    }

    fn over(&self) -> bool {
        self.last == "over"
    }
}

#[test]
fn the_dialogue_of_the_standard_server_is_answered() {
    let player = Server::player("uct(sims=20000)");
    let sheet = server_layout(&rules("tictactoe"), xplayer);
    assert_eq!(player.post("( INFO )"), "((name ludex) (status available))");
    assert_eq!(player.post(&format!("( START match.1 xplayer ({sheet}) {CLOCK} {CLOCK})")), "READY");
    assert_eq!(player.post("( INFO )"), "((name ludex) (status busy))");
    assert!(player.post("( PLAY match.1 NIL )").starts_with("(mark "));
    assert_eq!(player.post("( PLAY match.1 (( mark 1 3 ) noop ) )"), "noop");
    assert!(player.post("( PLAY match.1 (noop ( mark 1 1 ) ) )").starts_with("(mark "));
    assert_eq!(player.post("( PLAY match.1 (( mark 3 3 ) noop ) )"), "noop");
    // Whatever we wanted, the host says that both corners are ours now: the middle between them wins.
    assert_eq!(player.post("( PLAY match.1 (noop ( mark 1 2 ) ) )"), "(mark 2 3)");
    assert_eq!(player.post("( STOP match.1 (( mark 2 3 ) noop ) )"), "DONE");
    assert_eq!(player.post("( PLAY match.1 NIL )"), "BUSY");

    // The same in lower case, as the other role, called off.
    assert_eq!(player.post(&format!("(start match.2 oplayer ({sheet}) {CLOCK} {CLOCK})")), "ready");
    assert_eq!(player.post(&format!("(start match.3 oplayer ({sheet}) {CLOCK} {CLOCK})")), "busy");
    assert_eq!(player.post("(play match.2 nil)"), "noop");
    assert_eq!(player.post("(abort match.2)"), "aborted");

    // And in the newer notation.
    assert_eq!(player.post("info()"), "[[name,ludex],[status,available]]");
    assert_eq!(player.post("ping()"), "ready");
    assert_eq!(player.post(&format!("preview(({sheet}),{CLOCK})")), "ready");
    assert_eq!(player.post(&format!("start(match.4,xplayer,({sheet}),{CLOCK},{CLOCK})")), "ready");
    assert!(player.post("play(match.4,nil)").starts_with("mark("));
    assert_eq!(player.post("play(match.4,[mark(2,2),noop])"), "noop");
    assert_eq!(player.post("stop(match.4,[noop,mark(1,1)])"), "done");
}

#[test]
fn every_way_to_send_a_message_works() {
    let player = Server::player("random");
    let body = |request: &str| player.send(request.as_bytes()).split_once("\r\n\r\n").unwrap().1.to_string();
    let available = "((name ludex) (status available))";
    assert_eq!(body("POST / HTTP/1.1\r\nHost: x\r\n\r\n( INFO )"), available, "no Content-Length");
    assert_eq!(body("POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n( INFO )"), available, "a wrong Content-Length");
    assert_eq!(body("GET /%28%20INFO%20%29 HTTP/1.1\r\n\r\n"), available);
    assert_eq!(body("GET /( INFO ) HTTP/1.0\r\n\r\n"), available);
    assert_eq!(body("GET / HTTP/1.1\r\nContent-Length: 8\r\n\r\n( INFO )"), available);
    assert_eq!(body("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n( INFO )\r\n0\r\n\r\n"), available);
    assert_eq!(body("GET / HTTP/1.1\r\n\r\n"), "[[name,ludex],[status,available]]");
    let options = player.send(b"OPTIONS / HTTP/1.1\r\nOrigin: http://x\r\n\r\n");
    assert!(options.starts_with("HTTP/1.0 200") && options.contains("Access-Control-Allow-Origin: *"), "{options}");
}

/// Keeps all cores busy until dropped.
struct BusyCores(std::sync::Arc<AtomicBool>);

impl BusyCores {
    fn begin() -> BusyCores {
        let flag = std::sync::Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            let flag = flag.clone();
            std::thread::spawn(move || while !flag.load(Ordering::Relaxed) {});
        }
        BusyCores(flag)
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// Measures how late this machine wakes threads that only sleep. An answer is as much later, for each thread that it waits for,
/// whatever the player does.
struct WakeLatency {
    worst_us: std::sync::Arc<AtomicU64>,
    ended: std::sync::Arc<AtomicBool>,
}

impl WakeLatency {
    fn begin() -> WakeLatency {
        let latency = WakeLatency { worst_us: Default::default(), ended: Default::default() };
        let (worst, ended) = (latency.worst_us.clone(), latency.ended.clone());
        std::thread::spawn(move || {
            const SLEEP: Duration = Duration::from_millis(2);
            while !ended.load(Ordering::Relaxed) {
                let begun = Instant::now();
                std::thread::sleep(SLEEP);
                worst.fetch_max(begun.elapsed().saturating_sub(SLEEP).as_micros() as u64, Ordering::Relaxed);
            }
        });
        latency
    }

    /// The seconds that a message and its answer may have been delayed since this was last asked: some five threads are woken
    /// one after another.
    fn delay(&self) -> f64 {
        5.0 * self.worst_us.swap(0, Ordering::Relaxed) as f64 / 1e6
    }
}

impl Drop for WakeLatency {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

#[test]
fn answers_come_before_90_percent_of_the_clock_while_all_cores_are_busy() {
    let turns = number("LUDEX_GGP_TURNS", 50);
    let _busy = BusyCores::begin();
    // Two matches at once: the load is heavier, and the test shorter.
    let games = ["breakthrough", "othello"];
    let turns_each = turns.div_ceil(games.len());
    let seconds: Vec<(f64, usize)> = std::thread::scope(|scope| {
        let play = |name: &'static str| {
            let player = Server::player("uct(c=0.7, solver=on, reuse=on)");
            let latency = WakeLatency::begin();
            let sheet = rules(name);
            let (mut slowest, mut late, mut asked, mut matches) = (0.0f64, 0, 0, 0);
            while asked < turns_each {
                matches += 1;
                let mut hosted = HostedMatch::new(&sheet);
                let role = &hosted.game.info().roles[0];
                assert_eq!(player.post(&format!("(start m.{matches} {role} ({sheet}\n) {CLOCK} 1)")), "ready");
                while !hosted.over() && asked < turns_each {
                    latency.delay();
                    let begun = Instant::now();
                    let answer = player.post(&format!("(play m.{matches} {})", hosted.last));
                    let spent = begun.elapsed().as_secs_f64();
                    let legal = hosted.legal(0);
                    assert!(legal.contains(&answer), "{answer} is none of {legal:?}");
                    late += (spent > 0.9 + latency.delay()) as usize;
                    slowest = slowest.max(spent);
                    asked += (legal.len() > 1) as usize;
                    hosted.step(0, Some(&answer));
                }
                assert_eq!(player.post(&format!("(abort m.{matches})")), "aborted");
            }
            (slowest, late)
        };
        let threads: Vec<_> = games.iter().map(|g| scope.spawn(move || play(g))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    eprintln!("{turns} moves under load; slowest answer in s of 1 s, and late answers: {seconds:.3?}");
    // The latency is that of another thread: now and then it may miss what held up an answer.
    assert!(seconds.iter().all(|(_, late)| late * 20 <= turns_each), "late answers: {seconds:.3?}");
}

/// A hostile message; `open` collects connections that never finish.
fn attack(player: &Server, kind: u32, rng: &mut Rng, open: &mut Vec<TcpStream>) {
    let connect = || TcpStream::connect(("127.0.0.1", player.port)).unwrap();
    let noise = |n: u32, rng: &mut Rng| (0..n).map(|_| rng.bits() as u8).collect::<Vec<u8>>();
    let finish = |bytes: &[u8]| {
        let mut stream = connect();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    };
    let post =
        |message: &str| format!("POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{message}", message.len()).into_bytes();
    match kind {
        0 => finish(&noise(rng.below(2_000), rng)),
        1 => finish(&[&post("")[..15], &noise(rng.below(500), rng)].concat()),
        2 => finish(b"POST / HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n( INFO )"),
        3 => finish(&post(&"(".repeat(1 + rng.below(100_000) as usize))),
        4 => finish(&post(&"f(".repeat(1 + rng.below(10_000) as usize))),
        5 => finish(
            format!("GET /{} HTTP/1.0\r\nX: {}\r\n\r\n", "%28".repeat(500), "y".repeat(rng.below(100_000) as usize))
                .as_bytes(),
        ),
        6 => finish(&post(
            [
                "( START )",
                "( START m )",
                "( START evil x (((((",
                "( START evil x (( role x )) 1 1 )",
                "( STOP evil NIL )",
            ][rng.below(5) as usize],
        )),
        7 => finish(&post(
            ["( PLAY evil NIL )", "( ABORT evil )", "( PREVIEW (( role x )) 1 )", "( INFO"][rng.below(4) as usize],
        )),
        // The running match by its name, with joint moves that it cannot have.
        8 => finish(&post(&format!(
            "( PLAY match.1 {} )",
            ["( noop )", "( a b )", "((mark 9 9) noop)", "(noop noop noop)", "((((x))))", "( )("]
                [rng.below(6) as usize]
        ))),
        9 => finish(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"),
        _ => {
            let mut stream = connect();
            let _ = stream.write_all(
                &b"POST / HTTP/1.0\r\nContent-Length: 500\r\n\r\n( PLAY match.1 "[..1 + rng.below(50) as usize],
            );
            open.push(stream);
            if open.len() > 200 {
                open.drain(..100);
            }
        }
    }
}

#[test]
fn hostile_messages_neither_crash_the_player_nor_lose_its_match() {
    let messages = number("LUDEX_GGP_HOSTILE", 400);
    let player = Server::player("uct(sims=300)");
    let sheet = rules("tictactoe");
    let mut rng = Rng::new(17);
    let mut open = Vec::new();
    let mut hosted = HostedMatch::new(&sheet);
    assert_eq!(player.post(&format!("(start match.1 x ({sheet}\n) {CLOCK} {CLOCK})")), "ready");
    for n in 0..messages {
        attack(&player, rng.below(11), &mut rng, &mut open);
        if n % 20 == 0 {
            if hosted.over() {
                assert_eq!(player.post("(stop match.1 nil)"), "done");
                assert_eq!(player.post(&format!("(start match.1 x ({sheet}\n) {CLOCK} {CLOCK})")), "ready");
                hosted = HostedMatch::new(&sheet);
            }
            let begun = Instant::now();
            let answer = player.post(&format!("( PLAY match.1 {} )", hosted.last));
            assert!(begun.elapsed() < SOON, "{:?} after {n} messages", begun.elapsed());
            assert!(hosted.legal(0).contains(&answer), "{answer} after {n} messages");
            hosted.step(0, Some(&answer));
        }
    }
    assert_eq!(player.post("( INFO )"), "((name ludex) (status busy))");
}

/// Our own sheets and, where they are, the public ones: name and text.
fn sheets() -> Vec<(String, String)> {
    let dir = std::env::var_os("LUDEX_GDL_SHEETS")
        .map_or_else(|| PathBuf::from(format!("{ROOT}/../shared/gdl")), PathBuf::from);
    if !dir.join("facts.json").exists() {
        eprintln!("SKIPPED: no public rulesheets at {} (set LUDEX_GDL_SHEETS)", dir.display());
    }
    let files = |dir: &Path| {
        std::fs::read_dir(dir).into_iter().flatten().filter_map(|f| f.ok()).map(|f| f.path()).collect::<Vec<_>>()
    };
    let mut all: Vec<PathBuf> = files(Path::new(&format!("{ROOT}/rules")));
    all.extend(files(&dir));
    all.retain(|f| f.extension().is_some_and(|e| e == "kif"));
    all.sort();
    all.iter().map(|f| (f.display().to_string(), std::fs::read_to_string(f).unwrap())).collect()
}

#[test]
fn any_sheet_is_played_scrambled_or_not_one_match_after_another() {
    let player = Server::player("uct(sims=20)");
    let latency = WakeLatency::begin();
    for (n, (name, text)) in sheets().iter().enumerate() {
        let text = if n % 2 == 0 { scramble(text, n as u64) } else { text.clone() };
        let mut hosted = HostedMatch::new(&text);
        let mine = n % hosted.game.info().players();
        // Some sheets take longer to ground than the start clock lasts: then an interim worker interprets them.
        let clock = if name.contains("hex") { 1 } else { 10 };
        latency.delay();
        let begun = Instant::now();
        let start = format!("( START m.{n} {} ({text}\n) {clock} {CLOCK} )", hosted.game.info().roles[mine]);
        assert_eq!(player.post(&start), "READY", "{name}");
        let (spent, allowed) = (begun.elapsed().as_secs_f64(), clock as f64 + 0.5 + latency.delay());
        assert!(spent < allowed, "{name}: ready after {spent:.2} s, not {allowed:.2} s");
        for step in 0..6 {
            let answer = player.post(&format!("( PLAY m.{n} {} )", hosted.last));
            let legal = hosted.legal(mine);
            assert!(legal.contains(&answer), "{name}, step {step}: {answer} is none of {legal:?}");
            // The host goes its own way: our moves are not what is played.
            hosted.step(mine, None);
            if hosted.over() {
                break;
            }
        }
        assert_eq!(player.post(&format!("( ABORT m.{n} )")), "ABORTED", "{name}");
    }
}

fn host(args: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_ludex")).arg("ggp-server").args(args).arg("--json").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn our_player_plays_itself_under_our_host() {
    let (a, b) = (Server::player("uct(sims=3000)"), Server::player("uct(sims=3000)"));
    let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ggp-matches.jsonl");
    let _ = std::fs::remove_file(&record);
    let sheet = format!("{ROOT}/rules/tictactoe.kif");
    let args = [&sheet, "--start", "120", "--play", "120", "--matches", "4", "--record", record.to_str().unwrap()];
    let report = host(&[&args[..], &[&a.address(), &b.address()]].concat());
    let matches = report["matches"].as_array().unwrap();
    assert_eq!((matches.len(), report["schema"].as_u64()), (4, Some(1)));
    for m in matches {
        assert_eq!(m["isCompleted"], true, "{m}");
        let goals: Vec<i64> = m["goalValues"].as_array().unwrap().iter().map(|g| g.as_i64().unwrap()).collect();
        assert_eq!(goals.iter().sum::<i64>(), 100);
        let steps = m["moves"].as_array().unwrap().len();
        assert_eq!((m["states"].as_array().unwrap().len(), m["errors"].as_array().unwrap().len()), (steps + 1, steps));
        assert!(m["errors"].as_array().unwrap().iter().flat_map(|e| e.as_array().unwrap()).all(|e| e == ""), "{m}");
    }
    assert_eq!(matches[0]["playerNamesFromHost"][0], matches[1]["playerNamesFromHost"][1], "roles rotate");
    assert_eq!(report["result"][0]["matches"], 4);
    assert!(report["result"][0]["score_interval"][0].as_f64().unwrap() < 0.5);
    assert_eq!(std::fs::read_to_string(&record).unwrap().lines().count(), 4);
}

#[test]
fn three_roles_and_random_players_are_hosted() {
    let player = Server::player("uct(sims=200)");
    let sheet = format!("{ROOT}/crates/gdl/tests/corpus/simultaneous.kif");
    let report =
        host(&[&sheet, "--start", "120", "--play", "120", "--matches", "3", &player.address(), "random", "random"]);
    assert_eq!(report["result"][0]["faults"], serde_json::json!({"TO": 0, "IL": 0, "CE": 0}));
    assert_eq!(report["matches"].as_array().unwrap().iter().filter(|m| m["isCompleted"] == true).count(), 3);
}

fn python_player(fault: Option<&str>) -> Option<Server> {
    let python = std::env::var("LUDEX_PYTHON").unwrap_or("python3".into());
    if Command::new(&python).arg("--version").output().is_err() {
        assert!(std::env::var_os("LUDEX_REQUIRE_PEERS").is_none(), "{python} is missing");
        eprintln!("SKIPPED: no {python}");
        return None;
    }
    let fault = fault.map_or(vec![], |f| vec!["--fault", f]);
    let script = format!("{ROOT}/tools/ggp/random_player.py");
    Some(Server::begin(Command::new(python).arg(script).args(["--port", "0"]).args(fault), None))
}

#[test]
fn a_trivial_player_in_python_meets_ours() {
    let Some(peer) = python_player(None) else { return };
    let player = Server::player("uct(sims=3000)");
    let sheet = format!("{ROOT}/rules/tictactoe.kif");
    let report =
        host(&[&sheet, "--start", "120", "--play", "120", "--matches", "6", &player.address(), &peer.address()]);
    for line in report["result"].as_array().unwrap() {
        assert_eq!(line["faults"], serde_json::json!({"TO": 0, "IL": 0, "CE": 0}), "{line}");
    }
    assert_eq!(report["result"][0]["wdl"]["losses"], 0, "{}", report["result"]);
}

#[test]
fn errors_are_logged_and_the_match_goes_on() {
    let player = Server::player("uct(sims=100)");
    let sheet = format!("{ROOT}/rules/tictactoe.kif");
    let errors = |peer: &str, play: &str, steps: &str| {
        let clocks = ["--start", "120", "--play", play, "--steps", steps];
        let report = host(&[&[sheet.as_str()], &clocks[..], &[&player.address(), peer]].concat());
        assert_eq!(report["result"][0]["faults"], serde_json::json!({"TO": 0, "IL": 0, "CE": 0}), "{report}");
        report["result"][1]["faults"].clone()
    };
    // Nobody listens there.
    assert!(errors("127.0.0.1:9", "120", "100")["CE"].as_u64().unwrap() >= 5);
    let Some(wrong) = python_player(Some("wrong")) else { return };
    assert!(errors(&wrong.address(), "120", "100")["IL"].as_u64().unwrap() >= 5);
    assert_eq!(errors(&python_player(Some("mute")).unwrap().address(), "120", "2")["CE"], 2);
    // Only here the clock runs out; our own player has plenty of time.
    assert_eq!(errors(&python_player(Some("late")).unwrap().address(), "5", "2")["TO"], 2);
}

#[test]
fn bad_arguments_are_one_line_and_exit_code_2() {
    let sheet = format!("{ROOT}/rules/tictactoe.kif");
    let bad: [&[&str]; 18] = [
        &["ggp", "--agent", "uct("],
        &["ggp", "--agent", "nobody"],
        &["ggp", "--agent", "neural"],
        &["ggp", "--agent", "minimax(model=missing)"],
        &["ggp", "--agent", "uct(simz=3)"],
        &["ggp", "--agent", "uct", "--learn", "carl-playout"],
        &["ggp", "--learn", "nobody"],
        &["ggp", "--learn", "carl-playout", "--preset", "tock"],
        &["ggp", "--learn", "carl-playout", "--set", "train.gamma=7"],
        &["ggp", "--keep", "learned"],
        &["ggp", "--name", "two words"],
        &["ggp", "--port", "99999"],
        &["ggp-server", "missing.kif", "random", "random"],
        &["ggp-server", &sheet, "random"],
        &["ggp-server", &sheet, "random", "nowhere"],
        &["ggp-server", &sheet, "random", "host:0"],
        &["ggp-server", &sheet, "localhost:9147", "localhost:9147"],
        &["ggp-server", &sheet, "random", "random", "--matches", "0"],
    ];
    for args in bad {
        let out = Command::new(env!("CARGO_BIN_EXE_ludex")).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        // The parser of arguments adds lines of its own.
        assert!(text.starts_with("error: ") || text.starts_with("ludex: ") && text.lines().count() == 1, "{text}");
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    std::fs::read_dir(folder).into_iter().flatten().flat_map(|entry| below(entry.unwrap().path())).collect()
}

/// A folder of its own for a test, empty.
fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn systems_learn_in_the_start_clock_and_keep_it_by_the_rules() {
    let folder = empty_folder("ggp learn");
    let (kept, notes) = (folder.join("kept (2)"), folder.join("notes"));
    let sheet = server_layout(&rules("tictactoe"), xplayer);
    for (system, matches) in [("carl-selection", 2), ("uct-nn", 1)] {
        let player = Server::with(&["--learn", system, "--keep", kept.to_str().unwrap()], Some(&notes));
        for n in 0..matches {
            let id = format!("{system}.{n}");
            assert_eq!(player.post(&format!("( START {id} xplayer ({sheet}) 6 4)")), "READY");
            let first = player.post(&format!("( PLAY {id} NIL )"));
            assert!(first.starts_with("(mark "), "{first}");
            assert_eq!(player.post(&format!("( ABORT {id} )")), "ABORTED");
        }
        if system == "carl-selection" {
            let notes = std::fs::read_to_string(&notes).unwrap();
            assert_eq!(notes.matches("carl-selection: learned guided(").count(), 2, "{notes}");
            assert!(!notes.contains("playing uct"), "{notes}");
            let models = files(&kept).iter().filter(|f| f.parent().unwrap().ends_with("models")).count();
            assert!(models >= 2, "a model for each role: {models}");
        }
    }
    let runs: Vec<String> =
        std::fs::read_dir(&kept).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(runs.iter().filter(|r| r.ends_with("-carl-selection-hour")).count(), 1, "{runs:?}");
    assert!(runs.iter().any(|r| r.ends_with("-uct-nn-tick")), "{runs:?}");
    let hashes: std::collections::HashSet<&str> = runs.iter().filter_map(|r| r.split('-').next()).collect();
    assert_eq!(hashes.len(), 1, "one game: {runs:?}");
}

#[test]
fn an_agent_that_does_not_fit_the_game_is_replaced_with_one_line() {
    let folder = empty_folder("ggp fallback");
    let (notes, model) = (folder.join("notes"), folder.join("a model, of nothing"));
    std::fs::write(&model, "no model").unwrap();
    let sheet = std::fs::read_to_string(format!("{ROOT}/crates/gdl/tests/corpus/simultaneous.kif")).unwrap();
    let role = HostedMatch::new(&sheet).game.info().roles[0].clone();
    let agents: [(&[&str], &str); 3] = [
        (&["--agent", "minimax(ms=100)"], "alpha-beta needs a two-player zero-sum game"),
        (&["--agent", &format!("neural(ms=100, model=\"{}\")", model.display())], "a model, of nothing"),
        (&["--learn", "nhb"], "nhb learns zero-sum games of two players"),
    ];
    for (options, reason) in agents {
        let player = Server::with(options, Some(&notes));
        let hosted = HostedMatch::new(&sheet);
        assert_eq!(player.post(&format!("(start m {role} ({sheet}\n) 20 5)")), "ready");
        let answer = player.post("(play m nil)");
        assert!(hosted.legal(0).contains(&answer), "{options:?}: {answer}");
        assert_eq!(player.post("(abort m)"), "aborted");
        let notes = std::fs::read_to_string(&notes).unwrap();
        let about: Vec<&str> = notes.lines().filter(|line| line.contains("playing uct(c=0.7")).collect();
        assert!(about.len() == 1 && about[0].contains(reason), "{options:?}: {notes}");
        assert!(!notes.contains("panicked"), "{options:?}: {notes}");
    }
}
