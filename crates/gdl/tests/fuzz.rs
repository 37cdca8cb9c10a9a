//! Fuzzing on the stable toolchain: rulesheets are mutated, and those that behave in a new way are mutated further.
//!
//! The feedback is not branch coverage but the behaviour of a sheet: which error, how many facts, moves, gates and loops (by
//! powers of two), which findings, how matches ended. No input may cause a panic or take long, since the budget is small and
//! counted. `LUDEX_FUZZ_SECONDS=1800 cargo test --release -p ludex-gdl --test fuzz -- --nocapture` runs for so many seconds
//! of CPU time; otherwise a fixed number of inputs is tried, so that the test does the same every time. Times are CPU times,
//! so that a busy machine fails no test.

mod common;

use common::generate;
use ludex_core::{Game, Rng, playout};
use ludex_gdl::{Budget, CheckOptions, GdlGame, GdlOptions, Reading, check, dot, facts, summary};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The inputs tried if no time is given.
const INPUTS: u32 = 500;
/// An input that takes more CPU time counts as a hang.
const LONG: Duration = Duration::from_secs(20);

/// The CPU time of this thread; where the system does not report it, the wall-clock time since `start`.
fn cpu_time(start: Instant) -> Duration {
    let report = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = report.and_then(|t| t.split_whitespace().next().and_then(|ns| ns.parse().ok()));
    ns.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

const WORDS: [&str; 32] = [
    "role",
    "init",
    "true",
    "next",
    "legal",
    "does",
    "goal",
    "terminal",
    "base",
    "input",
    "not",
    "or",
    "and",
    "distinct",
    "<=",
    "?x",
    "?y",
    "?p",
    "0",
    "1",
    "100",
    "x",
    "noop",
    "(control x)",
    "(cell 1 1 b)",
    "()",
    "(",
    ")",
    "random",
    "sees",
    "(true ?x)",
    "ROLE",
];

fn seeds() -> Vec<String> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut seeds: Vec<String> = (0..8).map(generate::sheet).collect();
    for dir in ["tests/corpus", "../../rules"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(format!("{root}/{dir}")).unwrap().map(|f| f.unwrap().path()).collect();
        paths.sort();
        seeds.extend(paths.iter().map(|p| std::fs::read_to_string(p).unwrap()));
    }
    seeds
}

/// Splits a text into names, parentheses and white space.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in text.chars() {
        let splits = c.is_whitespace() || "();".contains(c);
        match out.last_mut() {
            Some(last) if !splits && !last.chars().any(|c| c.is_whitespace() || "();".contains(c)) => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

/// A text of the pool with a few random changes.
fn mutate(pool: &[String], rng: &mut Rng) -> String {
    let mut t = tokens(rng.pick(pool).unwrap());
    for _ in 0..1 + rng.below(6) {
        let n = t.len() as u32;
        if n < 4 {
            break;
        }
        let (i, j) = (rng.below(n) as usize, rng.below(n) as usize);
        let (i, j) = (i.min(j), i.max(j));
        match rng.below(9) {
            0 => drop(t.drain(i..j.min(i + 20))),
            1 => t.swap(i, j),
            2 => t[i] = WORDS[rng.below(WORDS.len() as u32) as usize].into(),
            3 => t.insert(i, WORDS[rng.below(WORDS.len() as u32) as usize].into()),
            4 => {
                let piece = t[i..j.min(i + 40)].to_vec();
                t.splice(j..j, piece);
            }
            5 => {
                let other = tokens(rng.pick(pool).unwrap());
                let at = rng.below(other.len() as u32) as usize;
                t.splice(i..i, other[at..(at + 30).min(other.len())].iter().cloned());
            }
            6 => t[i] = t[j].clone(),
            7 => t[i] = t[i].to_uppercase(),
            _ => t[i].push(char::from_u32(rng.below(0x500)).unwrap_or('\u{7f}')),
        }
        t.truncate(6_000);
    }
    t.concat()
}

/// The number of binary digits.
fn magnitude(n: usize) -> u32 {
    usize::BITS - n.leading_zeros()
}

/// Opens, plays and checks a text in every reading. Returns a hash of its behaviour.
fn exercise(text: &str, rng: &mut Rng) -> u64 {
    let budget = Budget { bytes: 1 << 20, work: 200_000, atoms: 60_000, instances: 200_000, names: 5_000 };
    let mut seen = DefaultHasher::new();
    for reading in [Reading::Strict, Reading::Plain, Reading::Lenient] {
        match GdlGame::new("fuzz", text, &GdlOptions { reading, budget }) {
            Err(e) => {
                std::mem::discriminant(&e.kind).hash(&mut seen);
                assert!(!e.to_string().contains('\n') || text.contains('\n'), "an error is one line");
            }
            Ok(game) => {
                let size = ludex_gdl::size(&game);
                let sizes = [size.facts, size.moves, size.gates, size.wires, size.loops];
                (sizes.map(magnitude), size.engine, game.info().roles.len()).hash(&mut seen);
                let mut s = game.initial();
                for _ in 0..20 {
                    let Some(m) = game.sample(&s, rng) else { break };
                    game.play(&mut s, m);
                }
                let again = game.parse_position(&game.position(&s));
                assert_eq!(again.as_ref(), Ok(&s), "a position reads back");
                game.outcome(&s).map(|p| p.to_string()).hash(&mut seen);
                if reading == Reading::Plain && !game.interpreted() {
                    playout(&game, &mut game.initial(), rng);
                    let mut totals = vec![0.0; game.info().players()];
                    game.bit_parallel_playouts(&s, 64, rng, &mut totals);
                    let wanted = ludex_gdl::FactsOptions { depth: 1, playouts: 2, seed: 1 };
                    facts(&game, &wanted);
                    (summary(&game).len().min(1), dot(&game).is_some()).hash(&mut seen);
                }
            }
        }
    }
    let options = CheckOptions { open: GdlOptions { reading: Reading::Strict, budget }, matches: 2, seed: 1 };
    let mut findings: Vec<String> = check(text, &options).iter().map(|f| f.advice.clone()).collect();
    findings.sort();
    findings.dedup();
    findings.hash(&mut seen);
    seen.finish()
}

#[test]
fn nothing_that_can_be_written_panics_or_hangs() {
    let seconds: Option<u64> = std::env::var("LUDEX_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let seed = std::env::var("LUDEX_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut rng = Rng::new(seed);
    let mut pool = seeds();
    let mut seen: HashSet<u64> = HashSet::new();
    for text in &pool {
        seen.insert(exercise(text, &mut rng));
    }
    let start = Instant::now();
    let before = cpu_time(start);
    let (mut tried, mut slowest) = (0u32, Duration::ZERO);
    while seconds.map_or(tried < INPUTS, |s| (cpu_time(start) - before).as_secs() < s) {
        let text = mutate(&pool, &mut rng);
        let begun = cpu_time(start);
        let result = catch_unwind(AssertUnwindSafe(|| exercise(&text, &mut rng.clone())));
        let took = cpu_time(start) - begun;
        slowest = slowest.max(took);
        tried += 1;
        match result {
            Err(_) => panic!("this text made it panic:\n{text}"),
            Ok(_) if took > LONG => panic!("this text took {took:?}:\n{text}"),
            Ok(behaviour) => {
                if seen.insert(behaviour) && text.len() < 20_000 {
                    pool.push(text);
                }
            }
        }
        if seconds.is_some() && tried.is_multiple_of(5_000) {
            eprintln!("{tried} tried, {} behaviours, slowest {slowest:?}", seen.len());
        }
    }
    eprintln!("{tried} rulesheets tried, {} different behaviours, slowest {slowest:?}", seen.len());
}

#[test]
fn oversized_sheets_are_refused_within_the_budget() {
    let opens = |text: &str| GdlGame::new("oversized", text, &GdlOptions::default());
    let large = "(fact a b c d e f g)\n".repeat(500_000);
    assert!(opens(&large).unwrap_err().to_string().contains("bytes"));
    assert!(opens(&"(".repeat(10_000)).unwrap_err().to_string().contains("nested"));
    let bodies = format!("(<= (p ?x) {})", "(or (q ?x) (r ?x)) ".repeat(40));
    assert!(opens(&bodies).unwrap_err().to_string().contains("multiply"));
    let long = format!("(<= (p ?x) {})", "(q ?x) ".repeat(100_000));
    assert!(opens(&long).unwrap_err().to_string().contains("conditions"));
    // 2^40 tuples of one relation.
    let vars: Vec<String> = (0..40).map(|i| format!("?v{i}")).collect();
    let bits: Vec<String> = vars.iter().map(|v| format!("(bit {v})")).collect();
    let exponential = format!(
        "(role x) (bit 0) (bit 1) (init p) (legal x a) (legal x b) (<= (next p) (all {v})) (<= (all {v}) {b} (true p))
         (<= terminal (not (true p))) (goal x 0)",
        v = vars.join(" "),
        b = bits.join(" ")
    );
    let start = Instant::now();
    let before = cpu_time(start);
    let budget = Budget { work: 20_000_000, atoms: 1_000_000, ..Budget::default() };
    let refused = GdlGame::new("oversized", &exponential, &GdlOptions { budget, ..GdlOptions::default() }).unwrap_err();
    assert!(refused.to_string().contains("budget"), "{refused}");
    let took = cpu_time(start) - before;
    assert!(took < Duration::from_secs(60), "{took:?}");
}
