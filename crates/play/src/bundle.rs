//! Bundles: what learning leaves to play against, in one file. Models, graded levels, the hash of the rules, and where it all
//! came from.
//!
//! ```text
//! "ludex bundle 1\n"
//! length of the header, 8 bytes, little endian
//! header, JSON: game, rules_hash, levels, provenance, and the sizes of the models
//! the models, one after the other
//! sha256 of all before, 32 bytes
//! ```
//!
//! A spec `level:3` is level 3 of the ready-made bundle of the game; `level:best@PATH` the best of the bundle in a file or in
//! a run. [`READY_MADE`] has a bundle of each native game with its usual size.

use crate::spec::{Spec, short};
use crate::stats::Estimate;
use crate::{ModelRef, hint};
use ludex_core::GameInfo;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The name of a run's bundle, below its directory.
pub const FILE: &str = "bundle.ludex";

/// How a bundle begins.
const MAGIC: &[u8] = b"ludex bundle 1\n";

/// A larger header is no header.
const LARGEST_HEADER: u64 = 1 << 24;

/// The names of levels, from the weakest to the strongest, and where between these they stand.
pub const LEVEL_NAMES: [(&str, f64); 5] =
    [("beginner", 0.0), ("easy", 0.25), ("medium", 0.5), ("hard", 0.75), ("best", 1.0)];

macro_rules! ready_made {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../bundles/", $name, ".ludex")) as &[u8])),*]
    };
}

/// The bundles that come with the program, by the name of their game; docs/levels.md says how they were made.
pub const READY_MADE: &[(&str, &[u8])] =
    ready_made!["tictactoe" "connect4" "othello" "morris" "dots" "breakthrough" "checkers"];

/// The same, read.
static READ: LazyLock<Vec<(&str, Bundle)>> = LazyLock::new(|| {
    let read = |&(name, bytes): &(&'static str, &[u8])| Some((name, Bundle::from_bytes(bytes).ok()?));
    READY_MADE.iter().filter_map(read).collect()
});

/// An agent of a given strength.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its number, from 1, the weakest.
    pub level: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The agent; in a bundle its models are those of the bundle.
    pub agent: Spec,
    /// Its rating, the random player being 0.
    pub elo: Estimate,
    /// Its score against the level below, or against the random player, and where that lies.
    pub score: Estimate,
    /// Games that the score is from.
    pub games: u64,
}

/// Where a bundle came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BundleProvenance {
    /// The system that learned.
    pub system: String,
    /// The whole config of the run.
    pub config: String,
    /// The seed of the run.
    pub seed: u64,
    /// The version of the program.
    pub version: String,
}

/// Models and graded levels of one game.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The full name of the game.
    pub game: String,
    /// The hash of its rules.
    pub rules_hash: u64,
    /// The levels, the weakest first.
    pub levels: Vec<Level>,
    /// Where it came from.
    pub provenance: BundleProvenance,
    /// The model files, one for all roles or one for each.
    pub models: Vec<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: u32,
    game: String,
    rules_hash: String,
    levels: Vec<Level>,
    provenance: BundleProvenance,
    models: Vec<usize>,
}

/// Why a bundle or a level of it cannot be used: one line.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file cannot be read.
    #[error("cannot read the bundle {}: {}", .0.display(), .1)]
    File(PathBuf, std::io::Error),
    /// The file is no bundle, or was altered.
    #[error("{}: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The bundle is for other rules.
    #[error("{0} has the levels of {1}, not of {2}")]
    OtherGame(String, String, String),
    /// There is no such level.
    #[error("there is no level \"{0}\": {1}")]
    NoLevel(String, String),
    /// No bundle of this game comes with the program.
    #[error("no ready-made levels of {0} come with the program: name a run or a bundle, level:best@PATH")]
    NoReadyMade(String),
}

impl Bundle {
    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            schema: 1,
            game: self.game.clone(),
            rules_hash: format!("{:016x}", self.rules_hash),
            levels: self.levels.clone(),
            provenance: self.provenance.clone(),
            models: self.models.iter().map(Vec::len).collect(),
        };
        let header = serde_json::to_vec(&header).expect("plain data");
        let mut bytes = [MAGIC, &(header.len() as u64).to_le_bytes(), &header].concat();
        self.models.iter().for_each(|m| bytes.extend_from_slice(m));
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads a file; what is wrong with it is one line.
    pub fn from_bytes(bytes: &[u8]) -> Result<Bundle, String> {
        let no_bundle = || "it is no bundle".to_string();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(no_bundle)?;
        let altered = || "the bundle is cut off or was altered".to_string();
        let (whole, sum) = bytes.split_last_chunk::<32>().ok_or_else(altered)?;
        if Sha256::digest(whole)[..] != sum[..] {
            return Err(altered());
        }
        let (length, rest) = rest[..rest.len() - 32].split_first_chunk::<8>().ok_or_else(altered)?;
        let length = Some(u64::from_le_bytes(*length)).filter(|&n| n <= LARGEST_HEADER).ok_or_else(altered)?;
        let (header, mut rest) = rest.split_at_checked(length as usize).ok_or_else(altered)?;
        let header: Header = serde_json::from_slice(header).map_err(|e| format!("its header cannot be read: {e}"))?;
        let rules_hash = u64::from_str_radix(&header.rules_hash, 16).map_err(|_| altered())?;
        let mut models = Vec::new();
        for n in header.models {
            let (model, tail) = rest.split_at_checked(n).ok_or_else(altered)?;
            models.push(model.to_vec());
            rest = tail;
        }
        let Header { game, levels, provenance, .. } = header;
        Ok(Bundle { game, rules_hash, levels, provenance, models })
    }

    /// The bundle that a model reference names: in a file, in a run, or ready-made.
    pub fn read(at: &ModelRef) -> Result<Bundle, BundleError> {
        let path = at.path();
        let damaged = |what| BundleError::Damaged(path.into(), what);
        if let Some(bundle) = at.ready_made() {
            return Ok(bundle.clone());
        }
        let file = if path.is_dir() { path.join(FILE) } else { path.into() };
        let bytes = std::fs::read(&file).map_err(|e| BundleError::File(file, e))?;
        Bundle::from_bytes(&bytes).map_err(damaged)
    }

    /// Whether a file begins as a bundle does.
    pub fn is_bundle(path: &Path) -> bool {
        use std::io::Read;
        let mut start = [0; MAGIC.len()];
        std::fs::File::open(path).is_ok_and(|mut f| f.read_exact(&mut start).is_ok()) && start == *MAGIC
    }

    /// The level of this number or name.
    pub fn level(&self, wanted: &str) -> Result<&Level, BundleError> {
        let count = self.levels.len();
        let number = wanted.parse().ok().or_else(|| named_level(wanted, count));
        let found = number.and_then(|n: usize| self.levels.get(n.checked_sub(1)?));
        found.ok_or_else(|| {
            let names = LEVEL_NAMES.map(|(name, _)| name);
            let there_are = format!("there are 1 to {count} and");
            BundleError::NoLevel(short(wanted), hint(wanted, &there_are, &names))
        })
    }
}

/// The number of the level that a name stands for, where there are so many.
pub fn named_level(name: &str, count: usize) -> Option<usize> {
    let (_, place) = LEVEL_NAMES.iter().find(|(n, _)| *n == name)?;
    Some(1 + (place * count.checked_sub(1)? as f64).round() as usize)
}

/// The name of a level among so many, if it has one.
pub fn level_name(level: usize, count: usize) -> Option<&'static str> {
    let best_first = LEVEL_NAMES.iter().rev().map(|(name, _)| *name);
    // With few levels some names fall together; the ends keep theirs.
    let first = (level == 1).then_some("beginner");
    first.or_else(|| best_first.into_iter().find(|name| named_level(name, count) == Some(level)))
}

/// The ready-made bundle of a game, if one comes with the program.
pub fn ready_made(info: &GameInfo) -> Option<ModelRef> {
    let found = READ.iter().find(|(_, b)| b.rules_hash == info.rules_hash);
    found.map(|(name, _)| ModelRef::new(format!("ready:{name}")))
}

/// The ready-made bundle of this name.
pub(crate) fn ready_made_named(name: &str) -> Option<&'static Bundle> {
    READ.iter().find(|(n, _)| *n == name).map(|(_, b)| b)
}

/// The agent of a level: `3`, `best`, or one of these with `@` and where the bundle is.
pub fn level_agent(text: &str, info: &GameInfo) -> Result<Spec, BundleError> {
    let (wanted, at) = match text.split_once('@') {
        Some((wanted, path)) => (wanted, ModelRef::from(path)),
        None => (text, ready_made(info).ok_or_else(|| BundleError::NoReadyMade(info.name.clone()))?),
    };
    let bundle = Bundle::read(&at)?;
    if bundle.rules_hash != info.rules_hash {
        return Err(BundleError::OtherGame(at.to_string(), bundle.game, info.name.clone()));
    }
    let mut agent = bundle.level(wanted)?.agent.clone();
    if !bundle.models.is_empty() {
        agent.set_model(&at);
    }
    Ok(agent)
}
