//! Reading the rules of matches, and keeping the last ones for the next match of the same game.

use super::joint_moves::parse_role;
use super::lock;
use ludex_gdl::{Budget, ErrorKind, GdlGame, GdlOptions, Reading};
use ludex_play::Stop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The rules that were read last. It also bounds how many rulesheets are read at a time: reading cannot be stopped, so that
/// rules of matches that are over are read to the end.
#[derive(Clone, Default)]
pub struct RulesCache(Arc<(Mutex<CacheState>, Condvar)>);

#[derive(Default)]
struct CacheState {
    /// Rulesheets that are being read.
    reading: usize,
    /// The text of the rules, and the game.
    last: Option<(String, Arc<GdlGame>)>,
}

/// Rulesheets that are read at the same time.
const MOST_READING: usize = 2;

impl CacheState {
    /// Takes the game of these rules out of the cache, if it is there and nobody else uses it.
    fn take(&mut self, rules: &str) -> Option<GdlGame> {
        let (_, game) = self.last.take_if(|(text, _)| text == rules)?;
        Arc::into_inner(game)
    }
}

impl RulesCache {
    /// The game of a rulesheet, read with the usual budget or taken from the cache, in which `role` chooses first.
    pub fn read(&self, rules: &str, role: Option<&str>, stop: &Stop) -> Result<GdlGame, String> {
        let (state, changed) = &*self.0;
        let mut locked = lock(state);
        loop {
            if let Some(mut game) = locked.take(rules) {
                choose_first(&mut game, role);
                return Ok(game);
            }
            if stop.raised() {
                return Err("called off before its rules were read".into());
            }
            if locked.reading < MOST_READING {
                break;
            }
            locked = changed.wait_timeout(locked, Duration::from_millis(100)).unwrap_or_else(PoisonError::into_inner).0;
        }
        locked.reading += 1;
        drop(locked);
        let game = catch_unwind(AssertUnwindSafe(|| open(rules, role, Budget::default())));
        lock(state).reading -= 1;
        changed.notify_all();
        game.unwrap_or(Err("the rules cannot be read: the reader failed".into()))
    }

    /// Keeps a game for the next match with the same rules. That match can use it only if nobody else holds it any more.
    pub fn put(&self, rules: String, game: Arc<GdlGame>) {
        lock(&self.0.0).last = Some((rules, game));
    }
}

/// The game of a rulesheet, interpreted: hardly anything is done beforehand, so that it is ready soon but slow.
pub fn interpret(rules: &str, role: Option<&str>) -> Result<GdlGame, String> {
    open(rules, role, Budget { work: 2_000_000, atoms: 500_000, instances: 0, ..Budget::default() })
}

/// Opens rules as they are spelt, else with upper and lower case the same.
fn open(rules: &str, role: Option<&str>, budget: Budget) -> Result<GdlGame, String> {
    let read = |reading| GdlGame::new("rules.kif", rules, &GdlOptions { reading, budget });
    let mut game = read(Reading::Plain)
        .or_else(|e| match e.kind {
            ErrorKind::Budget(_) => Err(e),
            _ => read(Reading::Lenient).map_err(|_| e),
        })
        .map_err(|e| format!("the rules cannot be read: {e}"))?;
    choose_first(&mut game, role);
    Ok(game)
}

/// Lets a role choose first in steps of simultaneous moves.
fn choose_first(game: &mut GdlGame, role: Option<&str>) {
    if let Some(role) = role.and_then(|role| parse_role(game, role)) {
        game.choose_first(role);
    }
}
