//! `ludex ggp-server`: a match host, to try any GGP player against any other.
//!
//! A match is START, a PLAY for each step and STOP, sent to all players at once; each has its clock from the moment of
//! sending. A player whose answer does not come in time (`TO`), is not a legal move (`IL`), or cannot be had at all (`CE`)
//! gets a uniformly random legal move, and the match goes on. Roles rotate from match to match, so that everybody has each
//! role equally often; all matches in which the same players exchange their roles are one unit of the statistics.

use super::http::{Silence, ask};
use super::message::{joint_text, one_line};
use super::mind::find_move;
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

/// What went wrong with an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
    TimedOut,
    Illegal(String),
    Connection(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::TimedOut => f.write_str("TO"),
            Fault::Illegal(text) => write!(f, "IL {}", text.chars().take(100).collect::<String>()),
            Fault::Connection(line) => write!(f, "CE {line}"),
        }
    }
}

/// A player's answer, and the seconds it took.
type Answer = (Result<String, Silence>, f64);

/// Delivers one message to each player, by number, and brings the answers; everybody has this long.
trait Courier {
    fn deliver(&mut self, messages: &[(usize, String)], clock: Duration) -> Vec<Answer>;
}

/// Delivers over HTTP, to all at once.
struct Post<'a>(&'a [String]);

impl Courier for Post<'_> {
    fn deliver(&mut self, messages: &[(usize, String)], clock: Duration) -> Vec<Answer> {
        let begun = Instant::now();
        let send = |(player, message): &(usize, String)| {
            let answer = ask(&self.0[*player], message, begun + clock);
            (answer, begun.elapsed().as_secs_f64())
        };
        std::thread::scope(|scope| {
            let sent: Vec<_> = messages.iter().map(|m| scope.spawn(move || send(m))).collect();
            let lost = || (Err(Silence::Broken("the courier failed".into())), 0.0);
            sent.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }
}

/// How a match is held.
struct Setting<'a> {
    game: &'a GdlGame,
    rules: &'a str,
    start: Duration,
    play: Duration,
    steps: usize,
    /// Players that move at random inside.
    random: Vec<bool>,
}

/// A match that was played. `seats[role]` is a player's number.
struct Played {
    id: String,
    began: u64,
    seats: Vec<usize>,
    joints: Vec<Vec<String>>,
    states: Vec<Vec<String>>,
    faults: Vec<Vec<Option<Fault>>>,
    seconds: Vec<Vec<f64>>,
    goals: Vec<i32>,
    completed: bool,
}

impl Setting<'_> {
    /// Plays one match.
    fn hold(&self, id: &str, seats: &[usize], courier: &mut dyn Courier, rng: &mut Rng) -> Played {
        let game = self.game;
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let mut played = Played {
            id: id.into(),
            began,
            seats: seats.to_vec(),
            joints: Vec::new(),
            states: Vec::new(),
            faults: Vec::new(),
            seconds: Vec::new(),
            goals: Vec::new(),
            completed: false,
        };
        let remote: Vec<usize> = (0..seats.len()).filter(|&r| !self.random[seats[r]]).collect();
        let (start, play) = (self.start.as_secs(), self.play.as_secs());
        let all = |f: &dyn Fn(usize) -> String| remote.iter().map(|&r| (seats[r], f(r))).collect::<Vec<_>>();
        let greet = |r: usize| format!("( START {id} {} ( {} ) {start} {play} )", game.info().roles[r], self.rules);
        for (answer, &r) in courier.deliver(&all(&greet), self.start).iter().zip(&remote) {
            match &answer.0 {
                Ok(word) if word.eq_ignore_ascii_case("ready") => {}
                Ok(word) => note(id, &format!("{} is not ready but says: {word}", game.info().roles[r])),
                Err(silence) => note(id, &format!("{} START: {}", game.info().roles[r], fault_of(silence))),
            }
        }
        let mut state = game.initial();
        played.states.push(fact_names(game, &state));
        while game.outcome(&state).is_none() && played.joints.len() < self.steps {
            let last = joint_text(played.joints.last().map(Vec::as_slice));
            let answers = courier.deliver(&all(&|_| format!("( PLAY {id} {last} )")), self.play);
            let mut faults = vec![None; seats.len()];
            let mut seconds = vec![0.0; seats.len()];
            let mut joint = Vec::new();
            for r in 0..seats.len() {
                let legal = game.legal_moves(&state, r);
                let given = remote.iter().position(|&s| s == r).map(|i| &answers[i]);
                let chosen = given.map(|(answer, time)| {
                    seconds[r] = *time;
                    judge(game, &legal, answer)
                });
                joint.push(match chosen {
                    Some(Ok(m)) => m,
                    other => {
                        if let Some(Err(fault)) = other {
                            note(id, &format!("step {}, {}: {fault}", played.joints.len() + 1, game.info().roles[r]));
                            faults[r] = Some(fault);
                        }
                        *rng.pick(&legal).expect("a game that is not over has moves for all")
                    }
                });
            }
            state = game.step(&state, &joint).expect("all moves are legal");
            played.joints.push(joint.iter().map(|&m| game.move_name(m)).collect());
            played.states.push(fact_names(game, &state));
            played.faults.push(faults);
            played.seconds.push(seconds);
        }
        played.completed = game.outcome(&state).is_some();
        let last = joint_text(played.joints.last().map(Vec::as_slice));
        let farewell = match played.completed {
            true => all(&|_| format!("( STOP {id} {last} )")),
            false => all(&|_| format!("( ABORT {id} )")),
        };
        courier.deliver(&farewell, self.play.max(Duration::from_secs(1)));
        played.goals = game.goals(&state).iter().map(|g| g.last().copied().unwrap_or(0)).collect();
        played
    }
}

fn fact_names(game: &GdlGame, state: &GdlState) -> Vec<String> {
    let mut facts = Vec::new();
    game.facts(state, &mut facts);
    facts.into_iter().map(|f| game.fact_name(f)).collect()
}

fn fault_of(silence: &Silence) -> Fault {
    match silence {
        Silence::TimedOut => Fault::TimedOut,
        Silence::Broken(line) => Fault::Connection(line.clone()),
    }
}

/// The move that an answer names, if it is legal.
fn judge(game: &GdlGame, legal: &[Move], answer: &Result<String, Silence>) -> Result<Move, Fault> {
    let text = answer.as_ref().map_err(fault_of)?;
    find_move(game, text).filter(|m| legal.contains(m)).ok_or_else(|| Fault::Illegal(text.clone()))
}

/// Who sits where, match by match: for every choice of players, `matches` times, with roles rotated.
fn schedule(players: usize, roles: usize, matches: u32) -> Vec<Vec<usize>> {
    let mut tables: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..roles {
        let longer = |t: &Vec<usize>| {
            (t.last().map_or(0, |l| l + 1)..players).map(|p| [t.as_slice(), &[p]].concat()).collect::<Vec<_>>()
        };
        tables = tables.iter().flat_map(longer).collect();
    }
    let turned = |t: &Vec<usize>, n: usize| {
        let mut seats = t.clone();
        seats.rotate_right(n % roles.max(1));
        seats
    };
    tables.iter().flat_map(|t| (0..matches as usize).map(move |n| turned(t, n))).collect()
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
        let setting = Setting {
            game: &game,
            rules: &one_line(&text),
            start: Duration::from_secs(self.start.into()),
            play: Duration::from_secs(self.play.into()),
            steps: self.steps,
            random,
        };
        let tables = schedule(self.players.len(), game.info().players(), self.matches);
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let bar = verbs::progress(tables.len() as u64, "matches");
        let mut results = Vec::new();
        for (n, seats) in tables.iter().enumerate() {
            let id = format!("ludex.{stamp}.{}", n + 1);
            let mut rng = Rng::stream(self.seed, n as u64);
            let played = setting.hold(&id, seats, &mut Post(&self.players), &mut rng);
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
                "matches": matches, "result": self.summary(&game, &results).iter().map(Line::json).collect::<Vec<_>>(),
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
    fn record_of(&self, game: &GdlGame, p: &Played) -> Value {
        let errors: Vec<Vec<String>> = p
            .faults
            .iter()
            .map(|step| step.iter().map(|f| f.as_ref().map_or(String::new(), Fault::to_string)).collect())
            .collect();
        json!({
            "schema": SCHEMA, "matchId": p.id, "startTime": p.began, "game": game.info().name,
            "rulesHash": format!("{:016x}", game.info().rules_hash), "startClock": self.start, "playClock": self.play,
            "gameRoleNames": game.info().roles, "playerNamesFromHost": p.seats.iter().map(|&s| &self.players[s]).collect::<Vec<_>>(),
            "moves": p.joints, "states": p.states, "errors": errors, "answerSeconds": p.seconds,
            "isCompleted": p.completed, "isAborted": !p.completed, "goalValues": p.goals,
        })
    }

    fn print(&self, game: &GdlGame, results: &[Played]) -> Result<()> {
        let roles = &game.info().roles;
        for p in results {
            let seat = |r: usize| format!("{} {} {}", roles[r], self.players[p.seats[r]], p.goals[r]);
            let end = if p.completed { "" } else { ", called off" };
            say(format!(
                "{}: {} steps{end}   {}",
                p.id,
                p.joints.len(),
                (0..roles.len()).map(seat).collect::<Vec<_>>().join("   ")
            ))?;
        }
        let width = self.players.iter().map(String::len).max().unwrap_or(0).max(6);
        say(format!(
            "\n{:width$}  matches  mean goal        score %  95 % interval   TO  IL  CE   slowest s",
            "player"
        ))?;
        for line in self.summary(game, results) {
            let interval =
                line.interval.map_or("-".into(), |i| format!("[{:.1}, {:.1}]", 100.0 * i.low, 100.0 * i.high));
            say(format!(
                "{:width$}  {:>7}  {:>9.1}  {:>13.1}  {interval:>13}  {:>3} {:>3} {:>3}  {:>9.2}",
                line.player,
                line.matches,
                line.goal,
                100.0 * line.score,
                line.faults[0],
                line.faults[1],
                line.faults[2],
                line.slowest,
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

    fn summary(&self, game: &GdlGame, results: &[Played]) -> Vec<Line> {
        (0..self.players.len()).map(|player| Line::of(self, game, results, player)).collect()
    }

    /// Ratings of more than two players of a game for two.
    fn ratings(&self, game: &GdlGame, results: &[Played]) -> Option<Ratings> {
        if game.info().players() != 2 || self.players.len() < 3 {
            return None;
        }
        let mut encounters = Vec::new();
        for table in results.chunks(self.matches as usize) {
            let (a, b) = (table[0].seats[0], table[0].seats[1]);
            let mut games = Wdl::default();
            table.iter().for_each(|p| games.record(p.outcome(a)));
            encounters.push(Encounter { a, b, record: Record::Games(games) });
        }
        Pool { players: self.players.len(), anchor: 0, first_advantage: false, encounters }.rate(LEVEL).ok()
    }
}

/// Intervals are at this level.
const LEVEL: f64 = 0.95;

impl Played {
    fn goal_of(&self, player: usize) -> Option<i32> {
        self.seats.iter().position(|&s| s == player).map(|r| self.goals[r])
    }

    /// How a match of two ended for a player.
    fn outcome(&self, player: usize) -> Outcome {
        let mine = self.goal_of(player).unwrap_or(0);
        let theirs =
            (0..self.seats.len()).filter(|&r| self.seats[r] != player).map(|r| self.goals[r]).max().unwrap_or(0);
        match mine.cmp(&theirs) {
            std::cmp::Ordering::Greater => Outcome::Win,
            std::cmp::Ordering::Equal => Outcome::Draw,
            std::cmp::Ordering::Less => Outcome::Loss,
        }
    }
}

/// One player's results.
struct Line {
    player: String,
    matches: usize,
    goal: f64,
    /// Games for two: wins and half the draws; otherwise the mean goal; a share of what was possible.
    score: f64,
    interval: Option<Interval>,
    wdl: Option<Wdl>,
    faults: [u32; 3],
    slowest: f64,
}

impl Line {
    fn of(args: &Args, game: &GdlGame, results: &[Played], player: usize) -> Line {
        let mine: Vec<&Played> = results.iter().filter(|p| p.seats.contains(&player)).collect();
        let goals: Vec<f64> = mine.iter().filter_map(|p| p.goal_of(player)).map(f64::from).collect();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
        let (mut faults, mut slowest) = ([0; 3], 0.0f64);
        for p in &mine {
            let Some(r) = p.seats.iter().position(|&s| s == player) else { continue };
            for (step, times) in p.faults.iter().zip(&p.seconds) {
                slowest = slowest.max(times[r]);
                match &step[r] {
                    Some(Fault::TimedOut) => faults[0] += 1,
                    Some(Fault::Illegal(_)) => faults[1] += 1,
                    Some(Fault::Connection(_)) => faults[2] += 1,
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
        Line {
            player: args.players[player].clone(),
            matches: mine.len(),
            goal: mean(&goals),
            score,
            interval,
            wdl,
            faults,
            slowest,
        }
    }

    fn json(&self) -> Value {
        json!({
            "player": self.player, "matches": self.matches, "mean_goal": self.goal, "score": self.score,
            "score_interval": self.interval.map(|i| [i.low, i.high]), "level": LEVEL, "wdl": self.wdl,
            "faults": {"TO": self.faults[0], "IL": self.faults[1], "CE": self.faults[2]}, "slowest_seconds": self.slowest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted<F>(F, Vec<String>);

    impl<F: FnMut(usize, &str) -> Result<String, Silence>> Courier for Scripted<F> {
        fn deliver(&mut self, messages: &[(usize, String)], _: Duration) -> Vec<Answer> {
            self.1.extend(messages.iter().map(|(p, m)| format!("{p} {m}")));
            messages.iter().map(|(p, m)| ((self.0)(*p, m), 0.1)).collect()
        }
    }

    fn tictactoe() -> (GdlGame, &'static str) {
        let text = include_str!("../../../../rules/tictactoe.kif");
        (GdlGame::new("tictactoe", text, &Default::default()).unwrap(), text)
    }

    fn setting<'a>(game: &'a GdlGame, rules: &'a str, random: [bool; 2]) -> Setting<'a> {
        let clock = Duration::from_secs(1);
        Setting { game, rules, start: clock, play: clock, steps: 100, random: random.to_vec() }
    }

    #[test]
    fn players_hear_start_play_and_stop_with_what_was_really_played() {
        let (game, rules) = tictactoe();
        let mut step = 0;
        let mut courier = Scripted(
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
        let played = setting(&game, rules, [false; 2]).hold("m", &[0, 1], &mut courier, &mut Rng::new(1));
        assert!(played.completed && played.joints.len() >= 5);
        assert_eq!(courier.1[2], "0 ( PLAY m NIL )");
        assert!(courier.1[0].contains("( START m x ( ;; Tic") && courier.1[1].contains("( START m o ( "));
        let said = |joint: &Vec<String>| format!("( PLAY m ( {} ) )", joint.join(" "));
        for (n, joint) in played.joints.iter().enumerate().take(played.joints.len() - 1) {
            assert_eq!(courier.1[4 + 2 * n], format!("0 {}", said(joint)));
        }
        assert!(courier.1.last().unwrap().starts_with("1 ( STOP m ("));
        assert_eq!(played.goals.iter().sum::<i32>(), 100);
    }

    #[test]
    fn faults_are_logged_and_random_moves_made_instead() {
        let (game, rules) = tictactoe();
        let mut turn = 0;
        let mut courier = Scripted(
            |_: usize, _: &str| {
                turn += 1;
                match turn % 3 {
                    0 => Err(Silence::TimedOut),
                    1 => Ok("(mark 7 7)".into()),
                    _ => Err(Silence::Broken("refused".into())),
                }
            },
            Vec::new(),
        );
        let played = setting(&game, rules, [false, true]).hold("m", &[0, 1], &mut courier, &mut Rng::new(1));
        assert!(played.completed);
        let codes: Vec<String> = played.faults.iter().filter_map(|f| f[0].as_ref().map(|f| f.to_string())).collect();
        assert_eq!(codes.len(), played.joints.len());
        assert!(
            codes.contains(&"TO".into())
                && codes.contains(&"IL (mark 7 7)".into())
                && codes.contains(&"CE refused".into())
        );
        assert!(played.faults.iter().all(|f| f[1].is_none()), "random is never at fault");
    }

    #[test]
    fn a_match_that_does_not_end_is_called_off() {
        let text = "(role you)(init s)(<= (legal you go) (role you))(<= (next s) (does you go))(<= terminal (true t))(<= (goal you 0) (true s))";
        let game = GdlGame::new("endless", text, &Default::default()).unwrap();
        let mut courier = Scripted(|_: usize, _: &str| Ok("go".into()), Vec::new());
        let setting = Setting { steps: 10, random: vec![false], ..setting(&game, text, [false; 2]) };
        let played = setting.hold("m", &[0], &mut courier, &mut Rng::new(1));
        assert!(!played.completed && played.joints.len() == 10);
        assert_eq!(courier.1.last().unwrap(), "0 ( ABORT m )");
    }

    #[test]
    fn everybody_meets_everybody_in_every_role() {
        assert_eq!(schedule(2, 2, 2), [[0, 1], [1, 0]]);
        assert_eq!(schedule(3, 2, 2), [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]]);
        assert_eq!(schedule(3, 3, 3), [[0, 1, 2], [2, 0, 1], [1, 2, 0]]);
        assert_eq!(schedule(2, 1, 2), [[0], [0], [1], [1]]);
    }
}
