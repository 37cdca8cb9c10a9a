//! Games in files: small TOML files that people can read, and the folder of games that were left unfinished.

use crate::errors::usage;
use anyhow::{Context, Result};
use ludex_core::{GameInfo, Player};
use ludex_play::{Position, Spec, Table, listing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the key `format` says in the files of this version.
const FORMAT: &str = "ludex game 1";
/// Longer files are not read: no game needs them.
const LONGEST_FILE: u64 = 1 << 20;
/// So many unfinished games of one name are kept; then the oldest goes.
const MOST_KEPT: usize = 20;
/// How the names of saved games end, if the person gives none.
const ENDING: &str = "game";

/// A game between a person and an agent, as it stands in a file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// [`FORMAT`].
    format: String,
    /// The version of the program that wrote it.
    program: String,
    /// What opens the game: a name, or the whole path of a rulesheet.
    pub game: String,
    /// The hash of the rules, to tell whether a rulesheet has changed.
    rules: String,
    /// The position at which the game began.
    start: String,
    /// The moves since then, by name.
    moves: Vec<String>,
    /// The agent.
    pub opponent: Spec,
    /// The role of the person.
    you: String,
    /// Where everything random comes from; as text, because TOML has no numbers of this size.
    seed: String,
}

impl Saved {
    /// The game that led to a position.
    pub fn new(table: &dyn Table, position: &dyn Position, opponent: &Spec, person: Player, seed: u64) -> Self {
        let (info, mut start) = (table.info(), position.boxed_clone());
        while start.undo() {}
        Saved {
            format: FORMAT.into(),
            program: env!("CARGO_PKG_VERSION").into(),
            game: whole_name(info),
            rules: rules(info),
            start: start.text(),
            moves: position.moves().iter().map(|&m| table.move_name(m)).collect(),
            opponent: opponent.clone(),
            you: info.roles[person.index()].clone(),
            seed: seed.to_string(),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let size = fs::metadata(path).map_err(|e| usage(format!("cannot read {name}: {e}")))?;
        let no_game = |why: &str| usage(format!("{name} is not a saved game: {why}"));
        if !size.is_file() || size.len() > LONGEST_FILE {
            return Err(no_game("it is no file, or too long"));
        }
        let bytes = fs::read(path).map_err(|e| usage(format!("cannot read {name}: {e}")))?;
        let saved: Saved = toml::from_str(&String::from_utf8_lossy(&bytes)).map_err(|e| no_game(e.message().trim()))?;
        if saved.format != FORMAT {
            return Err(no_game(&format!("its format is not \"{FORMAT}\"")));
        }
        Ok(saved)
    }

    /// Writes a file, whole or not at all, and never over one that is not a saved game.
    pub fn write(&self, path: &Path) -> Result<()> {
        if path.symlink_metadata().is_ok() && Saved::read(path).is_err() {
            return Err(usage(format!("{} exists and is not a saved game: choose another name", path.display())));
        }
        let cannot = || format!("cannot write {}", path.display());
        let file = path.file_name().with_context(cannot)?.to_string_lossy().into_owned();
        let aside = path.with_file_name(format!(".{file}.{}", std::process::id()));
        let text = format!("# `ludex play --load FILE` goes on with this game.\n{}", toml::to_string(self)?);
        let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, path));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written.with_context(cannot)
    }

    /// Whether it is a game by these rules.
    pub fn is_of(&self, info: &GameInfo) -> bool {
        self.rules == rules(info)
    }

    /// The position that was reached, with the moves that led to it.
    pub fn position(&self, table: &dyn Table) -> Result<Box<dyn Position>> {
        if !self.is_of(table.info()) {
            return Err(usage(format!("the saved game was played by other rules of {}", self.game)));
        }
        let bad = |e| usage(format!("the saved game cannot be played: {e}"));
        let mut position = table.position(&self.start).map_err(bad)?;
        for name in &self.moves {
            let m = table.parse_move(name);
            let m = m.ok_or_else(|| usage(format!("the saved game cannot be played: there is no move {name:?}")))?;
            position.play(m).map_err(bad)?;
        }
        Ok(position)
    }

    /// Which player the person is.
    pub fn person(&self, info: &GameInfo) -> Result<Player> {
        let found = info.roles.iter().position(|r| *r == self.you);
        found.map(|i| Player(i as u8)).ok_or_else(|| usage(format!("the saved game has no role {:?}", self.you)))
    }

    /// Where everything random comes from.
    pub fn seed(&self) -> Result<u64> {
        self.seed.parse().map_err(|_| usage(format!("the seed of the saved game is no number: {:?}", self.seed)))
    }
}

fn rules(info: &GameInfo) -> String {
    format!("{:016x}", info.rules_hash)
}

/// What opens the game wherever the program is started.
fn whole_name(info: &GameInfo) -> String {
    let path = || fs::canonicalize(&info.name).ok().and_then(|p| p.to_str().map(str::to_string));
    listing(info).map_or_else(path, |_| None).unwrap_or_else(|| info.name.clone())
}

/// A word for the game that file names may hold.
fn file_word(info: &GameInfo) -> String {
    let stem = Path::new(info.family()).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).take(40).collect()
}

/// A name that no file has, for a person who gives none.
pub fn free_name(info: &GameInfo) -> PathBuf {
    let name = |i: u32| PathBuf::from(format!("{}-{i}.{ENDING}", file_word(info)));
    (1..).map(name).find(|p| p.symlink_metadata().is_err()).expect("some name is free")
}

/// The folder of unfinished games.
pub struct KeptGames {
    folder: PathBuf,
}

impl KeptGames {
    /// The folder below the state directory of the user; `None` if there is none.
    pub fn open() -> Option<Self> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
        Some(KeptGames { folder: state.join("ludex") })
    }

    /// A file for a game that begins now.
    pub fn new_file(&self, info: &GameInfo) -> PathBuf {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        self.folder.join(format!("{}-{now:020}.{ENDING}", file_word(info)))
    }

    /// Keeps a game in its file, and of games whose files are named alike only the newest.
    pub fn keep(&self, game: &Saved, file: &Path) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        let new = !file.exists();
        game.write(file)?;
        if new {
            let word = |p: &Path| p.file_name().and_then(|n| Some(n.to_str()?.rsplit_once('-')?.0.to_string()));
            let alike = self.files().into_iter().filter(|p| word(p) == word(file));
            alike.skip(MOST_KEPT).for_each(|p| drop(fs::remove_file(p)));
        }
        Ok(())
    }

    /// The files, the one that was written last first.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ours = entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == ENDING));
        let written = |p: &PathBuf| fs::metadata(p).and_then(|m| m.modified()).ok();
        let mut files: Vec<_> = ours.map(|p| (written(&p), p)).collect();
        files.sort_by(|a, b| b.cmp(a));
        files.into_iter().map(|(_, p)| p).collect()
    }

    /// The game that was left last, of this game or of any, with its file.
    pub fn newest(&self, info: Option<&GameInfo>) -> Option<(PathBuf, Saved)> {
        let read = |p: PathBuf| Saved::read(&p).ok().map(|saved| (p, saved));
        self.files().into_iter().filter_map(read).find(|(_, s)| info.is_none_or(|i| s.is_of(i)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ludex-saved-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn game(name: &str, moves: usize) -> (std::sync::Arc<dyn Table>, Box<dyn Position>) {
        let table = ludex_play::open(name).unwrap();
        let mut p = table.start();
        (0..moves).for_each(|_| p.play(p.legal()[0]).unwrap());
        (table, p)
    }

    #[test]
    fn a_saved_game_reads_back_as_it_was() {
        let folder = folder("round");
        let sheet = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/tictactoe.kif");
        for name in ["connect4", "morris", "dots:2x2", sheet] {
            let (table, p) = game(name, 5);
            let opponent: Spec = "uct(sims=5, model=\"a b\")".parse().unwrap();
            let saved = Saved::new(&*table, &*p, &opponent, Player(1), u64::MAX);
            let file = folder.join("a.game");
            saved.write(&file).unwrap();
            let read = Saved::read(&file).unwrap();
            assert_eq!(read, saved);
            let again = ludex_play::open(&read.game).unwrap();
            let q = read.position(&*again).unwrap();
            assert_eq!((q.text(), q.moves()), (p.text(), p.moves()));
            assert_eq!((read.person(again.info()).unwrap(), read.seed().unwrap()), (Player(1), u64::MAX));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_but_saved_games_is_overwritten() {
        let folder = folder("over");
        let (table, p) = game("tictactoe", 2);
        let saved = Saved::new(&*table, &*p, &Spec::word("random"), Player(0), 1);
        for text in ["", "format = \"ludex game 1\"", "name = \"uct\"\nsims = 5\n", "\u{0}"] {
            let file = folder.join("mine.toml");
            fs::write(&file, text).unwrap();
            assert!(saved.write(&file).unwrap_err().to_string().contains("is not a saved game"));
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert!(saved.write(&folder).is_err() && saved.write(&folder.join("no/where")).is_err());
        assert!(saved.write(Path::new("")).is_err() && saved.write(Path::new("..")).is_err());
        let file = folder.join("a.game");
        saved.write(&file).unwrap();
        saved.write(&file).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing is left aside");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_broken_file_is_refused_in_one_line() {
        let folder = folder("broken");
        let (table, p) = game("tictactoe", 2);
        let whole = toml::to_string(&Saved::new(&*table, &*p, &Spec::word("random"), Player(0), 1)).unwrap();
        let file = folder.join("a.game");
        let swaps = [
            ("ludex game 1", "ludex game 9"),
            ("\"random\"", "\"uct(\""),
            ("you", "me"),
            ("you = \"x\"", "you = \"z\""),
            ("seed = \"1\"", "seed = \"-1\""),
            ("\"a1\"", "\"z9\""),
            ("\"b1\"", "\"a1\""),
            ("start = \"", "start = \"?"),
            ("rules = \"", "rules = \"0"),
        ];
        for (from, to) in swaps {
            let text = whole.replace(from, to);
            assert_ne!(text, whole, "{from}");
            fs::write(&file, text).unwrap();
            let read = Saved::read(&file).and_then(|s| {
                s.position(&*table)?;
                s.person(table.info())?;
                s.seed()
            });
            let line = read.unwrap_err().to_string();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn of_the_games_that_were_left_the_newest_is_found() {
        let kept = KeptGames { folder: folder("kept") };
        let (table, p) = game("tictactoe", 2);
        let (other, q) = game("connect4", 1);
        let saved = |seed| Saved::new(&*table, &*p, &Spec::word("random"), Player(0), seed);
        assert!(kept.newest(None).is_none());
        for seed in 0..MOST_KEPT as u64 + 3 {
            kept.keep(&saved(seed), &kept.new_file(table.info())).unwrap();
        }
        kept.keep(&Saved::new(&*other, &*q, &Spec::word("random"), Player(0), 7), &kept.new_file(other.info()))
            .unwrap();
        assert_eq!(kept.files().len(), MOST_KEPT + 1);
        assert_eq!(kept.newest(Some(table.info())).unwrap().1, saved(MOST_KEPT as u64 + 2));
        assert!(kept.newest(None).unwrap().1.is_of(other.info()));
        fs::remove_dir_all(kept.folder).unwrap();
    }
}
