//! Nine Men's Morris: one evaluator for minimax.
//!
//! A linear function of what every manual names: mills, men, blocked men, and the makings of a mill, weighed by phase. The
//! features are those of Petcu & Holban, *Nine Men's Morris: Evaluation Functions* (DAS 2008); the weights are the ones
//! that most open programs use, published by Kartik Kukreja (*Heuristic/Evaluation Function for Nine Men's Morris*, 2014),
//! with three changes, marked below:
//!
//! | feature of a player | placing | moving | flying |
//! |---|---|---|---|
//! | has just closed a mill and takes a man now | 18 | 14 | 16 |
//! | mills | 26 | 43 | 0 |
//! | men without a free point beside them, of the opponent | 1 | 10 | 0 |
//! | men, in hand or on the board | 9 | 11 | 11 (published: 0) |
//! | open mills: two men of a line whose third point is free | 10 | 0 | 10 |
//! | forks: men on two open mills at once | 7 | 0 | 1 |
//! | double mills: a man whose step opens one mill and closes another | 0 | 8, here 30 | 0 |
//! | mobility: free points that the men reach in a step | 0 | here 2 | 0 |
//!
//! Each player is weighed by its own phase. Men count while flying too, since otherwise a player's last loss would look
//! like a gain; published double mills merely share a man, ours threaten to take a man every turn and count more; mobility
//! is ours. The published term for a won position is the search's business. The value is `x / (1 + |x|)` of the
//! difference of scores over 100.
//!
//! The setting of strength is the depth of the minimax around it; 3 is the standard. A taking is a ply of its own. It
//! knows no repetition and no endgame tables.

use crate::squash::squash;
use ludex_core::{Evaluator, Game, Payoffs, Player};
use ludex_games::{Morris, MorrisState};

/// All points.
const BOARD: u32 = 0xff_ffff;

/// Mills and the makings of mills, weighed by phase.
#[derive(Clone, Debug, Default)]
pub struct MorrisClassic {
    /// The sixteen lines; filled when first used.
    lines: Vec<u32>,
}

/// What a player's men amount to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Features {
    closed: u32,
    mills: u32,
    blocked: u32,
    men: u32,
    open: u32,
    forks: u32,
    doubles: u32,
    mobility: u32,
}

/// What a player does when it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Placing,
    Moving,
    Flying,
}

impl Phase {
    fn of(men: u32, hand: u8) -> Phase {
        match hand {
            0 if men.count_ones() <= 3 => Phase::Flying,
            0 => Phase::Moving,
            _ => Phase::Placing,
        }
    }
}

impl Features {
    /// Everything but the blocked men, which count for the opponent.
    fn score(&self, phase: Phase) -> u32 {
        match phase {
            Phase::Placing => 18 * self.closed + 26 * self.mills + 9 * self.men + 10 * self.open + 7 * self.forks,
            Phase::Moving => 14 * self.closed + 43 * self.mills + 11 * self.men + 30 * self.doubles + 2 * self.mobility,
            Phase::Flying => 16 * self.closed + 11 * self.men + 10 * self.open + self.forks,
        }
    }
}

/// The points that a step from these men reaches.
fn reach(men: u32, free: u32) -> u32 {
    Morris::reach(men, free).iter().fold(0, |all, dir| all | dir)
}

/// The bits of a board, one by one.
fn points(mut men: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (men != 0).then(|| {
            let low = men & men.wrapping_neg();
            men ^= low;
            low
        })
    })
}

impl MorrisClassic {
    fn features(&self, game: &Morris, s: &MorrisState, p: Player) -> Features {
        let (men, hand) = (game.men(s), game.hand(s)[p.index()]);
        let (own, free) = (men[p.index()], BOARD & !(men[0] | men[1]));
        let open = || self.lines.iter().filter(|&&l| (own & l).count_ones() == 2 && free & l != 0);
        // Twice on an open mill: some man is on both lines that cross in it.
        let (_, forked) = open().fold((0, 0), |(once, twice), l| (once | l & own, twice | once & l & own));
        let flies = Phase::of(own, hand) == Phase::Flying;
        Features {
            closed: (game.removing(s) && game.mover(s) == p) as u32,
            mills: self.lines.iter().filter(|&&l| own & l == l).count() as u32,
            blocked: if flies { 0 } else { points(own).filter(|&m| reach(m, free) == 0).count() as u32 },
            men: own.count_ones() + hand as u32,
            open: open().count() as u32,
            forks: forked.count_ones(),
            doubles: points(own).filter(|&m| self.swings(own, free, m)).count() as u32,
            mobility: Morris::reach(own, free).iter().map(|dir| dir.count_ones()).sum(),
        }
    }

    /// Whether man `m`, standing in a mill, closes another by one step.
    fn swings(&self, own: u32, free: u32, m: u32) -> bool {
        let milled = |men: u32, point: u32| self.lines.iter().any(|&l| l & point != 0 && men & l == l);
        milled(own, m) && points(reach(m, free)).any(|to| milled(own ^ m ^ to, to))
    }
}

impl Evaluator<Morris> for MorrisClassic {
    fn value(&mut self, game: &Morris, s: &MorrisState) -> Payoffs {
        if self.lines.is_empty() {
            self.lines = (0..24).flat_map(|p| game.mills(p)).collect();
            self.lines.sort();
            self.lines.dedup();
        }
        let phase = [0, 1].map(|p| Phase::of(game.men(s)[p], game.hand(s)[p]));
        let [x, o] = [0, 1].map(|p| self.features(game, s, Player(p)));
        let cramp = |phase, f: Features| match phase {
            Phase::Placing => f.blocked,
            Phase::Moving => 10 * f.blocked,
            Phase::Flying => 0,
        };
        let scores = [x.score(phase[0]) + cramp(phase[0], o), o.score(phase[1]) + cramp(phase[1], x)];
        squash(Player(0), scores[0] as f32 - scores[1] as f32, 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_games::Draw;

    fn features(board: &str, mover: char, hands: &str, remove: bool) -> [Features; 2] {
        let game = Morris::new(Draw::Repetition);
        let suffix = if remove { " remove=1" } else { "" };
        let s = game.parse_position(&format!("{board} {mover} {hands}{suffix}")).unwrap();
        let mut classic = MorrisClassic::default();
        classic.value(&game, &s);
        assert_eq!(classic.lines.len(), 16);
        [0, 1].map(|p| classic.features(&game, &s, Player(p)))
    }

    /// Points are numbered ring by ring, clockwise from the top left corner.
    #[test]
    fn features_are_what_the_header_says() {
        // X: the outer top side (0 1 2) and 3: one mill; 4 is free, so 2 3 4 is an open mill. O: 8, 9, blocked nowhere.
        let [x, o] = features("XXXX----OO--------------", 'O', "0/0", false);
        assert_eq!((x.mills, x.open, x.men, x.closed), (1, 1, 4, 0));
        assert_eq!((o.mills, o.open, o.forks, o.blocked), (0, 1, 0, 0));
        // X holds 0 1 2 and 8 10, with 9 free: 1 steps to 9 and closes 8 9 10. A double mill.
        let [x, _] = features("XXX-----X-X----OOO------", 'X', "0/0", false);
        assert_eq!((x.mills, x.doubles, x.open), (1, 1, 1));
        // X on 0, 2, 6: two open mills that meet in 0.
        let [x, _] = features("X-X---X-----------------", 'O', "6/8", false);
        assert_eq!((x.open, x.forks), (2, 1));
        // O on 0 is shut in by 1 and 7.
        let [x, o] = features("OX-----X---O-O-O--XX----", 'X', "0/0", false);
        assert_eq!((x.blocked, o.blocked), (0, 1));
        assert!(features("XXX-----OO--------------", 'X', "6/7", true)[0].closed == 1);
    }
}
