//! Back-propagation: gradients, fitting, and the same bits on any number of threads.

use ludex_core::Rng;
use ludex_learn::{
    Activation, Data, LearningRate, Link, Loss, MlpConfig, MlpLearner, Optimiser, Row, Rprop, RpropKind, Split,
};

fn examples(outputs: usize, positive: bool, masked: bool, rng: &mut Rng) -> Data {
    let mut data = Data::new(12, outputs);
    for i in 0..40 {
        let at: Vec<u32> = (0..12).filter(|_| rng.unit() < 0.4).collect();
        let values: Vec<f32> = at.iter().map(|_| rng.normal() as f32).collect();
        let targets: Vec<f32> =
            (0..outputs).map(|_| if positive { rng.unit() as f32 } else { rng.normal() as f32 }).collect();
        let known: Vec<bool> = (0..outputs).map(|o| !masked || (i + o) % 3 > 0).collect();
        data.push_masked(Row::new(&at, &values), &targets, &known).unwrap();
    }
    data
}

#[test]
fn gradients_equal_numeric_differences_for_every_loss_and_link() {
    let rng = &mut Rng::new(1);
    let links = [
        (Link::Each(Activation::Identity), Loss::Squared),
        (Link::Each(Activation::Logistic), Loss::Squared),
        (Link::Each(Activation::Tanh), Loss::Squared),
        (Link::Softmax, Loss::Squared),
        (Link::SoftmaxAnd(Activation::Tanh), Loss::Squared),
        (Link::Each(Activation::Logistic), Loss::CrossEntropy),
        (Link::Softmax, Loss::CrossEntropy),
        (Link::SoftmaxAnd(Activation::Tanh), Loss::CrossEntropy),
    ];
    for (link, loss) in links {
        for act in [Activation::Logistic, Activation::Tanh, Activation::Relu] {
            for masked in [false, true] {
                let data = examples(4, loss == Loss::CrossEntropy, masked, rng);
                let rows: Vec<u32> = (0..data.len() as u32).collect();
                let config = MlpConfig { hidden: vec![7, 5], act, link, loss, l2: 0.3, ..MlpConfig::default() };
                let mut learner = MlpLearner::new(config, 12, 4, 9).unwrap();
                let weights = learner.params().to_vec();
                let (_, gradient) = learner.gradient(&data, &rows).unwrap();
                for k in 0..weights.len() {
                    let mut error_at = |step: f64| {
                        let mut moved = weights.clone();
                        moved[k] += step;
                        learner.set_params(&moved).unwrap();
                        learner.gradient(&data, &rows).unwrap().0
                    };
                    let numeric = (error_at(1e-5) - error_at(-1e-5)) / 2e-5;
                    let gap = (gradient[k] - numeric).abs();
                    assert!(gap < 1e-7, "{link:?} {loss:?} {act:?}, weight {k}: {} not {numeric}", gradient[k]);
                }
            }
        }
    }
}

#[test]
fn exclusive_or_is_learned() {
    let mut data = Data::new(2, 1);
    for (row, t) in [(&[][..], 0.0), (&[0], 1.0), (&[1], 1.0), (&[0, 1], 0.0)] {
        data.push(row, &[t]).unwrap();
    }
    for (act, optimiser) in [
        (Activation::Tanh, Optimiser::Rprop(Rprop::default())),
        (Activation::Tanh, Optimiser::Rprop(Rprop { kind: RpropKind::IMinus, ..Rprop::default() })),
        (Activation::Logistic, Optimiser::Sgd { rate: LearningRate::Constant(0.5), momentum: 0.9, nesterov: false }),
        (
            Activation::Relu,
            Optimiser::Adam { rate: LearningRate::Constant(0.01), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ),
    ] {
        let config = MlpConfig { hidden: vec![8], act, optimiser, batch: 0, l2: 0.0, ..MlpConfig::default() };
        let mut learner = MlpLearner::new(config, 2, 1, 5).unwrap();
        let curve = learner.fit(&data, &Split::all(4), 3000, 3000).unwrap();
        let best = curve.iter().map(|e| e.train).fold(f64::INFINITY, f64::min);
        assert!(best < 1e-3, "{act:?} {optimiser:?} ends at {best}");
        assert!((learner.mse(&data, &[0, 1, 2, 3]) - best).abs() < 1e-12, "the best weights are kept");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut rng = Rng::new(3);
    let mut data = Data::new(30, 2);
    for _ in 0..3000 {
        let at: Vec<u32> = (0..30).filter(|_| rng.unit() < 0.3).collect();
        data.push(&at, &[rng.normal() as f32, rng.normal() as f32]).unwrap();
    }
    let learn = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut learner = MlpLearner::new(MlpConfig { batch: 1000, ..MlpConfig::default() }, 30, 2, 1).unwrap();
            let errors = learner.fit(&data, &Split::random(3000, 0.2, 0.1, &mut Rng::new(1)), 5, 5).unwrap();
            (learner.params().to_vec(), errors)
        })
    };
    assert_eq!(learn(1), learn(3));
}

#[test]
fn unknown_targets_change_nothing() {
    let learn = |unknown: f32| {
        let mut data = Data::new(3, 2);
        data.push_masked(Row::ones(&[0, 2]), &[0.5, unknown], &[true, false]).unwrap();
        let config = MlpConfig { link: Link::Each(Activation::Logistic), ..MlpConfig::default() };
        let mut learner = MlpLearner::new(config, 3, 2, 1).unwrap();
        for _ in 0..10 {
            learner.epoch(&data, &[0]).unwrap();
        }
        (learner.params().to_vec(), learner.mse(&data, &[0]))
    };
    assert_eq!(learn(0.0), learn(100.0));
}

#[test]
fn bad_settings_are_refused() {
    let new = |config: MlpConfig| MlpLearner::new(config, 3, 1, 1).is_err();
    assert!(new(MlpConfig { hidden: vec![0], ..MlpConfig::default() }));
    assert!(new(MlpConfig { loss: Loss::CrossEntropy, ..MlpConfig::default() }));
    assert!(new(MlpConfig { link: Link::SoftmaxAnd(Activation::Tanh), ..MlpConfig::default() }));
    assert!(new(MlpConfig { optimiser: Optimiser::sgd(LearningRate::Constant(f64::NAN)), ..MlpConfig::default() }));
    assert!(new(MlpConfig { l2: -1.0, ..MlpConfig::default() }));
}
