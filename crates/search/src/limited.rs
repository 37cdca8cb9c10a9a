//! Limited strength: a search that overlooks moves. One number leads from the uniformly random player to the full search, so
//! that opponents of any strength between can be made of one search.

use ludex_core::{Choice, Control, Game, Limit, LimitKind, Move, Payoffs, Rng, RootMove, Search};

/// Plays by another search, but overlooks each legal move with some probability, as people do.
///
/// What it would have played is played unless it is overlooked; then the moves that are left are judged by searches that
/// share one more budget, and the best of them is played. Where all are overlooked a random one is left. The choice tells
/// what the position is worth to the full search and no more of the plan than the move.
pub struct LimitedStrength<G: Game> {
    search: Box<dyn Search<G>>,
    limit: Limit,
    overlook: f64,
    careful: bool,
    moves: Vec<Move>,
}

impl<G: Game> LimitedStrength<G> {
    /// Weakens a search that has a limit of its own. `overlook` is the probability that a move is overlooked. A `careful`
    /// player overlooks neither a win in one nor, where it can be helped, one of the opponent.
    pub fn new(search: Box<dyn Search<G>>, limit: Limit, overlook: f64, careful: bool) -> Self {
        LimitedStrength { search, limit, overlook, careful, moves: Vec::new() }
    }

    /// The moves that are seen.
    fn seen(&self, game: &G, s: &G::State, rng: &mut Rng) -> Vec<Move> {
        let noticed: Vec<bool> = self.moves.iter().map(|_| rng.unit() >= self.overlook).collect();
        let chance = rng.below(self.moves.len() as u32) as usize;
        let mut safe = vec![true; self.moves.len()];
        if self.careful {
            if let Some(win) = game.win_in_one(s) {
                return vec![win];
            }
            safe = self.moves.iter().map(|&m| !loses_at_once(game, s, m)).collect();
            if !safe.contains(&true) {
                safe.fill(true);
            }
        }
        let seen = |i: &usize| noticed[*i] && safe[*i];
        let all: Vec<Move> = (0..self.moves.len()).filter(seen).map(|i| self.moves[i]).collect();
        match all.is_empty() {
            // The first that may be played, counted from a random one.
            true => {
                let turn = (0..safe.len()).map(|i| (chance + i) % safe.len());
                turn.filter(|&i| safe[i]).take(1).map(|i| self.moves[i]).collect()
            }
            false => all,
        }
    }
}

/// Whether the other player wins in one after this move, or has won.
fn loses_at_once<G: Game>(game: &G, s: &G::State, m: Move) -> bool {
    let mover = game.mover(s);
    let mut child = s.clone();
    game.play(&mut child, m);
    match game.outcome(&child) {
        Some(p) => p[mover] <= -1.0,
        None => game.mover(&child) != mover && game.win_in_one(&child).is_some(),
    }
}

/// The share of a budget that each of so many searches gets; plies are not shared.
fn shared(limit: &Limit, searches: usize) -> Limit {
    let mut share = *limit;
    for kind in limit.kinds().filter(|k| *k != LimitKind::Depth) {
        share.set(kind, limit.get(kind).unwrap_or(1).div_ceil(searches as u64).max(1));
    }
    share
}

impl<G: Game> Search<G> for LimitedStrength<G> {
    fn search(&mut self, game: &G, s: &G::State, control: &Control, rng: &mut Rng) -> Choice {
        game.legal(s, &mut self.moves);
        let seen = self.seen(game, s, rng);
        let quiet = Control { progress: None, ..control.clone() };
        let full = self.search.search(game, s, &quiet, rng);
        let mut nodes = full.nodes;
        let mv = match &seen[..] {
            _ if seen.contains(&full.mv) => full.mv,
            [only] => *only,
            _ => {
                let (mover, limit) = (game.mover(s), shared(&control.limit, seen.len()));
                let quiet = Control { limit, ..quiet };
                let mut worth = |m: Move| -> f32 {
                    let mut child = s.clone();
                    game.play(&mut child, m);
                    game.outcome(&child).map_or_else(
                        || {
                            self.search.reset();
                            let choice = self.search.search(game, &child, &quiet, rng);
                            nodes += choice.nodes;
                            choice.value[mover]
                        },
                        |p| p[mover],
                    )
                };
                let (mut best, mut most) = (seen[0], f32::NEG_INFINITY);
                for &m in &seen {
                    let value = worth(m);
                    if value > most {
                        (best, most) = (m, value);
                    }
                }
                self.search.reset();
                best
            }
        };
        let value: Payoffs = full.value;
        let root = self.moves.iter().map(|&mv| RootMove { mv, visits: 0, value: None, prior: 0.0, proven: false });
        Choice { mv, value, root: root.collect(), nodes, line: vec![mv], ..full }
    }

    fn limits(&self) -> &'static [LimitKind] {
        self.search.limits()
    }

    fn default_limit(&self) -> Limit {
        self.limit.or(&self.search.default_limit())
    }

    fn advance(&mut self, m: Move) {
        self.search.advance(m);
    }

    fn reset(&mut self) {
        self.search.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlphaBeta;
    use ludex_core::toy::Nim;

    fn limited(overlook: f64, careful: bool) -> LimitedStrength<Nim> {
        LimitedStrength::new(Box::new(AlphaBeta::plain()), Limit::depth(8), overlook, careful)
    }

    fn moves_of(player: &mut LimitedStrength<Nim>, left: u32, games: u64) -> Vec<u32> {
        let nim = Nim::new(left);
        let mut counts = vec![0; 4];
        for seed in 0..games {
            let limit = player.default_limit();
            let choice = player.search(&nim, &nim.initial(), &limit.into(), &mut Rng::new(seed));
            counts[nim.move_name(choice.mv).parse::<usize>().unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn nothing_overlooked_is_the_search_and_everything_is_the_random_player() {
        assert_eq!(moves_of(&mut limited(0.0, false), 7, 50), [0, 0, 0, 50]);
        let random = moves_of(&mut limited(1.0, false), 7, 3000);
        assert!(random[1..].iter().all(|n| (900..1100).contains(n)), "{random:?}");
    }

    #[test]
    fn the_best_move_is_played_as_often_as_it_is_seen() {
        // Of three moves one wins. Overlooked half of the time, it is left by chance where all are overlooked: 1/2 + 1/24.
        let counts = moves_of(&mut limited(0.5, false), 7, 4000);
        let share = counts[3] as f64 / 4000.0;
        assert!((share - (0.5 + 1.0 / 24.0)).abs() < 0.025, "{share}");
    }

    #[test]
    fn a_careful_player_takes_a_win_in_one_and_leaves_none() {
        // Three left: taking all wins. Five left: taking 2 or 3 lets the other take the rest.
        assert_eq!(moves_of(&mut limited(1.0, true), 3, 50), [0, 0, 0, 50]);
        assert_eq!(moves_of(&mut limited(1.0, true), 5, 50), [0, 50, 0, 0]);
    }
}
