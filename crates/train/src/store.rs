//! A run: the directory in which a learner keeps all it makes, and the only thing that its programs share.
//!
//! ```text
//! config.toml       what is run: game, system, seed and every option
//! manifest.jsonl    a line for each part or model that is finished: name, file, rows, sha256
//! parts/            what stages made: Parquet tables of examples, JSON
//! models/<sha256>   models, named by their bytes
//! checkpoints/      learners that are not finished yet; may be lost at any time
//! reports/          contests pair by pair, curves, plots, report.json
//! bundle.ludex      what people take away: the models and graded levels in one file
//! ```
//!
//! A part is a pure function of the config and of earlier parts. It is written aside, synced and renamed, and counts once its
//! line stands in the manifest, synced too. So a run can be killed at any moment and loses at most the parts in the making;
//! running it again makes only what is missing; and whatever is made again has the same bytes on any number of threads, which
//! [`Run::audit`] checks.

use ludex_learn::Model;
use ludex_play::arena::{Contest, ContestError, Manifest, PairResult};
use ludex_play::manifest::{self, Entry};
use ludex_play::{SpecError, Stop, Table, in_parallel, lock};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why a run cannot go on: one line.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file could not be read or written.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, io::Error),
    /// There is a run already.
    #[error("{} holds a run already", .0.display())]
    Exists(PathBuf),
    /// There is no run.
    #[error("{} is not a run: it has no config.toml", .0.display())]
    NoRun(PathBuf),
    /// The run there has another config.
    #[error("{} belongs to another configuration", .0.display())]
    OtherConfig(PathBuf),
    /// Another program works on it.
    #[error("another program is working on {}", .0.display())]
    Busy(PathBuf),
    /// A contest inside the run failed.
    #[error(transparent)]
    Contest(#[from] ContestError),
    /// The options do not describe anything that can be run.
    #[error("{0}")]
    Options(String),
    /// An agent that the options describe cannot be built.
    #[error("{0}: {1}")]
    Agent(String, SpecError),
    /// Something that was learned from cannot be learned from, or an agent failed.
    #[error("{0}")]
    Learning(String),
    /// The observer asked to stop.
    #[error("stopped before it was finished")]
    Stopped,
}

/// What a run gives, or why it cannot go on.
pub type Result<T, E = RunError> = std::result::Result<T, E>;

impl From<ludex_learn::Error> for RunError {
    fn from(e: ludex_learn::Error) -> Self {
        RunError::Learning(e.to_string())
    }
}

/// Receives the progress of a run, and may stop it. Nothing below the command line prints.
pub trait RunObserver: Send + Sync {
    /// The run has come to this step of all ([`crate::driver::STEPS`]); the steps after it may take so many seconds.
    fn step(&self, _number: usize, _seconds_after: f64) {}
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

/// Ignores progress.
pub struct Silent;

impl RunObserver for Silent {}

/// What a stage makes and the store keeps.
pub trait Artifact: Sized + Send {
    /// How its files end.
    const SUFFIX: &'static str;
    /// The file.
    fn to_bytes(&self) -> Vec<u8>;
    /// Reads a file whose checksum was right.
    fn from_bytes(bytes: &[u8]) -> Result<Self, String>;
    /// Rows, for the manifest.
    fn rows(&self) -> u64 {
        1
    }
}

/// Anything that serde knows, kept as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned + Send> Artifact for Json<T> {
    const SUFFIX: &'static str = "json";

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("plain data")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map(Json).map_err(|e| e.to_string())
    }
}

impl Artifact for Model {
    const SUFFIX: &'static str = "";

    fn to_bytes(&self) -> Vec<u8> {
        Model::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        Model::from_bytes(bytes).map_err(|e| e.to_string())
    }
}

/// A run that this program works on.
pub struct Run {
    dir: PathBuf,
    manifest: Mutex<File>,
    entries: Mutex<BTreeMap<String, Entry>>,
    threads: usize,
    observer: Arc<dyn RunObserver>,
    /// How often unfinished learners are saved; zero: after every step.
    pub checkpoint_interval: Duration,
    audit: Option<Audit>,
    /// Held as long as the run is open: nobody else works on it.
    _lock: Option<File>,
}

/// What is made again and compared.
struct Audit {
    wanted: Audited,
    findings: Mutex<Findings>,
}

/// Which parts an audit makes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audited {
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
const MANIFEST: &str = manifest::FILE;
/// The stage whose parts are models.
const MODEL: &str = "model/";

/// The name of a part of a stage.
fn part_name(stage: &str, number: usize) -> String {
    format!("{stage}/{number:04}")
}

/// Bytes as a sha256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes aside, syncs, renames: the file is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
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
        RunError::File(path.into(), e)
    })
}

/// The config of the run in a directory.
pub fn config(dir: &Path) -> Result<String> {
    match fs::read_to_string(dir.join(CONFIG)) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(RunError::NoRun(dir.into())),
        Err(e) => Err(RunError::File(dir.join(CONFIG), e)),
    }
}

/// What is finished in a run, by part.
pub fn entries(dir: &Path) -> Result<Vec<Entry>> {
    config(dir)?;
    let path = dir.join(MANIFEST);
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(RunError::File(path, e)),
    };
    Ok(manifest::parse(&text).0.into_values().collect())
}

/// Whether two configs describe the same run: which version of the program wrote them does not count.
fn same_config(a: &str, b: &str) -> bool {
    let read = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        table.remove("version");
        Some(table)
    };
    a == b || read(a).is_some_and(|a| Some(a) == read(b))
}

/// Begins a run with finished stages of another, which must be made from the same options: the files are copied and committed
/// again, and the checksums are looked at when they are used. Nothing happens if the run exists.
pub fn branch(from: &Path, to: &Path, config_text: &str, stages: &[&str]) -> Result<()> {
    if to.join(CONFIG).exists() {
        return Ok(());
    }
    let run = Run::open(to, config_text, false, 1, Arc::new(Silent))?;
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

impl Run {
    /// Begins a run, or goes on with it.
    pub fn open(
        dir: &Path,
        config_text: &str,
        resume: bool,
        threads: usize,
        observer: Arc<dyn RunObserver>,
    ) -> Result<Self> {
        let failed = |path: PathBuf| move |e| RunError::File(path, e);
        match config(dir) {
            Ok(_) if !resume => return Err(RunError::Exists(dir.into())),
            Ok(text) if !same_config(&text, config_text) => return Err(RunError::OtherConfig(dir.into())),
            Ok(_) => {}
            Err(RunError::NoRun(_)) => {
                for folder in ["parts", "models", "checkpoints", "reports"] {
                    fs::create_dir_all(dir.join(folder)).map_err(failed(dir.join(folder)))?;
                }
                write_whole(&dir.join(CONFIG), config_text.as_bytes())?;
            }
            Err(e) => return Err(e),
        }
        let lock = exclusive(dir)?;
        let path = dir.join(MANIFEST);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed(path.clone()))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed(path.clone()))?;
        let (entries, good) = manifest::parse(&bytes);
        if good < bytes.len() {
            // A line that was cut off when the program was, or damaged since; what it stood for is made again.
            file.set_len(good as u64).map_err(failed(path))?;
        }
        Ok(Run { _lock: Some(lock), ..Run::new(dir, (file, entries), threads, observer) })
    }

    /// Opens a finished run to make parts again and compare them; nothing is written.
    pub fn audit(dir: &Path, wanted: Audited, threads: usize, observer: Arc<dyn RunObserver>) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let all = entries(dir)?.into_iter().map(|e| (e.part.clone(), e)).collect();
        let file = File::open(&path).map_err(|e| RunError::File(path, e))?;
        let audit = Some(Audit { wanted, findings: Mutex::default() });
        Ok(Run { audit, ..Run::new(dir, (file, all), threads, observer) })
    }

    fn new(
        dir: &Path,
        (manifest, entries): (File, BTreeMap<String, Entry>),
        threads: usize,
        observer: Arc<dyn RunObserver>,
    ) -> Self {
        let (manifest, entries) = (Mutex::new(manifest), Mutex::new(entries));
        let (dir, threads, checkpoint_interval) = (dir.into(), threads.clamp(1, 1024), Duration::from_secs(2));
        Run { dir, manifest, entries, threads, observer, checkpoint_interval, audit: None, _lock: None }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Threads to work with; results do not depend on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The observer of its progress.
    pub fn observer(&self) -> &dyn RunObserver {
        &*self.observer
    }

    /// Whether this is an audit, which writes nothing.
    pub fn auditing(&self) -> bool {
        self.audit.is_some()
    }

    /// What an audit found, files that cannot be read included.
    pub fn findings(&self) -> Findings {
        let mut found = self.audit.as_ref().map_or(Findings::default(), |a| lock(&a.findings).clone());
        found.checked.sort();
        found.wrong.sort();
        found
    }

    fn entry(&self, part: &str) -> Option<Entry> {
        lock(&self.entries).get(part).cloned()
    }

    /// Commits a file that has been written.
    fn commit(&self, entry: Entry) -> Result<()> {
        let failed = |e| RunError::File(self.dir.join(MANIFEST), e);
        let line = serde_json::to_string(&entry).expect("plain data") + "\n";
        let mut file = lock(&self.manifest);
        let before = file.metadata().map_err(failed)?.len();
        if let Err(e) = file.write_all(line.as_bytes()).and_then(|()| file.sync_data()) {
            let _ = file.set_len(before); // half a line would hide those after it
            return Err(failed(e));
        }
        lock(&self.entries).insert(entry.part.clone(), entry);
        Ok(())
    }

    /// The bytes of a committed part, if they are what was committed. A damaged file is set aside and
    /// reported.
    fn sound_bytes(&self, part: &str) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entry(part) else { return Ok(None) };
        let path = self.dir.join(&entry.file);
        let problem = match fs::read(&path) {
            Ok(bytes) if sha256(&bytes) != entry.sha256 => "its file was altered".to_string(),
            Ok(bytes) => return Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => "its file is gone".to_string(),
            Err(e) => return Err(RunError::File(path, e)),
        };
        if let Some(audit) = &self.audit {
            lock(&audit.findings).wrong.push(format!("{part}: {problem}"));
            return Ok(None);
        }
        let aside = path.with_extension("damaged");
        let kept = match fs::rename(&path, &aside) {
            Ok(()) => format!("; the damaged file is kept as {}", aside.display()),
            Err(_) => String::new(),
        };
        self.observer.note(&format!("part {part} is made again: {problem}{kept}"));
        Ok(None)
    }

    /// The committed part, if it is sound; also in an audit, which takes a part that the clock had a say in as it is.
    pub fn recorded<T: Artifact>(&self, part: &str) -> Result<Option<T>> {
        let Some(bytes) = self.sound_bytes(part)? else { return Ok(None) };
        T::from_bytes(&bytes).map(Some).map_err(|e| RunError::Learning(format!("part {part}: {e}")))
    }

    /// Makes what is missing of a stage of so many parts, in parallel, and gives them to be read one by one: no more of them
    /// are in memory than are in the making. A part that cannot be made ends the stage, and nothing of it is kept.
    pub fn stage<T: Artifact>(
        &self,
        stage: &str,
        parts: usize,
        work: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Parts<'_, T>> {
        let last_only = self.audit.as_ref().is_some_and(|a| a.wanted == Audited::Last);
        let again = |i: usize| self.again(&part_name(stage, i)) && (!last_only || i + 1 == parts);
        let mut todo = Vec::new();
        for i in 0..parts {
            let missing = self.sound_bytes(&part_name(stage, i))?.is_none();
            if missing || again(i) {
                todo.push((i, missing));
            }
        }
        self.observer.stage(stage, parts, parts - todo.len());
        let mut all = Parts { run: self, stage: stage.into(), parts, remade: BTreeMap::new(), made: PhantomData };
        let make = |(i, missing): (usize, bool)| {
            if self.observer.stopped() {
                return None;
            }
            Some(work(i).and_then(|made| {
                self.keep(&part_name(stage, i), &made)?;
                // An audit writes nothing: what is missing there is read from memory.
                Ok((i, (missing && self.auditing()).then(|| made.to_bytes())))
            }))
        };
        let (mut done, mut failed) = (0, None);
        in_parallel(todo.iter().copied(), self.threads, make, |result| {
            let made = result.map(|(i, bytes)| {
                self.observer.part();
                done += 1;
                all.remade.extend(bytes.map(|b| (i, b)));
            });
            failed = failed.take().or(made.err());
            failed.is_none()
        });
        match failed {
            Some(e) => return Err(e),
            None if done < todo.len() => return Err(RunError::Stopped),
            None => {}
        }
        self.observer.end();
        Ok(all)
    }

    /// Whether an audit makes this single part again.
    fn again(&self, part: &str) -> bool {
        match self.audit.as_ref().map(|a| &a.wanted) {
            Some(Audited::All | Audited::Last) => true,
            Some(Audited::Part(p)) => p == part,
            None => false,
        }
    }

    /// A part that stands by itself, if it is finished (and no audit wants it made again).
    pub fn find<T: Artifact>(&self, part: &str) -> Result<Option<T>> {
        if self.again(part) { Ok(None) } else { self.recorded(part) }
    }

    /// What stands by itself as a part, or is made now and kept.
    pub fn once<T: Serialize + DeserializeOwned + Send>(
        &self,
        part: &str,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(Json(found)) = self.find(part)? {
            return Ok(found);
        }
        let made = Json(make()?);
        self.keep(part, &made)?;
        Ok(made.0)
    }

    /// Writes and commits a part; an audit compares it instead.
    pub fn keep<T: Artifact>(&self, part: &str, made: &T) -> Result<()> {
        let bytes = made.to_bytes();
        let hash = sha256(&bytes);
        if self.compare(part, &hash) {
            return Ok(());
        }
        let model = part.starts_with(MODEL);
        let suffix = T::SUFFIX;
        let file = if model { format!("models/{hash}") } else { format!("parts/{}.{suffix}", part.replace('/', "-")) };
        write_whole(&self.dir.join(&file), &bytes)?;
        // A model may differ: what a run had learned when it was stopped is not what it ends with.
        if !model && self.entry(part).is_some_and(|e| e.sha256 != hash) {
            self.observer.note(&format!("part {part} came out differently than before: another version made it"));
        }
        self.commit(Entry { part: part.into(), file, rows: made.rows(), sha256: hash })
    }

    /// In an audit, notes whether what was made again is what was committed.
    fn compare(&self, part: &str, hash: &str) -> bool {
        let Some(audit) = &self.audit else { return false };
        let problem = match self.entry(part) {
            None => Some(format!("{part}: was never finished")),
            Some(e) if e.sha256 != hash => Some(format!("{part}: made again it has other bytes")),
            Some(_) => None,
        };
        let mut findings = lock(&audit.findings);
        findings.checked.push(part.into());
        findings.wrong.extend(problem);
        true
    }

    /// The model of this name, if it is finished (and no audit wants it made again).
    pub fn find_model(&self, name: &str) -> Result<Option<Model>> {
        self.find(&format!("{MODEL}{name}"))
    }

    /// Writes and commits a model; an audit compares it instead.
    pub fn keep_model(&self, name: &str, model: &Model) -> Result<()> {
        self.keep(&format!("{MODEL}{name}"), model)
    }

    /// Writes and commits a model unless it is there already.
    pub fn keep_model_once(&self, name: &str, model: &Model) -> Result<()> {
        match self.find_model(name)? {
            Some(kept) if kept == *model => Ok(()),
            _ => self.keep_model(name, model),
        }
    }

    /// Where the model of this name is, if it is finished.
    pub fn model_path(&self, name: &str) -> Option<PathBuf> {
        self.entry(&format!("{MODEL}{name}")).map(|e| self.dir.join(e.file))
    }

    /// What an unfinished learner saved. An audit learns from the beginning.
    pub fn checkpoint(&self, name: &str) -> Option<Vec<u8>> {
        if self.auditing() { None } else { fs::read(self.dir.join("checkpoints").join(name)).ok() }
    }

    /// Saves an unfinished learner.
    pub fn save_checkpoint(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.auditing() { Ok(()) } else { write_whole(&self.dir.join("checkpoints").join(name), bytes) }
    }

    /// Forgets a learner that is finished.
    pub fn drop_checkpoint(&self, name: &str) {
        if !self.auditing() {
            let _ = fs::remove_file(self.dir.join("checkpoints").join(name));
        }
    }

    /// Writes something for people.
    pub fn report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.dir.join("reports").join(name);
        if !self.auditing() {
            write_whole(&path, bytes)?;
        }
        Ok(path)
    }

    /// Writes a file that people take away, beside the config.
    pub fn leave(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.dir.join(name);
        if !self.auditing() {
            write_whole(&path, bytes)?;
        }
        Ok(path)
    }

    /// Plays what is missing of a contest, pair by pair, and keeps it under this name.
    pub fn contest(&self, name: &str, table: &dyn Table, contest: &Contest) -> Result<Vec<PairResult>> {
        contest.check(table)?;
        let path = self.dir.join("reports").join(format!("{name}.jsonl"));
        let (mut manifest, done) = Manifest::open(&path, contest)?;
        self.observer.stage(name, contest.len(), done.len());
        let stop = Stop::new();
        let mut failed = None;
        let results = contest.run(table, done, self.threads, &stop, |result| {
            self.observer.part();
            if let Err(e) = manifest.add(result) {
                failed.get_or_insert(e);
                stop.raise();
            }
            if self.observer.stopped() {
                stop.raise();
            }
        })?;
        self.observer.end();
        match failed {
            Some(e) => Err(e.into()),
            None if stop.raised() => Err(RunError::Stopped),
            None => Ok(results),
        }
    }
}

/// Makes sure that nobody else works in the directory.
fn exclusive(dir: &Path) -> Result<File> {
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

/// The parts of a finished stage.
pub struct Parts<'r, T> {
    run: &'r Run,
    stage: String,
    parts: usize,
    /// Parts that an audit made again because their files are not sound.
    remade: BTreeMap<usize, Vec<u8>>,
    made: PhantomData<T>,
}

impl<T: Artifact> Parts<'_, T> {
    /// Part `i`, read from its file.
    pub fn read(&self, i: usize) -> Result<T> {
        let name = part_name(&self.stage, i);
        if let Some(bytes) = self.remade.get(&i) {
            return T::from_bytes(bytes).map_err(|e| RunError::Learning(format!("part {name}: {e}")));
        }
        self.run
            .recorded(&name)?
            .ok_or_else(|| RunError::Learning(format!("part {name} was damaged while it was used")))
    }

    /// All parts in order, one at a time.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> + '_ {
        (0..self.parts).map(|i| self.read(i))
    }
}
