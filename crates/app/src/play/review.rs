//! Goes over a game with an agent, and lists the moves that cost the person most.

use super::terminal::Watched;
use anyhow::Result;
use ludex_core::{Control, Limit, LimitKind, Move, Payoffs, Player};
use ludex_play::{Position, Session};
use std::time::Duration;

/// A move that costs less, in points of a hundred, is no mistake.
const MISTAKE: f32 = 10.0;
/// So long is each position looked at, ..
const POSITION_MS: u64 = 200;
/// .. and so long all of them together.
const GAME_MS: u64 = 20_000;

/// A move that was worse than another.
#[derive(Clone, PartialEq, Debug)]
pub struct Mistake {
    /// Which move of the game, from 1.
    pub number: usize,
    /// What the person played.
    pub played: Move,
    /// What was better.
    pub better: Move,
    /// The person's chances before it, in percent.
    pub before: f32,
    /// The person's chances after it, in percent.
    pub after: f32,
}

impl Mistake {
    fn cost(&self) -> f32 {
        self.before - self.after
    }
}

/// The chances of a player, in percent.
pub fn percent(value: &Payoffs, player: Player) -> f32 {
    (value[player] + 1.0) * 50.0
}

/// The person's mistakes in the game that led to a position, in order of play; and whether all of it was gone over.
/// Each move is judged by what the position is worth before and after it.
pub fn review(
    adviser: &mut Session,
    game: &dyn Position,
    person: Player,
    watched: &Watched<'_>,
) -> Result<(Vec<Mistake>, bool)> {
    let moves = game.moves();
    let ms = POSITION_MS.min(GAME_MS / (moves.len() as u64 + 1)).max(1);
    let time = Limit { time: Some(Duration::from_millis(ms)), ..Limit::default() };
    let limit = if adviser.limits().contains(&LimitKind::Time) { time } else { Limit::default() };
    let control = Control { limit, stop: watched.control.stop.clone(), progress: None };
    let mut position = game.boxed_clone();
    while position.undo() {}
    let (mut mistakes, mut before) = (Vec::new(), None);
    for (i, &played) in moves.iter().enumerate() {
        watched.show(&format!("reviewing move {} of {} ..", i + 1, moves.len()));
        let mine = position.mover() == person;
        let best = match before.take() {
            None if mine => Some(judge(adviser, &*position, person, &control)?),
            judged => judged,
        };
        position.play(played)?;
        let after = match (mine, control.stopped()) {
            (_, true) => return Ok((mistakes, false)),
            (true, _) => Some(judge(adviser, &*position, person, &control)?),
            // The person's next move begins where the opponent's ends.
            (false, _) => None,
        };
        if control.stopped() {
            return Ok((mistakes, false));
        }
        if let (Some((Some(better), before)), Some((_, after))) = (&best, &after) {
            let mistake = Mistake { number: i + 1, played, better: *better, before: *before, after: *after };
            if *better != played && mistake.cost() >= MISTAKE {
                mistakes.push(mistake);
            }
        }
        before = after.filter(|_| position.outcome().is_none() && position.mover() == person);
    }
    Ok((mistakes, true))
}

/// What the adviser would play, and the person's chances in percent.
fn judge(
    adviser: &mut Session,
    position: &dyn Position,
    person: Player,
    control: &Control,
) -> Result<(Option<Move>, f32)> {
    if let Some(payoffs) = position.outcome() {
        return Ok((None, percent(&payoffs, person)));
    }
    adviser.set(position.boxed_clone())?;
    let choice = adviser.choose(control)?;
    Ok((Some(choice.mv), percent(&choice.value, person)))
}

/// The mistakes as people are told them: the three worst first, if there are more.
pub fn in_order(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    if mistakes.len() > 3 {
        mistakes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
        mistakes[3..].sort_by_key(|m| m.number);
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Terminal;
    use super::*;

    #[test]
    fn the_move_that_loses_is_found_and_a_forced_one_is_not() {
        let table = ludex_play::open("tictactoe").unwrap();
        // X takes the corner, O an edge next to it, X the other edge: then O must block, and loses all the same.
        let mut p = table.start();
        for name in ["a1", "b1", "a2", "c3", "a3"] {
            p.play(table.parse_move(name).unwrap()).unwrap();
        }
        assert!(p.outcome().is_some());
        let mut adviser = Session::new(table.clone(), "minimax".parse().unwrap(), 1).unwrap();
        let terminal = Terminal::new();
        let watched = terminal.watch(|_| String::new());
        let (mistakes, whole) = review(&mut adviser, &*p, Player(1), &watched).unwrap();
        assert!(whole);
        let first = &mistakes[0];
        assert_eq!((first.number, table.move_name(first.played)), (2, "b1".to_string()));
        assert!(first.before == 50.0 && first.after == 0.0, "{first:?}");
        let (mine, _) = review(&mut adviser, &*p, Player(0), &watched).unwrap();
        assert!(mine.iter().all(|m| m.number % 2 == 1), "{mine:?}");
    }

    #[test]
    fn the_worst_three_come_first() {
        let mistake = |number, cost| Mistake { number, played: Move(0), better: Move(1), before: cost, after: 0.0 };
        let numbers = |costs: &[f32]| {
            let mistakes = costs.iter().enumerate().map(|(i, &c)| mistake(i, c)).collect();
            in_order(mistakes).iter().map(|m| m.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[20.0, 50.0, 30.0]), [0, 1, 2]);
        assert_eq!(numbers(&[20.0, 50.0, 15.0, 30.0, 40.0]), [1, 4, 3, 0, 2]);
    }
}
