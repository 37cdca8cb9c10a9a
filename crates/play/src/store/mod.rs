//! A run: the directory in which a learner keeps all it makes, and the only thing that its programs share.
//!
//! ```text
//! config.toml       what is run: game, system, seed and every option
//! manifest.jsonl    a line for each part or model that is finished: name, file, rows, sha256
//! parts/            what stages made: Parquet tables of examples, JSON
//! models/<sha256>   models, named by their bytes
//! checkpoints/      learners that are not finished yet; may be lost at any time
//! reports/          contests pair by pair, curves, plots, report.json
//! ```
//!
//! A part is a pure function of the config and of earlier parts. It is written aside, synced and renamed, and counts once its
//! line stands in the manifest, synced too. So a run can be killed at any moment and loses at most the parts in the making;
//! running it again makes only what is missing; and whatever is made again has the same bytes on any number of threads, which
//! [`Run::audit`] checks.

mod examples;

pub use examples::{Example, Examples};

use crate::arena::{Contest, ContestError, Manifest, PairResult};
use crate::table::Table;
use ludex_learn::Model;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

/// Why a run cannot go on: one line.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file could not be read or written.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, io::Error),
    /// There is a run already.
    #[error("{} exists: add --resume to go on with it, or choose another --run", .0.display())]
    Exists(PathBuf),
    /// There is no run.
    #[error("{} is not a run: it has no config.toml", .0.display())]
    NoRun(PathBuf),
    /// The run there has another config.
    #[error("{} belongs to another configuration; choose another --run, or give only --run and --resume", .0.display())]
    OtherConfig(PathBuf),
    /// Another program works on it.
    #[error("another program is working on {}", .0.display())]
    Busy(PathBuf),
    /// A contest inside the run failed.
    #[error(transparent)]
    Contest(#[from] ContestError),
    /// The config does not describe anything that can be run.
    #[error("{0}")]
    Config(String),
    /// Something that was learned from cannot be learned from.
    #[error("{0}")]
    Learning(String),
    /// Whoever watched called it off.
    #[error("called off before it was finished; go on with `ludex learn --run .. --resume`")]
    Stopped,
}

impl From<ludex_learn::Error> for RunError {
    fn from(e: ludex_learn::Error) -> Self {
        RunError::Learning(e.to_string())
    }
}

/// Whoever wants to know how a run gets on. Nothing below the command line prints; it is told here.
pub trait Watch: Sync {
    /// A stage of so many parts begins, of which some are done already.
    fn stage(&self, _name: &str, _parts: usize, _done: usize) {}
    /// One more part is done.
    fn part(&self) {}
    /// The stage is finished.
    fn end(&self) {}
    /// Something people should read: a damaged part, an intermediate result.
    fn note(&self, _line: &str) {}
    /// Whether the run is to end soon, as if it had been killed: what is finished is kept.
    fn stopped(&self) -> bool {
        false
    }
}

/// Nobody wants to know.
pub struct Unwatched;

impl Watch for Unwatched {}

/// Something that a stage makes and the store keeps.
pub trait Kept: Sized + Send {
    /// How its files end.
    const SUFFIX: &'static str;
    /// The file.
    fn to_bytes(&self) -> Vec<u8>;
    /// Reads a file whose checksum was right.
    fn from_bytes(bytes: &[u8]) -> Result<Self, String>;
    /// Rows, for the manifest.
    fn rows(&self) -> u64;
}

/// Anything that serde knows, kept as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned + Send> Kept for Json<T> {
    const SUFFIX: &'static str = "json";

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("plain data")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map(Json).map_err(|e| e.to_string())
    }

    fn rows(&self) -> u64 {
        1
    }
}

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

/// A run that this program works on.
pub struct Run<'w> {
    dir: PathBuf,
    manifest: Mutex<File>,
    entries: Mutex<BTreeMap<String, Entry>>,
    threads: usize,
    watch: &'w dyn Watch,
    audit: Option<Audit>,
    /// Held as long as the run is open: nobody else works on it.
    _lock: Option<File>,
}

/// What is made again and compared.
struct Audit {
    wanted: Wanted,
    checked: Mutex<Vec<String>>,
    wrong: Mutex<Vec<String>>,
}

/// Which parts an audit makes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All.
    All,
    /// The last part of each stage.
    Last,
    /// This one.
    Part(String),
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Parts that were made again.
    pub checked: Vec<String>,
    /// What does not agree with the manifest, a line each.
    pub wrong: Vec<String>,
}

const CONFIG: &str = "config.toml";
const MANIFEST: &str = "manifest.jsonl";

/// The name of a part of a stage.
fn part_name(stage: &str, number: usize) -> String {
    format!("{stage}/{number:04}")
}

/// Bytes as a sha256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes aside, syncs, renames: the file is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let failed = |e| RunError::File(path.into(), e);
    let aside = path.with_file_name(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        // The rename itself must be on disk before anything refers to it.
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&aside);
        failed(e)
    })
}

/// The config of the run in a directory.
pub fn config(dir: &Path) -> Result<String, RunError> {
    match fs::read_to_string(dir.join(CONFIG)) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(RunError::NoRun(dir.into())),
        Err(e) => Err(RunError::File(dir.join(CONFIG), e)),
    }
}

/// What is finished in a run, in the order in which it was first committed by name.
pub fn entries(dir: &Path) -> Result<Vec<Entry>, RunError> {
    config(dir)?;
    let path = dir.join(MANIFEST);
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(RunError::File(path, e)),
    };
    Ok(parse(&text).0.into_values().collect())
}

/// The model that a run ended with; of several, that of the first role.
pub fn last_model(dir: &Path) -> Result<PathBuf, RunError> {
    last_models(dir).map(|mut models| models.swap_remove(0))
}

/// The models that a run ended with, one for each role where roles have their own; those it had when it was called off, if it
/// did not end yet.
pub fn last_models(dir: &Path) -> Result<Vec<PathBuf>, RunError> {
    config(dir)?;
    let path = dir.join(MANIFEST);
    let text = fs::read_to_string(&path).map_err(|e| RunError::File(path, e))?;
    // Every agent of a contest asks: only lines that may be the one are read.
    let lines: Vec<&str> =
        text.lines().rev().filter(|l| l.contains("model/final") || l.contains("model/stopped")).collect();
    let find = |part: &str| {
        let entries = lines.iter().filter_map(|l| serde_json::from_str::<Entry>(l).ok());
        entries.into_iter().find(|e| e.part == part).map(|e| dir.join(e.file))
    };
    let all =
        |name: &str| (0..).map_while(|role| find(&format!("model/{}", role_model(name, role)))).collect::<Vec<_>>();
    let models = [all("final"), all("stopped")].into_iter().find(|m| !m.is_empty());
    models.ok_or_else(|| {
        RunError::Learning("this run has no model yet; go on with `ludex learn --run .. --resume`".into())
    })
}

/// What a model is called that belongs to one role.
pub fn role_model(name: &str, role: usize) -> String {
    if role == 0 { name.into() } else { format!("{name}-{role}") }
}

/// Begins a run with finished stages of another, which must be made from the same options: the files are copied and committed
/// again, and the checksums are looked at when they are used. Nothing happens if the run exists.
pub fn branch(from: &Path, to: &Path, config_text: &str, stages: &[&str]) -> Result<(), RunError> {
    if to.join(CONFIG).exists() {
        return Ok(());
    }
    let run = Run::open(to, config_text, false, 1, &Unwatched)?;
    for entry in entries(from)? {
        let stage = entry.part.split('/').next().unwrap_or_default();
        if stages.contains(&stage) {
            let (source, copy) = (from.join(&entry.file), to.join(&entry.file));
            let bytes = fs::read(&source).map_err(|e| RunError::File(source, e))?;
            write_whole(&copy, &bytes)?;
            run.commit(entry)?;
        }
    }
    Ok(())
}

/// Whole lines that make sense, up to the first that does not, and how many bytes they are.
fn parse(bytes: &[u8]) -> (BTreeMap<String, Entry>, usize) {
    let (mut entries, mut good) = (BTreeMap::new(), 0);
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let entry = line.ends_with(b"\n").then(|| serde_json::from_slice::<Entry>(line).ok()).flatten();
        let Some(entry) = entry else { break };
        entries.insert(entry.part.clone(), entry);
        good += line.len();
    }
    (entries, good)
}

impl<'w> Run<'w> {
    /// Begins a run, or goes on with it.
    pub fn open(
        dir: &Path,
        config_text: &str,
        resume: bool,
        threads: usize,
        watch: &'w dyn Watch,
    ) -> Result<Self, RunError> {
        let failed = |path: PathBuf| move |e| RunError::File(path, e);
        match config(dir) {
            Ok(_) if !resume => return Err(RunError::Exists(dir.into())),
            Ok(text) if text != config_text => return Err(RunError::OtherConfig(dir.into())),
            Ok(_) => {}
            Err(RunError::NoRun(_)) => {
                for folder in ["parts", "models", "checkpoints", "reports"] {
                    fs::create_dir_all(dir.join(folder)).map_err(failed(dir.join(folder)))?;
                }
                write_whole(&dir.join(CONFIG), config_text.as_bytes())?;
            }
            Err(e) => return Err(e),
        }
        let lock = lock(dir)?;
        let path = dir.join(MANIFEST);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed(path.clone()))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed(path.clone()))?;
        let (entries, good) = parse(&bytes);
        if good < bytes.len() {
            // A line that was cut off when the program was, or damaged since; what it stood for is made again.
            file.set_len(good as u64).map_err(failed(path))?;
        }
        let (manifest, entries) = (Mutex::new(file), Mutex::new(entries));
        Ok(Run { dir: dir.into(), manifest, entries, threads: threads.max(1), watch, audit: None, _lock: Some(lock) })
    }

    /// Opens a finished run to make parts again and compare them; nothing is written.
    pub fn audit(dir: &Path, wanted: Wanted, threads: usize, watch: &'w dyn Watch) -> Result<Self, RunError> {
        let path = dir.join(MANIFEST);
        let all = entries(dir)?.into_iter().map(|e| (e.part.clone(), e)).collect();
        let file = File::open(&path).map_err(|e| RunError::File(path, e))?;
        let audit = Audit { wanted, checked: Mutex::default(), wrong: Mutex::default() };
        let (manifest, entries) = (Mutex::new(file), Mutex::new(all));
        Ok(Run { dir: dir.into(), manifest, entries, threads: threads.max(1), watch, audit: Some(audit), _lock: None })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Threads to work with; results do not depend on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Who is told.
    pub fn watch(&self) -> &dyn Watch {
        self.watch
    }

    /// Whether this is an audit, which writes nothing.
    pub fn auditing(&self) -> bool {
        self.audit.is_some()
    }

    /// What an audit found, files that cannot be read included.
    pub fn findings(&self) -> Findings {
        let take = |m: &Mutex<Vec<String>>| {
            let mut lines = m.lock().expect("no panic while it is held").clone();
            lines.sort();
            lines
        };
        self.audit
            .as_ref()
            .map_or(Findings::default(), |a| Findings { checked: take(&a.checked), wrong: take(&a.wrong) })
    }

    fn entry(&self, part: &str) -> Option<Entry> {
        self.entries.lock().expect("no panic while it is held").get(part).cloned()
    }

    /// Commits a file that has been written.
    fn commit(&self, entry: Entry) -> Result<(), RunError> {
        let failed = |e| RunError::File(self.dir.join(MANIFEST), e);
        let line = serde_json::to_string(&entry).expect("plain data") + "\n";
        let mut file = self.manifest.lock().expect("no panic while it is held");
        let before = file.metadata().map_err(failed)?.len();
        if let Err(e) = file.write_all(line.as_bytes()).and_then(|()| file.sync_data()) {
            let _ = file.set_len(before); // half a line would hide those after it
            return Err(failed(e));
        }
        self.entries.lock().expect("no panic while it is held").insert(entry.part.clone(), entry);
        Ok(())
    }

    /// The committed part, if its file is as it was committed. A damaged file is set aside and reported.
    fn kept<T: Kept>(&self, part: &str) -> Result<Option<T>, RunError> {
        let Some(entry) = self.entry(part) else { return Ok(None) };
        let path = self.dir.join(&entry.file);
        let problem = match fs::read(&path) {
            Ok(bytes) if sha256(&bytes) != entry.sha256 => "its file was altered".to_string(),
            Ok(bytes) => match T::from_bytes(&bytes) {
                Ok(part) => return Ok(Some(part)),
                Err(e) => e,
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => "its file is gone".to_string(),
            Err(e) => return Err(RunError::File(path, e)),
        };
        if let Some(audit) = &self.audit {
            let line = format!("{part}: {problem}");
            audit.wrong.lock().expect("no panic while it is held").push(line);
            return Ok(None);
        }
        let aside = path.with_extension("damaged");
        let kept = match fs::rename(&path, &aside) {
            Ok(()) => format!("; the damaged file is kept as {}", aside.display()),
            Err(_) => String::new(),
        };
        self.watch.note(&format!("part {part} is made again: {problem}{kept}"));
        Ok(None)
    }

    /// Makes what is missing of a stage of so many parts, in parallel, and gives all of them in order.
    pub fn stage<T: Kept>(
        &self,
        stage: &str,
        parts: usize,
        work: impl Fn(usize) -> T + Sync,
    ) -> Result<Vec<T>, RunError> {
        let mut all: Vec<Option<T>> = Vec::with_capacity(parts);
        for i in 0..parts {
            all.push(self.kept(&part_name(stage, i))?);
        }
        let last_only = self.audit.as_ref().is_some_and(|a| a.wanted == Wanted::Last);
        let again = |i: usize| self.again(&part_name(stage, i)) && (!last_only || i + 1 == parts);
        let todo: Vec<usize> = (0..parts).filter(|&i| all[i].is_none() || again(i)).collect();
        self.watch.stage(stage, parts, parts - todo.len());
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(todo.len()) {
                let (sender, next, todo, work, stop) = (sender.clone(), &next, &todo, &work, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed)
                        && !self.watch.stopped()
                        && let Some(&i) = todo.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let made = work(i);
                        let result = self.keep(&part_name(stage, i), &made).map(|()| (i, made));
                        stop.fetch_or(result.is_err(), Ordering::Relaxed);
                        if sender.send(result).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for result in receiver {
                let (i, made) = result?;
                self.watch.part();
                all[i] = Some(made);
            }
            Ok::<(), RunError>(())
        })?;
        self.watch.end();
        all.into_iter().collect::<Option<_>>().ok_or(RunError::Stopped)
    }

    /// Whether an audit makes this single part again.
    fn again(&self, part: &str) -> bool {
        match self.audit.as_ref().map(|a| &a.wanted) {
            Some(Wanted::All | Wanted::Last) => true,
            Some(Wanted::Part(p)) => p == part,
            None => false,
        }
    }

    /// A part that stands by itself, if it is finished (and no audit wants it made again).
    pub fn find<T: Kept>(&self, part: &str) -> Result<Option<T>, RunError> {
        if self.again(part) { Ok(None) } else { self.kept(part) }
    }

    /// Writes and commits a part; an audit compares it instead.
    pub fn keep<T: Kept>(&self, part: &str, made: &T) -> Result<(), RunError> {
        let bytes = made.to_bytes();
        let hash = sha256(&bytes);
        if self.compare(part, &hash) {
            return Ok(());
        }
        let file = format!("parts/{}.{}", part.replace('/', "-"), T::SUFFIX);
        write_whole(&self.dir.join(&file), &bytes)?;
        if self.entry(part).is_some_and(|e| e.sha256 != hash) {
            self.watch.note(&format!("part {part} came out differently than before: another version made it"));
        }
        self.commit(Entry { part: part.into(), file, rows: made.rows(), sha256: hash })
    }

    /// In an audit, notes whether what was made again is what was committed.
    fn compare(&self, part: &str, hash: &str) -> bool {
        let Some(audit) = &self.audit else { return false };
        audit.checked.lock().expect("no panic while it is held").push(part.into());
        let problem = match self.entry(part) {
            None => Some(format!("{part}: was never finished")),
            Some(e) if e.sha256 != hash => Some(format!("{part}: made again it has other bytes")),
            Some(_) => None,
        };
        audit.wrong.lock().expect("no panic while it is held").extend(problem);
        true
    }

    /// The model of this name, if it is finished (and no audit wants it made again).
    pub fn find_model(&self, name: &str) -> Result<Option<Model>, RunError> {
        Ok(self.find(&format!("model/{name}"))?.map(|KeptModel(model)| model))
    }

    /// Writes and commits a model; an audit compares it instead.
    pub fn keep_model(&self, name: &str, model: &Model) -> Result<(), RunError> {
        let part = format!("model/{name}");
        let bytes = model.to_bytes();
        let hash = sha256(&bytes);
        if self.compare(&part, &hash) {
            return Ok(());
        }
        let file = format!("models/{hash}");
        write_whole(&self.dir.join(&file), &bytes)?;
        self.commit(Entry { part, file, rows: 1, sha256: hash })
    }

    /// Where the model of this name is, if it is finished.
    pub fn model_path(&self, name: &str) -> Option<PathBuf> {
        self.entry(&format!("model/{name}")).map(|e| self.dir.join(e.file))
    }

    /// What an unfinished learner saved. An audit learns from the beginning.
    pub fn checkpoint(&self, name: &str) -> Option<Vec<u8>> {
        if self.auditing() { None } else { fs::read(self.dir.join("checkpoints").join(name)).ok() }
    }

    /// Saves an unfinished learner.
    pub fn save_checkpoint(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        if self.auditing() {
            return Ok(());
        }
        write_whole(&self.dir.join("checkpoints").join(name), bytes)
    }

    /// Forgets a learner that is finished.
    pub fn drop_checkpoint(&self, name: &str) {
        if !self.auditing() {
            let _ = fs::remove_file(self.dir.join("checkpoints").join(name));
        }
    }

    /// Writes something for people.
    pub fn report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, RunError> {
        let path = self.dir.join("reports").join(name);
        if !self.auditing() {
            write_whole(&path, bytes)?;
        }
        Ok(path)
    }

    /// Plays what is missing of a contest, pair by pair, and keeps it under this name.
    pub fn contest(&self, name: &str, table: &dyn Table, contest: &Contest) -> Result<Vec<PairResult>, RunError> {
        let path = self.dir.join("reports").join(format!("{name}.jsonl"));
        let (mut manifest, done) = Manifest::open(&path, contest)?;
        self.watch.stage(name, contest.len(), done.len());
        let stop = AtomicBool::new(false);
        let mut failed = None;
        let results = contest.run(table, done, self.threads, &stop, |result| {
            self.watch.part();
            if let Err(e) = manifest.add(result) {
                failed.get_or_insert(e);
                stop.store(true, Ordering::Relaxed);
            }
            stop.fetch_or(self.watch.stopped(), Ordering::Relaxed);
        })?;
        self.watch.end();
        match failed {
            Some(e) => Err(e.into()),
            None if stop.into_inner() => Err(RunError::Stopped),
            None => Ok(results),
        }
    }
}

/// Makes sure that nobody else works in the directory.
fn lock(dir: &Path) -> Result<File, RunError> {
    let path = dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| RunError::File(path.clone(), e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(RunError::Busy(dir.into())),
        // Some file systems know no locks: then whoever starts two programs must know what they do.
        Err(fs::TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(fs::TryLockError::Error(e)) => Err(RunError::File(path, e)),
    }
}

struct KeptModel(Model);

impl Kept for KeptModel {
    const SUFFIX: &'static str = "";

    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        Model::from_bytes(bytes).map(KeptModel).map_err(|e| e.to_string())
    }

    fn rows(&self) -> u64 {
        1
    }
}
