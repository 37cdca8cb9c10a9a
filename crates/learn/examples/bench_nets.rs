//! The benchmarks of nets and learners.
//!
//! ```text
//! cargo run --release -p ludex-learn --example bench_nets             the quick benchmarks
//! cargo run --release -p ludex-learn --example bench_nets -- --peers  the same, then FANN, onnxruntime, scikit-learn
//! cargo run --release -p ludex-learn --example bench_nets -- --scale  150,000 examples x 130 inputs x 130 units
//! cargo run --release -p ludex-learn --example bench_nets -- --race 20000 12 1   boards, units, seed: step by step
//! cargo run --release -p ludex-learn --example bench_nets -- --probe mlp alone 1000   for instruction counts
//! ```
//! The peers need `cc` with FANN's headers, and a Python (`LUDEX_PYTHON`, else `target/venv/bin/python`, else
//! `python3`) with numpy, scikit-learn, onnx and onnxruntime. For one-thread figures of learning set
//! RAYON_NUM_THREADS=1.

use ludex_learn::bench::{self, Figure, Probe};
use ludex_learn::{Activation, Encoder, ExportNames, Head, Model, Net, Provenance};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => show(&bench::run()),
        ["--peers"] => {
            show(&bench::run());
            peers()?;
        }
        ["--scale"] => show(&bench::scaling(150_000, 130, 130)),
        ["--race", examples, units, seed] => {
            let (figures, steps) = bench::learning(examples.parse()?, units.parse()?, seed.parse()?);
            for s in steps {
                let e = s.errors;
                let (validation, test) = (e.validation.unwrap_or(f64::NAN), e.test.unwrap_or(f64::NAN));
                println!("{:3} units  train {:.4}  validation {validation:.4}  test {test:.4}", s.units, e.train);
            }
            show(&figures);
        }
        ["--probe", net, how, n] => probe(net, how, n.parse()?),
        _ => return Err("unknown arguments: see the head of this file".into()),
    }
    Ok(())
}

fn show(figures: &[Figure]) {
    for f in figures {
        let digits = if f.value < 10.0 { 4 } else { 0 };
        let bound = f.most.map_or(String::new(), |most| {
            format!("  (at most {most}{})", if f.value <= most { "" } else { ": MISSED" })
        });
        println!("{:48} {:>10.digits$} {}{bound}", f.name, f.value, f.unit);
    }
}

fn probe(net: &str, how: &str, n: usize) {
    let probe = match net {
        "mlp" => Probe::mlp(),
        "flat" => Probe::cascade(&[Activation::Tanh], true),
        _ => Probe::cascade(&[Activation::Tanh], false),
    };
    match how {
        "alone" => probe.alone(n),
        "batch" => probe.batch(n),
        "down-and-up" => probe.down_and_up(n),
        _ => probe.children(n),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn python() -> PathBuf {
    let local = root().join("target/venv/bin/python");
    match std::env::var_os("LUDEX_PYTHON") {
        Some(path) => path.into(),
        None if local.exists() => local,
        None => "python3".into(),
    }
}

/// Runs a peer and shows what it prints.
fn run(mut command: Command) -> Result<(), Box<dyn std::error::Error>> {
    let name = format!("{:?}", command.get_program());
    if !command.status().map_err(|e| format!("{name}: {e}"))?.success() {
        return Err(format!("{name} failed").into());
    }
    Ok(())
}

fn peers() -> Result<(), Box<dyn std::error::Error>> {
    let (tools, folder) = (root().join("tools/nets"), root().join("target/bench-nets"));
    fs::create_dir_all(&folder)?;
    for program in ["fann_run", "fann_cascade"] {
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-o"])
            .arg(folder.join(program))
            .arg(tools.join(format!("{program}.c")))
            .args(["-lfann", "-lm"]);
        run(cc)?;
    }
    run(Command::new(folder.join("fann_run")))?;

    for (name, net, facts, head) in [
        ("mlp", bench::mlp_85_100_3(), 85, Head::WinDrawLoss),
        ("cascade", bench::cascade_192_50(&[Activation::Tanh], false), 192, Head::Value { outputs: 1 }),
    ] {
        fs::write(folder.join(format!("{name}.onnx")), onnx(net, facts, head))?;
    }
    let mut ort = Command::new(python());
    ort.arg(tools.join("bench_onnxruntime.py")).args(["mlp", "cascade"].map(|n| folder.join(format!("{n}.onnx"))));
    run(ort)?;
    let mut sklearn = Command::new(python());
    sklearn.arg(tools.join("bench_sklearn.py"));
    run(sklearn)?;

    println!("FANN cascade, the same 20,000 boards and 5,000 test boards: neurons, CPU s, train MSE, test MSE");
    let boards = folder.join("boards.bin");
    write_boards(&boards, 20_000, 1)?;
    let mut fann = Command::new(folder.join("fann_cascade"));
    fann.arg(&boards).arg("12");
    run(fann)
}

fn onnx(net: Net, facts: usize, head: Head) -> Vec<u8> {
    let (game, provenance) = ("bench".to_string(), Provenance::default());
    Model { game, rules_hash: 0, encoder: Encoder::facts(facts), head, net, provenance }
        .to_onnx(&ExportNames::default())
}

/// FANN has no validation, so it learns from all 20,000.
fn write_boards(path: &Path, examples: usize, seed: u64) -> std::io::Result<()> {
    let (data, _) = bench::comparison_data(examples, seed);
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    for n in [data.inputs(), examples, data.len() - examples] {
        file.write_all(&(n as u32).to_le_bytes())?;
    }
    for i in 0..data.len() {
        let mut row = vec![0f32; data.inputs()];
        data.row(i).iter().for_each(|(k, v)| row[k] = v);
        row.extend_from_slice(data.targets(i));
        row.iter().try_for_each(|v| file.write_all(&v.to_le_bytes()))?;
    }
    file.flush()
}
