//! Finding Python and its packages. A missing peer is said on stderr and skipped, unless LUDEX_REQUIRE_PEERS=1.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A Python that has these packages, or `None` after saying that it is missing.
pub fn python(packages: &[&str]) -> Option<PathBuf> {
    let local = root().join("target/venv/bin/python");
    let python = match std::env::var_os("LUDEX_PYTHON") {
        Some(path) => path.into(),
        None if local.exists() => local,
        None => "python3".into(),
    };
    // Looked up, not imported: an import takes seconds.
    let test = format!("import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {packages:?})))");
    let found = Command::new(&python).args(["-c", &test]).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    if !found {
        let line = format!("no Python with {}", packages.join(", "));
        assert!(std::env::var_os("LUDEX_REQUIRE_PEERS").is_none_or(|v| v != "1"), "{line}");
        // Not `eprintln!`, which the test harness would swallow.
        let _ = writeln!(std::io::stderr(), "skipped: {line}");
        return None;
    }
    Some(python)
}

/// Runs a script of `tools/nets` with this on its stdin; gives its stdout.
pub fn run(python: &Path, script: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(python)
        .arg(root().join("tools/nets").join(script))
        .args(arguments)
        .env("OPENBLAS_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the script reads");
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "{script} failed");
    String::from_utf8(output.stdout).expect("text")
}
