//! Every search ends when it is told to, reports what it is doing, and is not changed by being watched.

use cpu_time::ThreadTime;
use ludex_core::toy::Nim;
use ludex_core::{Choice, Control, Game, Limit, LimitKind, Rng, Search, Stop};
use ludex_games::{Connect4, Othello};
use ludex_search::alphabeta::{AlphaBeta, AlphaBetaOptions, Order};
use ludex_search::eval::{RandomValue, Rollouts, Zero};
use ludex_search::mcts::*;
use ludex_search::pvs::{Pvs, PvsOptions, PvsOrder};
use ludex_search::{Greedy, Random};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Every search, by name.
fn searches<G: Game>(game: &G) -> Vec<(&'static str, Box<dyn Search<G>>)> {
    let ucb = || Box::new(Ucb1::new(1.4, Form::Plain, Reward::Unit)) as Box<dyn Select>;
    let one = || Box::new(OneChild::new(Next::Random)) as Box<dyn Expand<G>>;
    let all = || Box::new(AllChildren::new(When::SECOND, PlayoutFrom::Leaf)) as Box<dyn Expand<G>>;
    let value = || Box::new(RandomValue::Hashed(1));
    let mcts = |select, expand, playout, options| -> Box<dyn Search<G>> {
        Box::new(Mcts::new(game, select, expand, playout, Box::new(Mean), options))
    };
    let options = MctsOptions::default();
    let graph = MctsOptions { transpositions: true, reuse: true, ..options };
    let small = MctsOptions { capacity: 50, ..options };
    let priors = || Box::new(WithPriors::new(all(), value(), PriorSource::ChildValues)) as Box<dyn Expand<G>>;
    vec![
        ("random", Box::new(Random)),
        ("greedy", Box::new(Greedy::new(value()))),
        ("alpha-beta", Box::new(AlphaBeta::<G>::plain())),
        ("alpha-beta by the evaluator", {
            let options = AlphaBetaOptions { order: Order::Eval, table: 1, ..AlphaBetaOptions::default() };
            Box::new(AlphaBeta::new(Box::new(Rollouts { playouts: 2, rng: Rng::new(1) }), options))
        }),
        ("pvs", Box::new(Pvs::<G>::plain(PvsOptions { table: 1, ..PvsOptions::default() }))),
        ("pvs with everything", {
            let order = PvsOrder::Eval(2);
            let options = PvsOptions { order, table: 1, probcut: 0.1, wins: true, ..PvsOptions::default() };
            Box::new(Pvs::new(Box::new(Rollouts { playouts: 2, rng: Rng::new(1) }), options))
        }),
        ("uct", mcts(ucb(), one(), Box::new(Uniform), options)),
        ("all children", mcts(ucb(), all(), Box::<Decisive>::default(), options)),
        ("a graph", mcts(ucb(), one(), Box::new(Uniform), graph)),
        ("a full tree", mcts(ucb(), one(), Box::new(Mast::new(0.4)), small)),
        ("a prior", mcts(Box::new(PriorMean::new(0.3, 10.0)), priors(), Box::new(Uniform), options)),
        ("grave", mcts(Box::new(Grave::new(50, 1e-5, 0.0)), all(), Box::new(Uniform), options)),
    ]
}

#[test]
fn every_limit_that_a_search_counts_ends_it() {
    let nim = Nim::new(60);
    for (name, mut search) in searches(&nim) {
        for &kind in search.limits() {
            for n in [0, 1, 7] {
                let mut limit = Limit::default();
                limit.set(kind, n);
                let choice = search.search(&nim, &nim.initial(), &limit.into(), &mut Rng::new(1));
                assert!(choice.mv.0 < 3, "{name} {kind}={n}");
                match kind {
                    LimitKind::Simulations => assert_eq!(choice.simulations, n, "{name}"),
                    LimitKind::Nodes => assert!(choice.nodes <= n.max(1) + 1, "{name} {}", choice.nodes),
                    LimitKind::Depth => assert_eq!(choice.depth as u64, n.max(1), "{name}"),
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn a_limit_that_a_search_does_not_count_leaves_it_its_default() {
    let nim = Nim::new(60);
    let choices = |limit: Limit| -> Vec<Choice> {
        let choose = |mut search: Box<dyn Search<Nim>>| {
            let known = limit.kinds().all(|k| search.limits().contains(&k));
            let limit = if known && !limit.infinite { Limit::default() } else { limit };
            search.search(&nim, &nim.initial(), &limit.into(), &mut Rng::new(1))
        };
        searches(&nim).into_iter().map(|(_, search)| choose(search)).collect()
    };
    let defaults = choices(Limit::default());
    for kind in LimitKind::ALL {
        let mut limit = Limit::default();
        limit.set(kind, 3);
        assert_eq!(choices(limit), defaults, "{kind}");
    }
    assert_eq!(choices(Limit::INFINITE), defaults, "nothing could end an infinite search without a stop");
}

/// The searches that do not answer at once.
fn endless<G: Game>(game: &G) -> impl Iterator<Item = (&'static str, Box<dyn Search<G>>)> {
    searches(game).into_iter().filter(|(_, s)| !s.default_limit().is_empty())
}

/// Runs an infinite search whose third report raises the stop; gives its choice, the reports, and the computing time from the
/// stop to the end.
fn stopped<G: Game>(game: &G, search: &mut dyn Search<G>) -> (Choice, Vec<Choice>, Duration) {
    let stop = Stop::new();
    let seen = Arc::new(Mutex::new((Vec::new(), None)));
    let (raised, told) = (stop.clone(), Arc::clone(&seen));
    let progress = move |choice: &Choice| {
        let (reports, at) = &mut *told.lock().unwrap();
        reports.push(choice.clone());
        if reports.len() == 3 {
            raised.raise();
            *at = Some(ThreadTime::now().as_duration());
        }
    };
    let control = Control { limit: Limit::INFINITE, stop: Some(stop), progress: Some(Arc::new(progress)) };
    let choice = search.search(game, &game.initial(), &control, &mut Rng::new(1));
    let (reports, at) = std::mem::take(&mut *seen.lock().unwrap());
    (choice, reports, ThreadTime::now().as_duration() - at.expect("three reports"))
}

#[test]
fn an_infinite_search_reports_until_a_stop_ends_it_within_20_ms() {
    let game = Othello::new(8, 8).unwrap();
    for (name, mut search) in endless(&game) {
        let (choice, reports, late) = stopped(&game, &mut *search);
        assert!(late < Duration::from_millis(20), "{name}: {late:?}");
        let work = |c: &Choice| c.simulations + c.nodes;
        assert!(reports.is_sorted_by_key(work) && work(&choice) >= work(&reports[2]), "{name}");
        for report in &reports {
            assert!(report.root.iter().any(|r| r.mv == report.mv), "{name}: {report:?}");
            assert_eq!(report.line[0], report.mv, "{name}");
        }
    }
}

#[test]
fn a_stop_raised_beforehand_ends_a_search_at_once() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let stop = Stop::new();
    stop.raise();
    let control = Control { limit: Limit::INFINITE, stop: Some(stop), progress: None };
    for (name, mut search) in searches(&game) {
        // The first search makes its buffers.
        search.search(&game, &game.initial(), &control, &mut Rng::new(1));
        let start = ThreadTime::now();
        let choice = search.search(&game, &game.initial(), &control, &mut Rng::new(1));
        assert!(start.elapsed() < Duration::from_millis(20), "{name}: {:?}", start.elapsed());
        assert!(choice.mv.0 < 7, "{name}");
    }
}

#[test]
fn a_search_that_is_watched_chooses_the_same() {
    let game = Othello::new(6, 6).unwrap();
    let reports = Arc::new(Mutex::new(0));
    for ((name, mut alone), (_, mut watched)) in searches(&game).into_iter().zip(searches(&game)) {
        let limit =
            if alone.limits().contains(&LimitKind::Depth) { Limit::depth(6) } else { Limit::simulations(20_000) };
        let limit = if alone.default_limit().is_empty() { Limit::default() } else { limit };
        let count = Arc::clone(&reports);
        let progress = move |_: &Choice| *count.lock().unwrap() += 1;
        let control = Control { progress: Some(Arc::new(progress)), ..limit.into() };
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        let expected = alone.search(&game, &game.initial(), &limit.into(), &mut a);
        assert_eq!(watched.search(&game, &game.initial(), &control, &mut b), expected, "{name}");
        assert_eq!(a, b, "{name}: the generator is left as it would be");
    }
    assert!(*reports.lock().unwrap() > 0);
}

/// A search that proves its position ends, however long it may go on.
#[test]
fn everything_proven_ends_an_infinite_search() {
    let nim = Nim::new(7);
    let full = MctsOptions { solver: Solver::Full, ..MctsOptions::default() };
    let parts = (Ucb1::new(1.4, Form::Plain, Reward::Unit), OneChild::new(Next::Random));
    let mcts = Mcts::new(&nim, Box::new(parts.0), Box::new(parts.1), Box::new(Uniform), Box::new(Mean), full);
    let ends: [Box<dyn Search<Nim>>; 2] =
        [Box::new(mcts), Box::new(AlphaBeta::new(Box::new(Zero), AlphaBetaOptions::default()))];
    for mut search in ends {
        let control = Control { stop: Some(Stop::new()), ..Limit::INFINITE.into() };
        let choice = search.search(&nim, &nim.initial(), &control, &mut Rng::new(1));
        assert_eq!(nim.move_name(choice.mv), "3");
    }
}
