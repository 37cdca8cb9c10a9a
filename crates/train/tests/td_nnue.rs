//! The system td-nnue against known answers.

mod common;

use common::{folder, tick};
use ludex_core::{Control, Limit, toy::Nim};
use ludex_train::{native, table};

/// Who leaves a multiple of four wins.
#[test]
fn nim_is_learned_from_its_rules() {
    let (table, dir) = (table::<Nim>(Nim::new(23)), folder("td-nim"));
    let settings = ["train.positions=600000", "selfplay.opening_plies=8", "selfplay.wins=off", "measure.games=0"];
    let report = tick(&table, "td-nnue", &dir, &settings);
    let agent = report.agent.clone().without("cpu_ms");
    let mut agent = table.agent(&agent, 1).unwrap();
    let mut position = table.start();
    let mut right = 0;
    // The learned player leaves the right heap wherever there is one, without looking further than its own move.
    for left in (1..=23u32).rev() {
        if left % 4 != 0 {
            let choice = agent.choose(&*position, &Control::from(Limit::depth(1))).unwrap();
            right += (table.move_name(choice.mv) == (left % 4).to_string()) as u32;
        }
        position.play(table.parse_move("1").unwrap()).unwrap();
    }
    assert!(right >= 16, "{right} of 18 heaps are played right");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn random_play_shows_what_a_learner_needs_to_know() {
    let names = |table: &dyn ludex_play::Table, facts: &[u32]| -> Vec<String> {
        facts.iter().map(|&f| table.fact_name(ludex_core::Fact(f))).collect()
    };
    let connect4 = ludex_train::open("connect4").unwrap();
    let survey = native(&*connect4).unwrap().survey(300, 1);
    assert_eq!(names(&*connect4, &survey.mover_facts), ["(control x)", "(control o)"]);
    assert!((20.0..23.0).contains(&survey.plies) && (6.5..7.0).contains(&survey.branching), "{survey:?}");
    assert!(survey.wins > 0.2 && !survey.margin && !survey.hidden);
    let phases = survey.phases(4, connect4.info().facts as usize);
    assert_eq!(phases.len(), 4);
    assert!(phases.starts.is_sorted() && (4..9).contains(&phases.starts[0]), "{:?}", phases.starts);
    let othello = ludex_train::open("othello").unwrap();
    let survey = native(&*othello).unwrap().survey(100, 1);
    assert!(survey.margin && survey.wins < 0.05);
    // The men of Morris come and go: its games are not cut into phases.
    let morris = ludex_train::open("morris").unwrap();
    let survey = native(&*morris).unwrap().survey(100, 1);
    assert!(survey.phases(4, morris.info().facts as usize).len() <= 4);
}
