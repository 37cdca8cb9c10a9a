//! OS-ELM equals batch least squares for any chunks of examples.

#[path = "common/peers.rs"]
mod peers;

use ludex_core::Rng;
use ludex_learn::{Data, HiddenSizeChoice, HiddenSizeSearch, OsElm, OsElmConfig, choose_hidden_size};
use serde_json::json;

fn examples(n: usize) -> Data {
    let mut rng = Rng::new(1);
    let mut data = Data::new(42, 2);
    for _ in 0..n {
        let at: Vec<u32> = (0..42).filter(|_| rng.unit() < 0.4).collect();
        let value = at.iter().map(|&i| ((i * i) as f64).sin()).sum::<f64>();
        data.push(&at, &[(value.tanh() + 0.1 * rng.normal()) as f32, (value * 0.1) as f32]).unwrap();
    }
    data
}

fn untrained(ridge: f64) -> OsElm {
    OsElm::new(OsElmConfig { hidden: 40, ridge, ..OsElmConfig::default() }, 42, 2, 7).unwrap()
}

fn gap(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn chunks_of_any_size_equal_one_batch() {
    let data = examples(1000);
    let rows: Vec<u32> = (0..1000).collect();
    for ridge in [1e-4, 0.0] {
        let mut batch = untrained(ridge);
        batch.learn(&data, &rows).unwrap();
        for size in [250, 64, 41] {
            let mut chunked = untrained(ridge);
            rows.chunks(size).for_each(|chunk| chunked.learn(&data, chunk).unwrap());
            let worst = gap(chunked.weights(), batch.weights());
            assert!(worst < 1e-8, "chunks of {size}, ridge {ridge}: {worst}");
        }
    }
}

#[test]
fn it_matches_a_pseudo_inverse() {
    let data = examples(600);
    let rows: Vec<u32> = (0..600).collect();
    for ridge in [1e-4, 0.0] {
        let mut elm = untrained(ridge);
        rows.chunks(100).for_each(|chunk| elm.learn(&data, chunk).unwrap());
        let h: Vec<Vec<f64>> = (0..600).map(|i| elm.activations(data.row(i))).collect();
        let t: Vec<&[f32]> = (0..600).map(|i| data.targets(i)).collect();
        let Some(python) = peers::python(&["numpy"]) else { return };
        let request = json!({"h": h, "t": t, "ridge": ridge}).to_string();
        let theirs: Vec<Vec<f64>> = serde_json::from_str(&peers::run(&python, "pinv.py", &[], &request)).unwrap();
        assert!(gap(elm.weights(), &theirs) < 1e-8, "{}", gap(elm.weights(), &theirs));
    }
}

/// The recursion of the paper (eqs. 2 and 3), for one output: P by Gauss-Jordan for the first chunk, then one example
/// at a time, P <- P - P·h·h'·P / (1 + h'·P·h), w <- w + P·h·(t - h'·w).
#[test]
fn it_equals_the_recursion_of_the_paper() {
    let data = examples(400);
    let mut elm = untrained(1e-4);
    elm.learn(&data, &(0..400).collect::<Vec<_>>()).unwrap();
    let m = 40;
    let mut p: Vec<Vec<f64>> = (0..m).map(|i| (0..m).map(|j| if i == j { 1e4 } else { 0.0 }).collect()).collect();
    let mut w = vec![0.0; m];
    for i in 0..400 {
        let h = elm.activations(data.row(i));
        let ph: Vec<f64> = p.iter().map(|row| row.iter().zip(&h).map(|(p, h)| p * h).sum()).collect();
        let scale = 1.0 + ph.iter().zip(&h).map(|(a, b)| a * b).sum::<f64>();
        for a in 0..m {
            for b in 0..m {
                p[a][b] -= ph[a] * ph[b] / scale;
            }
        }
        let error = data.targets(i)[0] as f64 - w.iter().zip(&h).map(|(w, h)| w * h).sum::<f64>();
        for (a, w) in w.iter_mut().enumerate() {
            *w += p[a].iter().zip(&h).map(|(p, h)| p * h).sum::<f64>() * error;
        }
    }
    // The recursion itself loses digits where we do not: with P0 = 10^4·I about nine remain.
    let worst = gap(&[w], &elm.weights()[..1]);
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn forgetting_follows_a_change_of_the_targets() {
    let mut data = Data::new(3, 1);
    for k in 0..200 {
        let sign = if k < 100 { 1.0 } else { -1.0 };
        data.push(&[k % 3], &[sign * (k % 3) as f32]).unwrap();
    }
    let last = |keep: f64| {
        let mut elm = OsElm::new(OsElmConfig { hidden: 5, keep, ..OsElmConfig::default() }, 3, 1, 1).unwrap();
        (0..20u32).for_each(|c| elm.learn(&data, &(c * 10..c * 10 + 10).collect::<Vec<_>>()).unwrap());
        elm.mse(&data, &(150..200).collect::<Vec<_>>())
    };
    assert!(last(0.5) < 1e-4 && last(1.0) > 0.5);
}

#[test]
fn cross_validation_finds_a_size_that_generalises() {
    let data = examples(700);
    let rows: Vec<u32> = (0..500).collect();
    let search = HiddenSizeSearch { first: 5, step: 10, most: 200, draws: 2, folds: 5, patience: 3 };
    let find = || choose_hidden_size(OsElmConfig::default(), &search, &data, &rows, 3).unwrap();
    let HiddenSizeChoice { elm, hidden, seed, tried } = find();
    let least = tried.iter().map(|(_, e)| e.validation.unwrap()).fold(f64::INFINITY, f64::min);
    let first = tried[0].1.validation.unwrap();
    assert!(tried.len() > 3 && least < 0.8 * first, "{tried:?}");
    let test = elm.mse(&data, &(500..700).collect::<Vec<_>>());
    assert!((0.5 * least..2.0 * least).contains(&test), "validation {least}, test {test}");
    assert_eq!(find().elm, elm);
    let mut again =
        OsElm::new(OsElmConfig { hidden, ..OsElmConfig::default() }, data.inputs(), data.outputs(), seed).unwrap();
    again.learn(&data, &rows).unwrap();
    assert_eq!(again, elm, "the seed makes the same layer again");
}
