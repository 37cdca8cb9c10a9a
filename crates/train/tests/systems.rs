//! Every system learns every game from its rules alone, and what it learned plays legal matches.

mod common;

use common::{folder, tick};
use ludex_core::Control;
use ludex_learn::Model;
use ludex_play::manifest::final_models;
use ludex_play::{GAMES, Spec, Table, play_match};
use ludex_train::store::sha256;
use ludex_train::systems::SYSTEMS;
use ludex_train::{Report, open};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An agent with so little to do that a match takes a moment.
fn small(agent: &Spec) -> Spec {
    let mut agent = agent.clone();
    agent.set(if ["minimax", "pvs"].contains(&agent.name.as_str()) { "nodes" } else { "sims" }, 5);
    agent
}

/// A match of an agent against itself, to its end.
fn plays(table: &dyn Table, agent: &Spec) {
    let build = |p| table.agent(agent, p).unwrap_or_else(|e| panic!("{agent}: {e}"));
    let mut agents: Vec<_> = (0..table.info().players() as u64).map(build).collect();
    let episode = play_match(table, &*table.start(), &mut agents, &Control::default(), &mut |_| {});
    assert!(episode.fault.is_none() && !episode.plies.is_empty(), "{agent}: {:?}", episode.fault);
}

#[test]
fn every_system_learns_every_native_game() {
    for game in GAMES {
        let table = open(game.name).unwrap();
        for system in SYSTEMS {
            let dir = folder(&format!("tick-{}-{}", system.name(), game.name));
            let report = tick(&table, system.name(), &dir, &[]);
            assert!(report.model.exists() && report.worth.len() >= 2);
            plays(&*table, &small(&report.agent));
            std::fs::remove_dir_all(dir).unwrap();
        }
    }
}

/// Our own sheets, and public ones from `LUDEX_GDL_SHEETS` or beside the workspace.
#[test]
fn every_rulesheet_is_learned_by_every_system_that_applies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let public = std::env::var("LUDEX_GDL_SHEETS").map_or(root.join("../shared/gdl"), PathBuf::from);
    if !public.exists() {
        eprintln!("skipped: {} is not there, only our own sheets are learned", public.display());
    }
    let mut sheets: Vec<PathBuf> = [root.join("rules"), public]
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten())
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "kif"))
        .collect();
    sheets.sort();
    for (i, sheet) in sheets.iter().enumerate() {
        let table = open(sheet.to_str().unwrap()).unwrap();
        let (dir, carl) = (folder("sheet"), ["train.games=3", "measure.games=0"]);
        let report = tick(&table, "carl-playout", &dir, &carl);
        plays(&*table, &small(&report.agent));
        std::fs::remove_dir_all(dir).unwrap();
        // The learner for any game: all that are played one move at a time between two whose payoffs add up to nothing.
        let few = ["train.positions=1000", "measure.games=0", "selfplay.symmetries=false"];
        match common::plan(&*table, "td-nnue", "tick", &few) {
            Err(e) => assert!(["zero-sum", "one moves at a time"].iter().any(|w| e.to_string().contains(w)), "{e}"),
            Ok(_) => {
                let dir = folder("sheet-td");
                let report = tick(&table, "td-nnue", &dir, &few);
                plays(&*table, &small(&report.agent));
                std::fs::remove_dir_all(dir).unwrap();
            }
        }
        // The others in turn: together they see many kinds of sheets.
        let system = SYSTEMS[1 + i % 4];
        match common::plan(&*table, system.name(), "tick", &["measure.games=0"]) {
            Err(e) => assert!(e.to_string().contains("zero-sum") && !table.info().zero_sum, "{}: {e}", sheet.display()),
            Ok(_) => {
                let dir = folder("sheet");
                let report = tick(&table, system.name(), &dir, &["measure.games=0"]);
                plays(&*table, &small(&report.agent));
                std::fs::remove_dir_all(dir).unwrap();
            }
        }
    }
}

/// The nets of a run, encoder and head included, apart from where they came from.
fn nets(dir: &Path) -> String {
    let read = |p: &PathBuf| Model::from_bytes(&std::fs::read(p).unwrap()).unwrap();
    let models: Vec<Model> = final_models(dir).unwrap().iter().map(read).collect();
    let bare = |m: Model| Model { provenance: Default::default(), ..m }.to_bytes();
    sha256(&models.into_iter().flat_map(bare).collect::<Vec<u8>>())
}

/// `UPDATE=1 cargo test` accepts a change; docs/decisions.md says why it is right.
#[test]
fn every_system_learns_the_accepted_nets() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets.txt");
    let table = open("connect4").unwrap();
    let mut now = String::new();
    for system in SYSTEMS {
        let dir = folder(&format!("nets-{}", system.name()));
        let plan = common::plan(&*table, system.name(), "smoke", &["measure.games=0"]).unwrap();
        let job = common::job(&table, plan, &dir, 2, Arc::new(ludex_train::store::Silent)).unwrap();
        job.learn().unwrap();
        now += &format!("{} {}\n", system.name(), nets(&dir));
        std::fs::remove_dir_all(dir).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert_eq!(
        now,
        std::fs::read_to_string(&path).unwrap(),
        "a system learns differently; UPDATE=1 cargo test accepts it"
    );
}

/// How much the targets vary, from their histogram: what a net that learned nothing errs by.
fn variance(report: &Report) -> f64 {
    let bins: Vec<f64> = report.figures["targets"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    let n: f64 = bins.iter().sum();
    let at = |i: usize| -0.9 + 0.2 * i as f64;
    let mean = bins.iter().enumerate().map(|(i, c)| c * at(i)).sum::<f64>() / n;
    bins.iter().enumerate().map(|(i, c)| c * (at(i) - mean).powi(2)).sum::<f64>() / n
}

#[test]
fn what_is_learned_at_the_smoke_preset_is_more_than_nothing() {
    for game in ["othello", "morris"] {
        let table = open(game).unwrap();
        let plan = common::plan(&*table, "uct-ccnn", "smoke", &[]).unwrap();
        let dir = folder(&format!("smoke-{game}"));
        let job = common::job(&table, plan, &dir, 2, Arc::new(ludex_train::store::Silent)).unwrap();
        let report = job.learn().unwrap();
        let random = report.against("random").unwrap();
        assert!(random.score > 0.7, "{game}: {} against random", random.score);
        let (test, variance) = (report.figures["metrics"]["test_mse"].as_f64().unwrap(), variance(&report));
        assert!(test < 0.95 * variance, "{game}: test error {test}, variance of the targets {variance}");
    }
}

#[test]
fn every_way_to_learn_ends_and_plays() {
    let ways: [(&str, &str, &[&str]); 14] = [
        ("uct-ccnn", "breakthrough:4x5", &["train.view=mover", "filter.duplicates=most_visits", "train.output=rprop"]),
        ("uct-ccnn", "dots:3x3", &["filter.duplicates=mean", "filter.matches=all", "filter.result_share=0.5"]),
        ("cut", "dots:5x5", &["train.inputs=paper", "train.loss=squared"]),
        ("cut", "dots:3x3", &["train.optimiser=adam", "train.batch=16", "train.view=mover", "train.output=softmax"]),
        ("cut", "dots:3x3", &["generate.rounds=1", "generate.again_matches=6", "generate.again_sims=8"]),
        ("nhb", "connect4", &["net.view=mover", "net.hidden=5"]),
        ("nhb", "connect4", &["net.coding=signed", "examples.pruning=wins", "examples.join=true"]),
        (
            "nhb",
            "connect4",
            &["cycle.against=hash", "initial.heuristic=net", "cycle.self_match=false", "examples.heard=learner"],
        ),
        (
            "nhb",
            "connect4",
            &["examples.ends=false", "examples.most=0", "examples.consistent_from=0", "cycle.opening_plies=2"],
        ),
        (
            "uct-nn",
            "gomoku:5x5x5",
            &["train.input=signed", "train.hidden=30", "train.target=win_rate", "train.decay=linear"],
        ),
        ("carl-playout", "breakthrough:4x5", &["train.inputs=beside", "train.roles=own"]),
        (
            "carl-playout",
            "breakthrough:4x5",
            &["train.regressor=pa", "train.inputs=crossed", "train.behaviour=softmax", "train.roles=own"],
        ),
        (
            "carl-selection",
            "breakthrough:4x5",
            &["train.regressor=mlp", "train.inputs=beside", "train.hidden=[4]", "train.noops=true"],
        ),
        (
            "carl-selection",
            "breakthrough:4x5",
            &["train.regressor=mlp", "train.inputs=state", "train.hidden=[4]", "train.targets=game"],
        ),
    ];
    for (i, (system, game, settings)) in ways.into_iter().enumerate() {
        let (table, dir) = (open(game).unwrap(), folder(&format!("way-{i}")));
        let report = tick(&table, system, &dir, &[settings, &["measure.games=0"]].concat());
        plays(&*table, &small(&report.agent));
        if system == "cut" && game == "dots:5x5" {
            assert_eq!(report.figures["inputs"], 85, "the paper's codes");
        }
        if system == "uct-nn" {
            let net = ["inputs", "hidden", "outputs"].map(|n| report.figures[n].as_u64().unwrap());
            assert_eq!(net, [25, 30, 25], "the paper's net has an input and an output for each point");
            drops_the_share_of_moves_that_it_should(&*table, &report.agent);
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}

/// Half of the moves at the start are dropped, none with a share of 0.
fn drops_the_share_of_moves_that_it_should(table: &dyn Table, agent: &Spec) {
    let root = |share: &str| {
        let mut spec = agent.clone();
        spec.set("sims", 200);
        spec.set("share", share);
        table.agent(&spec, 1).unwrap().choose(&*table.start(), &Control::default()).unwrap().root.len()
    };
    assert_eq!([root("0"), root("0.5"), root("1")], [25, 13, 1]);
}

#[test]
fn a_model_that_does_not_do_what_a_part_needs_is_refused() {
    let (table, dir) = (open("gomoku:5x5x5").unwrap(), folder("needs"));
    tick(&table, "uct-nn", &dir, &["measure.games=0"]);
    let with = |text: &str| {
        let mut spec: Spec = text.parse().unwrap();
        spec.set_model(&ludex_play::ModelRef::new(&dir));
        table.agent(&spec, 1).err().map(|e| e.to_string())
    };
    assert_eq!(with("ranked(sims=10)"), None);
    assert!(with("neural(sims=10)").is_some_and(|e| e.contains("judge positions")));
    for text in ["guided", "policy", "uct(playout=guided)", "ranked", "minimax(eval=net)"] {
        let error = table.agent(&text.parse().unwrap(), 1).err().unwrap().to_string();
        assert!(error.contains("model=") && !error.contains('\n'), "{text}: {error}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// Games of one and of three players are learned too, and what learning is worth is measured in the place of others.
#[test]
fn games_that_are_not_for_two_get_players_that_are_measured() {
    for sheet in ["eightPuzzle.kif", "tictactoe_3player.kif"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/gdl").join(sheet);
        if !path.exists() {
            eprintln!("skipped: there is no {}", path.display());
            continue;
        }
        let table = open(path.to_str().unwrap()).unwrap();
        let (system, refused) = ludex_train::systems::system_for(&*table).unwrap();
        assert!(system.name() != "td-nnue" && refused.len() == 1);
        let dir = folder(sheet);
        let report = tick(&table, system.name(), &dir, &[]);
        assert!(report.worth.len() >= 2 && report.worth.iter().all(|row| row.in_place() && row.wdl.games() == 2));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
