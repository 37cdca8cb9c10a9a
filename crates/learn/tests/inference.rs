//! Every way to evaluate an inference net gives the bits of the plain one, and the values of `Net::forward`.

mod common;

use common::{cascade, facts, mirror, mlp};
use ludex_core::{Fact, Move, Player, Rng};
use ludex_learn::{Activation, EncodedRow, Encoder, Head, InferenceNet, InputCodes, Link, MoveInputs, Net};

const ACTS: [Activation; 8] = [
    Activation::Tanh,
    Activation::Logistic,
    Activation::GaussSym,
    Activation::SinSym,
    Activation::ElliotSym,
    Activation::Gauss,
    Activation::Sin,
    Activation::Elliot,
];

fn heads() -> Vec<(Net, Encoder, Head)> {
    let rng = &mut Rng::new(1);
    let plain = Encoder::facts(90);
    let seen = |moves| Encoder::facts(90).mover_relative(mirror(90, moves)).unwrap();
    let codes = InputCodes {
        base: (0..40).map(|i| (i % 3) as f32 * 0.5).collect(),
        by_fact: (0..90).map(|f| (f % 9 != 0).then_some((f % 40, 0.25 * (1 + f % 3) as f32))).collect(),
    };
    let coded = Encoder::facts(90).with_codes(codes.clone()).unwrap();
    let value = Head::Value { outputs: 1 };
    vec![
        (mlp(&[90, 1], Activation::Tanh, Link::Each(Activation::Identity), rng), plain.clone(), value),
        (
            mlp(&[90, 100, 3], Activation::Logistic, Link::Each(Activation::Logistic), rng),
            plain.clone(),
            Head::WinDrawLoss,
        ),
        (mlp(&[90, 40, 20, 40, 3], Activation::Relu, Link::Softmax, rng), seen(7), Head::WinDrawLoss),
        (
            mlp(&[90, 30, 81], Activation::Tanh, Link::Each(Activation::Logistic), rng),
            seen(81),
            Head::MoveScores { moves: 81 },
        ),
        (
            mlp(&[90, 17, 10], Activation::Relu, Link::SoftmaxAnd(Activation::Tanh), rng),
            seen(9),
            Head::PolicyValue { moves: 9 },
        ),
        (mlp(&[40, 24, 3], Activation::Logistic, Link::Each(Activation::Logistic), rng), coded, Head::WinDrawLoss),
        (cascade(90, 50, 1, &ACTS, 0, rng), plain.clone(), value),
        (cascade(90, 23, 3, &ACTS, 1, rng), seen(7), Head::WinDrawLoss),
        (cascade(90, 40, 2, &[Activation::Tanh], 3, rng), plain.clone(), Head::Value { outputs: 2 }),
        (cascade(90, 0, 1, &ACTS, 0, rng), seen(7), value),
    ]
}

#[test]
fn alone_in_a_batch_or_along_a_line_the_bits_are_those_of_the_plain_version() {
    let rng = &mut Rng::new(2);
    for (net, encoder, head) in heads() {
        let inference = InferenceNet::new(&net, &encoder, head).unwrap();
        let (mut scratch, mut accumulator, mut batch) =
            (inference.scratch(), inference.accumulator(), inference.batch());
        let mut out = vec![0.0; inference.outputs()];
        for size in [1, 7, 8, 9, 16, 17, 31, 33, 70] {
            let states: Vec<(Vec<Fact>, Player)> =
                (0..size).map(|i| (facts(90, 0.3, rng), Player((i % 2) as u8))).collect();
            for (i, (state, mover)) in states.iter().enumerate() {
                let before = &states[(i + size - 1) % size].0;
                let on: Vec<Fact> = state.iter().copied().filter(|f| !before.contains(f)).collect();
                let off: Vec<Fact> = before.iter().copied().filter(|f| !state.contains(f)).collect();
                if i == 0 {
                    inference.refresh(&mut accumulator, before);
                }
                if i % 3 == 0 {
                    inference.push_child(&mut batch, &accumulator, &on, &off, *mover);
                } else {
                    inference.push(&mut batch, state, *mover);
                }
                inference.update(&mut accumulator, &on, &off);
                let want = inference.plain(state, *mover);
                inference.forward(state, *mover, &mut scratch, &mut out);
                assert_eq!(out, want, "alone");
                inference.evaluate(&accumulator, *mover, &mut scratch, &mut out);
                assert_eq!(out, want, "along a line");
            }
            let mut all = vec![0.0; size * inference.outputs()];
            inference.run(&mut batch, &mut all);
            let want: Vec<f32> = states.iter().flat_map(|(s, mover)| inference.plain(s, *mover)).collect();
            assert_eq!(all, want, "in a batch of {size}");
        }
    }
}

/// The facts after a random move, and what it turns on and off.
fn random_move(state: &[Fact], rng: &mut Rng) -> (Vec<Fact>, Vec<Fact>, Vec<Fact>) {
    let changed = facts(90, 0.05 * rng.unit(), rng);
    let (off, on): (Vec<Fact>, Vec<Fact>) = changed.into_iter().partition(|f| state.contains(f));
    let after = state.iter().copied().filter(|f| !off.contains(f)).chain(on.iter().copied()).collect();
    (after, on, off)
}

#[test]
fn down_and_up_random_lines_a_stack_has_the_bits_of_the_plain_version() {
    let rng = &mut Rng::new(9);
    for (net, encoder, head) in heads() {
        let inference = InferenceNet::new(&net, &encoder, head).unwrap();
        let (mut stack, mut scratch, mut batch) =
            (inference.accumulator_stack(), inference.scratch(), inference.batch());
        let (mut out, mut alone) = (vec![0.0; inference.outputs()], vec![0.0; inference.outputs()]);
        for _ in 0..3 {
            let mut path = vec![facts(90, 0.3, rng)];
            stack.refresh(&inference, &path[0]);
            for step in 0..150 {
                // Down to some depth, then up to the first state and down again.
                if path.len() > 1 && rng.unit() < if step % 50 < 25 { 0.2 } else { 0.7 } {
                    stack.pop();
                    path.pop();
                } else {
                    let (after, on, off) = random_move(&path[path.len() - 1], rng);
                    stack.push(&inference, &on, &off);
                    path.push(after);
                }
                assert_eq!(stack.depth() + 1, path.len());
                let state = &path[path.len() - 1];
                for mover in [Player(0), Player(1)] {
                    stack.evaluate(&inference, mover, &mut scratch, &mut out);
                    assert_eq!(out, inference.plain(state, mover), "{head:?}, depth {}", stack.depth());
                    inference.forward(state, mover, &mut scratch, &mut alone);
                    assert_eq!(out, alone);
                    if let Head::MoveScores { moves } | Head::PolicyValue { moves } = head {
                        let some: Vec<Move> = (0..moves as u32).filter(|m| m % 3 != 1).map(Move).collect();
                        let (mut scores, mut fresh) = (vec![0.0; some.len()], vec![0.0; some.len()]);
                        inference.score_accumulated(stack.top(), mover, &some, &mut scratch, &mut scores);
                        inference.score_moves(state, mover, &some, &mut scratch, &mut fresh);
                        assert_eq!(scores, fresh);
                    }
                    let (child, on, off) = random_move(state, rng);
                    inference.push_child(&mut batch, stack.top(), &on, &off, mover);
                    inference.run(&mut batch, &mut out);
                    assert_eq!(out, inference.plain(&child, mover));
                }
            }
        }
    }
}

#[test]
fn inference_outputs_are_those_of_the_net_on_encoded_inputs() {
    let rng = &mut Rng::new(3);
    let mut code = EncodedRow::default();
    for (net, encoder, head) in heads() {
        let inference = InferenceNet::new(&net, &encoder, head).unwrap();
        for _ in 0..200 {
            let state = facts(90, rng.unit(), rng);
            for mover in [Player(0), Player(1)] {
                encoder.encode(&state, mover, &mut code);
                let mut want = net.forward(code.row());
                if let (Some(mirror), true, true) = (encoder.mirror(), mover == Player(1), want.len() >= 9) {
                    let raw = want.clone();
                    mirror.moves.iter().enumerate().for_each(|(m, seen)| want[m] = raw[seen.index()]);
                }
                let got = inference.plain(&state, mover);
                let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(worst < 5e-6, "{head:?}: {got:?} instead of {want:?}");
            }
        }
    }
}

#[test]
fn moves_as_inputs_are_scored_like_the_net_on_encoded_actions() {
    let rng = &mut Rng::new(4);
    let mut code = EncodedRow::default();
    for actions in [MoveInputs::Beside { moves: 9 }, MoveInputs::Crossed { moves: 9 }] {
        for mirrored in [false, true] {
            let mut encoder = Encoder::facts(30).with_moves(actions).unwrap();
            if mirrored {
                encoder = encoder.mover_relative(mirror(30, 9)).unwrap();
            }
            let net = mlp(&[encoder.inputs(), 40, 20, 40, 1], Activation::Relu, Link::Each(Activation::Identity), rng);
            let inference = InferenceNet::new(&net, &encoder, Head::MoveScores { moves: 9 }).unwrap();
            let mut scratch = inference.scratch();
            let state = facts(30, 0.3, rng);
            let moves = [Move(1), Move(2), Move(8)];
            for mover in [Player(0), Player(1)] {
                let mut scores = [0.0; 3];
                inference.score_moves(&state, mover, &moves, &mut scratch, &mut scores);
                for (m, score) in moves.iter().zip(scores) {
                    encoder.encode_action(&state, mover, *m, &mut code);
                    let want = net.forward(code.row())[0];
                    assert!((score - want).abs() < 5e-6, "{m:?}: {score} instead of {want}");
                }
            }
        }
    }
}

#[test]
fn a_policy_over_some_moves_adds_up_to_one() {
    let rng = &mut Rng::new(5);
    let encoder = Encoder::facts(30).mover_relative(mirror(30, 9)).unwrap();
    let net = mlp(&[30, 16, 10], Activation::Relu, Link::SoftmaxAnd(Activation::Tanh), rng);
    let inference = InferenceNet::new(&net, &encoder, Head::PolicyValue { moves: 9 }).unwrap();
    let (mut scratch, mut out, mut scores) = (inference.scratch(), [0.0; 10], [0.0; 4]);
    let state = facts(30, 0.3, rng);
    let moves = [Move(0), Move(3), Move(4), Move(8)];
    inference.forward(&state, Player(1), &mut scratch, &mut out);
    inference.score_moves(&state, Player(1), &moves, &mut scratch, &mut scores);
    let total: f32 = moves.iter().map(|m| out[m.index()]).sum();
    assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    moves.iter().zip(scores).for_each(|(m, s)| assert!((out[m.index()] / total - s).abs() < 1e-6));
    let payoffs = inference.payoffs(&out, Player(1)).unwrap();
    assert_eq!(payoffs[Player(1)], out[9]);
}

#[test]
fn moves_are_ranked_as_they_are_scored() {
    let rng = &mut Rng::new(8);
    let encoder = Encoder::facts(30).mover_relative(mirror(30, 19)).unwrap();
    let moves: Vec<Move> = (0..19).filter(|m| m % 3 != 1).map(Move).collect();
    for act in Activation::ALL {
        let net = mlp(&[30, 13, 19], Activation::Logistic, Link::Each(act), rng);
        let inference = InferenceNet::new(&net, &encoder, Head::MoveScores { moves: 19 }).unwrap();
        let mut scratch = inference.scratch();
        for mover in [Player(0), Player(1)] {
            let state = facts(30, 0.3, rng);
            let (mut scores, mut ranks) = (vec![0.0; moves.len()], vec![0.0; moves.len()]);
            inference.score_moves(&state, mover, &moves, &mut scratch, &mut scores);
            inference.rank_moves(&state, mover, &moves, &mut scratch, &mut ranks);
            for (i, j) in (0..moves.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                assert!(scores[i] <= scores[j] || ranks[i] > ranks[j], "{act:?}: {scores:?}, but {ranks:?}");
            }
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let rng = &mut Rng::new(6);
    let net = mlp(&[30, 5, 3], Activation::Relu, Link::Softmax, rng);
    assert!(InferenceNet::new(&net, &Encoder::facts(30), Head::WinDrawLoss).is_ok());
    assert!(InferenceNet::new(&net, &Encoder::facts(31), Head::WinDrawLoss).is_err());
    assert!(InferenceNet::new(&net, &Encoder::facts(30), Head::Value { outputs: 1 }).is_err());
    let beside = Encoder::facts(20).with_moves(MoveInputs::Beside { moves: 10 }).unwrap();
    assert!(InferenceNet::new(&net, &beside, Head::WinDrawLoss).is_err());
}
