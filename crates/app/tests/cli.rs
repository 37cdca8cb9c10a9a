//! The real binary, as people and scripts run it.

mod common;

use common::{folder, ludex, printed, refusal};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn text(args: &[&str]) -> String {
    printed(&ludex(args, "", &std::env::temp_dir()))
}

#[test]
fn games_are_listed_for_people_and_for_programs() {
    assert!(text(&["games"]).contains("morris"));
    let json: serde_json::Value = serde_json::from_str(&text(&["games", "--json"])).unwrap();
    assert_eq!(json["schema"], 1);
    let games = json["games"].as_array().unwrap();
    assert_eq!(games.len(), 9);
    assert!(
        games.iter().any(|g| g["name"] == "connect4" && g["full_name"] == "connect4:7x6x4" && g["initial_legal"] == 7)
    );
}

#[test]
fn perft_prints_one_number() {
    assert_eq!(text(&["perft", "othello", "6"]), "8200\n");
    assert_eq!(text(&["perft", "connect4", "2", "--position", "444444"]), "36\n");
    assert_eq!(text(&["perft", "tictactoe", "0"]), "1\n");
    assert_eq!(text(&["perft", "tictactoe", "10"]), "0\n");
}

#[test]
fn show_draws_a_position_with_its_moves_and_facts() {
    let shown = text(&["show", "connect4", "--position", "44352"]);
    assert!(
        shown.contains("position  44352") && shown.contains("(cell 4 1 x)") && shown.contains("(control o)"),
        "{shown}"
    );
    // A board whose first square is empty begins like an option.
    let start = "---------------------------OX------XO--------------------------- X";
    assert!(text(&["show", "othello", "--position", start]).contains("mover     0 (x)"));
    assert_eq!(text(&["perft", "othello", "1", "--position", start]), "4\n");
}

#[test]
fn a_position_is_shown_to_programs_with_the_numbers_of_moves_and_facts() {
    let read = |args: &[&str]| serde_json::from_str::<serde_json::Value>(&text(args)).unwrap();
    let shown = read(&["show", "connect4", "--position", "44352", "--json"]);
    assert_eq!((&shown["schema"], &shown["game"]), (&1.into(), &"connect4:7x6x4".into()));
    assert_eq!((&shown["position"], &shown["mover"], &shown["role"]), (&"44352".into(), &1.into(), &"o".into()));
    assert_eq!(shown["outcome"], serde_json::Value::Null);
    assert_eq!(shown["legal"][6], serde_json::json!({"number": 6, "name": "7"}));
    let facts = shown["facts"].as_array().unwrap();
    assert!(
        facts.iter().any(|f| f["name"] == "(control o)") && facts.iter().all(|f| f["number"].is_u64()),
        "{facts:?}"
    );
    // The numbers are those of the game: the disc that is in both positions has one number.
    let number = |shown: &serde_json::Value, name: &str| {
        let found = shown["facts"].as_array().unwrap().iter().find(|f| f["name"] == name).cloned();
        found.unwrap()["number"].clone()
    };
    let other = read(&["show", "connect4", "--position", "4", "--json"]);
    assert_eq!(number(&other, "(cell 4 1 x)"), number(&shown, "(cell 4 1 x)"));
    let over = read(&["show", "connect4", "--position", "1212121", "--json"]);
    assert_eq!((&over["outcome"], &over["mover"]), (&serde_json::json!([1.0, -1.0]), &serde_json::Value::Null));
    assert!(over["legal"].as_array().unwrap().is_empty());
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let bad: [&[&str]; 22] = [
        &["perft", "conect4", "3"],
        &["perft", "connect4", "-1"],
        &["perft", "connect4", "3", "--position", "8"],
        &["show", "othello", "--position", "XO"],
        &["show", "gomoku:99x99"],
        &["engine", "chess"],
        &["engine", "connect4", "--agent", "uct("],
        &["match", "connect4", "random", "nobody"],
        &["match", "connect4", "random", "uct(c=x)"],
        &["match", "connect4", "random", "random", "--games", "0"],
        &["match", "connect4", "random", "random", "--sprt", "5"],
        &["match", "connect4", "random", "missing.toml"],
        &["tournament", "connect4", "random", "random", "--anchor", "9"],
        &["play", "connect4", "--agent", "minimax(eval=positional)"],
        &["bench", "--game", "chess"],
        &["bench", "--seconds", "nan"],
        &["match", "connect4", "random", "random", "--games", "18446744073709551615"],
        &["match", "connect4", "random", "random", "--opening-plies", "4294967295"],
        &["match", "connect4", "random", "random", "--threads", "0"],
        &["tournament", "connect4", "random", "random", "--threads", "99999999"],
        &["match", "connect4", "random", "random", "--sprt", "0,x,50"],
        &["frobnicate"],
    ];
    let folder = folder("bad");
    for args in bad {
        let out = ludex(args, "", &folder);
        let line = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {line}");
        assert!(out.stdout.is_empty() && !line.contains("panicked"), "{args:?}: {line}");
        // The argument parser adds a hint on its own lines.
        assert!(line.trim().lines().count() == 1 || line.starts_with("error:"), "{args:?}: {line}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_refusal_says_what_to_type_instead() {
    let folder = folder("advice");
    let refused = |args: &[&str]| refusal(&ludex(args, "", &folder));
    assert!(refused(&["show", "chess"]).contains("`ludex games` lists them all"));
    assert!(refused(&["show", "conect4"]).contains("did you mean connect4?"));
    let made = " learn connect4:7x6x4 --run 'no where'` makes one";
    assert!(refused(&["play", "connect4", "--model", "no where"]).contains(made));
    assert!(refused(&["engine", "connect4", "--agent", "minimax(model=\"no where\")"]).contains(made));
    assert!(refused(&["match", "connect4", "neural", "random"]).contains(" learn connect4:7x6x4` makes one"));
    printed(&ludex(&["match", "tictactoe", "random", "random", "--games", "2", "--out", "kept"], "", &folder));
    let line = refused(&["match", "tictactoe", "random", "random", "--games", "4", "--out", "kept"]);
    assert!(line.contains("give another --out or delete it"), "{line}");
}

#[test]
fn every_kind_of_part_is_listed_with_what_may_be_typed() {
    let listed = text(&["agents"]);
    for heading in ["Agents", "select=", "prior=", "expand=", "playout=", "backup=", "eval="] {
        assert!(listed.lines().any(|l| l == heading), "{heading}");
    }
    let line = |option: &str| listed.lines().find(|l| l.trim_start().starts_with(option)).unwrap();
    assert!(line("depth ").contains("1..1000 "));
    assert!(line("c ").contains("0.0..1000000.0"));
    assert!(line("ties ").contains("random|first"));
    assert!(line("playout ").contains("see playout="));
    assert!(!listed.contains("positional") && text(&["agents", "othello"]).contains("positional"));
}

#[test]
fn what_cannot_be_written_is_exit_code_1() {
    let folder = folder("unwritable");
    std::fs::write(folder.join("runs"), "a file where a folder should be").unwrap();
    // Who names a file wants it.
    let named = ["match", "tictactoe", "random", "random", "--games", "2", "--out", "runs/kept"];
    let out = ludex(&named, "", &folder);
    assert!(out.status.code() == Some(1) && out.stdout.is_empty());
    assert_eq!(String::from_utf8_lossy(&out.stderr).trim().lines().count(), 1);
}

#[test]
fn the_engine_talks() {
    let input = "1 name\nmoves 4 4 3\nlegal\nagent minimax(depth=3)\ngenmove\nanalyze sims=50\nposition 12121\nshow\nquit\nname\n";
    let out = ludex(&["engine", "connect4", "--seed", "7"], input, &folder("engine"));
    let said = String::from_utf8(out.stdout).unwrap();
    let answers: Vec<&str> = said.split("\n\n").collect();
    assert_eq!(answers[0], "=1 Ludex");
    assert_eq!(answers[2], "= 1 2 3 4 5 6 7");
    assert!(answers[4].starts_with("= "));
    assert!(answers[7].contains("O to move"));
    assert_eq!(
        answers.iter().filter(|a| a.starts_with(['=', '?'])).count(),
        9,
        "nothing is answered after quit: {said}"
    );
}

#[test]
fn the_engine_refuses_a_position_without_text() {
    for line in ["position\n", "position   \n"] {
        let answers = printed(&ludex(&["engine", "connect4"], &format!("{line}mover\n"), &std::env::temp_dir()));
        assert_eq!(answers, "? position needs a text: position TEXT\n\n= 0\n\n");
    }
}

#[test]
fn a_limit_that_an_agent_does_not_know_is_refused_at_once() {
    let input = "genmove nodes=100\nagent minimax\ngenmove sims=100\ngenmove ms=99999999999999\nquit\n";
    let said = printed(&ludex(&["engine", "connect4"], input, &folder("limits")));
    let answers: Vec<&str> = said.split("\n\n").collect();
    assert_eq!(answers[0], "? uct has no limit nodes: it has sims, visits, expansions, ms, cpu_ms");
    assert_eq!(answers[2], "? minimax has no limit sims: it has nodes, depth, ms, cpu_ms");
    assert_eq!(answers[3], "? ms= needs a whole number from 0 to 604800000, not \"99999999999999\"");
}

#[test]
fn a_line_without_end_is_refused_and_the_next_is_answered() {
    let input = format!("play {}\nmover\n", "4".repeat(3 << 20));
    let said = printed(&ludex(&["engine", "connect4"], &input, &folder("long")));
    assert_eq!(said, "? the line is longer than 1048576 bytes\n\n= 0\n\n");
}

/// An engine that is talked to line by line.
struct Talk {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    said: Receiver<String>,
}

impl Talk {
    fn new(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ludex"));
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|l| sender.send(l.unwrap())));
        Talk { child, stdin, said }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin.as_ref().unwrap(), "{line}").unwrap();
    }

    /// The next answer, without the empty line after it.
    fn answer(&self) -> String {
        let line = || self.said.recv_timeout(Duration::from_secs(300)).expect("an answer");
        let answer = line();
        assert_eq!(line(), "");
        answer
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_infinite_analysis_runs_until_the_next_line_or_the_end_of_input() {
    for agent in ["uct", "minimax(nodes=10)"] {
        let mut talk = Talk::new(&["engine", "othello", "--agent", agent]);
        talk.tell("1 analyze infinite");
        let early = talk.said.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "{agent} did not wait: {early:?}");
        talk.tell("2 name");
        let analysis = talk.answer();
        assert!(analysis.starts_with("=1 {") && analysis.contains("\"policy\""), "{analysis}");
        assert_eq!(talk.answer(), "=2 Ludex");
        talk.tell("3 analyze infinite");
        talk.stdin = None;
        assert!(talk.answer().starts_with("=3 {"));
        assert!(talk.child.wait().unwrap().success());
    }
}

#[test]
fn a_match_is_the_same_on_any_number_of_threads_and_resumes() {
    let folder = folder("match");
    let args = ["match", "connect4:5x4x3", "uct(sims=40)", "random", "--games", "20", "--json"];
    let run = |more: &[&str]| {
        let out = ludex(&[&args[..], more].concat(), "", &folder);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let mut json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        json["result"]["cost"].take(); // processor time is never the same twice
        (json, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (one, _) = run(&["--threads", "1"]);
    let (two, _) = run(&["--threads", "2", "--out", "other.jsonl"]);
    let (again, said) = run(&[]);
    assert_eq!(one, two);
    assert_eq!(one, again);
    assert!(said.contains("10 of 10 pairs are already in"));
    assert_eq!(one["result"]["wdl"]["games"], 20);
    assert!(one["result"]["score_interval"][0].as_f64().unwrap() > 0.5);
    assert_eq!(one["config"]["agents"][0], "uct(sims=40)");
}

#[test]
fn a_match_is_played_where_nothing_can_be_kept_and_says_so() {
    let folder = folder("unkept");
    let held = |verb: &str| ludex(&[verb, "tictactoe", "random", "random", "--games", "4"], "", &folder);
    let kept = printed(&held("match"));
    std::fs::remove_dir_all(folder.join("runs")).unwrap();
    // A file where the directory should be: nobody can write there.
    std::fs::write(folder.join("runs"), "").unwrap();
    for verb in ["match", "tournament"] {
        let out = held(verb);
        let note = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(note.starts_with("nothing is kept: runs/arena/") && note.lines().count() == 1, "{note}");
        if verb == "match" {
            let figures = |text: String| text.lines().take(6).map(String::from).collect::<Vec<_>>();
            assert_eq!(figures(printed(&out)), figures(kept.clone()));
        }
    }
}

#[test]
#[cfg(unix)]
fn a_match_is_played_in_a_directory_that_is_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("read-only");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let out = ludex(&["match", "tictactoe", "random", "random", "--games", "4"], "", &folder);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(printed(&out).contains("4 games"));
    // Whoever may write everywhere has kept it.
    let note = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(note.starts_with("nothing is kept: ") || folder.join("runs").exists(), "{note}");
}

#[test]
fn a_match_of_a_rulesheet_is_kept_below_runs_wherever_the_sheet_is() {
    let folder = folder("sheet");
    std::fs::create_dir(folder.join("rules")).unwrap();
    let sheet = folder.join("rules/tictactoe.kif");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/tictactoe.kif"), &sheet).unwrap();
    let args = ["match", sheet.to_str().unwrap(), "random", "random", "--games", "2"];
    printed(&ludex(&args, "", &folder));
    assert_eq!(std::fs::read_dir(folder.join("rules")).unwrap().count(), 1);
    let kept = std::fs::read_dir(folder.join("runs/arena")).unwrap().next().unwrap().unwrap();
    assert!(kept.file_name().to_string_lossy().starts_with("tictactoe-"), "{kept:?}");
}

#[test]
fn a_person_can_play_to_the_end() {
    let folder = folder("play");
    // In seven columns there is always one with room: so many lines are enough for every game.
    let columns = "1\n2\n3\n4\n5\n6\n7\n".repeat(42);
    let input = format!("help\nfoo\n\u{fffd}\nhint\n1\nundo\n{columns}");
    let args = ["play", "connect4", "--first", "--agent", "uct(sims=300)", "--seed", "2"];
    let said = printed(&ludex(&args, &input, &folder));
    assert!(
        said.contains("is not a legal move here") && said.contains("Taken back.") && said.contains("your chances"),
        "{said}"
    );
    let ends = ["You win.", "You lose.", "A draw."];
    assert!(ends.iter().any(|end| said.trim_end().ends_with(end)), "{said}");
}

#[test]
fn a_person_can_win_lose_draw_and_leave() {
    let folder = folder("ends");
    let play = |position: &str, input: &str| {
        let args = ["play", "tictactoe", "--first", "--agent", "minimax(depth=9)", "--position", position];
        printed(&ludex(&args, input, &folder)).trim_end().to_string()
    };
    assert!(play("XX-/OO-/--- X", "c1\n").ends_with("You win."));
    assert!(play("X--/OO-/X-- X", "c3\n").ends_with("You lose."));
    assert!(play("XOX/XOO/O-X X", "b3\n").ends_with("A draw."));
    assert!(play("--X/---/--- O", "resign\n").ends_with("You resign; O wins."));
    assert!(play("--X/---/--- O", "").ends_with("Good-bye."));
}

#[test]
fn a_tournament_rates_its_players() {
    let folder = folder("tournament");
    let out = ludex(
        &["tournament", "tictactoe", "random", "uct(sims=200)", "minimax(depth=9)", "--games", "10", "--json"],
        "",
        &folder,
    );
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let elo = |i: usize| json["ratings"]["players"][i]["value"].as_f64().unwrap();
    assert!(elo(0) == 0.0 && elo(1) > 50.0 && elo(2) > 50.0, "{json}");
}

#[test]
fn the_doctor_looks_at_all_that_makes_it_slow() {
    let folder = folder("doctor");
    let said = printed(&ludex(&["doctor"], "", &folder));
    for what in ["version", "build", "processor", "threads", "memory", "disk", "terminal", "speed"] {
        let line = said.lines().find(|l| l.starts_with(what)).unwrap_or_else(|| panic!("{what}: {said}"));
        let state = line[what.len()..].trim_start();
        assert!(state.starts_with("ok ") || state.starts_with("to do "), "{line}");
    }
    // The tests run with debug assertions.
    assert!(said.contains("cargo build --release"), "{said}");
    std::fs::write(folder.join("runs"), "").unwrap();
    let json: serde_json::Value = serde_json::from_str(&printed(&ludex(&["doctor", "--json"], "", &folder))).unwrap();
    assert!(json["playouts_per_s"].as_f64().unwrap() > 0.0 && json["release"] == false && json["ok"] == false);
    let checks = json["checks"].as_array().unwrap();
    let disk = checks.iter().find(|c| c["what"] == "disk").unwrap();
    assert!(disk["ok"] == false && disk["advice"].as_str().unwrap().contains("nothing can be kept"), "{disk}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is written");
}

#[test]
fn shells_complete_the_command_line_and_man_explains_it() {
    let folder = folder("man");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&["completions", shell]);
        assert!(script.contains("tournament") && script.contains("opening-plies"), "{shell}");
    }
    assert_eq!(ludex(&["completions", "cmd"], "", &folder).status.code(), Some(2));
    let bash = text(&["completions", "bash"]);
    if let Ok(out) = Command::new("bash").args(["-c", &format!("{bash}\ncomplete -p ludex")]).output() {
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    assert!(text(&["man"]).contains(".TH ludex 1"));
    printed(&ludex(&["man", "--out", "man1"], "", &folder));
    for page in ["ludex.1", "ludex-match.1", "ludex-gdl-check.1", "ludex-man.1"] {
        assert!(std::fs::read_to_string(folder.join("man1").join(page)).unwrap().contains(".SH SYNOPSIS"), "{page}");
    }
    std::fs::write(folder.join("file"), "").unwrap();
    refusal(&ludex(&["man", "--out", "file"], "", &folder));
}

#[test]
fn a_rulesheet_is_well_or_its_slips_are_named() {
    let folder = folder("gdl-check");
    let sheet = include_str!("../../../rules/tictactoe.kif");
    std::fs::write(folder.join("good.kif"), sheet).unwrap();
    let said = printed(&ludex(&["gdl", "check", "good.kif"], "", &folder));
    let well = "good.kif: all is well: 2 roles (in turn), 10 moves, 20 facts, up to 9 steps in random play";
    assert_eq!(said.lines().last(), Some(well));
    let slip = sheet.replacen("(next (control ?p)) (true (control ?q))", "(next (control ?p)) (true (contrl ?q))", 1);
    std::fs::write(folder.join("slip.kif"), slip).unwrap();
    let said = printed(&ludex(&["gdl", "check", "slip.kif"], "", &folder));
    let named = "slip.kif: warning at line 11, column 31: nothing makes (contrl ?q) true; did you mean control?";
    assert!(said.contains(named) && !said.contains("all is well"), "{said}");
    assert_eq!(said.matches("nothing makes").count(), 1, "what follows from a slip is not named: {said}");
    std::fs::write(folder.join("broken.kif"), "(role x").unwrap();
    assert_eq!(ludex(&["gdl", "check", "broken.kif"], "", &folder).status.code(), Some(2));
}

#[test]
fn bench_measures_and_reports() {
    let json: serde_json::Value =
        serde_json::from_str(&text(&["bench", "--game", "tictactoe", "--seconds", "0.01", "--json"])).unwrap();
    assert!(json["games"][0]["playouts_per_s"].as_f64().unwrap() > 0.0);
    assert!(json["games"][0]["bytes_per_node"].as_f64().unwrap() <= 64.0);
}

#[test]
fn levels_play_wherever_an_agent_is_asked_for() {
    let folder = folder("levels");
    let said = |args: &[&str], input: &str| printed(&ludex(args, input, &folder));
    let talk = said(&["engine", "connect4", "--level", "1"], "genmove\nlevel best\ngenmove\nlevel beginner\ngenmove\n");
    assert!(!talk.contains('?') && talk.matches('=').count() == 5, "{talk}");
    let talk = said(&["engine", "connect4"], "level\nlevel hardest\nlevel 99\nagent level:2\ngenmove\n");
    assert_eq!((talk.matches('?').count(), talk.matches('=').count()), (3, 2), "{talk}");
    said(&["match", "tictactoe", "level:best", "--model", "tictactoe", "--level", "1", "--games", "2"], "");
    said(&["tournament", "tictactoe", "level:1", "level:2", "level:best", "--games", "2"], "");
    assert!(said(&["play", "connect4", "--second"], "quit\n").contains("level:medium"));
    // What is exported is a bundle too, and nothing is overwritten.
    said(&["export", "tictactoe", "--format", "bundle", "--out", "mine.ludex"], "");
    said(&["match", "tictactoe", "level:2@mine.ludex", "random", "--games", "2"], "");
    refusal(&ludex(&["export", "tictactoe", "--format", "bundle", "--out", "mine.ludex"], "", &folder));
    assert!(refusal(&ludex(&["play", "gomoku:7x7", "--level", "2"], "", &folder)).contains("no ready-made levels"));
    assert!(
        refusal(&ludex(&["match", "othello", "level:2@mine.ludex", "random"], "", &folder)).contains("not of othello")
    );
}
