//! The game, part and learner of this project in the same calls that the verbs of `ludex` make.

use ludex_core::{Control, Limit, Stop, laws};
use ludex_play::Session;
use ludex_play::arena::{Contest, tally};
use ludex_play::openings::Openings;
use ludex_play::views::{ChoiceView, PositionView};
use ludex_train::store::{Audited, Run, Silent, entries};
use ludex_train::{Job, Plan, Report};
use outside::{Kayles, MeanByFact, table};
use std::sync::Arc;

#[test]
fn the_game_keeps_the_laws() {
    laws::check(&Kayles::new(9), &laws::Effort { states: 500, collisions: 2_000, seed: 1 }).unwrap();
}

#[test]
fn the_part_plays_matches_against_uct() {
    let table = table(11);
    let agents =
        vec!["mcts(sims=200, select=proportional, expand=all)".parse().unwrap(), "uct(sims=200)".parse().unwrap()];
    let game = table.info().name.clone();
    let contest = Contest { game, agents, pairs: 10, openings: Openings::Random(1), seed: 1, sprt: None };
    let results = contest.run(&*table, vec![], 2, &Stop::new(), |_| {}).unwrap();
    let t = &tally(&contest, &results)[0];
    assert_eq!((t.pairs.wdl().games(), t.faults), (20, [[0; 2]; 2]));
    assert!(table.parts().iter().any(|p| p.name == "proportional"));
}

#[test]
fn the_learner_learns_is_measured_and_resumed_and_its_agent_is_served() {
    let table = table(9);
    let dir = std::env::temp_dir().join(format!("ludex outside, (test) {}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let plan = Plan::new(&*table, &MeanByFact, "quick", 1, &["matches=60".into()]).unwrap();
    let learn = |resume| {
        let run = Run::open(&dir, &plan.to_toml(), resume, 2, Arc::new(Silent)).unwrap();
        Job { table: table.clone(), run, plan: plan.clone() }.learn_with(&MeanByFact).unwrap()
    };
    let report = learn(false);
    assert!(report.against("random").unwrap().score > 0.6, "against random");
    let first = entries(&dir).unwrap();
    learn(true);
    assert_eq!(entries(&dir).unwrap(), first, "nothing is made again");
    let audit = Run::audit(&dir, Audited::All, 2, Arc::new(Silent)).unwrap();
    let audit = Job { table: table.clone(), run: audit, plan: plan.clone() };
    audit.learn_with(&MeanByFact).unwrap();
    assert!(audit.run.findings().wrong.is_empty());

    // A front end holds the report, the session and the views.
    let report = Report::read(&dir).unwrap().unwrap();
    let agent = report.agent(&dir);
    let mut session = Session::new(table.clone(), agent, 1).unwrap();
    session.play_names(["5"]).unwrap();
    let choice = session.choose(&Control::from(Limit::simulations(100))).unwrap();
    let view = serde_json::to_value(ChoiceView::new(session.table(), &choice)).unwrap();
    assert!(view["policy"].as_array().unwrap().len() > 1 && view["move"].is_string());
    session.play(choice.mv).unwrap();
    let view = serde_json::to_value(PositionView::new(session.table(), session.position())).unwrap();
    assert_eq!(view["moves"].as_array().unwrap().len(), 2);
    std::fs::remove_dir_all(dir).unwrap();
}
