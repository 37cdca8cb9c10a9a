//! Every command of the guide, of the README and of the examples in `--help` is run, and what the guide shows is what is in
//! the files.
#![cfg(unix)] // the commands are those of a POSIX shell

mod common;

use common::{folder, printed, refusal, run};
use ludex_play::bundle::READY_MADE;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Verbs, or verbs with an option, that are not run, and why.
const NOT_RUN: [(&str, &str, &str); 4] = [
    ("bench", "--peers", "needs open_spiel and minutes"),
    ("ggp", "", "waits for a host for ever; tests/ggp.rs runs it"),
    ("ggp-server", "", "needs players on the network; tests/ggp.rs runs it"),
    ("serve", "", "serves for ever"),
];

/// Options that make a verb fast. They replace those of the line, or are added to it.
const FAST: [(&str, &[(&str, &str)]); 8] = [
    ("learn", &[("--preset", "tick")]),
    ("reproduce", &[("--preset", "tick"), ("--seeds", "1")]),
    ("match", &[("--games", "2")]),
    ("tournament", &[("--games", "2")]),
    ("regret", &[("--make", "3"), ("--nodes", "1000000")]),
    ("solve", &[("--nodes", "1000000")]),
    ("bench", &[("--seconds", "0.01")]),
    ("tune", &[("--iterations", "1"), ("--population", "2"), ("--elites", "1"), ("--games", "2"), ("--confirm", "2")]),
];

/// How long a line with `--minutes` may learn here.
const MINUTES: &str = "0.03";

/// What such a line measures.
const FEW_GAMES: &str = "--set measure.games=2 --set measure.levels=2 --set measure.level_games=2 \
    --set measure.level_budget=8";

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

/// The fenced blocks of a text: language and content.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut parts = text.split("\n```");
    let mut blocks = Vec::new();
    parts.next();
    while let (Some(block), _) = (parts.next(), parts.next()) {
        let (language, content) = block.split_once('\n').unwrap();
        blocks.push((language.to_string(), format!("{content}\n")));
    }
    blocks
}

/// The block of a language that begins so.
fn block(text: &str, language: &str, start: &str) -> String {
    let found = blocks(text).into_iter().find(|(l, content)| l == language && content.starts_with(start));
    found.unwrap_or_else(|| panic!("the guide has no {language} block that begins with {start:?}")).1
}

/// The commands of the blocks for a shell: lines that call `ludex`, without what explains them after two spaces.
fn commands(text: &str) -> Vec<String> {
    let shell = blocks(text).into_iter().filter(|(language, _)| matches!(language.as_str(), "" | "sh"));
    let lines: Vec<String> = shell.flat_map(|(_, c)| c.lines().map(command).collect::<Vec<_>>()).collect();
    lines.into_iter().filter(|l| verb(l).is_some()).collect()
}

/// The line up to two spaces outside quotes.
fn command(line: &str) -> String {
    let mut quoted = false;
    let end = line.char_indices().find(|&(i, c)| {
        quoted ^= c == '\'';
        !quoted && line[i..].starts_with("  ")
    });
    line[..end.map_or(line.len(), |(i, _)| i)].to_string()
}

/// The verb of `ludex` in a line, if it calls it at its start or behind a pipe.
fn verb(line: &str) -> Option<&str> {
    let call = line.strip_prefix("ludex ").or_else(|| line.split_once("| ludex ").map(|(_, call)| call));
    call?.split_whitespace().next()
}

/// The line with this value for an option.
fn with(line: &str, option: &str, value: &str) -> String {
    match line.split_once(&format!(" {option} ")) {
        Some((before, after)) => {
            let rest = after.split_once(' ').map_or(String::new(), |(_, rest)| format!(" {rest}"));
            format!("{before} {option} {value}{rest}")
        }
        None => with_more(line, &format!("{option} {value}")),
    }
}

/// The line with more options, after its verb.
fn with_more(line: &str, options: &str) -> String {
    let verb = verb(line).unwrap();
    line.replacen(&format!("ludex {verb}"), &format!("ludex {verb} {options}"), 1)
}

/// The same command, made fast. Runs are named after their presets and minutes.
fn fast(line: &str) -> String {
    let mut line = line.replace("-quick-", "-tick-").replace("-hour-", "-tick-");
    // A run of two seconds may have one level only, and has one part of each stage.
    line = line.replace("level:3@", "level:1@").replace("start/0001", "start/0000");
    if verb(&line) == Some("learn") && line.contains(" --minutes ") {
        line = with(&line, "--minutes", MINUTES);
        // A run that is extended keeps what it measures.
        return if line.contains(" --run ") { line } else { with_more(&line, FEW_GAMES) };
    }
    let options = FAST.iter().find(|(v, _)| Some(*v) == verb(&line)).map_or(&[][..], |(_, options)| options);
    options.iter().fold(line, |line, (option, value)| with(&line, option, value))
}

/// Why a command is not run, if it is not.
fn not_run(line: &str) -> Option<&'static str> {
    let listed = NOT_RUN.iter().find(|(v, option, _)| Some(*v) == verb(line) && line.contains(option));
    let listed = listed.map(|(.., why)| *why);
    let level =
        line.contains("--level ") && !line.contains("--model ") || line.contains("level:") && !line.contains('@');
    let none = level && !READY_MADE.iter().any(|(game, _)| line.split([' ', ':']).any(|word| word == *game));
    listed.or(none.then_some("no ready-made levels of this game come with the program"))
}

/// Runs a line in a shell that finds `ludex`. Nothing is typed, but for the engine, which only answers.
fn shell(line: &str, folder: &Path) -> Output {
    let ludex = Path::new(env!("CARGO_BIN_EXE_ludex")).parent().unwrap();
    let path = format!("{}:{}", ludex.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("PATH", path).env("XDG_STATE_HOME", folder.join("state")).env("HOME", folder);
    run(command.current_dir(folder), if verb(line) == Some("engine") { "name\n" } else { "" })
}

/// Runs a line and gives what it printed.
fn tried(line: &str, folder: &Path) -> String {
    let begun = Instant::now();
    let out = shell(line, folder);
    eprintln!("{:5.1} s  {line}", begun.elapsed().as_secs_f64());
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{line}: {error}");
    assert!(!out.stdout.is_empty(), "{line} prints nothing: {error}");
    printed(&out)
}

/// The commands at the end of what `learn` prints.
fn next_lines(text: &str) -> Vec<String> {
    let next = text.split_once("\nnext:").map_or("", |(_, next)| next);
    next.lines().map(|l| l.trim().to_string()).filter(|l| verb(l).is_some()).collect()
}

/// Runs commands in one folder, and then those that they printed; gives the number of the first.
fn all_run(lines: &[String], folder: &Path) -> usize {
    let lines: Vec<String> = lines.iter().map(|line| fast(line)).collect();
    let mut advised = BTreeSet::new();
    for line in &lines {
        match not_run(line) {
            Some(why) => eprintln!("not run: {line} ({why})"),
            None => advised.extend(next_lines(&tried(line, folder)).iter().map(|line| fast(line))),
        }
    }
    let extends = |line: &String| line.starts_with("ludex learn --run ");
    let mut extended = lines.iter().any(extends); // one run that is extended stands for all
    for line in advised.iter().filter(|line| !lines.contains(line) && not_run(line).is_none()) {
        if !(extends(line) && std::mem::replace(&mut extended, true)) {
            tried(line, folder);
        }
    }
    lines.len()
}

/// A folder with our rulesheets.
fn folder_with_rules(test: &str) -> std::path::PathBuf {
    let folder = folder(test);
    std::os::unix::fs::symlink(Path::new(ROOT).join("rules"), folder.join("rules")).unwrap();
    folder
}

#[test]
fn every_command_of_the_readme_runs() {
    let folder = folder_with_rules("readme");
    assert!(all_run(&commands(&read("README.md")), &folder) > 15);
}

/// The examples in the help of a verb, without what other programs do with their output. Long ones are on several lines.
fn examples(verb: &str, folder: &Path) -> Vec<String> {
    let help = printed(&shell(&format!("ludex {verb} --help"), folder));
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in help.lines().skip_while(|l| !l.starts_with("Example")) {
        let text = line.strip_prefix("  ").unwrap_or_default();
        let begins = text.starts_with("ludex ") || text.starts_with("printf ");
        match lines.last_mut() {
            _ if begins => lines.push(text.into()),
            Some(last) if open && !text.is_empty() => *last += &format!(" {text}"),
            _ => {}
        }
        open = begins || open && !text.is_empty();
    }
    let alone = |line: &String| match line.starts_with("ludex ") {
        true => command(line).split(" | ").next().unwrap().split(" > ").next().unwrap().to_string(),
        false => line.clone(),
    };
    lines.iter().map(alone).collect()
}

#[test]
fn every_example_of_the_help_runs() {
    let folder = folder_with_rules("help");
    let help = printed(&shell("ludex --help", &folder));
    let verbs = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let verbs = verbs.filter_map(|l| l.strip_prefix("  ")?.split(' ').next()).filter(|v| !["", "help"].contains(v));
    // What the examples speak of: runs and a game that was left.
    let mut lines = examples("learn", &folder);
    lines.push("ludex learn connect4 --system uct-ccnn".into());
    lines.push("printf '4\\nquit\\n' | ludex play connect4 --first --agent random".into());
    for verb in verbs.filter(|v| *v != "learn") {
        let examples = examples(verb, &folder);
        assert!(!examples.is_empty(), "{verb} has no example");
        lines.extend(examples);
    }
    assert!(all_run(&lines, &folder) > 40);
}

#[test]
fn every_command_of_the_guide_runs_and_its_opponent_is_played_from_python() {
    let (guide, folder) = (read("docs/guide.md"), folder_with_rules("guide"));
    // As the reader does: the sheet and the program are what the guide shows.
    let (sheet, program) = (block(&guide, "lisp", ""), block(&guide, "python", ""));
    assert_eq!(sheet, read("docs/guide/hex5x5.kif"));
    assert_eq!(program, read("docs/guide/opponent.py"));
    std::fs::write(folder.join("hex5x5.kif"), sheet).unwrap();
    std::fs::write(folder.join("opponent.py"), program).unwrap();
    assert!(all_run(&commands(&guide), &folder) > 15);
    let other = ["engine", "connect4", "--model", "runs/hex5x5-td-nnue-tick-1", "--level", "best"];
    assert!(refusal(&common::ludex(&other, "", &folder)).contains("has the levels of hex5x5.kif, not of connect4"));

    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("not run: opponent.py (there is no python3)");
    }
    let line = blocks(&guide).into_iter().flat_map(|(_, c)| c.lines().map(String::from).collect::<Vec<_>>());
    let line = line.into_iter().find(|l| l.starts_with("python3 ")).expect("the guide says how to start its program");
    let said = tried(&fast(&line), &folder);
    assert!(said.contains("the opponent plays (place ") && said.contains("payoffs "), "{said}");
}

#[test]
fn rust_and_rules_of_the_guide_are_those_that_are_tested() {
    let guide = read("docs/guide.md");
    assert_eq!(block(&guide, "rust", "//! Hex"), read("tools/outside/src/hex.rs"));
    let test = read("tools/outside/tests/hex.rs").replace("\n    ", "\n");
    assert!(test.contains(&block(&guide, "rust", "let dir")), "the guide learns as the test does");
}

#[test]
fn mistakes_in_a_sheet_are_found_as_the_guide_says() {
    let (guide, folder, sheet) = (read("docs/guide.md"), folder("mistakes"), read("docs/guide/hex5x5.kif"));
    let mistakes = [
        ("(<= (next (cell ?c ?r ?p)) (true (cell ?c ?r ?p)))", ""),
        ("(<= (legal ?p noop) (true (control ?q)) (other ?q ?p))", ""),
        ("(index ?c) (index ?r) (not (taken ?c ?r))", "(not (taken ?c ?r))"),
        ("terminal (won ?p)", "terminal (win ?p)"),
        ("(true (control ?q)) (other ?q ?p))\n\n", "(true (control ?q)) (other ?q ?p)\n\n"),
    ];
    let rows = guide.lines().skip_while(|l| !l.starts_with("| mistake |")).skip(2).take_while(|l| l.starts_with('|'));
    let promised: Vec<&str> = rows.filter_map(|row| row.rsplit_once("| `")?.1.strip_suffix("` |")).collect();
    assert_eq!(promised.len(), mistakes.len());
    for (promise, (right, wrong)) in promised.iter().zip(mistakes) {
        assert!(sheet.contains(right));
        std::fs::write(folder.join("wrong.kif"), sheet.replacen(right, wrong, 1)).unwrap();
        let out = common::ludex(&["gdl", "check", "wrong.kif"], "", &folder);
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(said.contains(promise), "{promise}: {said}");
    }
}

/// A line after `> ` is sent; the answers stand below.
#[test]
fn the_engine_answers_as_the_guide_says() {
    let guide = read("docs/guide.md");
    let transcript = block(&guide, "text", "> ");
    let sent: String = transcript.lines().filter_map(|l| l.strip_prefix("> ")).map(|l| format!("{l}\n")).collect();
    let out = common::ludex(&["engine", "tictactoe"], &sent, &folder("transcript"));
    let shown: String = transcript.lines().filter(|l| !l.starts_with("> ")).map(|l| format!("{l}\n")).collect();
    assert_eq!(printed(&out).trim_end(), shown.trim_end());

    let out = common::ludex(&["engine", "tictactoe"], "list_commands\n", &folder("commands"));
    for name in printed(&out).trim().trim_start_matches("= ").lines() {
        assert!(guide.contains(&format!("| `{name}")), "the guide does not explain {name}");
    }
}

#[test]
fn lines_are_made_fast_without_losing_anything() {
    assert_eq!(fast("ludex learn connect4"), "ludex learn --preset tick connect4");
    assert_eq!(fast("ludex learn x --preset hour --seed 2"), "ludex learn x --preset tick --seed 2");
    assert_eq!(fast("ludex match a b --games 200"), "ludex match a b --games 2");
    assert_eq!(fast("ludex export runs/a-quick-1"), "ludex export runs/a-tick-1");
    assert_eq!(fast("ludex learn --run a --minutes 10"), format!("ludex learn --run a --minutes {MINUTES}"));
    assert_eq!(command("ludex play 'a  b'   plays"), "ludex play 'a  b'");
    assert_eq!(commands("a\n```sh\nludex games\n./check\n```\n\n```rust\nludex x\n```\n"), ["ludex games"]);
    assert_eq!(verb("printf 'x' | ludex engine connect4"), Some("engine"));
}
