//! What the cascade promises, tested.

use super::pool::{Measurement, Problem};
use super::*;
use crate::bench::boards::boards;
use crate::{Encoder, Head, InferenceNet};

fn small() -> (Data, Split) {
    let data = boards(900, 7);
    let split = Split::random(900, 0.2, 0.2, &mut Rng::new(1));
    (data, split)
}

/// Two outputs, codes other than 1, and one input that is never twice the same.
fn mixed() -> (Data, Split) {
    let mut rng = Rng::new(4);
    let mut data = Data::new(12, 2);
    for _ in 0..300 {
        let at: Vec<u32> = (0..12).filter(|_| rng.unit() < 0.5).collect();
        let values: Vec<f32> =
            at.iter().map(|&i| if i == 3 { rng.normal() as f32 } else { 0.5 * (1 + i % 2) as f32 }).collect();
        let targets = [rng.normal() as f32 * 0.5, (at.len() as f32 - 6.0) * 0.1];
        data.push_row(crate::Row::new(&at, &values), &targets).unwrap();
    }
    (data, Split::random(300, 0.2, 0.1, &mut rng))
}

/// The objective, to be made small, in plain `f64`.
fn plain(kind: Objective, y: &[f64], e: &[Vec<f64>], sent: &[f64]) -> f64 {
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n;
    let covariance = |e: &Vec<f64>| {
        let middle = e.iter().sum::<f64>() / n;
        y.iter().zip(e).map(|(y, e)| (y - mean) * (e - middle)).sum::<f64>()
    };
    let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() + 1e-3 * n;
    let miss = |(e, w): (&Vec<f64>, &f64)| y.iter().zip(e).map(|(y, e)| (e - w * y).powi(2)).sum::<f64>();
    match kind {
        Objective::Covariance => -e.iter().map(|e| covariance(e).abs()).sum::<f64>(),
        Objective::NormalisedCovariance => -e.iter().map(|e| covariance(e).powi(2)).sum::<f64>() / variance,
        Objective::Cascade2 => e.iter().zip(sent).map(miss).sum(),
    }
}

#[test]
fn gradients_equal_numeric_differences_for_every_objective_and_activation() {
    let (data, split) = mixed();
    let mut learner =
        CascadeLearner::new(CascadeConfig { units: 2, ..CascadeConfig::default() }, &data, &split, 3).unwrap();
    learner.run();
    let packed = &learner.packed;
    let e: Vec<Vec<f64>> =
        learner.residuals.iter().map(|r| r[packed.train.clone()].iter().map(|&e| e as f64).collect()).collect();
    let sums = ResidualSums::new(&learner.residuals, &packed.train);
    for kind in [Objective::Covariance, Objective::NormalisedCovariance, Objective::Cascade2] {
        for act in Activation::ALL {
            let pass = Pass::new((packed, &learner.columns), 12, 0..2, &learner.residuals, [act; GROUP]);
            let mut problem = Candidates { pass, objective: kind, residuals: &sums, validation: None };
            let mut rng = Rng::new(5);
            let pool: Vec<Vec<f64>> =
                (0..GROUP).map(|_| (0..15 + kind.output_weights(2)).map(|_| 0.4 * rng.normal()).collect()).collect();
            let error = |w: &[f64]| {
                let y = |slot: usize| {
                    let row = data.row(packed.example[slot].unwrap() as usize);
                    let inputs: f64 = row.iter().map(|(i, x)| w[1 + i] * x as f64).sum();
                    let units: f64 =
                        (0..2).map(|u| w[13 + u] * learner.columns.at(packed.dense.len() + u, slot) as f64).sum();
                    act.apply_f64(w[0] + inputs + units)
                };
                plain(kind, &packed.train.clone().map(y).collect::<Vec<_>>(), &e, &w[15..])
            };
            for (Measurement { error: got, gradient, .. }, w) in problem.measure(&pool).into_iter().zip(&pool) {
                let want = error(w);
                assert!((got - want).abs() < 1e-4 * (1.0 + want.abs()), "{kind:?} of {act:?}: {got} not {want}");
                for k in 0..w.len() {
                    let at = |step: f64| {
                        let mut moved = w.clone();
                        moved[k] += step;
                        error(&moved)
                    };
                    let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                    let gap = (gradient[k] - numeric).abs() / (1.0 + numeric.abs());
                    assert!(gap < 2e-3, "{kind:?} of {act:?}, weight {k}: {} not {numeric}", gradient[k]);
                }
            }
        }
    }
}

fn variants() -> Vec<CascadeConfig> {
    let base = CascadeConfig {
        units: 6,
        phase: EarlyStopping { epochs: 40, ..EarlyStopping::default() },
        ..CascadeConfig::default()
    };
    let rprop = |act| OutputTraining::Rprop { act, phase: EarlyStopping { epochs: 60, ..EarlyStopping::default() } };
    vec![
        base.clone(),
        CascadeConfig { objective: Objective::Covariance, output: rprop(Activation::Tanh), ..base.clone() },
        CascadeConfig { objective: Objective::Cascade2, output: rprop(Activation::Identity), ..base.clone() },
        CascadeConfig {
            objective: Objective::Cascade2,
            acts: Activation::ALL.to_vec(),
            candidates: 11,
            ..base.clone()
        },
        CascadeConfig { shape: Topology::Flat, ..base.clone() },
        CascadeConfig { shape: Topology::Depth(2), output: OutputTraining::Ridge { lambdas: vec![3.0] }, ..base },
    ]
}

#[test]
fn installing_a_unit_never_raises_the_training_error() {
    for (data, split) in [small(), mixed()] {
        for config in variants() {
            let mut learner = CascadeLearner::new(config.clone(), &data, &split, 1).unwrap();
            learner.run();
            let train: Vec<f64> = learner.steps().iter().map(|s| s.errors.train).collect();
            assert_eq!(train.len(), 7);
            assert!(train.windows(2).all(|w| w[1] <= w[0]), "{config:?}: {train:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (data, split) = small();
    for config in variants() {
        let learn = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut learner = CascadeLearner::new(config.clone(), &data, &split, 1).unwrap();
                learner.run();
                let errors: Vec<SplitErrors> = learner.steps().iter().map(|s| s.errors).collect();
                (learner.best(), learner.snapshot(6), errors)
            })
        };
        assert_eq!(learn(1), learn(3));
    }
}

#[test]
fn a_learner_resumed_after_any_unit_ends_with_the_same_bits() {
    for (data, split) in [small(), mixed()] {
        for config in variants() {
            let mut learner = CascadeLearner::new(config, &data, &split, 9).unwrap();
            let mut saved = vec![learner.save()];
            while learner.add_unit().is_some() {
                saved.push(learner.save());
            }
            for bytes in saved {
                let mut resumed = CascadeLearner::resume(&bytes, &data, &split).unwrap();
                resumed.run();
                assert_eq!(resumed.snapshot(6), learner.snapshot(6));
                assert_eq!(resumed.best(), learner.best());
                let errors = |l: &CascadeLearner| l.steps().iter().map(|s| (s.lambda, s.errors)).collect::<Vec<_>>();
                assert_eq!(errors(&resumed), errors(&learner));
            }
        }
    }
}

#[test]
fn a_saved_learner_is_refused_with_other_examples_or_if_damaged() {
    let (data, split) = small();
    let config = CascadeConfig { units: 1, ..CascadeConfig::default() };
    let bytes = CascadeLearner::new(config, &data, &split, 1).unwrap().save();
    assert!(CascadeLearner::resume(&bytes, &data, &split).is_ok());
    assert!(CascadeLearner::resume(&bytes, &boards(900, 8), &split).is_err());
    assert!(CascadeLearner::resume(&bytes, &data, &Split::random(900, 0.2, 0.2, &mut Rng::new(2))).is_err());
    assert!(CascadeLearner::resume(&bytes[..bytes.len() - 1], &data, &split).is_err());
}

#[test]
fn the_errors_of_a_snapshot_are_those_of_its_net() {
    let (data, split) = small();
    for config in variants() {
        let mut learner = CascadeLearner::new(config, &data, &split, 2).unwrap();
        learner.run();
        for units in [0, 3, 6] {
            let net = learner.snapshot(units);
            let inference = InferenceNet::new(&net, &Encoder::facts(192), Head::Value { outputs: 1 }).unwrap();
            let mut total = 0.0;
            for &i in &split.test {
                let facts: Vec<_> = data.row(i as usize).iter().map(|(f, _)| ludex_core::Fact(f as u32)).collect();
                let out = inference.plain(&facts, ludex_core::Player(0))[0] as f64;
                assert!((out - net.forward(data.row(i as usize))[0] as f64).abs() < 1e-5);
                total += (out - data.targets(i as usize)[0] as f64).powi(2);
            }
            let reported = learner.steps()[units].errors.test.unwrap();
            assert!((total / split.test.len() as f64 - reported).abs() < 1e-5, "{units} units");
        }
    }
}

#[test]
fn depth_is_kept_within_the_shape() {
    let (data, split) = small();
    for (shape, most) in [(Topology::Flat, 1), (Topology::Depth(3), 3), (Topology::Cascade, 6)] {
        let config = CascadeConfig {
            units: 6,
            shape,
            phase: EarlyStopping { epochs: 5, ..EarlyStopping::default() },
            ..CascadeConfig::default()
        };
        let mut learner = CascadeLearner::new(config, &data, &split, 2).unwrap();
        learner.run();
        assert_eq!(learner.units.iter().map(|u| u.depth).max().unwrap().min(most), learner.units[5].depth.min(most));
        assert!(learner.units.iter().all(|u| u.depth <= most));
        learner.snapshot(6).check().unwrap();
    }
}

#[test]
fn it_stops_by_count_patience_or_time() {
    let (data, split) = small();
    let quick = EarlyStopping { epochs: 3, ..EarlyStopping::default() };
    let units = |config: CascadeConfig| {
        let mut learner = CascadeLearner::new(config, &data, &split, 2).unwrap();
        learner.run();
        learner.steps().len() - 1
    };
    assert_eq!(units(CascadeConfig { units: 3, phase: quick, ..CascadeConfig::default() }), 3);
    let patient = CascadeConfig { units: 500, patience: 2, phase: quick, ..CascadeConfig::default() };
    assert!((2..100).contains(&units(patient)));
    assert!(units(CascadeConfig { units: 5000, seconds: 0.05, phase: quick, ..CascadeConfig::default() }) < 1000);
}

#[test]
fn a_rule_that_needs_hidden_units_is_learned() {
    let mut data = Data::new(8, 1);
    for bits in 0..256u32 {
        let at: Vec<u32> = (0..8).filter(|i| bits >> i & 1 == 1).collect();
        data.push(&at, &[if (bits & 7).count_ones() % 2 == 1 { 1.0 } else { -1.0 }]).unwrap();
    }
    for objective in [Objective::Covariance, Objective::NormalisedCovariance, Objective::Cascade2] {
        let config = CascadeConfig {
            units: 8,
            objective,
            output: OutputTraining::Ridge { lambdas: vec![1e-6] },
            choose: SelectBy::Train,
            ..CascadeConfig::default()
        };
        let mut learner = CascadeLearner::new(config, &data, &Split::all(256), 1).unwrap();
        learner.run();
        let last = learner.steps().last().unwrap().errors.train;
        assert!(last < 0.01, "{objective:?}: parity of three bits ends at {last}");
    }
}

#[test]
fn bad_settings_are_refused() {
    let (data, split) = small();
    let refused = |config: CascadeConfig| CascadeLearner::new(config, &data, &split, 1).is_err();
    let base = CascadeConfig::default();
    assert!(refused(CascadeConfig { candidates: 0, ..base.clone() }));
    assert!(refused(CascadeConfig { acts: vec![], ..base.clone() }));
    assert!(refused(CascadeConfig { output: OutputTraining::Ridge { lambdas: vec![] }, ..base.clone() }));
    assert!(refused(CascadeConfig { output: OutputTraining::Ridge { lambdas: vec![f64::NAN] }, ..base.clone() }));
    assert!(refused(CascadeConfig { shape: Topology::Depth(0), ..base.clone() }));
    assert!(
        CascadeLearner::new(base.clone(), &data, &Split::all(900), 1).is_err(),
        "no validation to choose lambda by"
    );
    assert!(CascadeLearner::new(base, &data, &Split { train: vec![900], ..split.clone() }, 1).is_err());
}

/// A seed gives the same net on every machine with IEEE 754 arithmetic, with any register width. The data are made
/// without logarithms and sines, which differ between system libraries.
#[test]
fn a_seed_gives_the_recorded_weights() {
    let mut rng = Rng::new(1);
    let mut data = Data::new(60, 1);
    for _ in 0..1000 {
        let at: Vec<u32> = (0..60).filter(|_| rng.unit() < 0.4).collect();
        let balance = at.iter().map(|&i| if i % 2 == 0 { 1i32 } else { -1 }).sum::<i32>().abs();
        data.push(&at, &[(balance as f32 - 4.0) / 8.0 + (rng.unit() as f32 - 0.5) * 0.2]).unwrap();
    }
    let split = Split::random(1000, 0.2, 0.1, &mut rng);
    let config = CascadeConfig { units: 5, acts: Activation::ALL.to_vec(), candidates: 10, ..CascadeConfig::default() };
    let mut learner = CascadeLearner::new(config, &data, &split, 1).unwrap();
    learner.run();
    let Net::Cascade(net) = learner.snapshot(5) else { panic!("a cascade") };
    let weights = net.units.iter().flat_map(|u| &u.weights).chain(net.out.iter().flatten());
    let signature = weights.fold(0u64, |hash, w| ludex_core::mix(hash ^ w.to_bits() as u64));
    assert_eq!(signature, 16764638370766539100, "the weights have changed");
}
