//! `ludex gdl`: checks, describes and draws rulesheets.

use crate::errors::usage;
use crate::verbs::say;
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use ludex_gdl::{CheckOptions, FactsOptions, GdlGame, GdlOptions, Reading, Severity, check, dot, facts, summary};

#[derive(Parser)]
#[command(
    after_help = "Examples:\n  ludex gdl check rules/connect4.kif\n  ludex gdl facts rules/othello.kif --depth 3 --playouts 1000 --json\n  \
    ludex gdl show rules/tictactoe.kif --dot | dot -Tsvg > net.svg"
)]
pub struct Gdl {
    #[command(subcommand)]
    verb: GdlVerb,
}

#[derive(Subcommand)]
enum GdlVerb {
    /// Explain what is wrong with a rulesheet, with places and advice
    Check(Sheet),
    /// Print what any two engines must agree on: roles, legal moves, perft in joint moves, playouts
    Facts {
        #[command(flatten)]
        sheet: Sheet,
        /// Perft to this many joint moves
        #[arg(long, default_value_t = 3)]
        depth: u32,
        /// Random playouts
        #[arg(long, default_value_t = 1_000)]
        playouts: u64,
        /// Everything random comes from here
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print JSON (it always does; other verbs take the flag too)
        #[arg(long)]
        json: bool,
    },
    /// Print the grounded net in numbers
    Show {
        #[command(flatten)]
        sheet: Sheet,
        /// Print the net for Graphviz instead
        #[arg(long)]
        dot: bool,
    },
}

#[derive(Args)]
struct Sheet {
    /// The rulesheet
    file: String,
    /// Accept only standard GDL
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    /// Forgive more: symbols in any case, and the like
    #[arg(long)]
    lenient: bool,
}

impl Sheet {
    fn text(&self) -> Result<String> {
        let bytes = std::fs::read(&self.file).map_err(|e| usage(format!("cannot read {}: {e}", self.file)))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn options(&self) -> GdlOptions {
        let reading = match (self.strict, self.lenient) {
            (true, _) => Reading::Strict,
            (_, true) => Reading::Lenient,
            _ => Reading::Plain,
        };
        GdlOptions { reading, ..GdlOptions::default() }
    }

    fn open(&self) -> Result<GdlGame> {
        let game = GdlGame::new(&self.file, &self.text()?, &self.options());
        game.map_err(|e| usage(format!("{}: {e}", self.file)))
    }
}

impl Gdl {
    pub fn run(&self) -> Result<()> {
        match &self.verb {
            GdlVerb::Check(sheet) => {
                let findings =
                    check(&sheet.text()?, &CheckOptions { open: sheet.options(), ..CheckOptions::default() });
                for f in &findings {
                    say(format!("{}: {f}", sheet.file))?;
                }
                match findings.iter().filter(|f| f.severity == Severity::Error).count() {
                    0 if findings.is_empty() => say(format!("{}: no finding", sheet.file)),
                    0 => Ok(()),
                    n => Err(usage(format!("{}: {n} error{}", sheet.file, if n == 1 { "" } else { "s" }))),
                }
            }
            GdlVerb::Facts { sheet, depth, playouts, seed, .. } => {
                let wanted = FactsOptions { depth: *depth, playouts: *playouts, seed: *seed };
                say(serde_json::to_string_pretty(&facts(&sheet.open()?, &wanted))?)
            }
            GdlVerb::Show { sheet, dot: false } => say(summary(&sheet.open()?)),
            GdlVerb::Show { sheet, dot: true } => match dot(&sheet.open()?) {
                Some(graph) => say(graph),
                None => Err(usage("the rules are interpreted: there is no net to draw")),
            },
        }
    }
}
