//! The smallest complete game, for doctests and for the tests of searches: one heap, take one to three, taking the last wins.
//! Its exact value is known: the mover loses exactly when the heap is a multiple of four.

use crate::{Fact, Game, GameInfo, Mirror, Move, Payoffs, Player, TextError, mix};

/// Single-heap Nim, at most three taken at a time.
pub struct Nim {
    info: GameInfo,
    heap: u32,
}

/// What is left, and who takes next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NimState {
    /// Objects left.
    pub left: u32,
    /// Who takes next.
    pub mover: Player,
}

impl Nim {
    /// A heap of this size.
    pub fn new(heap: u32) -> Self {
        let mut nim = Nim { info: GameInfo::two_player(format!("nim:{heap}"), "Nim, one heap", 3, heap + 3), heap };
        let swap = |f| Fact(if f <= heap { f } else { 2 * heap + 3 - f });
        nim.info.mirror = Some(Mirror {
            facts: (0..nim.info.facts).map(swap).collect(),
            moves: (0..nim.info.moves).map(Move).collect(),
        });
        nim.info = nim.info.clone().sealed(&nim);
        nim
    }
}

impl Game for Nim {
    type State = NimState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> NimState {
        NimState { left: self.heap, mover: Player(0) }
    }

    fn mover(&self, s: &NimState) -> Player {
        s.mover
    }

    fn legal(&self, s: &NimState, out: &mut Vec<Move>) {
        out.clear();
        out.extend((0..s.left.min(3)).map(Move));
    }

    fn play(&self, s: &mut NimState, m: Move) {
        s.left -= m.0 + 1;
        s.mover = s.mover.other();
    }

    fn outcome(&self, s: &NimState) -> Option<Payoffs> {
        (s.left == 0).then(|| Payoffs::win(s.mover.other()))
    }

    fn facts(&self, s: &NimState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend([Fact(s.left), Fact(self.heap + 1 + s.mover.0 as u32)]);
    }

    fn key(&self, s: &NimState) -> u64 {
        mix((s.left as u64) << 1 | s.mover.0 as u64)
    }

    fn mirrored(&self, s: &NimState) -> Option<NimState> {
        Some(NimState { mover: s.mover.other(), ..*s })
    }

    fn move_name(&self, m: Move) -> String {
        format!("{}", m.0 + 1)
    }

    fn fact_name(&self, f: Fact) -> String {
        match f.0.checked_sub(self.heap + 1) {
            None => format!("(heap {})", f.0),
            Some(p) => format!("(control {})", self.info.roles[p as usize]),
        }
    }

    fn position(&self, s: &NimState) -> String {
        format!("{} {}", s.left, ["X", "O"][s.mover.index()])
    }

    fn parse_position(&self, text: &str) -> Result<NimState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let parsed = text.trim().split_once(' ').and_then(|(left, mover)| {
            let left = left.parse().ok().filter(|&n| n <= self.heap)?;
            let mover = ["X", "O"].iter().position(|&r| r == mover)?;
            Some(NimState { left, mover: Player(mover as u8) })
        });
        parsed.ok_or_else(|| TextError::new(format!("expected 0..{} and X or O, e.g. \"7 X\"", self.heap)))
    }

    fn show(&self, s: &NimState) -> String {
        "|".repeat(s.left as usize)
    }
}
