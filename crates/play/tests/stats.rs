//! The statistics, against published values and against simulated matches whose truth is known.
//!
//! Simulations are seeded, so they either always pass or always fail; where a bound is on an error rate, the upper end
//! of the *simulated* rate's own interval must keep it, so passing is evidence and not luck. Run with `--nocapture` to
//! see the rates.

use ludex_core::Rng;
use ludex_play::stats::*;

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b} within {within}");
}

fn width(i: Interval) -> f64 {
    i.high - i.low
}

/// The lead of player `a` over player `b`, and half the width of its interval of 95 %.
fn lead(r: &Ratings, a: usize, b: usize) -> (f64, f64) {
    let v = &r.covariance;
    let variance = v[a][a] + v[b][b] - 2.0 * v[a][b];
    (r.players[a].value - r.players[b].value, 1.959963985 * variance.max(0.0).sqrt())
}

// ---- Published values ----

/// Newcombe (1998), table I, methods 3 and 5.
#[test]
fn rate_intervals_match_newcombe() {
    for (k, n, wilson_ends, exact_ends) in [
        (81, 263, [0.2553, 0.3662], [0.2527, 0.3676]),
        (15, 148, [0.0624, 0.1605], [0.0578, 0.1617]),
        (0, 20, [0.0, 0.1611], [0.0, 0.1684]),
        (1, 29, [0.0061, 0.1718], [0.0009, 0.1776]),
    ] {
        let (w, e) = (wilson(k, n, 0.95), clopper_pearson(k, n, 0.95));
        [w.low, w.high].iter().zip(wilson_ends).for_each(|(a, b)| close(*a, b, 5e-5));
        [e.low, e.high].iter().zip(exact_ends).for_each(|(a, b)| close(*a, b, 5e-5));
    }
}

#[test]
fn clean_sheets_are_exact_and_the_rest_is_wilson() {
    assert_eq!(rate_interval(0, 50, 0.95), clopper_pearson(0, 50, 0.95));
    assert_eq!(rate_interval(50, 50, 0.95), clopper_pearson(50, 50, 0.95));
    assert_eq!(rate_interval(1, 50, 0.95), wilson(1, 50, 0.95));
    close(width(rate_interval(50, 100, 0.95)) / 2.0, 0.098, 0.003);
}

#[test]
fn no_loss_in_300_games_bounds_the_rate_below_one_percent() {
    assert!(upper_bound(0, 300, 0.95) < 0.01 && upper_bound(0, 297, 0.95) > 0.01);
    assert!(upper_bound(0, 1000, 0.95) < 0.003);
    // One-sided and exact: at the bound, a result as good has probability 5 %.
    let x = upper_bound(2, 40, 0.95);
    let p = (1.0 - x).powi(40) + 40.0 * x * (1.0 - x).powi(39) + 780.0 * x * x * (1.0 - x).powi(38);
    close(p, 0.05, 1e-9);
}

/// The examples of SciPy's and R's documentation (whales, tea, convictions of twins), the rest by exact fractions.
#[test]
fn fisher_matches_documented_examples() {
    for (table, p) in [
        ([[8, 2], [1, 5]], 0.03496503496503497),
        ([[3, 1], [1, 3]], 0.4857142857142857),
        ([[2, 15], [10, 3]], 0.0005367241191434358),
        ([[100, 2], [1000, 5]], 0.13007593634300169),
        ([[2, 7], [8, 2]], 0.023014137565221155),
        ([[5, 1], [10, 10]], 0.19732441471571907),
        ([[5, 16], [16, 25]], 0.2697004098849359),
        ([[10, 5], [10, 0]], 0.06126482213438735),
        ([[5, 0], [1, 4]], 0.047619047619047616),
        ([[0, 2], [6, 4]], 0.45454545454545453),
        ([[520, 480], [470, 530]], 0.0283936963706784),
        ([[0, 0], [0, 0]], 1.0),
        ([[7, 0], [9, 0]], 1.0),
    ] {
        close(fisher_exact(table), p, 1e-9);
        let [[a, b], [c, d]] = table;
        close(fisher_exact([[d, c], [b, a]]), p, 1e-9);
        close(fisher_exact([[a, c], [b, d]]), p, 1e-9);
    }
}

#[test]
fn sign_test_is_the_binomial_tail() {
    close(sign_test(10, 0), 2.0 / 1024.0, 1e-15);
    close(sign_test(3, 12), 2.0 * 576.0 / 32768.0, 1e-12);
    close(sign_test(12, 3), sign_test(3, 12), 0.0);
    // 520 of 1000 heads, two-sided.
    close(sign_test(480, 520), 0.2174, 5e-4);
    assert_eq!(sign_test(0, 0), 1.0);
    assert_eq!(sign_test(6, 6), 1.0);
}

#[test]
fn elo_and_score_are_inverse() {
    close(elo_of_score(0.75), 190.848, 1e-3);
    close(score_of_elo(100.0), 0.640065, 1e-6);
    (1..20).for_each(|i| close(score_of_elo(elo_of_score(i as f64 / 20.0)), i as f64 / 20.0, 1e-12));
    assert_eq!((elo_of_score(0.0), elo_of_score(1.0)), (-ELO_CAP, ELO_CAP));
    // 400 games without draws: about 34 Elo either way.
    let even = match_elo(&Pentanomial::new([50, 0, 100, 0, 50]), 0.95);
    close(even.high, 34.0, 1.0);
    close(even.low, -even.high, 1e-6);
}

/// The values that the tests of fastchess state for fishtest's formula (logistic, pentanomial).
#[test]
fn likelihood_ratio_matches_fishtest() {
    let llr = |elo0, elo1, counts| SprtPlan::between(elo0, elo1).llr(&Pentanomial::new(counts));
    close(llr(0.5, 2.5, [223, 9863, 20279 + 1000, 10037, 246]), -3.07, 0.03);
    close(llr(0.0, 2.0, [871, 26175, 55003 + 980, 26678, 821]), -4.98, 0.05);
    assert_eq!(SprtPlan::between(-5.0, 5.0).bounds(), (-(19f64.ln()), 19f64.ln()));
}

/// American League East 1987, ratings as printed by Agresti (Categorical Data Analysis, section 10.6), Baltimore at 0.
#[test]
fn ratings_match_agresti_on_baseball() {
    let wins = [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ];
    let mut encounters = Vec::new();
    for (a, row) in wins.iter().enumerate() {
        for (b, &won) in row.iter().enumerate().skip(a + 1) {
            encounters.push(duel(a, b, won, 0, wins[b][a]));
        }
    }
    let pool = Pool { players: 7, anchor: 6, first_advantage: false, encounters };
    let ratings = pool.rate(0.95).unwrap();
    let natural = std::f64::consts::LN_10 / 400.0;
    for (rating, published) in ratings.players.iter().zip([1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]) {
        close(rating.value * natural, published, 0.03);
    }
    // Standard errors of the differences from Baltimore are about 0.34 there.
    close((ratings.players[0].high - ratings.players[0].value) * natural / 1.96, 0.34, 0.02);
    assert!(ratings.connected && !ratings.one_sided && ratings.draw_rate == 0.0);
    assert!(pool.cycles(0.95).unwrap().is_empty());
}

// ---- Laws ----

#[test]
fn counts_derive_from_pairs() {
    use Outcome::*;
    let mut pairs = Pairs::default();
    let mut sum = Pentanomial::default();
    for (first, second) in [(Win, Win), (Win, Loss), (Draw, Draw), (Loss, Draw), (Draw, Win)] {
        pairs.record(Pair { first, second });
        sum.record(Pair { first, second });
    }
    assert_eq!(pairs.pentanomial(), sum);
    assert_eq!(sum, Pentanomial::new([0, 1, 2, 1, 1]));
    assert_eq!((pairs.first(), pairs.second()), (Wdl::new(2, 2, 1), Wdl::new(2, 2, 1)));
    assert_eq!(pairs.wdl(), Wdl::new(4, 4, 2));
    assert_eq!(pairs.wdl().score(), sum.score());
    assert_eq!(sum.decided(), (2, 1));
    assert_eq!((Wdl::default().score(), Pentanomial::default().score()), (0.5, 0.5));
}

#[test]
fn score_interval_holds_the_score_and_is_never_empty() {
    let mut rng = Rng::new(1);
    for _ in 0..3000 {
        let most = 1 << rng.below(20);
        let counts = std::array::from_fn(|_| if rng.below(2) == 0 { 0 } else { rng.below(most) });
        let pairs = Pentanomial::new(counts);
        let i = score_interval(&pairs, 0.95);
        assert!(i.contains(pairs.score()) && i.low >= 0.0 && i.high <= 1.0, "{counts:?} {i:?}");
        assert!(width(i) > 0.1 / (pairs.pairs() + 1) as f64, "{counts:?} {i:?}");
        let mut flipped = counts;
        flipped.reverse();
        let f = score_interval(&Pentanomial::new(flipped), 0.95);
        close(f.low, 1.0 - i.high, 1e-8);
        close(f.high, 1.0 - i.low, 1e-8);
    }
}

#[test]
fn equal_pairs_get_the_exact_bound() {
    let all_won = score_interval(&Pentanomial::new([0, 0, 0, 0, 60]), 0.95);
    close(all_won.low, clopper_pearson(60, 60, 0.95).low, 1e-12);
    let all_split = score_interval(&Pentanomial::new([0, 0, 60, 0, 0]), 0.95);
    assert!(all_split.low > 0.46 && all_split.low < 0.48);
    close(all_split.low + all_split.high, 1.0, 1e-12);
}

#[test]
fn anticorrelated_pairs_narrow_the_score_and_correlated_ones_widen_it() {
    let width = |counts| width(score_interval(&Pentanomial::new(counts), 0.95));
    let independent = width([50, 0, 100, 0, 50]);
    assert!(width([10, 0, 180, 0, 10]) < 0.6 * independent);
    assert!(width([100, 0, 0, 0, 100]) > 1.3 * independent);
}

#[test]
fn nothing_says_nothing_and_nonsense_does_not_panic() {
    let none = Pentanomial::default();
    assert_eq!(score_interval(&none, 0.95), Interval::ALL);
    assert_eq!(games_interval(&Wdl::default(), 0.95), Interval::ALL);
    assert_eq!(rate_interval(0, 0, 0.95), Interval::ALL);
    assert_eq!(seeds_interval(&[], 0.95), Interval::ALL);
    assert_eq!(bootstrap_interval(&[1.0], 0.95, 100, &mut Rng::new(1)), None);
    assert_eq!(bootstrap_interval(&[1.0, f64::NAN], 0.95, 100, &mut Rng::new(1)), None);
    assert_eq!(match_elo(&none, 0.95).value, 0.0);
    let some = Pentanomial::new([3, 1, 4, 1, 5]);
    for level in [f64::NAN, -1.0, 0.0, 1.0, 2.0, f64::INFINITY] {
        assert_eq!(score_interval(&some, level), Interval::ALL);
        assert_eq!(rate_interval(3, 9, level), Interval::ALL);
        assert_eq!(upper_bound(0, 9, level), 1.0);
        assert_eq!(seeds_interval(&[some, none, some], level), Interval::ALL);
        assert_eq!(bootstrap_interval(&[1.0, 2.0], level, 10, &mut Rng::new(1)), None);
    }
    for level in [1e-12, 0.5, 0.95, 1.0 - 1e-15] {
        for n in [1, 2, 3, 1000, u32::MAX] {
            for k in [0, 1, 2, n / 2, n - 1, n, n.saturating_add(7)] {
                let i = rate_interval(k, n, level);
                assert!(0.0 <= i.low && i.low <= i.high && i.high <= 1.0, "{k} {n} {level} {i:?}");
                let i = score_interval(&Pentanomial::new([k, n - k.min(n), 0, 1, 0]), level);
                assert!(0.0 <= i.low && i.low <= i.high && i.high <= 1.0, "{k} {n} {level} {i:?}");
            }
        }
    }
    let mut full = Pentanomial::new([u32::MAX; 5]);
    full.record(Pair { first: Outcome::Win, second: Outcome::Win });
    assert!(full.score() == 0.5 && score_interval(&full, 0.95).contains(0.5));
    assert!(sign_test(u64::MAX, 1) < 1e-100 && sign_test(u64::MAX, u64::MAX) == 1.0);
}

#[test]
fn sprt_refuses_plans_that_decide_nothing() {
    for (elo0, elo1) in [(0.0, 0.0), (5.0, 0.0), (f64::NAN, 5.0), (0.0, f64::INFINITY)] {
        assert_eq!(Sprt::new(SprtPlan::between(elo0, elo1)), Err(BadPlan::Leads));
    }
    for (alpha, beta) in [(0.0, 0.05), (0.05, f64::NAN), (0.5, 0.5)] {
        assert_eq!(Sprt::new(SprtPlan { elo0: 0.0, elo1: 5.0, alpha, beta }), Err(BadPlan::Errors));
    }
}

#[test]
fn sprt_is_not_stopped_by_a_short_streak_and_its_verdict_stands() {
    use Outcome::*;
    for (first, second) in [(Win, Win), (Loss, Loss), (Draw, Draw), (Win, Loss)] {
        let mut sprt = Sprt::new(SprtPlan::between(0.0, 20.0)).unwrap();
        let pair = Pair { first, second };
        assert!((0..40).all(|_| sprt.update(pair) == Verdict::Continue), "{pair:?}");
        let verdict = (0..1000).map(|_| sprt.update(pair)).last().unwrap();
        assert_eq!(verdict, if first == Win && second == Win { Verdict::AcceptH1 } else { Verdict::AcceptH0 });
        let decided = sprt;
        (0..1000).for_each(|_| assert_eq!(sprt.update(Pair { first: Win, second: Win }), verdict));
        assert_eq!(sprt, decided);
    }
}

fn duel(a: usize, b: usize, wins: u32, draws: u32, losses: u32) -> Encounter {
    Encounter { a, b, record: Record::Games(Wdl::new(wins, draws, losses)) }
}

#[test]
fn two_players_are_rated_by_their_score() {
    for (wins, draws, losses) in [(600, 0, 400), (450, 300, 250), (250, 700, 50), (300, 650, 50), (700, 200, 100)] {
        let pool =
            Pool { players: 2, anchor: 1, first_advantage: false, encounters: vec![duel(0, 1, wins, draws, losses)] };
        let rated = pool.rate(0.95).unwrap().players[0];
        let wdl = Wdl::new(wins, draws, losses);
        let elo = elo_of_score(wdl.score());
        close(rated.value, elo, 2.0 + 0.05 * elo);
        let own = games_interval(&wdl, 0.95);
        close(rated.high - rated.low, elo_of_score(own.high) - elo_of_score(own.low), 8.0);
    }
}

#[test]
fn fitted_points_equal_points() {
    // With draws and an advantage of moving first: rate, predict every encounter, compare points. The prior moves each
    // player's points by less than the half game that it stands for.
    let mut rng = Rng::new(5);
    let mut encounters = Vec::new();
    for a in 0..5 {
        for b in a + 1..5 {
            let mut pairs = Pairs::default();
            pairs.counts.iter_mut().flatten().for_each(|c| *c = rng.below(30));
            encounters.push(Encounter { a, b, record: Record::Pairs(pairs) });
        }
    }
    let pool = Pool { players: 5, anchor: 2, first_advantage: true, encounters };
    let r = pool.rate(0.95).unwrap();
    let nu = 2.0 * r.draw_rate / (1.0 - r.draw_rate);
    let natural = std::f64::consts::LN_10 / 400.0 * (2.0 + nu) / 2.0;
    let (x, g) = (|p: usize| r.players[p].value * natural, r.first_advantage.unwrap().value * natural);
    let expected = |u: f64| (u.exp() + 0.5 * nu) / (u.exp() + nu + (-u).exp());
    let mut surplus = [0.0; 5];
    let mut surplus_first = 0.0;
    for e in &pool.encounters {
        let Record::Pairs(pairs) = &e.record else { unreachable!() };
        for (wdl, sign) in [(pairs.first(), 1.0), (pairs.second(), -1.0)] {
            let over = wdl.games() as f64 * (wdl.score() - expected(0.5 * (x(e.a) - x(e.b) + sign * g)));
            surplus[e.a] += over;
            surplus[e.b] -= over;
            surplus_first += sign * over;
        }
    }
    assert!(surplus.iter().all(|s| s.abs() <= 0.5) && surplus_first.abs() <= 0.5, "{surplus:?} {surplus_first}");
    assert_eq!(r.players[2], Estimate { value: 0.0, low: 0.0, high: 0.0 });
    // The anchor has no variance: the interval of a lead over it is that of the rating.
    let (value, half) = lead(&r, 0, 2);
    close(value + half, r.players[0].high, 1e-6);
}

#[test]
fn clean_sheets_stay_finite_and_are_flagged() {
    for (wins, draws, losses) in [(100, 0, 0), (0, 0, 100), (0, 100, 0), (1, 0, 0), (u32::MAX, 0, 0), (0, 0, 0)] {
        for first_advantage in [false, true] {
            let encounters = vec![duel(0, 1, wins, draws, losses)];
            let r = Pool { players: 2, anchor: 0, first_advantage, encounters }.rate(0.95).unwrap();
            let e = r.players[1];
            assert!(e.value.is_finite() && e.low < e.high && e.high - e.low < 1e5, "{wins} {draws} {losses} {e:?}");
            assert_eq!(r.connected, wins + draws + losses > 0);
            assert_eq!(r.one_sided, wins + losses > 0);
        }
    }
    let swept = Pool {
        players: 2,
        anchor: 1,
        first_advantage: false,
        encounters: vec![Encounter {
            a: 0,
            b: 1,
            record: Record::Pairs(Pairs { counts: [[0, 0, 0], [0, 0, 0], [0, 0, 50]] }),
        }],
    };
    let e = swept.rate(0.95).unwrap().players[0];
    assert!(e.low > 300.0 && e.value > 600.0 && e.high < 2500.0, "{e:?}");
}

#[test]
fn unconnected_players_are_grouped() {
    let encounters = vec![duel(0, 2, 5, 1, 4), duel(1, 3, 2, 0, 8), duel(3, 4, 0, 0, 0)];
    let r = Pool { players: 5, anchor: 0, first_advantage: false, encounters }.rate(0.95).unwrap();
    assert_eq!(r.groups, [0, 1, 0, 1, 2]);
    assert!(!r.connected && !r.one_sided);
}

#[test]
fn wrong_pools_are_refused() {
    let pool = |players, anchor, encounters| Pool { players, anchor, first_advantage: false, encounters };
    assert_eq!(pool(0, 0, vec![]).rate(0.95), Err(PoolError::NoSuchPlayer(0)));
    assert_eq!(pool(3, 0, vec![duel(0, 3, 1, 0, 0)]).cycles(0.95), Err(PoolError::NoSuchPlayer(3)));
    assert_eq!(pool(3, 0, vec![duel(2, 2, 1, 0, 0)]).rate(0.95), Err(PoolError::AgainstItself(2)));
    assert_eq!(pool(usize::MAX, 0, vec![]).rate(0.95), Err(PoolError::TooMany(usize::MAX)));
    assert!(pool(1, 0, vec![]).rate(f64::NAN).unwrap().connected);
}

#[test]
fn significant_cycles_are_listed_once() {
    // 0 beats 1 beats 2 beats 0, clearly; 3 loses to all but only just to 2; 3 beats 0 by a hair.
    let encounters = vec![
        duel(0, 1, 70, 10, 20),
        duel(1, 2, 75, 0, 25),
        duel(0, 2, 25, 10, 65),
        duel(1, 3, 80, 0, 20),
        duel(2, 3, 51, 0, 49),
        duel(3, 0, 53, 0, 47),
    ];
    let pool = Pool { players: 4, anchor: 0, first_advantage: false, encounters };
    assert_eq!(pool.cycles(0.95).unwrap(), [[0, 1, 2]]);
    let mut mirrored = pool.clone();
    for e in &mut mirrored.encounters {
        let Record::Games(wdl) = e.record else { unreachable!() };
        e.record = Record::Games(wdl.flipped());
    }
    assert_eq!(mirrored.cycles(0.95).unwrap(), [[0, 2, 1]]);
}

// ---- Simulations ----

/// How pairs come about: the tendency to draw, how much an opening favours the first mover (which makes the games of a
/// pair anticorrelated), and how much it suits us with either colour (which makes them correlated).
#[derive(Clone, Copy)]
struct World {
    name: &'static str,
    draws: f64,
    tilt: f64,
    taste: f64,
}

const WORLDS: [World; 7] = [
    World { name: "no draws", draws: 0.0, tilt: 0.0, taste: 0.0 },
    World { name: "a third draws", draws: 1.0, tilt: 0.0, taste: 0.0 },
    World { name: "four fifths draws", draws: 8.0, tilt: 0.0, taste: 0.0 },
    World { name: "openings decide", draws: 0.0, tilt: 3.0, taste: 0.0 },
    World { name: "openings decide all but a few", draws: 0.0, tilt: 8.0, taste: 0.0 },
    World { name: "openings decide, draws", draws: 1.0, tilt: 3.0, taste: 0.0 },
    World { name: "correlated pairs", draws: 0.3, tilt: 0.0, taste: 3.0 },
];

impl World {
    /// Probabilities of the five pair scores at this lead.
    fn at_lead(&self, lead: f64) -> [f64; 5] {
        let game = |u: f64| {
            let odds = [(-u / 2.0).exp(), self.draws, (u / 2.0).exp()];
            odds.map(|o| o / odds.iter().sum::<f64>())
        };
        let mut p = [0.0; 5];
        for tilt in [-self.tilt, self.tilt] {
            for taste in [-self.taste, self.taste] {
                let (first, second) = (game(lead + taste + tilt), game(lead + taste - tilt));
                (0..9).for_each(|i| p[i / 3 + i % 3] += 0.25 * first[i / 3] * second[i % 3]);
            }
        }
        p
    }

    /// Probabilities of the five pair scores such that their mean is `score`.
    fn at_score(&self, score: f64) -> [f64; 5] {
        let (mut low, mut high) = (-40.0, 40.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            let mean: f64 = self.at_lead(middle).iter().zip(0..).map(|(p, i)| p * i as f64 / 4.0).sum();
            if mean < score { low = middle } else { high = middle }
        }
        self.at_lead(low)
    }
}

fn draw<const N: usize>(p: &[f64; N], rng: &mut Rng) -> usize {
    let mut u = rng.unit();
    p[..N - 1]
        .iter()
        .take_while(|&&p| {
            u -= p;
            u >= 0.0
        })
        .count()
}

/// Some pair worth this many half points.
fn pair(half_points: usize) -> Pair {
    use Outcome::*;
    let outcome = |points| [Loss, Draw, Win][points];
    Pair { first: outcome(half_points / 2), second: outcome(half_points - half_points / 2) }
}

#[test]
fn rate_interval_covers_95_percent_on_average() {
    // Not simulated but summed over all results: P(k of n) for every k whose interval holds p.
    for n in [100u32, 250, 1000] {
        let intervals: Vec<Interval> = (0..=n).map(|k| rate_interval(k, n, 0.95)).collect();
        let (mut mean, mut least) = (0.0, 1.0f64);
        for p in (1..=181).map(|i| 0.045 + 0.005 * i as f64) {
            let mut log = n as f64 * (1.0 - p).ln();
            let mut covered = 0.0;
            for k in 0..=n {
                if intervals[k as usize].contains(p) {
                    covered += log.exp();
                }
                log += ((n - k) as f64 / (k + 1) as f64 * p / (1.0 - p)).ln();
            }
            mean += covered / 181.0;
            least = least.min(covered);
        }
        println!("rate, n = {n}: mean coverage {mean:.4}, least {least:.4}");
        assert!(mean >= 0.945 && least >= 0.92, "{n}: {mean} {least}");
    }
}

fn score_coverage(pairs: usize, matches: u64) {
    for world in WORLDS {
        let (mut mean, mut least) = (0.0, 1.0f64);
        for i in 1..=19u64 {
            let score = 0.05 * i as f64;
            let p = world.at_score(score);
            let mut rng = Rng::stream(41, i);
            let covered = (0..matches)
                .filter(|_| {
                    let mut counts = Pentanomial::default();
                    (0..pairs).for_each(|_| counts.counts[draw(&p, &mut rng)] += 1);
                    score_interval(&counts, 0.95).contains(score)
                })
                .count() as f64
                / matches as f64;
            mean += covered / 19.0;
            least = least.min(covered);
        }
        println!("score, {pairs} pairs, {}: mean coverage {mean:.4}, least {least:.4}", world.name);
        assert!(mean >= 0.94, "{} {pairs}: {mean}", world.name);
    }
}

#[test]
fn score_interval_covers_94_percent_of_100_games() {
    score_coverage(50, 400);
}

#[test]
fn score_interval_covers_94_percent_of_400_games() {
    score_coverage(200, 400);
}

/// Plays sequential tests in a world where the lead is exactly elo0, then exactly elo1; both errors must keep 5.5 %.
fn sprt_errors(plan: SprtPlan, worlds: &[World], tests: u32) {
    for world in worlds {
        for (h, elo) in [plan.elo0, plan.elo1].into_iter().enumerate() {
            let p = world.at_score(score_of_elo(elo));
            let (mut wrong, mut pairs) = (0, 0);
            for test in 0..tests {
                let mut rng = Rng::stream(43 + h as u64, test as u64);
                let mut sprt = Sprt::new(plan).unwrap();
                let verdict = loop {
                    match sprt.update(pair(draw(&p, &mut rng))) {
                        Verdict::Continue => {}
                        verdict => break verdict,
                    }
                };
                pairs += sprt.pairs.pairs();
                wrong += (verdict != [Verdict::AcceptH0, Verdict::AcceptH1][h]) as u32;
            }
            let (rate, bound) = (wrong as f64 / tests as f64, upper_bound(wrong, tests, 0.95));
            println!(
                "SPRT [{}, {}], H{h}, {}: error {rate:.4} (below {bound:.4}), {} pairs a test",
                plan.elo0,
                plan.elo1,
                world.name,
                pairs / tests as u64
            );
            assert!(bound <= 0.055, "{} H{h}: {rate} may be {bound}", world.name);
        }
    }
}

#[test]
fn sprt_keeps_its_errors_from_0_to_50() {
    sprt_errors(SprtPlan::between(0.0, 50.0), &WORLDS, 8000);
}

#[test]
fn sprt_keeps_its_errors_from_0_to_100() {
    sprt_errors(SprtPlan::between(0.0, 100.0), &WORLDS, 5000);
}

#[test]
fn sprt_keeps_its_errors_from_0_to_20() {
    sprt_errors(SprtPlan::between(0.0, 20.0), &WORLDS[2..6], 4000);
}

#[test]
fn sprt_keeps_its_errors_away_from_equality() {
    sprt_errors(SprtPlan::between(100.0, 200.0), &WORLDS, 4000);
    sprt_errors(SprtPlan::between(-50.0, 0.0), &WORLDS[3..5], 4000);
}

/// Draws a pair whose games follow Davidson's model exactly and are correlated: with probability |rho| the second game
/// uses the luck of the first, turned round if rho < 0.
fn davidson_pair(lead: f64, first: f64, draws: f64, rho: f64, rng: &mut Rng) -> Pair {
    let outcome = |u: f64, luck: f64| {
        let odds = [(-u / 2.0).exp(), draws, (u / 2.0).exp()];
        let luck = luck * odds.iter().sum::<f64>();
        match () {
            _ if luck < odds[0] => Outcome::Loss,
            _ if luck < odds[0] + odds[1] => Outcome::Draw,
            _ => Outcome::Win,
        }
    };
    let luck = rng.unit();
    let shared = rng.unit() < rho.abs();
    let other = if !shared {
        rng.unit()
    } else if rho < 0.0 {
        1.0 - luck
    } else {
        luck
    };
    Pair { first: outcome(lead + first, luck), second: outcome(lead - first, other) }
}

#[test]
fn ratings_cover_95_percent_whatever_the_correlation() {
    let strengths = [0.0, 0.4, 1.2, -0.8, 2.0];
    let (draws, first, pools) = (0.7, 0.5, 300u64);
    let scale = 400.0 / std::f64::consts::LN_10 * 2.0 / (2.0 + draws);
    for rho in [-0.8, 0.0, 0.8] {
        let (mut covered, mut covered_leads, mut covered_first, mut width) = (0, 0, 0, 0.0);
        for n in 0..pools {
            let mut rng = Rng::stream(47, n);
            let mut encounters = Vec::new();
            for a in 0..5 {
                for b in a + 1..5 {
                    let mut pairs = Pairs::default();
                    let lead = strengths[a] - strengths[b];
                    (0..40).for_each(|_| pairs.record(davidson_pair(lead, first, draws, rho, &mut rng)));
                    encounters.push(Encounter { a, b, record: Record::Pairs(pairs) });
                }
            }
            let r = Pool { players: 5, anchor: 0, first_advantage: true, encounters }.rate(0.95).unwrap();
            let holds = |e: Estimate, truth: f64| (e.low <= truth && truth <= e.high) as u64;
            covered += (1..5).map(|p| holds(r.players[p], scale * strengths[p])).sum::<u64>();
            let leads = |(value, half): (f64, f64), truth: f64| ((value - truth).abs() <= half) as u64;
            covered_leads += leads(lead(&r, 4, 3), scale * 2.8) + leads(lead(&r, 1, 2), scale * -0.8);
            covered_first += holds(r.first_advantage.unwrap(), scale * first);
            width += (r.players[1].high - r.players[1].low) / pools as f64;
        }
        let share = |covered: u64, of: u64| covered as f64 / (of * pools) as f64;
        let (all, leads, first) = (share(covered, 4), share(covered_leads, 2), share(covered_first, 1));
        println!("ratings, rho {rho}: coverage {all:.3}, leads {leads:.3}, first {first:.3}, width {width:.0}");
        assert!(all >= 0.93 && leads >= 0.92 && first >= 0.92);
    }
}

#[test]
fn seeds_interval_covers_the_method_not_the_seed() {
    let (studies, truth) = (600u64, 0.6);
    for (seeds, spread) in [(3, 0.06), (5, 0.06), (10, 0.06), (5, 0.0)] {
        let (mut covered, mut covered_by_pairs, mut mean_width) = (0, 0, 0.0);
        for study in 0..studies {
            let mut rng = Rng::stream(53, study);
            let trained: Vec<Pentanomial> = (0..seeds)
                .map(|_| {
                    let p = WORLDS[1].at_score((truth + spread * rng.normal()).clamp(0.05, 0.95));
                    let mut counts = Pentanomial::default();
                    (0..60).for_each(|_| counts.counts[draw(&p, &mut rng)] += 1);
                    counts
                })
                .collect();
            let i = seeds_interval(&trained, 0.95);
            let all = trained.iter().fold(Pentanomial::default(), |sum, pairs| sum.plus(pairs));
            covered += i.contains(truth) as u64;
            covered_by_pairs += score_interval(&all, 0.95).contains(truth) as u64;
            mean_width += width(i) / studies as f64;
        }
        let (share, by_pairs) = (covered as f64 / studies as f64, covered_by_pairs as f64 / studies as f64);
        println!(
            "{seeds} seeds, spread {spread}: coverage {share:.3} (pairs alone {by_pairs:.3}), width {mean_width:.3}"
        );
        assert!(share >= 0.93 && (by_pairs < 0.9 || spread == 0.0));
    }
    assert!(width(seeds_interval(&[Pentanomial::new([0, 0, 9, 0, 0]); 4], 0.95)) > 0.05);
    let one = Pentanomial::new([20, 5, 60, 10, 30]);
    assert_eq!(seeds_interval(&[one], 0.95), score_interval(&one, 0.95));
}

#[test]
fn bootstrap_covers_the_mean_of_skewed_values() {
    // Squares of normal variables: mean 1, strongly skewed.
    let (studies, truth) = (1000u64, 1.0);
    let covered = (0..studies)
        .filter(|&study| {
            let mut rng = Rng::stream(59, study);
            let values: Vec<f64> = (0..60).map(|_| rng.normal().powi(2)).collect();
            bootstrap_interval(&values, 0.95, 500, &mut rng).unwrap().contains(truth)
        })
        .count() as f64
        / studies as f64;
    println!("bootstrap of 60 skewed values: coverage {covered:.3}");
    assert!(covered >= 0.92);
    // Of pair scores it agrees with the likelihood.
    let pairs = Pentanomial::new([20, 5, 60, 10, 30]);
    let values: Vec<f64> = (0..5).flat_map(|i| vec![i as f64 / 4.0; pairs.counts[i] as usize]).collect();
    let (a, b) = (bootstrap_interval(&values, 0.95, 4000, &mut Rng::new(2)).unwrap(), score_interval(&pairs, 0.95));
    close(a.low, b.low, 0.005);
    close(a.high, b.high, 0.005);
}
