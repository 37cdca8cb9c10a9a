//! What is learned from: records of matches, proofs, patterns, and facts as inputs.

use ludex_core::{Fact, Move, Payoffs, Player, Rng};
use ludex_learn::{EncodedRow, Split};
use ludex_play::{Spec, Table, winner};
use ludex_search::backward::BackwardOptions;
use ludex_train::encoders::{Coding, View, encoder};
use ludex_train::policy_dataset::{PolicyDataset, PolicyTarget};
use ludex_train::proof_selfplay::{Bootstrap, Heard, LabelOptions, ProofMatch, ProofPlayer, Prune, SOURCES};
use ludex_train::records::{Child, Labelled, Played, Records, RootMove};
use ludex_train::selfplay::self_match;
use ludex_train::store::{Artifact, Run, Silent};
use ludex_train::{native, open};
use std::collections::HashSet;
use std::sync::Arc;

fn encoded(game: &str, coding: Coding, view: View, moves: &[&str]) -> Vec<(usize, f32)> {
    let table = open(game).unwrap();
    let encoder = encoder(&*table, view, coding).unwrap();
    let mut position = table.start();
    moves.iter().for_each(|m| position.play(table.parse_move(m).unwrap()).unwrap());
    let mut row = EncodedRow::default();
    encoder.encode(&position.facts(), position.mover(), &mut row);
    row.row().iter().collect()
}

#[test]
fn signed_cells_are_one_input_a_point_and_change_with_the_mover() {
    let table = open("gomoku:5x5x4").unwrap();
    assert_eq!(encoder(&*table, View::Auto, Coding::SignedCells).unwrap().inputs(), 25);
    assert_eq!(encoded("gomoku:5x5x4", Coding::SignedCells, View::Auto, &["c2"]), [(7, -1.0)], "the opponent's stone");
    assert!(encoder(&*open("breakthrough").unwrap(), View::Auto, Coding::SignedCells).is_err());
}

#[test]
fn signed_inputs_are_cells_and_turn() {
    let table = open("connect4").unwrap();
    let signed = encoder(&*table, View::Absolute, Coding::Signed).unwrap();
    assert_eq!(signed.inputs(), 43, "one input a cell and one for the turn");
    let mut values: Vec<f32> =
        encoded("connect4", Coding::Signed, View::Absolute, &["4", "4", "3"]).iter().map(|(_, v)| *v).collect();
    values.sort_by(f32::total_cmp);
    assert_eq!(values, [-1.0, -1.0, 1.0, 1.0], "two discs and one disc, and the second player's turn");
}

#[test]
fn a_view_that_needs_a_mirror_is_refused_without_one() {
    let sheet = "(role x) (role o) (init a) (<= (legal ?r go) (role ?r)) (<= (next b) (true a)) (<= terminal (true b))
        (goal x 100) (goal o 0)";
    let path = std::env::temp_dir().join(format!("ludex-encoders-{}.kif", std::process::id()));
    std::fs::write(&path, sheet).unwrap();
    let table = open(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(encoder(&*table, View::Mover, Coding::Facts).is_err());
    assert!(encoder(&*table, View::Auto, Coding::Facts).is_ok());
}

#[test]
fn a_table_comes_back_as_it_was_written_and_has_the_same_bytes_each_time() {
    let table = open("connect4").unwrap();
    let info = table.info();
    let mut all = Records::<Labelled>::named(&*table);
    for i in 0..500u32 {
        let facts: Vec<Fact> = (0..info.facts).filter(|f| f * 7 % 11 == i % 11).map(Fact).collect();
        let (value, result) = (Payoffs::of(Player(0), i as f32 / 500.0), Payoffs::win(Player((i / 30 % 2) as u8)));
        let (mover, source) = (Player((i % 2) as u8), i / 200);
        let record = Labelled { mover, source, match_id: i / 30, ply: i % 30, value, result };
        all.push(&facts, &record);
        assert_eq!((all.row(i as usize), all.facts(i as usize)), (record, facts));
    }
    let bytes = all.to_bytes();
    let back = Records::<Labelled>::from_bytes(&bytes).unwrap();
    assert_eq!(back, all);
    assert_eq!(back.to_bytes(), bytes);
    assert!(Records::<Labelled>::from_bytes(&bytes[..bytes.len() / 2]).is_err());
    assert!(Records::<Child>::from_bytes(&bytes).is_err(), "another kind of record");
    let empty = Records::<Child>::new(info);
    assert_eq!(Records::from_bytes(&empty.to_bytes()).unwrap(), empty);
}

/// The patterns of some matches.
fn dataset(table: &dyn Table, matches: usize, coding: Coding, target: PolicyTarget) -> PolicyDataset {
    let dir = std::env::temp_dir().join(format!("ludex-patterns-{}-{matches}-{target:?}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let run = Run::open(&dir, "test = true\n", false, 1, Arc::new(Silent)).unwrap();
    let agent = "uct(sims=60, expand=second)".parse().unwrap();
    let parts = run.stage("play", matches, |i| {
        let mut all = Records::<RootMove>::new(table.info());
        self_match(table, &agent, &*table.start(), (i as u32, i as u64), &mut all).map(|_| all)
    });
    let encoder = encoder(table, View::Auto, coding).unwrap();
    let how = (target, [70.0, 15.0, 15.0], 0);
    let set = PolicyDataset::new(&parts.unwrap(), table.info(), &encoder, how, &mut Rng::stream(3, 4)).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    set
}

#[test]
fn no_pattern_stands_twice_and_the_sets_share_none() {
    let table = open("tictactoe").unwrap();
    let set = dataset(&*table, 40, Coding::Facts, PolicyTarget::Visits);
    let mut seen = HashSet::new();
    for i in 0..set.data.len() {
        assert!(seen.insert(set.data.row(i).iter().map(|(i, _)| i).collect::<Vec<_>>()));
    }
    assert!(set.data.len() < set.states);
    let s = &set.split;
    let all: HashSet<u32> = s.train.iter().chain(&s.validation).chain(&s.test).copied().collect();
    assert_eq!(all.len(), set.data.len());
    assert_eq!(s.train.len() + s.validation.len() + s.test.len(), all.len());
    assert!(!s.validation.is_empty() && !s.test.is_empty());
}

#[test]
fn targets_are_between_a_tenth_and_nine_tenths_and_taken_points_count_in_no_error() {
    let table = open("tictactoe").unwrap();
    for target in [PolicyTarget::Visits, PolicyTarget::WinRate, PolicyTarget::Played] {
        let data = &dataset(&*table, 10, Coding::SignedCells, target).data;
        for i in 0..data.len() {
            let taken: Vec<usize> = data.row(i).iter().map(|(i, _)| i).collect();
            let free: Vec<usize> = (0..9).filter(|&o| data.known(i, o)).collect();
            assert!(!free.is_empty() && free.iter().all(|o| !taken.contains(o)));
            assert!(free.iter().all(|&o| (0.0999..=0.9001).contains(&data.targets(i)[o])));
            let top = free.iter().map(|&o| data.targets(i)[o]).fold(0.0, f32::max);
            assert!(target == PolicyTarget::WinRate || (top - 0.9).abs() < 1e-6, "the best move has the highest");
        }
    }
}

#[test]
fn patterns_are_dealt_out_in_proportion() {
    let table = open("connect4").unwrap();
    let dealt = |n: u32, shares: [f64; 3]| {
        let dir = std::env::temp_dir().join(format!("ludex-dealt-{}-{n}", std::process::id()));
        let run = Run::open(&dir, "test = true\n", false, 1, Arc::new(Silent)).unwrap();
        let parts = run.stage("play", 1, |_| {
            let mut all = Records::<RootMove>::new(table.info());
            for i in 0..n {
                let facts: Vec<Fact> = (0..10).filter(|f| i >> f & 1 == 1).map(Fact).collect();
                let (mover, value) = (Player(0), Payoffs::draw(2));
                let (mv, visits, played, match_id, ply) = (Move(0), 1, true, i, 0);
                all.push(&facts, &RootMove { mover, mv, visits, played, match_id, ply, value, result: value });
            }
            Ok(all)
        });
        let encoder = encoder(&*table, View::Absolute, Coding::Facts).unwrap();
        let how = (PolicyTarget::Played, shares, 0);
        let set = PolicyDataset::new(&parts.unwrap(), table.info(), &encoder, how, &mut Rng::new(1)).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        set.split
    };
    let split = dealt(1000, [70.0, 15.0, 15.0]);
    assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [700, 150, 150]);
    let split = dealt(300, [5815.0, 18260.0, 6000.0]);
    assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [58, 182, 60]);
    assert_eq!(dealt(5, [1.0, 1.0, 1.0]), Split::all(5));
}

#[test]
fn children_are_worth_what_the_search_says_to_the_player_who_chose_them() {
    // In tictactoe a child that wins at once is worth +1 to its chooser, whoever that is.
    let table = open("tictactoe").unwrap();
    let spec = "uct(sims=200)".parse().unwrap();
    for seed in 0..10 {
        let (mut all, mut states) = (Records::<Child>::new(table.info()), Records::<Played>::new(table.info()));
        let episode = self_match(&*table, &spec, &*table.start(), (3, seed), &mut all).unwrap();
        self_match(&*table, &spec, &*table.start(), (3, seed), &mut states).unwrap();
        assert_eq!(states.len(), episode.plies.len());
        for child in all.iter() {
            assert_eq!((child.result, child.match_id), (episode.outcome, 3));
            assert!(child.value.as_slice().iter().sum::<f32>().abs() < 1e-5);
        }
        let won = all.iter().filter(|c| c.value[c.chooser] == 1.0).count();
        assert!(winner(&episode.outcome).is_none() || won > 0);
    }
}

fn labels() -> LabelOptions {
    LabelOptions {
        heard: Heard::Both,
        ends: true,
        ramp: true,
        most: 0,
        backward_nodes: 2_000,
        pruning: Prune::None,
        join: BackwardOptions::default().transpositions,
        consistent_from: 0,
        tolerance: 0.0,
        depth: 0,
        consistent_nodes: 0,
    }
}

fn studied(game: &str, record: bool, labels: &LabelOptions) -> (Payoffs, Records<Labelled>) {
    let table = open(game).unwrap();
    let agent: Spec = "minimax(nodes=300, eval=random(by=call), order=eval, table=1)".parse().unwrap();
    let player = ProofPlayer { agent: &agent, record, bootstrap: None };
    let study = ProofMatch { players: [player; 2], opening_plies: 0, labels };
    let mut all = Records::<Labelled>::new(table.info());
    let result = native(&*table).unwrap().proof_match(&*table, &study, (5, 9), &mut all).unwrap();
    (result, all)
}

#[test]
fn a_state_has_one_row_by_its_best_source_and_the_ramp_rises_to_the_result() {
    let (result, all) = studied("connect4", true, &labels());
    let mut seen = HashSet::new();
    assert!((0..all.len()).all(|i| seen.insert(all.key(i).to_vec())), "no state twice");
    let mut ramp: Vec<(u32, f32)> = Vec::new();
    for e in all.iter() {
        let v = e.value[Player(0)];
        assert!(e.source < 3 && e.match_id == 5 && e.result == result);
        match SOURCES[e.source as usize] {
            "terminal" => assert!([-1.0, 0.0, 1.0].contains(&v)),
            _ => ramp.push((e.ply, v)),
        }
    }
    ramp.sort_by_key(|r| r.0);
    assert_eq!(ramp[0], (0, 0.0));
    assert!(ramp.windows(2).all(|w| w[0].1.abs() <= w[1].1.abs()) && ramp.len() > 4, "{ramp:?}");
    let terminal = all.iter().filter(|e| SOURCES[e.source as usize] == "terminal").count();
    assert!(terminal > 50, "{terminal}");
}

#[test]
fn what_is_not_wanted_is_not_written_down() {
    let (_, all) = studied("connect4", true, &labels());
    let (_, few) = studied("connect4", true, &LabelOptions { most: 50, ..labels() });
    let played = all.iter().filter(|e| SOURCES[e.source as usize] == "ramp").count();
    assert!((50..50 + 43).contains(&few.len()) && few.len() < all.len() && played > 0);
    let (_, deaf) = studied("connect4", false, &LabelOptions { backward_nodes: 0, ..labels() });
    assert!(deaf.iter().all(|e| SOURCES[e.source as usize] == "ramp"));
    let (_, none) = studied("connect4", false, &LabelOptions { backward_nodes: 0, ramp: false, ..labels() });
    assert!(none.is_empty());
}

#[test]
fn a_bootstrapped_heuristic_adds_consistent_rows() {
    let agent: Spec = "minimax(nodes=300, eval=random(by=net), order=eval, table=1)".parse().unwrap();
    let table = open("connect4").unwrap();
    let bootstrap = Some(Bootstrap { tolerance: 0.1, depth: 2, nodes: 1_000 });
    let player = ProofPlayer { agent: &agent, record: true, bootstrap };
    let labels = LabelOptions { backward_nodes: 500, ends: false, ..labels() };
    let study = ProofMatch { players: [player; 2], opening_plies: 2, labels: &labels };
    let mut all = Records::<Labelled>::new(table.info());
    native(&*table).unwrap().proof_match(&*table, &study, (0, 3), &mut all).unwrap();
    let consistent = all.iter().filter(|e| SOURCES[e.source as usize] == "consistent").count();
    assert!(consistent > 5, "{consistent}");
    let uct = "uct(sims=10)".parse().unwrap();
    let wrong = ProofMatch { players: [ProofPlayer { agent: &uct, record: true, bootstrap: None }; 2], ..study };
    assert!(
        native(&*table)
            .unwrap()
            .proof_match(&*table, &wrong, (0, 3), &mut all)
            .unwrap_err()
            .to_string()
            .contains("minimax")
    );
}
