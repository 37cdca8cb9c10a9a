//! Laws of the evaluators, and what they are worth inside a plain alpha-beta.

use ludex_baselines::{BASELINES, Chains, Kind, MorrisClassic, NetBoxes, OthelloClassic, PieceAdvantage, Positional};
use ludex_core::{Control, Evaluator, Game, Move, Player, Rng, Search};
use ludex_games::{Dots, Draw, Morris, Othello, Score};

/// Over random games: within (-1, 1), zero-sum, and exchanged when the roles are.
fn check_laws<G: Game>(game: &G, evaluator: &mut impl Evaluator<G>, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut distinct = std::collections::HashSet::new();
    for _ in 0..30 {
        let mut s = game.initial();
        for _ in 0..300 {
            let Some(m) = game.sample(&s, &mut rng) else { break };
            game.play(&mut s, m);
            if game.outcome(&s).is_some() {
                break;
            }
            let value = evaluator.value(game, &s);
            let mirrored = evaluator.value(game, &game.mirrored(&s).unwrap());
            let show = || format!("{value}, mirrored {mirrored}\n{}", game.show(&s));
            assert!(value.as_slice().iter().all(|v| v.abs() < 1.0), "{}", show());
            assert_eq!(value[Player(0)], -value[Player(1)], "{}", show());
            assert!((value[Player(0)] - mirrored[Player(1)]).abs() < 1e-6, "{}", show());
            distinct.insert(value[Player(0)].to_bits());
        }
    }
    assert!(distinct.len() > 10, "tells positions apart: {}", distinct.len());
}

#[test]
fn values_are_inside_the_payoffs_and_exchange_with_the_roles() {
    for (cols, rows) in [(8, 8), (6, 6), (4, 4), (8, 4)] {
        let game = Othello::new(cols, rows).unwrap();
        check_laws(&game, &mut PieceAdvantage, 1);
        check_laws(&game, &mut Positional::default(), 2);
        check_laws(&game, &mut OthelloClassic::default(), 3);
    }
    for draw in [Draw::Repetition, Draw::Turns200] {
        check_laws(&Morris::new(draw), &mut MorrisClassic::default(), 4);
    }
    check_laws(&Dots::<u64>::new(5, 5, Score::Win).unwrap(), &mut NetBoxes, 5);
    check_laws(&Dots::<u128>::new(7, 7, Score::Margin).unwrap(), &mut NetBoxes, 6);
}

/// Plain alpha-beta by the mover's own payoff; turns need not alternate. Equal root moves: the first in random order.
fn minimax<G: Game>(game: &G, s: &G::State, depth: u32, eval: &mut dyn Evaluator<G>, rng: &mut Rng) -> Move {
    fn value<G: Game>(g: &G, s: &G::State, depth: u32, window: (f32, f32), eval: &mut dyn Evaluator<G>) -> f32 {
        let mover = g.mover(s);
        if let Some(payoffs) = g.outcome(s) {
            // Sooner is better, later is less bad.
            return payoffs[mover] * (1.0 + 0.01 * depth as f32);
        }
        if depth == 0 {
            return eval.value(g, s)[mover];
        }
        let mut moves = Vec::new();
        g.legal(s, &mut moves);
        let (mut low, high) = window;
        for m in moves {
            let mut child = s.clone();
            g.play(&mut child, m);
            let v = match g.mover(&child) == mover {
                true => value(g, &child, depth - 1, (low, high), eval),
                false => -value(g, &child, depth - 1, (-high, -low), eval),
            };
            low = low.max(v);
            if low >= high {
                break;
            }
        }
        low
    }
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    rng.shuffle(&mut moves);
    let mover = game.mover(s);
    let mut best = (f32::NEG_INFINITY, moves[0]);
    for m in moves {
        let mut child = s.clone();
        game.play(&mut child, m);
        let v = match game.mover(&child) == mover {
            true => value(game, &child, depth - 1, (best.0, f32::INFINITY), eval),
            false => -value(game, &child, depth - 1, (f32::NEG_INFINITY, -best.0), eval),
        };
        if v > best.0 {
            best = (v, m);
        }
    }
    best.1
}

/// A value drawn afresh at each call: the paper's random heuristic.
struct Noise(Rng);

impl<G: Game> Evaluator<G> for Noise {
    fn value(&mut self, _: &G, _: &G::State) -> ludex_core::Payoffs {
        ludex_core::Payoffs::of(Player(0), 1.998 * self.0.unit() as f32 - 0.999)
    }
}

/// Points of the first evaluator against the second at this depth; pairs of games from shared random openings.
fn duel<G: Game>(
    game: &G,
    depth: u32,
    evals: [&mut dyn Evaluator<G>; 2],
    (games, opening): (u64, u32),
    seed: u64,
) -> f64 {
    let mut points = 0.0;
    for n in 0..games {
        let (mut s, mut rng) = (game.initial(), Rng::stream(seed, n / 2));
        (0..opening).for_each(|_| {
            if let Some(m) = game.sample(&s, &mut rng) {
                game.play(&mut s, m);
            }
        });
        for _ in 0..300 {
            if game.outcome(&s).is_some() {
                break;
            }
            let who = game.mover(&s).index() ^ (n % 2) as usize;
            let m = minimax(game, &s, depth, &mut *evals[who], &mut rng);
            game.play(&mut s, m);
        }
        points += game.outcome(&s).map_or(0.5, |p| (p[Player((n % 2) as u8)] as f64 + 1.0) / 2.0);
    }
    points / games as f64
}

#[test]
fn othello_evaluators_rank_as_the_literature_says() {
    let game = Othello::new(8, 8).unwrap();
    let random = || Noise(Rng::new(1));
    let duel = |a: &mut dyn Evaluator<Othello>, b: &mut dyn Evaluator<Othello>, depth, games| {
        duel(&game, depth, [a, b], (games, 6), 17)
    };
    let (mut classic, mut table) = (OthelloClassic::default(), Positional::default());
    let classic_table = duel(&mut classic, &mut table, 3, 40);
    let classic_pieces = duel(&mut classic, &mut PieceAdvantage, 3, 20);
    let table_random = duel(&mut table, &mut random(), 2, 60);
    let table_pieces = duel(&mut table, &mut PieceAdvantage, 2, 60);
    println!("classic-table {classic_table}, classic-pieces {classic_pieces}");
    println!("table-random {table_random}, table-pieces {table_pieces}");
    assert!(classic_table > 0.75 && classic_pieces > 0.85, "{classic_table} {classic_pieces}");
    assert!(table_random > 0.55 && table_pieces > 0.55, "{table_random} {table_pieces}");
}

/// Men only: the evaluator that a beginner would write.
struct Men;

impl Evaluator<Morris> for Men {
    fn value(&mut self, game: &Morris, s: &ludex_games::MorrisState) -> ludex_core::Payoffs {
        let men = [0, 1].map(|p| game.men(s)[p].count_ones() as f32 + game.hand(s)[p] as f32);
        ludex_core::Payoffs::of(Player(0), (men[0] - men[1]) / 10.0)
    }
}

#[test]
fn morris_classic_beats_counting_men() {
    let game = Morris::new(Draw::Repetition);
    let random = duel(&game, 3, [&mut MorrisClassic::default(), &mut Noise(Rng::new(2))], (20, 4), 5);
    let men = duel(&game, 3, [&mut MorrisClassic::default(), &mut Men], (40, 4), 6);
    println!("classic-random {random}, classic-men {men}");
    assert!(random > 0.9 && men > 0.6, "{random} {men}");
}

#[test]
fn chains_beat_counting_boxes() {
    let game = Dots::<u64>::new(4, 4, Score::Win).unwrap();
    let (mut chains, mut points) = (Chains::new(200), 0.0);
    for n in 0..20 {
        let (mut s, mut rng) = (game.initial(), Rng::stream(8, n));
        while game.outcome(&s).is_none() {
            let m = match game.mover(&s) == Player((n % 2) as u8) {
                true => chains.search(&game, &s, &Control::default(), &mut rng).mv,
                false => minimax(&game, &s, 3, &mut NetBoxes, &mut rng),
            };
            game.play(&mut s, m);
        }
        points += (game.outcome(&s).unwrap()[Player((n % 2) as u8)] as f64 + 1.0) / 2.0;
    }
    println!("chains-boxes {}", points / 20.0);
    assert!(points >= 16.0, "{points}");
}

#[test]
fn the_list_names_each_baseline_once_with_one_setting() {
    let mut names: Vec<_> = BASELINES.iter().map(|r| (r.game, r.name)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), BASELINES.len());
    for baseline in BASELINES {
        let setting = if baseline.kind == Kind::Search { "playouts" } else { "depth" };
        assert!(baseline.setting == setting && !baseline.about.contains('\n') && baseline.default > 0);
    }
}
