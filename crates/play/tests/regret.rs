//! Sets of solved positions, and what agents give away there.

use ludex_play::open;
use ludex_play::regret::{Score, SetPlan, SolvedPosition, ask, bands, score};
use std::collections::HashSet;

fn plan(count: usize, threads: usize) -> SetPlan {
    SetPlan { count, plies: 2..=5, seed: 3, nodes: 1_000_000, table: 1, threads }
}

fn made(count: usize, threads: usize, mut set: Vec<SolvedPosition>) -> Vec<SolvedPosition> {
    let table = open("tictactoe").unwrap();
    plan(count, threads).extend(&*table, &mut set, |_| Ok::<(), ()>(())).unwrap();
    set
}

#[test]
fn a_set_does_not_depend_on_threads_nor_on_interruptions() {
    let table = open("tictactoe").unwrap();
    let set = made(30, 1, Vec::new());
    assert_eq!(set.len(), 30);
    assert_eq!(made(30, 3, Vec::new()), set);
    assert_eq!(made(30, 2, made(11, 2, Vec::new())), set);
    let texts: HashSet<&str> = set.iter().map(|p| &*p.text).collect();
    assert_eq!(texts.len(), 30);
    for p in &set {
        assert!((2..=5).contains(&p.plies.unwrap()));
        assert!(p.moves.iter().any(|m| m.1 != p.value()));
        assert_eq!(SolvedPosition::parse(&*table, &p.line(&*table)).as_ref(), Ok(p));
    }
    for bad in ["", "start", "start\ta1=0", "start\ta1", "start\tz9=1", "start\ta1=2", "?\ta1=0"] {
        assert!(SolvedPosition::parse(&*table, bad).is_err(), "{bad}");
    }
}

#[test]
fn who_knows_the_game_has_no_regret_and_who_does_not_has() {
    let table = open("tictactoe").unwrap();
    let set = made(40, 2, Vec::new());
    let regret = |agent: &str, threads| {
        let answers = ask(&*table, &agent.parse().unwrap(), &set, 1, threads, || {}).unwrap();
        assert_eq!(bands(&set, &answers).iter().map(|b| b.1.positions).sum::<u32>(), 40);
        Score { ms: 0.0, ..score(answers.iter()) }
    };
    let perfect = regret("pvs(depth=9)", 2);
    assert_eq!((perfect.kept, perfect.regret), (40, 0.0));
    let random = regret("random", 2);
    assert!(random.regret > 0.1 && random.share < 0.9, "{random:?}");
    assert_eq!(random, regret("random", 1));
    assert!(random.interval.low < random.share && random.share < random.interval.high);
}
