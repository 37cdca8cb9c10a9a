//! The manifest of a run, as readers see it: which files are finished, and which of them are the models it ended with.
//!
//! `manifest.jsonl` has a line for each finished part. Whatever is not listed there does not count. Writing it is the
//! business of `ludex-train`; playing with what was learned takes no more than this.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE: &str = "manifest.jsonl";

/// A line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// `generate/0007`, `model/final`
    pub part: String,
    /// Where it is, below the run's directory.
    pub file: String,
    /// Rows of a table; 1 for everything else.
    pub rows: u64,
    /// The sha256 of the file, as hexadecimal digits.
    pub sha256: String,
}

/// Why a manifest gives no models: one line.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The directory is no run, or one that has not learned anything yet.
    #[error("this run has no model yet")]
    NoModel,
}

/// Whole lines of JSON that make sense, up to the first that does not; and how many bytes they are.
pub fn whole_lines<T: DeserializeOwned>(bytes: &[u8]) -> (Vec<T>, usize) {
    let (mut found, mut good) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(item) = line.ends_with(b"\n").then(|| serde_json::from_slice(line).ok()).flatten() else { break };
        found.push(item);
        good += line.len();
    }
    (found, good)
}

/// The entries of a manifest by part, and how many of its bytes count.
pub fn parse(bytes: &[u8]) -> (BTreeMap<String, Entry>, usize) {
    let (entries, good) = whole_lines::<Entry>(bytes);
    (entries.into_iter().map(|e| (e.part.clone(), e)).collect(), good)
}

/// The name of a model that belongs to one role.
pub fn role_model(name: &str, role: usize) -> String {
    if role == 0 { name.into() } else { format!("{name}-{role}") }
}

/// The models that a run ended with, one for each role where roles have their own; those it had when it was stopped, if it
/// has not ended.
pub fn final_models(dir: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let text = match std::fs::read(dir.join(FILE)) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(ManifestError::NoModel),
        other => String::from_utf8_lossy(&other?).into_owned(),
    };
    // Every agent of a contest asks: only lines that may be the one are parsed.
    let lines: Vec<&str> = text.lines().rev().filter(|l| l.contains("\"model/")).collect();
    let find = |part: &str| {
        let mut entries = lines.iter().filter_map(|l| serde_json::from_str::<Entry>(l).ok());
        entries.find(|e| e.part == part).map(|e| dir.join(e.file))
    };
    let all = |name: &str| (0..).map_while(|role| find(&format!("model/{}", role_model(name, role)))).collect();
    let models: [Vec<PathBuf>; 2] = [all("final"), all("stopped")];
    models.into_iter().find(|m| !m.is_empty()).ok_or(ManifestError::NoModel)
}
