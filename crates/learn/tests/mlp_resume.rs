//! An MLP that is saved and resumed continues to the same bits.

use ludex_core::Rng;
use ludex_learn::{Activation, Data, LearningRate, Link, MlpConfig, MlpLearner, Optimiser, Rprop};

#[test]
fn a_learner_saved_and_resumed_continues_to_the_same_bits() {
    let mut data = Data::new(8, 3);
    let mut rng = Rng::new(3);
    for _ in 0..300 {
        let active: Vec<u32> = (0..8).filter(|_| rng.below(2) == 0).collect();
        let mut target = [0.0; 3];
        target[active.len() % 3] = 1.0;
        data.push(&active, &target).unwrap();
    }
    let rows: Vec<u32> = (0..300).collect();
    let sgd = Optimiser::Sgd { rate: LearningRate::Constant(0.1), momentum: 0.5, nesterov: true };
    for optimiser in [Optimiser::Rprop(Rprop::default()), Optimiser::adam(), sgd] {
        let link = Link::Each(Activation::Logistic);
        let config = MlpConfig {
            hidden: vec![5],
            act: Activation::Logistic,
            link,
            optimiser,
            batch: 64,
            ..MlpConfig::default()
        };
        let mut whole = MlpLearner::new(config, 8, 3, 9).unwrap();
        for _ in 0..4 {
            whole.epoch(&data, &rows).unwrap();
        }
        let mut resumed = MlpLearner::resume(&whole.save(), rows.len()).unwrap();
        assert_eq!(resumed.epochs(), 4);
        for _ in 0..4 {
            assert_eq!(whole.epoch(&data, &rows).unwrap().to_bits(), resumed.epoch(&data, &rows).unwrap().to_bits());
        }
        assert_eq!(whole.params(), resumed.params());
        assert!(MlpLearner::resume(&whole.save()[1..], rows.len()).is_err());
    }
}
