//! The chain-aware player against plain minimax, against simple players, and against the law.

use ludex_baselines::{Chains, Exact, NetBoxes};
use ludex_core::{Choice, Control, Evaluator, Game, Limit, Move, Payoffs, Player, Rng, Search, Stop};
use ludex_games::{Dots, DotsState, Score, Word};
use std::time::{Duration, Instant};

type State = DotsState<u64>;

/// Plain minimax over all subsets of the free edges, without any idea about the game.
struct Oracle {
    /// The free edges, and for each the free edges of the boxes beside it, as bits of the index.
    edges: Vec<u32>,
    beside: Vec<Vec<u32>>,
    /// Net boxes to come for the player to move, by which of the free edges are drawn.
    values: Vec<i8>,
}

impl Oracle {
    fn new<B: Word>(game: &Dots<B>, s: &DotsState<B>) -> Self {
        let drawn = game.drawn(s);
        let edges: Vec<u32> = (0..game.info().moves).filter(|&e| drawn & B::bit(e) == B::ZERO).collect();
        assert!(edges.len() <= 20);
        let (cols, rows) = game.size();
        let small = |b: usize| {
            let on = |i: &usize| game.sides(b) & B::bit(edges[*i]) != B::ZERO;
            (0..edges.len()).filter(on).map(|i| 1 << i).sum::<u32>()
        };
        let boxes: Vec<u32> = (0..cols * rows).map(small).collect();
        let near = |i: usize| boxes.iter().copied().filter(|b| b >> i & 1 == 1).collect();
        let beside: Vec<Vec<u32>> = (0..edges.len()).map(near).collect();
        let mut oracle = Oracle { edges, beside, values: Vec::new() };
        let full = (1u32 << oracle.edges.len()) - 1;
        oracle.values = vec![0; full as usize + 1];
        for drawn in (0..full).rev() {
            let free = (0..oracle.edges.len()).filter(|i| drawn >> i & 1 == 0);
            oracle.values[drawn as usize] = free.map(|i| oracle.after(drawn, i)).max().unwrap() as i8;
        }
        oracle
    }

    fn after(&self, drawn: u32, i: usize) -> i32 {
        let closed = self.beside[i].iter().filter(|&&b| b & !drawn == 1 << i).count() as i32;
        let value = self.values[(drawn | 1 << i) as usize] as i32;
        if closed > 0 { closed + value } else { -value }
    }

    /// Which of the edges that were free are drawn in this later position.
    fn index<B: Word>(&self, drawn: B) -> u32 {
        (0..self.edges.len()).filter(|&i| drawn & B::bit(self.edges[i]) != B::ZERO).map(|i| 1 << i).sum()
    }

    /// Net boxes to come in this later position.
    fn value<B: Word>(&self, drawn: B) -> i32 {
        self.values[self.index(drawn) as usize] as i32
    }

    /// Net boxes that a move loses there.
    fn regret<B: Word>(&self, drawn: B, m: Move) -> i32 {
        let i = self.edges.iter().position(|&e| e == m.0).expect("a legal move");
        self.value(drawn) - self.after(self.index(drawn), i)
    }
}

fn board(cols: usize, rows: usize, score: Score) -> Dots<u64> {
    Dots::new(cols, rows, score).unwrap()
}

/// How many edges of each box are free.
fn degrees<B: Word>(game: &Dots<B>, s: &DotsState<B>) -> Vec<u32> {
    let (cols, rows) = game.size();
    (0..cols * rows).map(|b| (game.sides(b) & !game.drawn(s)).count()).collect()
}

/// The edges after which the opponent can close nothing more than before.
fn safe<B: Word>(game: &Dots<B>, s: &DotsState<B>) -> Vec<Move> {
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    let degrees = degrees(game, s);
    let touches = |m: Move, b: usize| game.sides(b) & B::bit(m.0) != B::ZERO;
    moves.retain(|&m| (0..degrees.len()).all(|b| !touches(m, b) || degrees[b] > 2));
    moves
}

fn closes<B: Word>(game: &Dots<B>, s: &DotsState<B>, m: Move) -> bool {
    let mut after = *s;
    game.play(&mut after, m);
    game.boxes(&after) != game.boxes(s)
}

fn captures<B: Word>(game: &Dots<B>, s: &DotsState<B>) -> Vec<Move> {
    let mut moves = Vec::new();
    game.legal(s, &mut moves);
    moves.retain(|&m| closes(game, s, m));
    moves
}

fn lead(game: &Dots<u64>, s: &State) -> i32 {
    let boxes = game.boxes(s).map(|n| n as i32);
    let mover = game.mover(s).index();
    boxes[mover] - boxes[mover ^ 1]
}

/// A random position with so many edges free; with `careful`, safe edges were preferred on the way, so that long chains
/// and joints arise.
fn random_position<B: Word>(game: &Dots<B>, free: usize, careful: bool, rng: &mut Rng) -> DotsState<B> {
    let mut s = game.initial();
    while game.count_legal(&s) > free {
        let quiet = if careful { safe(game, &s) } else { Vec::new() };
        let m = rng.pick(&quiet).copied().or_else(|| game.sample(&s, rng)).unwrap();
        game.play(&mut s, m);
    }
    s
}

fn ask<B: Word>(player: &mut Chains<B>, game: &Dots<B>, s: &DotsState<B>, seed: u64) -> Choice {
    let choice = player.search(game, s, &Control::default(), &mut Rng::new(seed));
    assert!(game.drawn(s) & B::bit(choice.mv.0) == B::ZERO, "legal");
    assert_eq!(choice.line[0], choice.mv);
    assert_eq!(choice.root.len(), game.count_legal(s));
    assert!(choice.root.is_sorted_by_key(|r| r.mv));
    assert!(choice.value.as_slice().iter().all(|v| v.abs() <= 1.0));
    choice
}

#[test]
fn minimax_knows_the_known_values() {
    for (cols, rows, value) in [(1, 1, -1), (2, 1, 0), (3, 1, -1), (2, 2, 2), (3, 2, -2)] {
        let game = board(cols, rows, Score::Win);
        assert_eq!(Oracle::new(&game, &game.initial()).value(0u64), value, "{cols}x{rows}");
    }
}

/// Asks the player about one position without a safe edge and compares all it says with the oracle.
fn check_endgame(player: &mut Chains<u64>, game: &Dots<u64>, s: &State, oracle: &Oracle) -> Choice {
    let (drawn, mover) = (game.drawn(s), game.mover(s));
    let choice = ask(player, game, s, 0);
    let show = || format!("\n{}\n{choice:?}", game.show(s));
    let share = |boxes: i32| boxes as f32 / degrees(game, s).len() as f32;
    let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
    assert_eq!(oracle.regret(drawn, choice.mv), 0, "{}", show());
    assert!(close(choice.value[mover], share(lead(game, s) + oracle.value(drawn))), "{}", show());
    for root in choice.root.iter().filter(|r| r.value.is_some()) {
        let value = oracle.value(drawn) - oracle.regret(drawn, root.mv);
        assert!(root.proven && close(root.value.unwrap()[mover], share(lead(game, s) + value)), "{}", show());
    }
    choice
}

#[test]
fn regret_is_zero_once_no_safe_edge_is_left() {
    let (mut checked, mut deals, mut joints) = (0, 0, 0);
    for (cols, rows, games) in [(2, 2, 200), (3, 2, 200), (3, 3, 150), (4, 3, 100), (4, 4, 50), (5, 5, 100)] {
        let game = board(cols, rows, Score::Margin);
        let (mut player, mut rng) = (Chains::new(100), Rng::new((cols * 10 + rows) as u64));
        for n in 0..games {
            let most = 10 + rng.below(8) as usize;
            let mut s = random_position(&game, most.min(game.count_legal(&game.initial())), n % 8 != 0, &mut rng);
            let oracle = Oracle::new(&game, &s);
            // On to the end, now and then by a random move, so that positions that no good player allows come up too.
            while game.outcome(&s).is_none() {
                let mut m = game.sample(&s, &mut rng).unwrap();
                if safe(&game, &s).is_empty() {
                    let choice = check_endgame(&mut player, &game, &s, &oracle);
                    checked += 1;
                    deals += (!captures(&game, &s).is_empty() && !closes(&game, &s, choice.mv)) as u32;
                    joints += degrees(&game, &s).iter().any(|&d| d > 2) as u32;
                    m = if rng.below(4) == 0 { m } else { choice.mv };
                }
                game.play(&mut s, m);
            }
        }
    }
    println!("{checked} positions, {deals} double deals, {joints} with joints");
    assert!(checked > 5_000 && deals > 40 && joints > 300, "{checked} {deals} {joints}");
}

#[test]
fn gives_no_box_while_a_safe_edge_is_left() {
    let game = board(5, 5, Score::Win);
    let (mut player, mut rng) = (Chains::new(100), Rng::new(5));
    let (mut quiet, mut taken) = (0, 0);
    for n in 0..600 {
        let free = 10 + rng.below(51) as usize;
        let s = random_position(&game, free, n % 2 == 0, &mut rng);
        let (captures, safe_edges) = (captures(&game, &s), safe(&game, &s));
        let choice = ask(&mut player, &game, &s, n);
        if captures.is_empty() && !safe_edges.is_empty() {
            assert!(safe_edges.contains(&choice.mv), "\n{}", game.show(&s));
            quiet += 1;
        }
        // Take everything: if a safe edge is left even then, there was no reason to hand boxes over.
        let mut after = s;
        while let Some(&m) = self::captures(&game, &after).first() {
            game.play(&mut after, m);
        }
        if !captures.is_empty() && !safe(&game, &after).is_empty() {
            assert!(captures.contains(&choice.mv), "\n{}", game.show(&s));
            taken += 1;
        }
    }
    assert!(quiet > 100 && taken > 100, "{quiet} {taken}");
}

/// Takes a box if it can; else a random edge, safe if it looks out.
fn greedy(game: &Dots<u64>, s: &State, careful: bool, rng: &mut Rng) -> Move {
    let captures = captures(game, s);
    let quiet = if careful { safe(game, s) } else { Vec::new() };
    rng.pick(&captures).or(rng.pick(&quiet)).copied().or_else(|| game.sample(s, rng)).unwrap()
}

type Play<'a> = Box<dyn FnMut(&Dots<u64>, &State, &mut Rng) -> Move + 'a>;

fn chains_of<'a>(strength: u64) -> Play<'a> {
    let mut player = Chains::new(strength);
    Box::new(move |game, s, rng| player.search(game, s, &Control::default(), rng).mv)
}

/// The share of points that the first player of the pair gets over this many games, seats alternating.
fn match_up(game: &Dots<u64>, mut pair: [Play; 2], games: u64, seed: u64) -> f64 {
    let mut points = 0.0;
    for n in 0..games {
        let (mut s, mut rng) = (game.initial(), Rng::stream(seed, n));
        while game.outcome(&s).is_none() {
            let who = game.mover(&s).index() ^ (n % 2) as usize;
            let m = pair[who](game, &s, &mut rng);
            game.play(&mut s, m);
        }
        points += (game.outcome(&s).unwrap()[Player((n % 2) as u8)] as f64 + 1.0) / 2.0;
    }
    points / games as f64
}

#[test]
fn beats_greedy_players_clearly() {
    let game = board(5, 5, Score::Win);
    let simple = |careful| -> Play { Box::new(move |g, s, rng| greedy(g, s, careful, rng)) };
    let careless = match_up(&game, [chains_of(100), simple(false)], 60, 1);
    let careful = match_up(&game, [chains_of(100), simple(true)], 60, 2);
    println!("{careless} against greedy, {careful} against greedy and careful");
    assert!(careless >= 0.99 && careful >= 0.95, "{careless} {careful}");
}

#[test]
fn strength_is_monotone() {
    let game = board(5, 5, Score::Win);
    for (more, less, least) in [(50, 0, 0.65), (100, 50, 0.65), (400, 100, 0.6)] {
        let points = match_up(&game, [chains_of(more), chains_of(less)], 60, 3);
        println!("{points} for strength {more} against {less}");
        assert!(points >= least, "{points} for {more} against {less}");
    }
}

#[test]
fn finishes_legal_games_from_any_position() {
    let game = board(5, 5, Score::Win);
    let (mut player, mut rng) = (Chains::new(8), Rng::new(11));
    for n in 0..200 {
        // Every other one with 40 edges drawn, boxes and all.
        let free = if n % 2 == 0 { 20 } else { 1 + rng.below(60) as usize };
        let mut s = random_position(&game, free, n % 4 < 2, &mut rng);
        while game.outcome(&s).is_none() {
            let m = ask(&mut player, &game, &s, n).mv;
            game.play(&mut s, m);
        }
        assert_eq!(game.boxes(&s).iter().sum::<u32>(), 25);
    }
}

#[test]
fn one_player_plays_boards_of_every_size() {
    let mut player = Chains::<u128>::new(10);
    for (cols, rows) in [(1, 1), (6, 1), (2, 3), (7, 7), (3, 3), (10, 5)] {
        let game = Dots::<u128>::new(cols, rows, Score::Win).unwrap();
        let (mut s, mut seed) = (game.initial(), 0);
        while game.outcome(&s).is_none() {
            let m = ask(&mut player, &game, &s, seed).mv;
            game.play(&mut s, m);
            seed += 1;
        }
    }
}

#[test]
fn a_seed_gives_the_same_choice_whatever_came_before() {
    let game = board(5, 5, Score::Win);
    let mut rng = Rng::new(3);
    let mut used = Chains::new(200);
    for n in 0..20 {
        let s = random_position(&game, 12 + 2 * n, true, &mut rng);
        let fresh = ask(&mut Chains::new(200), &game, &s, 9);
        assert_eq!(ask(&mut used, &game, &s, 9), fresh);
    }
}

#[test]
fn a_stop_or_a_deadline_ends_the_search() {
    let game = board(5, 5, Score::Win);
    let mut player = Chains::new(u64::MAX);
    let stop = Control { stop: Some(Stop::new()), ..Limit::INFINITE.into() };
    stop.stop.iter().for_each(Stop::raise);
    let start = Instant::now();
    let choice = player.search(&game, &game.initial(), &stop, &mut Rng::new(1));
    assert_eq!(choice.simulations, 0);
    let choice =
        player.search(&game, &game.initial(), &Limit::time(Duration::from_millis(30)).into(), &mut Rng::new(1));
    assert!(choice.simulations > 0);
    assert!(start.elapsed() < Duration::from_secs(5));
    let choice = player.search(&game, &game.initial(), &Limit::simulations(77).into(), &mut Rng::new(1));
    assert_eq!(choice.simulations, 77);
    assert_eq!(choice.root.iter().map(|r| r.visits).sum::<u64>(), 77);
    let caps = Limit { visits: Some(40), expansions: Some(30), ..Limit::default() }.into();
    let choice = player.search(&game, &game.initial(), &caps, &mut Rng::new(1));
    assert!(choice.simulations <= 40 && choice.nodes <= 31);
}

#[test]
fn every_limit_and_a_raised_stop_end_every_search() {
    let game = board(5, 5, Score::Win);
    let mut rng = Rng::new(2);
    let stop = Control { stop: Some(Stop::new()), ..Limit::INFINITE.into() };
    stop.stop.iter().for_each(Stop::raise);
    let searches: [Box<dyn Search<Dots<u64>>>; 2] = [Box::new(Chains::default()), Box::new(Exact::default())];
    for mut search in searches {
        for free in [60, 40, 20, 10] {
            let s = random_position(&game, free, true, &mut rng);
            let mut controls = vec![stop.clone()];
            for &kind in search.limits() {
                let mut limit = Limit::default();
                limit.set(kind, 5);
                controls.push(limit.into());
            }
            for control in controls {
                search.reset();
                let choice = search.search(&game, &s, &control, &mut rng);
                assert!(game.drawn(&s) >> choice.mv.0 & 1 == 0, "legal");
            }
        }
    }
}

#[test]
fn net_boxes_counts_what_can_be_taken() {
    let game = board(3, 1, Score::Win);
    // Three boxes in a row, open only inside: two edges take all.
    let s = game.parse_position("1111111001 X 0/0").unwrap();
    assert_eq!(NetBoxes.value(&game, &s), Payoffs::of(Player(0), 0.999));
    // The same closed box by box: the middle has two edges left, nothing to take.
    let s = game.parse_position("1011110000 O 0/0").unwrap();
    assert_eq!(NetBoxes.value(&game, &s), Payoffs::draw(2));
}
