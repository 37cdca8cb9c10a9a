//! What people and programs type and read: specs that never panic, and the JSON of `analyze` and its kin.

use ludex_core::{Player, Rng};
use ludex_play::views::{ChoiceView, PositionView};
use ludex_play::{Control, ModelRef, Session, Spec, Table, open, play_match};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// Pieces that specs are made of, so that random text gets far into the parser and the parts.
const PIECES: [&str; 64] = [
    "(",
    ")",
    "(",
    ")",
    "=",
    "=",
    "=",
    ",",
    ", ",
    "\"",
    "\\",
    "\\n",
    "\n",
    " ",
    "\0",
    "é",
    "uct",
    "mcts",
    "minimax",
    "random",
    "neural",
    "ranked",
    "guided",
    "policy",
    "tuned",
    "rave",
    "grave",
    "exact",
    "chains",
    "select",
    "prior",
    "expand",
    "playout",
    "backup",
    "final",
    "eval",
    "model",
    "c",
    "sims",
    "ms",
    "depth",
    "nodes",
    "table",
    "hidden",
    "by",
    "net",
    "value",
    "scores",
    "bonus",
    "ucb1",
    "all",
    "cut",
    "mast",
    "eps",
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e9",
    "nan",
    "inf",
    "99999999999999999999",
    "on",
];

static TABLES: LazyLock<[Arc<dyn Table>; 2]> = LazyLock::new(|| ["tictactoe", "dots:2x2"].map(|g| open(g).unwrap()));

fn texts() -> impl Strategy<Value = String> {
    let pieces = || prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40).prop_map(|p| p.concat());
    // An option of a real agent with anything for its name and value.
    let option = (prop::sample::select(PIECES.to_vec()), prop::sample::select(PIECES.to_vec()), pieces())
        .prop_map(|(agent, key, value)| format!("{agent}({key}={value})"));
    prop_oneof![pieces(), option, ".{0,60}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text: refused with one line, or an agent that can be built, for every game.
    #[test]
    fn specs_are_refused_in_one_line_or_built(text in texts()) {
        let line = |e: &dyn std::fmt::Display| !e.to_string().is_empty() && !e.to_string().contains(char::is_control);
        match text.parse::<Spec>() {
            Err(e) => prop_assert!(line(&e), "{e}"),
            Ok(spec) => {
                prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec.clone());
                for table in &*TABLES {
                    let (checked, built) = (table.check(&spec), table.agent(&spec, 1).map(|_| ()));
                    for e in [&checked, &built].into_iter().filter_map(|r| r.as_ref().err()) {
                        prop_assert!(line(&e), "{e}");
                    }
                    prop_assert!(checked.is_ok() || built.is_err(), "{spec} is built but not accepted");
                }
            }
        }
    }

    /// Any text as TOML.
    #[test]
    fn toml_is_refused_or_a_spec(text in texts(), key in prop::sample::select(PIECES.to_vec())) {
        for toml in [text.clone(), format!("name = 'uct'\n{key} = {text}"), format!("name = {text:?}")] {
            if let Ok(spec) = Spec::from_toml(&toml) {
                let _ = TABLES[0].check(&spec);
                prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
            }
        }
    }

    /// Any path of options.
    #[test]
    fn options_are_asked_for_by_any_path(agent in texts(), path in "[a-z.]{0,12}|select[.]c|playout[.]eps") {
        if let Ok(mut spec) = agent.parse::<Spec>() {
            let _ = TABLES[0].option(&spec, &path);
            spec.set(&path, 1);
            prop_assert_eq!(spec.get(&path).map(|v| v.name.as_str()), Some("1"));
            let _ = TABLES[0].check(&spec);
        }
    }
}

/// The keys of an object, in alphabetical order.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[test]
fn a_choice_is_the_json_of_analyze() {
    let table = open("tictactoe").unwrap();
    let mut session = Session::new(table.clone(), "uct(sims=200)".parse().unwrap(), 1).unwrap();
    session.play_names(["a1", "b2"]).unwrap();
    let choice = session.choose(&Control::default()).unwrap();
    let view = serde_json::to_value(ChoiceView::new(&*table, &choice)).unwrap();
    assert_eq!(keys(&view), ["depth", "line", "move", "nodes", "policy", "simulations", "value"]);
    assert_eq!(view["move"], json!(table.move_name(choice.mv)));
    assert_eq!(view["value"].as_array().unwrap().len(), 2);
    assert_eq!(view["line"][0], view["move"]);
    assert_eq!((&view["nodes"], &view["simulations"]), (&json!(choice.nodes), &json!(200)));
    let policy = view["policy"].as_array().unwrap();
    assert_eq!(policy.len(), 7);
    assert_eq!(keys(&policy[0]), ["move", "prior", "proven", "value", "visits"]);
    assert_eq!(policy.iter().map(|m| m["visits"].as_u64().unwrap()).sum::<u64>(), 200);
    let names: Vec<String> = session.position().legal().iter().map(|&m| table.move_name(m)).collect();
    assert_eq!(policy.iter().map(|m| m["move"].as_str().unwrap()).collect::<Vec<_>>(), names);
    // A search that knows no values of root moves says so.
    session.set_agent("random".parse().unwrap()).unwrap();
    let random = ChoiceView::new(&*table, &session.choose(&Control::default()).unwrap());
    assert_eq!(serde_json::to_value(random).unwrap()["policy"][0]["value"], Value::Null);
}

#[test]
fn a_position_is_shown_with_all_that_a_page_needs() {
    let table = open("tictactoe").unwrap();
    let mut position = table.start();
    position.play(table.parse_move("b2").unwrap()).unwrap();
    let view = serde_json::to_value(PositionView::new(&*table, &*position)).unwrap();
    assert_eq!(keys(&view), ["board", "facts", "game", "legal", "mover", "moves", "outcome", "role", "text"]);
    assert_eq!(view["text"], json!("---/-X-/--- O"));
    assert_eq!((&view["game"], &view["mover"], &view["role"]), (&json!("tictactoe"), &json!(1), &json!("o")));
    assert_eq!((&view["moves"], &view["outcome"]), (&json!(["b2"]), &Value::Null));
    assert_eq!(view["legal"].as_array().unwrap().len(), 8);
    assert_eq!(view["facts"].as_array().unwrap().len(), position.facts().len());
    let mut rng = Rng::new(3);
    while let Some(&m) = rng.pick(&position.legal()) {
        position.play(m).unwrap();
    }
    let view = serde_json::to_value(PositionView::new(&*table, &*position)).unwrap();
    assert_eq!((&view["mover"], &view["role"], &view["legal"]), (&Value::Null, &Value::Null, &json!([])));
    assert_eq!(view["outcome"].as_array().unwrap().len(), 2);
}

#[test]
fn an_episode_is_a_match_from_beginning_to_end() {
    let table = open("tictactoe").unwrap();
    let build = |agent: &str, seed| table.agent(&agent.parse().unwrap(), seed).unwrap();
    let mut agents = [build("uct(sims=50)", 1), build("random", 2)];
    let start = table.position("X--/---/--- O").unwrap();
    let episode = play_match(&*table, &*start, &mut agents, &Control::default(), &mut |_| {});
    assert_eq!((episode.start.as_str(), &episode.fault), ("X--/---/--- O", &None));
    assert_eq!(episode.plies[0].mover, Player(1));
    // The moves lead from the start to the outcome.
    let mut position = start;
    episode.plies.iter().for_each(|p| position.play(p.choice.mv).unwrap());
    assert_eq!(position.outcome(), Some(episode.outcome));
    assert_eq!(episode.cost.iter().map(|c| c.moves).sum::<u64>(), episode.plies.len() as u64);
}

#[test]
fn text_and_toml_say_the_same() {
    let text: Spec = "uct(sims=5000, c=0.78, playout=mast(eps=0.2))".parse().unwrap();
    let toml = Spec::from_toml("name = 'uct'\nsims = 5000\nc = 0.78\nplayout = { name = 'mast', eps = 0.2 }").unwrap();
    let sorted = |mut s: Spec| {
        s.args.sort_by(|a, b| a.0.cmp(&b.0));
        s
    };
    assert_eq!(sorted(text.clone()), sorted(toml));
    assert_eq!(text.to_string(), "uct(sims=5000, c=0.78, playout=mast(eps=0.2))");
    assert_eq!(text.to_string().parse::<Spec>().unwrap(), text);
}

#[test]
fn models_are_found_and_replaced_wherever_they_stand() {
    let mut spec: Spec = "uct(sims=5, playout=guided(model=a))".parse().unwrap();
    spec.set_model(&ModelRef::from("b c"));
    assert_eq!(spec.to_string(), "uct(sims=5, playout=guided(model=\"b c\"))");
    assert_eq!(spec.models(), [ModelRef::from("b c")]);
    let mut bare = Spec::word("minimax");
    bare.set_model(&ModelRef::from("x"));
    assert_eq!(bare.to_string(), "minimax(model=x)");
}

#[test]
fn quotes_hold_anything() {
    let spec: Spec = r#"minimax(model="my runs/a (2), \"x\" \\ ü=")"#.parse().unwrap();
    assert_eq!(spec.get("model").unwrap().name, "my runs/a (2), \"x\" \\ ü=");
    assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
}

fn specs() -> impl Strategy<Value = Spec> {
    let word = || prop_oneof![any::<String>(), "[a-z0-9_.]{0,6}"];
    let leaf = word().prop_map(Spec::word);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        (word(), proptest::collection::btree_map(word(), inner, 0..4)).prop_map(|(name, args)| {
            let mut spec = Spec::word(name);
            spec.args = args.into_iter().collect();
            spec
        })
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_the_same_spec(spec in specs()) {
        prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
    }
}

#[test]
fn errors_point_at_the_place() {
    let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
    assert!(error("uct(sims=)").contains("column 10"));
    assert!(error("uct(sims 5)").contains("\"sims\" needs a value"));
    assert!(error("uct(sims=5").contains("expected"));
    assert!(error("uct(sims=5, sims=6)").contains("given twice (column 13)"));
    assert!(error("uct) x").contains("after the end"));
    assert!(error(&"a(b=".repeat(1000)).contains("too many"));
    assert!(error("").contains("found the end"));
    assert!(error("uct(model=\"a").contains("not closed (column 11)"));
    assert!(error("uct(model=\"a\\x\")").contains("backslash"));
}
