//! A rulesheet as a [`Game`].
//!
//! Facts are the base propositions, named by their terms; moves are the action terms, which roles share. A state is the set
//! of facts that hold, as bits, and the choices made so far in a step of simultaneous moves. Each thread keeps its own
//! evaluator. When it is asked about a state, it first moves there, which costs a network only the difference of the
//! facts. So states stay small, and following a line of play costs only what each move changes.
//!
//! *Simultaneous moves* are serialised: the roles that have a choice choose one after another, in the order of roles; roles
//! with a single legal move are skipped. If no role has a choice, one role plays its move so that the game goes on. Choices
//! made earlier in a step are part of the state, but neither of its facts nor of [`Game::infoset_key`], so that roles that
//! choose later cannot see them.
//!
//! *Payoffs* are graded: they are linear in the goal value. So they say already how clearly a game was won, and there is no
//! [`Game::margin`] beyond them.

use crate::bits::{Ones, ones, set, words};
use crate::budget::Budget;
use crate::datalog::WorkLimit;
use crate::domains;
use crate::error::{Error, ErrorKind};
use crate::evaluator::{Backend, Engine, Evaluator, Turn};
use crate::event_driven::Wiring;
use crate::ground::{self, Statics};
use crate::interpreter::{Interpreter, InterpreterProgram};
use crate::kif::{self, Expr, ExprKind};
use crate::propnet::{self, Propnet};
use crate::rulesheet::{DOES, GOAL, Reading, Rulesheet, TRUE, statements};
use crate::specialise::specialise_rules;
use crate::strata::Strata;
use crate::terms::{Term, natural_order};
use ludex_core::{Fact, Game, GameInfo, MAX_PLAYERS, Move, Payoffs, Player, Rng, TextError, mix, rules_hash};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How to open a rulesheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GdlOptions {
    /// How strictly the text is read.
    pub reading: Reading,
    /// The limits on reading and grounding.
    pub budget: Budget,
}

/// The game that a rulesheet describes.
pub struct GdlGame {
    info: GameInfo,
    /// Identifies the game among the evaluators of a thread.
    id: u64,
    /// The role that chooses first in a step of simultaneous moves.
    first_chooser: usize,
    pub(crate) engine: Engine,
    pub(crate) names: Names,
    pub(crate) inferred: crate::inferred::InferredProperties,
    /// The facts at the start.
    pub(crate) init: Vec<u64>,
    /// The goals that map to the payoffs -1 and 1.
    goal_range: (i32, i32),
    /// All goal values in the sheet, in increasing order.
    goal_values: Vec<i32>,
    pub(crate) bit_parallel: crate::playouts::BitParallelPlan,
    set_up: Duration,
}

/// The names of facts and moves by number, and the numbers by name.
pub(crate) struct Names {
    pub facts: Vec<String>,
    pub moves: Vec<String>,
    fact_numbers: HashMap<String, u32>,
    move_numbers: HashMap<String, u32>,
    fold_case: bool,
}

/// A state: the facts that hold, and the choices made so far in a step of simultaneous moves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GdlState {
    /// The facts as bits, then the choices, two per word: move + 1, or 0 if the role has not chosen.
    words: Box<[u64]>,
}

impl std::fmt::Debug for GdlGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GdlGame").field("info", &self.info).field("size", &crate::facts::size(self)).finish()
    }
}

impl GdlGame {
    /// Opens the rulesheet `text`. The name becomes [`GameInfo::name`]; usually it is that of the file.
    pub fn new(name: &str, text: &str, options: &GdlOptions) -> Result<GdlGame, Error> {
        let start = Instant::now();
        let budget = &options.budget;
        if text.len() > budget.bytes {
            return Err(ErrorKind::TooLong { bytes: text.len(), limit: budget.bytes }.without_place());
        }
        let mut sheet = Rulesheet::read(text, options.reading)?;
        let mut strata = Strata::of(&sheet)?;
        if let Some(unstratified) = strata.unstratified.take_if(|_| options.reading == Reading::Strict) {
            return Err(unstratified);
        }
        specialise_rules(&mut sheet, &strata);
        let statics = ground::statics(&sheet, &strata, budget)?;
        let roles: Vec<String> = statics.roles.iter().map(|&r| sheet.text(&statics.terms, r)).collect();
        let (engine, names, init, mut goals) = match ground::ground(&sheet, &strata, statics.clone(), budget) {
            Ok(g) if !g.overflow => {
                let net = propnet::build(&sheet, &g, &strata.is_static);
                let unstratified = || {
                    strata.unstratified.clone().unwrap_or(ErrorKind::Unstratified("a relation".into()).without_place())
                };
                from_net(net.ok_or_else(unstratified)?, &sheet, &g)?
            }
            Ok(_) | Err(Error { kind: ErrorKind::Budget(_), .. }) if strata.unstratified.is_some() => {
                return Err(strata.unstratified.expect("it is some"));
            }
            Ok(g) => {
                let known = |pred, i: usize| g.db.of(pred).iter().map(|&a| g.terms.args(a)[i]).collect();
                let possible = [known(TRUE, 0), known(DOES, 1), known(GOAL, 1)];
                from_rules(sheet, &strata, Statics { terms: g.terms, ..statics }, possible)?
            }
            Err(Error { kind: ErrorKind::Budget(_), .. }) => {
                let mut statics = statics;
                let possible = domains::possible_terms(&sheet, &strata, &mut statics, budget.names)?;
                from_rules(sheet, &strata, statics, possible)?
            }
            Err(e) => return Err(e),
        };
        if names.facts.len() > budget.names || names.moves.len() > budget.names {
            return Err(
                ErrorKind::Budget(format!("more than {} facts or moves could occur", budget.names)).without_place()
            );
        }
        let info = GameInfo {
            name: name.to_string(),
            title: format!("{name}, from its rulesheet"),
            roles,
            moves: names.moves.len() as u32,
            facts: names.facts.len() as u32,
            rules_hash: 0,
            horizon: None,
            mirror: None,
            zero_sum: false,
        };
        static GAMES: AtomicU64 = AtomicU64::new(0);
        let id = GAMES.fetch_add(1, Ordering::Relaxed);
        let goal_range =
            (goals.iter().copied().min().unwrap_or(0).min(0), goals.iter().copied().max().unwrap_or(0).max(100));
        goals.sort_unstable();
        goals.dedup();
        let mut game = GdlGame {
            info,
            id,
            first_chooser: 0,
            engine,
            names,
            inferred: Default::default(),
            init,
            goal_range,
            goal_values: goals,
            bit_parallel: Default::default(),
            set_up: Duration::ZERO,
        };
        game.inferred = crate::inferred::infer(&game)?;
        game.compile_moves()?;
        game.plan_bit_parallel()?;
        game.info.zero_sum =
            game.info.roles.len() == 2 && game.inferred.constant_sum == Some(goal_range.0 + goal_range.1);
        game.info.horizon = game.inferred.horizon(game.info.roles.len());
        let unnamed = GameInfo { name: String::new(), ..game.info.clone() };
        game.info.rules_hash = mix(rules_hash(&unnamed, &game) ^ hash_text(text, options.reading));
        game.set_up = start.elapsed();
        Ok(game)
    }

    /// The wall-clock time that opening the sheet took.
    pub fn set_up_time(&self) -> Duration {
        self.set_up
    }

    /// Lets this role choose first in steps of simultaneous moves; the others follow in their order. A player calls it with its
    /// own role, so that it is the mover when it must choose and no other role has chosen before it.
    pub fn choose_first(&mut self, role: usize) {
        self.first_chooser = role.min(self.info.roles.len().saturating_sub(1));
    }

    /// Whether the rules are interpreted, because their propositional network would be too large.
    pub fn interpreted(&self) -> bool {
        matches!(self.engine, Engine::Interpreter { .. })
    }

    /// Properties that the rules do not state: turn-taking, constant sum, step counter, exclusive facts.
    pub fn inferred(&self) -> &crate::inferred::InferredProperties {
        &self.inferred
    }

    /// The goal values that hold for each role at a state. A well-formed sheet defines exactly one per role.
    pub fn goals(&self, s: &GdlState) -> Vec<Vec<i32>> {
        self.with_evaluator_at(s, |evaluator| {
            (0..self.info.roles.len()).map(|r| self.engine.goals(evaluator, r)).collect()
        })
    }

    /// The state after a joint move, given in the order of roles; `None` if the game is over or a move is not legal. Choices
    /// made so far in a step are ignored.
    pub fn step(&self, s: &GdlState, joint: &[Move]) -> Option<GdlState> {
        self.with_evaluator_at(s, |evaluator| {
            let legal = |(r, m): (usize, &Move)| self.engine.is_legal(evaluator, r, m.0);
            if joint.len() != self.info.roles.len() || !joint.iter().enumerate().all(legal) {
                return None;
            }
            if self.turn(evaluator) == Turn::Over {
                return None;
            }
            let moves: Vec<u32> = joint.iter().map(|m| m.0).collect();
            self.engine.step(evaluator, &moves);
            Some(self.state(evaluator.facts()))
        })
    }

    /// The legal moves of a role, whether or not it is the mover. Choices made so far in a step are ignored.
    pub fn legal_moves(&self, s: &GdlState, role: usize) -> Vec<Move> {
        let mut moves = Vec::new();
        self.with_evaluator_at(s, |evaluator| self.engine.legal_moves(evaluator, role, &mut moves));
        moves
    }

    /// Whether `terminal` holds. The game is over there, and also where a role has no legal move.
    pub fn is_terminal(&self, s: &GdlState) -> bool {
        self.with_evaluator_at(s, |evaluator| self.engine.is_terminal(evaluator))
    }

    /// All goal values that occur in the sheet, in increasing order.
    pub fn goal_values(&self) -> &[i32] {
        &self.goal_values
    }

    /// Maps a goal to a payoff, linearly: 0 to -1 and 100 to 1. Goals below 0 or above 100 extend the range.
    pub fn payoff(&self, goal: i32) -> f32 {
        let (lo, hi) = self.goal_range;
        (2.0 * (goal - lo) as f32 / (hi - lo) as f32 - 1.0).clamp(-1.0, 1.0)
    }

    /// Calls `f` with this thread's evaluator, at the facts of a state.
    #[inline]
    pub(crate) fn with_evaluator_at<T>(&self, s: &GdlState, f: impl FnOnce(&mut Evaluator) -> T) -> T {
        self.with_evaluator(|evaluator| {
            self.engine.seek(evaluator, self.fact_words(s));
            f(evaluator)
        })
    }

    /// As [`GdlGame::with_evaluator_at`], and `f` may change the state.
    #[inline]
    fn with_evaluator_at_mut(&self, s: &mut GdlState, f: impl FnOnce(&mut Evaluator, &mut GdlState)) {
        self.with_evaluator(|evaluator| {
            self.engine.seek(evaluator, self.fact_words(s));
            f(evaluator, s);
        })
    }

    /// Calls `f` with this thread's evaluator, at any state.
    #[inline]
    pub(crate) fn with_evaluator<T>(&self, f: impl FnOnce(&mut Evaluator) -> T) -> T {
        /// The evaluators that a thread keeps. Alternating among more games than this is slow, not wrong.
        const KEPT: usize = 4;
        thread_local!(static EVALUATORS: RefCell<Vec<(u64, Evaluator)>> = const { RefCell::new(Vec::new()) });
        EVALUATORS.with_borrow_mut(|evaluators| {
            if evaluators.first().is_none_or(|d| d.0 != self.id) {
                let evaluator = match evaluators.iter().position(|d| d.0 == self.id) {
                    Some(i) => evaluators.remove(i),
                    None => (self.id, self.engine.new_evaluator().expect("an evaluator was made before")),
                };
                evaluators.insert(0, evaluator);
                evaluators.truncate(KEPT);
            }
            f(&mut evaluators[0].1)
        })
    }

    /// The facts of a state, as bits.
    pub(crate) fn fact_words<'a>(&self, s: &'a GdlState) -> &'a [u64] {
        &s.words[..self.init.len()]
    }

    /// The state with these facts and no choices.
    pub(crate) fn state(&self, facts: &[u64]) -> GdlState {
        let mut all = vec![0; facts.len() + self.info.roles.len() / 2];
        all[..facts.len()].copy_from_slice(facts);
        GdlState { words: all.into() }
    }

    /// The payoffs at the state of the evaluator. Of several goals of a role the highest counts; without any, its
    /// goal is 0.
    pub(crate) fn payoffs(&self, evaluator: &mut Evaluator) -> Payoffs {
        let mut payoffs = Payoffs::draw(self.info.roles.len());
        if let (Engine::Propnet { net, wiring, .. }, Backend::Propnet(m)) = (&self.engine, &mut evaluator.backend) {
            m.evaluate_goals(net, wiring);
            for (r, role) in net.roles.iter().enumerate() {
                let goal = role.goals.iter().rev().find(|g| m.holds(g.1)).map_or(self.goal_range.0.max(0), |g| g.0);
                payoffs[Player(r as u8)] = self.payoff(goal);
            }
            return payoffs;
        }
        for r in 0..self.info.roles.len() {
            let goal = self.engine.goals(evaluator, r).last().copied().unwrap_or(self.goal_range.0.max(0));
            payoffs[Player(r as u8)] = self.payoff(goal);
        }
        payoffs
    }

    /// The roles that choose at the state of the evaluator.
    #[inline]
    pub(crate) fn turn(&self, evaluator: &mut Evaluator) -> Turn {
        if let Some(turn) = evaluator.turn {
            return turn;
        }
        let turn = self.find_turn(evaluator);
        evaluator.turn = Some(turn);
        turn
    }

    fn find_turn(&self, evaluator: &mut Evaluator) -> Turn {
        if self.engine.is_terminal(evaluator) {
            return Turn::Over;
        }
        let roles = self.info.roles.len();
        let mut choosers = 0u8;
        for r in 0..roles {
            evaluator.counts[r] = self.engine.count_legal(evaluator, r);
            match evaluator.counts[r] {
                0 => return Turn::Over,
                1 => {}
                _ => choosers |= 1 << r,
            }
        }
        if choosers == 0 {
            // No role has a choice: the first role whose move is not its idle move plays, else the role in control, else the
            // first role.
            let evaluator = &*evaluator;
            let idle = |&r: &usize| {
                self.inferred.idle.get(r).copied().flatten() == Some(self.engine.nth_legal(evaluator, r, 0))
            };
            let active = (0..roles).find(|r| !idle(r));
            let holder = || self.inferred.control_holder(evaluator.facts());
            choosers = 1 << active.or_else(holder).unwrap_or(0);
        }
        Turn::Choose(choosers)
    }

    /// The move that a role has chosen in the step under way.
    fn pending_choice(&self, s: &GdlState, role: usize) -> Option<u32> {
        let word = s.words.get(self.init.len() + role / 2)?;
        ((word >> (role % 2 * 32)) as u32).checked_sub(1)
    }

    /// The mover: the first of the choosers that has not chosen yet, and whether it is the last one.
    #[inline]
    fn chooser(&self, s: &GdlState, choosers: u8) -> (usize, bool) {
        let alone = choosers & (choosers - 1) == 0;
        if alone { (choosers.trailing_zeros() as usize, true) } else { self.next_of_several(s, choosers) }
    }

    /// The roles in the order in which they choose.
    fn order(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first_chooser).chain((0..self.info.roles.len()).filter(|&r| r != self.first_chooser))
    }

    /// As [`GdlGame::chooser`], for several choosers.
    fn next_of_several(&self, s: &GdlState, choosers: u8) -> (usize, bool) {
        let open = |r: &usize| choosers >> r & 1 == 1 && self.pending_choice(s, *r).is_none();
        let mut left = self.order();
        let next = left.by_ref().find(open);
        (next.unwrap_or(choosers.trailing_zeros() as usize), !left.any(|r| open(&r)))
    }

    /// Plays a move of the mover: stores its choice, or makes the step if it is the last one.
    #[inline]
    fn choose(&self, evaluator: &mut Evaluator, s: &mut GdlState, m: Move) {
        let Turn::Choose(choosers) = self.turn(evaluator) else {
            debug_assert!(false, "no move is legal once the game is over");
            return;
        };
        let (role, last) = self.chooser(s, choosers);
        debug_assert!(self.engine.is_legal(evaluator, role, m.0), "{} is not legal", self.move_name(m));
        if !last {
            s.words[self.init.len() + role / 2] |= (m.0 as u64 + 1) << (role % 2 * 32);
            return;
        }
        let mut joint = [0; MAX_PLAYERS];
        let roles = self.info.roles.len();
        for (r, mv) in joint[..roles].iter_mut().enumerate() {
            *mv = match () {
                _ if r == role => m.0,
                _ if choosers >> r & 1 == 1 => self.pending_choice(s, r).unwrap_or(0),
                _ => self.engine.nth_legal(evaluator, r, 0),
            };
        }
        self.engine.step(evaluator, &joint[..roles]);
        let facts = self.init.len();
        s.words[..facts].copy_from_slice(evaluator.facts());
        s.words[facts..].fill(0);
    }
}

/// The engine, the names, the initial facts and the goal values of a sheet.
type Opened = (Engine, Names, Vec<u64>, Vec<i32>);

/// Opens a sheet whose propositional network has been built.
fn from_net(net: Propnet, sheet: &Rulesheet, g: &ground::Grounding) -> Result<Opened, Error> {
    for &a in g.db.of(GOAL) {
        let value = sheet.text(&g.terms, g.terms.args(a)[1]);
        check_goal(&value)?;
    }
    for (r, role) in net.roles.iter().enumerate() {
        if role.legal.is_empty() {
            return Err(ErrorKind::NoLegal(net.role_names[r].clone()).without_place());
        }
    }
    let mut init = vec![0; words(net.facts.len())];
    (0..net.facts.len()).filter(|&f| net.init[f]).for_each(|f| set(&mut init, f));
    let names = Names::new(net.facts.clone(), net.moves.clone(), sheet.fold_case);
    let goals = net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.0)).collect();
    let wiring = Box::new(Wiring::new(&net, None));
    Ok((Engine::Propnet { net: Box::new(net), wiring, deltas: None }, names, init, goals))
}

/// The number that a goal value stands for.
fn check_goal(value: &str) -> Result<i32, Error> {
    let parsed = value.parse().ok().filter(|v: &i32| v.abs() <= 1_000_000);
    parsed.ok_or_else(|| ErrorKind::BadGoal(value.into()).without_place())
}

/// Opens a sheet with the interpreter, given all possible facts, moves and goals.
fn from_rules(sheet: Rulesheet, strata: &Strata, statics: Statics, possible: [Vec<Term>; 3]) -> Result<Opened, Error> {
    /// The limit on evaluating the initial state: some three seconds. A sheet that exceeds it is refused.
    const FIRST_STATE: WorkLimit = WorkLimit { left: 60_000_000, atoms: 4_000_000 };
    let [facts, moves, goals] = possible;
    let named = |mut list: Vec<Term>, statics: &Statics| {
        list.sort_unstable();
        list.dedup();
        let mut named: Vec<(String, Term)> = list.into_iter().map(|t| (sheet.text(&statics.terms, t), t)).collect();
        named.sort_by(|a, b| natural_order(&a.0, &b.0).then(a.0.cmp(&b.0)));
        named.into_iter().unzip::<String, Term, Vec<_>, Vec<_>>()
    };
    let (fact_names, facts) = named(facts, &statics);
    let (move_names, moves) = named(moves, &statics);
    let goals: Vec<i32> =
        goals.into_iter().map(|g| check_goal(&sheet.text(&statics.terms, g))).collect::<Result<_, _>>()?;
    let initial: std::collections::HashSet<u32> = statics.init.iter().copied().collect();
    let mut init = vec![0; words(facts.len())];
    facts.iter().enumerate().filter(|f| initial.contains(f.1)).for_each(|(i, _)| set(&mut init, i));
    let rules = Arc::new(InterpreterProgram::new(&sheet, strata, statics, facts, moves));
    let mut first = Interpreter::new(rules.clone(), FIRST_STATE)?;
    first.seek(&init)?;
    let names = Names::new(fact_names, move_names, sheet.fold_case);
    Ok((Engine::Interpreter { rules, sheet: Box::new(sheet) }, names, init, goals))
}

impl Names {
    fn new(facts: Vec<String>, moves: Vec<String>, fold_case: bool) -> Names {
        let numbers = |names: &[String]| {
            let key = |n: &String| if fold_case { n.to_lowercase() } else { n.clone() };
            names.iter().enumerate().map(|(i, n)| (key(n), i as u32)).collect()
        };
        Names { fact_numbers: numbers(&facts), move_numbers: numbers(&moves), facts, moves, fold_case }
    }

    /// The number of a fact or move.
    fn find(&self, numbers: &HashMap<String, u32>, e: &Expr) -> Option<u32> {
        let text = write_expr(e);
        numbers.get(&if self.fold_case { text.to_lowercase() } else { text }).copied()
    }
}

/// An expression as text, with single spaces.
pub(crate) fn write_expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::List(list) => format!("({})", list.iter().map(write_expr).collect::<Vec<_>>().join(" ")),
    }
}

/// A hash of the statements of a text. Comments, layout and a list around the whole sheet do not matter.
fn hash_text(text: &str, reading: Reading) -> u64 {
    let mut hash = (reading == Reading::Lenient) as u64;
    for e in statements(&kif::read(text).unwrap_or_default()) {
        for chunk in write_expr(e).as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mix(hash ^ u64::from_le_bytes(word));
        }
        hash = mix(hash);
    }
    hash
}

impl Game for GdlGame {
    type State = GdlState;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn initial(&self) -> GdlState {
        self.state(&self.init)
    }

    fn mover(&self, s: &GdlState) -> Player {
        self.with_evaluator_at(s, |evaluator| match self.turn(evaluator) {
            Turn::Over => Player(0),
            Turn::Choose(choosers) => Player(self.chooser(s, choosers).0 as u8),
        })
    }

    fn legal(&self, s: &GdlState, out: &mut Vec<Move>) {
        self.with_evaluator_at(s, |evaluator| match self.turn(evaluator) {
            Turn::Over => out.clear(),
            Turn::Choose(choosers) => self.engine.legal_moves(evaluator, self.chooser(s, choosers).0, out),
        })
    }

    fn count_legal(&self, s: &GdlState) -> usize {
        self.with_evaluator_at(s, |evaluator| match self.turn(evaluator) {
            Turn::Over => 0,
            Turn::Choose(choosers) => evaluator.counts[self.chooser(s, choosers).0] as usize,
        })
    }

    fn sample(&self, s: &GdlState, rng: &mut Rng) -> Option<Move> {
        self.with_evaluator_at(s, |evaluator| match self.turn(evaluator) {
            Turn::Over => None,
            Turn::Choose(choosers) => {
                let role = self.chooser(s, choosers).0;
                Some(Move(self.engine.nth_legal(evaluator, role, rng.below(evaluator.counts[role]))))
            }
        })
    }

    fn play(&self, s: &mut GdlState, m: Move) {
        self.with_evaluator_at_mut(s, |evaluator, s| self.choose(evaluator, s, m))
    }

    fn outcome(&self, s: &GdlState) -> Option<Payoffs> {
        self.with_evaluator_at(s, |evaluator| match self.turn(evaluator) {
            Turn::Over => Some(self.payoffs(evaluator)),
            Turn::Choose(_) => None,
        })
    }

    fn facts(&self, s: &GdlState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones(self.fact_words(s)).map(|f| Fact(f as u32)));
    }

    fn play_facts(&self, s: &mut GdlState, m: Move, on: &mut Vec<Fact>, off: &mut Vec<Fact>) {
        on.clear();
        off.clear();
        self.with_evaluator_at_mut(s, |evaluator, s| {
            let before = s.clone();
            self.choose(evaluator, s, m);
            for (w, (&old, &new)) in self.fact_words(&before).iter().zip(self.fact_words(s)).enumerate() {
                let fact = |f: usize| Fact((64 * w + f) as u32);
                on.extend(Ones(new & !old).map(fact));
                off.extend(Ones(old & !new).map(fact));
            }
        })
    }

    fn key(&self, s: &GdlState) -> u64 {
        s.words.iter().fold(0, |h, &w| mix(h ^ w))
    }

    fn hidden(&self, s: &GdlState) -> bool {
        s.words[self.init.len()..].iter().any(|&w| w != 0)
    }

    fn before_hidden(&self, s: &GdlState) -> GdlState {
        self.state(self.fact_words(s))
    }

    fn rollouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        self.random_playouts(s, n, rng, totals)
    }

    fn infoset_key(&self, s: &GdlState) -> u64 {
        if !self.hidden(s) {
            return self.key(s);
        }
        let facts = self.fact_words(s).iter().fold(0, |h, &w| mix(h ^ w));
        mix(facts ^ (1 + self.mover(s).0 as u64))
    }

    fn state_from_facts(&self, facts: &[Fact]) -> Option<GdlState> {
        let mut words = vec![0; self.init.len()];
        for f in facts {
            (f.0 < self.info.facts).then(|| set(&mut words, f.index()))?;
        }
        Some(self.state(&words))
    }

    fn move_name(&self, m: Move) -> String {
        self.names.moves[m.index()].clone()
    }

    fn fact_name(&self, f: Fact) -> String {
        self.names.facts[f.index()].clone()
    }

    fn parse_move(&self, text: &str) -> Option<Move> {
        match kif::read(text).ok()?.as_slice() {
            [e] => self.names.find(&self.names.move_numbers, e).map(Move),
            _ => None,
        }
    }

    /// The facts that hold; if choices have been made in the step under way, `|` and then role, move, role, move ..
    fn position(&self, s: &GdlState) -> String {
        let mut words: Vec<&str> = ones(self.fact_words(s)).map(|f| self.names.facts[f].as_str()).collect();
        if words == ["start"] {
            words.push("start"); // a lone `start` means the initial position
        }
        if self.hidden(s) {
            words.push("|");
            for r in self.order() {
                if let Some(m) = self.pending_choice(s, r) {
                    words.extend([self.info.roles[r].as_str(), self.names.moves[m as usize].as_str()]);
                }
            }
        }
        words.join(" ")
    }

    fn parse_position(&self, text: &str) -> Result<GdlState, TextError> {
        if text.trim() == "start" {
            return Ok(self.initial());
        }
        let exprs = kif::read(text).map_err(|e| TextError::new(e.to_string()))?;
        let bar = exprs.iter().position(|e| e.kind == ExprKind::Name("|")).unwrap_or(exprs.len());
        let mut facts = vec![0; self.init.len()];
        for e in &exprs[..bar] {
            let f = self.names.find(&self.names.fact_numbers, e);
            let unknown = || TextError::new(format!("{} is not a fact of this game", write_expr(e)));
            set(&mut facts, f.ok_or_else(unknown)? as usize);
        }
        let mut s = self.state(&facts);
        for pair in exprs.get(bar + 1..).unwrap_or_default().chunks(2) {
            let [role, mv] = pair else { return Err(TextError::new("after `|` come pairs of role and move")) };
            let (role, name) = (write_expr(role), write_expr(mv));
            let m = self.names.find(&self.names.move_numbers, mv).map(Move);
            let fits = m.filter(|&m| {
                self.with_evaluator_at(&s, |evaluator| match self.turn(evaluator) {
                    Turn::Over => false,
                    Turn::Choose(choosers) => {
                        let (r, last) = self.chooser(&s, choosers);
                        !last && self.info.roles[r] == role && self.engine.is_legal(evaluator, r, m.0)
                    }
                })
            });
            let Some(m) = fits else {
                return Err(TextError::new(format!("{role} cannot have chosen {name} while others still choose")));
            };
            self.play(&mut s, m);
        }
        Ok(s)
    }

    fn show(&self, s: &GdlState) -> String {
        crate::render::render_state(self, s)
    }
}
