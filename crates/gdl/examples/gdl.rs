//! `gdl facts|check|show FILE`: reports on a rulesheet, as `ludex gdl` prints them.

use ludex_gdl::{CheckOptions, FactsOptions, GdlGame, GdlOptions, Reading, Severity, check, dot, facts, summary};
use std::process::ExitCode;

const USAGE: &str = "usage: gdl facts FILE [--depth D] [--playouts N] [--seed S] | check FILE | show FILE [--dot]  \
                     (all take --strict or --lenient)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => code,
        Err(line) => {
            eprintln!("{line}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<ExitCode, String> {
    let [verb, file, options @ ..] = args else { return Err(USAGE.into()) };
    let has = |flag: &str| options.iter().any(|o| o == flag);
    let number = |flag: &str, default: u64| match options.iter().position(|o| o == flag) {
        None => Ok(default),
        Some(i) => options.get(i + 1).and_then(|n| n.parse().ok()).ok_or_else(|| format!("{flag} takes a number")),
    };
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let reading = match () {
        _ if has("--strict") => Reading::Strict,
        _ if has("--lenient") => Reading::Lenient,
        _ => Reading::Plain,
    };
    let open = GdlOptions { reading, ..GdlOptions::default() };
    if verb == "check" {
        let findings = check(&text, &CheckOptions { open, ..CheckOptions::default() });
        findings.iter().for_each(|f| println!("{file}: {f}"));
        let bad = findings.iter().any(|f| f.severity == Severity::Error);
        return Ok(ExitCode::from(if bad { 2 } else { 0 }));
    }
    let game = GdlGame::new(file, &text, &open).map_err(|e| format!("{file}: {e}"))?;
    match verb.as_str() {
        "facts" => {
            let wanted = FactsOptions {
                depth: number("--depth", 3)? as u32,
                playouts: number("--playouts", 1_000)?,
                seed: number("--seed", 1)?,
            };
            let report = serde_json::to_string_pretty(&facts(&game, &wanted)).map_err(|e| e.to_string())?;
            println!("{report}");
        }
        "show" if has("--dot") => print!("{}", dot(&game).ok_or("the rules are interpreted: there is no net to draw")?),
        "show" => println!("{}", summary(&game)),
        _ => return Err(USAGE.into()),
    }
    Ok(ExitCode::SUCCESS)
}
