//! Backward deepening finds the leaves that full enumeration finds, knows what follows from them, and does no step twice;
//! and alpha-beta reports nothing but exact values.

use ludex_core::toy::Nim;
use ludex_core::{Control, Evaluator, Game, Limit, Payoffs, Player, Rng, Search, perft};
use ludex_games::*;
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions, Order};
use ludex_search::backward::{
    BackwardOptions, Consistent, Deepening, Frontier, NoFrontier, Pruning, deepen, full_width,
};
use ludex_search::eval::RandomValue;
use ludex_search::{ExactObserver, Source};
use std::collections::{HashMap, HashSet};

/// Writes everything down.
struct Notes<G: Game>(Vec<(G::State, Payoffs, Source)>);

impl<G: Game> ExactObserver<G> for Notes<G> {
    fn exact(&mut self, _: &G, s: &G::State, value: Payoffs, source: Source) {
        self.0.push((s.clone(), value, source));
    }
}

/// The states of a random match.
fn random_match<G: Game>(game: &G, rng: &mut Rng) -> Vec<G::State> {
    let mut line = vec![game.initial()];
    while let Some(m) = game.sample(&line[line.len() - 1], rng) {
        let mut s = line[line.len() - 1].clone();
        game.play(&mut s, m);
        line.push(s);
    }
    line
}

/// All terminal states at most `depth` plies below.
fn leaves<G: Game>(game: &G, s: &G::State, depth: u32, out: &mut HashSet<G::State>) {
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    if moves.is_empty() {
        out.insert(s.clone());
    }
    for m in moves.into_iter().filter(|_| depth > 0) {
        let mut child = s.clone();
        game.play(&mut child, m);
        leaves(game, &child, depth - 1, out);
    }
}

/// The oracle: what a state is worth to player 0.
fn solve<G: Game>(game: &G, s: &G::State, memory: &mut HashMap<G::State, f32>) -> f32 {
    if let Some(p) = game.outcome(s) {
        return p[Player(0)];
    }
    if let Some(&v) = memory.get(s) {
        return v;
    }
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let values = moves.iter().map(|&m| {
        let mut child = s.clone();
        game.play(&mut child, m);
        solve(game, &child, memory)
    });
    let first = game.mover(s) == Player(0);
    let value = if first { values.fold(-2.0, f32::max) } else { values.fold(2.0, f32::min) };
    memory.insert(s.clone(), value);
    value
}

/// Of a number of random matches, the last `plies` plies.
fn check<G: Game>(game: &G, plies: usize) {
    let mut memory = HashMap::new();
    for seed in 0..5 {
        let line = random_match(game, &mut Rng::new(seed));
        let line = &line[line.len().saturating_sub(plies + 1)..];
        let depth = line.len() as u32 - 1;
        let run = |options: BackwardOptions| -> (Deepening, Notes<G>) {
            let mut notes = Notes(Vec::new());
            let done = deepen(game, line, options, &Control::default(), &mut NoFrontier, &mut notes);
            (done, notes)
        };
        let at = format!("{} seed {seed}", game.info().name);
        let mut wanted = HashSet::new();
        leaves(game, &line[0], depth, &mut wanted);
        let (whole, notes) = run(BackwardOptions::default());
        let (_, joined) = run(BackwardOptions { transpositions: true, ..BackwardOptions::default() });
        let over = |notes: &Notes<G>| -> HashSet<G::State> {
            notes.0.iter().filter(|(s, ..)| game.outcome(s).is_some()).map(|(s, ..)| s.clone()).collect()
        };
        assert_eq!(over(&notes), wanted, "{at}: the leaves");
        let keys = |states: HashSet<G::State>| states.iter().map(|s| game.key(s)).collect::<HashSet<u64>>();
        assert_eq!(keys(over(&joined)), keys(wanted), "{at}: the leaves, alike ones once");
        // Each step contains the one before and does not search it again: all steps together visit the nodes of the last.
        let nodes = |root: &G::State, depth: u32| (0..=depth).map(|d| perft(game, root, d)).sum::<u64>();
        let mut total = 0;
        for (i, step) in whole.steps.iter().enumerate() {
            total += step.nodes;
            assert_eq!(total, nodes(&line[step.ply], i as u32 + 1), "{at}: step {i}");
        }
        assert_eq!((whole.steps.len() as u32, whole.nodes), (depth, total), "{at}");
        let (cut, pruned) = run(BackwardOptions { pruning: Pruning::Wins, ..BackwardOptions::default() });
        assert!(cut.nodes <= whole.nodes, "{at}");
        for (s, value, source) in notes.0.iter().chain(&joined.0).chain(&pruned.0) {
            assert_eq!(*source, Source::Terminal);
            assert_eq!(value[Player(0)], solve(game, s, &mut memory), "{at}: {}", game.position(s));
        }
    }
}

#[test]
fn the_same_leaves_as_full_enumeration_and_no_step_twice() {
    check(&Nim::new(9), 9);
    check(&Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), 7);
    check(&Connect4::<u64>::new(4, 4, 3).unwrap(), 7);
    check(&Othello::new(4, 4).unwrap(), 8);
}

#[test]
fn turns_may_repeat() {
    check(&Dots::<u64>::new(2, 2, Score::Win).unwrap(), 7);
    check(&Dots::<u64>::new(2, 2, Score::Margin).unwrap(), 7);
}

#[test]
fn limits_are_kept_and_what_was_found_before_counts() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let line = random_match(&game, &mut Rng::new(1));
    let mut notes = Notes(Vec::new());
    let limit = Limit::nodes(1_000).into();
    let found = deepen(&game, &line, BackwardOptions::default(), &limit, &mut NoFrontier, &mut notes);
    assert_eq!(found.nodes, 1_000);
    assert!(!found.steps.is_empty() && found.steps.len() < line.len() && notes.0.len() > 10);
    let limit = Limit::time(std::time::Duration::from_millis(20)).into();
    let start = std::time::Instant::now();
    deepen(&game, &line, BackwardOptions::default(), &limit, &mut NoFrontier, &mut notes);
    assert!(start.elapsed().as_millis() < 2_000);
    // A line of one state has nothing to step back to.
    let found = deepen(&game, &line[..1], BackwardOptions::default(), &Control::default(), &mut NoFrontier, &mut notes);
    assert!(found.steps.is_empty());
}

/// The true value of Nim.
struct Truth;

impl Evaluator<Nim> for Truth {
    fn value(&mut self, game: &Nim, s: &<Nim as Game>::State) -> Payoffs {
        let mover = game.mover(s);
        Payoffs::of(mover, if s.left % 4 == 0 { -0.9 } else { 0.9 })
    }
}

#[test]
fn a_heuristic_vouches_for_states_where_it_agrees_with_itself_one_ply_further() {
    let nim = Nim::new(20);
    let value = |tolerance: f32, notes: &mut Notes<Nim>| {
        let mut consistent = Consistent { eval: &mut Truth, tolerance };
        full_width(&nim, &nim.initial(), 3, &Control::default(), &mut consistent, notes)
    };
    let mut notes = Notes(Vec::new());
    // Twenty is a multiple of four: the mover loses, as the consistent heuristic three plies below says.
    assert_eq!(value(0.1, &mut notes).map(|v| v[Player(0)]), Some(-0.9));
    assert!(!notes.0.is_empty() && notes.0.iter().all(|(.., source)| *source == Source::Consistent));
    assert!(NoFrontier.value(&nim, &nim.initial()).is_none());
    // A heuristic at odds with itself vouches for nothing.
    struct Wild;
    impl Evaluator<Nim> for Wild {
        fn value(&mut self, game: &Nim, s: &<Nim as Game>::State) -> Payoffs {
            Payoffs::of(game.mover(s), 0.9)
        }
    }
    let mut wild = Consistent { eval: &mut Wild, tolerance: 0.1 };
    assert_eq!(full_width(&nim, &nim.initial(), 3, &Control::default(), &mut wild, &mut Notes(Vec::new())), None);
}

/// Whatever the depth, the order and the heuristic, what alpha-beta reports is the true value.
fn reports_are_exact<G: Game>(game: G) {
    let mut memory = HashMap::new();
    let mut told = 0;
    for (seed, order) in [(1, Order::Eval), (2, Order::Killers), (3, Order::None)] {
        let options = AlphaBetaOptions { order, table: 1, ..AlphaBetaOptions::default() };
        let eval = Box::new(RandomValue::Hashed(seed));
        let mut search = AlphaBeta::observed(eval, options, Notes::<G>(Vec::new()));
        let mut rng = Rng::new(seed);
        let mut s = game.initial();
        while game.outcome(&s).is_none() {
            let limit = if seed == 2 { Limit::nodes(400) } else { Limit::depth(4) }.into();
            let choice = search.search(&game, &s, &limit, &mut rng);
            game.play(&mut s, choice.mv);
        }
        for (s, value, source) in &search.observer.0 {
            assert_eq!(*source, Source::Terminal);
            let truth = solve(&game, s, &mut memory);
            assert_eq!(value[Player(0)], truth, "{} {order:?}: {}", game.info().name, game.position(s));
        }
        told += search.observer.0.len();
    }
    assert!(told > 30, "{}: {told} reports", game.info().name);
}

#[test]
fn alphabeta_reports_exact_values_and_never_bounds() {
    reports_are_exact(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    reports_are_exact(Connect4::<u64>::new(4, 4, 4).unwrap());
    reports_are_exact(Connect4::<u64>::new(5, 4, 3).unwrap());
    reports_are_exact(Othello::new(4, 4).unwrap());
    reports_are_exact(Breakthrough::new(4, 4).unwrap());
    reports_are_exact(Dots::<u64>::new(2, 2, Score::Win).unwrap());
    reports_are_exact(Dots::<u64>::new(3, 1, Score::Margin).unwrap());
}

#[test]
fn observing_changes_nothing() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let (s, limit) = (game.parse_position("4433").unwrap(), Limit::nodes(5_000).into());
    let options = AlphaBetaOptions::default();
    let eval = || Box::new(RandomValue::Hashed(5));
    let alone = AlphaBeta::new(eval(), options).search(&game, &s, &limit, &mut Rng::new(1));
    let observed = AlphaBeta::observed(eval(), options, Notes(Vec::new())).search(&game, &s, &limit, &mut Rng::new(1));
    assert_eq!(alone, observed);
}
