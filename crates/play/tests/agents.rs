//! Agents: every limit ends, misuse is refused, and the positions of a match are followed.

mod common;

use common::{Folder, agents, rulesheet};
use ludex_core::toy::Nim;
use ludex_core::{Choice, Game, Move, Player, Rng, Search};
use ludex_play::{
    AgentError, Control, Limit, LimitKind, Position, Progress, Session, Spec, Stop, Table, TableBuilder, open,
    play_match,
};
use ludex_search::mcts::*;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Three players pick numbers in turn; whoever has a three at the end gets all there is, and so may others.
const THREE: &str = "
    (role a) (role b) (role c) (init (control a)) (init (step 1)) (number 1) (number 2) (number 3)
    (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (after a b) (after b c) (after c a)
    (<= (legal ?r (pick ?n)) (true (control ?r)) (number ?n))
    (<= (legal ?r noop) (role ?r) (not (true (control ?r))))
    (<= (next (control ?s)) (true (control ?r)) (after ?r ?s))
    (<= (next (step ?t)) (true (step ?s)) (succ ?s ?t))
    (<= (next (has ?r ?n)) (does ?r (pick ?n)))
    (<= (next (has ?r ?n)) (true (has ?r ?n)) (not (true (control ?r))))
    (<= terminal (true (step 7)))
    (<= (goal ?r 100) (true (has ?r 3)))
    (<= (goal ?r 0) (role ?r) (not (true (has ?r 3))))";

/// Native games, repeated turns and repeated positions, baselines that are searches, rules known only at run time, and more
/// than two players.
fn games() -> Vec<Arc<dyn Table>> {
    let names = ["tictactoe", "connect4", "morris", "dots:3x3"].map(String::from);
    let names = names.into_iter().chain(["breakthrough", "othello"].map(rulesheet));
    names.map(|g| open(&g).unwrap()).chain([three()]).collect()
}

fn three() -> Arc<dyn Table> {
    let thread = format!("{:?}", std::thread::current().id());
    let folder = Folder::new(&format!("three-{}", thread.replace(|c: char| !c.is_ascii_digit(), "")));
    let path = folder.path().join("three.kif");
    std::fs::write(&path, THREE).unwrap();
    open(path.to_str().unwrap()).unwrap()
}

/// Fails instead of waiting for ever for a search that does not end.
fn ends<T: Send + 'static>(what: String, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{what} does not end"))
}

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

#[test]
fn every_limit_of_every_agent_ends_or_is_refused_with_those_it_has() {
    for (number, table) in games().into_iter().enumerate() {
        let folder = Folder::new(&format!("limits-{number}"));
        for spec in agents(&*table, folder.path()) {
            for kind in LimitKind::ALL {
                for n in [0, 1, if kind == LimitKind::Depth { 3 } else { 25 }] {
                    let mut limit = Limit::default();
                    limit.set(kind, n);
                    let (mut agent, start) = (table.agent(&spec, 1).unwrap(), table.start());
                    let has = agent.limits().to_vec();
                    let what = format!("{spec} with {kind}={n} at {}", table.info().name);
                    let chosen = ends(what.clone(), move || agent.choose(&*start, &limit.into()));
                    if has.contains(&kind) {
                        assert!(table.start().legal().contains(&chosen.unwrap().mv), "{what}");
                    } else {
                        let names: Vec<&str> = has.iter().map(|k| k.name()).collect();
                        let line = format!("{} has no limit {kind}: it has {}", spec.name, names.join(", "));
                        assert_eq!(chosen.unwrap_err().to_string(), line);
                    }
                }
            }
        }
    }
    let table = open("connect4").unwrap();
    let refused =
        |agent: &str, limit| table.agent(&spec(agent), 1).unwrap().choose(&*table.start(), &limit).unwrap_err();
    let line = "minimax has no limit sims: it has nodes, depth, ms, cpu_ms";
    assert_eq!(refused("minimax", Limit::simulations(100).into()).to_string(), line);
    let line = "uct has no limit nodes: it has sims, visits, expansions, ms, cpu_ms";
    assert_eq!(refused("uct", Limit::nodes(100).into()).to_string(), line);
}

#[test]
fn a_search_without_limit_needs_a_stop_and_ends_when_it_is_raised() {
    let infinite = Control::from(Limit::INFINITE);
    for (number, table) in games().into_iter().enumerate() {
        let folder = Folder::new(&format!("infinite-{number}"));
        let mut specs = agents(&*table, folder.path());
        specs.push(spec("uct(nodes=50, solver=on)"));
        specs.push(spec("uct(expand=eighth, graph=on, reuse=on)"));
        if table.info().zero_sum {
            specs.push(spec("minimax(deepening=off, table=0)"));
        }
        for spec in specs {
            let (mut agent, start) = (table.agent(&spec, 1).unwrap(), table.start());
            assert_eq!(agent.choose(&*start, &infinite).unwrap_err(), AgentError::Endless, "{spec}");
            let stop = Stop::new();
            let control = Control { stop: Some(stop.clone()), ..infinite.clone() };
            let raise = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                stop.raise();
            });
            let what = format!("{spec} without limit at {}", table.info().name);
            let chosen = ends(what.clone(), move || agent.choose(&*start, &control)).unwrap();
            assert!(table.start().legal().contains(&chosen.mv), "{what}");
            raise.join().unwrap();
        }
    }
}

#[test]
fn an_agent_without_any_limit_has_one_of_its_own_and_the_control_comes_before_the_spec() {
    let table = open("connect4").unwrap();
    let sims = |agent: &str, control: Control| {
        table.agent(&spec(agent), 1).unwrap().choose(&*table.start(), &control).unwrap().simulations
    };
    assert_eq!(sims("uct", Control::default()), 1_000);
    assert_eq!(sims("uct(sims=30)", Control::default()), 30);
    assert_eq!(sims("uct(sims=30)", Limit::simulations(40).into()), 40);
    assert!(sims("uct(sims=30)", Limit { visits: Some(500), ..Limit::default() }.into()) > 30);
    let minimax = table.agent(&spec("minimax"), 1).unwrap().choose(&*table.start(), &Control::default()).unwrap();
    assert_eq!(minimax.depth, 4);
}

/// A won game.
fn finished(table: &dyn Table) -> Box<dyn Position> {
    let mut position = table.start();
    while let Some(&m) = position.legal().first() {
        position.play(m).unwrap();
    }
    position
}

#[test]
fn misuse_of_an_agent_is_an_error_that_says_what_is_wrong() {
    let (nim, small) = (TableBuilder::new(Nim::new(9)).build(), TableBuilder::new(Nim::new(7)).build());
    for (number, table) in games().into_iter().enumerate() {
        let folder = Folder::new(&format!("misuse-{number}"));
        for spec in agents(&*table, folder.path()) {
            let mut agent = table.agent(&spec, 1).unwrap();
            let mut ask = |at: &dyn Position| agent.choose(at, &Control::default()).unwrap_err();
            let foreign = AgentError::Foreign(table.info().name.clone());
            assert_eq!(ask(&*nim.start()), foreign, "{spec}");
            assert_eq!(ask(&*finished(&*nim)), foreign, "{spec}");
            assert_eq!(ask(&*finished(&*table)), AgentError::GameOver, "{spec}");
        }
    }
    // The same type of game, of another size or with other rules, native or from a rulesheet.
    let rules = |name: &str| rulesheet(name);
    let twins = [
        ("dots:3x3".to_string(), "dots:3x2".to_string()),
        ("connect4:5x4".into(), "connect4:5x4x3".into()),
        ("morris".into(), "morris:draw=turns200".into()),
        (rules("breakthrough"), rules("connect4")),
    ];
    for (one, other) in twins {
        let (one, other) = (open(&one).unwrap(), open(&other).unwrap());
        let folder = Folder::new("twins");
        for spec in agents(&*one, folder.path()) {
            let error = one.agent(&spec, 1).unwrap().choose(&*other.start(), &Control::default()).unwrap_err();
            assert_eq!(error.to_string(), format!("the position is not one of {}", one.info().name));
        }
        assert!(one.owns(&*one.start()) && !one.owns(&*other.start()));
        assert!(one.solve(&*other.start()).is_none());
        let mut session = Session::new(one.clone(), spec("random"), 1).unwrap();
        assert!(session.set(other.start()).is_err() && session.set(one.start()).is_ok());
    }
    let mut agent = nim.agent(&spec("uct"), 1).unwrap();
    assert_eq!(agent.choose(&*small.start(), &Control::default()), Err(AgentError::Foreign("nim:9".into())));
}

#[test]
fn solved_positions_answer_for_those_below_and_no_others() {
    let (table, other) = (open("dots:2x2").unwrap(), open("dots:3x2").unwrap());
    let solution = table.solve(&*table.start()).unwrap();
    assert_eq!(solution.worth(&*table.start()).unwrap().len(), 12);
    assert!(solution.worth(&*finished(&*table)).is_none());
    assert!(solution.worth(&*other.start()).is_none());
}

#[test]
fn a_model_that_is_missing_is_an_error_before_the_agent_is_made() {
    let table = open("othello").unwrap();
    let folder = Folder::new("missing");
    for part in [
        "neural",
        "policy",
        "ranked",
        "guided",
        "minimax(eval=net)",
        "uct(playout=cut(model=\"\"))",
        "mcts(prior=value)",
    ] {
        let mut given = spec(part);
        let error = table.agent(&given, 1).err().unwrap().to_string();
        assert!(error.contains("needs a model"), "{part}: {error}");
        assert!(table.check(&given).is_ok(), "{part}: the model may be made later");
        given.set_model(&ludex_play::ModelRef::new(folder.path().join("none")));
        let error = table.agent(&given, 1).err().unwrap().to_string();
        assert!(error.contains("cannot read the model"), "{part}: {error}");
        given.set_model(&ludex_play::ModelRef::new(folder.path()));
        let error = table.agent(&given, 1).err().unwrap().to_string();
        assert!(error.contains("no model yet"), "{part}: {error}");
    }
}

/// What a search says, told of every move as the old protocol did, in the manner of plain UCT with reuse.
fn told(game: &Nim, moves: &[Move], reuse: bool, sims: u64) -> Vec<Choice> {
    let (select, expand) = (Ucb1::new(1.4, Form::Plain, Reward::Unit), OneChild::new(Next::Random));
    let options = MctsOptions { reuse, ..MctsOptions::default() };
    let mut search = Mcts::new(game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), options);
    let (mut s, mut rng, control) = (game.initial(), Rng::new(3), Limit::simulations(sims).into());
    search.reset();
    let mut choices = vec![search.search(game, &s, &control, &mut rng)];
    for &m in moves {
        game.play(&mut s, m);
        search.advance(m);
        choices.push(search.search(game, &s, &control, &mut rng));
    }
    choices
}

#[test]
fn positions_in_turn_give_the_choices_of_a_search_that_is_told_every_move() {
    let (game, moves) = (Nim::new(21), [0, 2, 1, 1, 2].map(Move));
    let table = TableBuilder::new(Nim::new(21)).build();
    for reuse in [false, true] {
        let spec = Spec::word("uct").with("reuse", if reuse { "on" } else { "off" });
        let (mut agent, mut position) = (table.agent(&spec, 3).unwrap(), table.start());
        let control = Limit::simulations(200).into();
        let mut choices = vec![agent.choose(&*position, &control).unwrap()];
        for m in moves {
            position.play(m).unwrap();
            choices.push(agent.choose(&*position, &control).unwrap());
        }
        assert_eq!(choices, told(&game, &moves, reuse, 200), "reuse {reuse}");
    }
}

#[test]
fn a_tree_is_used_again_below_the_line_it_was_made_for_and_nowhere_else() {
    let table = open("connect4").unwrap();
    let reuse = spec("uct(sims=500, reuse=on)");
    let at = |moves: &[&str]| {
        let mut position = table.start();
        moves.iter().for_each(|m| position.play(table.parse_move(m).unwrap()).unwrap());
        position
    };
    // Nodes of the second search, after a first one at `first`.
    let second = |first: Option<Box<dyn Position>>, then: &dyn Position| {
        let mut agent = table.agent(&reuse, 7).unwrap();
        first.iter().for_each(|p| drop(agent.choose(&**p, &Control::default()).unwrap()));
        agent.choose(then, &Control::default()).unwrap().nodes
    };
    let fresh = second(None, &*at(&["4", "4"]));
    assert!(fresh <= 501);
    for line in [&[][..], &["4"], &["4", "4"]] {
        assert!(second(Some(at(line)), &*at(&["4", "4"])) > fresh + 20, "{line:?} leads there");
    }
    for line in [&["4", "4", "1"][..], &["1"], &["4", "1"]] {
        assert!(second(Some(at(line)), &*at(&["4", "4"])) <= 501, "{line:?} does not lead there");
    }
    // A move taken back, and the same position from another start.
    let mut undone = at(&["4", "4", "1"]);
    undone.undo();
    assert!(second(Some(at(&["4", "4", "1"])), &*undone) <= 501);
    assert!(second(Some(at(&["4"])), &*table.position("44").unwrap()) <= 501);
}

#[test]
fn another_match_begins_with_nothing_known() {
    let table = open("connect4").unwrap();
    let mut agent = table.agent(&spec("minimax(depth=6, ties=first)"), 1).unwrap();
    let mut nodes = |at: &dyn Position| agent.choose(at, &Control::default()).unwrap().nodes;
    let (start, other) = (table.start(), table.position("44").unwrap());
    let first = nodes(&*start);
    assert!(nodes(&*start) < first, "the table knows this position");
    nodes(&*other);
    assert_eq!(nodes(&*start), first);
}

#[test]
fn fresh_agents_choose_alike_at_the_same_position() {
    for (number, table) in games().into_iter().enumerate() {
        let folder = Folder::new(&format!("alike-{number}"));
        let mut position = table.start();
        let mut rng = Rng::new(5);
        (0..4).for_each(|_| position.play(*rng.pick(&position.legal()).unwrap()).unwrap());
        let again = table.position(&position.text()).unwrap();
        for spec in agents(&*table, folder.path()) {
            let choose = |p: &dyn Position| {
                let mut agent = table.agent(&spec, 9).unwrap();
                let limit = match agent.limits() {
                    [LimitKind::Simulations, ..] => Limit::simulations(100),
                    [LimitKind::Nodes, ..] => Limit::depth(2),
                    _ => Limit::default(),
                };
                agent.choose(p, &limit.into()).unwrap()
            };
            assert_eq!(choose(&*position), choose(&*position), "{spec}");
            // How the position came about matters to whoever counts plies since the start, and to nobody else.
            if spec.name != "ranked" {
                assert_eq!(choose(&*position), choose(&*again), "{spec} at {}", table.info().name);
            }
        }
    }
}

#[test]
fn progress_is_reported_and_changes_nothing() {
    let table = open("othello").unwrap();
    // Each thinks for longer than reports are apart, on fast machines too.
    for agent in ["uct(sims=150000)", "minimax(depth=9)", "mcts(sims=80000, select=tuned, playout=mast)"] {
        let seen: Arc<Mutex<Vec<Choice>>> = Arc::default();
        let (sink, position) = (seen.clone(), table.start());
        let progress: Progress = Arc::new(move |c: &Choice| sink.lock().unwrap().push(c.clone()));
        let choose = |control| table.agent(&spec(agent), 1).unwrap().choose(&*position, &control).unwrap();
        let watched = choose(Control { progress: Some(progress), ..Control::default() });
        assert_eq!(watched, choose(Control::default()), "{agent}");
        let seen = seen.lock().unwrap();
        assert!(!seen.is_empty(), "{agent} reports nothing");
        assert!(seen.iter().all(|c| position.legal().contains(&c.mv) && c.line.first() == Some(&c.mv)));
        assert!(seen.windows(2).all(|w| w[0].nodes <= w[1].nodes && w[0].simulations <= w[1].simulations));
        assert!(seen.iter().all(|c| c.nodes <= watched.nodes && c.root.len() <= watched.root.len()));
    }
}

#[test]
fn an_agent_that_crashes_is_made_anew_by_its_session() {
    struct Crashes;
    impl Search<Nim> for Crashes {
        fn search(&mut self, _: &Nim, s: &<Nim as Game>::State, _: &Control, _: &mut Rng) -> Choice {
            assert!(s.left != 9, "a crash on purpose");
            let value = ludex_core::Payoffs::win(Player(0));
            Choice { mv: Move(0), value, root: vec![], nodes: 0, simulations: 0, depth: 0, line: vec![], bytes: 0 }
        }
        fn limits(&self) -> &'static [LimitKind] {
            &[]
        }
        fn default_limit(&self) -> Limit {
            Limit::default()
        }
    }
    let table =
        TableBuilder::new(Nim::new(9)).search("crashes", "now and then", &[], |_| Ok(Box::new(Crashes))).build();
    let mut session = Session::new(table, spec("crashes"), 1).unwrap();
    assert!(matches!(session.choose(&Control::default()), Err(AgentError::Failed(_))));
    session.play_names(["1"]).unwrap();
    assert_eq!(session.choose(&Control::default()).unwrap().mv, Move(0));
    let line = "crashes has no limit sims: it takes none";
    assert_eq!(session.choose(&Limit::simulations(1).into()).unwrap_err().to_string(), line);
}

#[test]
fn what_is_for_two_players_is_refused_to_more() {
    let table = three();
    let error = |agent: &str| table.check(&spec(agent)).unwrap_err().to_string();
    assert!(error("minimax").contains("two-player zero-sum"));
    assert!(error("uct(playout=cut)").contains("two-player zero-sum"));
    let mut agents: Vec<_> = (0..3).map(|seed| table.agent(&spec("uct(sims=200)"), seed).unwrap()).collect();
    let episode = play_match(&*table, &*table.start(), &mut agents, &Control::default(), &mut |_| {});
    assert_eq!(episode.outcome.as_slice(), [1.0; 3], "each has its three");
}
