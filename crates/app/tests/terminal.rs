//! Terminal play through a pseudo-terminal: what a person sees who sits there.
#![cfg(unix)]

use pty_process::Size;
use pty_process::blocking::{Command, Pty};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Far more than anything needs on a busy machine.
const FOREVER: Duration = Duration::from_secs(120);

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// `ludex play` with somebody at its terminal.
struct Person {
    pty: Arc<Pty>,
    child: Child,
    /// What was printed and not read yet.
    printed: Arc<(Mutex<Vec<u8>>, Condvar)>,
}

impl Person {
    fn new(args: &[&str], folder: &Path, variables: &[(&str, &str)]) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(Size::new(40, 100)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_ludex")).arg("play").args(args).current_dir(folder);
        let command = command.env_remove("NO_COLOR").env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        let command = command.env("XDG_STATE_HOME", folder.join("state"));
        let child = command.envs(variables.iter().copied()).spawn(pts).unwrap();
        let (pty, printed) = (Arc::new(pty), Arc::<(Mutex<Vec<u8>>, Condvar)>::default());
        let (reader, filled) = (pty.clone(), printed.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose program has ended is an error to read from, on Linux.
            while let Ok(n @ 1..) = (&*reader).read(&mut bytes) {
                filled.0.lock().unwrap().extend_from_slice(&bytes[..n]);
                filled.1.notify_all();
            }
        });
        Person { pty, child, printed }
    }

    fn press(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for one of these texts, and gives its number and all that was printed up to its end, with colours.
    fn wait(&self, texts: &[&str]) -> (usize, String) {
        let found = |printed: &[u8]| {
            let text = String::from_utf8_lossy(printed).into_owned();
            let ends = texts.iter().enumerate().filter_map(|(i, t)| text.find(t).map(|at| (at + t.len(), i)));
            ends.min().map(|(end, i)| (i, text[..end].to_string()))
        };
        let mut printed = self.printed.0.lock().unwrap();
        loop {
            if let Some((i, text)) = found(&printed) {
                // What was cut within a character would be replaced; here nothing before the end was.
                printed.drain(..text.len());
                return (i, text);
            }
            let (next, late) = self.printed.1.wait_timeout(printed, FOREVER).unwrap();
            printed = next;
            let so_far = String::from_utf8_lossy(&printed).into_owned();
            assert!(!late.timed_out(), "none of {texts:?} in {so_far:?}");
        }
    }

    fn see(&self, text: &str) -> String {
        self.wait(&[text]).1
    }

    /// Types a line at the prompt, and waits for a text in the answer.
    fn answer(&self, line: &str, text: &str) -> String {
        self.press(&format!("{line}\r"));
        self.see("\n"); // the line itself
        self.see(text)
    }

    /// Plays the first legal moves until the game is over.
    fn play_to_the_end(&self) {
        loop {
            self.answer("moves", "You can play: ");
            let moves = self.see("\n");
            self.press(&format!("{}\r", moves.split_whitespace().next().unwrap()));
            if self.wait(&["X plays", "O plays", "rematch, undo, quit> "]).0 == 2 {
                return;
            }
            if self.wait(&["X> ", "O> ", "rematch, undo, quit> "]).0 == 2 {
                return;
            }
        }
    }

    /// Waits for the end of the program, which must have succeeded.
    fn end(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_whole_game_with_mistakes_and_undo_and_a_review() {
    let folder = folder("terminal-game");
    let person = Person::new(&["tictactoe", "--first", "--agent", "minimax(depth=9)", "--seed", "1"], &folder, &[]);
    assert!(person.see("X> ").contains("you are X (●)"));
    person.answer("z9", "\"z9\" is not a legal move here");
    person.answer("\u{e4}", "is not a legal move here");
    person.answer("RULES", "b2 is column b");
    person.answer("A1", "O plays");
    let board = person.see("X> ");
    assert!(board.contains("\u{1b}[1;31m●\u{1b}[0m"), "{board:?}");
    assert!(board.contains("\u{1b}[1;36;7m○\u{1b}[0m"), "the last move is marked: {board:?}");
    // Two lines up in the history is the last command but one.
    person.press("\u{1b}[A\u{1b}[A\r");
    person.see("b2 is column b");
    person.see("X> ");
    let board = person.answer("undo", "X> ");
    assert!(board.contains("Taken back.") && !board.contains('○'), "{board:?}");
    person.answer("eval", "Your chances: 50 %");
    person.answer("hint", "would play");
    person.play_to_the_end();
    person.answer("review", "judged by minimax");
    person.answer("a1", "The game is over");
    person.answer("undo", "Taken back.");
    person.see("X> ");
    person.answer("resign", "You resign; O wins.");
    person.see("quit> ");
    person.answer("rematch", "you are O (○).");
    person.see("X plays");
    person.see("O> ");
    person.play_to_the_end();
    person.press("\u{4}");
    person.see("Good-bye.");
    person.end();
    assert_eq!(std::fs::read_dir(folder.join("state/ludex")).unwrap().count(), 0, "finished games are not kept");
}

#[test]
fn a_narrow_terminal_is_enough() {
    let person = Person::new(&["checkers", "--first", "--agent", "random"], &folder("terminal-narrow"), &[]);
    person.see("X> ");
    person.pty.resize(Size::new(24, 50)).unwrap();
    for (command, last) in [("help", "thinks move"), ("rules", "moves up."), ("moves", "h"), ("a9", "You can play")] {
        person.press(&format!("{command}\r"));
        person.see("\n");
        let answer = person.see(last) + &person.see("X> ");
        let wide = answer.lines().find(|l| l.trim_end().chars().count() > 50 && !l.contains('\u{1b}'));
        assert_eq!(wide, None, "{answer:?}");
    }
    person.press("\u{4}");
    person.see("Good-bye.");
    person.end();
}

#[test]
fn a_game_is_saved_and_loaded_and_resumed() {
    let folder = folder("terminal-save");
    let sheet = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/tictactoe.kif");
    let person = Person::new(&[sheet, "--first", "--agent", "uct(sims=50)", "--seed", "3"], &folder, &[]);
    person.see("> ");
    person.answer("mark", "Which one: (mark 1 1)");
    person.answer("1 2", "plays (mark");
    person.see("> ");
    person.answer("save my game", "Saved in my game.");
    person.see("ludex play --load 'my game'");
    std::fs::write(folder.join("mine"), "kept").unwrap();
    person.answer("save mine", "is not a saved game: choose another name");
    person.answer("undo", "Taken back.");
    person.answer("load nowhere", "cannot read nowhere");
    person.answer("load my game", "against uct(sims=50)");
    person.answer("1 2", "is not a legal move here");
    person.see("> "); // the terminal hears Ctrl-D as a key only while it asks
    person.press("\u{4}");
    person.see("--resume");
    person.see("Good-bye.");
    person.end();
    assert_eq!(std::fs::read_to_string(folder.join("mine")).unwrap(), "kept");
    for args in [vec!["--load", "my game"], vec![sheet, "--resume"], vec!["--resume"]] {
        let person = Person::new(&args, &folder, &[]);
        person.see("> ");
        person.answer("1 2", "is not a legal move here");
        person.answer("quit", "Good-bye.");
        person.end();
    }
}

#[test]
fn ctrl_c_makes_the_agent_move_and_asks_at_the_prompt() {
    let folder = folder("terminal-ctrl-c");
    let person = Person::new(&["othello", "--second", "--agent", "uct(ms=600000)"], &folder, &[]);
    person.see("thinking ..");
    person.see("% for X");
    person.press("\u{3}");
    person.see("X plays");
    person.see("O> ");
    person.press("hint\r");
    person.see("% for O");
    person.press("\u{3}");
    person.see("would play");
    person.see("O> ");
    person.press("\u{3}");
    person.see("Leave the game?");
    person.press("n\r");
    person.see("O> ");
    person.press("\u{3}");
    person.see("Leave the game?");
    person.press("y\r");
    person.see("ludex play othello:8x8 --resume");
    person.see("Good-bye.");
    person.end();
}

#[test]
fn a_terminal_without_colour_gets_plain_text() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let person =
            Person::new(&["tictactoe", "--first", "--agent", "random"], &folder("terminal-plain"), &[(name, value)]);
        person.see("X> ");
        let answer = person.answer("b2", "plays") + &person.see("X> ");
        assert!(answer.contains("2 - X") || answer.contains("2 O X"), "{answer:?}");
        assert!(!answer.contains("\u{1b}[1") && !answer.contains('●'), "{answer:?}");
        person.press("\u{4}");
        person.see("Good-bye.");
        person.end();
    }
}
