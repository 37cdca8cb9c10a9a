//! One search in progress: the recursion, and the iterations at the root.

use super::order::Ply;
use super::score::{DECISIVE, INFINITE, NodeValue, SCALE, WIN, estimate, shifted, terminal};
use super::table::Bound;
use super::{DEEPEST, Iteration, NO_MOVE, Pvs, PvsOrder, RootResult};
use crate::Clock;
use ludex_core::{Choice, Control, Game, Limit, Move, Player, Progress};

const ABORTED: NodeValue = NodeValue { value: 0, complete: false };
/// Children are looked at before any is searched where so many plies remain.
const ETC_DEPTH: u32 = 3;
/// ProbCut: least depth, and how much less deep the shallow search is.
const PROBCUT_DEPTH: u32 = 5;
const PROBCUT_LESS: u32 = 4;
/// The aspiration window begins with this iteration.
const ASPIRATION_DEPTH: u32 = 4;

/// One search in progress. `FOLLOWS`: the evaluator follows the line; known at compile time, since most do not.
pub(super) struct Worker<'a, G: Game, const FOLLOWS: bool> {
    game: &'a G,
    search: &'a mut Pvs<G>,
    clock: Clock,
    progress: Option<&'a Progress>,
    /// Positions searched, the root included.
    pub nodes: u64,
    most_nodes: u64,
    aborted: bool,
    /// Extensions end at this ply.
    most_plies: u32,
    /// Plies of the line that the evaluator has been told of.
    told: u32,
}

impl<'a, G: Game, const FOLLOWS: bool> Worker<'a, G, FOLLOWS> {
    /// Starts the clock.
    pub fn new(game: &'a G, search: &'a mut Pvs<G>, control: &'a Control, limit: &Limit) -> Self {
        let (clock, progress) = (Clock::start(control), control.progress.as_ref());
        let most_nodes = limit.nodes.unwrap_or(u64::MAX);
        Worker { game, search, clock, progress, nodes: 1, most_nodes, aborted: false, most_plies: DEEPEST, told: 0 }
    }

    /// Searches deeper and deeper, the best move of the root first each time. Gives the last iteration that says anything.
    pub fn deepen(&mut self, s: &G::State, moves: &mut [Move], deepest: u32) -> Option<Iteration> {
        let mut last: Option<Iteration> = None;
        for depth in 1..=deepest {
            self.most_plies = (2 * depth).min(DEEPEST);
            let Some(iteration) = self.aspire(s, depth, moves, last.as_ref()) else { break };
            let end = !iteration.finished || iteration.complete;
            if iteration.finished {
                self.report(s, moves, &iteration);
            }
            last = Some(iteration);
            if end {
                break;
            }
        }
        last
    }

    /// Reports what the search would choose now.
    fn report(&self, s: &G::State, moves: &[Move], iteration: &Iteration) {
        if let Some(progress) = self.progress {
            let choice = self.search.choice(self.game, s, moves, iteration);
            progress(&Choice { nodes: self.nodes, ..choice });
        }
    }

    /// One iteration, in a window around the value of the last one; where the value is outside, the window grows. `None` if
    /// it was cut short before it said anything.
    fn aspire(&mut self, s: &G::State, depth: u32, moves: &mut [Move], last: Option<&Iteration>) -> Option<Iteration> {
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        let mut width = (self.search.options.aspiration * SCALE as f32) as i32;
        if let Some(i) = last
            && width > 0
            && depth >= ASPIRATION_DEPTH
        {
            (alpha, beta) = (i.best - width, i.best + width);
        }
        let before = last.map_or(0, |i| i.depth);
        // A move that is better than was expected is worth playing, even if nobody knows how much better.
        let mut better = None;
        loop {
            let iteration = self.iterate(s, depth, moves, before, alpha, beta);
            if iteration.moves.is_empty() || (self.aborted && iteration.best <= alpha) {
                return better;
            }
            let inside = alpha < iteration.best && iteration.best < beta;
            if self.aborted || inside || (iteration.complete && iteration.best.abs() > DECISIVE) {
                return Some(iteration);
            }
            width *= 4;
            let wide = width > SCALE || iteration.best.abs() > SCALE;
            match iteration.best <= alpha {
                true => alpha = if wide { -INFINITE } else { iteration.best - width },
                false => {
                    beta = if wide { INFINITE } else { iteration.best + width };
                    better = Some(Iteration { finished: false, depth: before, ..iteration });
                }
            }
        }
    }

    /// The moves of the root once, within a window. Every move that is better than those before comes to the front.
    fn iterate(
        &mut self,
        s: &G::State,
        depth: u32,
        moves: &mut [Move],
        before: u32,
        mut alpha: i32,
        beta: i32,
    ) -> Iteration {
        let mover = self.game.mover(s);
        let line = Vec::new();
        let mut iteration =
            Iteration { depth: before, moves: Vec::new(), best: -INFINITE, line, complete: true, finished: true };
        for i in 0..moves.len() {
            let m = moves[i];
            let nodes_before = self.nodes;
            let mut child = s.clone();
            self.play(&mut child, m, 1);
            let mut below = match i {
                0 => self.below(&child, mover, depth - 1, 1, alpha, beta, false),
                _ => self.below(&child, mover, depth - 1, 1, alpha, alpha + 1, false),
            };
            if i > 0 && below.value > alpha && below.value < beta && beta > alpha + 1 && depth > 1 {
                below = self.below(&child, mover, depth - 1, 1, alpha, beta, false);
            }
            self.take_back(1);
            if self.aborted {
                iteration.finished = false;
                break;
            }
            iteration.complete &= below.complete;
            let NodeValue { value, complete } = below;
            let exact = value > alpha && (value < beta || value > DECISIVE);
            let nodes = self.nodes - nodes_before;
            iteration.moves.push(RootResult { mv: m, value, exact, complete, nodes });
            if value > iteration.best {
                iteration.best = value;
                if value > alpha {
                    alpha = value;
                    let rest = if depth > 1 { &self.search.stack[1].line[..] } else { &[] };
                    iteration.line = std::iter::once(m).chain(rest.iter().copied()).collect();
                    moves[..=i].rotate_right(1);
                }
            }
            if value >= beta || value > DECISIVE {
                // Certain if the move that did it is: nothing beats a win, and a bound is all that is asked for.
                iteration.complete = complete && value > DECISIVE;
                break;
            }
            if self.clock.report_due() && iteration.best >= alpha {
                self.report(s, moves, &iteration);
            }
        }
        if iteration.finished {
            iteration.depth = depth;
        }
        if iteration.line.is_empty() {
            // All moves are below the window: the one that is least so.
            let best = iteration.moves.iter().find(|r| r.value == iteration.best);
            iteration.line.extend(best.map(|r| r.mv).or(moves.first().copied()));
        }
        iteration
    }

    /// Whether the search had to end.
    pub fn aborted(&self) -> bool {
        self.aborted
    }

    /// Whether a move of `s` is worth at least `beta` to its mover, by a null window.
    pub fn test(&mut self, s: &G::State, mover: Player, m: Move, depth: u32, beta: i32) -> NodeValue {
        let mut child = s.clone();
        self.play(&mut child, m, 1);
        let value = self.below(&child, mover, depth - 1, 1, beta - 1, beta, false);
        self.take_back(1);
        value
    }

    /// Counts a position; whether the search may go on.
    #[inline]
    fn count(&mut self) -> bool {
        if self.nodes >= self.most_nodes || self.clock.tick() {
            self.aborted = true;
        } else {
            self.nodes += 1;
        }
        !self.aborted
    }

    /// Plays a move that leads to `ply`.
    #[inline]
    fn play(&mut self, s: &mut G::State, m: Move, ply: u32) {
        let at = &mut self.search.steps[ply as usize];
        at.mv = m;
        match FOLLOWS {
            true => self.game.play_facts(s, m, &mut at.on, &mut at.off),
            false => self.game.play(s, m),
        }
    }

    /// Takes back the move that led to `ply`.
    #[inline]
    fn take_back(&mut self, ply: u32) {
        if FOLLOWS && self.told >= ply {
            debug_assert_eq!(self.told, ply);
            self.search.eval.pop();
            self.told = ply - 1;
        }
    }

    /// What `s`, which `ply` plies of moves led to, is worth to `p`, searched `depth` plies deep. `no_win`: it is known that
    /// the opponent of `p` has no win in one there.
    #[inline(always)] // a call costs more than what it does at most nodes
    #[allow(clippy::too_many_arguments)] // the arguments of `node`, and the player
    fn below(
        &mut self,
        s: &G::State,
        p: Player,
        depth: u32,
        ply: u32,
        alpha: i32,
        beta: i32,
        no_win: bool,
    ) -> NodeValue {
        if depth == 0 {
            self.leaf(s, p, ply)
        } else if self.game.mover(s) == p {
            self.node(s, depth, ply, alpha, beta, false)
        } else {
            self.node(s, depth, ply, -beta, -alpha, no_win).negated()
        }
    }

    /// The value of a state at the horizon for `p`. Most nodes are such, so they get by without a call of `node`.
    #[inline]
    fn leaf(&mut self, s: &G::State, p: Player, ply: u32) -> NodeValue {
        if !self.count() {
            return ABORTED;
        }
        if let Some(payoffs) = self.game.outcome(s) {
            return NodeValue { value: terminal(payoffs[p], ply), complete: true };
        }
        if self.search.options.wins && self.game.win_in_one(s).is_some() {
            let value = WIN - ply as i32 - 1;
            return NodeValue { value: if self.game.mover(s) == p { value } else { -value }, complete: true };
        }
        self.search.counts.evaluations += 1;
        let Pvs { eval, steps, .. } = &mut *self.search;
        let payoffs = match FOLLOWS {
            true => {
                for at in &steps[self.told as usize + 1..=ply as usize] {
                    eval.push(&at.on, &at.off);
                }
                self.told = ply;
                eval.line_value(self.game, s)
            }
            false => eval.value(self.game, s),
        };
        NodeValue { value: estimate(payoffs[p]), complete: false }
    }

    /// The value of `s` for its mover, by a search `depth` plies deep; exact within (alpha, beta), a bound outside. `no_win`:
    /// it is known that the mover has no win in one.
    fn node(&mut self, s: &G::State, depth: u32, ply: u32, alpha: i32, beta: i32, no_win: bool) -> NodeValue {
        if !self.count() {
            return ABORTED;
        }
        self.search.stack[ply as usize].line.clear();
        let mover = self.game.mover(s);
        if let Some(payoffs) = self.game.outcome(s) {
            return NodeValue { value: terminal(payoffs[mover], ply), complete: true };
        }
        if self.search.options.wins
            && !no_win
            && let Some(m) = self.game.win_in_one(s)
        {
            self.search.stack[ply as usize].line.push(m);
            return NodeValue { value: WIN - ply as i32 - 1, complete: true };
        }
        if ply >= DEEPEST {
            self.nodes -= 1;
            return self.leaf(s, mover, ply);
        }
        let (mut key, mut known) = (0, NO_MOVE);
        // One ply above the leaves a look into the table costs more than it saves, unless leaves are dear.
        let tabled = (FOLLOWS || depth > 1) && !self.search.table.is_empty();
        if tabled {
            key = self.search.key(self.game, s);
            self.search.counts.table_asked += 1;
            if let Some(e) = self.search.table.get(key) {
                known = e.best;
                let value = shifted(e.value as i32, -(ply as i32));
                if self.fits(e.depth, e.complete, depth) && e.decides(value, alpha, beta) {
                    self.search.counts.table_answers += 1;
                    if known != NO_MOVE {
                        self.search.stack[ply as usize].line.push(known);
                    }
                    return NodeValue { value, complete: e.complete };
                }
            }
        }
        if let Some(guess) = self.probcut(s, depth, ply, alpha, beta, no_win) {
            return guess;
        }
        let mut here = std::mem::take(&mut self.search.stack[ply as usize]);
        self.game.legal(s, &mut here.moves);
        let mut found = self.moves(s, mover, depth, ply, alpha, beta, known, &mut here);
        self.search.stack[ply as usize] = here;
        if self.aborted {
            return ABORTED;
        }
        // A win needs no more than a lower bound, a loss no more than an upper one: nothing is better, or worse.
        let NodeValue { value, ref mut complete } = found.value;
        *complete |= (value > DECISIVE && value > alpha) || (value < -DECISIVE && value < beta);
        if tabled {
            let bound = match value {
                v if v >= beta => Bound::AtLeast,
                v if v <= alpha => Bound::AtMost,
                _ => Bound::Exact,
            };
            let kept = NodeValue { value: shifted(value, ply as i32), complete: *complete };
            self.search.table.put(key, found.best, depth, bound, kept);
        }
        found.value
    }

    /// Whether a table entry answers a question of this depth.
    #[inline]
    fn fits(&self, entry: u8, complete: bool, depth: u32) -> bool {
        let entry = entry as u32;
        entry == depth || (self.search.options.deeper && (complete || entry > depth)) || (complete && entry < depth)
    }

    /// Where a search some plies less deep is far outside the window, so is this one, probably: the bound. Where the shallow
    /// search is certain, so is this one, surely.
    fn probcut(
        &mut self,
        s: &G::State,
        depth: u32,
        ply: u32,
        alpha: i32,
        beta: i32,
        no_win: bool,
    ) -> Option<NodeValue> {
        let options = &self.search.options;
        if options.probcut <= 0.0 || depth < PROBCUT_DEPTH || beta - alpha > 1 {
            return None;
        }
        let margin = (options.probcut * options.threshold * SCALE as f32) as i32;
        let (shallow, high, low) = (depth - PROBCUT_LESS, beta + margin, alpha - margin);
        let bound = |value| NodeValue { value, complete: false };
        let mut guess = None;
        if (1 - SCALE..=SCALE).contains(&high) {
            let found = self.node(s, shallow, ply, high - 1, high, no_win);
            guess = (found.value >= high).then_some(if found.complete { found } else { bound(beta) });
        }
        if guess.is_none() && !self.aborted && (-SCALE..SCALE).contains(&low) {
            let found = self.node(s, shallow, ply, low, low + 1, no_win);
            guess = (found.value <= low).then_some(if found.complete { found } else { bound(alpha) });
        }
        self.search.stack[ply as usize].line.clear();
        if self.aborted {
            return Some(ABORTED);
        }
        self.search.counts.probcuts += guess.is_some() as u64;
        guess
    }

    /// Looks at all children before any is searched. Moves after which the opponent wins at once are taken out, and a child
    /// that the table knows to be good enough ends the node.
    fn look_ahead(&mut self, s: &G::State, at: &Window, here: &mut Ply) -> LookAhead {
        let options = self.search.options;
        let etc = options.etc && at.depth >= ETC_DEPTH && !self.search.table.is_empty();
        let mut ahead = LookAhead { lost: NO_MOVE, cutoff: None };
        if !options.wins && !etc {
            return ahead;
        }
        let mut kept = 0;
        for i in 0..here.moves.len() {
            let m = here.moves[i];
            here.moves[kept] = m;
            kept += 1;
            let mut child = s.clone();
            self.game.play(&mut child, m);
            let same = self.game.mover(&child) == at.mover;
            if self.game.outcome(&child).is_some() {
                continue;
            }
            if options.wins && !same && self.game.win_in_one(&child).is_some() {
                ahead.lost = m;
                kept -= 1;
                continue;
            }
            if etc && let Some(e) = self.search.table.get(self.search.key(self.game, &child)) {
                let value = shifted(e.value as i32, -(at.ply as i32 + 1));
                let (value, bounds) = match same {
                    true => (value, e.bound != Bound::AtMost),
                    false => (-value, e.bound != Bound::AtLeast),
                };
                if bounds && value >= at.beta && self.fits(e.depth, e.complete, at.depth - 1) {
                    self.search.counts.etc_cutoffs += 1;
                    ahead.cutoff = Some(Found { value: NodeValue { value, complete: e.complete }, best: m });
                    return ahead;
                }
            }
        }
        here.moves.truncate(kept);
        ahead
    }

    /// Tries the moves of a node.
    #[allow(clippy::too_many_arguments)] // the arguments of `node`, and what it found out
    #[inline]
    fn moves(
        &mut self,
        s: &G::State,
        mover: Player,
        depth: u32,
        ply: u32,
        mut alpha: i32,
        beta: i32,
        known: Move,
        here: &mut Ply,
    ) -> Found {
        let options = self.search.options;
        let mut best = Found { value: NodeValue { value: -INFINITE, complete: false }, best: NO_MOVE };
        let mut all_complete = true;
        let mut looked = false;
        if depth > 1 {
            let ahead = self.look_ahead(s, &Window { mover, depth, ply, beta }, here);
            if let Some(found) = ahead.cutoff {
                return found;
            }
            looked = options.wins;
            if ahead.lost != NO_MOVE {
                // The opponent wins with the ply after the next.
                best = Found { value: NodeValue { value: ply as i32 + 2 - WIN, complete: true }, best: ahead.lost };
                here.line.push(ahead.lost);
            }
        }
        let below = match options.extensions && here.moves.len() == 1 && ply < self.most_plies {
            true => depth,
            false => depth - 1,
        };
        // One ply above cheap leaves ranking costs more than it saves: only the moves that cut off lately come first.
        let ranked = FOLLOWS || depth > 1;
        match ranked {
            true => self.rank(s, mover, depth, ply, known, here),
            false => self.search.cutoffs.killers_first(ply, &mut here.moves),
        }
        for i in 0..here.moves.len() {
            let (m, special) = if ranked { here.next_best(i) } else { (here.moves[i], false) };
            let mut child = s.clone();
            self.play(&mut child, m, ply + 1);
            let child_ply = ply + 1;
            let mut value = NodeValue { value: alpha + 1, complete: false };
            if i > 0 && below > 0 {
                let mut reduced = below;
                if options.reductions && !special && depth > 2 {
                    let plies = self.search.reductions[depth.min(63) as usize][i.min(63)] as u32;
                    reduced = (below - plies.min(below - 1)).max(1);
                }
                if reduced < below {
                    self.search.counts.reduced += 1;
                    value = self.below(&child, mover, reduced, child_ply, alpha, alpha + 1, looked);
                }
                if value.value > alpha && !self.aborted {
                    value = self.below(&child, mover, below, child_ply, alpha, alpha + 1, looked);
                }
            }
            if (i == 0 || below == 0 || (value.value > alpha && value.value < beta && beta > alpha + 1))
                && !self.aborted
            {
                self.search.counts.searched_again += (i > 0 && below > 0) as u64;
                value = self.below(&child, mover, below, child_ply, alpha, beta, looked);
            }
            self.take_back(child_ply);
            if self.aborted {
                return best;
            }
            all_complete &= value.complete;
            if value.value > best.value.value {
                best = Found { value: NodeValue { complete: false, ..value }, best: m };
                if value.value > alpha {
                    alpha = value.value;
                    let rest = if below > 0 { &self.search.stack[child_ply as usize].line[..] } else { &[] };
                    here.set_line(m, rest);
                }
                if value.value >= beta {
                    best.value.complete = value.complete;
                    self.search.counts.cutoffs += 1;
                    self.search.counts.first_move_cutoffs += (i == 0) as u64;
                    let last = self.search.steps[ply as usize].mv;
                    self.search.cutoffs.note(mover, last, &here.moves[..=i], depth, ply);
                    return best;
                }
            }
        }
        best.value.complete = all_complete;
        best
    }

    /// Scores the moves; the loop takes the best of the rest each time.
    #[inline]
    fn rank(&mut self, s: &G::State, mover: Player, depth: u32, ply: u32, known: Move, here: &mut Ply) {
        match self.search.options.order {
            PvsOrder::Eval(least) if depth >= least && here.moves.len() > 1 => {
                here.opinions.clear();
                here.opinions.resize(here.moves.len(), 0.0);
                self.search.eval.score_moves(self.game, s, &here.moves, &mut here.opinions);
                here.score_by_opinions(known);
            }
            _ => self.search.cutoffs.score(mover, self.search.steps[ply as usize].mv, known, ply, here),
        }
    }
}

/// A node whose children are looked at.
struct Window {
    mover: Player,
    depth: u32,
    ply: u32,
    beta: i32,
}

/// What a look at the children of a node found.
struct LookAhead {
    /// A move after which the opponent wins at once.
    lost: Move,
    /// A child that is good enough.
    cutoff: Option<Found>,
}

/// What a node is worth, and by which move.
struct Found {
    value: NodeValue,
    best: Move,
}
