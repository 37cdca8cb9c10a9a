//! What several tests share.
#![allow(dead_code)]

use ludex_core::Rng;
use std::collections::HashMap;

/// The sheet with every symbol renamed at random and every variable too, keywords and goals aside; the layout changes with
/// it. Goals are the numbers in the second place of `goal`; as numbers may also be used elsewhere, all numbers stay.
pub fn scramble(text: &str, seed: u64) -> String {
    const KEPT: [&str; 15] = [
        "role", "init", "true", "next", "legal", "does", "goal", "terminal", "base", "input", "not", "or", "distinct",
        "<=", "and",
    ];
    let mut rng = Rng::new(seed);
    let mut names: HashMap<String, String> = HashMap::new();
    let mut out = String::new();
    for line in text.lines() {
        let code = line.split(';').next().unwrap_or("");
        let mut rest = code;
        while let Some(c) = rest.chars().next() {
            if c.is_whitespace() || c == '(' || c == ')' {
                out.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            if KEPT.contains(&word) || word.parse::<i64>().is_ok() {
                out.push_str(word);
                continue;
            }
            let n = names.len();
            let new = names.entry(word.to_string()).or_insert_with(|| {
                let mark = if word.starts_with('?') { "?" } else { "" };
                format!("{mark}s{:04x}_{n}", rng.bits() & 0xffff)
            });
            out.push_str(new);
        }
        out.push_str("  \t\n");
    }
    out
}
