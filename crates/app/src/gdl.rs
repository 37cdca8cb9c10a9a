//! `ludex gdl`: checks, describes and draws rulesheets.

use crate::errors::usage;
use crate::verbs::say;
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use ludex_core::Game;
use ludex_gdl::{
    CheckOptions, Checked, FactsOptions, GdlGame, GdlOptions, Reading, Severity, check_game, dot, facts, summary,
};

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

/// "1 role", "2 roles".
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A game in a few words.
fn sizes(game: &GdlGame) -> String {
    let (info, inferred) = (game.info(), game.inferred());
    let turns = if inferred.turn_taking { "in turn" } else { "at once" };
    let (most, source) = match inferred.max_steps {
        Some(steps) => (steps, "by a step counter"),
        None => (inferred.longest_seen, "in random play"),
    };
    format!(
        "{} ({turns}), {}, {}, up to {} {source}",
        counted(info.players(), "role"),
        counted(info.moves as usize, "move"),
        counted(info.facts as usize, "fact"),
        counted(most as usize, "step"),
    )
}

impl Gdl {
    pub fn run(&self) -> Result<()> {
        match &self.verb {
            GdlVerb::Check(sheet) => {
                let options = CheckOptions { open: sheet.options(), ..CheckOptions::default() };
                let Checked { findings, game } = check_game(&sheet.text()?, &options);
                for f in &findings {
                    say(format!("{}: {f}", sheet.file))?;
                }
                let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
                match (game, count(Severity::Warning)) {
                    (Some(game), 0) => say(format!("{}: all is well: {}", sheet.file, sizes(&game))),
                    (Some(game), n) => say(format!("{}: {}: {}", sheet.file, counted(n, "warning"), sizes(&game))),
                    (None, _) => Err(usage(format!("{}: {}", sheet.file, counted(count(Severity::Error), "error")))),
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
