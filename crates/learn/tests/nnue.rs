//! Accumulator nets: the quantised net against plain loops and against `f32`, and the learner against known answers.

use ludex_core::{Fact, Player, Rng};
use ludex_learn::{
    Encoder, FactPermutation, Net, Nnue, NnueConfig, NnueExamples, NnueLearner, Phases, QuantisedNnue, Replay,
};

const FACTS: usize = 40;

fn config(width: usize, starts: &[u32]) -> NnueConfig {
    NnueConfig {
        width,
        facts: FACTS,
        movers: 2,
        phases: Phases { counted: (0..FACTS).map(|f| f % 3 != 0).collect(), starts: starts.to_vec() },
        ignored: (0..FACTS).map(|f| f == FACTS - 1).collect(),
        most_active: 16,
        batch: 64,
        average: 0.9,
    }
}

fn facts(rng: &mut Rng) -> Vec<Fact> {
    let mut all: Vec<u32> = (0..FACTS as u32).collect();
    rng.shuffle(&mut all);
    all.truncate(rng.below(17) as usize);
    all.sort();
    all.into_iter().map(Fact).collect()
}

/// The value: whose half of the facts has more, seen by the mover; a sharp function of a few facts beside it.
fn truth(facts: &[Fact], mover: u8) -> f32 {
    let half = |f: &&Fact| f.index() < FACTS / 2;
    let more = facts.iter().filter(half).count() as f32 * 2.0 - facts.len() as f32;
    let both = facts.contains(&Fact(1)) && facts.contains(&Fact(22));
    let value = if both { -1.0 } else { (more / 4.0).clamp(-1.0, 1.0) };
    if mover == 0 { value } else { -value }
}

fn examples(c: &NnueConfig, n: usize, rng: &mut Rng) -> NnueExamples {
    let mut list = NnueExamples::default();
    for _ in 0..n {
        let (held, mover) = (facts(rng), rng.below(2) as u8);
        let count = held.iter().filter(|f| c.phases.counts(f.index())).count() as u32;
        let head = mover as usize * c.phases.len() + c.phases.phase(count);
        list.push(held.iter().map(|f| f.0 as u16), head as u8, truth(&held, mover));
    }
    list
}

fn replay(c: &NnueConfig, n: usize, seed: u64) -> Replay {
    let (mut replay, rng) = (Replay::default(), &mut Rng::new(seed));
    (0..4).for_each(|_| replay.push(examples(c, n / 4, rng), usize::MAX, usize::MAX));
    replay
}

fn trained(width: usize, starts: &[u32], steps: usize) -> NnueLearner {
    let c = config(width, starts);
    let (replay, mut learner) = (replay(&c, 20_000, 3), NnueLearner::new(c, 5).unwrap());
    (0..steps).for_each(|_| {
        learner.step(&replay, &[], 2e-3, 9);
    });
    learner
}

fn float(net: &Nnue, held: &[Fact], mover: Player) -> f32 {
    let encoder = Encoder::facts(FACTS).with_movers(2).unwrap();
    let mut row = Default::default();
    encoder.encode(held, mover, &mut row);
    Net::Nnue(net.clone()).forward(row.row())[0]
}

#[test]
fn a_known_function_is_learned_and_survives_quantisation() {
    for (width, starts) in [(64, &[][..]), (128, &[4, 8])] {
        let net = trained(width, starts, 4000).net();
        let (quantised, rng) = (QuantisedNnue::new(&net).unwrap(), &mut Rng::new(77));
        let (mut error, mut worst) = (0.0, 0.0f32);
        for _ in 0..1000 {
            let (held, mover) = (facts(rng), Player(rng.below(2) as u8));
            let (plain, q) = (float(&net, &held, mover), quantised.plain(&held, mover)[0]);
            error += (plain - truth(&held, mover.0)).powi(2) / 1000.0;
            worst = worst.max((plain - q).abs());
        }
        assert!(error < 0.03, "width {width}: mean squared error {error} on fresh states");
        assert!(worst < 0.02, "width {width}: quantisation moves a value by {worst}");
    }
}

#[test]
fn following_a_line_gives_the_bits_of_plain_loops() {
    for (width, starts) in [(64, &[][..]), (128, &[5]), (256, &[]), (512, &[3, 6, 9])] {
        let net = QuantisedNnue::new(&trained(width, starts, 50).net()).unwrap();
        let (mut stack, rng) = (net.stack(), &mut Rng::new(1));
        for _ in 0..30 {
            let mut held = facts(rng);
            net.refresh(&mut stack, &held);
            let mut line = vec![held.clone()];
            for _ in 0..60 {
                if line.len() > 1 && rng.below(3) == 0 {
                    line.pop();
                    stack.pop();
                    held = line[line.len() - 1].clone();
                } else {
                    let next = facts(rng);
                    let only =
                        |a: &[Fact], b: &[Fact]| a.iter().filter(|f| !b.contains(f)).copied().collect::<Vec<_>>();
                    let (on, off) = (only(&next, &held), only(&held, &next));
                    let child = net.child_value(&stack, &on, &off, Player(1));
                    net.push(&mut stack, &on, &off);
                    assert_eq!(child, net.value(&stack, Player(1)));
                    line.push(next.clone());
                    held = next;
                }
                for mover in [Player(0), Player(1)] {
                    assert_eq!(net.value(&stack, mover), net.plain(&held, mover)[0], "width {width}");
                }
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_bits_and_a_saved_learner_goes_on() {
    let c = config(64, &[6]);
    let replay = replay(&c, 2000, 1);
    let run = |threads: usize, learner: NnueLearner, steps: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut learner = learner;
        pool.install(|| (0..steps).for_each(|_| _ = learner.step(&replay, &[], 1e-3, 4)));
        learner
    };
    let fresh = || NnueLearner::new(c.clone(), 2).unwrap();
    let whole = run(1, fresh(), 40).save();
    assert_eq!(run(2, fresh(), 40).save(), whole);
    let half = run(3, fresh(), 17).save();
    assert!(fresh().resume(&half[1..]).is_none());
    assert_eq!(run(2, fresh().resume(&half).unwrap(), 23).save(), whole);
}

#[test]
fn a_role_swap_teaches_one_mover_what_the_other_saw() {
    // Only player 0 is ever seen to move; the permutation exchanges the halves of the facts and the movers.
    let c = NnueConfig { ignored: vec![false; FACTS], ..config(64, &[]) };
    let (mut list, rng) = (NnueExamples::default(), &mut Rng::new(8));
    let value = |held: &[Fact], mover: u8| {
        let first = held.iter().filter(|f| f.index() < FACTS / 2).count() as f32;
        let more = 2.0 * first - held.len() as f32;
        (if mover == 0 { more } else { -more } / 4.0).clamp(-1.0, 1.0)
    };
    for _ in 0..10_000 {
        let held = facts(rng);
        list.push(held.iter().map(|f| f.0 as u16), 0, value(&held, 0));
    }
    let mut replay = Replay::default();
    replay.push(list, usize::MAX, usize::MAX);
    let swap = FactPermutation {
        facts: (0..FACTS as u16).map(|f| (f + FACTS as u16 / 2) % FACTS as u16).collect(),
        swaps_movers: true,
    };
    let identity = FactPermutation { facts: (0..FACTS as u16).collect(), swaps_movers: false };
    let mut learner = NnueLearner::new(c, 1).unwrap();
    (0..2000).for_each(|_| _ = learner.step(&replay, &[identity.clone(), swap.clone()], 2e-3, 3));
    let net = learner.net();
    let error: f32 = (0..500)
        .map(|_| {
            let held = facts(rng);
            (float(&net, &held, Player(1)) - value(&held, 1)).powi(2) / 500.0
        })
        .sum();
    assert!(error < 0.02, "mean squared error {error} for the mover that was never seen");
}

#[test]
fn replay_drops_the_oldest_lists() {
    let c = config(64, &[]);
    let mut replay = Replay::default();
    for n in [100, 200, 300] {
        replay.push(examples(&c, n, &mut Rng::new(n as u64)), 550, usize::MAX);
    }
    assert_eq!((replay.len(), replay.lists()), (500, 2));
    replay.push(examples(&c, 900, &mut Rng::new(1)), 550, usize::MAX);
    assert_eq!((replay.len(), replay.lists()), (900, 1), "the latest list is kept whatever its size");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |change: &dyn Fn(&mut NnueConfig)| {
        let mut c = config(64, &[]);
        change(&mut c);
        NnueLearner::new(c, 1).is_err()
    };
    assert!(refused(&|c| c.width = 100));
    assert!(refused(&|c| c.batch = 6));
    assert!(refused(&|c| c.facts = 70_000));
    assert!(refused(&|c| c.movers = 0));
    assert!(refused(&|c| c.average = 1.0));
    let mut net = NnueLearner::new(config(64, &[]), 1).unwrap().net();
    net.heads.pop();
    assert!(QuantisedNnue::new(&net).is_err());
}
