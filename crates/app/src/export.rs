//! `ludex export`: what was learned, as a file that other programs read. `docs/export.md` has readers of 20 lines.
//!
//! A run stands for the models it ended with; one with a model for each role gives a file for each. Nothing is overwritten.

use crate::agents::unicode_path;
use crate::errors::{go_on, usage};
use crate::open;
use crate::shell::shell_word;
use crate::verbs::say;
use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use ludex_core::{Fact, Move};
use ludex_learn::{ExportNames, Model, Net};
use ludex_play::manifest::{self, ManifestError};
use ludex_play::{Bundle, ModelRef, Table};
use ludex_train::store;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Parser)]
#[command(after_help = "Examples:\n  ludex export runs/connect4-td-nnue-quick-1\n  \
    ludex export runs/connect4-td-nnue-quick-1 --format tensors --out connect4.safetensors\n\n\
    docs/export.md has readers of 20 lines in Python and JavaScript.")]
pub struct Export {
    /// A run, a bundle or a model file, or the name of a ready-made bundle
    #[arg(value_name = "PATH|NAME", value_parser = unicode_path)]
    from: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value = "onnx")]
    format: Format,
    /// The file to write; by default named after the run or model, in the current directory
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The game, where the model's own name for it opens nothing: its rulesheet was moved, say
    #[arg(long)]
    game: Option<String>,
}

/// The kinds of files.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A graph that every ONNX runtime evaluates, from facts to values
    Onnx,
    /// The weights as plain tensors with the names of facts and moves: a safetensors file, which Ludex reads as a model too
    Tensors,
    /// Models and levels in one file, as it is
    Bundle,
}

impl Format {
    /// How its files end.
    fn extension(self) -> &'static str {
        match self {
            Format::Onnx => "onnx",
            Format::Tensors => "safetensors",
            Format::Bundle => "ludex",
        }
    }

    /// The contents of a model's file.
    fn write(self, model: &Model, names: &ExportNames) -> Vec<u8> {
        match self {
            Format::Onnx => model.to_onnx(names),
            Format::Tensors | Format::Bundle => model.to_tensors(names),
        }
    }
}

impl Export {
    pub fn run(&self) -> Result<()> {
        if self.format == Format::Bundle {
            let bundle = bundle(&self.from).ok_or_else(|| usage(format!("{} has no levels", self.from.display())))?;
            let (bytes, levels) = (bundle.to_bytes(), bundle.levels.len());
            let file = self.file(0, 1);
            write_new(&file, &bytes)?;
            return say(format!("{}: {levels} levels of {}, {} bytes", file.display(), bundle.game, bytes.len()));
        }
        let models = models(&self.from)?;
        let files: Vec<PathBuf> = (0..models.len()).map(|role| self.file(role, models.len())).collect();
        if let Some(file) = files.iter().find(|f| f.exists()) {
            return Err(exists(file));
        }
        // Everything is made before anything is written.
        let made = models.iter().map(|(path, bytes)| self.export(path, bytes)).collect::<Result<Vec<_>>>()?;
        for (file, (bytes, about)) in files.iter().zip(made) {
            write_new(file, &bytes)?;
            say(format!("{}: {about}, {} bytes", file.display(), bytes.len()))?;
        }
        Ok(())
    }

    /// The file of the model of a role; roles are numbered where there are several models.
    fn file(&self, role: usize, models: usize) -> PathBuf {
        let name = self.from.file_name().map_or("model".into(), |n| n.to_string_lossy());
        let own = || PathBuf::from(format!("{name}.{}", self.format.extension()));
        let file = self.out.clone().unwrap_or_else(own);
        if models == 1 {
            return file;
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let end = file.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
        file.with_file_name(format!("{stem}-{role}{end}"))
    }

    /// The bytes of an exported model, and what it is.
    fn export(&self, path: &Path, bytes: &[u8]) -> Result<(Vec<u8>, String)> {
        let refused = |e| usage(format!("{}: {e}", path.display()));
        let table = match &self.game {
            Some(game) => open(game)?,
            None => {
                let game = Model::from_bytes(bytes).map_err(refused)?.game;
                let elsewhere = |e| usage(format!("the model is of {game}, which cannot be opened: {e}; give --game"));
                open(&game).map_err(elsewhere)?
            }
        };
        let model = Model::for_game(bytes, table.info()).map_err(refused)?;
        Ok((self.format.write(&model, &names(&*table)), about(&model)))
    }
}

/// The bundle that a path or a name stands for, if it is one.
fn bundle(path: &Path) -> Option<Bundle> {
    let ready = ModelRef::new(format!("ready:{}", path.display()));
    let at = if path.exists() { ModelRef::new(path) } else { ready };
    Bundle::read(&at).ok()
}

/// The models that a path or a name stands for, and where they are.
fn models(path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    if !path.is_dir()
        && let Some(bundle) = bundle(path)
    {
        return Ok(bundle.models.into_iter().map(|bytes| (path.into(), bytes)).collect());
    }
    let read = |file: PathBuf| match fs::read(&file) {
        Ok(bytes) => Ok((file, bytes)),
        Err(e) => Err(usage(format!("cannot read the model {}: {e}", file.display()))),
    };
    if !path.is_dir() {
        return Ok(vec![read(path.into())?]);
    }
    let files = manifest::final_models(path).map_err(|e| match e {
        ManifestError::NoModel if store::config(path).is_ok() => {
            usage(format!("{} has no model yet: {}", path.display(), go_on(path)))
        }
        ManifestError::NoModel => {
            let typed = path.to_string_lossy();
            usage(format!("{} is no run: `ludex learn GAME --run {}` makes one", path.display(), shell_word(&typed)))
        }
        e => anyhow::anyhow!("{}: {e}", path.display()),
    })?;
    files.into_iter().map(read).collect()
}

/// The names of all facts and moves, by number.
fn names(table: &dyn Table) -> ExportNames {
    let info = table.info();
    ExportNames {
        facts: (0..info.facts).map(|f| table.fact_name(Fact(f))).collect(),
        moves: (0..info.moves).map(|m| table.move_name(Move(m))).collect(),
    }
}

/// The model in a few words.
fn about(model: &Model) -> String {
    let net = match &model.net {
        Net::Mlp(m) if m.layers.len() == 1 => "a linear net".into(),
        Net::Mlp(m) => format!("a perceptron of {} layers", m.layers.len()),
        Net::Cascade(c) => format!("a cascade with {} hidden units", c.units.len()),
        Net::Nnue(n) => format!("an NNUE of width {}", n.width()),
    };
    format!("{net} on {} facts of {}", model.encoder.fact_count(), model.game)
}

fn exists(file: &Path) -> anyhow::Error {
    usage(format!("{} exists already: choose another --out or remove it", file.display()))
}

/// Writes a file that is not there yet; whole or not at all.
fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = || format!("writing {}", path.display());
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(exists(path)),
        other => other.with_context(failed)?,
    };
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .inspect_err(|_| drop(fs::remove_file(path)))
        .with_context(failed)
}
