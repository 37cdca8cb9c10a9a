//! Models: found at any path, shared while they are used, forgotten afterwards, and refused if they do not fit.

mod common;

use common::{Folder, moves_head, untrained, value_head, write_untrained};
use ludex_core::{Fact, Game, Move};
use ludex_games::{Dots, Othello, Score};
use ludex_learn::{Encoder, Head, InferenceNet, Model};
use ludex_play::{Choice, Control, ModelRef, Spec, Table, TableBuilder, manifest, open};
use ludex_search::mcts::{CutCheck, CutPlayout, CutValue, Wdl, WdlEvaluator};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Names that a path may have and a spec must quote.
const NAMES: [&str; 9] = [
    "plain",
    "two words",
    "a,b, c",
    "a (2)",
    "it's \"quoted\"",
    "sims=5",
    "Überläufer-日本",
    "back\\slash",
    "two\nlines",
];

/// Makes a run that ended with these models, one for each role or one for all.
fn write_run(dir: &Path, stage: &str, models: &[Model]) {
    std::fs::create_dir_all(dir.join("models")).unwrap();
    std::fs::write(dir.join("config.toml"), "system = \"none\"\n").unwrap();
    let mut lines = String::new();
    for (role, model) in models.iter().enumerate() {
        let file = format!("models/{}", model.id());
        std::fs::write(dir.join(&file), model.to_bytes()).unwrap();
        let part = format!("model/{}", manifest::role_model(stage, role));
        let entry = manifest::Entry { part, file, rows: 1, sha256: model.id() };
        lines += &(serde_json::to_string(&entry).unwrap() + "\n");
    }
    let old = std::fs::read_to_string(dir.join(manifest::FILE)).unwrap_or_default();
    std::fs::write(dir.join(manifest::FILE), old + &lines).unwrap();
}

/// What an agent with this model chooses at the start, its spec having been text in between.
fn choose(table: &dyn Table, agent: &str, model: &Path) -> Choice {
    let mut spec: Spec = agent.parse().unwrap();
    spec.set_model(&ModelRef::new(model));
    let read: Spec = spec.to_string().parse().unwrap();
    assert_eq!(read, spec);
    let mut agent = table.agent(&read, 1).unwrap_or_else(|e| panic!("{spec}: {e}"));
    agent.choose(&*table.start(), &Control::default()).unwrap()
}

#[test]
fn models_and_runs_work_from_any_path() {
    let (table, folder) = (open("connect4:5x4").unwrap(), Folder::new("paths"));
    let mut before: Option<Vec<Choice>> = None;
    for name in NAMES {
        let dir = folder.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let (value, moves, run) =
            (dir.join(format!("{name}.value")), dir.join("moves"), dir.join(format!("run {name}")));
        write_untrained(&*table, value_head(&*table), &value);
        write_untrained(&*table, moves_head(&*table), &moves);
        write_run(&run, "final", &[untrained(&*table, value_head(&*table), 1)]);
        let chosen = vec![
            choose(&*table, "minimax(depth=3)", &value),
            choose(&*table, "minimax(depth=3)", &run),
            choose(&*table, "neural(sims=50)", &run),
            choose(&*table, "uct(sims=50, playout=guided(model=x))", &moves),
            choose(&*table, "policy", &moves),
        ];
        assert!(chosen.iter().all(|c| table.start().legal().contains(&c.mv)));
        assert_eq!(chosen[0], chosen[1], "{name}: the run ended with this model");
        assert_eq!(*before.get_or_insert(chosen.clone()), chosen, "{name}: the name of a model does not matter");
    }
}

#[test]
fn a_run_stands_for_the_models_it_ended_with_or_was_stopped_with() {
    let (table, folder) = (open("tictactoe").unwrap(), Folder::new("runs"));
    let run = folder.path().join("run");
    let spec = Spec::word("minimax").with("model", run.display());
    let error = |spec: &Spec| table.agent(spec, 1).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error(&spec).contains("cannot read the model"));
    std::fs::create_dir_all(&run).unwrap();
    assert!(error(&spec).contains("no model yet"));
    let model = |seed| untrained(&*table, value_head(&*table), seed);
    let value = |model: &Model| {
        let path = folder.path().join("one");
        std::fs::write(&path, model.to_bytes()).unwrap();
        choose(&*table, "minimax(depth=1)", &path).value
    };
    write_run(&run, "stopped", &[model(2)]);
    assert_eq!(choose(&*table, "minimax(depth=1)", &run).value, value(&model(2)));
    write_run(&run, "final", &[model(3)]);
    assert_eq!(choose(&*table, "minimax(depth=1)", &run).value, value(&model(3)));
    // The program was killed in the middle of a line.
    let torn = std::fs::read_to_string(run.join(manifest::FILE)).unwrap() + "{\"part\":\"model/final\",\"fi";
    std::fs::write(run.join(manifest::FILE), torn).unwrap();
    assert_eq!(choose(&*table, "minimax(depth=1)", &run).value, value(&model(3)));
    // A net for each role: for parts that can do with it.
    let roles = folder.path().join("roles");
    write_run(&roles, "final", &[1, 2].map(|seed| untrained(&*table, moves_head(&*table), seed)));
    choose(&*table, "policy", &roles);
    choose(&*table, "guided(sims=20)", &roles);
    assert_eq!(table.models(&Spec::word("policy").with("model", roles.display())).unwrap().len(), 2);
    let values = folder.path().join("values");
    write_run(&values, "final", &[model(1), model(2)]);
    assert!(error(&Spec::word("minimax").with("model", values.display())).contains("one model for all roles"));
    let three = folder.path().join("three");
    write_run(&three, "final", &[1, 2, 3].map(|seed| untrained(&*table, moves_head(&*table), seed)));
    assert!(error(&Spec::word("policy").with("model", three.display())).contains("models of 3 roles"));
}

#[test]
fn a_model_is_shared_while_something_uses_it_and_then_forgotten() {
    let (table, folder) = (open("tictactoe").unwrap(), Folder::new("shared"));
    let path = folder.path().join("model");
    write_untrained(&*table, value_head(&*table), &path);
    let spec = Spec::word("minimax").with("model", path.display());
    let load = || table.models(&spec).unwrap().remove(0);
    let (one, two) = (load(), load());
    assert!(Arc::ptr_eq(&one, &two));
    let agent = table.agent(&spec, 1).unwrap();
    let weak = Arc::downgrade(&one);
    drop((one, two));
    assert!(weak.upgrade().is_some_and(|used| Arc::ptr_eq(&used, &load())), "the agent uses it");
    drop(agent);
    assert!(weak.upgrade().is_none(), "nothing uses it");
    assert!(table.models(&Spec::word("uct")).unwrap().is_empty());
}

#[test]
fn a_changed_file_is_read_anew_and_agents_keep_what_they_have() {
    let (table, folder) = (open("tictactoe").unwrap(), Folder::new("changed"));
    let path = folder.path().join("model");
    let write = |seed: u64| {
        std::fs::write(&path, untrained(&*table, value_head(&*table), seed).to_bytes()).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seed)).unwrap();
    };
    let spec: Spec = Spec::word("minimax").with("depth", 1).with("model", path.display());
    let agent = || table.agent(&spec, 1).unwrap();
    write(1);
    let mut old = agent();
    let value =
        |agent: &mut Box<dyn ludex_play::Agent>| agent.choose(&*table.start(), &Control::default()).unwrap().value;
    let before = value(&mut old);
    write(2);
    assert_ne!(value(&mut agent()), before);
    assert_eq!(value(&mut old), before);
    write(1);
    assert_eq!(value(&mut agent()), before);
}

#[test]
fn a_model_that_does_not_fit_is_refused_in_one_line() {
    let (table, folder) = (open("tictactoe").unwrap(), Folder::new("unfit"));
    let path: PathBuf = folder.path().join("model");
    let refused = |agent: &str, bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let spec: Spec = agent.parse::<Spec>().unwrap().with("model", path.display());
        let error = table.agent(&spec, 1).err().unwrap_or_else(|| panic!("{agent} was built")).to_string();
        assert!(!error.contains('\n') && error.contains("model"), "{error}");
        error
    };
    let (value, moves) = (untrained(&*table, value_head(&*table), 1), untrained(&*table, moves_head(&*table), 1));
    assert!(refused("minimax", &moves.to_bytes()).contains("does not judge positions"));
    assert!(refused("policy", &value.to_bytes()).contains("does not score moves"));
    assert!(refused("minimax", b"").contains("cannot be used"));
    assert!(refused("minimax", &value.to_bytes()[..100]).contains("cannot be used"));
    let other = open("connect4").unwrap();
    assert!(refused("minimax", &untrained(&*other, value_head(&*other), 1).to_bytes()).contains("connect4"));
    // Files that claim the rules of the game but have other sizes.
    let unfit = |model: Model| Model { rules_hash: table.info().rules_hash, ..model };
    let facts = unfit(untrained(&*other, value_head(&*other), 1));
    assert!(refused("minimax", &facts.to_bytes()).contains("facts"));
    for head in [Head::Value { outputs: 5 }, Head::MoveScores { moves: 3 }, Head::PolicyValue { moves: 12 }] {
        let model = Model { encoder: Encoder::facts(table.info().facts as usize), ..untrained(&*table, head, 1) };
        assert!(refused("ranked", &model.to_bytes()).contains("do not fit"), "{head:?}");
    }
}

/// Asks a net about every state afresh.
struct Fresh {
    net: Arc<InferenceNet>,
    facts: Vec<Fact>,
}

impl<G: Game> WdlEvaluator<G> for Fresh {
    fn refresh(&mut self, _: &G, _: &G::State) {}

    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        game.play(s, m);
    }

    fn wdl(&mut self, game: &G, s: &G::State) -> Wdl {
        let mover = game.mover(s);
        game.facts(s, &mut self.facts);
        let [win, draw, loss] = self.net.plain(&self.facts, mover)[..] else { panic!("three outputs") };
        Wdl { of: self.net.viewer(mover), win, draw, loss }
    }
}

/// Plays a match with a net that follows playouts and one that does not: all that both searches decide is the same.
fn follows<G: Game>(game: G, relative: bool) {
    let (folder, game) = (Folder::new("follows"), Arc::new(game));
    let file = folder.path().join(format!("{}-{relative}", game.info().rules_hash));
    let mut model = untrained(&*TableBuilder::<G>::new(game.clone()).build(), Head::WinDrawLoss, 7);
    if relative {
        model.encoder = model.encoder.mover_relative(game.info().mirror.clone().unwrap()).unwrap();
    }
    std::fs::write(&file, model.to_bytes()).unwrap();
    let net = Arc::new(model.inference_net().unwrap());
    let table = TableBuilder::<G>::new(game).playout("fresh", "asks afresh", &[], move |_| {
        let wdl = Box::new(Fresh { net: net.clone(), facts: Vec::new() });
        Ok(Box::new(CutPlayout::new(wdl, CutCheck::Every { after: 0, step: 1 }, 0.36, CutValue::Expected)))
    });
    let (table, tree) = (table.build(), "uct(sims=60, reuse=on)".parse::<Spec>().unwrap());
    let (mut following, mut fresh) = (tree.clone(), tree);
    let cut = format!("cut(model=\"{}\", threshold=0.36, backup=expected)", file.display());
    following.set_part("playout", cut.parse().unwrap());
    fresh.set("playout", "fresh");
    let mut agents = [following, fresh].map(|spec| table.agent(&spec, 3).unwrap());
    let (mut position, mut cuts) = (table.start(), 0.0);
    while position.outcome().is_none() {
        let [a, b] = agents.each_mut().map(|agent| agent.choose(&*position, &Control::default()).unwrap());
        assert_eq!((a.mv, &a.value, &a.root), (b.mv, &b.value, &b.root));
        let counters = agents[0].counters();
        assert_eq!(counters, agents[1].counters());
        cuts += counters.iter().find(|(name, _)| *name == "cut").unwrap().1;
        position.play(a.mv).unwrap();
    }
    assert!(cuts > 100.0, "{cuts}");
}

#[test]
fn following_a_playout_equals_a_fresh_evaluation_of_each_state() {
    for relative in [false, true] {
        follows(Dots::<u64>::new(5, 5, Score::Win).unwrap(), relative);
        follows(Othello::new(8, 8).unwrap(), relative);
    }
}
