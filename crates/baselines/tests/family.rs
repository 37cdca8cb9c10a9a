//! The published family of positions and the solver behind it.

use ludex_baselines::{FAMILY, Solved, make_family};
use ludex_core::{Game, Rng};
use ludex_games::{Dots, DotsState, Score};

const SEED: u64 = 2021;

#[test]
fn the_family_is_what_its_seed_makes() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/dots-5x5-40.txt");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(file, make_family(50, SEED)).unwrap();
    }
    // The rest would take as long again for each position; every line is checked below.
    let first = make_family(6, SEED);
    assert!(!first.is_empty() && FAMILY.starts_with(&first), "UPDATE=1 cargo test -p ludex-baselines --test family");
}

#[test]
fn every_position_is_equal_quiet_and_has_the_value_beside_it() {
    let game = Dots::<u64>::new(5, 5, Score::Win).unwrap();
    let (mut won, mut seen) = (0, std::collections::HashSet::new());
    for line in FAMILY.lines() {
        let (text, margin) = line.split_once('\t').unwrap();
        let (s, margin) = (game.parse_position(text).unwrap(), margin.parse::<i32>().unwrap());
        assert!(seen.insert(game.drawn(&s)));
        assert_eq!(game.drawn(&s).count_ones(), 40);
        let [x, o] = game.boxes(&s);
        assert_eq!(x, o);
        let solved = Solved::new(&game, &s).unwrap();
        assert_eq!(solved.value(game.drawn(&s)), Some(margin));
        won += (margin > 0) as u32;
    }
    assert_eq!((won, seen.len()), (25, 50));
}

/// Plain minimax by the rules alone: the final lead of player 0.
fn minimax(game: &Dots<u64>, s: &DotsState<u64>) -> i32 {
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let after = |m: &ludex_core::Move| {
        let mut t = *s;
        game.play(&mut t, *m);
        minimax(game, &t)
    };
    match game.mover(s).0 {
        _ if moves.is_empty() => game.boxes(s)[0] as i32 - game.boxes(s)[1] as i32,
        0 => moves.iter().map(after).max().unwrap(),
        _ => moves.iter().map(after).min().unwrap(),
    }
}

#[test]
fn the_solver_agrees_with_brute_force_on_small_boards() {
    for (cols, rows) in [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (3, 3)] {
        let game = Dots::<u64>::new(cols, rows, Score::Win).unwrap();
        let mut rng = Rng::new((10 * cols + rows) as u64);
        for _ in 0..20 {
            let mut s = game.initial();
            while game.count_legal(&s) > 7 {
                let m = game.sample(&s, &mut rng).unwrap();
                game.play(&mut s, m);
            }
            let solved = Solved::new(&game, &s).unwrap();
            while let Some(m) = game.sample(&s, &mut rng) {
                let sign = if game.mover(&s).0 == 0 { 1 } else { -1 };
                let ahead = game.boxes(&s)[0] as i32 - game.boxes(&s)[1] as i32;
                assert_eq!(
                    ahead + sign * solved.value(game.drawn(&s)).unwrap(),
                    minimax(&game, &s),
                    "{}",
                    game.show(&s)
                );
                let best = solved.moves(game.drawn(&s)).unwrap().iter().map(|m| m.1).max();
                assert_eq!(best, solved.value(game.drawn(&s)));
                game.play(&mut s, m);
            }
        }
    }
}
