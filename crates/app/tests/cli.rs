//! The real binary, as people and scripts run it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test, so that results kept on disk do not meet.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn ludex(args: &[&str], input: &str, folder: &Path) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ludex"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments may be gone before it reads anything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(args: &[&str]) -> String {
    let out = ludex(args, "", &folder("text"));
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
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
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let bad: [&[&str]; 16] = [
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
fn what_cannot_be_written_is_exit_code_1() {
    let folder = folder("unwritable");
    std::fs::write(folder.join("runs"), "a file where a folder should be").unwrap();
    let out = ludex(&["match", "tictactoe", "random", "random", "--games", "2"], "", &folder);
    assert_eq!(out.status.code(), Some(1));
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
fn a_person_can_play_to_the_end() {
    let folder = folder("play");
    let input = "help\nfoo\n\u{fffd}\nhint\n1\nundo\n1\n2\n3\n4\n5\n6\n7\n1\n2\n3\n4\n5\n6\n7\n1\n2\n3\n4\n5\n6\n7\n1\n2\n3\n4\n5\n6\n7\n";
    let out = ludex(&["play", "connect4", "--first", "--agent", "uct(sims=300)", "--seed", "2"], input, &folder);
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success());
    assert!(
        said.contains("is not a legal move here") && said.contains("Taken back.") && said.contains("your chances"),
        "{said}"
    );
    assert!(
        ["You win.", "You lose.", "A draw.", "Good-bye."].iter().any(|end| said.trim_end().ends_with(end)),
        "{said}"
    );
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
fn bench_measures_and_reports() {
    let json: serde_json::Value =
        serde_json::from_str(&text(&["bench", "--game", "tictactoe", "--seconds", "0.01", "--json"])).unwrap();
    assert!(json["games"][0]["playouts_per_s"].as_f64().unwrap() > 1_000.0);
    assert!(json["games"][0]["bytes_per_node"].as_f64().unwrap() <= 64.0);
}
