//! What several tests share: models that never learned, in a folder of their own.
#![allow(dead_code)] // each test uses its share

use ludex_core::Rng;
use ludex_learn::{Activation, Encoder, Head, Layer, Link, Mlp, Model, Net, Provenance};
use ludex_play::{Spec, Table};
use std::path::{Path, PathBuf};

/// A folder that goes when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ludex-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The head that says what a position is worth.
pub fn value_head(table: &dyn Table) -> Head {
    let info = table.info();
    Head::Value { outputs: if info.zero_sum { 1 } else { info.players() } }
}

/// The head that scores moves.
pub fn moves_head(table: &dyn Table) -> Head {
    Head::MoveScores { moves: table.info().moves as usize }
}

/// A net with random weights.
pub fn untrained(table: &dyn Table, head: Head, seed: u64) -> Model {
    let (info, mut rng) = (table.info(), Rng::new(seed));
    let mut layer = |inputs: usize, outputs: usize| {
        let mut draw = |n: usize| (0..n).map(|_| rng.unit() as f32 - 0.5).collect();
        Layer { inputs, outputs, weights: draw(inputs * outputs), bias: draw(outputs) }
    };
    let layers = vec![layer(info.facts as usize, 8), layer(8, head.outputs())];
    let link = Link::Each(if head == Head::WinDrawLoss { Activation::Logistic } else { Activation::Tanh });
    Model {
        game: info.name.clone(),
        rules_hash: info.rules_hash,
        encoder: Encoder::facts(info.facts as usize),
        head,
        net: Net::Mlp(Mlp { layers, hidden: Activation::Logistic, link }),
        provenance: Provenance::default(),
    }
}

/// Writes such a net to a file.
pub fn write_untrained(table: &dyn Table, head: Head, path: &Path) {
    std::fs::write(path, untrained(table, head, 1).to_bytes()).unwrap();
}

/// Every agent of a game with its defaults; those that need a model get one that never learned, in this folder.
pub fn agents(table: &dyn Table, folder: &Path) -> Vec<Spec> {
    let (value, moves) = (folder.join("value"), folder.join("moves"));
    write_untrained(table, value_head(table), &value);
    write_untrained(table, moves_head(table), &moves);
    let parts = table.parts().into_iter().filter(|p| p.kind == ludex_play::PartKind::Search);
    let spec = |name: &str| match name {
        "neural" => Spec::word(name).with("model", value.display()),
        "policy" | "ranked" | "guided" => Spec::word(name).with("model", moves.display()),
        _ => Spec::word(name),
    };
    parts.map(|p| spec(p.name)).filter(|s| table.info().zero_sum || !["minimax", "pvs"].contains(&&*s.name)).collect()
}

/// A game of the rulesheets that come with Ludex.
pub fn rulesheet(name: &str) -> String {
    format!("{}/../../rules/{name}.kif", env!("CARGO_MANIFEST_DIR"))
}
