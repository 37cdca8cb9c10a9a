//! Benchmarks of nets and learners: what `ludex bench` and the example `bench_nets` print.
//!
//! Latencies are medians of CPU time of the thread, learning is CPU time of the process, so that a busy machine
//! disturbs them little. Nets have random weights: speed does not depend on the weights. Playing strength is not
//! measured here.

pub mod boards;

use crate::{
    Activation, Cascade, CascadeConfig, CascadeLearner, CascadeStep, Data, Encoder, Head, InferenceNet, Layer,
    LinearSgd, LinearSgdConfig, Link, Mlp, MlpConfig, MlpLearner, Net, PassiveAggressive, PassiveAggressiveConfig,
    Regressor, Row, Split, Unit,
};
use cpu_time::{ProcessTime, ThreadTime};
use ludex_core::{Fact, Player, Rng};
use std::hint::black_box;

/// One measured number.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The largest value allowed, if there is a limit.
    pub most: Option<f64>,
}

impl Figure {
    fn new(name: &str, value: f64, unit: &'static str, most: Option<f64>) -> Self {
        Figure { name: name.into(), value, unit, most }
    }
}

/// All quick figures: inference, online updates, and the cascade on 20,000 boards. Takes about fifteen seconds.
pub fn run() -> Vec<Figure> {
    let mut figures = inference();
    figures.extend(updates());
    figures.extend(learning(20_000, 12, 1).0);
    figures
}

/// The MLP 85-100-3 of the cut-playout system: logistic units and outputs.
pub fn mlp_85_100_3() -> Net {
    let rng = &mut Rng::new(1);
    let layer = |(inputs, outputs): (usize, usize)| Layer {
        inputs,
        outputs,
        weights: weights(inputs * outputs, 1.0 / (inputs as f64).sqrt(), rng),
        bias: weights(outputs, 0.1, rng),
    };
    let layers = [(85, 100), (100, 3)].map(layer).to_vec();
    Net::Mlp(Mlp { layers, hidden: Activation::Logistic, link: Link::Each(Activation::Logistic) })
}

/// A cascade of 192 inputs and 50 units that take these activations in turn; if `flat`, units see inputs only.
pub fn cascade_192_50(acts: &[Activation], flat: bool) -> Net {
    let rng = &mut Rng::new(2);
    let units = (0..50).map(|k| {
        let mut weights = weights(193 + k, 0.08, rng);
        if flat {
            weights[193..].fill(0.0);
        }
        Unit { act: acts[k % acts.len()], depth: if flat { 1 } else { 1 + k as u32 }, weights }
    });
    let units = units.collect();
    Net::Cascade(Cascade { inputs: 192, units, out: vec![weights(243, 0.1, rng)], link: Link::Each(Activation::Tanh) })
}

fn weights(n: usize, scale: f64, rng: &mut Rng) -> Vec<f32> {
    (0..n).map(|_| (scale * rng.normal()) as f32).collect()
}

/// Random boards of 8x8 cells, one of three facts for each cell.
fn states(n: usize, rng: &mut Rng) -> Vec<Vec<Fact>> {
    (0..n).map(|_| (0..64).map(|cell| Fact(3 * cell + rng.below(3))).collect()).collect()
}

/// States of whole random games of Dots and Boxes 5x5: t of 60 edges taken, t uniform, and each of 25 boxes closed with
/// chance (t/60)^4; 35 of 85 facts on average.
fn dots(n: usize, rng: &mut Rng) -> Vec<Vec<Fact>> {
    let mut draw = || {
        let share = rng.unit();
        let chance = |f: u32| if f < 60 { share } else { share.powi(4) };
        (0..85).filter(|&f| rng.unit() < chance(f)).map(Fact).collect()
    };
    (0..n).map(|_| draw()).collect()
}

/// The CPU nanoseconds of one of the `per` items that a call of `work` handles: the median of 401 calls after 100 to
/// warm up. Calls should be short, so that few of them are interrupted.
fn nanoseconds(per: usize, mut work: impl FnMut()) -> f64 {
    let mut round = || {
        let start = ThreadTime::now();
        work();
        start.elapsed().as_nanos() as f64 / per as f64
    };
    for _ in 0..100 {
        black_box(round());
    }
    let mut times: Vec<f64> = (0..401).map(|_| round()).collect();
    times.sort_by(f64::total_cmp);
    times[200]
}

/// A net and states: what latencies are measured on.
pub struct Probe {
    net: InferenceNet,
    states: Vec<Vec<Fact>>,
}

impl Probe {
    /// The MLP 85-100-3 on states of random games of Dots and Boxes.
    pub fn mlp() -> Self {
        let net = InferenceNet::new(&mlp_85_100_3(), &Encoder::facts(85), Head::WinDrawLoss).expect("fits");
        Probe { net, states: dots(256, &mut Rng::new(3)) }
    }

    /// The cascade 192+50 on random boards.
    pub fn cascade(acts: &[Activation], flat: bool) -> Self {
        let net = cascade_192_50(acts, flat);
        let net = InferenceNet::new(&net, &Encoder::facts(192), Head::Value { outputs: 1 }).expect("fits");
        Probe { net, states: states(256, &mut Rng::new(4)) }
    }

    /// Evaluates `n` states one at a time.
    pub fn alone(&self, n: usize) {
        let (mut scratch, mut out) = (self.net.scratch(), vec![0.0; self.net.outputs()]);
        for state in self.states.iter().cycle().take(n) {
            self.net.forward(black_box(state), Player(0), &mut scratch, &mut out);
            black_box(&out);
        }
    }

    /// Evaluates `n` states in batches of 64, each from its facts.
    pub fn batch(&self, n: usize) {
        let (mut batch, mut out) = (self.net.batch(), vec![0.0; 64 * self.net.outputs()]);
        for states in self.states.chunks(64).cycle().take(n / 64) {
            states.iter().for_each(|s| self.net.push(&mut batch, black_box(s), Player(0)));
            self.net.run(&mut batch, &mut out);
            black_box(&out);
        }
    }

    /// Evaluates `n` states in batches of 64 children of one state, each by two facts turned on and two off.
    pub fn children(&self, n: usize) {
        let (mut batch, mut accumulator) = (self.net.batch(), self.net.accumulator());
        let mut out = vec![0.0; 64 * self.net.outputs()];
        for node in self.states.iter().cycle().take(n / 64) {
            self.net.refresh(&mut accumulator, node);
            for k in 0..64 {
                // How many facts change matters here, not which.
                let (on, off) = ([Fact(k), Fact(k + 2)], [Fact(k + 1), Fact(k + 3)]);
                self.net.push_child(&mut batch, &accumulator, black_box(&on), black_box(&off), Player(0));
            }
            self.net.run(&mut batch, &mut out);
            black_box(&out);
        }
    }
    /// Evaluates `n` states, each after a move that turns two facts on and two off and is then taken back.
    pub fn down_and_up(&self, n: usize) {
        let (mut stack, mut scratch) = (self.net.accumulator_stack(), self.net.scratch());
        let mut out = vec![0.0; self.net.outputs()];
        stack.refresh(&self.net, &self.states[0]);
        for k in (0..64).cycle().take(n) {
            // How many facts change matters here, not which.
            let (on, off) = ([Fact(k), Fact(k + 2)], [Fact(k + 1), Fact(k + 3)]);
            stack.push(&self.net, black_box(&on), black_box(&off));
            stack.evaluate(&self.net, Player(0), &mut scratch, &mut out);
            black_box(&out);
            stack.pop();
        }
    }
}

/// CPU time per state of an MLP and of cascades, by every way to evaluate.
pub fn inference() -> Vec<Figure> {
    let mlp = Probe::mlp();
    let tanh = Probe::cascade(&[Activation::Tanh], false);
    let pool =
        [Activation::Tanh, Activation::Logistic, Activation::GaussSym, Activation::SinSym, Activation::ElliotSym];
    let mixed = Probe::cascade(&pool, false);
    let flat = Probe::cascade(&[Activation::Tanh], true);
    let n = 640;
    let figure = |name: &str, most: Option<f64>, work: &dyn Fn()| Figure::new(name, nanoseconds(n, work), "ns", most);
    vec![
        figure("MLP 85-100-3, alone", Some(250.0), &|| mlp.alone(n)),
        figure("MLP 85-100-3, batch of 64", None, &|| mlp.batch(n)),
        figure("MLP 85-100-3, 64 children", None, &|| mlp.children(n)),
        figure("MLP 85-100-3, a move down and up", None, &|| mlp.down_and_up(n)),
        figure("cascade 192+50 tanh, alone", Some(1600.0), &|| tanh.alone(n)),
        figure("cascade 192+50 tanh, batch of 64", Some(300.0), &|| tanh.batch(n)),
        figure("cascade 192+50 tanh, 64 children", Some(300.0), &|| tanh.children(n)),
        figure("cascade 192+50 tanh, a move down and up", None, &|| tanh.down_and_up(n)),
        figure("cascade 192+50 mixed, alone", Some(1600.0), &|| mixed.alone(n)),
        figure("cascade 192+50 mixed, batch of 64", Some(300.0), &|| mixed.batch(n)),
        figure("cascade 192+50 mixed, 64 children", Some(300.0), &|| mixed.children(n)),
        figure("flat cascade 192+50 tanh, alone", None, &|| flat.alone(n)),
    ]
}

/// CPU time of one online update (and one prediction): 200 inputs, 10 active.
pub fn updates() -> Vec<Figure> {
    let mut rng = Rng::new(5);
    let mut order: Vec<u32> = (0..200).collect();
    let mut row = || {
        rng.shuffle(&mut order);
        order[..10].to_vec()
    };
    let rows: Vec<Vec<u32>> = (0..50).map(|_| row()).collect();
    let mut figures = Vec::new();
    let mlp = MlpLearner::new(MlpConfig::default(), 200, 1, 1).expect("good settings");
    let learners: [(&str, Box<dyn Regressor>, f64); 3] = [
        ("linear SGD", Box::new(LinearSgd::new(LinearSgdConfig::default(), 200)), 1_000.0),
        ("passive-aggressive", Box::new(PassiveAggressive::new(PassiveAggressiveConfig::default(), 200)), 1_000.0),
        ("MLP 40-20-40", Box::new(mlp), 20_000.0),
    ];
    for (name, mut learner, most) in learners {
        let mut k = 0;
        let update = nanoseconds(rows.len(), || {
            for row in &rows {
                k += 1;
                learner.update(Row::ones(black_box(row)), (k % 7) as f64);
            }
        });
        let predict = nanoseconds(rows.len(), || {
            for row in &rows {
                black_box(learner.predict(Row::ones(black_box(row))));
            }
        });
        figures.push(Figure::new(&format!("{name}, update"), update, "ns", Some(most)));
        figures.push(Figure::new(&format!("{name}, predict"), predict, "ns", None));
    }
    figures
}

/// The data of the comparison with FANN: this many boards to learn from (the last tenth of them for validation), and
/// 5,000 to test on.
pub fn comparison_data(examples: usize, seed: u64) -> (Data, Split) {
    let (n, tenth) = (examples as u32, examples as u32 / 10);
    let split =
        Split { train: (0..n - tenth).collect(), validation: (n - tenth..n).collect(), test: (n..n + 5000).collect() };
    (boards::boards(examples + 5000, seed), split)
}

/// Grows a cascade on boards: CPU seconds of the whole process and the test error, and all steps.
pub fn learning(examples: usize, units: usize, seed: u64) -> (Vec<Figure>, Vec<CascadeStep>) {
    let (data, split) = comparison_data(examples, seed);
    let start = ProcessTime::now();
    let config = CascadeConfig { units, ..CascadeConfig::default() };
    let mut learner = CascadeLearner::new(config, &data, &split, 1).expect("good settings");
    learner.run();
    let seconds = start.elapsed().as_secs_f64();
    let last = &learner.steps()[units];
    let name = format!("cascade, {examples} boards, {units} units");
    let figures = vec![
        Figure::new(&format!("{name}, learning"), seconds, "CPU s", None),
        Figure::new(&format!("{name}, test error"), last.errors.test.expect("a test split"), "MSE", None),
    ];
    (figures, learner.steps().to_vec())
}

/// Grows a cascade on random bits with a noisy non-linear target: wall and CPU seconds, memory, and errors.
pub fn scaling(examples: usize, inputs: usize, units: usize) -> Vec<Figure> {
    let mut rng = Rng::new(6);
    let mut data = Data::new(inputs, 1);
    for _ in 0..examples {
        let active: Vec<u32> = (0..inputs as u32).filter(|_| rng.unit() < 0.33).collect();
        let sum: f64 = active.windows(2).map(|w| ((w[0] * 7 + w[1] * 3) as f64).sin()).sum();
        data.push(&active, &[((0.3 * sum).tanh() + 0.2 * rng.normal()).clamp(-1.0, 1.0) as f32]).expect("fits");
    }
    let split = Split::random(examples, 0.05, 0.05, &mut rng);
    let (wall, cpu) = (std::time::Instant::now(), ProcessTime::now());
    // No candidate stops early: each phase takes all its epochs.
    let phase = crate::EarlyStopping { epochs: 150, patience: 150, gain: 0.0 };
    let config = CascadeConfig { units, phase, candidates: 8, ..CascadeConfig::default() };
    let mut learner = CascadeLearner::new(config, &data, &split, 1).expect("good settings");
    learner.run();
    let name = format!("cascade, {examples} x {inputs} x {units}");
    let (first, last) = (&learner.steps()[0].errors, &learner.steps()[units].errors);
    vec![
        Figure::new(&format!("{name}, learning"), wall.elapsed().as_secs_f64(), "s", Some(900.0)),
        Figure::new(&format!("{name}, learning"), cpu.elapsed().as_secs_f64(), "CPU s", None),
        Figure::new(&format!("{name}, held"), learner.memory_bytes() as f64 / 1e6, "MB", None),
        Figure::new(&format!("{name}, train error without units"), first.train, "MSE", None),
        Figure::new(&format!("{name}, train error"), last.train, "MSE", None),
        Figure::new(&format!("{name}, test error"), last.test.expect("a test split"), "MSE", None),
    ]
}
