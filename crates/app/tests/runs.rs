//! Runs that are killed, damaged or out of room: what was learned in the end is the same, bit for bit.

mod common;

use common::{folder, ludex, printed, refusal, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A run that takes about a second: long enough to be killed in every stage.
const SHORT: &[&str] = &[
    "--preset",
    "tick",
    "--system",
    "uct-ccnn",
    "--set",
    "generate.sims=300",
    "--set",
    "generate.matches=12",
    "--set",
    "generate.states=20",
    "--set",
    "tune.sims=60",
    "--set",
    "tune.games=8",
    "--set",
    "train.units=6",
    "--set",
    "train.epochs=30",
    "--set",
    "measure.games=0",
];

fn learn(dir: &Path, threads: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ludex"));
    command.args(["learn", "connect4", "--resume", "--threads", threads, "--run"]).arg(dir).args(SHORT);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(dir: &Path, threads: &str) -> Output {
    let out = learn(dir, threads).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out
}

/// The model that a run ended with, by the name of its file: the sha256 of its bytes.
fn model(dir: &Path) -> String {
    let manifest = fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = manifest.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let line = lines.iter().rfind(|l| l["part"] == "model/final").expect("the run is finished");
    let file = dir.join(line["file"].as_str().unwrap());
    assert!(file.exists());
    line["sha256"].as_str().unwrap().to_string()
}

/// All parts with their checksums, in whatever order they were finished.
fn parts(dir: &Path) -> Vec<(String, String)> {
    let manifest = fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    let lines = manifest.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_string();
    let mut all: Vec<_> = lines.map(|l| (text(&l["part"]), text(&l["sha256"]))).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn a_run_killed_twenty_times_ends_with_the_same_model_on_any_number_of_threads() {
    let folder = folder("killed");
    finish(&folder.join("one"), "1");
    let start = std::time::Instant::now();
    finish(&folder.join("two"), "2");
    let whole = start.elapsed();
    let expected = model(&folder.join("one"));
    assert_eq!(model(&folder.join("two")), expected);
    assert_eq!(parts(&folder.join("two")), parts(&folder.join("one")));

    let mut kills = 0;
    let mut state = 12345u64;
    for threads in ["1", "2"] {
        let dir = folder.join(format!("killed-{threads}"));
        let mut here = 0;
        while here < 10 {
            let mut child = learn(&dir, threads).spawn().unwrap();
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Each life gets a little further than the last, so that every stage sees some deaths.
            let share = (here as f64 + (state >> 33) as f64 / (1u64 << 31) as f64) / 12.0;
            std::thread::sleep(whole.mul_f64(share).max(Duration::from_millis(5)));
            let finished = child.try_wait().unwrap().is_some();
            child.kill().unwrap();
            child.wait().unwrap();
            here += 1;
            if finished {
                // It was faster than planned: begin anew.
                let _ = fs::remove_dir_all(&dir);
                continue;
            }
            kills += 1;
        }
        finish(&dir, threads);
        assert_eq!(model(&dir), expected, "{threads} threads");
        assert_eq!(parts(&dir), parts(&folder.join("one")));
    }
    // Short lives until twenty deaths are certain, whatever the machine did meanwhile.
    let dir = folder.join("short-lives");
    while kills < 20 {
        let mut child = learn(&dir, "2").spawn().unwrap();
        std::thread::sleep(whole.mul_f64(0.1));
        kills += child.try_wait().unwrap().is_none() as u32;
        child.kill().unwrap();
        child.wait().unwrap();
        if dir.join("reports/report.json").exists() {
            let _ = fs::remove_dir_all(&dir);
        }
    }
    finish(&dir, "2");
    assert_eq!(model(&dir), expected);
}

#[test]
fn a_damaged_part_is_set_aside_reported_and_made_again() {
    let dir = folder("damaged").join("run");
    finish(&dir, "2");
    let expected = model(&dir);
    let part = dir.join("parts/start-0001.parquet");
    let whole = fs::read(&part).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&part, &bytes).unwrap();
    fs::remove_file(dir.join("parts/random-0000.parquet")).unwrap();
    let verify = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_ludex")).args(["runs", "verify"]).arg(&dir).args(args).output().unwrap()
    };
    let out = verify(&[]);
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stdout).to_string();
    assert!(
        said.contains("start/0001: its file was altered") && said.contains("random/0000: its file is gone"),
        "{said}"
    );
    assert_eq!(fs::read(&part).unwrap(), bytes, "verifying changes nothing");

    let out = finish(&dir, "1");
    let said = String::from_utf8_lossy(&out.stderr).to_string();
    assert!(said.contains("start/0001 is made again") && said.contains("random/0000 is made again"), "{said}");
    assert_eq!(fs::read(&part).unwrap(), whole);
    assert!(dir.join("parts/start-0001.damaged").exists());
    assert_eq!(model(&dir), expected);
    let out = verify(&["--all"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    let out = verify(&["--part", "start/0001"]);
    assert!(out.status.success());
    assert_eq!(verify(&["--part", "nonsense/0001"]).status.code(), Some(2));

    // Half a line at the end of the manifest is what a crash leaves.
    let manifest = dir.join("manifest.jsonl");
    let mut text = fs::read(&manifest).unwrap();
    text.truncate(text.len() - 20);
    fs::write(&manifest, text).unwrap();
    finish(&dir, "2");
    assert_eq!(model(&dir), expected);
}

#[test]
fn a_full_disk_stops_the_run_with_one_line_and_it_goes_on_later() {
    let disk = folder("full").join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = |options: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "ludex-test"])
            .arg(&disk)
            .stderr(Stdio::null())
            .status()
    };
    if !mount("size=48k").is_ok_and(|s| s.success()) {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    }
    let dir = disk.join("run");
    let out = learn(&dir, "2").output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).to_string();
    let remounted = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk).status().unwrap().success();
    let later = learn(&dir, "2").output().unwrap();
    let resumed = dir.join("manifest.jsonl").exists().then(|| model(&dir));
    // Read-only: one line as well, and nothing is lost.
    Command::new("mount").args(["-o", "remount,ro"]).arg(&disk).status().unwrap();
    let read_only = learn(&disk.join("other"), "2").output().unwrap();
    Command::new("umount").arg(&disk).status().unwrap();

    assert_eq!(out.status.code(), Some(1), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    assert!(said.contains("No space left"), "{said}");
    assert!(remounted && later.status.success(), "{}", String::from_utf8_lossy(&later.stderr));
    let clean = folder("full-clean").join("run");
    finish(&clean, "1");
    assert_eq!(resumed.unwrap(), model(&clean));
    let said = String::from_utf8_lossy(&read_only.stderr).to_string();
    assert_eq!((read_only.status.code(), said.trim().lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("Read-only"), "{said}");
}

#[test]
fn what_the_user_typed_wrong_is_one_line_and_exit_code_2() {
    let folder = folder("typed");
    let refused = |args: &[&str]| refusal(&ludex(args, "", &folder));
    let bad: [&[&str]; 49] = [
        &["learn"],
        &["learn", "conect4"],
        &["learn", "connect4", "--system", "uct-cnn"],
        &["learn", "connect4", "--preset", "tack"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "train.unitz=3"],
        &["learn", "--run", "nowhere", "--resume"],
        &["learn", "breakthrough", "--system", "uct-ccnn", "--set", "train.view=sideways"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "play.mcts=neural(rule=sideways)"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "play.mcts=nobody"],
        &["learn", "connect4", "--system", "cut", "--set", "play.agent=uct(playout=cut(ask=never))"],
        &["learn", "connect4", "--system", "nhb", "--set", "generate.opening_plies=4294967295"],
        &["learn", "connect4", "--system", "uct-nn", "--set", "generate.opening_plies=4294967295"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "tune.opening_plies=4294967295"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "generate.matches=99999999999"],
        &["learn", "connect4", "--system", "cut", "--set", "generate.matches=18446744073709551615"],
        &["learn", "connect4", "--system", "uct-ccnn", "--set", "generate.matches=-1"],
        &["learn", "connect4", "--seed", "18446744073709551615"],
        &["learn", "connect4", "--threads", "0"],
        &["learn", "connect4", "--minutes", "0"],
        &["learn", "connect4", "--minutes", "5", "--system", "nhb"],
        &["play", "connect4", "--level", "hardest"],
        &["match", "connect4", "level:3@nowhere", "random"],
        &["learn", "connect4", "--threads", "1025"],
        &["runs", "show", "nowhere"],
        &["runs", "verify", "nowhere"],
        &["tune", "connect4", "--option", "c"],
        &["tune", "connect4", "--option", "c=0..1", "--option", "c=1..2"],
        &["tune", "connect4", "--option", "playout=0..1"],
        &["tune", "connect4", "--option", "sims=1.5..20"],
        &["tune", "connect4", "--agent", "grave(sims=50)", "--option", "ref=0..2.5"],
        &["tune", "connect4", "--agent", "minimax(model=nowhere)", "--option", "depth=1..3"],
        &["tune", "connect4", "--option", "c=0..1", "--confirm", "18446744073709551615"],
        &["tune", "connect4", "--option", "c=2..1"],
        &["tune", "connect4", "--option", "nonsense=0..1"],
        &["tune", "connect4", "--option", "c=-5..1"],
        &["tune", "connect4", "--option", "form=0..1"],
        &["tune", "connect4", "--option", "c=0..1", "--population", "99999999999"],
        &["tune", "connect4", "--option", "c=0..1", "--opening-plies", "4294967295"],
        &["tune", "connect4", "--option", "c=0..1", "--against", "neural(model=nowhere)"],
        &["reproduce", "nothing"],
        &["reproduce", "uct-ccnn", "--preset", "soon"],
        &["reproduce", "uct-ccnn", "--seeds", "0"],
        &["reproduce", "uct-ccnn", "--seed", "18446744073709551615"],
        &["reproduce", "uct-ccnn", "--preset", "tick", "--set", "reproduce.budgets=[]"],
        &["reproduce", "nhb", "--game", "tictactoe", "--preset", "tick", "--set", "reproduce.budgets=[]"],
        &["play", "connect4", "--model", "nowhere"],
        &["match", "connect4", "neural", "random"],
        &["match", "connect4", "minimax(model=nowhere)", "random"],
        &["match", "connect4", "random"],
    ];
    for args in bad {
        refused(args);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
    // A run that exists is not overwritten, and a model of another game is refused.
    let tick = ["learn", "connect4", "--preset", "tick"];
    printed(&ludex(&tick, "", &folder));
    assert!(refused(&tick).contains("add --resume to go on with it, or choose another --run"));
    refused(&["match", "othello", "--model", "runs/connect4-td-nnue-tick-1", "random"]);
    refused(&["play", "connect4", "--model", "runs/connect4-td-nnue-tick-1", "--level", "9"]);
    let other = refused(&[&tick[..], &["--set", "train.batch=64", "--resume"]].concat());
    assert!(other.contains("choose another --run, or give only --run and --resume"), "{other}");
}

#[test]
fn a_run_may_have_any_path() {
    let folder = folder("paths");
    let ludex = |args: &[&str], input: &str| printed(&ludex(args, input, &folder));
    let path = "a b, (c)/run \u{e9}";
    ludex(&["learn", "tictactoe", "--system", "uct-ccnn", "--preset", "tick", "--run", path], "");
    let quoted = format!("model=\"{path}\"");
    let level = format!("\"level:best@{path}\"");
    let spec = format!("minimax(depth=2, {quoted})");
    let neural = format!("neural(sims=5, {quoted})");

    let end = |said: String| assert!(said.trim_end().ends_with("Good-bye."), "{said}");
    end(ludex(&["play", "tictactoe", "--first", "--model", path, "--level", "1"], "a1\n"));
    end(ludex(&["play", "tictactoe", "--second", "--agent", &spec], "hint\n"));
    assert!(ludex(&["match", "tictactoe", "--model", path, "random", "--games", "2"], "").contains(&level));
    ludex(&["match", "tictactoe", &spec, &neural, "--games", "2"], "");
    assert!(ludex(&["tournament", "tictactoe", "random", &spec, &neural, "--games", "2"], "").contains(&quoted));
    let said = ludex(&["engine", "tictactoe", "--model", path], &format!("genmove\nagent {spec} # quoted\ngenmove\n"));
    assert!(!said.contains('?') && said.matches('=').count() == 3, "{said}");
    assert!(ludex(&["runs", "show", path], "").contains(&quoted));
    ludex(&["runs", "verify", path], "");
    let runs: serde_json::Value = serde_json::from_str(&ludex(&["runs", "--json", "--dir", "a b, (c)"], "")).unwrap();
    assert_eq!((&runs["runs"][0]["run"], &runs["runs"][0]["finished"]), (&path.into(), &true.into()));
    // A run that was moved plays where it is now.
    fs::rename(folder.join(path), folder.join("moved")).unwrap();
    assert!(
        ludex(&["match", "tictactoe", "--model", "moved", "random", "--games", "2"], "").contains("level:best@moved")
    );
}

#[cfg(unix)]
#[test]
fn a_shell_can_run_what_is_printed_to_be_typed() {
    let folder = folder("typed-next");
    let path = "it's a b, (c) $HOME";
    let said = printed(&ludex(&["learn", "tictactoe", "--preset", "tick", "--run", path], "", &folder));
    let next = said.split_once("\nnext:").unwrap().1;
    let bin = Path::new(env!("CARGO_BIN_EXE_ludex")).parent().unwrap();
    let paths = std::env::var("PATH").unwrap_or_default();
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).current_dir(&folder).env("PATH", format!("{}:{paths}", bin.display()));
        printed(&run(shell, ""))
    };
    // Ten minutes more are too long here; tests/guide.rs extends a run.
    let short = |l: &&str| !l.is_empty() && !l.contains("--minutes");
    let lines: Vec<&str> = next.lines().map(str::trim).filter(short).collect();
    assert_eq!(lines.len(), 3, "{next}");
    lines.iter().for_each(|line| assert!(!shell(line).is_empty()));
    // So is what goes on with a run that is not finished.
    fs::remove_file(folder.join(path).join("reports/report.json")).unwrap();
    fs::remove_file(folder.join(path).join("manifest.jsonl")).unwrap();
    fs::remove_file(folder.join(path).join("bundle.ludex")).unwrap();
    let refused = refusal(&ludex(&["match", "tictactoe", "--model", path, "random"], "", &folder));
    shell(refused.rsplit('`').nth(1).unwrap());
    printed(&ludex(&["match", "tictactoe", "--model", path, "random", "--games", "2"], "", &folder));
}

#[test]
fn a_run_of_another_version_of_the_program_is_gone_on_with() {
    let folder = folder("version");
    let dir = folder.join("run");
    finish(&dir, "2");
    let (expected, all) = (model(&dir), parts(&dir));
    let config = fs::read_to_string(dir.join("config.toml")).unwrap();
    let ours = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(config.contains(&ours));
    fs::write(dir.join("config.toml"), config.replace(&ours, "version = \"0.0.1\"")).unwrap();
    let part = dir.join("parts/start-0001.parquet");
    for _ in 0..2 {
        fs::remove_file(&part).unwrap();
        finish(&dir, "2"); // as it was typed
        assert!(part.exists());
        fs::remove_file(&part).unwrap();
        printed(&ludex(&["learn", "--run", "run", "--resume"], "", &folder)); // as the run says
        assert!(part.exists());
    }
    assert_eq!((model(&dir), parts(&dir)), (expected, all));
    // Any other difference counts.
    fs::write(dir.join("config.toml"), config.replace("seed = 1", "seed = 2")).unwrap();
    refusal(&learn(&dir, "2").output().unwrap());
}

#[test]
fn a_broken_run_does_not_hide_the_others() {
    let folder = folder("broken");
    printed(&ludex(&["learn", "tictactoe", "--preset", "tick", "--run", "runs/good"], "", &folder));
    for (name, config) in [("bytes", &b"\xff\xfe"[..]), ("words", b"what = = is this"), ("zero", b"")] {
        fs::create_dir_all(folder.join("runs").join(name)).unwrap();
        fs::write(folder.join("runs").join(name).join("config.toml"), config).unwrap();
    }
    fs::create_dir_all(folder.join("runs/folder/config.toml")).unwrap();
    let listed = printed(&ludex(&["runs"], "", &folder));
    assert_eq!(listed.lines().count(), 5, "{listed}");
    let line = |name: &str| listed.lines().find(|l| l.starts_with(&format!("runs/{name}"))).unwrap();
    assert!(line("good").contains("finished") && line("words").contains("config.toml: "), "{listed}");
    let json: serde_json::Value = serde_json::from_str(&printed(&ludex(&["runs", "--json"], "", &folder))).unwrap();
    let errors: Vec<bool> = json["runs"].as_array().unwrap().iter().map(|r| r["error"].is_string()).collect();
    assert_eq!(errors, [true, true, false, true, false], "{json}");
    printed(&ludex(&["runs", "show", "runs/good"], "", &folder));
    // A report that cannot be read does not hide the parts; going on writes it anew.
    fs::write(folder.join("runs/good/reports/report.json"), "{\"schema\": 0}").unwrap();
    let shown = printed(&ludex(&["runs", "show", "runs/good"], "", &folder));
    assert!(shown.contains("parts") && shown.contains(" learn --run runs/good --resume`"), "{shown}");
    printed(&ludex(&["learn", "--run", "runs/good", "--resume"], "", &folder));
    assert!(printed(&ludex(&["runs", "show", "runs/good"], "", &folder)).contains("agent: pvs"));
}

#[test]
fn what_was_learned_plays_and_is_listed() {
    let folder = folder("listed");
    let ludex = |args: &[&str]| printed(&ludex(args, "", &folder));
    let json: serde_json::Value =
        serde_json::from_str(&ludex(&["learn", "tictactoe", "--system", "uct-ccnn", "--preset", "tick", "--json"]))
            .unwrap();
    assert_eq!((json["schema"].as_u64(), json["seed"].as_u64()), (Some(2), Some(1)));
    assert_eq!(json["config"]["game"], "tictactoe");
    assert!(json["worth"][0]["interval"]["low"].is_number());
    let run = "runs/tictactoe-uct-ccnn-tick-1";
    for plot in ["tuning.svg", "curve.svg"] {
        assert!(fs::read_to_string(folder.join(run).join("reports").join(plot)).unwrap().starts_with("<svg"));
    }
    assert!(ludex(&["runs"]).contains("finished"));
    assert!(ludex(&["runs", "show", run]).contains("tictactoe"));
    let runs: serde_json::Value = serde_json::from_str(&ludex(&["runs", "--json"])).unwrap();
    assert_eq!(runs["runs"][0]["finished"], true);
    ludex(&["match", "tictactoe", "--model", run, "--level", "1", "random", "--games", "4"]);
    let spec = format!("minimax(depth=2, model={run})");
    ludex(&["match", "tictactoe", &spec, &format!("neural(sims=20, model={run})"), "--games", "4"]);
    let tuned = ludex(&[
        "tune",
        "tictactoe",
        "--agent",
        "uct(sims=10, playout=mast)",
        "--option",
        "c=0.1..2",
        "--option",
        "playout.eps=0..1",
        "--iterations",
        "2",
        "--population",
        "4",
        "--elites",
        "2",
        "--games",
        "2",
        "--json",
    ]);
    let tuned: serde_json::Value = serde_json::from_str(&tuned).unwrap();
    assert_eq!(tuned["rounds"].as_array().unwrap().len(), 2);
    assert!(tuned["agent"].as_str().unwrap().contains("eps="));
    let tunings = ludex(&["runs"]);
    assert_eq!(tunings.matches("finished").count(), 2, "{tunings}");
}

#[test]
fn a_papers_tables_are_printed_beside_ours() {
    let folder = folder("paper");
    let ludex = |args: &[&str]| printed(&ludex(args, "", &folder));
    let shown =
        ludex(&["reproduce", "uct-ccnn", "--game", "tictactoe", "--preset", "tick", "--seeds", "2", "--markdown"]);
    assert!(shown.contains("### Table 6"), "{shown}");
    let json = ludex(&["reproduce", "uct-ccnn", "--game", "tictactoe", "--preset", "tick", "--seeds", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["games"][0]["exhibits"].as_array().unwrap().len(), 7);
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_no_unicode_is_listed_and_no_run_is_made_there() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder("bytes");
    let name = std::ffi::OsStr::from_bytes(b"run-\xff");
    fs::create_dir_all(folder.join("runs").join(name)).unwrap();
    fs::write(folder.join("runs").join(name).join("config.toml"), "game = \"tictactoe\"").unwrap();
    assert!(printed(&ludex(&["runs"], "", &folder)).contains("tictactoe"));
    let json: serde_json::Value = serde_json::from_str(&printed(&ludex(&["runs", "--json"], "", &folder))).unwrap();
    assert_eq!(json["runs"][0]["run"], "runs/run-\u{fffd}");
    let mut learn = Command::new(env!("CARGO_BIN_EXE_ludex"));
    learn.args(["learn", "tictactoe", "--preset", "tick", "--run"]).arg(name).current_dir(&folder);
    assert_eq!(run(&mut learn, "").status.code(), Some(2));
    assert!(!folder.join(name).exists());
}

#[test]
fn parts_are_read_by_a_parquet_reader_that_is_not_ours() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var("LUDEX_PYTHON").unwrap_or("python3".into());
    if !Command::new(&python).args(["-c", "import pyarrow"]).output().is_ok_and(|o| o.status.success()) {
        assert!(std::env::var_os("LUDEX_REQUIRE_PEERS").is_none(), "{python} has no pyarrow");
        eprintln!("skipped: no Python with pyarrow");
        return;
    }
    let dir = folder("parquet").join("run");
    finish(&dir, "2");
    let script = root.join("tools/runs/read_parts.py");
    let out = Command::new(python).arg(script).arg(&dir).arg("300").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let manifest = fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    let lines = manifest.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let told: serde_json::Map<_, _> = lines
        .filter(|l| l["file"].as_str().unwrap().ends_with(".parquet"))
        .map(|l| (l["file"].as_str().unwrap().to_string(), l["rows"].clone()))
        .collect();
    assert_eq!(seen, serde_json::Value::Object(told), "the rows that the manifest tells");
}
