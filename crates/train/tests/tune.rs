//! The cross-entropy method finds what it can find; plots are SVG whatever the points.

use ludex_core::Rng;
use ludex_train::plot::{Frame, Series, svg};
use ludex_train::tune::{Axis, Cem, Sample};

fn cem() -> Cem {
    Cem { iterations: 25, population: 40, elites: 8, games: 2, smoothing: 0.7, uniform_start: false, opening_plies: 2 }
}

#[test]
fn the_maximum_of_a_smooth_function_is_found() {
    let axes = [("c", 0.2, 2.0), ("k", -5.0, 5.0)].map(|(o, low, high)| Axis { option: o.into(), low, high }).to_vec();
    let peak = |v: &Vec<f64>| -(v[0] - 0.78).powi(2) - (v[1] + 3.0).powi(2);
    let tuned = cem().tune(&axes, 1, |_, all| Ok::<_, ()>(all.iter().map(peak).collect())).unwrap();
    assert!((tuned.values[0] - 0.78).abs() < 0.02 && (tuned.values[1] + 3.0).abs() < 0.05, "{:?}", tuned.values);
    assert!(tuned.deviation.iter().all(|&d| d < 0.05));
    for round in &tuned.rounds {
        let inside = |s: &Sample| (0.2..=2.0).contains(&s.values[0]) && (-5.0..=5.0).contains(&s.values[1]);
        assert!(round.samples.iter().all(inside));
    }
    assert_eq!(tuned.rounds[0].mean, [1.1, 0.0]);
    assert_eq!(tuned.rounds[0].deviation, [0.9, 5.0]);
}

#[test]
fn a_noisy_function_is_no_obstacle_and_the_seed_decides() {
    let axes = [Axis { option: "c".into(), low: 0.0, high: 1.0 }];
    let tune = |seed| {
        let mut rng = Rng::new(9);
        let noisy = |v: &Vec<f64>, rng: &mut Rng| -(v[0] - 0.3).abs() + 0.05 * rng.normal();
        cem().tune(&axes, seed, |_, all| Ok::<_, ()>(all.iter().map(|v| noisy(v, &mut rng)).collect())).unwrap()
    };
    assert!((tune(1).values[0] - 0.3).abs() < 0.1);
    assert_eq!(tune(2), tune(2));
    assert_ne!(tune(2), tune(3));
}

#[test]
fn nonsense_is_refused() {
    let axis = |low, high| [Axis { option: "c".into(), low, high }];
    assert!(cem().check(&[]).is_err());
    assert!(cem().check(&axis(1.0, 1.0)).is_err());
    assert!(cem().check(&axis(f64::NAN, 1.0)).is_err());
    assert!(Cem { elites: 41, ..cem() }.check(&axis(0.0, 1.0)).is_err());
}

#[test]
fn a_plot_is_svg_with_its_names_whatever_the_points() {
    let frame = Frame { title: "errors", x: "neurons", y: "MSE", log_x: false };
    for points in [vec![], vec![(1.0, 2.0)], vec![(0.0, f64::NAN), (1.0, 0.1), (2.0, 0.05)]] {
        let text = svg(&frame, &[Series::line("train", points.clone()), Series::cloud("test", points)]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("errors") && text.contains("neurons") && text.contains("train"));
    }
}
