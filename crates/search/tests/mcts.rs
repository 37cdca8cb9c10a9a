//! MCTS adds up, finds what is solved, and means the same thing for every player.

use ludex_core::toy::Nim;
use ludex_core::{Control, Fact, Game, GameInfo, Limit, Move, Payoffs, Player, Rng, Search, Stop, TextError};
use ludex_games::*;
use ludex_search::AlphaBeta;
use ludex_search::mcts::*;

fn parts<G: Game>(game: &G, options: MctsOptions) -> Mcts<G> {
    let select = Ucb1::new(1.4, Form::Plain, Reward::Unit);
    let expand = OneChild::new(Next::Random);
    Mcts::new(game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), options)
}

/// Every part that can be combined, for laws that must hold for all.
fn all_kinds<G: Game>(game: &G) -> Vec<(&'static str, Mcts<G>)> {
    let ucb = || Box::new(Ucb1::new(1.4, Form::Plain, Reward::Unit)) as Box<dyn Select>;
    let one = |next| Box::new(OneChild::new(next)) as Box<dyn Expand<G>>;
    let all = |when| Box::new(AllChildren::new(when, PlayoutFrom::Child)) as Box<dyn Expand<G>>;
    let uniform = || Box::new(Uniform) as Box<dyn Playout<G>>;
    let o = MctsOptions::default();
    let make = |select, expand, playout| Mcts::new(game, select, expand, playout, Box::new(Mean), o);
    vec![
        ("one random child", make(ucb(), one(Next::Random), uniform())),
        ("the leftmost child", make(ucb(), one(Next::Leftmost), uniform())),
        ("all children", make(ucb(), all(When::FIRST), uniform())),
        ("all on the second visit", make(ucb(), all(When::SECOND), uniform())),
        ("UCB1-Tuned", make(Box::new(Ucb1Tuned::new(1.0)), one(Next::Random), uniform())),
        ("RAVE", make(Box::new(Grave::new(0, 1e-3, 0.3)), all(When::FIRST), uniform())),
        ("GRAVE", make(Box::new(Grave::new(50, 1e-5, 0.0)), all(When::FIRST), uniform())),
        ("MAST", make(ucb(), one(Next::Random), Box::new(Mast::new(0.4)))),
        ("decisive moves", make(ucb(), one(Next::Random), Box::<Decisive>::default())),
    ]
}

/// Visits of a node are those of its children and of the simulations that ended in it; totals likewise.
fn adds_up<G: Game>(game: &G) {
    for (kind, mut mcts) in all_kinds(game) {
        let choice = mcts.search(game, &game.initial(), &Limit::simulations(2_000).into(), &mut Rng::new(3));
        assert_eq!(choice.simulations, 2_000, "{kind}");
        let tree = mcts.tree();
        assert_eq!(tree.node(ROOT).visits(), 2_000, "{kind}");
        let mut todo = vec![ROOT];
        while let Some(n) = todo.pop() {
            let children = tree.children(n);
            let below: u32 = children.iter().map(|&c| tree.node(c).visits()).sum();
            let visits = tree.node(n).visits();
            assert!(below <= visits, "{kind}: {below} visits below {visits}");
            for p in (0..tree.players() as u8).map(Player) {
                let total: f64 = children.iter().map(|&c| tree.total(c, p)).sum();
                let here = (visits - below) as f64;
                assert!((tree.total(n, p) - total).abs() <= here + 1e-9, "{kind}: totals of {p:?} do not add up");
            }
            let sum: f64 = (0..2).map(|p| tree.total(n, Player(p))).sum();
            assert!(sum.abs() < 1e-9, "{kind}: a zero-sum game stays so");
            todo.extend(children);
        }
        assert_eq!(
            choice.root.iter().map(|r| r.visits).sum::<u64>(),
            2_000,
            "{kind}: every simulation leaves the root"
        );
    }
}

#[test]
fn visits_and_totals_add_up_whatever_the_parts() {
    adds_up(&Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap());
    adds_up(&Dots::<u64>::new(2, 2, Score::Win).unwrap());
    adds_up(&Connect4::<u64>::new(7, 6, 4).unwrap());
}

#[test]
fn the_same_seed_gives_the_same_tree() {
    let game = Othello::new(8, 8).unwrap();
    for ((kind, mut a), (_, mut b)) in all_kinds(&game).into_iter().zip(all_kinds(&game)) {
        let s = game.initial();
        let limit = Limit::simulations(300).into();
        assert_eq!(
            a.search(&game, &s, &limit, &mut Rng::new(9)),
            b.search(&game, &s, &limit, &mut Rng::new(9)),
            "{kind}"
        );
    }
}

/// Random positions in which alpha-beta proves a win within five plies that not every move keeps: MCTS with the solver must
/// find a move that keeps it.
fn finds_proven_moves<G: Game>(game: G, simulations: u64) {
    let mut rng = Rng::new(5);
    let mut found = 0;
    for _ in 0..20_000 {
        let mut s = game.initial();
        for _ in 0..rng.below(80) {
            match game.sample(&s, &mut rng) {
                Some(m) => game.play(&mut s, m),
                None => break,
            }
        }
        if game.outcome(&s).is_some() {
            continue;
        }
        let mover = game.mover(&s);
        let proof = AlphaBeta::plain().search(&game, &s, &Limit::depth(4).into(), &mut rng);
        if proof.value[mover] < 1.0 {
            continue;
        }
        let mut moves = Vec::new();
        game.legal(&s, &mut moves);
        // Depth 6 and more below each move: whether it wins at all, not only whether it wins at once.
        let wins = |&&m: &&Move| {
            let mut child = s.clone();
            game.play(&mut child, m);
            match game.outcome(&child) {
                Some(p) => p[mover] >= 1.0,
                None => {
                    AlphaBeta::plain().search(&game, &child, &Limit::depth(5).into(), &mut Rng::new(1)).value[mover]
                        >= 1.0
                }
            }
        };
        let winning: Vec<Move> = moves.iter().filter(wins).copied().collect();
        if winning.len() == moves.len() {
            continue;
        }
        // By turns, since all must find them.
        let solver = if found % 2 == 0 { Solver::Full } else { Solver::Shared };
        let options = MctsOptions { solver, transpositions: found % 4 >= 2, ..MctsOptions::default() };
        let choice = parts(&game, options).search(&game, &s, &Limit::simulations(simulations).into(), &mut rng);
        let at = format!("{} \"{}\"", game.info().name, game.position(&s));
        assert!(winning.contains(&choice.mv), "{at}: {} does not win", game.move_name(choice.mv));
        for r in choice.root.iter().filter(|r| r.proven) {
            let won = r.value.unwrap()[mover] >= 1.0;
            let name = game.move_name(r.mv);
            assert!(
                won || !proof.root.iter().any(|p| p.mv == r.mv && p.proven && p.value.unwrap()[mover] >= 1.0),
                "{at}: {name}"
            );
        }
        found += 1;
        if found == 25 {
            return;
        }
    }
    panic!("{}: only {found} tactical positions", game.info().name);
}

#[test]
fn the_solver_finds_proven_moves_in_small_games() {
    finds_proven_moves(Mnk::<1>::new("tictactoe", 3, 3, 3, false).unwrap(), 2_000);
    finds_proven_moves(Connect4::<u64>::new(7, 6, 4).unwrap(), 20_000);
    finds_proven_moves(Mnk::<1>::new("mnk", 5, 5, 4, false).unwrap(), 40_000);
    finds_proven_moves(Breakthrough::new(5, 6).unwrap(), 20_000);
}

#[test]
fn the_solver_finds_proven_moves_where_turns_repeat_or_pass() {
    finds_proven_moves(Dots::<u64>::new(3, 2, Score::Win).unwrap(), 20_000);
    finds_proven_moves(Checkers::new(6, 6, 40).unwrap(), 20_000);
    finds_proven_moves(Othello::new(4, 4).unwrap(), 10_000);
    finds_proven_moves(Morris::new(Draw::Repetition), 40_000);
}

#[test]
fn a_lost_position_is_defended_by_the_move_that_was_hardest_to_refute() {
    for (heap, seed) in [8, 12].into_iter().flat_map(|heap| (0..10).map(move |seed| (heap, seed))) {
        let nim = Nim::new(heap);
        let mut mcts = parts(&nim, MctsOptions { solver: Solver::Full, ..MctsOptions::default() });
        let choice = mcts.search(&nim, &nim.initial(), &Limit::simulations(50_000).into(), &mut Rng::new(seed));
        assert!(choice.root.iter().all(|r| r.proven), "every move loses, and that is proven");
        let chosen = choice.root.iter().find(|r| r.mv == choice.mv).unwrap();
        assert_eq!(Some(chosen.visits), choice.root.iter().map(|r| r.visits).max());
    }
}

#[test]
fn the_solver_proves_the_value_of_nim() {
    for heap in 1..=12 {
        let nim = Nim::new(heap);
        let expected = if heap % 4 == 0 { -1.0 } else { 1.0 };
        for (solver, graph) in
            [(Solver::Full, false), (Solver::Full, true), (Solver::Shared, false), (Solver::Shared, true)]
        {
            let mut mcts = parts(&nim, MctsOptions { solver, transpositions: graph, ..MctsOptions::default() });
            let choice = mcts.search(&nim, &nim.initial(), &Limit::simulations(50_000).into(), &mut Rng::new(1));
            assert_eq!(choice.value[Player(0)], expected, "heap {heap}");
            assert!(choice.simulations < 50_000, "heap {heap}: a proven root ends the search");
        }
    }
}

/// Edges may be drawn in any order, so that nearly every position comes up again.
#[test]
fn shared_proofs_are_right_and_come_sooner_where_moves_can_be_exchanged() {
    let game = Dots::<u64>::new(2, 1, Score::Win).unwrap();
    let truth = AlphaBeta::plain().search(&game, &game.initial(), &Limit::depth(7).into(), &mut Rng::new(1)).value;
    let needed = |solver, graph| {
        let mut mcts = parts(&game, MctsOptions { solver, transpositions: graph, ..MctsOptions::default() });
        let choice = mcts.search(&game, &game.initial(), &Limit::simulations(1_000_000).into(), &mut Rng::new(1));
        assert_eq!(choice.value, truth, "{solver:?}");
        choice.simulations
    };
    let (own, shared) = (needed(Solver::Full, false), needed(Solver::Shared, false));
    // 4,394 and 7,685; on 2x2 boxes 1.1 million and more than two.
    assert!(shared < own, "{shared} and {own}");
    let graph = needed(Solver::Full, true);
    assert!(graph < shared, "{graph} and {shared}");
}

/// A graph has one node with children for each position, and their visits are those of all simulations that went on from it.
#[test]
fn a_graph_searches_each_position_once() {
    let game = Dots::<u64>::new(2, 2, Score::Win).unwrap();
    for when in [When::FIRST, When::SECOND] {
        let options = MctsOptions { transpositions: true, ..MctsOptions::default() };
        let select = Box::new(Ucb1::new(1.4, Form::Plain, Reward::Unit));
        let expand = Box::new(AllChildren::new(when, PlayoutFrom::Child));
        let mut mcts = Mcts::new(&game, select, expand, Box::new(Uniform), Box::new(Mean), options);
        let choice = mcts.search(&game, &game.initial(), &Limit::simulations(20_000).into(), &mut Rng::new(1));
        assert_eq!(choice.root.iter().map(|r| r.visits).sum::<u64>(), 20_000);
        let tree = mcts.tree();
        let (mut seen, mut joined) = (std::collections::HashMap::new(), 0);
        let mut todo = vec![(ROOT, game.initial())];
        let mut done = std::collections::HashSet::new();
        while let Some((n, s)) = todo.pop() {
            let first = tree.canonical(n);
            joined += (first != n) as u32;
            for p in (0..2).map(Player) {
                assert_eq!(tree.mean(n, p), tree.mean(first, p));
            }
            if tree.node(first).opened() {
                assert_eq!(*seen.entry(game.key(&s)).or_insert(first), first, "{}", game.position(&s));
            }
            if !done.insert(first) {
                continue;
            }
            for &c in tree.children(first) {
                let mut s = s;
                game.play(&mut s, tree.node(c).mv());
                todo.push((c, s));
            }
        }
        assert!(joined > 1_000, "{joined} joined nodes");
    }
}

#[test]
fn a_graph_is_reused_with_what_lies_below_the_moves_played() {
    let game = Dots::<u64>::new(2, 2, Score::Win).unwrap();
    let mut mcts = parts(&game, MctsOptions { transpositions: true, reuse: true, ..MctsOptions::default() });
    let (mut rng, mut s) = (Rng::new(1), game.initial());
    let mut kept = 0;
    while game.outcome(&s).is_none() {
        let choice = mcts.search(&game, &s, &Limit::simulations(500).into(), &mut rng);
        let visits: u64 = choice.root.iter().map(|r| r.visits).sum();
        assert!(visits >= 500 + kept, "{visits} after {kept}");
        kept = choice.root.iter().find(|r| r.mv == choice.mv).unwrap().visits.saturating_sub(1);
        game.play(&mut s, choice.mv);
        Search::<Dots<u64>>::advance(&mut mcts, choice.mv);
    }
}

/// The tree of a fixed seed, node by node. `UPDATE=1 cargo test` writes it anew.
#[test]
fn a_golden_tree() {
    let game = Connect4::<u64>::new(4, 4, 3).unwrap();
    let mut mcts = parts(&game, MctsOptions::default());
    mcts.search(&game, &game.initial(), &Limit::simulations(60).into(), &mut Rng::new(1));
    let mut text = String::new();
    fn write<G: Game>(game: &G, tree: &Tree, n: NodeId, depth: usize, text: &mut String) {
        for &c in tree.children(n) {
            let node = tree.node(c);
            let name = game.move_name(node.mv());
            *text += &format!("{}{name} {} {}\n", "  ".repeat(depth), node.visits(), tree.total(c, Player(0)));
            write(game, tree, c, depth + 1, text);
        }
    }
    write(&game, mcts.tree(), ROOT, 0, &mut text);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_tree.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "UPDATE=1 cargo test accepts the change");
}

/// Plays a match game by game, sides changing; gives the share of points of `a`.
fn duel<G: Game>(game: &G, a: impl Fn() -> Mcts<G>, b: impl Fn() -> Mcts<G>, games: u32, simulations: u64) -> f64 {
    let mut points = 0.0;
    for i in 0..games {
        let mut rng = Rng::stream(17, i as u64);
        let mut players = if i % 2 == 0 { [a(), b()] } else { [b(), a()] };
        let mut s = game.initial();
        while game.outcome(&s).is_none() {
            let m =
                players[game.mover(&s).index()].search(game, &s, &Limit::simulations(simulations).into(), &mut rng).mv;
            game.play(&mut s, m);
        }
        points += (game.outcome(&s).unwrap()[Player((i % 2) as u8)] as f64 + 1.0) / 2.0;
    }
    points / games as f64
}

#[test]
fn a_unique_counter_plays_much_worse_than_a_counter_for_each_player() {
    let game = Dots::<u64>::new(3, 3, Score::Win).unwrap();
    let unique = || {
        let select = Ucb1::new(1.4, Form::Plain, Reward::Unit);
        let expand = AllChildren::new(When::SECOND, PlayoutFrom::Child);
        Mcts::new(
            &game,
            Box::new(select),
            Box::new(expand),
            Box::new(Uniform),
            Box::new(UniqueCounter),
            MctsOptions::default(),
        )
    };
    let double = || {
        let select = Ucb1::new(1.4, Form::Plain, Reward::Unit);
        let expand = AllChildren::new(When::SECOND, PlayoutFrom::Child);
        Mcts::new(&game, Box::new(select), Box::new(expand), Box::new(Uniform), Box::new(Mean), MctsOptions::default())
    };
    let score = duel(&game, double, unique, 40, 1_000);
    assert!(score >= 0.8, "the double counter scores {score}");
}

#[test]
fn more_simulations_play_better() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let weak = || Mcts::uct(&game, 1.4);
    let mut points = 0.0;
    for i in 0..30u64 {
        let mut rng = Rng::stream(23, i);
        let (mut a, mut b) = (weak(), weak());
        let strong = Player((i % 2) as u8);
        let mut s = game.initial();
        while game.outcome(&s).is_none() {
            let mover = game.mover(&s);
            let m = match mover == strong {
                true => a.search(&game, &s, &Limit::simulations(800).into(), &mut rng).mv,
                false => b.search(&game, &s, &Limit::simulations(50).into(), &mut rng).mv,
            };
            game.play(&mut s, m);
        }
        points += (game.outcome(&s).unwrap()[strong] as f64 + 1.0) / 2.0;
    }
    assert!(points >= 24.0, "800 simulations score {points} of 30 against 50");
}

#[test]
fn limits_are_kept() {
    let game = Othello::new(8, 8).unwrap();
    let s = game.initial();
    let run = |limit: Limit| Mcts::uct(&game, 1.4).search(&game, &s, &limit.into(), &mut Rng::new(1));
    assert_eq!(run(Limit::simulations(100)).simulations, 100);
    assert_eq!(run(Limit { expansions: Some(50), ..Limit::default() }).nodes, 51);
    let choice = run(Limit { visits: Some(500), ..Limit::default() });
    assert!(choice.simulations < 250 && choice.simulations > 50);
    let start = std::time::Instant::now();
    run(Limit::time(std::time::Duration::from_millis(50)));
    assert!(start.elapsed().as_millis() >= 50 && start.elapsed().as_millis() < 2_000);
    run(Limit { cpu: Some(std::time::Duration::from_millis(20)), ..Limit::default() });
    let control = Control { stop: Some(Stop::new()), ..Limit::simulations(1_000_000).into() };
    control.stop.iter().for_each(Stop::raise);
    let choice = Mcts::uct(&game, 1.4).search(&game, &s, &control, &mut Rng::new(1));
    assert!(choice.simulations < 1_000 && choice.root.len() < 5, "a stopped search still gives a legal move");
}

#[test]
fn a_full_tree_stops_to_grow_and_goes_on() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let mut mcts = parts(&game, MctsOptions { capacity: 200, ..MctsOptions::default() });
    let choice = mcts.search(&game, &game.initial(), &Limit::simulations(5_000).into(), &mut Rng::new(1));
    assert_eq!((choice.simulations, choice.nodes), (5_000, 200));
}

#[test]
fn a_node_takes_at_most_64_bytes() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let mut mcts = Mcts::uct(&game, 1.4);
    mcts.search(&game, &game.initial(), &Limit::simulations(50_000).into(), &mut Rng::new(1));
    let each = mcts.tree().bytes() as f64 / mcts.tree().len() as f64;
    assert!(each <= 64.0, "{each} bytes a node");
}

#[test]
fn reuse_keeps_what_lies_below_the_moves_played() {
    let game = Connect4::<u64>::new(7, 6, 4).unwrap();
    let mut mcts = parts(&game, MctsOptions { reuse: true, ..MctsOptions::default() });
    let mut rng = Rng::new(1);
    let mut s = game.initial();
    let first = mcts.search(&game, &s, &Limit::simulations(2_000).into(), &mut rng);
    let kept = first.root.iter().find(|r| r.mv == first.mv).unwrap();
    game.play(&mut s, first.mv);
    Search::<Connect4<u64>>::advance(&mut mcts, first.mv);
    let second = mcts.search(&game, &s, &Limit::simulations(100).into(), &mut rng);
    assert_eq!(second.root.iter().map(|r| r.visits).sum::<u64>() + 1, kept.visits + 100);
    // A position that the moves played do not lead to begins anew.
    let elsewhere = mcts.search(&game, &game.initial(), &Limit::simulations(100).into(), &mut rng);
    assert_eq!(elsewhere.root.iter().map(|r| r.visits).sum::<u64>(), 100);
}

/// Three players in a row choose a door; whoever chose the number of the first door wins all, and the first player decides
/// who that is. Payoffs do not add up to zero: everybody also likes high doors.
struct Doors(GameInfo);

impl Doors {
    fn new() -> Self {
        let mut info = GameInfo::two_player("doors", "Three choose doors", 3, 16);
        info.roles = vec!["a".into(), "b".into(), "c".into()];
        info.zero_sum = false;
        Doors(info)
    }
}

impl Game for Doors {
    type State = Vec<u32>;
    fn info(&self) -> &GameInfo {
        &self.0
    }
    fn initial(&self) -> Vec<u32> {
        Vec::new()
    }
    fn mover(&self, s: &Vec<u32>) -> Player {
        Player(s.len() as u8 % 3)
    }
    fn legal(&self, s: &Vec<u32>, out: &mut Vec<Move>) {
        out.clear();
        out.extend((0..if s.len() < 3 { 3 } else { 0 }).map(Move));
    }
    fn play(&self, s: &mut Vec<u32>, m: Move) {
        s.push(m.0);
    }
    fn outcome(&self, s: &Vec<u32>) -> Option<Payoffs> {
        // b gets what c leaves it, c likes to match a, a likes c to choose door 2.
        (s.len() == 3).then(|| {
            let a = if s[2] == 2 { 1.0 } else { -0.5 };
            let b = if s[1] == s[2] { -1.0 } else { 0.5 };
            let c = if s[2] == s[0] { 1.0 } else { 0.0 };
            Payoffs::from_slice(&[a, b, c])
        })
    }
    fn facts(&self, _: &Vec<u32>, out: &mut Vec<Fact>) {
        out.clear();
    }
    fn key(&self, s: &Vec<u32>) -> u64 {
        s.iter().fold(1, |k, &d| k * 4 + d as u64)
    }
    fn move_name(&self, m: Move) -> String {
        m.0.to_string()
    }
    fn fact_name(&self, f: Fact) -> String {
        f.0.to_string()
    }
    fn position(&self, s: &Vec<u32>) -> String {
        format!("{s:?}")
    }
    fn parse_position(&self, _: &str) -> Result<Vec<u32>, TextError> {
        Ok(Vec::new())
    }
    fn show(&self, s: &Vec<u32>) -> String {
        format!("{s:?}")
    }
}

#[test]
fn each_of_three_players_maximises_its_own_payoff() {
    let game = Doors::new();
    let solvers = [Solver::Off, Solver::Ends, Solver::Full, Solver::Shared];
    for (solver, graph) in solvers.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let choice = parts(&game, MctsOptions { solver, transpositions: graph, ..MctsOptions::default() }).search(
            &game,
            &game.initial(),
            &Limit::simulations(5_000).into(),
            &mut Rng::new(1),
        );
        // a opens door 2, because c will follow; b keeps away from door 2.
        assert_eq!(choice.mv, Move(2));
        assert_eq!(choice.line[2], Move(2));
        assert_ne!(choice.line[1], Move(2));
        assert!(choice.value[Player(0)] > 0.7 && choice.value[Player(1)] > 0.2 && choice.value[Player(2)] > 0.7);
    }
}

/// Matching pennies with a twist: both choose a side at once; if they differ the second wins, if both choose 0 the first
/// wins, and if both choose 1 it is a small win for the first. The second chooses later but must not see.
struct Pennies(GameInfo);

impl Game for Pennies {
    type State = (Option<u32>, Option<u32>);
    fn info(&self) -> &GameInfo {
        &self.0
    }
    fn initial(&self) -> Self::State {
        (None, None)
    }
    fn mover(&self, s: &Self::State) -> Player {
        Player(s.0.is_some() as u8)
    }
    fn legal(&self, s: &Self::State, out: &mut Vec<Move>) {
        out.clear();
        if s.1.is_none() {
            out.extend([Move(0), Move(1)]);
        }
    }
    fn play(&self, s: &mut Self::State, m: Move) {
        if s.0.is_none() { s.0 = Some(m.0) } else { s.1 = Some(m.0) }
    }
    fn outcome(&self, s: &Self::State) -> Option<Payoffs> {
        let first = if s.0 != Some(s.1?) {
            -1.0
        } else if s.0 == Some(0) {
            1.0
        } else {
            0.2
        };
        Some(Payoffs::of(Player(0), first))
    }
    fn facts(&self, _: &Self::State, out: &mut Vec<Fact>) {
        out.clear();
    }
    fn hidden(&self, s: &Self::State) -> bool {
        s.0.is_some() && s.1.is_none()
    }
    fn infoset_key(&self, s: &Self::State) -> u64 {
        if self.hidden(s) { 7 } else { self.key(s) }
    }
    fn before_hidden(&self, s: &Self::State) -> Self::State {
        if self.hidden(s) { (None, None) } else { *s }
    }
    fn move_name(&self, m: Move) -> String {
        m.0.to_string()
    }
    fn fact_name(&self, f: Fact) -> String {
        f.0.to_string()
    }
    fn position(&self, s: &Self::State) -> String {
        format!("{s:?}")
    }
    fn parse_position(&self, _: &str) -> Result<Self::State, TextError> {
        Ok((None, None))
    }
}

#[test]
fn nobody_answers_a_choice_that_it_must_not_see() {
    let game = Pennies(GameInfo::two_player("pennies", "Pennies", 2, 1));
    for (solver, graph) in
        [(Solver::Off, false), (Solver::Full, false), (Solver::Shared, false), (Solver::Shared, true)]
    {
        let mut mcts = parts(&game, MctsOptions { solver, transpositions: graph, ..MctsOptions::default() });
        let choice = mcts.search(&game, &game.initial(), &Limit::simulations(20_000).into(), &mut Rng::new(1));
        // Whoever saw the first choice would always win: the first player's value would be near -1.
        // Unseen, the equilibrium is 3/8 : 5/8 and worth -0.25 to the first player.
        let total: u64 = choice.root.iter().map(|r| r.visits).sum();
        let share = choice.root[0].visits as f64 / total as f64;
        let value: f64 = choice.root.iter().map(|r| r.visits as f64 * r.value.unwrap()[Player(0)] as f64).sum::<f64>()
            / total as f64;
        assert_eq!(total, 20_000);
        assert!((value + 0.25).abs() < 0.12, "{solver:?}: value {value}");
        assert!((share - 0.375).abs() < 0.2, "{solver:?}: share {share}");
        assert!(!choice.root.iter().any(|r| r.proven), "{solver:?}: nothing is certain here");
    }
}

#[test]
fn asked_where_a_choice_is_hidden_the_search_does_not_see_it() {
    let game = Pennies(GameInfo::two_player("pennies", "Pennies", 2, 1));
    for (solver, reuse) in [(Solver::Off, false), (Solver::Full, true), (Solver::Shared, true)] {
        let shares: Vec<Vec<u64>> = (0..2)
            .map(|first| {
                let mut mcts = parts(&game, MctsOptions { solver, reuse, ..MctsOptions::default() });
                let mut s = game.initial();
                game.play(&mut s, Move(first));
                mcts.advance(Move(first));
                let choice = mcts.search(&game, &s, &Limit::simulations(5_000).into(), &mut Rng::new(1));
                assert_eq!(choice.root.iter().map(|r| r.visits).sum::<u64>(), 5_000 - 2, "all but the first two");
                // Its move is played on from the state with the hidden choice, and the search follows.
                mcts.advance(choice.mv);
                choice.root.iter().map(|r| r.visits).collect()
            })
            .collect();
        assert_eq!(shares[0], shares[1], "{solver:?}: the answer does not depend on what was chosen");
    }
}
