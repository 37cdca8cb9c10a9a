//! What tests of the real binary share.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program that has not ended by then never will; far more than any of them needs on a busy machine.
const FOREVER: Duration = Duration::from_secs(300);

/// An empty folder for one test, so that results kept on disk do not meet.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the binary in a folder with this input, and gives what it printed.
///
/// # Panics
/// If it does not end.
pub fn ludex(args: &[&str], input: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ludex"));
    // Games that tests leave do not meet those of whoever runs them.
    command.env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"));
    run(command.args(args).current_dir(folder), input)
}

/// Runs a command with this input.
///
/// # Panics
/// If it does not end.
pub fn run(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_string());
    // A program that refuses its arguments may be gone before it reads anything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let reader = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let stdout = reader(Box::new(child.stdout.take().unwrap()));
    let stderr = reader(Box::new(child.stderr.take().unwrap()));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > FOREVER {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    writer.join().unwrap();
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// What a command that succeeds prints.
pub fn printed(out: &Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout.clone()).unwrap()
}

/// The one line with which a command refuses what was typed.
pub fn refusal(out: &Output) -> String {
    let line = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{line}");
    assert!(out.stdout.is_empty() && line.trim().lines().count() == 1, "{line}");
    line
}
