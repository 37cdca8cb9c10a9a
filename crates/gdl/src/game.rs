//! A rulesheet as a [`Game`].
//!
//! Facts are the base propositions, named by their terms; moves are the action terms, shared by the roles. A state is the
//! facts that hold, as bits, and what has been chosen so far in a step of simultaneous moves. Evaluators are kept per thread
//! and brought to whatever state is asked about by the difference of the facts, so that states stay small and a line of play
//! costs only what each move changes.
//!
//! *Simultaneous moves* are serialised: the roles that have a choice choose one after another, in the order of roles; those
//! with a single legal move are skipped. If nobody has a choice, one role plays its move so that the game goes on. What was
//! chosen before is part of the state, but it is neither among the facts nor in [`Game::view_key`]: whoever chooses later
//! cannot see it.

use crate::bits::{ones, set, words};
use crate::budget::Budget;
use crate::datalog::Work;
use crate::desk::{At, Desk, Engine, Turn};
use crate::error::{Error, ErrorKind};
use crate::event::Wiring;
use crate::ground::{self, Statics};
use crate::interpreter::{Interpreter, Rules};
use crate::kif::{self, Expr, ExprKind};
use crate::net::{self, Net};
use crate::places;
use crate::restrict::restrict;
use crate::sheet::{DOES, GOAL, Reading, Sheet, TRUE, statements};
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
pub struct Options {
    /// How the text is read.
    pub reading: Reading,
    /// What it may ask for.
    pub budget: Budget,
}

/// The rules of a sheet, ready to play.
pub struct GdlGame {
    info: GameInfo,
    id: u64,
    /// Who chooses first in a step of simultaneous moves.
    first: usize,
    pub(crate) engine: Engine,
    pub(crate) names: Names,
    pub(crate) habits: crate::habits::Habits,
    pub(crate) init: Vec<u64>,
    goal_range: (i32, i32),
    goal_values: Vec<i32>,
    pub(crate) lanes: crate::playouts::LanePlan,
    set_up: Duration,
}

/// The names of facts and moves, both ways.
pub(crate) struct Names {
    pub facts: Vec<String>,
    pub moves: Vec<String>,
    fact_numbers: HashMap<String, u32>,
    move_numbers: HashMap<String, u32>,
    fold: bool,
}

/// A state: which facts hold, and what has been chosen in the step under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GdlState {
    /// Words of facts, then two choices a word: move + 1, or 0.
    words: Box<[u64]>,
}

impl std::fmt::Debug for GdlGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GdlGame").field("info", &self.info).field("size", &crate::facts::size(self)).finish()
    }
}

impl GdlGame {
    /// The game that a rulesheet describes. The name is for people and for [`GameInfo::name`]: usually the file's.
    pub fn new(name: &str, text: &str, options: &Options) -> Result<GdlGame, Error> {
        let start = Instant::now();
        let budget = &options.budget;
        if text.len() > budget.bytes {
            return Err(ErrorKind::TooLong { bytes: text.len(), limit: budget.bytes }.anywhere());
        }
        let mut sheet = Sheet::read(text, options.reading)?;
        let mut strata = Strata::of(&sheet)?;
        if let Some(tangled) = strata.tangled.take_if(|_| options.reading == Reading::Strict) {
            return Err(tangled);
        }
        restrict(&mut sheet, &strata);
        let statics = ground::statics(&sheet, &strata, budget)?;
        let roles: Vec<String> = statics.roles.iter().map(|&r| sheet.text(&statics.terms, r)).collect();
        let (engine, names, init, mut goals) = match ground::ground(&sheet, &strata, statics.clone(), budget) {
            Ok(g) if !g.overflow => {
                let net = net::build(&sheet, &g, &strata.is_static);
                let tangled =
                    || strata.tangled.clone().unwrap_or(ErrorKind::Unstratified("a relation".into()).anywhere());
                from_net(net.ok_or_else(tangled)?, &sheet, &g)?
            }
            Ok(_) | Err(Error { kind: ErrorKind::Budget(_), .. }) if strata.tangled.is_some() => {
                return Err(strata.tangled.expect("it is some"));
            }
            Ok(g) => {
                let known = |pred, i: usize| g.facts.of(pred).iter().map(|&a| g.terms.args(a)[i]).collect();
                let possible = [known(TRUE, 0), known(DOES, 1), known(GOAL, 1)];
                from_rules(sheet, &strata, Statics { terms: g.terms, ..statics }, possible)?
            }
            Err(Error { kind: ErrorKind::Budget(_), .. }) => {
                let mut statics = statics;
                let possible = places::names(&sheet, &strata, &mut statics, budget.names)?;
                from_rules(sheet, &strata, statics, possible)?
            }
            Err(e) => return Err(e),
        };
        if names.facts.len() > budget.names || names.moves.len() > budget.names {
            return Err(ErrorKind::Budget(format!("more than {} facts or moves could occur", budget.names)).anywhere());
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
            first: 0,
            engine,
            names,
            habits: Default::default(),
            init,
            goal_range,
            goal_values: goals,
            lanes: Default::default(),
            set_up: Duration::ZERO,
        };
        game.habits = crate::habits::observe(&game)?;
        game.compile_moves()?;
        game.plan_lanes()?;
        game.info.zero_sum =
            game.info.roles.len() == 2 && game.habits.constant_sum == Some(goal_range.0 + goal_range.1);
        game.info.horizon = game.habits.horizon(game.info.roles.len());
        let unnamed = GameInfo { name: String::new(), ..game.info.clone() };
        game.info.rules_hash = mix(rules_hash(&unnamed, &game) ^ hash_text(text, options.reading));
        game.set_up = start.elapsed();
        Ok(game)
    }

    /// How long reading, grounding and wiring took.
    pub fn set_up(&self) -> Duration {
        self.set_up
    }

    /// Lets this role choose first wherever moves are simultaneous; the others follow in their order. A player that thinks
    /// about its own choice is the mover then, and nobody has chosen before it.
    pub fn choose_first(&mut self, role: usize) {
        self.first = role.min(self.info.roles.len().saturating_sub(1));
    }

    /// Whether the interpreter plays, because the rules are too large for a net.
    pub fn interpreted(&self) -> bool {
        matches!(self.engine, Engine::Rules { .. })
    }

    /// What random play and a look at the net show: turn-taking, constant sum, a step counter, exclusive facts.
    pub fn habits(&self) -> &crate::habits::Habits {
        &self.habits
    }

    /// The goals of all roles at a state, as the sheet defines them: none or several where it is careless.
    pub fn goals(&self, s: &GdlState) -> Vec<Vec<i32>> {
        self.with(s, |desk| (0..self.info.roles.len()).map(|r| self.engine.goals_of(desk, r)).collect())
    }

    /// The state after one move of each role, in their order; `None` if the game is over or a move is not legal.
    pub fn step(&self, s: &GdlState, joint: &[Move]) -> Option<GdlState> {
        self.with(s, |desk| {
            let legal = |(r, m): (usize, &Move)| self.engine.is_legal(desk, r, m.0);
            if joint.len() != self.info.roles.len() || !joint.iter().enumerate().all(legal) {
                return None;
            }
            if self.turn(desk) == Turn::Over {
                return None;
            }
            let moves: Vec<u32> = joint.iter().map(|m| m.0).collect();
            self.engine.step(desk, &moves);
            Some(self.state(desk.facts()))
        })
    }

    /// The legal moves of one role, whoever's turn it is; choices under way do not matter.
    pub fn legal_moves(&self, s: &GdlState, role: usize) -> Vec<Move> {
        let mut moves = Vec::new();
        self.with(s, |desk| self.engine.legal_of(desk, role, &mut moves));
        moves
    }

    /// Whether the sheet says that the game is over. It also counts as over where a role has no legal move.
    pub fn is_terminal(&self, s: &GdlState) -> bool {
        self.with(s, |desk| self.engine.terminal(desk))
    }

    /// All goals that the sheet speaks of.
    pub fn goal_values(&self) -> &[i32] {
        &self.goal_values
    }

    /// A goal as a payoff: linear, the lowest goal -1, the highest 1 (0 and 100 unless the sheet goes beyond).
    pub fn payoff(&self, goal: i32) -> f32 {
        let (lo, hi) = self.goal_range;
        (2.0 * (goal - lo) as f32 / (hi - lo) as f32 - 1.0).clamp(-1.0, 1.0)
    }

    /// Calls `f` with this thread's evaluator, brought to the state's facts.
    #[inline]
    pub(crate) fn with<T>(&self, s: &GdlState, f: impl FnOnce(&mut Desk) -> T) -> T {
        self.at_desk(|desk| {
            self.engine.seek(desk, self.fact_words(s));
            f(desk)
        })
    }

    #[inline]
    fn with_mut(&self, s: &mut GdlState, f: impl FnOnce(&mut Desk, &mut GdlState)) {
        self.at_desk(|desk| {
            self.engine.seek(desk, self.fact_words(s));
            f(desk, s);
        })
    }

    #[inline]
    pub(crate) fn at_desk<T>(&self, f: impl FnOnce(&mut Desk) -> T) -> T {
        /// Evaluators kept per thread; more games than this in turns on one thread are slow, not wrong.
        const KEPT: usize = 4;
        thread_local!(static DESKS: RefCell<Vec<(u64, Desk)>> = const { RefCell::new(Vec::new()) });
        DESKS.with_borrow_mut(|desks| {
            if desks.first().is_none_or(|d| d.0 != self.id) {
                let desk = match desks.iter().position(|d| d.0 == self.id) {
                    Some(i) => desks.remove(i),
                    None => (self.id, self.engine.desk().expect("an evaluator was made before")),
                };
                desks.insert(0, desk);
                desks.truncate(KEPT);
            }
            f(&mut desks[0].1)
        })
    }

    pub(crate) fn fact_words<'a>(&self, s: &'a GdlState) -> &'a [u64] {
        &s.words[..self.init.len()]
    }

    /// A state between steps.
    pub(crate) fn state(&self, facts: &[u64]) -> GdlState {
        let mut all = vec![0; facts.len() + self.info.roles.len() / 2];
        all[..facts.len()].copy_from_slice(facts);
        GdlState { words: all.into() }
    }

    /// The payoffs at a state: a role without a goal has reached none, one with several gets the highest.
    pub(crate) fn payoffs(&self, desk: &mut Desk) -> Payoffs {
        let mut payoffs = Payoffs::draw(self.info.roles.len());
        if let (Engine::Net { net, wiring, .. }, At::Net(m)) = (&self.engine, &mut desk.at) {
            m.finish(net, wiring);
            for (r, role) in net.roles.iter().enumerate() {
                let goal = role.goals.iter().rev().find(|g| m.holds(g.1)).map_or(self.goal_range.0.max(0), |g| g.0);
                payoffs[Player(r as u8)] = self.payoff(goal);
            }
            return payoffs;
        }
        for r in 0..self.info.roles.len() {
            let goal = self.engine.goals_of(desk, r).last().copied().unwrap_or(self.goal_range.0.max(0));
            payoffs[Player(r as u8)] = self.payoff(goal);
        }
        payoffs
    }

    /// Who chooses here.
    #[inline]
    pub(crate) fn turn(&self, desk: &mut Desk) -> Turn {
        if let Some(turn) = desk.turn {
            return turn;
        }
        let turn = self.find_turn(desk);
        desk.turn = Some(turn);
        turn
    }

    fn find_turn(&self, desk: &mut Desk) -> Turn {
        if self.engine.terminal(desk) {
            return Turn::Over;
        }
        let roles = self.info.roles.len();
        let mut choosers = 0u8;
        for r in 0..roles {
            desk.counts[r] = self.engine.count(desk, r);
            match desk.counts[r] {
                0 => return Turn::Over,
                1 => {}
                _ => choosers |= 1 << r,
            }
        }
        if choosers == 0 {
            // Nobody has a choice: whoever does something else than waiting plays; else the first.
            let desk = &*desk;
            let idle = |&r: &usize| self.habits.idle.get(r).copied().flatten() == Some(self.engine.nth(desk, r, 0));
            let active = (0..roles).find(|r| !idle(r));
            let holder = || self.habits.control_holder(desk.facts());
            choosers = 1 << active.or_else(holder).unwrap_or(0);
        }
        Turn::Choose(choosers)
    }

    fn picked(&self, s: &GdlState, role: usize) -> Option<u32> {
        let word = s.words.get(self.init.len() + role / 2)?;
        ((word >> (role % 2 * 32)) as u32).checked_sub(1)
    }

    /// The next to choose: the first chooser without a choice, and whether it is the last one.
    #[inline]
    fn chooser(&self, s: &GdlState, choosers: u8) -> (usize, bool) {
        let alone = choosers & (choosers - 1) == 0;
        if alone { (choosers.trailing_zeros() as usize, true) } else { self.next_of_several(s, choosers) }
    }

    /// The roles in the order in which they choose.
    fn order(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first).chain((0..self.info.roles.len()).filter(|&r| r != self.first))
    }

    fn next_of_several(&self, s: &GdlState, choosers: u8) -> (usize, bool) {
        let open = |r: &usize| choosers >> r & 1 == 1 && self.picked(s, *r).is_none();
        let mut left = self.order();
        let next = left.by_ref().find(open);
        (next.unwrap_or(choosers.trailing_zeros() as usize), !left.any(|r| open(&r)))
    }

    #[inline]
    fn choose(&self, desk: &mut Desk, s: &mut GdlState, m: Move) {
        let Turn::Choose(choosers) = self.turn(desk) else {
            debug_assert!(false, "no move is legal once the game is over");
            return;
        };
        let (role, last) = self.chooser(s, choosers);
        debug_assert!(self.engine.is_legal(desk, role, m.0), "{} is not legal", self.move_name(m));
        if !last {
            s.words[self.init.len() + role / 2] |= (m.0 as u64 + 1) << (role % 2 * 32);
            return;
        }
        let mut joint = [0; MAX_PLAYERS];
        let roles = self.info.roles.len();
        for (r, mv) in joint[..roles].iter_mut().enumerate() {
            *mv = match () {
                _ if r == role => m.0,
                _ if choosers >> r & 1 == 1 => self.picked(s, r).unwrap_or(0),
                _ => self.engine.nth(desk, r, 0),
            };
        }
        self.engine.step(desk, &joint[..roles]);
        let facts = self.init.len();
        s.words[..facts].copy_from_slice(desk.facts());
        s.words[facts..].fill(0);
    }
}

type Parts = (Engine, Names, Vec<u64>, Vec<i32>);

fn from_net(net: Net, sheet: &Sheet, g: &ground::Grounding) -> Result<Parts, Error> {
    for &a in g.facts.of(GOAL) {
        let value = sheet.text(&g.terms, g.terms.args(a)[1]);
        check_goal(&value)?;
    }
    for (r, role) in net.roles.iter().enumerate() {
        if role.legal.is_empty() {
            return Err(ErrorKind::NoLegal(net.role_names[r].clone()).anywhere());
        }
    }
    let mut init = vec![0; words(net.facts.len())];
    (0..net.facts.len()).filter(|&f| net.init[f]).for_each(|f| set(&mut init, f));
    let names = Names::new(net.facts.clone(), net.moves.clone(), sheet.fold);
    let goals = net.roles.iter().flat_map(|r| r.goals.iter().map(|g| g.0)).collect();
    let wiring = Box::new(Wiring::new(&net, None));
    Ok((Engine::Net { net: Box::new(net), wiring, tapes: None }, names, init, goals))
}

fn check_goal(value: &str) -> Result<i32, Error> {
    let parsed = value.parse().ok().filter(|v: &i32| v.abs() <= 1_000_000);
    parsed.ok_or_else(|| ErrorKind::BadGoal(value.into()).anywhere())
}

/// Plays by the rules themselves, given all facts, moves and goals that are possible.
fn from_rules(sheet: Sheet, strata: &Strata, statics: Statics, possible: [Vec<Term>; 3]) -> Result<Parts, Error> {
    /// The initial state must be affordable, or nothing is; some three seconds.
    const FIRST_STATE: Work = Work { left: 60_000_000, atoms: 4_000_000 };
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
    let rules = Arc::new(Rules::new(&sheet, strata, statics, facts, moves));
    let mut first = Interpreter::new(rules.clone(), FIRST_STATE)?;
    first.seek(&init)?;
    let names = Names::new(fact_names, move_names, sheet.fold);
    Ok((Engine::Rules { rules, sheet: Box::new(sheet) }, names, init, goals))
}

impl Names {
    fn new(facts: Vec<String>, moves: Vec<String>, fold: bool) -> Names {
        let numbers = |names: &[String]| {
            let key = |n: &String| if fold { n.to_lowercase() } else { n.clone() };
            names.iter().enumerate().map(|(i, n)| (key(n), i as u32)).collect()
        };
        Names { fact_numbers: numbers(&facts), move_numbers: numbers(&moves), facts, moves, fold }
    }

    fn find(&self, numbers: &HashMap<String, u32>, e: &Expr) -> Option<u32> {
        let text = write_expr(e);
        numbers.get(&if self.fold { text.to_lowercase() } else { text }).copied()
    }
}

/// An expression with single spaces.
pub(crate) fn write_expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::List(list) => format!("({})", list.iter().map(write_expr).collect::<Vec<_>>().join(" ")),
    }
}

/// A hash of what is written, comments and layout aside, and whether it comes as one list.
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
        self.with(s, |desk| match self.turn(desk) {
            Turn::Over => Player(0),
            Turn::Choose(choosers) => Player(self.chooser(s, choosers).0 as u8),
        })
    }

    fn legal(&self, s: &GdlState, out: &mut Vec<Move>) {
        self.with(s, |desk| match self.turn(desk) {
            Turn::Over => out.clear(),
            Turn::Choose(choosers) => self.engine.legal_of(desk, self.chooser(s, choosers).0, out),
        })
    }

    fn count_legal(&self, s: &GdlState) -> usize {
        self.with(s, |desk| match self.turn(desk) {
            Turn::Over => 0,
            Turn::Choose(choosers) => desk.counts[self.chooser(s, choosers).0] as usize,
        })
    }

    fn sample(&self, s: &GdlState, rng: &mut Rng) -> Option<Move> {
        self.with(s, |desk| match self.turn(desk) {
            Turn::Over => None,
            Turn::Choose(choosers) => {
                let role = self.chooser(s, choosers).0;
                Some(Move(self.engine.nth(desk, role, rng.below(desk.counts[role]))))
            }
        })
    }

    fn play(&self, s: &mut GdlState, m: Move) {
        self.with_mut(s, |desk, s| self.choose(desk, s, m))
    }

    fn outcome(&self, s: &GdlState) -> Option<Payoffs> {
        self.with(s, |desk| match self.turn(desk) {
            Turn::Over => Some(self.payoffs(desk)),
            Turn::Choose(_) => None,
        })
    }

    fn facts(&self, s: &GdlState, out: &mut Vec<Fact>) {
        out.clear();
        out.extend(ones(self.fact_words(s)).map(|f| Fact(f as u32)));
    }

    fn key(&self, s: &GdlState) -> u64 {
        s.words.iter().fold(0, |h, &w| mix(h ^ w))
    }

    fn hidden(&self, s: &GdlState) -> bool {
        s.words[self.init.len()..].iter().any(|&w| w != 0)
    }

    fn open(&self, s: &GdlState) -> GdlState {
        self.state(self.fact_words(s))
    }

    fn rollouts(&self, s: &GdlState, n: u64, rng: &mut Rng, totals: &mut [f64]) -> u64 {
        self.random_playouts(s, n, rng, totals)
    }

    fn view_key(&self, s: &GdlState) -> u64 {
        if !self.hidden(s) {
            return self.key(s);
        }
        let facts = self.fact_words(s).iter().fold(0, |h, &w| mix(h ^ w));
        mix(facts ^ (1 + self.mover(s).0 as u64))
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

    /// The facts that hold, and after a `|` what has been chosen so far: role, move, role, move ..
    fn position(&self, s: &GdlState) -> String {
        let mut words: Vec<&str> = ones(self.fact_words(s)).map(|f| self.names.facts[f].as_str()).collect();
        if words == ["start"] {
            words.push("start"); // not to be taken for the initial position
        }
        if self.hidden(s) {
            words.push("|");
            for r in self.order() {
                if let Some(m) = self.picked(s, r) {
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
                self.with(&s, |desk| match self.turn(desk) {
                    Turn::Over => false,
                    Turn::Choose(choosers) => {
                        let (r, last) = self.chooser(&s, choosers);
                        !last && self.info.roles[r] == role && self.engine.is_legal(desk, r, m.0)
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
        crate::draw::show(self, s)
    }
}
