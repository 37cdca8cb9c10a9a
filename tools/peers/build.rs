//! Finds the source of the `minimax` crate, whose Connect Four is an example and so not part of its library, and
//! writes `$OUT_DIR/minimax_example.rs`, which declares that very file as a module: the real peer, not a copy.

use std::{env, fs, path::Path, process::Command};

fn main() {
    let manifest = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("Cargo.toml");
    let output = Command::new(env::var("CARGO").unwrap())
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &env::var("TARGET").unwrap()])
        .arg("--manifest-path")
        .arg(&manifest)
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let minimax = metadata["packages"]
        .as_array()
        .expect("packages are a list")
        .iter()
        .find(|package| package["name"] == "minimax")
        .expect("minimax is a dependency");
    let source = Path::new(minimax["manifest_path"].as_str().unwrap()).with_file_name("examples").join("connect4.rs");
    assert!(source.is_file(), "the minimax crate has no examples/connect4.rs");

    let module = format!("#[path = {source:?}]\n#[allow(warnings)]\nmod minimax_connect4;\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("minimax_example.rs"), module).unwrap();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
}
