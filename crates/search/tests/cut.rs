//! Cut playouts: what is sure ends them, nothing else does, and results belong to players, not to plies.

use ludex_core::{Game, Limit, Move, Payoffs, Player, Rng, Search};
use ludex_games::{Connect4, Dots, DotsState, Score};
use ludex_search::mcts::*;
use std::sync::{Arc, Mutex};

/// Wdl from a hash of the state, the same for player 0 whoever moves; checks that it is led through the playout.
struct Hashed<G: Game> {
    followed: Option<G::State>,
    log: Log,
}

fn chance<G: Game>(game: &G, s: &G::State, n: u64) -> f32 {
    Rng::stream(game.key(s), n).unit() as f32
}

impl<G: Game> WdlEvaluator<G> for Hashed<G> {
    fn refresh(&mut self, _: &G, s: &G::State) {
        self.followed = Some(s.clone());
    }

    fn play(&mut self, game: &G, s: &mut G::State, m: Move) {
        assert_eq!(self.followed.as_ref(), Some(&*s), "led from state to state");
        game.play(s, m);
        self.followed = Some(s.clone());
    }

    fn wdl(&mut self, game: &G, s: &G::State) -> Wdl {
        assert_eq!(self.followed.as_ref(), Some(s), "asked about the state that it follows");
        assert!(game.outcome(s).is_none(), "not asked when the game is over");
        let [win, draw, loss] = [0, 1, 2].map(|n| chance(game, s, n));
        self.log.lock().unwrap().push(win.max(draw).max(loss));
        Wdl { of: Player(0), win, draw, loss }
    }
}

fn search<G: Game>(
    game: &G,
    playout: Box<dyn Playout<G>>,
    s: &G::State,
) -> (ludex_core::Choice, Vec<(&'static str, f64)>) {
    let select = Ucb1::new(1.41, Form::Burger, Reward::Signed);
    let expand = Box::new(AllChildren::new(When::SECOND, PlayoutFrom::Child));
    let mut mcts = Mcts::new(game, Box::new(select), expand, playout, Box::new(Mean), MctsOptions::default());
    let choice = mcts.search(game, s, &Limit::simulations(3_000).into(), &mut Rng::new(5));
    (choice, mcts.counters())
}

/// The largest probability of each answer.
type Log = Arc<Mutex<Vec<f32>>>;

fn cut<G: Game>(check: CutCheck, threshold: f32, value: CutValue) -> (Box<dyn Playout<G>>, Log) {
    let log = Log::default();
    let eval = Hashed { followed: None, log: log.clone() };
    (Box::new(CutPlayout::new(Box::new(eval), check, threshold, value)), log)
}

const EVERY: CutCheck = CutCheck::Every { after: 0, step: 1 };

#[test]
fn with_a_threshold_above_one_it_is_the_uniform_playout() {
    fn same<G: Game>(game: &G) {
        let plain = search(game, Box::new(Uniform), &game.initial()).0;
        for ask in [CutCheck::AtStart, EVERY, CutCheck::Every { after: 3, step: 2 }] {
            let (choice, counters) = search(game, cut(ask, 1.5, CutValue::Hard).0, &game.initial());
            assert_eq!(choice, plain, "{ask:?}");
            assert!(counters.contains(&("cut", 0.0)) && counters.iter().any(|&(k, n)| k == "asked" && n >= 3_000.0));
        }
    }
    same(&Connect4::<u64>::new(7, 6, 4).unwrap());
    same(&Dots::<u64>::new(3, 3, Score::Win).unwrap());
}

#[test]
fn cut_playout_never_exceeds_threshold_confidence() {
    // What was not sure enough did not end a playout, and what was did: of all answers, exactly the cuts reach the threshold.
    let game = Dots::<u64>::new(4, 4, Score::Win).unwrap();
    for threshold in [0.5, 0.9, 0.99] {
        for ask in [CutCheck::AtStart, EVERY, CutCheck::Every { after: 2, step: 3 }] {
            let (playout, log) = cut(ask, threshold, CutValue::Hard);
            let (_, counters) = search(&game, playout, &game.initial());
            let of = |name: &str| counters.iter().find(|(k, _)| *k == name).unwrap().1 as usize;
            let log = log.lock().unwrap();
            assert_eq!(of("asked"), log.len());
            assert_eq!(of("cut"), log.iter().filter(|&&c| c >= threshold).count());
            assert!(of("cut") > 0 && of("cut") <= of("playouts"));
            if ask == CutCheck::AtStart {
                assert_eq!((of("asked"), of("cut_plies")), (of("playouts"), 0));
            }
        }
    }
}

/// Sure that player 0 wins wherever it owns more boxes, that player 1 does wherever it owns more; speaks for the mover.
struct Boxes;

impl WdlEvaluator<Dots<u64>> for Boxes {
    fn refresh(&mut self, _: &Dots<u64>, _: &DotsState<u64>) {}
    fn play(&mut self, game: &Dots<u64>, s: &mut DotsState<u64>, m: Move) {
        game.play(s, m);
    }
    fn wdl(&mut self, game: &Dots<u64>, s: &DotsState<u64>) -> Wdl {
        let (of, boxes) = (game.mover(s), game.boxes(s));
        let lead = boxes[of.index()] as i32 - boxes[of.index() ^ 1] as i32;
        let is = |wanted: bool| wanted as u8 as f32;
        Wdl { of, win: is(lead > 0), draw: 0.0, loss: is(lead < 0) }
    }
}

#[test]
fn a_hard_result_belongs_to_the_player_even_if_it_moves_twice() {
    // One edge closes two boxes, and whoever draws it moves again: it must look won to that player, from either seat.
    let game = Dots::<u64>::new(3, 3, Score::Win).unwrap();
    let mut s = game.initial();
    for name in ["h0,0", "v0,0", "h1,0", "h0,1", "h1,1", "v0,2"] {
        game.play(&mut s, game.parse_move(name).unwrap());
    }
    let taking = game.parse_move("v0,1").unwrap();
    for s in [s, game.mirrored(&s).unwrap()] {
        let mover = game.mover(&s);
        let mut after = s;
        game.play(&mut after, taking);
        assert_eq!((game.mover(&after), game.boxes(&after)[mover.index()]), (mover, 2));
        for call in [CutValue::Hard, CutValue::Expected] {
            let playout = CutPlayout::new(Box::new(Boxes), EVERY, 0.9, call);
            let (choice, _) = search(&game, Box::new(playout), &s);
            assert_eq!(choice.mv, taking);
            let root = choice.root.iter().find(|r| r.mv == taking).unwrap();
            assert!(root.value.unwrap()[mover] > 0.9, "{:?}", root.value);
        }
    }
}

#[test]
fn probabilities_name_their_player_and_ties_go_to_the_first() {
    let c = Wdl { of: Player(1), win: 0.2, draw: 0.2, loss: 0.6 };
    assert_eq!(c.most_likely(), (Payoffs::win(Player(0)), 0.6));
    assert!((c.expected()[Player(1)] + 0.4).abs() < 1e-6);
    assert_eq!(Wdl { win: 0.95, loss: 0.95, ..c }.most_likely(), (Payoffs::win(Player(1)), 0.95));
    assert_eq!(Wdl { win: 0.0, draw: 1.0, loss: 0.0, ..c }.most_likely().0, Payoffs::draw(2));
}

#[test]
fn absolute_means_take_a_sure_loss_for_a_win() {
    // Nim with two left: taking both wins at once, taking one loses. The right rule sees it, the printed one cannot.
    let game = ludex_core::toy::Nim::new(2);
    let share = |select: Box<dyn Select>| {
        let expand = Box::new(AllChildren::new(When::SECOND, PlayoutFrom::Child));
        let mut mcts = Mcts::new(&game, select, expand, Box::new(Uniform), Box::new(Mean), MctsOptions::default());
        let choice = mcts.search(&game, &game.initial(), &Limit::simulations(1_000).into(), &mut Rng::new(1));
        choice.root.iter().find(|r| r.mv == Move(1)).unwrap().visits
    };
    let rule = || Ucb1::new(0.5, Form::Plain, Reward::Unit);
    let (right, printed) = (share(Box::new(rule())), share(Box::new(Ucb1Abs(rule()))));
    assert!(right > 900 && (400..600).contains(&printed), "{right} {printed}");
}
