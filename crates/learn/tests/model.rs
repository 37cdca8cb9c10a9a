//! Model files and ONNX export.

mod common;
#[path = "common/peers.rs"]
mod peers;

use common::{cascade, facts, mirror, mlp};
use ludex_core::{Fact, Game, Player, Rng, toy::Nim};
use ludex_learn::{
    Activation, Encoder, Error, ExportNames, Head, InferenceNet, InputCodes, Link, Model, MoveInputs, Net, NnueConfig,
    NnueLearner, Phases, Provenance,
};
use proptest::prelude::*;

const ACTS: [Activation; 10] = Activation::ALL;

fn model(net: Net, encoder: Encoder, head: Head) -> Model {
    let provenance = Provenance {
        system: "test".into(),
        config: "units = 3 # \"quoted\"\n".into(),
        seed: u64::MAX - 3,
        data_hash: "00ff".into(),
        metrics: [("test_mse".to_string(), 0.1 + 0.2), ("e".into(), 1e-300)].into(),
        version: "0.1".into(),
    };
    Model { game: "nim:15".into(), rules_hash: 0xfedc_ba98_7654_3210, encoder, head, net, provenance }
}

/// A model of every kind there is.
fn models(seed: u64) -> Vec<Model> {
    let rng = &mut Rng::new(seed);
    let plain = || Encoder::facts(60);
    let seen = |moves| Encoder::facts(60).mover_relative(mirror(60, moves)).unwrap();
    let codes = InputCodes {
        base: (0..20).map(|i| (i % 3) as f32 * 0.5).collect(),
        by_fact: (0..60).map(|f| (f % 7 != 0).then_some((f % 20, 0.25 * (1 + f % 3) as f32))).collect(),
    };
    let beside = plain().with_moves(MoveInputs::Beside { moves: 9 }).unwrap();
    let value = Head::Value { outputs: 1 };
    vec![
        model(
            mlp(&[60, 100, 3], Activation::Logistic, Link::Each(Activation::Logistic), rng),
            plain(),
            Head::WinDrawLoss,
        ),
        model(mlp(&[60, 20, 3], Activation::Relu, Link::Softmax, rng), seen(4), Head::WinDrawLoss),
        model(
            mlp(&[20, 20, 9], Activation::Tanh, Link::Each(Activation::Tanh), rng),
            plain().with_codes(codes).unwrap(),
            Head::MoveScores { moves: 9 },
        ),
        model(
            mlp(&[60, 20, 10], Activation::Relu, Link::SoftmaxAnd(Activation::Tanh), rng),
            seen(9),
            Head::PolicyValue { moves: 9 },
        ),
        model(
            mlp(&[69, 40, 20, 40, 1], Activation::Relu, Link::Each(Activation::Identity), rng),
            beside,
            Head::MoveScores { moves: 9 },
        ),
        model(cascade(60, 50, 1, &ACTS[1..], 0, rng), plain(), value),
        model(cascade(60, 24, 3, &ACTS, 3, rng), seen(4), Head::WinDrawLoss),
        model(cascade(60, 0, 1, &ACTS, 0, rng), plain(), value),
        model(mlp(&[60, 1], Activation::Identity, Link::Each(Activation::Identity), rng), seen(4), value),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn saved_and_loaded_is_bit_equal(seed in any::<u64>()) {
        for model in models(seed) {
            let bytes = model.to_bytes();
            let loaded = Model::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&loaded, &model);
            prop_assert_eq!(loaded.to_bytes(), bytes);
            let state = facts(60, 0.3, &mut Rng::new(seed));
            let outputs = |m: &Model| m.inference_net().unwrap().plain(&state, Player(1));
            let bits = |m: &Model| outputs(m).into_iter().map(f32::to_bits).collect::<Vec<_>>();
            prop_assert!(model.encoder.move_inputs() != MoveInputs::None || bits(&loaded) == bits(&model));
        }
    }
}

#[test]
fn a_thousand_truncations_and_a_thousand_flips_are_refused() {
    let rng = &mut Rng::new(1);
    for model in [&models(1)[3], &models(1)[6]] {
        let bytes = model.to_bytes();
        for k in 0..1000 {
            let cut = if k < 100 { k } else { rng.below(bytes.len() as u32) as usize };
            let error = Model::from_bytes(&bytes[..cut]).unwrap_err();
            assert!(!error.to_string().contains('\n'));
            let mut flipped = bytes.clone();
            let at = if k < 200 { k } else { rng.below(bytes.len() as u32) as usize };
            flipped[at] ^= 1 << rng.below(8);
            assert!(Model::from_bytes(&flipped).is_err(), "a flip of byte {at} went unseen");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Model::from_bytes(&longer).is_err());
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let bytes = models(1)[0].to_bytes();
    let line = |bytes: &[u8]| Model::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(line(b"hello, world"), "not a Ludex model file");
    assert!(line(&bytes[..bytes.len() - 5]).starts_with("the file is truncated: "));
    let mut altered = bytes.clone();
    let end = altered.len() - 40;
    altered[end] ^= 1;
    assert_eq!(line(&altered), "the file is damaged: its sha256 does not match its contents");
}

/// An NNUE of every kind: one phase and three.
fn nnues(seed: u64) -> Vec<Model> {
    let phases = [Phases::default(), Phases { counted: (0..60).map(|f| f < 40).collect(), starts: vec![8, 20] }];
    let make = |phases: Phases| {
        let config = NnueConfig {
            width: 64,
            facts: 60,
            movers: 2,
            phases,
            ignored: vec![false; 60],
            most_active: 60,
            batch: 64,
            average: 0.9,
        };
        let net = NnueLearner::new(config, seed).unwrap().net();
        model(Net::Nnue(net), Encoder::facts(60).with_movers(2).unwrap(), Head::Value { outputs: 1 })
    };
    phases.into_iter().map(make).collect()
}

#[test]
fn an_nnue_is_kept_and_its_file_is_refused_where_it_makes_no_sense() {
    for model in nnues(1) {
        let bytes = model.to_bytes();
        let loaded = Model::from_bytes(&bytes).unwrap();
        assert_eq!(loaded, model);
        let state = facts(60, 0.3, &mut Rng::new(4));
        let value = |m: &Model| m.nnue().unwrap().plain(&state, Player(1))[0].to_bits();
        assert_eq!(value(&loaded), value(&model));
        assert!(model.inference_net().is_err(), "an NNUE is no net of layers");
        for (from, to) in [
            ("\\\"facts\\\":60", "\\\"facts\\\":61"),
            ("\\\"width\\\":64", "\\\"width\\\":65"),
            ("\\\"outputs\\\":1", "\\\"outputs\\\":2"),
            ("\\\"movers\\\":2", "\\\"movers\\\":3"),
            ("head1.layer2.bias", "head7.layer2.bias"),
        ] {
            let error = Model::from_bytes(&forged(&bytes, from, to)).unwrap_err();
            assert!(!error.to_string().contains('\n') && error != Error::Altered, "{from} as {to}: {error}");
        }
    }
}

/// Puts another text of the same length into a file and makes its checksum right again.
fn forged(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect("there");
    let mut forged = bytes.to_vec();
    forged[at..at + to.len()].copy_from_slice(to.as_bytes());
    let end = forged.len() - 32;
    let hash = Sha256::digest(&forged[..end]);
    forged[end..].copy_from_slice(&hash);
    forged
}

#[test]
fn a_well_made_file_that_makes_no_sense_is_refused() {
    let bytes = models(1)[0].to_bytes();
    for (from, to) in [
        ("ludex-model 1", "ludex-model 2"),
        ("ludex-model 1", "ludex-moped 1"),
        ("\\\"facts\\\":60", "\\\"facts\\\":61"),
        ("[60,100,3]", "[60,100,4]"),
        ("[60,100,3]", "[3e9,10,3]"),
        ("[60,100,3]", "[60,0,100]"),
        ("\\\"version\\\":1", "\\\"version\\\":9"),
        ("layer0.bias", "layer9.bias"),
        ("\"F32\"", "\"F64\""),
        ("win_draw_loss", "win_draw_lost"),
        ("logistic", "logistik"),
    ] {
        let error = Model::from_bytes(&forged(&bytes, from, to)).unwrap_err();
        assert!(!error.to_string().is_empty() && error != Error::Altered, "{from} as {to}: {error}");
    }
}

#[test]
fn a_model_of_another_game_is_refused() {
    let (nim, other) = (Nim::new(15), Nim::new(16));
    let net = mlp(&[nim.info().facts as usize, 4, 1], Activation::Tanh, Link::Each(Activation::Tanh), &mut Rng::new(1));
    let encoder = Encoder::facts(nim.info().facts as usize).mover_relative(nim.info().mirror.clone().unwrap()).unwrap();
    let mut model = model(net, encoder, Head::Value { outputs: 1 });
    (model.game, model.rules_hash) = (nim.info().name.clone(), nim.info().rules_hash);
    let bytes = model.to_bytes();
    assert!(Model::for_game(&bytes, nim.info()).is_ok());
    let line = Model::for_game(&bytes, other.info()).unwrap_err().to_string();
    assert!(line.contains("nim:15") && line.contains("nim:16"), "{line}");
}

#[test]
fn the_header_can_be_read_by_people_and_the_file_is_named_by_its_hash() {
    let model = &models(1)[5];
    let bytes = model.to_bytes();
    let head = String::from_utf8_lossy(&bytes[8..2000]);
    for word in ["ludex-model 1", "nim:15", "fedcba9876543210", "cascade", "test_mse", "00ff"] {
        assert!(head.contains(word), "{word} is not in the header");
    }
    assert_eq!(model.id().len(), 64);
}

#[test]
fn figures_that_are_not_finite_do_not_spoil_the_file() {
    let mut model = models(1).remove(0);
    model.provenance.metrics.insert("ratio".into(), f64::NAN);
    let loaded = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(loaded.provenance.metrics.len(), 2);
}

#[test]
fn tensors_with_names_are_a_model_file() {
    let names = ExportNames { facts: vec!["(fact \"0\")".into()], moves: vec!["1".into(), "2".into()] };
    for model in models(2).iter().chain(&nnues(2)) {
        let bytes = model.to_tensors(&names);
        assert_eq!(Model::from_bytes(&bytes).unwrap(), *model);
        let text = String::from_utf8_lossy(&bytes[8..]).into_owned();
        assert!(text.contains(r#""moves":"[\"1\",\"2\"]""#), "{text}");
        assert_eq!(model.to_tensors(&ExportNames::default()), model.to_bytes());
    }
}

#[test]
fn onnx_files_pass_the_checker_and_give_our_outputs() {
    let Some(python) = peers::python(&["numpy", "onnx", "onnxruntime"]) else { return };
    let folder = std::env::temp_dir().join(format!("ludex-onnx-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rng = &mut Rng::new(8);
    for (k, model) in models(2).iter().enumerate() {
        let path = folder.join(format!("{k}.onnx"));
        let names = ExportNames { facts: (0..60).map(|f| format!("(fact {f})")).collect(), moves: vec![] };
        std::fs::write(&path, model.to_onnx(&names)).unwrap();
        let beside = model.encoder.move_inputs() != MoveInputs::None;
        let states: Vec<Vec<Fact>> = (0..64).map(|_| facts(60, 0.05 + 0.9 * rng.unit(), rng)).collect();
        let columns: Vec<Vec<u32>> = states
            .iter()
            .enumerate()
            .map(|(i, s)| {
                let action = beside.then_some(60 + i as u32 % 9);
                s.iter().map(|f| f.0).chain(action).collect()
            })
            .collect();
        let input = serde_json::to_string(&columns).unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&peers::run(&python, "check_onnx.py", &[path.to_str().unwrap()], &input)).unwrap();
        let inference = model.inference_net().unwrap();
        let mut worst = 0f64;
        for (i, state) in states.iter().enumerate() {
            let ours = ours(&inference, state, beside.then_some(i as u32 % 9));
            let theirs: Vec<f64> = answer["names"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|name| {
                    let row = answer["outputs"][name.as_str().unwrap()][i].as_array().unwrap().clone();
                    row.into_iter().map(|v| v.as_f64().unwrap())
                })
                .collect();
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(&theirs).for_each(|(a, b)| worst = worst.max((*a as f64 - b).abs()));
        }
        assert!(worst < 1e-5, "model {k}: outputs differ by {worst}");
        assert_eq!(answer["metadata"]["game"], "nim:15");
        assert_eq!(answer["metadata"]["rules"], "fedcba9876543210");
        assert!(answer["metadata"]["facts"].as_str().unwrap().contains("(fact 59)"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_onnx_file_of_an_nnue_gives_its_values_for_both_movers() {
    let Some(python) = peers::python(&["numpy", "onnx", "onnxruntime"]) else { return };
    let folder = std::env::temp_dir().join(format!("ludex-onnx-nnue-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rng = &mut Rng::new(8);
    for (k, model) in nnues(2).iter().enumerate() {
        let path = folder.join(format!("{k}.onnx"));
        std::fs::write(&path, model.to_onnx(&ExportNames::default())).unwrap();
        let states: Vec<(Vec<Fact>, u8)> = (0..64).map(|i| (facts(60, 0.05 + 0.9 * rng.unit(), rng), i % 2)).collect();
        let columns: Vec<Vec<u32>> =
            states.iter().map(|(s, p)| s.iter().map(|f| f.0).chain([60 + *p as u32]).collect()).collect();
        let input = serde_json::to_string(&columns).unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&peers::run(&python, "check_onnx.py", &[path.to_str().unwrap()], &input)).unwrap();
        for (i, (state, mover)) in states.iter().enumerate() {
            let mut row = Default::default();
            model.encoder.encode(state, Player(*mover), &mut row);
            let (ours, theirs) = (model.net.forward(row.row())[0] as f64, &answer["outputs"]["value"][i][0]);
            assert!((ours - theirs.as_f64().unwrap()).abs() < 1e-5, "model {k}: {ours} and {theirs}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn ours(inference: &InferenceNet, state: &[Fact], action: Option<u32>) -> Vec<f32> {
    let Some(m) = action else { return inference.plain(state, Player(0)) };
    let mut score = [0.0];
    inference.score_moves(state, Player(0), &[ludex_core::Move(m)], &mut inference.scratch(), &mut score);
    score.to_vec()
}
