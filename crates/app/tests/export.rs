//! Exported models, read by the programs that docs/export.md prints.

mod common;
#[path = "../../learn/tests/common/peers.rs"]
mod peers;

use common::{folder, ludex, printed, refusal, run};
use ludex_core::{Fact, Player, Rng};
use ludex_learn::{Model, Net};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const POSITIONS: [&str; 6] = ["start", "4", "44352", "443521", "7777771", "44444432"];

/// Learns a model in a second or two.
fn learn(folder: &Path, system: &str) {
    let args = ["learn", "connect4", "--system", system, "--preset", "tick", "--run", "run", "--seed", "1"];
    printed(&ludex(&args, "", folder));
}

/// A position as a reader sees it.
fn show(position: &str, folder: &Path) -> String {
    printed(&ludex(&["show", "connect4", "--position", position, "--json"], "", folder))
}

/// What the model says about a state, in floats.
fn float(model: &Model, facts: &[Fact], mover: Player) -> f32 {
    let mut row = Default::default();
    model.encoder.encode(facts, mover, &mut row);
    model.net.forward(row.row())[0]
}

/// What the model says about a position that was shown.
fn value(model: &Model, shown: &str) -> f32 {
    let shown: Value = serde_json::from_str(shown).unwrap();
    let facts: Vec<Fact> =
        shown["facts"].as_array().unwrap().iter().map(|f| Fact(f["number"].as_u64().unwrap() as u32)).collect();
    let mover = Player(shown["mover"].as_u64().unwrap() as u8);
    let float = float(model, &facts, mover);
    if !matches!(model.net, Net::Nnue(_)) {
        let played = model.inference_net().unwrap().plain(&facts, mover)[0];
        assert!((float - played).abs() < 1e-5, "all but an NNUE are played as exported");
    }
    float
}

/// The program in this language that the document prints, as a file in a folder.
fn reader(language: &str, file: &str, folder: &Path) -> std::path::PathBuf {
    let document = fs::read_to_string(peers::root().join("docs/export.md")).unwrap();
    let (_, rest) = document.split_once(&format!("```{language}\n")).unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let lines = program.lines().filter(|l| !l.trim().is_empty()).count();
    assert!(lines <= 24, "{language}: {lines} lines are no short reader");
    let path = folder.join(file);
    fs::write(&path, program).unwrap();
    path
}

/// Holds a reader's values of the positions to the model's.
fn compare(command: &mut dyn FnMut() -> Command, model: &Model, folder: &Path) {
    for position in POSITIONS {
        let shown = show(position, folder);
        let said = printed(&run(&mut command(), &shown));
        let theirs: f32 = said.trim().strip_prefix("value ").unwrap().parse().unwrap();
        let ours = value(model, &shown);
        assert!((ours - theirs).abs() < 1e-5, "{position}: the model says {ours}, its reader {theirs}");
    }
}

/// What docs/export.md says of the integers at play, on positions of random games.
fn integers_are_near(model: &Model) {
    let table = ludex_train::open("connect4").unwrap();
    let net = model.nnue().unwrap();
    let (mut rng, mut errors) = (Rng::new(1), Vec::new());
    for _ in 0..50 {
        let mut p = table.start();
        while p.outcome().is_none() {
            let (facts, mover) = (p.facts(), p.mover());
            errors.push((float(model, &facts, mover) - net.plain(&facts, mover)[0]).abs());
            let legal = p.legal();
            p.play(legal[rng.below(legal.len() as u32) as usize]).unwrap();
        }
    }
    let (mean, worst) = (errors.iter().sum::<f32>() / errors.len() as f32, errors.iter().fold(0f32, |a, &b| a.max(b)));
    println!("the integers at play differ by {mean} on average, {worst} at most");
    assert!(mean < 0.01 && worst < 0.05, "{mean} {worst}");
}

#[test]
fn readers_of_exported_models_reproduce_the_values() {
    let folder = folder("export");
    learn(&folder, "td-nnue");
    let said = printed(&ludex(&["export", "run"], "", &folder));
    assert!(said.starts_with("run.onnx: an NNUE of width "), "{said}");
    printed(&ludex(&["export", "run", "--format", "tensors", "--out", "model.safetensors"], "", &folder));
    let model = Model::from_bytes(&fs::read(folder.join("model.safetensors")).unwrap()).unwrap();
    integers_are_near(&model);
    match Command::new("node").arg("--version").output() {
        Err(_) => eprintln!("skipped: no node"),
        Ok(_) => {
            let program = reader("js", "value.js", &folder);
            let file = folder.join("model.safetensors");
            let mut node = || {
                let mut command = Command::new("node");
                command.arg(&program).arg(&file);
                command
            };
            compare(&mut node, &model, &folder);
        }
    }
    let Some(python) = peers::python(&["numpy", "onnxruntime"]) else { return };
    let program = reader("python", "value.py", &folder);
    let command = |file: &str| {
        let mut command = Command::new(&python);
        command.arg(&program).arg(folder.join(file));
        command
    };
    compare(&mut || command("run.onnx"), &model, &folder);
    let other = run(&mut command("run.onnx"), &printed(&ludex(&["show", "tictactoe", "--json"], "", &folder)));
    assert!(!other.status.success(), "the reader asks about another game");
}

/// A net that sees the board from the mover's side: the reader needs the mirror.
#[test]
fn a_reader_sees_the_board_from_the_movers_side_where_the_model_does() {
    let Some(python) = peers::python(&["numpy", "onnxruntime"]) else { return };
    let folder = folder("export-mirror");
    let args = ["learn", "connect4", "--system", "uct-ccnn", "--preset", "tick", "--run", "run"];
    printed(&ludex(&[&args[..], &["--set", "train.view=mover"]].concat(), "", &folder));
    printed(&ludex(&["export", "run", "--out", "model.onnx"], "", &folder));
    printed(&ludex(&["export", "run", "--format", "tensors"], "", &folder));
    let model = Model::from_bytes(&fs::read(folder.join("run.safetensors")).unwrap()).unwrap();
    assert!(model.encoder.mirror().is_some());
    let program = reader("python", "value.py", &folder);
    let mut command = || {
        let mut command = Command::new(&python);
        command.arg(&program).arg(folder.join("model.onnx"));
        command
    };
    compare(&mut command, &model, &folder);
}

#[test]
fn nothing_is_overwritten_and_what_is_no_model_is_refused() {
    let folder = folder("export-refused");
    learn(&folder, "td-nnue");
    fs::write(folder.join("mine.onnx"), "mine").unwrap();
    let line = refusal(&ludex(&["export", "run", "--out", "mine.onnx"], "", &folder));
    assert!(line.contains("mine.onnx exists already"), "{line}");
    assert_eq!(fs::read_to_string(folder.join("mine.onnx")).unwrap(), "mine");
    printed(&ludex(&["export", "run"], "", &folder));
    refusal(&ludex(&["export", "run"], "", &folder));
    for (args, about) in [
        (["export", "nowhere"].as_slice(), "cannot read the model nowhere"),
        (&["export", "mine.onnx", "--out", "new"], "not a Ludex model file"),
        (&["export", ".", "--out", "new"], ". is no run"),
        (&["export", "run", "--out", "new", "--game", "othello"], "connect4:7x6x4"),
    ] {
        let line = refusal(&ludex(args, "", &folder));
        assert!(line.contains(about), "{args:?}: {line}");
    }
    assert!(!folder.join("new").exists());
    // What cannot be written is no fault of what was typed.
    let out = ludex(&["export", "run", "--out", "mine.onnx/new"], "", &folder);
    assert_eq!(out.status.code(), Some(1));
    // The exported tensors are a model that plays.
    printed(&ludex(&["export", "run", "--format", "tensors", "--out", "new"], "", &folder));
    printed(&ludex(&["match", "connect4", "--model", "new", "random", "--games", "2"], "", &folder));
}

#[test]
fn a_run_with_a_model_for_each_role_gives_a_file_for_each() {
    let folder = folder("export-roles");
    fs::write(folder.join("sheet.kif"), include_str!("../../../rules/tictactoe.kif")).unwrap();
    let args = ["learn", "sheet.kif", "--system", "carl-playout", "--preset", "tick", "--run", "run"];
    printed(&ludex(&args, "", &folder));
    // One of the two is there already: neither is written.
    fs::write(folder.join("model-1.onnx"), "").unwrap();
    refusal(&ludex(&["export", "run", "--out", "model.onnx"], "", &folder));
    assert!(!folder.join("model-0.onnx").exists());
    let said = printed(&ludex(&["export", "run"], "", &folder));
    assert!(said.starts_with("run-0.onnx: a linear net on 20 facts") && said.contains("\nrun-1.onnx: "), "{said}");
    // The rules have moved: the names come from where they are now.
    fs::rename(folder.join("sheet.kif"), folder.join("moved.kif")).unwrap();
    let line = refusal(&ludex(&["export", "run", "--out", "again.onnx"], "", &folder));
    assert!(line.contains("give --game"), "{line}");
    printed(&ludex(&["export", "run", "--out", "again.onnx", "--game", "moved.kif"], "", &folder));
}
