//! `ludex ggp-server`: a match host, to try any GGP player against any other.
//!
//! A match is START, a PLAY for each step and STOP, sent to all players at once; clocks run from the moment of sending. If an
//! answer does not come in time (`TO`), is not a legal move (`IL`), or there is no connection (`CE`), a uniformly random legal
//! move stands for it and the match goes on. Roles rotate from match to match, so that every player has each role equally
//! often; all matches in which the same players exchange their roles are one unit of the statistics.

use super::http::{NoAnswer, ask};
use super::joint_moves::parse_move;
use super::message::{joint_text, one_line};
use super::note;
use crate::verbs::{SCHEMA, say};
use crate::{Usage, verbs};
use anyhow::{Context, Result};
use clap::Parser;
use ludex_core::{Game, Move, Rng};
use ludex_gdl::{GdlGame, GdlState};
use ludex_play::stats::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex ggp-server rules/tictactoe.kif --start 5 --play 2 localhost:9147 random\n  \
    ludex ggp-server rules/connect4.kif --matches 20 localhost:9147 localhost:9148 --record matches.jsonl\n  \
    ludex ggp-server rules/othello.kif --matches 10 localhost:9147 localhost:9148 localhost:9149\n\n\
    TO: no answer in time; IL: not a legal move; CE: no connection. In all three cases a random move is made instead."
)]
pub struct Args {
    /// The rulesheet
    rules: String,
    /// The players, HOST:PORT each; `random` plays uniformly. More players than roles play a round robin
    #[arg(required = true, value_name = "PLAYER")]
    players: Vec<String>,
    /// Seconds before the first move
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    start: u32,
    /// Seconds for each move
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    play: u32,
    /// Matches for each set of players, with roles rotated
    #[arg(long, value_name = "N", default_value_t = 1)]
    matches: u32,
    /// Call a match off after so many steps
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    steps: usize,
    /// Random moves come from here
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Add each match to this file as it ends, one JSON object a line
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON object with all matches
    #[arg(long)]
    json: bool,
}

/// What is wrong with an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum AnswerError {
    TimedOut,
    IllegalMove(String),
    Connection(String),
}

/// The codes of the standard server: `TO`, `IL`, `CE`.
impl std::fmt::Display for AnswerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AnswerError::TimedOut => f.write_str("TO"),
            AnswerError::IllegalMove(text) => write!(f, "IL {}", text.chars().take(100).collect::<String>()),
            AnswerError::Connection(line) => write!(f, "CE {line}"),
        }
    }
}

impl From<&NoAnswer> for AnswerError {
    fn from(why: &NoAnswer) -> Self {
        match why {
            NoAnswer::TimedOut => AnswerError::TimedOut,
            NoAnswer::Broken(line) => AnswerError::Connection(line.clone()),
        }
    }
}

/// A player's answer, and the seconds it took.
type Answer = (Result<String, NoAnswer>, f64);

/// Sends a message to each player, by number, and gives their answers; each player has as much time as the clock says.
trait Transport {
    fn exchange(&mut self, messages: &[(usize, String)], clock: Duration) -> Vec<Answer>;
}

/// Sends over HTTP, to all players at once.
struct HttpTransport<'a>(&'a [String]);

impl Transport for HttpTransport<'_> {
    fn exchange(&mut self, messages: &[(usize, String)], clock: Duration) -> Vec<Answer> {
        let begun = Instant::now();
        let send = |(player, message): &(usize, String)| {
            let answer = ask(&self.0[*player], message, begun + clock);
            (answer, begun.elapsed().as_secs_f64())
        };
        std::thread::scope(|scope| {
            let sent: Vec<_> = messages.iter().map(|m| scope.spawn(move || send(m))).collect();
            let lost = || (Err(NoAnswer::Broken("the sender failed".into())), 0.0);
            sent.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }
}

/// How matches are held.
struct MatchSettings<'a> {
    game: &'a GdlGame,
    rules: &'a str,
    start: Duration,
    play: Duration,
    steps: usize,
    /// By player: whether the host makes random moves for it.
    random: Vec<bool>,
}

/// A match that was held, step by step and role by role.
struct MatchRecord {
    id: String,
    /// When it began, in milliseconds since 1970.
    began: u64,
    /// The player of each role.
    assignment: Vec<usize>,
    joint_moves: Vec<Vec<String>>,
    states: Vec<Vec<String>>,
    errors: Vec<Vec<Option<AnswerError>>>,
    seconds: Vec<Vec<f64>>,
    goals: Vec<i32>,
    completed: bool,
}

impl MatchRecord {
    fn new(id: &str, assignment: &[usize]) -> MatchRecord {
        MatchRecord {
            id: id.into(),
            began: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64),
            assignment: assignment.to_vec(),
            joint_moves: Vec::new(),
            states: Vec::new(),
            errors: Vec::new(),
            seconds: Vec::new(),
            goals: Vec::new(),
            completed: false,
        }
    }

    /// The last joint move as a message says it.
    fn last_joint_move(&self) -> String {
        joint_text(self.joint_moves.last().map(Vec::as_slice))
    }
}

impl MatchSettings<'_> {
    /// Holds one match: START, a PLAY for each step, STOP.
    fn host_match(&self, id: &str, assignment: &[usize], transport: &mut dyn Transport, rng: &mut Rng) -> MatchRecord {
        let game = self.game;
        let mut record = MatchRecord::new(id, assignment);
        self.send_start(&record, transport);
        let mut state = game.initial();
        record.states.push(fact_names(game, &state));
        while game.outcome(&state).is_none() && record.joint_moves.len() < self.steps {
            let joint = self.ask_moves(&mut record, &state, transport, rng);
            state = game.step(&state, &joint).expect("all moves are legal");
            record.joint_moves.push(joint.iter().map(|&m| game.move_name(m)).collect());
            record.states.push(fact_names(game, &state));
        }
        record.completed = game.outcome(&state).is_some();
        let last_message = match record.completed {
            true => format!("( STOP {id} {} )", record.last_joint_move()),
            false => format!("( ABORT {id} )"),
        };
        let messages: Vec<_> = self.remote(&record).map(|r| (assignment[r], last_message.clone())).collect();
        transport.exchange(&messages, self.play.max(Duration::from_secs(1)));
        record.goals = game.goals(&state).iter().map(|g| g.last().copied().unwrap_or(0)).collect();
        record
    }

    /// The roles whose players are asked.
    fn remote<'r>(&'r self, record: &'r MatchRecord) -> impl Iterator<Item = usize> + 'r {
        (0..record.assignment.len()).filter(|&r| !self.random[record.assignment[r]])
    }

    /// Sends START, and notes who is not ready. Such a player stays in the match.
    fn send_start(&self, record: &MatchRecord, transport: &mut dyn Transport) {
        let (id, roles) = (&record.id, &self.game.info().roles);
        let (start, play) = (self.start.as_secs(), self.play.as_secs());
        let message = |r: usize| format!("( START {id} {} ( {} ) {start} {play} )", roles[r], self.rules);
        let messages: Vec<_> = self.remote(record).map(|r| (record.assignment[r], message(r))).collect();
        let answers = transport.exchange(&messages, self.start);
        for ((answer, _), r) in answers.iter().zip(self.remote(record)) {
            match answer {
                Ok(word) if word.eq_ignore_ascii_case("ready") => {}
                Ok(word) => note(id, &format!("{} is not ready but says: {word}", roles[r])),
                Err(why) => note(id, &format!("{} START: {}", roles[r], AnswerError::from(why))),
            }
        }
    }

    /// Sends PLAY and gives the joint move. Where a player gave no legal move, a random one stands, and the error is recorded.
    fn ask_moves(
        &self,
        record: &mut MatchRecord,
        state: &GdlState,
        transport: &mut dyn Transport,
        rng: &mut Rng,
    ) -> Vec<Move> {
        let (game, roles) = (self.game, record.assignment.len());
        let message = format!("( PLAY {} {} )", record.id, record.last_joint_move());
        let messages: Vec<_> = self.remote(record).map(|r| (record.assignment[r], message.clone())).collect();
        let mut answers: Vec<Option<Answer>> = (0..roles).map(|_| None).collect();
        for (answer, r) in transport.exchange(&messages, self.play).into_iter().zip(self.remote(record)) {
            answers[r] = Some(answer);
        }
        let (mut joint, mut errors, mut seconds) = (Vec::new(), vec![None; roles], vec![0.0; roles]);
        for (r, answer) in answers.into_iter().enumerate() {
            let legal = game.legal_moves(state, r);
            let mut chosen = None;
            if let Some((answer, time)) = answer {
                seconds[r] = time;
                match parse_answer(game, &legal, &answer) {
                    Ok(m) => chosen = Some(m),
                    Err(error) => {
                        let step = record.joint_moves.len() + 1;
                        note(&record.id, &format!("step {step}, {}: {error}", game.info().roles[r]));
                        errors[r] = Some(error);
                    }
                }
            }
            let random = |rng: &mut Rng| *rng.pick(&legal).expect("a game that is not over has moves for all roles");
            joint.push(chosen.unwrap_or_else(|| random(rng)));
        }
        record.errors.push(errors);
        record.seconds.push(seconds);
        joint
    }
}

fn fact_names(game: &GdlGame, state: &GdlState) -> Vec<String> {
    let mut facts = Vec::new();
    game.facts(state, &mut facts);
    facts.into_iter().map(|f| game.fact_name(f)).collect()
}

/// The move that an answer names, if it is legal.
fn parse_answer(game: &GdlGame, legal: &[Move], answer: &Result<String, NoAnswer>) -> Result<Move, AnswerError> {
    let text = answer.as_ref().map_err(AnswerError::from)?;
    parse_move(game, text).filter(|m| legal.contains(m)).ok_or_else(|| AnswerError::IllegalMove(text.clone()))
}

/// The player of each role, match by match: every set of players plays `matches` times, with roles rotated.
fn schedule(players: usize, roles: usize, matches: u32) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..roles {
        let longer = |set: &Vec<usize>| {
            (set.last().map_or(0, |l| l + 1)..players).map(|p| [set.as_slice(), &[p]].concat()).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(longer).collect();
    }
    let rotated = |set: &Vec<usize>, n: usize| {
        let mut assignment = set.clone();
        assignment.rotate_right(n % roles.max(1));
        assignment
    };
    sets.iter().flat_map(|set| (0..matches as usize).map(move |n| rotated(set, n))).collect()
}

impl Args {
    pub fn run(&self) -> Result<()> {
        let text = std::fs::read(&self.rules).map_err(|e| Usage(format!("cannot read {}: {e}", self.rules)))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let game = GdlGame::new(&self.rules, &text, &Default::default());
        let game = game.map_err(|e| Usage(format!("{}: {e}", self.rules)))?;
        let random: Vec<bool> = self.players.iter().map(|p| p == "random").collect();
        self.check(&game, &random)?;
        let mut record = match &self.record {
            None => None,
            Some(path) => Some(
                std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .with_context(|| format!("opening {}", path.display()))?,
            ),
        };
        let settings = MatchSettings {
            game: &game,
            rules: &one_line(&text),
            start: Duration::from_secs(self.start.into()),
            play: Duration::from_secs(self.play.into()),
            steps: self.steps,
            random,
        };
        let schedule = schedule(self.players.len(), game.info().players(), self.matches);
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let bar = verbs::progress(schedule.len() as u64, "matches");
        let mut results = Vec::new();
        for (n, assignment) in schedule.iter().enumerate() {
            let id = format!("ludex.{stamp}.{}", n + 1);
            let mut rng = Rng::stream(self.seed, n as u64);
            let played = settings.host_match(&id, assignment, &mut HttpTransport(&self.players), &mut rng);
            if let Some(file) = &mut record {
                writeln!(file, "{}", self.record_of(&game, &played)).context("writing the record")?;
                file.flush().context("writing the record")?;
            }
            bar.inc(1);
            results.push(played);
        }
        bar.finish_and_clear();
        if self.json {
            let matches: Vec<Value> = results.iter().map(|p| self.record_of(&game, p)).collect();
            let object = json!({
                "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "seed": self.seed,
                "config": {"rules": self.rules, "rules_hash": format!("{:016x}", game.info().rules_hash), "players": self.players,
                    "start_clock": self.start, "play_clock": self.play, "matches": self.matches, "steps": self.steps},
                "matches": matches, "result": self.summary(&game, &results).iter().map(PlayerSummary::json).collect::<Vec<_>>(),
                "ratings": self.ratings(&game, &results),
            });
            return say(serde_json::to_string_pretty(&object)?);
        }
        self.print(&game, &results)
    }

    fn check(&self, game: &GdlGame, random: &[bool]) -> Result<()> {
        let roles = &game.info().roles;
        if self.players.len() < roles.len() {
            let need = format!("{} has {} roles ({})", self.rules, roles.len(), roles.join(", "));
            return Err(
                Usage(format!("{need} but {} players are named; `random` is one too", self.players.len())).into()
            );
        }
        for (i, player) in self.players.iter().enumerate().filter(|(i, _)| !random[*i]) {
            let port =
                player.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, p)| p.parse::<u16>().ok());
            if port.is_none_or(|p| p == 0) {
                return Err(Usage(format!("a player is HOST:PORT or random, not \"{player}\"")).into());
            }
            if self.players[..i].contains(player) {
                return Err(Usage(format!("{player} is named twice, but a player plays one match at a time")).into());
            }
        }
        if self.matches == 0 || self.play == 0 || self.steps == 0 {
            return Err(Usage("--matches, --play and --steps are at least 1".into()).into());
        }
        Ok(())
    }

    /// A match in the form of the standard server's records, as far as it has one.
    fn record_of(&self, game: &GdlGame, p: &MatchRecord) -> Value {
        let errors: Vec<Vec<String>> = p
            .errors
            .iter()
            .map(|step| step.iter().map(|f| f.as_ref().map_or(String::new(), AnswerError::to_string)).collect())
            .collect();
        json!({
            "schema": SCHEMA, "matchId": p.id, "startTime": p.began, "game": game.info().name,
            "rulesHash": format!("{:016x}", game.info().rules_hash), "startClock": self.start, "playClock": self.play,
            "gameRoleNames": game.info().roles, "playerNamesFromHost": p.assignment.iter().map(|&s| &self.players[s]).collect::<Vec<_>>(),
            "moves": p.joint_moves, "states": p.states, "errors": errors, "answerSeconds": p.seconds,
            "isCompleted": p.completed, "isAborted": !p.completed, "goalValues": p.goals,
        })
    }

    fn print(&self, game: &GdlGame, results: &[MatchRecord]) -> Result<()> {
        let roles = &game.info().roles;
        for p in results {
            let result = |r: usize| format!("{} {} {}", roles[r], self.players[p.assignment[r]], p.goals[r]);
            let end = if p.completed { "" } else { ", called off" };
            say(format!(
                "{}: {} steps{end}   {}",
                p.id,
                p.joint_moves.len(),
                (0..roles.len()).map(result).collect::<Vec<_>>().join("   ")
            ))?;
        }
        let width = self.players.iter().map(String::len).max().unwrap_or(0).max(6);
        say(format!(
            "\n{:width$}  matches  mean goal        score %  95 % interval   TO  IL  CE   slowest s",
            "player"
        ))?;
        for summary in self.summary(game, results) {
            let interval =
                summary.interval.map_or("-".into(), |i| format!("[{:.1}, {:.1}]", 100.0 * i.low, 100.0 * i.high));
            say(format!(
                "{:width$}  {:>7}  {:>9.1}  {:>13.1}  {interval:>13}  {:>3} {:>3} {:>3}  {:>9.2}",
                summary.player,
                summary.matches,
                summary.goal,
                100.0 * summary.score,
                summary.errors[0],
                summary.errors[1],
                summary.errors[2],
                summary.slowest,
            ))?;
        }
        if let Some(ratings) = self.ratings(game, results) {
            say("\nElo, the first player being 0")?;
            for (player, e) in self.players.iter().zip(&ratings.players) {
                say(format!("{player:width$}  {:+6.0}  [{:+.0}, {:+.0}]", e.value, e.low, e.high))?;
            }
        }
        Ok(())
    }

    fn summary(&self, game: &GdlGame, results: &[MatchRecord]) -> Vec<PlayerSummary> {
        (0..self.players.len()).map(|player| PlayerSummary::of(self, game, results, player)).collect()
    }

    /// Ratings of more than two players of a game for two.
    fn ratings(&self, game: &GdlGame, results: &[MatchRecord]) -> Option<Ratings> {
        if game.info().players() != 2 || self.players.len() < 3 {
            return None;
        }
        let mut encounters = Vec::new();
        for matches in results.chunks(self.matches as usize) {
            let (a, b) = (matches[0].assignment[0], matches[0].assignment[1]);
            let mut games = Wdl::default();
            matches.iter().for_each(|p| games.record(p.outcome(a)));
            encounters.push(Encounter { a, b, record: Record::Games(games) });
        }
        Pool { players: self.players.len(), anchor: 0, first_advantage: false, encounters }.rate(LEVEL).ok()
    }
}

/// The level of all intervals.
const LEVEL: f64 = 0.95;

impl MatchRecord {
    fn goal_of(&self, player: usize) -> Option<i32> {
        self.assignment.iter().position(|&s| s == player).map(|r| self.goals[r])
    }

    /// How a match of two ended for a player.
    fn outcome(&self, player: usize) -> Outcome {
        let mine = self.goal_of(player).unwrap_or(0);
        let theirs = (0..self.assignment.len())
            .filter(|&r| self.assignment[r] != player)
            .map(|r| self.goals[r])
            .max()
            .unwrap_or(0);
        match mine.cmp(&theirs) {
            std::cmp::Ordering::Greater => Outcome::Win,
            std::cmp::Ordering::Equal => Outcome::Draw,
            std::cmp::Ordering::Less => Outcome::Loss,
        }
    }
}

/// The results of one player.
struct PlayerSummary {
    player: String,
    matches: usize,
    goal: f64,
    /// From 0 to 1. Games of two: wins and half the draws, by matches; other games: the mean goal by 100.
    score: f64,
    interval: Option<Interval>,
    wdl: Option<Wdl>,
    /// Answers that were TO, IL and CE.
    errors: [u32; 3],
    /// Seconds of the slowest answer.
    slowest: f64,
}

impl PlayerSummary {
    fn of(args: &Args, game: &GdlGame, results: &[MatchRecord], player: usize) -> PlayerSummary {
        let mine: Vec<&MatchRecord> = results.iter().filter(|p| p.assignment.contains(&player)).collect();
        let goals: Vec<f64> = mine.iter().filter_map(|p| p.goal_of(player)).map(f64::from).collect();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
        let (mut errors, mut slowest) = ([0; 3], 0.0f64);
        for p in &mine {
            let Some(r) = p.assignment.iter().position(|&s| s == player) else { continue };
            for (step, times) in p.errors.iter().zip(&p.seconds) {
                slowest = slowest.max(times[r]);
                match &step[r] {
                    Some(AnswerError::TimedOut) => errors[0] += 1,
                    Some(AnswerError::IllegalMove(_)) => errors[1] += 1,
                    Some(AnswerError::Connection(_)) => errors[2] += 1,
                    None => {}
                }
            }
        }
        let roles = game.info().players();
        let (score, interval, wdl) = if roles == 2 {
            let mut wdl = Wdl::default();
            mine.iter().for_each(|p| wdl.record(p.outcome(player)));
            let interval = match args.matches % 2 {
                // Two matches with roles exchanged are a pair.
                0 => {
                    let mut pairs = Pentanomial::default();
                    for two in mine.chunks_exact(2) {
                        pairs.record(Pair { first: two[0].outcome(player), second: two[1].outcome(player) });
                    }
                    score_interval(&pairs, LEVEL)
                }
                _ => games_interval(&wdl, LEVEL),
            };
            (wdl.score(), Some(interval), Some(wdl))
        } else {
            // A round in which everybody has had every role once.
            let rounds: Vec<f64> = goals
                .chunks(if (args.matches as usize).is_multiple_of(roles) { roles } else { 1 })
                .map(|g| mean(g) / 100.0)
                .collect();
            (mean(&goals) / 100.0, bootstrap_interval(&rounds, LEVEL, 2_000, &mut Rng::new(args.seed)), None)
        };
        PlayerSummary {
            player: args.players[player].clone(),
            matches: mine.len(),
            goal: mean(&goals),
            score,
            interval,
            wdl,
            errors,
            slowest,
        }
    }

    fn json(&self) -> Value {
        json!({
            "player": self.player, "matches": self.matches, "mean_goal": self.goal, "score": self.score,
            "score_interval": self.interval.map(|i| [i.low, i.high]), "level": LEVEL, "wdl": self.wdl,
            "faults": {"TO": self.errors[0], "IL": self.errors[1], "CE": self.errors[2]}, "slowest_seconds": self.slowest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted<F>(F, Vec<String>);

    impl<F: FnMut(usize, &str) -> Result<String, NoAnswer>> Transport for Scripted<F> {
        fn exchange(&mut self, messages: &[(usize, String)], _: Duration) -> Vec<Answer> {
            self.1.extend(messages.iter().map(|(p, m)| format!("{p} {m}")));
            messages.iter().map(|(p, m)| ((self.0)(*p, m), 0.1)).collect()
        }
    }

    fn tictactoe() -> (GdlGame, &'static str) {
        let text = include_str!("../../../../rules/tictactoe.kif");
        (GdlGame::new("tictactoe", text, &Default::default()).unwrap(), text)
    }

    fn settings<'a>(game: &'a GdlGame, rules: &'a str, random: [bool; 2]) -> MatchSettings<'a> {
        let clock = Duration::from_secs(1);
        MatchSettings { game, rules, start: clock, play: clock, steps: 100, random: random.to_vec() }
    }

    #[test]
    fn players_hear_start_play_and_stop_with_what_was_really_played() {
        let (game, rules) = tictactoe();
        let mut step = 0;
        let mut transport = Scripted(
            |player: usize, message: &str| {
                step += 1;
                Ok(match (message.starts_with("( PLAY"), player) {
                    (false, _) => "READY".into(),
                    (true, 0) => format!("( mark  {} 1 )", (step + 1) / 4),
                    _ => "noop".into(),
                })
            },
            Vec::new(),
        );
        let played = settings(&game, rules, [false; 2]).host_match("m", &[0, 1], &mut transport, &mut Rng::new(1));
        assert!(played.completed && played.joint_moves.len() >= 5);
        assert_eq!(transport.1[2], "0 ( PLAY m NIL )");
        assert!(transport.1[0].contains("( START m x ( ;; Tic") && transport.1[1].contains("( START m o ( "));
        let said = |joint: &Vec<String>| format!("( PLAY m ( {} ) )", joint.join(" "));
        for (n, joint) in played.joint_moves.iter().enumerate().take(played.joint_moves.len() - 1) {
            assert_eq!(transport.1[4 + 2 * n], format!("0 {}", said(joint)));
        }
        assert!(transport.1.last().unwrap().starts_with("1 ( STOP m ("));
        assert_eq!(played.goals.iter().sum::<i32>(), 100);
    }

    #[test]
    fn errors_are_logged_and_random_moves_made_instead() {
        let (game, rules) = tictactoe();
        let mut turn = 0;
        let mut transport = Scripted(
            |_: usize, _: &str| {
                turn += 1;
                match turn % 3 {
                    0 => Err(NoAnswer::TimedOut),
                    1 => Ok("(mark 7 7)".into()),
                    _ => Err(NoAnswer::Broken("refused".into())),
                }
            },
            Vec::new(),
        );
        let played = settings(&game, rules, [false, true]).host_match("m", &[0, 1], &mut transport, &mut Rng::new(1));
        assert!(played.completed);
        let codes: Vec<String> = played.errors.iter().filter_map(|f| f[0].as_ref().map(|f| f.to_string())).collect();
        assert_eq!(codes.len(), played.joint_moves.len());
        assert!(
            codes.contains(&"TO".into())
                && codes.contains(&"IL (mark 7 7)".into())
                && codes.contains(&"CE refused".into())
        );
        assert!(played.errors.iter().all(|f| f[1].is_none()), "random makes no errors");
    }

    #[test]
    fn a_match_that_does_not_end_is_called_off() {
        let text = "(role you)(init s)(<= (legal you go) (role you))(<= (next s) (does you go))(<= terminal (true t))(<= (goal you 0) (true s))";
        let game = GdlGame::new("endless", text, &Default::default()).unwrap();
        let mut transport = Scripted(|_: usize, _: &str| Ok("go".into()), Vec::new());
        let settings = MatchSettings { steps: 10, random: vec![false], ..settings(&game, text, [false; 2]) };
        let played = settings.host_match("m", &[0], &mut transport, &mut Rng::new(1));
        assert!(!played.completed && played.joint_moves.len() == 10);
        assert_eq!(transport.1.last().unwrap(), "0 ( ABORT m )");
    }

    #[test]
    fn everybody_meets_everybody_in_every_role() {
        assert_eq!(schedule(2, 2, 2), [[0, 1], [1, 0]]);
        assert_eq!(schedule(3, 2, 2), [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]);
        assert_eq!(schedule(3, 3, 3), [[0, 1, 2], [2, 0, 1], [1, 2, 0]]);
        assert_eq!(schedule(2, 1, 2), [[0], [0], [1], [1]]);
    }
}
