//! Tests which texts are accepted and what they mean: readings, non-standard forms, careless sheets, hidden choices.

mod common;

use common::{agrees_with_reference, fact_names, legal_names};
use ludex_core::{Game, Move, Player, laws};
use ludex_gdl::{
    Budget, CheckOptions, Error, ErrorKind, FactsOptions, Finding, GdlGame, GdlOptions, Reading, Severity, check, dot,
    facts, summary,
};

fn open_as(text: &str, reading: Reading) -> Result<GdlGame, Error> {
    GdlGame::new("test", text, &GdlOptions { reading, ..GdlOptions::default() })
}

fn open(text: &str) -> GdlGame {
    open_as(text, Reading::Plain).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

fn corpus(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/corpus/{name}.kif", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A game of one step, with more statements added.
fn around(more: &str) -> String {
    format!("(role x) (init p) (legal x go) (<= (next q) (true p)) (<= terminal (true q)) (goal x 100) {more}")
}

#[test]
fn symbols_are_case_sensitive_unless_read_leniently() {
    let text = "(role x) (init (Cell A)) (legal x go) (<= (legal x (mark ?y)) (true (cell ?Y)) (true (cell ?y)))
        (<= (next (cell ?y)) (true (Cell ?y))) (<= terminal (true (cell a))) (goal x 100)";
    let strict = open_as(text, Reading::Strict).unwrap();
    assert_eq!(legal_names(&strict, &strict.initial(), 0).len(), 1);
    let lenient = open_as(text, Reading::Lenient).unwrap();
    assert!(lenient.outcome(&lenient.initial()).is_some(), "(Cell A) is (cell a)");
    assert_eq!(fact_names(&lenient, &lenient.initial()).first().unwrap(), "(Cell A)", "the spelling is kept");
    assert_eq!(lenient.parse_position("(CELL a)").unwrap(), lenient.initial());
}

#[test]
fn keywords_are_keywords_in_any_case() {
    let game = open_as(
        "(ROLE x) (INIT p) (Legal x go) (<= (NEXT q) (TRUE p) (NOT (True r))) (<= Terminal (true q)) (Goal x 100)",
        Reading::Strict,
    )
    .unwrap();
    let next = game.step(&game.initial(), &[Move(0)]).unwrap();
    assert_eq!((game.position(&next).as_str(), game.goals(&next)), ("q", vec![vec![100]]));
}

#[test]
fn non_standard_forms_are_accepted_plainly_and_refused_strictly() {
    for form in [
        "(<= (legal x stay))",
        "(<= (legal x stay) (true p) (not (distinct p p)))",
        "(<= (legal x stay) (and (true p) (true p)))",
        "(<= (legal x stay) (not (or (true q) (true q))))",
        "(<= (legal x stay) (not (s ?any))) (<= (s 1) (true q))",
        "(<= (legal x stay) (open)) (<= (open) (true p))",
    ] {
        let text = around(form);
        let game = open(&text);
        assert_eq!(legal_names(&game, &game.initial(), 0).len(), 2, "{form}");
        let refused = open_as(&text, Reading::Strict).unwrap_err();
        assert!(
            matches!(refused.kind, ErrorKind::NonStandard(_) | ErrorKind::Unsafe { .. }) && refused.line > 0,
            "{refused}"
        );
    }
    let wrapped = format!("({})", around(""));
    assert_eq!(open(&wrapped).info().roles, ["x"]);
}

#[test]
fn errors_name_the_place_in_one_line() {
    let error = |text: &str| open_as(text, Reading::Plain).unwrap_err().to_string();
    assert_eq!(
        error("(role x)\n  (<= (p ?x) (not (q ?x)))"),
        "line 2, column 7: the variable ?x in the head is bound by no positive condition"
    );
    assert_eq!(
        error("(role x)\n(<= (p a) (distinct ?y a))"),
        "line 2, column 1: the variable ?y in a `distinct` is bound by no positive condition"
    );
    assert_eq!(error("(role x) (legal x)"), "line 1, column 10: legal takes two arguments, not 1");
    assert_eq!(error("(true a)"), "line 1, column 1: no rule may define true");
    assert_eq!(error("(init p)"), "there is no (role NAME)");
    assert_eq!(error("(role random) (role x)"), "the role `random` (chance, GDL-II) is not supported");
    assert_eq!(
        error("(role x) (<= (sees x a) (true p))"),
        "line 1, column 14: `sees` (imperfect information, GDL-II) is not supported"
    );
    assert_eq!(error("(role x) (init p)"), "x never has a legal move");
    assert_eq!(error(&around("(goal x much)")), "the goal much is not a whole number");
    let roles: String = (0..9).map(|i| format!("(role r{i})")).collect();
    assert_eq!(error(&roles), "there are 9 roles; at most 8 can play");
}

#[test]
fn base_and_input_change_nothing() {
    let plain = open(&around(""));
    let wrong = open(&around("(base nonsense) (<= (base (x ?y)) (input ?y 3)) (input x dance) (input a b c)"));
    assert_eq!(plain.info().moves, wrong.info().moves);
    assert_eq!(plain.info().facts, wrong.info().facts);
}

#[test]
fn corpus_sheets_agree_with_the_reference() {
    for name in ["simultaneous", "loops", "functions", "careless", "wide"] {
        let text = corpus(name);
        for budget in [Budget::default(), Budget::interpreter()] {
            let game = GdlGame::new(name, &text, &GdlOptions { budget, ..GdlOptions::default() }).unwrap();
            agrees_with_reference(&game, &text, 3, 6, 1);
            laws::check(&game, &laws::Effort { states: 100, collisions: 500, seed: 1 })
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
    assert!(open(&corpus("loops")).info().facts > 0);
    assert_eq!(facts(&open(&corpus("loops")), &FactsOptions::default()).net.loops, 1, "a circle is one loop");
}

#[test]
fn simultaneous_choices_are_hidden_from_those_who_choose_later() {
    let game = open(&corpus("simultaneous"));
    let start = game.initial();
    let mut moves = Vec::new();
    game.legal(&start, &mut moves);
    let after = |m: Move| {
        let mut s = start.clone();
        game.play(&mut s, m);
        s
    };
    let (one, two) = (after(moves[0]), after(moves[1]));
    assert_ne!(one, two);
    assert!(game.hidden(&one) && !game.hidden(&start));
    assert_eq!((game.mover(&start), game.mover(&one)), (Player(0), Player(1)));
    assert_eq!(fact_names(&game, &one), fact_names(&game, &start));
    assert_eq!(game.infoset_key(&one), game.infoset_key(&two));
    assert_ne!(game.key(&one), game.key(&two));
    assert_eq!(game.position(&one), "(round 1) | a (show 1)");
    assert!(game.parse_position("(round 1) | b (show 1)").is_err());
    // Serialised and joint play meet again when all have chosen.
    let mut s = one;
    game.play(&mut s, moves[1]);
    game.play(&mut s, moves[2]);
    assert_eq!(Some(s), game.step(&start, &[moves[0], moves[1], moves[2]]));
    let report = facts(&game, &FactsOptions { depth: 2, playouts: 10, seed: 1 });
    assert_eq!((report.initial_legal, report.perft), (vec![3, 3, 3], vec![27, 24 * 27]));
}

#[test]
fn any_role_may_choose_first() {
    let mut game = open(&corpus("simultaneous"));
    let start = game.initial();
    let moves = game.legal_moves(&start, 0);
    game.choose_first(1);
    let mut s = start.clone();
    let mut movers = Vec::new();
    for m in [1, 0, 2] {
        movers.push(game.mover(&s));
        game.play(&mut s, moves[m]);
    }
    assert_eq!(movers, [Player(1), Player(0), Player(2)]);
    assert_eq!(Some(s), game.step(&start, &[moves[0], moves[1], moves[2]]));
    laws::check(&game, &laws::Effort { states: 100, collisions: 500, seed: 1 }).unwrap();
}

#[test]
fn of_several_goals_the_highest_counts_in_means_and_sums_too() {
    // Whoever wins, b also has a goal of 0.
    let game = open(
        "(role a) (role b) (init s) (legal a l) (legal a r) (legal b n)
        (<= (next w) (does a l)) (<= (next v) (does a r)) (<= terminal (true w)) (<= terminal (true v))
        (<= (goal a 100) (true w)) (<= (goal a 0) (true v))
        (<= (goal b 0) (true w)) (<= (goal b 100) (true v)) (<= (goal b 0) (true v))",
    );
    assert!(game.info().zero_sum);
    let report = facts(&game, &FactsOptions { depth: 1, playouts: 400, seed: 1 }).playouts.unwrap();
    assert!(report.mean_goal.iter().all(|g| (g - 50.0).abs() < 10.0), "{:?}", report.mean_goal);
    assert!((150..250).contains(&report.goal_errors));
}

#[test]
fn a_relation_may_depend_on_its_own_negation_if_no_instance_does() {
    let rules = |even: &str, goal: &str| {
        format!(
            "(role a) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (<= (legal a stay) (true (n ?x)))
            (<= (legal a go) (true (n ?x)) (even ?x)) (even 0) {even}
            (<= (next (n ?y)) (true (n ?x)) (succ ?x ?y)) (<= (next went) (does a go)) (<= (next went) (true went))
            (<= terminal (true (n 4))) (<= (goal a 0) (not (true went))) {goal}"
        )
    };
    let unstratified = rules("(<= (even ?y) (succ ?x ?y) (not (even ?x)))", "(<= (goal a 100) (not (goal a 0)))");
    let plain = rules("(even 2) (even 4)", "(<= (goal a 100) (true went))");
    let results = |text: &str| {
        let report = facts(&open(text), &FactsOptions { depth: 4, playouts: 200, seed: 1 });
        let playouts = report.playouts.unwrap();
        (report.perft, playouts.mean_goal, playouts.goal_errors)
    };
    assert_eq!(results(&unstratified), results(&plain));
    let strict = GdlOptions { reading: Reading::Strict, ..GdlOptions::default() };
    assert!(GdlGame::new("x", &unstratified, &strict).unwrap_err().to_string().contains("depends on its own negation"));
    let findings = check(&unstratified, &CheckOptions::default());
    let warned = |f: &Finding| f.severity == Severity::Warning && f.to_string().contains("depends on its own negation");
    assert!(findings.iter().any(warned) && findings.iter().all(|f| f.severity != Severity::Error), "{findings:?}");
}

#[test]
fn careless_ends_have_an_outcome_and_are_reported() {
    let text = corpus("careless");
    let game = open(&text);
    let go = game.parse_move("go").unwrap();
    let wait = game.parse_move("wait").unwrap();
    let stay = game.parse_move("stay").unwrap();
    let stuck = game.step(&game.initial(), &[go, wait]).unwrap();
    assert!(!game.is_terminal(&stuck));
    assert_eq!(game.outcome(&stuck).unwrap().to_string(), "-1 -1", "a state without a legal move is an end");
    let doubled = game.step(&game.initial(), &[stay, wait]).unwrap();
    assert_eq!(game.goals(&doubled), [vec![30, 100], vec![]]);
    assert_eq!(game.outcome(&doubled).unwrap().to_string(), "1 -1", "of several goals the highest counts, of none 0");
    let report = facts(&game, &FactsOptions { depth: 1, playouts: 100, seed: 1 }).playouts.unwrap();
    assert_eq!(report.goal_errors, 100);
    assert!(report.no_legal_move_errors > 20);
    let findings: Vec<String> = check(&text, &CheckOptions::default()).iter().map(|f| f.to_string()).collect();
    for part in ["no legal move though", "no goal at the end", "several goals at the end"] {
        assert!(findings.iter().any(|f| f.contains(part)), "{part} in {findings:?}");
    }
}

#[test]
fn the_validator_explains_with_place_and_advice() {
    let found = |text: &str| check(text, &CheckOptions::default());
    let lines = |text: &str| found(text).iter().map(|f| f.to_string()).collect::<Vec<_>>().join("\n");
    let unknown = "warning at line 2, column 17: nothing makes (opn ?x) true (it never holds)";
    assert!(lines("(role x)\n(<= (legal x a) (opn ?x))").contains(unknown));
    assert!(lines(&around("(s 1) (s 1 2)")).contains("s is used with 1 and 2 arguments"));
    assert!(lines(&around("(Row 1) (<= (r ?x) (row ?x))")).contains("differ only in case"));
    assert!(lines("(role x) (init p) (legal x go) (<= (next p) (true p))").contains("did not end"));
    let unstratified = around("\n(<= p (not p)) (<= (next q) p)");
    let errors: Vec<_> = found(&unstratified).into_iter().filter(|f| f.severity == Severity::Error).collect();
    assert_eq!((errors.len(), errors[0].line), (1, 2));
    assert!(errors[0].to_string().contains("depends on its own negation"));
    let strict = CheckOptions {
        open: GdlOptions { reading: Reading::Strict, ..GdlOptions::default() },
        ..CheckOptions::default()
    };
    assert!(check(&around("(<= (legal x stay))"), &strict)[0].to_string().contains("strict reading refuses it"));
    assert!(found(&around("")).iter().all(|f| f.severity != Severity::Error));
}

#[test]
fn conditions_that_nothing_can_make_true_are_named_with_what_was_meant() {
    let sheet = include_str!("../../../rules/tictactoe.kif");
    let never = |text: &str| -> Vec<String> {
        let found = check(text, &CheckOptions::default());
        let never = found.iter().filter(|f| f.message.contains("nothing makes"));
        never.map(|f| format!("{}:{} {}", f.line, f.column, f.message)).collect()
    };
    assert!(never(sheet).is_empty(), "{:?}", never(sheet));
    // What is right, what is written instead, what is named of it, and what was meant.
    let slips = [
        ("noop) (true (control ?q))", "noop) (true (contrl ?q))", "(contrl ?q)", "; did you mean control?"),
        ("noop) (true (control ?q))", "noop) (control ?q)", "(control ?q)", "; did you mean (true (control ..))?"),
        ("(does ?p (mark ?c ?r))", "(does ?p (marc ?c ?r))", "(does ?p (marc ?c ?r))", "; did you mean mark?"),
        ("terminal (line ?p)", "terminal (lime ?p)", "(lime ?p)", "; did you mean line?"),
        ("(not (line x))", "(not (line red))", "(line red)", ""),
    ];
    for (right, wrong, named, meant) in slips {
        let text = sheet.replacen(right, wrong, 1);
        let before = &text[..text.find(wrong).unwrap() + wrong.find(named).unwrap()];
        let line = before.lines().count();
        let column = before.lines().last().unwrap().chars().count() + 1;
        let wanted = format!("{line}:{column} nothing makes {named} true{meant}");
        assert_eq!(never(&text), [wanted], "{wrong}");
    }
    // Of conditions that fail because of another only that one is named, and facts that follow from themselves are.
    let caused = around("(<= (a ?x) (true (absent ?x))) (<= (b ?x) (a ?x)) (<= (legal x go) (b ?x))");
    assert_eq!(never(&caused).len(), 1, "{:?}", never(&caused));
    let circle = around("(<= (next ghost) (true ghost)) (<= (legal x go) (not (true ghost)))");
    assert!(never(&circle).iter().any(|l| l.contains("nothing makes ghost true")), "{:?}", never(&circle));
}

#[test]
fn a_net_can_be_summarised_and_written_as_a_graph() {
    let game = open(&corpus("loops"));
    assert!(summary(&game).contains("loops       1"));
    let graph = dot(&game).unwrap();
    assert!(graph.starts_with("digraph") && graph.contains("(does walker (toggle 1 2))") && graph.contains("terminal"));
    let report = serde_json::to_value(facts(&game, &FactsOptions::default())).unwrap();
    for key in ["roles", "initial_legal", "perft", "playouts", "set_up_seconds", "net"] {
        assert!(!report[key].is_null(), "{key}");
    }
}

#[test]
fn moves_and_positions_that_make_no_sense_are_refused() {
    let game = open(&around(""));
    for text in ["(", ")", "(nothing here)", "q (", "p | x go", "| y go", "|"] {
        assert!(game.parse_position(text).is_err() || text == "|", "{text}");
    }
    for text in ["", "(go)", "stay", "go go", "((", "\u{0}"] {
        assert_eq!(game.parse_move(text), None, "{text}");
    }
    assert_eq!(game.parse_move(" go ; a comment"), Some(Move(0)));
    assert_eq!(game.step(&game.initial(), &[]), None);
}
