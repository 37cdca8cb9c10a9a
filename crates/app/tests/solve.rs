//! `ludex solve` and `ludex regret`, through the binary.

mod common;

use common::{folder, ludex, printed, refusal};
use serde_json::Value;

fn json(args: &[&str], folder: &std::path::Path) -> Value {
    serde_json::from_str(&printed(&ludex(args, "", folder))).unwrap()
}

#[test]
fn small_games_are_solved_for_people_and_for_programs() {
    let folder = folder("solve");
    let text = printed(&ludex(&["solve", "tictactoe"], "", &folder));
    assert!(text.starts_with("tictactoe:") || text.starts_with("tictactoe"), "{text}");
    assert!(text.contains("drawn for x, who is to move"), "{text}");
    // Net boxes of the first player (Dots and Boxes, known values): 1x1 -1, 2x1 0, 2x2 +2, 3x2 -2.
    for (game, value) in [("dots:1x1", -1), ("dots:2x1", 0), ("dots:2x2", 1), ("dots:3x2", -1), ("connect4:4x4", 0)] {
        let solved = json(&["solve", game, "--json"], &folder);
        assert_eq!((&solved["solved"], &solved["value"]), (&Value::from(true), &Value::from(value)), "{solved}");
        assert!(solved["line"].as_array().unwrap().len() > 1 && solved["nodes"].as_u64().unwrap() > 0, "{solved}");
    }
    let won = json(&["solve", "connect4", "--position", "112233", "--json"], &folder);
    assert_eq!((won["value"].as_i64(), won["plies_at_most"].as_i64(), &won["best"]), (Some(1), Some(1), &"4".into()));
}

#[test]
fn what_is_not_solved_is_said_and_goes_on_with_the_same_command() {
    let folder = folder("solve-on");
    let args = ["solve", "connect4:5x5", "--nodes", "20000", "--every-move", "--json"];
    let first = json(&args, &folder);
    assert_eq!((&first["solved"], &first["value"]), (&Value::from(false), &Value::Null));
    assert!(printed(&ludex(&args[..5], "", &folder)).contains("not solved within these bounds"));
    let third = json(&["solve", "connect4:5x5", "--every-move", "--json"], &folder);
    assert_eq!((&third["solved"], &third["value"]), (&Value::from(true), &Value::from(0)));
    assert!(third["nodes"].as_u64() > Some(40_000), "{third}");
    // All is known now: nothing is searched but the line.
    let fourth = json(&["solve", "connect4:5x5", "--every-move", "--json"], &folder);
    assert_eq!(fourth["moves"], third["moves"]);
    assert!(fourth["nodes"].as_u64() <= third["nodes"].as_u64().map(|n| n + 1));
    let files: Vec<_> = std::fs::read_dir(folder.join("runs/solve")).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left aside");
}

#[test]
fn sets_of_positions_are_kept_extended_and_do_not_depend_on_threads() {
    let folder = folder("regret");
    let make = |file: &str, n: &str, threads: &str| {
        let set = ["regret", "tictactoe", "--positions", file, "--make", n, "--plies", "2..6", "--threads", threads];
        printed(&ludex(&set, "", &folder))
    };
    make("a.tsv", "30", "1");
    make("b.tsv", "12", "2");
    make("b.tsv", "30", "2");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    assert_eq!(read("a.tsv"), read("b.tsv"));
    assert_eq!(read("a.tsv").lines().count(), 31);
    // A line that was cut off is made again.
    let text = read("a.tsv");
    std::fs::write(folder.join("c.tsv"), &text[..text.len() - 9]).unwrap();
    make("c.tsv", "30", "2");
    assert_eq!(read("c.tsv"), text);
    let asked =
        |agent: &str| json(&["regret", "tictactoe", "--positions", "a.tsv", "--agent", agent, "--json"], &folder);
    let perfect = asked("pvs(depth=9)");
    assert_eq!(perfect["score"]["kept"], 30, "{perfect}");
    let random = asked("random");
    assert!(random["score"]["mean_regret"].as_f64() > Some(0.0), "{random}");
    assert_eq!(random["score"]["kept"], asked("random")["score"]["kept"]);
    let people = printed(&ludex(&["regret", "tictactoe", "--positions", "a.tsv", "--agent", "random"], "", &folder));
    assert!(people.lines().last().unwrap().starts_with("all "), "{people}");
    let line = refusal(&ludex(
        &["regret", "tictactoe", "--positions", "a.tsv", "--make", "40", "--plies", "1..6", "--agent", "random"],
        "",
        &folder,
    ));
    assert!(line.contains("was not made with these options"), "{line}");
    assert_eq!(read("a.tsv"), text, "a refusal changes nothing");
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let folder = folder("solve-bad");
    std::fs::write(folder.join("bad.tsv"), "start\ta1=7\n").unwrap();
    let bad: [&[&str]; 14] = [
        &["solve", "chess"],
        &["solve", "tictactoe", "--position", "?"],
        &["solve", "connect4", "--position", "1122334"],
        &["solve", "tictactoe", "--minutes", "0"],
        &["solve", "tictactoe", "--minutes", "nan"],
        &["solve", "tictactoe", "--table", "0"],
        &["solve", "tictactoe", "--nodes", "0"],
        &["regret", "tictactoe"],
        &["regret", "tictactoe", "--agent", "random"],
        &["regret", "tictactoe", "--agent", "nobody", "--make", "5"],
        &["regret", "tictactoe", "--agent", "random", "--make", "5", "--plies", "6..2"],
        &["regret", "tictactoe", "--agent", "random", "--make", "5", "--plies", "x"],
        &["regret", "tictactoe", "--agent", "random", "--positions", "missing.tsv"],
        &["regret", "tictactoe", "--agent", "random", "--positions", "bad.tsv"],
    ];
    for args in bad {
        let out = ludex(args, "", &folder);
        let line = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {line}");
        assert!(out.stdout.is_empty() && line.trim().lines().count() == 1, "{args:?}: {line}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
}
