//! The arena: the same results on any number of threads, resumed or not; sane verdicts.

mod common;

use ludex_play::arena::{Contest, Manifest, PairResult, tally};
use ludex_play::openings::Openings;
use ludex_play::stats::{SprtPlan, score_interval};
use ludex_play::{Stop, open};

fn contest(game: &str, agents: &[&str], pairs: usize) -> Contest {
    let agents = agents.iter().map(|a| a.parse().unwrap()).collect();
    let game = open(game).unwrap().info().name.clone();
    Contest { game, agents, pairs, openings: Openings::Random(2), seed: 5, sprt: None }
}

fn run(c: &Contest, done: Vec<PairResult>, threads: usize) -> Vec<PairResult> {
    let table = open(&c.game).unwrap();
    c.run(&*table, done, threads, &Stop::new(), |_| {}).unwrap()
}

/// Results without the processor time, which is never the same twice.
fn timeless(mut results: Vec<PairResult>) -> Vec<PairResult> {
    results.iter_mut().flat_map(|r| &mut r.games).flat_map(|g| &mut g.cost).for_each(|c| c.cpu = 0.0);
    results
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let c = contest("connect4", &["uct(sims=60)", "uct(sims=30, c=0.7)", "minimax(depth=2)"], 6);
    let one = timeless(run(&c, vec![], 1));
    assert_eq!(one.len(), 18);
    assert_eq!(one, timeless(run(&c, vec![], 2)));
    assert_eq!(one, timeless(run(&c, vec![], 5)));
}

#[test]
fn an_interrupted_contest_goes_on_where_it_stopped() {
    let c = contest("dots:3x3", &["uct(sims=50)", "random"], 8);
    let whole = timeless(run(&c, vec![], 2));
    let path = std::env::temp_dir().join(format!("ludex-arena-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let (mut manifest, done) = Manifest::open(&path, &c).unwrap();
    assert!(done.is_empty());
    whole.iter().take(5).for_each(|r| manifest.add(r).unwrap());
    drop(manifest);
    // The program was killed in the middle of a line.
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"pairing\":0,\"pa");
    std::fs::write(&path, text).unwrap();
    let (_, done) = Manifest::open(&path, &c).unwrap();
    assert_eq!(done.len(), 5);
    let mut played = 0;
    let table = open(&c.game).unwrap();
    let resumed = c.run(&*table, done, 2, &Stop::new(), |_| played += 1).unwrap();
    assert_eq!((timeless(resumed), played), (whole, 3));
    // Another contest does not mix its results in.
    let other = contest("dots:3x3", &["uct(sims=51)", "random"], 8);
    assert!(Manifest::open(&path, &other).is_err());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn equal_agents_score_half_and_stronger_ones_more() {
    let c = contest("connect4", &["uct(sims=50)", "uct(sims=50)"], 100);
    let t = &tally(&c, &run(&c, vec![], 2))[0];
    assert!(score_interval(&t.pairs.pentanomial(), 0.99).contains(0.5), "{:?}", t.pairs);
    let c = contest("connect4", &["uct(sims=200)", "random"], 20);
    let t = &tally(&c, &run(&c, vec![], 2))[0];
    assert!(t.pairs.wdl().score() > 0.9);
    assert!(t.cost[0].nodes_per_move() == 200.0 && t.faults == [[0; 2]; 2]);
}

#[test]
fn a_sequential_test_stops_at_the_same_pair_on_any_number_of_threads() {
    let mut c = contest("tictactoe", &["uct(sims=100)", "random"], 400);
    c.sprt = Some(SprtPlan::between(0.0, 50.0));
    let one = timeless(run(&c, vec![], 1));
    assert!(one.len() < 100, "{} pairs", one.len());
    assert_eq!(one, timeless(run(&c, vec![], 3)));
}

#[test]
fn what_cannot_be_held_is_refused_in_one_line() {
    let check = |c: &Contest| c.check(&*open(&c.game).unwrap()).unwrap_err().to_string();
    assert!(check(&contest("othello", &["uct(simz=3)", "random"], 1)).contains("did you mean sims?"));
    assert!(check(&contest("othello", &["random"], 1)).contains("two agents"));
    let mut c = contest("othello", &["random", "random"], 1);
    c.openings = Openings::Listed(vec!["start".into(), "nonsense".into()]);
    assert!(check(&c).starts_with("opening 2:"));
    c.openings = Openings::Listed(vec![]);
    assert!(check(&c).contains("empty"));
    c.openings = Openings::Random(u32::MAX);
    assert!(check(&c).contains("at most 10000 random plies"));
    assert!(check(&contest("othello", &["random"; 3], 400_000)).contains("at most 1000000 pairs"));
    assert!(check(&contest("othello", &["random"; 2], usize::MAX)).contains("at most 1000000 pairs"));
}

#[test]
fn every_agent_plays_every_game_to_the_end() {
    let specs = [
        "random",
        "uct(sims=20)",
        "uct(sims=20, expand=leftmost, solver=on, reuse=on, final=secure)",
        "uct(sims=20, expand=second, backup=unique, final=max, form=kocsis, reward=signed)",
        "tuned(sims=20, solver=ends)",
        "rave(sims=20)",
        "grave(sims=20, playout=mast(eps=0.1))",
        "uct(visits=60, playout=decisive, expand=all)",
        "minimax(depth=2, eval=rollouts(n=2), order=eval)",
        "minimax(nodes=200, eval=random(by=call), ties=first, table=0, deepening=off, depth=2)",
    ];
    let games = [
        "tictactoe",
        "connect4:5x4x3",
        "othello:4x4",
        "morris",
        "dots:2x2",
        "gomoku:5x5x4",
        "breakthrough:5x5",
        "checkers:6x6",
    ];
    for game in games {
        for pair in specs.chunks(2) {
            let c = contest(game, pair, 1);
            let t = &tally(&c, &run(&c, vec![], 1))[0];
            assert_eq!(t.faults, [[0; 2]; 2], "{game}: {pair:?}");
            assert_eq!(t.pairs.wdl().games(), 2);
        }
    }
}

#[test]
fn a_raised_stop_ends_a_contest_in_the_middle_of_a_game() {
    let c = contest("othello", &["uct(sims=1000000000)", "random"], 3);
    let stop = Stop::new();
    let raise = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        raise.raise();
    });
    // Without it the first move alone would take days.
    let played = c.run(&*open(&c.game).unwrap(), vec![], 2, &stop, |_| {}).unwrap();
    assert_eq!(played, []);
}

#[test]
fn a_model_that_goes_away_ends_a_contest_with_an_error() {
    let folder = common::Folder::new("arena-model");
    let (table, path) = (open("tictactoe").unwrap(), folder.path().join("model"));
    common::write_untrained(&*table, common::value_head(&*table), &path);
    let mut c = contest("tictactoe", &["minimax(depth=1)", "random"], 50);
    c.agents[0] = c.agents[0].clone().with("model", path.display());
    let mut told = 0;
    let ended = c.run(&*table, vec![], 1, &Stop::new(), |_| {
        told += 1;
        let _ = std::fs::remove_file(&path);
    });
    assert!(ended.unwrap_err().to_string().contains("cannot read the model"));
    assert!(told < 50, "{told}");
}
