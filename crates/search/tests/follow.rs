//! An evaluator that follows the line of alpha-beta is told of every move, and the search is the same as without.

use ludex_core::{Evaluator, Fact, Game, Limit, Payoffs, Player, Rng, Search, mix};
use ludex_games::*;
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions, Order};
use ludex_search::pvs::{Pvs, PvsOptions, PvsOrder};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value from a hash of the facts; keeps the facts of every state of the line and checks them where it is asked.
struct FactSets {
    follows: bool,
    line: Vec<BTreeSet<Fact>>,
    /// States of the line, the first one included, and how often their end was asked for.
    length: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

fn facts<G: Game>(game: &G, s: &G::State) -> BTreeSet<Fact> {
    let mut facts = Vec::new();
    game.facts(s, &mut facts);
    facts.into_iter().collect()
}

impl FactSets {
    fn end(&self) -> &BTreeSet<Fact> {
        self.line.last().expect("the line begins with a refresh")
    }

    fn note_length(&self) {
        self.length.store(self.line.len(), Ordering::Relaxed);
    }
}

impl<G: Game> Evaluator<G> for FactSets {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        let hash = facts(game, s).iter().fold(1, |h, f| mix(h ^ f.0 as u64));
        Payoffs::of(Player(0), (hash >> 40) as f32 / (1 << 23) as f32 - 1.0)
    }

    fn follows(&self) -> bool {
        self.follows
    }

    fn refresh(&mut self, game: &G, s: &G::State) {
        assert!(self.follows);
        self.line = vec![facts(game, s)];
        self.note_length();
    }

    fn push(&mut self, on: &[Fact], off: &[Fact]) {
        let mut next = self.end().clone();
        off.iter().for_each(|f| assert!(next.remove(f), "{f:?} was not true"));
        on.iter().for_each(|f| assert!(next.insert(*f), "{f:?} was true already"));
        self.line.push(next);
        self.note_length();
    }

    fn pop(&mut self) {
        self.line.pop();
        self.note_length();
    }

    fn line_value(&mut self, game: &G, s: &G::State) -> Payoffs {
        assert_eq!(*self.end(), facts(game, s), "{}", game.position(s));
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.value(game, s)
    }
}

fn follows_the_line<G: Game>(game: G) {
    for (order, table) in [(Order::Killers, 1), (Order::Eval, 1), (Order::None, 0)] {
        let options = AlphaBetaOptions { order, table, ..AlphaBetaOptions::default() };
        let (length, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let search = |follows| {
            let (length, asked) = (Arc::clone(&length), Arc::clone(&asked));
            AlphaBeta::<G>::new(Box::new(FactSets { follows, line: Vec::new(), length, asked }), options)
        };
        let (mut following, mut plain) = (search(true), search(false));
        let (mut a, mut b) = (Rng::new(3), Rng::new(3));
        let mut s = game.initial();
        // Some searches are broken off in the middle of a line.
        for limit in [Limit::depth(3), Limit::nodes(500), Limit::depth(2), Limit::nodes(37), Limit::depth(3)] {
            if game.outcome(&s).is_some() {
                break;
            }
            let choice = following.search(&game, &s, &limit.into(), &mut a);
            let at = format!("{} {order:?} {limit:?}", game.info().name);
            assert_eq!(choice, plain.search(&game, &s, &limit.into(), &mut b), "{at}");
            assert_eq!(length.load(Ordering::Relaxed), 1, "{at}: every move was taken back");
            game.play(&mut s, choice.mv);
        }
        assert!(asked.load(Ordering::Relaxed) > 20);
    }
}

/// Principal variation search tells only of moves to states that it asks about, all of them and in order.
fn is_told_what_it_needs<G: Game>(game: G) {
    for order in [PvsOrder::Killers, PvsOrder::Eval(2)] {
        for wins in [false, true] {
            let options = PvsOptions { order, wins, table: 1, probcut: 0.1, ..PvsOptions::default() };
            let (length, asked) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
            let eval =
                FactSets { follows: true, line: Vec::new(), length: Arc::clone(&length), asked: Arc::clone(&asked) };
            let mut search = Pvs::<G>::new(Box::new(eval), options);
            let (mut s, mut rng) = (game.initial(), Rng::new(3));
            for limit in [Limit::depth(4), Limit::nodes(500), Limit::depth(2), Limit::nodes(37), Limit::nodes(3_000)] {
                if game.outcome(&s).is_some() {
                    break;
                }
                let choice = search.search(&game, &s, &limit.into(), &mut rng);
                assert_eq!(length.load(Ordering::Relaxed), 1, "{} {limit:?}: all was taken back", game.info().name);
                game.play(&mut s, choice.mv);
            }
            assert!(asked.load(Ordering::Relaxed) > 20);
        }
    }
}

#[test]
fn pvs_tells_of_moves_when_it_asks_for_their_value() {
    is_told_what_it_needs(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    is_told_what_it_needs(Connect4::<u64>::new(7, 6, 4).unwrap());
    is_told_what_it_needs(Othello::new(6, 6).unwrap());
    is_told_what_it_needs(Dots::<u64>::new(3, 2, Score::Win).unwrap());
    is_told_what_it_needs(Checkers::new(6, 6, 40).unwrap());
    is_told_what_it_needs(Morris::new(Draw::Repetition));
    is_told_what_it_needs(Breakthrough::new(5, 6).unwrap());
}

#[test]
fn alphabeta_tells_of_every_move_and_chooses_the_same() {
    follows_the_line(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    follows_the_line(Connect4::<u64>::new(7, 6, 4).unwrap());
    follows_the_line(Othello::new(6, 6).unwrap());
    follows_the_line(Dots::<u64>::new(3, 2, Score::Win).unwrap());
    follows_the_line(Checkers::new(6, 6, 40).unwrap());
    follows_the_line(Morris::new(Draw::Repetition));
    follows_the_line(Breakthrough::new(5, 6).unwrap());
}
