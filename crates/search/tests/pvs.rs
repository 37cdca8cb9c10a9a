//! Without guesses principal variation search equals alpha-beta, which equals minimax; with guesses, what it calls proven is
//! true.

use ludex_core::toy::Nim;
use ludex_core::{Control, Evaluator, Game, Limit, Payoffs, Player, Rng, Search, Stop};
use ludex_games::*;
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions};
use ludex_search::eval::RandomValue;
use ludex_search::pvs::{Goal, HistoryKey, MoveBounds, Pvs, PvsOptions, PvsOrder, value_of};
use std::time::{Duration, Instant};

const SEED: u64 = 11;

/// A random state that is not over.
fn random_state<G: Game>(game: &G, rng: &mut Rng, plies: u32) -> G::State {
    loop {
        let mut s = game.initial();
        for _ in 0..rng.below(plies) {
            match game.sample(&s, rng) {
                Some(m) => game.play(&mut s, m),
                None => break,
            }
        }
        if game.outcome(&s).is_none() {
            return s;
        }
    }
}

/// A hashed value that knows a win in one, as leaves do with `wins`.
struct Winning(RandomValue);

impl<G: Game> Evaluator<G> for Winning {
    fn value(&mut self, game: &G, s: &G::State) -> Payoffs {
        match game.win_in_one(s) {
            Some(_) => Payoffs::win(game.mover(s)),
            None => self.0.value(game, s),
        }
    }
}

/// From 200 random states, at the greatest depth up to 6 with at most 300,000 nodes.
fn equals_alphabeta<G: Game>(game: G) {
    let mut rng = Rng::new(SEED);
    let exact = PvsOptions { table: 1, ..PvsOptions::exact() };
    let build = |options: PvsOptions| Pvs::<G>::new(Box::new(RandomValue::Hashed(SEED)), options);
    let mut plain = [
        ("all on", build(exact)),
        ("no table", build(PvsOptions { table: 0, ..exact })),
        ("no etc", build(PvsOptions { etc: false, ..exact })),
        ("no aspiration", build(PvsOptions { aspiration: 0.0, ..exact })),
        ("a narrow aspiration", build(PvsOptions { aspiration: 0.001, ..exact })),
        ("ordered by the evaluator", build(PvsOptions { order: PvsOrder::Eval(2), ..exact })),
    ];
    let mut winning = [
        ("wins", build(PvsOptions { wins: true, ..exact })),
        ("wins, no table", build(PvsOptions { wins: true, table: 0, ..exact })),
        ("wins, no etc", build(PvsOptions { wins: true, etc: false, ..exact })),
    ];
    let options = AlphaBetaOptions { table: 1, ..AlphaBetaOptions::default() };
    let mut oracle = AlphaBeta::<G>::new(Box::new(RandomValue::Hashed(SEED)), options);
    let mut winning_oracle = AlphaBeta::<G>::new(Box::new(Winning(RandomValue::Hashed(SEED))), options);
    for _ in 0..200 {
        let s = random_state(&game, &mut rng, 60);
        let size = |d| (1..=d).map(|d| ludex_core::perft(&game, &s, d)).sum::<u64>();
        let depth = (1..=6).rev().find(|&d| size(d) <= 100_000).unwrap_or(1);
        let mover = game.mover(&s);
        let limit: Control = Limit::depth(depth).into();
        let mut compare = |oracle: &mut AlphaBeta<G>, searches: &mut [(&str, Pvs<G>)]| {
            let expected = oracle.search(&game, &s, &limit, &mut rng);
            for (how, search) in searches {
                let choice = search.search(&game, &s, &limit, &mut rng);
                let at = format!("{} \"{}\" depth {depth} {how}", game.info().name, game.position(&s));
                let (found, value) = (choice.value[mover], expected.value[mover]);
                assert!((found - value).abs() < 1e-4, "{at}: {found} is not {value}");
                // The move is as good: the oracle knows the exact value of every move that is as good as the best.
                let of_oracle = expected.root.iter().find(|r| r.mv == choice.mv).expect("a legal move");
                let worth = of_oracle.value.map(|v| v[mover]);
                let fine = worth.is_some_and(|w| (w - value).abs() < 1e-4) || value.abs() == 1.0 || worth.is_none();
                assert!(fine, "{at}: {} is worth {worth:?}, not {value}", game.move_name(choice.mv));
                assert_eq!(choice.line[0], choice.mv, "{at}");
            }
        };
        compare(&mut oracle, &mut plain);
        compare(&mut winning_oracle, &mut winning);
    }
}

#[test]
fn without_guesses_it_equals_alphabeta_where_turns_alternate() {
    equals_alphabeta(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    equals_alphabeta(Mnk::<1>::new("mnk", 5, 4, 3, false).unwrap());
    equals_alphabeta(Connect4::<u64>::new(7, 6, 4).unwrap());
    equals_alphabeta(Breakthrough::new(5, 6).unwrap());
    equals_alphabeta(Nim::new(60));
}

#[test]
fn without_guesses_it_equals_alphabeta_where_players_pass() {
    equals_alphabeta(Othello::new(6, 6).unwrap());
}

#[test]
fn without_guesses_it_equals_alphabeta_where_turns_repeat() {
    equals_alphabeta(Dots::<u64>::new(3, 2, Score::Win).unwrap());
    equals_alphabeta(Dots::<u64>::new(3, 3, Score::Margin).unwrap());
    equals_alphabeta(Checkers::new(6, 6, 40).unwrap());
}

#[test]
fn without_guesses_it_equals_alphabeta_where_history_counts() {
    equals_alphabeta(Morris::new(Draw::Repetition));
    equals_alphabeta(Morris::new(Draw::Turns200));
}

/// All guesses at once, more of them than is sensible, and the sensible ones.
fn guesses() -> [PvsOptions; 3] {
    let bold = PvsOptions { table: 1, probcut: 0.05, wins: true, ..PvsOptions::default() };
    [
        bold,
        PvsOptions { wins: false, ..bold },
        PvsOptions { table: 1, order: PvsOrder::Eval(2), ..PvsOptions::default() },
    ]
}

/// What is called proven after searches of several lengths is the exact value; gives how many were.
fn proofs_are_true<G: Game>(game: G, plies: u32, states: u32) -> usize {
    let mut rng = Rng::new(SEED);
    let mut proofs = 0;
    for _ in 0..states {
        let s = random_state(&game, &mut rng, plies);
        let mover = game.mover(&s);
        let mut oracle = AlphaBeta::<G>::plain();
        let exact = |s: &G::State, oracle: &mut AlphaBeta<G>| match game.outcome(s) {
            Some(p) => p[mover],
            None => {
                let choice = oracle.search(&game, s, &Limit::depth(100).into(), &mut Rng::new(1));
                assert!(choice.root.iter().any(|r| r.mv == choice.mv && r.proven), "the oracle must know");
                choice.value[mover]
            }
        };
        let value = exact(&s, &mut oracle);
        for options in guesses() {
            let mut search = Pvs::new(Box::new(RandomValue::Hashed(SEED)), options);
            for depth in [1, 2, 3, 4, 6, 8, 12, 40] {
                let choice = search.search(&game, &s, &Limit::depth(depth).into(), &mut rng);
                let at = format!("{} \"{}\" depth {depth} {options:?}", game.info().name, game.position(&s));
                for r in choice.root.iter().filter(|r| r.proven) {
                    let mut child = s.clone();
                    game.play(&mut child, r.mv);
                    let (claimed, worth) = (r.value.expect("a proven value")[mover], exact(&child, &mut oracle));
                    assert!((claimed - worth).abs() < 1e-4, "{at}: {} {claimed} {worth}", game.move_name(r.mv));
                    proofs += 1;
                    if r.mv == choice.mv && (depth == 40 || claimed == 1.0) {
                        assert!(
                            (choice.value[mover] - value).abs() < 1e-4,
                            "{at}: {} is not {value}",
                            choice.value[mover]
                        );
                    }
                }
            }
        }
    }
    proofs
}

#[test]
fn what_it_calls_proven_is_true() {
    assert!(proofs_are_true(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), 7, 25) > 200);
    assert!(proofs_are_true(Connect4::<u64>::new(4, 4, 4).unwrap(), 14, 12) > 100);
    assert!(proofs_are_true(Dots::<u64>::new(2, 2, Score::Win).unwrap(), 10, 25) > 200);
    assert!(proofs_are_true(Dots::<u64>::new(2, 3, Score::Margin).unwrap(), 15, 10) > 50);
    assert!(proofs_are_true(Breakthrough::new(4, 4).unwrap(), 12, 20) > 150);
    assert!(proofs_are_true(Breakthrough::new(5, 4).unwrap(), 12, 6) > 40);
    assert!(proofs_are_true(Othello::new(4, 4).unwrap(), 11, 25) > 100);
    assert!(proofs_are_true(Nim::new(30), 20, 40) > 300);
}

#[test]
fn wins_and_losses_that_it_proves_in_morris_are_true() {
    // Endings with few men: proven by alpha-beta to a greater depth, with the whole past in the key.
    let game = Morris::new(Draw::Repetition);
    let mut rng = Rng::new(SEED);
    let mut proofs = 0;
    for _ in 0..60 {
        let s = random_state(&game, &mut rng, 140);
        let mover = game.mover(&s);
        for options in guesses() {
            let mut search = Pvs::new(Box::new(RandomValue::Hashed(SEED)), options);
            let choice = search.search(&game, &s, &Limit { nodes: Some(20_000), ..Limit::depth(4) }.into(), &mut rng);
            for r in choice.root.iter().filter(|r| r.proven) {
                let mut child = s;
                game.play(&mut child, r.mv);
                let claimed = r.value.expect("a proven value")[mover];
                let worth = game.outcome(&child).unwrap_or_else(|| {
                    let limit = Limit { nodes: Some(3_000_000), ..Limit::depth(6) };
                    AlphaBeta::plain().search(&game, &child, &limit.into(), &mut Rng::new(1)).value
                });
                assert_eq!(claimed, worth[mover], "\"{}\" {}", game.position(&s), game.move_name(r.mv));
                proofs += 1;
            }
        }
    }
    assert!(proofs > 20, "{proofs}");
}

#[test]
fn dots_and_boxes_have_their_known_values() {
    for (cols, rows, net) in [(1, 1, -1.0), (2, 1, 0.0), (3, 1, -1.0), (2, 2, 2.0), (3, 2, -2.0), (2, 3, -2.0)] {
        let value = |score| {
            let game = Dots::<u64>::new(cols, rows, score).unwrap();
            let mut search = Pvs::plain(PvsOptions::default());
            let choice = search.search(&game, &game.initial(), &Limit::depth(100).into(), &mut Rng::new(1));
            assert!(choice.root.iter().any(|r| r.mv == choice.mv && r.proven), "{cols}x{rows}");
            choice.value[Player(0)]
        };
        let share = net / (cols * rows) as f32;
        assert!((value(Score::Margin) - share).abs() < 1e-4, "{cols}x{rows}");
        assert_eq!(value(Score::Win), if net == 0.0 { 0.0 } else { share.signum() }, "{cols}x{rows}");
    }
}

#[test]
fn the_same_seed_gives_the_same_search() {
    let game = Othello::new(8, 8).unwrap();
    let search = |seed| {
        let mut pvs = Pvs::new(Box::new(RandomValue::Hashed(1)), PvsOptions { probcut: 0.2, ..PvsOptions::default() });
        let (mut s, mut rng, mut choices) = (game.initial(), Rng::new(seed), Vec::new());
        for _ in 0..6 {
            let choice = pvs.search(&game, &s, &Limit::nodes(5_000).into(), &mut rng);
            game.play(&mut s, choice.mv);
            choices.push(choice);
        }
        choices
    };
    assert_eq!(search(3), search(3));
    assert_ne!(search(3), search(4));
}

#[test]
fn nodes_and_time_are_limits() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let s = game.initial();
    let search = |limit: Limit| Pvs::plain(PvsOptions::default()).search(&game, &s, &limit.into(), &mut Rng::new(1));
    for n in [1, 2, 7, 8, 100, 4_999, 5_000] {
        assert_eq!(search(Limit::nodes(n)).nodes, n);
    }
    assert_eq!(search(Limit::nodes(1)).root.len(), 7);
    assert_eq!(search(Limit::depth(3)).depth, 3);
    let start = Instant::now();
    search(Limit::time(Duration::from_millis(30)));
    assert!(start.elapsed().as_millis() < 2_000);
}

/// A slow evaluator: a search that looked at the clock only at inner nodes would be late.
struct Slow;

impl<G: Game> Evaluator<G> for Slow {
    fn value(&mut self, _: &G, _: &G::State) -> Payoffs {
        std::thread::sleep(Duration::from_millis(1));
        Payoffs::draw(2)
    }
}

#[test]
fn a_slow_evaluator_does_not_make_it_late() {
    let game = Othello::new(8, 8).unwrap();
    let stop = Stop::new();
    let control = Control { stop: Some(stop.clone()), ..Limit::INFINITE.into() };
    let raise = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.raise();
    });
    let start = Instant::now();
    Pvs::new(Box::new(Slow), PvsOptions::default()).search(&game, &game.initial(), &control, &mut Rng::new(1));
    assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
    raise.join().unwrap();
}

#[test]
fn without_history_in_its_keys_it_proves_nothing() {
    let game = Connect4::<u64>::new(4, 4, 4).unwrap();
    let options = PvsOptions { history: HistoryKey::Ignore, ..PvsOptions::default() };
    let choice = Pvs::plain(options).search(&game, &game.initial(), &Limit::depth(100).into(), &mut Rng::new(1));
    assert!(choice.root.iter().all(|r| !r.proven));
}

/// The proven value of every move is that of alpha-beta, in either goal.
fn proves_every_move<G: Game>(game: G, plies: u32, states: u32) {
    let mut rng = Rng::new(SEED);
    let mut prover = Pvs::<G>::prover(1);
    for _ in 0..states {
        let s = random_state(&game, &mut rng, plies);
        let (mover, mut moves) = (game.mover(&s), Vec::new());
        game.legal(&s, &mut moves);
        let worth = |m| {
            let mut child = s.clone();
            game.play(&mut child, m);
            let value = game.outcome(&child).unwrap_or_else(|| {
                AlphaBeta::plain().search(&game, &child, &Limit::depth(100).into(), &mut Rng::new(1)).value
            });
            if value[mover] == 0.0 { 0 } else { value[mover].signum() as i8 }
        };
        let worths: Vec<i8> = moves.iter().map(|&m| worth(m)).collect();
        for goal in [Goal::EveryMove, Goal::Value] {
            let mut bounds: Vec<MoveBounds> = moves.iter().map(|&m| MoveBounds::unknown(m)).collect();
            let mut told = 0;
            prover.prove(&game, &s, &mut bounds, goal, &Control::default(), &mut |_| told += 1);
            let at = format!("{} \"{}\" {goal:?}", game.info().name, game.position(&s));
            assert!(told > 0, "{at}");
            assert_eq!(value_of(&bounds), worths.iter().copied().max(), "{at}");
            let fits = |(b, w): (&MoveBounds, &i8)| (b.low..=b.high).contains(w);
            assert!(bounds.iter().zip(&worths).all(fits), "{at}: {bounds:?} {worths:?}");
            assert!(goal == Goal::Value || bounds.iter().all(|b| b.value().is_some()), "{at}: {bounds:?}");
        }
    }
}

#[test]
fn every_move_is_proven() {
    proves_every_move(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), 7, 20);
    proves_every_move(Connect4::<u64>::new(4, 4, 4).unwrap(), 12, 10);
    proves_every_move(Dots::<u64>::new(2, 2, Score::Win).unwrap(), 8, 20);
    proves_every_move(Dots::<u64>::new(2, 2, Score::Margin).unwrap(), 8, 20);
    proves_every_move(Breakthrough::new(4, 4).unwrap(), 12, 10);
    proves_every_move(Othello::new(4, 4).unwrap(), 8, 10);
    proves_every_move(Nim::new(20), 10, 10);
}

#[test]
fn a_proof_that_is_stopped_keeps_what_is_certain() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let s = game.parse_position("112233").unwrap();
    let mut moves = Vec::new();
    game.legal(&s, &mut moves);
    let mut bounds: Vec<MoveBounds> = moves.into_iter().map(MoveBounds::unknown).collect();
    let mut prover = Pvs::prover(1);
    let nodes = prover.prove(&game, &s, &mut bounds, Goal::EveryMove, &Limit::nodes(200).into(), &mut |_| {});
    assert_eq!(nodes, 200);
    assert_eq!((bounds[3].value(), bounds[3].plies), (Some(1), Some(1)));
    assert!(bounds.iter().any(|b| b.value().is_none()));
}
