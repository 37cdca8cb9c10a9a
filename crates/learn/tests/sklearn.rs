//! Our learners follow scikit-learn step by step: weights equal to 1e-6 after 1,000 updates.

#[path = "common/peers.rs"]
mod peers;

use ludex_core::Rng;
use ludex_learn::{
    Activation, Data, LearningRate, LinearSgd, LinearSgdConfig, Link, Loss, MlpConfig, MlpLearner, Optimiser,
    PassiveAggressive, PassiveAggressiveConfig, Regressor, Row,
};
use serde_json::{Value, json};

const INPUTS: usize = 200;
const UPDATES: usize = 1_000;

/// Rows of ten active inputs, and a noisy function of them per output.
fn examples(n: usize, outputs: usize, seed: u64) -> (Vec<Vec<u32>>, Vec<Vec<f32>>) {
    let mut rng = Rng::new(seed);
    let mut order: Vec<u32> = (0..INPUTS as u32).collect();
    let mut row = |rng: &mut Rng| {
        rng.shuffle(&mut order);
        let mut active = order[..10].to_vec();
        active.sort_unstable();
        active
    };
    let rows: Vec<Vec<u32>> = (0..n).map(|_| row(&mut rng)).collect();
    let target = |row: &[u32], o: usize, rng: &mut Rng| {
        let sum: f64 = row.iter().map(|&i| ((i as f64 + 1.0) * (o as f64 + 0.7)).sin()).sum();
        (sum + 0.1 * rng.normal()) as f32
    };
    let targets = rows.iter().map(|r| (0..outputs).map(|o| target(r, o, &mut rng)).collect()).collect();
    (rows, targets)
}

fn follow(request: Value, ours: &[f64]) {
    let Some(python) = peers::python(&["numpy", "sklearn"]) else { return };
    let theirs: Vec<f64> =
        serde_json::from_str(&peers::run(&python, "sklearn_steps.py", &[], &request.to_string())).unwrap();
    assert_eq!(ours.len(), theirs.len());
    let worst = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{}: weights differ by {worst}", request["learner"]);
}

#[test]
fn linear_sgd_follows() {
    let (rows, targets) = examples(UPDATES, 1, 1);
    let mut model = LinearSgd::new(LinearSgdConfig::default(), INPUTS);
    rows.iter().zip(&targets).for_each(|(r, t)| model.update(Row::ones(r), t[0] as f64));
    let ours = [model.weights(), vec![model.bias()]].concat();
    follow(json!({"learner": "sgd", "inputs": INPUTS, "rows": rows, "targets": targets}), &ours);
}

#[test]
fn passive_aggressive_follows() {
    let (rows, targets) = examples(UPDATES, 1, 2);
    let mut model = PassiveAggressive::new(PassiveAggressiveConfig::default(), INPUTS);
    rows.iter().zip(&targets).for_each(|(r, t)| model.update(Row::ones(r), t[0] as f64));
    let ours = [model.weights(), &[model.bias()]].concat();
    follow(json!({"learner": "pa", "inputs": INPUTS, "rows": rows, "targets": targets}), &ours);
}

/// Learns batch by batch on both sides, from the same first weights.
fn mlp(learner: &str, config: MlpConfig, outputs: usize, options: Value, seed: u64) {
    let (rows, mut targets) = examples(UPDATES * config.batch, outputs, seed);
    if learner == "classifier" {
        for t in &mut targets {
            let top = (0..outputs).max_by(|&a, &b| t[a].total_cmp(&t[b])).unwrap();
            (0..outputs).for_each(|o| t[o] = (o == top) as u8 as f32);
        }
    }
    let mut data = Data::new(INPUTS, outputs);
    rows.iter().zip(&targets).for_each(|(r, t)| data.push(r, t).unwrap());
    let (hidden, batch) = (config.hidden.clone(), config.batch);
    let mut model = MlpLearner::new(config, INPUTS, outputs, seed).unwrap();
    let request = json!({
        "learner": learner, "inputs": INPUTS, "outputs": outputs, "rows": rows, "targets": targets,
        "batch": batch, "hidden": hidden, "params": model.params(), "options": options,
    });
    if batch == 1 {
        rows.iter().zip(&targets).for_each(|(r, t)| Regressor::update(&mut model, Row::ones(r), t[0] as f64));
    } else {
        model.epoch(&data, &(0..rows.len() as u32).collect::<Vec<_>>()).unwrap();
    }
    follow(request, model.params());
}

#[test]
fn online_mlp_with_adam_follows() {
    mlp("regressor", MlpConfig { batch: 1, ..MlpConfig::default() }, 1, json!({}), 3);
}

#[test]
fn mlp_with_nesterov_momentum_follows() {
    let rate = LearningRate::Constant(0.01);
    let config = MlpConfig {
        hidden: vec![30],
        act: Activation::Tanh,
        optimiser: Optimiser::Sgd { rate, momentum: 0.9, nesterov: true },
        batch: 4,
        shuffle: false,
        ..MlpConfig::default()
    };
    let options = json!({"activation": "tanh", "solver": "sgd", "learning_rate_init": 0.01});
    mlp("regressor", config, 3, options, 4);
}

#[test]
fn classifier_with_cross_entropy_follows() {
    let config = MlpConfig {
        hidden: vec![20, 10],
        act: Activation::Logistic,
        link: Link::Softmax,
        loss: Loss::CrossEntropy,
        batch: 4,
        shuffle: false,
        ..MlpConfig::default()
    };
    mlp("classifier", config, 3, json!({"activation": "logistic"}), 5);
}
