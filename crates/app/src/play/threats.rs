//! Pieces that the opponent can take with its next move, found without knowledge of the game.
//!
//! Facts `(cell .. CONTENT)` say what stands where. A content is the mover's if its moves make it appear and the opponent's
//! replies do not. A piece is threatened if after most moves that leave it where it is some reply takes its fact away.
//! Where it stands on the drawn board shows in what such a reply changes there.

use super::board::{Places, at, difference, whole_words};
use ludex_core::{Fact, Move};
use ludex_play::{Position, Table};
use std::collections::{BTreeSet, HashMap, HashSet};

/// So many own moves are tried, evenly spread.
const MOVES: usize = 16;
/// So many replies at most, over all moves: more are not looked at.
const REPLIES: usize = 4000;

/// If nothing can be taken after so many moves, no more are tried.
const QUIET: usize = 4;

/// What a piece went through.
#[derive(Default)]
struct Fate {
    /// Moves that left it where it is.
    stayed: usize,
    /// Those after which it can be taken.
    taken: usize,
    /// A move and a reply that take it.
    by: Option<(Move, Move)>,
}

/// The places, on the board that the position draws, of the mover's pieces that the opponent can take.
pub fn threatened(table: &dyn Table, position: &dyn Position) -> Places {
    let me = position.mover();
    let mut contents = Contents { table, known: HashMap::new() };
    let before = set(position.facts());
    let pieces: Vec<Fact> = before.iter().copied().filter(|&f| contents.of(f).is_some()).collect();
    if pieces.is_empty() {
        return Places::new();
    }
    let (mut mine, mut theirs) = (HashSet::new(), HashSet::new());
    let mut fates: HashMap<Fact, Fate> = HashMap::new();
    let (legal, mut facts, mut left, mut tried) = (position.legal(), Vec::new(), REPLIES, 0);
    for &m in legal.iter().step_by(legal.len().div_ceil(MOVES).max(1)) {
        let mut child = position.boxed_clone();
        if tried == QUIET && fates.values().all(|fate| fate.by.is_none()) {
            break;
        }
        tried += 1;
        if child.play(m).is_err() || child.outcome().is_some() || child.mover() == me {
            continue;
        }
        let after = set(child.facts());
        mine.extend(after.difference(&before).filter_map(|&f| contents.of(f)));
        let mut taken: HashMap<Fact, Move> = HashMap::new();
        for reply in child.legal().into_iter().take(left) {
            left -= 1;
            child.facts_after(reply, &mut facts);
            let last = set(facts.clone());
            theirs.extend(last.difference(&after).filter_map(|&f| contents.of(f)));
            let gone = pieces.iter().filter(|f| after.contains(f) && !last.contains(f));
            for &f in gone {
                taken.entry(f).or_insert(reply);
            }
        }
        for &f in pieces.iter().filter(|f| after.contains(f)) {
            let fate = fates.entry(f).or_default();
            fate.stayed += 1;
            if let Some(&reply) = taken.get(&f) {
                fate.taken += 1;
                fate.by.get_or_insert((m, reply));
            }
        }
    }
    let own = |f: &Fact| {
        contents.known.get(f).is_some_and(|c| c.as_ref().is_some_and(|c| mine.contains(c) && !theirs.contains(c)))
    };
    let lost = fates.iter().filter(|(f, fate)| own(f) && 2 * fate.taken > fate.stayed);
    let by: BTreeSet<(Move, Move)> = lost.filter_map(|(_, fate)| fate.by).collect();
    let count = pieces.iter().filter(|f| own(f)).count();
    let places = drawn(position, &by);
    // Where nearly everything can be taken, as in games that turn pieces over, marks would tell nothing.
    if 2 * places.len() > count.max(3) { Places::new() } else { places }
}

/// Where the replies take a piece of the mover from the board.
fn drawn(position: &dyn Position, by: &BTreeSet<(Move, Move)>) -> Places {
    let start = position.show();
    let (mut places, mut mine, mut theirs) = (Vec::new(), HashSet::new(), HashSet::new());
    for &(m, reply) in by {
        let mut p = position.boxed_clone();
        if p.play(m).is_err() {
            continue;
        }
        let between = p.show();
        if p.play(reply).is_err() {
            continue;
        }
        let end = p.show();
        mine.extend(difference(&start, &between).iter().filter_map(|&place| at(&between, place)));
        let changed = difference(&between, &end);
        theirs.extend(changed.iter().filter_map(|&place| at(&end, place)));
        places.extend(changed.into_iter().filter(|&place| at(&start, place) == at(&between, place)));
    }
    let own = |place: &(usize, usize)| at(&start, *place).is_some_and(|c| mine.contains(&c) && !theirs.contains(&c));
    whole_words(&start, &places.into_iter().filter(own).collect())
}

fn set(facts: Vec<Fact>) -> BTreeSet<Fact> {
    facts.into_iter().collect()
}

/// What facts say of a cell, read once.
struct Contents<'a> {
    table: &'a dyn Table,
    known: HashMap<Fact, Option<String>>,
}

impl Contents<'_> {
    /// The last word of a fact `(cell ..)`.
    fn of(&mut self, f: Fact) -> Option<String> {
        let read = || {
            let name = self.table.fact_name(f);
            let words = name.strip_prefix("(cell ")?.strip_suffix(')')?;
            words.rsplit(' ').next().map(str::to_string)
        };
        self.known.entry(f).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The drawn squares that are threatened, as `line,column` of the board's own characters.
    fn found(game: &str, position: &str) -> (String, Places) {
        let table = ludex_play::open(game).unwrap();
        let p = table.position(position).unwrap();
        (p.show(), threatened(&*table, &*p))
    }

    #[test]
    fn a_man_that_can_be_taken_is_found() {
        // Breakthrough: o on c4 can take on b3 and d3; x has a man on d3 and others far away.
        let (shown, places) = found("breakthrough:6x6", "6/6/2o3/3x2/x5/x4x X");
        assert_eq!(places.len(), 1, "{shown}\n{places:?}");
        let &place = places.first().unwrap();
        assert_eq!((at(&shown, place), place.0), (Some('X'), 3), "{shown}");
        // A rulesheet's board is drawn otherwise.
        let sheet = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/breakthrough.kif");
        let table = ludex_play::open(sheet).unwrap();
        assert_eq!(threatened(&*table, &*table.start()), Places::new());
    }

    #[test]
    fn where_nothing_can_be_taken_nothing_is_found() {
        assert_eq!(found("tictactoe", "XO-/---/--- X").1, Places::new());
        assert_eq!(found("gomoku", &ludex_play::open("gomoku").unwrap().start().text()).1, Places::new());
        assert_eq!(found("dots:2x2", &ludex_play::open("dots:2x2").unwrap().start().text()).1, Places::new());
        assert_eq!(found("morris", &ludex_play::open("morris").unwrap().start().text()).1, Places::new());
    }

    #[test]
    fn every_game_can_be_looked_at_during_play() {
        for g in &ludex_play::GAMES {
            let table = ludex_play::open(g.name).unwrap();
            let (mut p, mut rng) = (table.start(), ludex_core::Rng::new(1));
            for _ in 0..40 {
                if p.outcome().is_some() {
                    break;
                }
                threatened(&*table, &*p);
                let m = *rng.pick(&p.legal()).unwrap();
                p.play(m).unwrap();
            }
        }
    }
}
