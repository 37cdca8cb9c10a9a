//! Laws of expansion that drops moves.

use ludex_core::toy::Nim;
use ludex_core::{Evaluator, Game, Limit, Move, Payoffs, Rng, Search};
use ludex_games::Mnk;
use ludex_search::mcts::*;

/// Likes moves in an order of its own, the same in every state.
#[derive(Clone, Copy)]
struct Taste(u64);

impl Taste {
    fn of(&self, m: Move) -> f32 {
        (ludex_core::mix(self.0 ^ m.0 as u64) >> 40) as f32
    }
}

impl<G: Game> Evaluator<G> for Taste {
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }

    fn score_moves(&mut self, _: &G, _: &G::State, moves: &[Move], scores: &mut [f32]) {
        scores.iter_mut().zip(moves).for_each(|(s, &m)| *s = self.of(m));
    }
}

/// Likes the lowest move number.
struct Lowest;

impl<G: Game> Evaluator<G> for Lowest {
    fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
        Payoffs::draw(game.info().players())
    }

    fn score_moves(&mut self, _: &G, _: &G::State, moves: &[Move], scores: &mut [f32]) {
        scores.iter_mut().zip(moves).for_each(|(s, m)| *s = -(m.0 as f32));
    }
}

fn gomoku() -> Mnk<1> {
    Mnk::<1>::new("gomoku", 5, 5, 4, false).unwrap()
}

const SCHEMES: [Keep; 5] =
    [Keep::Constant(0.25), Keep::Constant(0.5), Keep::Constant(0.75), Keep::Linear(0.5), Keep::EXPONENTIAL];

fn ranking(keep: Keep) -> Ranking {
    Ranking { keep, depth: Depth::Board, root: true, decisive: false }
}

/// The children that an expansion gives a state, as moves.
fn children<G: Game>(game: &G, s: &G::State, expand: &mut dyn Expand<G>, at: At) -> Vec<Move> {
    let mut tree = Tree::new(2, 10_000, false);
    tree.enter(ROOT, game.mover(s), false);
    expand.expand(game, s, &mut tree, At { node: ROOT, ..at }, &mut Rng::new(1));
    tree.children(ROOT).iter().map(|&c| tree.node(c).mv()).collect()
}

#[test]
fn the_number_kept_follows_the_formulas_of_the_paper() {
    // 5x5: twelve points of 25 are dropped at first, then one fewer each ply: thirteen children while any are dropped.
    let linear: Vec<usize> = (0..25).map(|d| Keep::Linear(0.5).kept(25 - d, d as u32, 25)).collect();
    assert!(linear[..13].iter().all(|&kept| kept == 13), "{linear:?}");
    assert!(linear.iter().enumerate().skip(13).all(|(d, &kept)| kept == 25 - d));
    assert_eq!(Keep::Constant(0.25).kept(25, 3, 25), 25 - 6);
    assert_eq!(Keep::Constant(0.75).kept(25, 3, 25), 25 - 18);
    let share = |d| 1.0 - Keep::EXPONENTIAL.kept(10_000, d, 0) as f64 / 1e4;
    assert_eq!(share(0), 0.5);
    assert!(share(7) < 0.1001 && share(8) < 0.1 && share(6) > 0.1);
}

#[test]
fn at_least_one_child_is_kept_whatever_the_scheme() {
    for keep in SCHEMES.into_iter().chain([Keep::Constant(1.0), Keep::Linear(1.0)]) {
        for n in 1..30 {
            for d in 0..40 {
                assert!((1..=n).contains(&keep.kept(n, d, 30)), "{keep:?} of {n} at {d}");
            }
        }
    }
    let nim = Nim::new(9);
    let mut expand = Ranked::new(&nim, Box::new(Lowest), ranking(Keep::Constant(1.0)), When::FIRST, PlayoutFrom::Child);
    assert_eq!(children(&nim, &nim.initial(), &mut expand, At::START), [Move(0)]);
}

#[test]
fn the_best_ranked_are_kept_in_the_order_of_moves() {
    let game = gomoku();
    let mut rng = Rng::new(5);
    for seed in 0..30 {
        let (mut s, mut plies) = (game.initial(), 0);
        for _ in 0..rng.below(16) {
            let mut next = s;
            game.play(&mut next, game.sample(&s, &mut rng).unwrap());
            if game.outcome(&next).is_some() {
                break;
            }
            (s, plies) = (next, plies + 1);
        }
        let mut moves = Vec::new();
        game.legal(&s, &mut moves);
        for keep in SCHEMES {
            let taste = Taste(seed);
            let mut expand = Ranked::new(&game, Box::new(taste), ranking(keep), When::FIRST, PlayoutFrom::Child);
            // Told nothing of the plies before, it counts the stones.
            let kept = children(&game, &s, &mut expand, At::START);
            assert_eq!(kept.len(), keep.kept(moves.len(), plies, 25));
            assert!(kept.is_sorted());
            let worst = kept.iter().map(|&m| taste.of(m)).fold(f32::INFINITY, f32::min);
            let dropped = moves.iter().filter(|m| !kept.contains(m)).map(|&m| taste.of(m));
            assert!(dropped.fold(f32::NEG_INFINITY, f32::max) <= worst);
            let best = moves.iter().max_by(|a, b| taste.of(**a).total_cmp(&taste.of(**b))).unwrap();
            assert!(kept.contains(best));
        }
    }
}

#[test]
fn depth_is_that_of_the_board_or_of_the_tree() {
    let game = gomoku();
    let s = game.initial();
    let count = |depth, at: At| {
        let ranking = Ranking { depth, ..ranking(Keep::EXPONENTIAL) };
        let mut expand = Ranked::new(&game, Box::new(Lowest), ranking, When::FIRST, PlayoutFrom::Child);
        children(&game, &s, &mut expand, at).len()
    };
    let far = At { ply: 20, ..At::START };
    assert_eq!(count(Depth::Board, At::START), 13);
    assert_eq!(count(Depth::Board, far), 25, "the plies it is told of count");
    assert_eq!(count(Depth::Tree, far), 13, "the root of a tree is at depth 0");
}

#[test]
fn a_move_that_wins_at_once_survives_if_it_is_asked_for() {
    let game = gomoku();
    // x has three in the top row and wins at the fourth point; the evaluator likes lower numbers only.
    let s = game
        .parse_position("-----/-----/-----/oo-o-/xxx-- x")
        .or_else(|_| game.parse_position("xxx--/oo-o-/-----/-----/----- x"));
    let s = s.unwrap();
    let mut moves = Vec::new();
    game.legal(&s, &mut moves);
    let wins = |m: &Move| {
        let mut child = s;
        game.play(&mut child, *m);
        game.outcome(&child).is_some()
    };
    let winning: Vec<Move> = moves.iter().copied().filter(wins).collect();
    assert_eq!(winning.len(), 1);
    /// Likes the winning move least of all.
    struct Blind(Move);
    impl<G: Game> Evaluator<G> for Blind {
        fn value(&mut self, game: &G, _: &G::State) -> Payoffs {
            Payoffs::draw(game.info().players())
        }
        fn score_moves(&mut self, _: &G, _: &G::State, moves: &[Move], scores: &mut [f32]) {
            scores.iter_mut().zip(moves).for_each(|(s, m)| *s = if *m == self.0 { -1.0 } else { 1.0 });
        }
    }
    for decisive in [false, true] {
        let ranking = Ranking { decisive, ..ranking(Keep::Constant(0.5)) };
        let mut expand = Ranked::new(&game, Box::new(Blind(winning[0])), ranking, When::FIRST, PlayoutFrom::Child);
        let kept = children(&game, &s, &mut expand, At::START);
        assert_eq!(kept.contains(&winning[0]), decisive);
        assert_eq!(kept.len(), moves.len() - moves.len() / 2 + decisive as usize);
    }
}

#[test]
fn with_nothing_dropped_it_is_the_search_with_all_children() {
    let game = gomoku();
    for when in [When::FIRST, When::SECOND] {
        let search = |expand: Box<dyn Expand<Mnk<1>>>| {
            let select = Box::new(Ucb1::new(1.41, Form::Burger, Reward::Unit));
            let mut mcts = Mcts::new(&game, select, expand, Box::new(Uniform), Box::new(Mean), MctsOptions::default());
            mcts.search(&game, &game.initial(), &Limit::simulations(3_000).into(), &mut Rng::new(7))
        };
        let all = search(Box::new(AllChildren::new(when, PlayoutFrom::Child)));
        let none = ranking(Keep::Constant(0.0));
        assert_eq!(search(Box::new(Ranked::new(&game, Box::new(Taste(1)), none, when, PlayoutFrom::Child))), all);
        let root = Ranking { root: false, ..ranking(Keep::Constant(0.5)) };
        let pruned = search(Box::new(Ranked::new(&game, Box::new(Taste(1)), root, when, PlayoutFrom::Child)));
        assert_eq!(pruned.root.len(), 25, "the root keeps all its moves");
        assert!(pruned.nodes < all.nodes);
    }
}

#[test]
fn a_playout_may_begin_at_the_leaf_itself() {
    let game = gomoku();
    let mut tree = Tree::new(2, 1000, false);
    tree.enter(ROOT, game.mover(&game.initial()), false);
    let mut expand = Ranked::new(&game, Box::new(Lowest), ranking(Keep::EXPONENTIAL), When::FIRST, PlayoutFrom::Leaf);
    let step = expand.expand(&game, &game.initial(), &mut tree, At::START, &mut Rng::new(1));
    assert_eq!(step, Step::Playout);
    assert!(tree.node(ROOT).complete(), "what was dropped never comes back");
}
