//! Symmetries of a game, found from its rules alone: reflections and rotations of a board, exchange of the two roles.
//!
//! A learner gets `k` positions for one: if `p` is a symmetry, the facts of a state and their images under `p` have the same
//! value, the one for the mover and the other for the mover's image. So a symmetry is a permutation of facts and moves that
//! commutes with play; it need not map the initial state to itself (turned by 90 degrees, the start of Othello is not the
//! start of Othello).
//!
//! *Candidates* come from the names of facts, `(cell 4 1 x)`, which are part of the rules. Facts are grouped by their functor;
//! the constants of one argument are its domain; `a7` is a letter and a number. A candidate chooses for each functor its
//! image (itself, or one of the same shape: the `h` and `v` edges of Dots), which arguments are exchanged (those with domains of
//! equal size), and a permutation of each domain: the order as it is or reversed, and all permutations of small sets of words
//! (`b`, `x`, `o`). If the names leave gaps in the board, each half of an order may be reversed as well, which exchanges the
//! rings of Morris. Names of roles are exchanged exactly if the roles are.
//!
//! *Verification* plays random games twice, in lockstep: from the initial state, and from its image. At each pair of states
//! the movers, legal moves and results must correspond, and each move must change facts whose images some move of the other
//! game changes. That is its image, here and at every later state. So nearly every wrong candidate is refuted at the
//! first states, and the images of moves need no names. Moves that no game showed are completed by the names of the others.
//!
//! The symmetries that are verified are closed under composition, and each product is verified too. Verification is evidence
//! from random play, not a proof. Candidates that differ only in facts that no game showed count as one; the first is kept, and
//! those that turn all functors alike come first.
//!
//! Not found:
//!
//! * what no permutation of single constants describes: rotations of a hexagonal board by 60 degrees, numbers written in words;
//! * shifts of a torus; exchanges of roles in games of more than two;
//! * anything where moves are simultaneous, or where all random games end alike;
//! * symmetries under which the image of the initial state cannot be made (see [`Game::state_from_facts`]), or the images of
//!   moves that no game showed cannot be completed by names (rulesheets with many kinds of rare jumps).

use crate::{Fact, Game, Move, Payoffs, Player, Rng, mix};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A permutation of facts and moves under which the rules do not change.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Symmetry {
    /// `facts[f]` is what fact `f` becomes.
    pub facts: Vec<Fact>,
    /// `moves[m]` is what move `m` becomes.
    pub moves: Vec<Move>,
    /// Whether the two players are exchanged: the image of a state has the other mover and the payoffs of the other.
    pub swaps_roles: bool,
}

impl Symmetry {
    /// The permutation that changes nothing.
    pub fn identity(facts: u32, moves: u32) -> Self {
        Symmetry { facts: (0..facts).map(Fact).collect(), moves: (0..moves).map(Move).collect(), swaps_roles: false }
    }

    /// This permutation, followed by another.
    pub fn then(&self, next: &Symmetry) -> Symmetry {
        Symmetry {
            facts: self.facts.iter().map(|f| next.facts[f.index()]).collect(),
            moves: self.moves.iter().map(|m| next.moves[m.index()]).collect(),
            swaps_roles: self.swaps_roles != next.swaps_roles,
        }
    }

    /// What the initial state becomes; `None` if it cannot be made.
    pub fn start<G: Game>(&self, game: &G) -> Option<G::State> {
        image_of_start(game, &self.facts)
    }

    /// What a player becomes.
    #[inline]
    pub fn player(&self, p: Player) -> Player {
        if self.swaps_roles { p.other() } else { p }
    }

    /// What payoffs become.
    pub fn payoffs(&self, p: Payoffs) -> Payoffs {
        swapped(p, self.swaps_roles)
    }
}

/// How hard to look. All are counts, so that a result depends on the seed alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// The most candidates to test, for each way to exchange functors and roles.
    pub candidates: usize,
    /// Plies of random games in which each symmetry is verified.
    pub plies: usize,
    /// The most symmetries to return; a generator that would give more is left out.
    pub most: usize,
}

/// 20,000 candidates, 4,000 plies for each symmetry, at most 48: up to 0.2 s for a native game, up to 5 s for a rulesheet
/// that has a network. Where a ply takes milliseconds (rulesheets that are interpreted), give fewer plies.
impl Default for Effort {
    fn default() -> Self {
        Effort { candidates: 20_000, plies: 4_000, most: 48 }
    }
}

/// The symmetries found: a group under [`Symmetry::then`], the identity first.
pub fn symmetries<G: Game>(game: &G, effort: &Effort, seed: u64) -> Vec<Symmetry> {
    let info = game.info();
    let mut group = Group {
        members: vec![Symmetry::identity(info.facts, info.moves)],
        seen: vec![false; info.facts as usize],
        verifier: Verifier { game, plies: effort.plies, seed },
        most: effort.most,
    };
    if !group.verifier.sample(&mut group.seen) {
        return group.members;
    }
    let names = Names::of(game);
    for swaps_roles in [false, true].into_iter().take(if info.players() == 2 { 2 } else { 1 }) {
        if let Some(mirror) = info.mirror.as_ref().filter(|_| swaps_roles) {
            group.add(&mirror.facts, true);
        }
        for functors in names.functor_permutations() {
            let options: Vec<Vec<FactMap>> =
                functors.iter().enumerate().map(|(from, &to)| names.options(from, to, swaps_roles)).collect();
            names.each_candidate(options, effort.candidates, |facts| group.add(facts, swaps_roles));
        }
    }
    group.members
}

/// The symmetries found so far.
struct Group<'a, G: Game> {
    members: Vec<Symmetry>,
    /// The facts that held in random games. Symmetries that differ only in others count as the same.
    seen: Vec<bool>,
    verifier: Verifier<'a, G>,
    most: usize,
}

impl<G: Game> Group<'_, G> {
    /// The images of the facts that were seen, and whether roles are exchanged.
    fn shown(&self, facts: &[Fact], swaps_roles: bool) -> (Vec<Fact>, bool) {
        (facts.iter().zip(&self.seen).filter(|(_, seen)| **seen).map(|(f, _)| *f).collect(), swaps_roles)
    }

    /// Adds a permutation of facts and all its products with the members, if all of them are verified.
    fn add(&mut self, facts: &[Fact], swaps_roles: bool) {
        let same = |g: &Symmetry| {
            let mut images = g.facts.iter().zip(facts).zip(&self.seen);
            g.swaps_roles == swaps_roles && images.all(|((a, b), seen)| a == b || !seen)
        };
        if self.members.iter().any(same) {
            return;
        }
        let Some(generator) = self.verifier.find_moves(facts, swaps_roles) else { return };
        let mut members = self.members.clone();
        let mut known: HashSet<Symmetry> = members.iter().cloned().collect();
        let mut generators = members.clone();
        generators.push(generator);
        // Right products with the generators, until there are no new ones.
        let mut next = 0;
        while next < members.len() {
            for g in &generators {
                let product = members[next].then(g);
                if known.insert(product.clone()) {
                    if members.len() == self.most {
                        return;
                    }
                    members.push(product);
                }
            }
            next += 1;
        }
        let shown: HashSet<_> = members.iter().map(|g| self.shown(&g.facts, g.swaps_roles)).collect();
        let new = &members[self.members.len()..];
        if shown.len() == members.len() && new.iter().skip(1).all(|g| self.verifier.holds(g)) {
            self.members = members;
        }
    }
}

/// Plays games in lockstep with their images.
struct Verifier<'a, G: Game> {
    game: &'a G,
    plies: usize,
    seed: u64,
}

/// What lockstep play has shown of the images of moves.
struct Images<'a> {
    facts: &'a [Fact],
    swaps_roles: bool,
    moves: Vec<Option<Move>>,
    /// The moves that are images.
    taken: Vec<bool>,
}

impl<G: Game> Verifier<'_, G> {
    /// Marks the facts that hold in the games of [`Verifier::lockstep`]. Whether random games end in more than one way: if they
    /// all end alike, as in a puzzle that nobody solves by chance, they say nothing of what the goals are.
    fn sample(&self, seen: &mut [bool]) -> bool {
        let (game, mut rng) = (self.game, Rng::new(self.seed));
        let (mut legal, mut on, mut off, mut plies) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let (mut first, mut differ) = (None, false);
        game.facts(&game.initial(), &mut on);
        on.iter().for_each(|f| seen[f.index()] = true);
        while plies < if differ { 1 } else { 20 } * self.plies {
            let mut s = game.initial();
            for _ in 0..self.longest().min(20 * self.plies) {
                game.legal(&s, &mut legal);
                plies += 1;
                let Some(&m) = rng.pick(&legal) else { break };
                game.play_facts(&mut s, m, &mut on, &mut off);
                on.iter().filter(|_| plies <= self.plies).for_each(|f| seen[f.index()] = true);
            }
            let result = game.outcome(&s);
            differ |= *first.get_or_insert(result) != result;
        }
        differ
    }

    fn longest(&self) -> usize {
        self.game.info().horizon.map_or(usize::MAX, |h| h.plies as usize)
    }

    /// The symmetry with this permutation of facts, if there is one.
    fn find_moves(&self, facts: &[Fact], swaps_roles: bool) -> Option<Symmetry> {
        let moves = self.game.info().moves as usize;
        let mut images = Images { facts, swaps_roles, moves: vec![None; moves], taken: vec![false; moves] };
        if !self.lockstep(&mut images) {
            return None;
        }
        let moves = complete(self.game, images.moves)?;
        Some(Symmetry { facts: facts.to_vec(), moves, swaps_roles })
    }

    /// Whether a symmetry agrees with random play.
    fn holds(&self, g: &Symmetry) -> bool {
        let moves = g.moves.iter().copied().map(Some).collect();
        let taken = vec![true; g.moves.len()];
        self.lockstep(&mut Images { facts: &g.facts, swaps_roles: g.swaps_roles, moves, taken })
    }

    /// Plays random games and their images; `false` as soon as they differ. The games are the same for all candidates: so a
    /// fact that one of them shows is tested for each.
    fn lockstep(&self, images: &mut Images) -> bool {
        let game = self.game;
        let (start, Some(start_image)) = (game.initial(), image_of_start(self.game, images.facts)) else {
            return false;
        };
        let mut rng = Rng::new(self.seed);
        let (mut legal, mut legal_image, mut plies) = (Vec::new(), Vec::new(), 0);
        let mut step = Step::default();
        while plies < self.plies {
            let (mut s, mut t) = (start.clone(), start_image.clone());
            for _ in 0..self.longest() {
                game.legal(&s, &mut legal);
                game.legal(&t, &mut legal_image);
                plies += 1;
                if legal.len() != legal_image.len() || game.hidden(&s) || game.hidden(&t) {
                    return false;
                }
                let image = |p: Option<Payoffs>| p.map(|p| swapped(p, images.swaps_roles));
                if legal.is_empty() {
                    let same = image(game.outcome(&s)) == game.outcome(&t) && image(game.margin(&s)) == game.margin(&t);
                    if !same {
                        return false;
                    }
                    break;
                }
                let mover = game.mover(&s);
                let mover = if images.swaps_roles { mover.other() } else { mover };
                if game.mover(&t) != mover || !images.cover(game, (&s, &legal), (&t, &legal_image), &mut step) {
                    return false;
                }
                let Some((m, m_image)) = rng.pick(&legal).and_then(|&m| Some((m, images.moves[m.index()]?))) else {
                    return false;
                };
                let change = step.play(game, &mut s, m, |f| images.facts[f.index()]);
                if change != step.play(game, &mut t, m_image, |f| *f) {
                    return false;
                }
                if plies >= self.plies {
                    break;
                }
            }
        }
        true
    }
}

impl Images<'_> {
    /// Whether every legal move of `s` has an image among the legal moves of `t`; images that are not known yet are found by
    /// what the moves change.
    fn cover<G: Game>(
        &mut self,
        game: &G,
        (s, legal): (&G::State, &[Move]),
        (t, legal_image): (&G::State, &[Move]),
        step: &mut Step,
    ) -> bool {
        let mut unknown = false;
        for m in legal {
            match self.moves[m.index()] {
                Some(image) if legal_image.binary_search(&image).is_err() => return false,
                Some(_) => {}
                None => unknown = true,
            }
        }
        if !unknown {
            return true;
        }
        let mut free: HashMap<u64, Vec<Move>> = HashMap::new();
        for &m in legal_image.iter().rev().filter(|m| !self.taken[m.index()]) {
            free.entry(step.play(game, &mut t.clone(), m, |f| *f)).or_default().push(m);
        }
        for &m in legal {
            if self.moves[m.index()].is_none() {
                let change = step.play(game, &mut s.clone(), m, |f| self.facts[f.index()]);
                let Some(image) = free.get_mut(&change).and_then(Vec::pop) else { return false };
                self.moves[m.index()] = Some(image);
                self.taken[image.index()] = true;
            }
        }
        true
    }
}

/// The buffers for one move.
#[derive(Default)]
struct Step {
    on: Vec<Fact>,
    off: Vec<Fact>,
}

impl Step {
    /// Plays a move and hashes the images of the facts that it changes.
    fn play<G: Game>(&mut self, game: &G, s: &mut G::State, m: Move, image: impl Fn(&Fact) -> Fact) -> u64 {
        game.play_facts(s, m, &mut self.on, &mut self.off);
        let on = self.on.iter().fold(0u64, |h, f| h.wrapping_add(mix(2 * image(f).0 as u64)));
        self.off.iter().fold(on, |h, f| h.wrapping_add(mix(2 * image(f).0 as u64 + 1)))
    }
}

/// The image of the initial state under a permutation of facts, if it can be made.
fn image_of_start<G: Game>(game: &G, image: &[Fact]) -> Option<G::State> {
    let start = game.initial();
    let (mut held, mut mapped) = (Vec::new(), Vec::new());
    game.facts(&start, &mut held);
    mapped.extend(held.iter().map(|f| image[f.index()]));
    mapped.sort_unstable();
    if mapped == held {
        return Some(start);
    }
    let mut fits = |t: &G::State| {
        game.facts(t, &mut held);
        held == mapped
    };
    game.mirrored(&start).filter(&mut fits).or_else(|| game.state_from_facts(&mapped).filter(&mut fits))
}

fn swapped(p: Payoffs, swap: bool) -> Payoffs {
    if swap { Payoffs::from_slice(&[p[Player(1)], p[Player(0)]]) } else { p }
}

/// Completes the images of moves that no game showed, by their names. The moves of the same kind that were seen teach which
/// words of a name are exchanged and how each is mapped; words and kinds that were not seen are mapped as in all other kinds,
/// if those agree, and else stay as they are. `None` if that gives no permutation.
fn complete<G: Game>(game: &G, images: Vec<Option<Move>>) -> Option<Vec<Move>> {
    if images.iter().all(Option::is_some) {
        return images.into_iter().collect();
    }
    let names: Vec<Pattern> = (0..images.len()).map(|m| split_move(&game.move_name(Move(m as u32)))).collect();
    let numbers: HashMap<&Pattern, usize> = names.iter().enumerate().map(|(m, n)| (n, m)).collect();
    let mut examples: BTreeMap<&str, Vec<(&Pattern, &Pattern)>> = BTreeMap::new();
    for (m, image) in images.iter().enumerate() {
        if let Some(image) = image {
            examples.entry(&names[m].0).or_default().push((&names[m], &names[image.index()]));
        }
    }
    let rules: HashMap<&str, NameRule> =
        examples.iter().filter_map(|(&kind, pairs)| Some((kind, NameRule::learn(pairs)?))).collect();
    // What all rules agree on; `None` where they do not.
    let mut common: HashMap<&str, Option<&str>> = HashMap::new();
    for (&a, &b) in rules.values().flat_map(|r| &r.places).flat_map(|(_, map)| map) {
        common.entry(a).and_modify(|known| *known = known.filter(|&k| k == b)).or_insert(Some(b));
    }
    let by_name = |m: usize| {
        let (kind, words) = &names[m];
        let usual =
            |word: &String| common.get(word.as_str()).map_or(Some(word.as_str()), |&image| image).map(String::from);
        let image: Pattern = match rules.get(kind.as_str()) {
            None => (kind.clone(), words.iter().map(usual).collect::<Option<_>>()?),
            Some(rule) => {
                let place = |(from, map): &(usize, HashMap<&str, &str>)| {
                    let word = &words[*from];
                    map.get(word.as_str()).map(|w| w.to_string()).or_else(|| usual(word))
                };
                (rule.kind.to_string(), rule.places.iter().map(place).collect::<Option<_>>()?)
            }
        };
        numbers.get(&image).copied()
    };
    let mut taken = vec![false; images.len()];
    let mut moves = Vec::new();
    for (m, image) in images.iter().enumerate() {
        let image = image.map(Move::index).or_else(|| by_name(m))?;
        if std::mem::replace(&mut taken[image], true) {
            return None;
        }
        moves.push(Move(image as u32));
    }
    Some(moves)
}

/// A move's name as its kind, with `_` for words and numbers, and those words and numbers.
type Pattern = (String, Vec<String>);

/// How the names of one kind of move are mapped.
struct NameRule<'a> {
    /// The kind of the images.
    kind: &'a str,
    /// For each place in the names of the images: the place that it comes from, and how its words are mapped.
    places: Vec<(usize, HashMap<&'a str, &'a str>)>,
}

impl<'a> NameRule<'a> {
    /// The first rule that explains all pairs of a name and its image.
    fn learn(pairs: &[(&'a Pattern, &'a Pattern)]) -> Option<NameRule<'a>> {
        let (first, first_image) = pairs[0];
        let kind = first_image.0.as_str();
        if pairs.iter().any(|p| p.1.0 != kind) {
            return None;
        }
        let explains = |to: usize, from: usize| {
            let (mut forth, mut back) = (HashMap::new(), HashMap::new());
            let fits = pairs.iter().all(|(name, image)| {
                let (a, b) = (name.1[from].as_str(), image.1[to].as_str());
                *forth.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a
            });
            fits.then_some((from, forth))
        };
        let source = |to: usize| (0..first.1.len()).find_map(|from| explains(to, from));
        Some(NameRule { kind, places: (0..first_image.1.len()).map(source).collect::<Option<_>>()? })
    }
}

/// Splits a move's name into runs of letters and of digits. The functor of an action term belongs to the kind.
fn split_move(name: &str) -> Pattern {
    let (mut kind, mut words) = (String::new(), Vec::new());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| match (first.is_ascii_digit(), first.is_alphabetic()) {
            (true, _) => c.is_ascii_digit(),
            (_, letter) => letter && c.is_alphabetic(),
        };
        let end = rest.find(|c: char| !same(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (run, after) = rest.split_at(end);
        if first.is_alphanumeric() && !kind.ends_with('(') {
            kind.push('_');
            words.push(run.to_string());
        } else {
            kind += run;
        }
        rest = after;
    }
    (kind, words)
}

/// The names of facts, by functor.
struct Names {
    functors: Vec<Functor>,
    facts: usize,
    roles: Vec<String>,
}

/// A way to map the facts of one functor.
struct FactMap {
    /// The images, in the order of facts.
    facts: Vec<Fact>,
    /// For each ordered slot, which ordered slot it becomes and how its domain is permuted.
    turns: Vec<(usize, usize)>,
}

/// The facts whose names differ only in constants.
struct Functor {
    slots: Vec<Slot>,
    /// The facts, and the constant of each slot by its rank in the domain.
    facts: Vec<(Fact, Vec<usize>)>,
    numbers: HashMap<Vec<usize>, Fact>,
    /// Whether the ordered slots have combinations that no fact has.
    gaps: bool,
}

/// One place of a functor for constants.
struct Slot {
    /// All constants, in order: of numbers if all are numbers, else of the alphabet.
    domain: Vec<String>,
    /// Whether the order may mean something; else the constants are mere words.
    ordered: bool,
}

/// The most ways to map one functor onto another.
const MAX_OPTIONS: usize = 10_000;
/// The largest set of words of which all permutations are tried.
const MAX_WORDS: usize = 5;

impl Names {
    fn of<G: Game>(game: &G) -> Names {
        let roles = game.info().roles.clone();
        let mut groups: BTreeMap<String, Vec<(Fact, Vec<String>)>> = BTreeMap::new();
        for f in (0..game.info().facts).map(Fact) {
            let (functor, constants) = split_fact(&game.fact_name(f));
            groups.entry(functor).or_default().push((f, constants));
        }
        let mut functors: Vec<Functor> = groups.into_values().map(|facts| Functor::new(facts, &roles)).collect();
        functors.sort_by_key(|f| std::cmp::Reverse(f.facts.len()));
        Names { functors, facts: game.info().facts as usize, roles }
    }

    /// The identity, and each exchange of two functors of the same shape; the largest functors first.
    fn functor_permutations(&self) -> Vec<Vec<usize>> {
        const MAX_PAIRS: usize = 8;
        let identity: Vec<usize> = (0..self.functors.len()).collect();
        let shape = |f: usize| {
            let mut sizes: Vec<usize> = self.functors[f].slots.iter().map(|s| s.domain.len()).collect();
            sizes.sort_unstable();
            (self.functors[f].facts.len(), sizes)
        };
        let shapes: Vec<_> = identity.iter().map(|&f| shape(f)).collect();
        let pairs = identity.iter().flat_map(|&a| (a + 1..identity.len()).map(move |b| (a, b)));
        let alike = pairs.filter(|&(a, b)| shapes[a] == shapes[b]).take(MAX_PAIRS);
        let mut all = vec![identity.clone()];
        all.extend(alike.map(|(a, b)| {
            let mut swap = identity.clone();
            swap.swap(a, b);
            swap
        }));
        all
    }

    /// All ways to map the facts of one functor onto those of another, in the order of facts; as little as possible is changed
    /// first.
    fn options(&self, from: usize, to: usize, swaps_roles: bool) -> Vec<FactMap> {
        let (from, to) = (&self.functors[from], &self.functors[to]);
        let mut found = Vec::new();
        let mut known = HashSet::new();
        for places in permutations(from.slots.len(), 4) {
            let fits = |(i, &j): (usize, &usize)| from.slots[i].maps_onto(&to.slots[j]);
            if !places.iter().enumerate().all(fits) {
                continue;
            }
            let maps: Vec<Vec<Vec<usize>>> =
                from.slots.iter().map(|s| s.maps(&self.roles, swaps_roles, from.gaps)).collect();
            let mut image = vec![0; places.len()];
            each_product(&maps.iter().map(Vec::len).collect::<Vec<_>>(), MAX_OPTIONS, |choice| {
                let image = from.facts.iter().map(|(_, ranks)| {
                    for (i, &r) in ranks.iter().enumerate() {
                        image[places[i]] = maps[i][choice[i]][r];
                    }
                    to.numbers.get(&image).copied()
                });
                let image: Option<Vec<Fact>> = image.collect();
                if let Some(facts) = image.filter(|i| known.insert(i.clone())) {
                    let ordered = (0..places.len()).filter(|&i| from.slots[i].ordered);
                    let rank = |j: usize| to.slots[..j].iter().filter(|s| s.ordered).count();
                    found.push(FactMap { facts, turns: ordered.map(|i| (rank(places[i]), choice[i])).collect() });
                }
            });
        }
        found
    }

    /// Calls `f` with every choice of one option for each functor, first with those that turn all functors of the same shape as
    /// the largest alike. If there are more than `most`, functors keep only their first option, the smallest functors first.
    fn each_candidate(&self, mut options: Vec<Vec<FactMap>>, most: usize, mut f: impl FnMut(&[Fact])) {
        let total = |o: &[Vec<FactMap>]| o.iter().fold(1usize, |n, o| n.saturating_mul(o.len()));
        let mut last = options.len();
        while total(&options) > most && last > 0 {
            last -= 1;
            options[last].truncate(1);
        }
        let sizes: Vec<usize> = options.iter().map(Vec::len).collect();
        let mut facts = vec![Fact(0); self.facts];
        for alike in [true, false] {
            each_product(&sizes, most, |choice| {
                let mut turns = options.iter().zip(choice).map(|(options, &c)| &options[c].turns);
                let largest = turns.next();
                if turns.all(|t| largest.is_none_or(|l| l == t || l.len() != t.len())) != alike {
                    return;
                }
                for (functor, (options, &c)) in self.functors.iter().zip(options.iter().zip(choice)) {
                    for ((fact, _), &image) in functor.facts.iter().zip(&options[c].facts) {
                        facts[fact.index()] = image;
                    }
                }
                f(&facts);
            });
        }
    }
}

impl Functor {
    fn new(facts: Vec<(Fact, Vec<String>)>, roles: &[String]) -> Functor {
        // A slot whose constants are all a letter and a number is two slots.
        let places = facts[0].1.len();
        let splits: Vec<bool> = (0..places)
            .map(|i| facts.iter().all(|(_, c)| !roles.contains(&c[i]) && letter_and_number(&c[i]).is_some()))
            .collect();
        let split = |constants: &[String]| -> Vec<String> {
            let parts = constants.iter().zip(&splits).flat_map(|(c, &split)| match letter_and_number(c) {
                Some((letter, number)) if split => vec![letter.to_string(), number.to_string()],
                _ => vec![c.clone()],
            });
            parts.collect()
        };
        let facts: Vec<(Fact, Vec<String>)> = facts.into_iter().map(|(f, c)| (f, split(&c))).collect();
        let slots: Vec<Slot> = (0..facts[0].1.len())
            .map(|i| Slot::new(facts.iter().map(|(_, c)| c[i].as_str()).collect(), roles))
            .collect();
        let ranks = |constants: &[String]| -> Vec<usize> {
            constants.iter().zip(&slots).map(|(c, s)| s.domain.iter().position(|d| d == c).unwrap_or(0)).collect()
        };
        let facts: Vec<(Fact, Vec<usize>)> = facts.iter().map(|(f, c)| (*f, ranks(c))).collect();
        let ordered = |ranks: &[usize]| -> Vec<usize> {
            ranks.iter().zip(&slots).filter(|(_, s)| s.ordered).map(|(r, _)| *r).collect()
        };
        let combinations: HashSet<Vec<usize>> = facts.iter().map(|(_, r)| ordered(r)).collect();
        let product: usize = slots.iter().filter(|s| s.ordered).map(|s| s.domain.len()).product();
        let numbers = facts.iter().map(|(f, r)| (r.clone(), *f)).collect();
        Functor { gaps: combinations.len() < product, slots, facts, numbers }
    }
}

impl Slot {
    fn new(constants: BTreeSet<&str>, roles: &[String]) -> Slot {
        let mut domain: Vec<String> = constants.into_iter().map(String::from).collect();
        let numbers = domain.iter().all(|c| c.parse::<i64>().is_ok());
        if numbers {
            domain.sort_by_key(|c| c.parse::<i64>().unwrap_or(0));
        }
        let letter = |c: &String| if c.len() == 1 { c.as_bytes()[0] as usize } else { 0 };
        let consecutive =
            letter(&domain[0]) > 0 && (0..domain.len()).all(|i| letter(&domain[i]) == letter(&domain[0]) + i);
        let words = domain.iter().any(|c| roles.contains(c)) || (domain.len() <= MAX_WORDS && !numbers && !consecutive);
        Slot { domain, ordered: !words }
    }

    fn maps_onto(&self, other: &Slot) -> bool {
        match self.ordered && other.ordered {
            true => self.domain.len() == other.domain.len(),
            false => self.domain == other.domain,
        }
    }

    /// The permutations of ranks to try, the smallest change first.
    fn maps(&self, roles: &[String], swaps_roles: bool, gaps: bool) -> Vec<Vec<usize>> {
        let n = self.domain.len();
        let identity: Vec<usize> = (0..n).collect();
        if self.ordered {
            let reversed = |v: &[usize]| v.iter().rev().copied().collect::<Vec<_>>();
            let mut maps = vec![identity.clone(), reversed(&identity)];
            if gaps && n >= 4 {
                let mut halves = identity;
                halves[..n / 2].reverse();
                halves[n.div_ceil(2)..].reverse();
                maps.extend([reversed(&halves), halves]);
            }
            maps.truncate(if n == 1 { 1 } else { 4 });
            return maps;
        }
        // The names of the roles are exchanged or not; the other words are permuted.
        let (named, words): (Vec<usize>, Vec<usize>) = identity.iter().partition(|&&i| roles.contains(&self.domain[i]));
        let mut fixed = identity;
        if swaps_roles {
            let other = |i: usize| 1 - roles.iter().position(|r| *r == self.domain[i]).unwrap_or(0).min(1);
            for &i in &named {
                match self.domain.iter().position(|d| *d == roles[other(i)]) {
                    Some(image) => fixed[i] = image,
                    None => return Vec::new(),
                }
            }
        }
        let all = if words.len() <= MAX_WORDS {
            permutations(words.len(), MAX_WORDS)
        } else {
            vec![(0..words.len()).collect()]
        };
        let permuted = |p: Vec<usize>| {
            let mut map = fixed.clone();
            p.iter().enumerate().for_each(|(i, &j)| map[words[i]] = words[j]);
            map
        };
        all.into_iter().map(permuted).collect()
    }
}

/// `a7` as `a` and `7`.
fn letter_and_number(constant: &str) -> Option<(&str, &str)> {
    let (letter, number) = constant.split_at_checked(1)?;
    let fits = letter.bytes().all(|b| b.is_ascii_alphabetic()) && !number.is_empty();
    (fits && number.bytes().all(|b| b.is_ascii_digit())).then_some((letter, number))
}

/// A fact's name as its functor, with `_` for constants, and the constants. The first symbol in a parenthesis is no constant.
fn split_fact(name: &str) -> (String, Vec<String>) {
    let spaced = name.replace('(', " ( ").replace(')', " ) ");
    let (mut functor, mut constants, mut first) = (String::new(), Vec::new(), true);
    for word in spaced.split_whitespace() {
        match word {
            "(" | ")" => functor += word,
            _ if first => functor += word,
            _ => {
                functor += " _";
                constants.push(word.to_string());
            }
        }
        first = word == "(";
    }
    (functor, constants)
}

/// All permutations of `0..n` in lexicographic order, the identity first; beyond `most` elements only the identity and the
/// exchanges of two.
fn permutations(n: usize, most: usize) -> Vec<Vec<usize>> {
    let identity: Vec<usize> = (0..n).collect();
    if n > most {
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let swap = |(a, b)| {
            let mut p = identity.clone();
            p.swap(a, b);
            p
        };
        return std::iter::once(identity.clone()).chain(pairs.map(swap)).collect();
    }
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        let longer = |p: &Vec<usize>| {
            let p = p.clone();
            (0..n).filter(|i| !p.contains(i)).map(|i| [p.as_slice(), &[i]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Calls `f` with the first `most` of all choices of one number below each size, the last changing fastest.
fn each_product(sizes: &[usize], most: usize, mut f: impl FnMut(&[usize])) {
    if sizes.contains(&0) {
        return;
    }
    let mut choice = vec![0; sizes.len()];
    for _ in 0..most {
        f(&choice);
        let Some(i) = (0..sizes.len()).rev().find(|&i| choice[i] + 1 < sizes[i]) else { return };
        choice[i] += 1;
        choice[i + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Nim;

    #[test]
    fn nim_has_the_exchange_of_roles_alone() {
        let found = symmetries(&Nim::new(21), &Effort::default(), 1);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], Symmetry::identity(24, 3));
        assert!(found[1].swaps_roles && found[1].then(&found[1]) == found[0]);
    }

    #[test]
    fn names_split_into_functors_and_constants() {
        assert_eq!(split_fact("(cell 4 1 x)"), ("(cell _ _ _)".into(), vec!["4".into(), "1".into(), "x".into()]));
        assert_eq!(split_fact("(at (pos 1 b2) x)").0, "(at(pos _ _) _)");
        assert_eq!(split_fact("remove"), ("remove".into(), vec![]));
        assert_eq!(split_move("a7-d10"), ("__-__".into(), ["a", "7", "d", "10"].map(String::from).to_vec()));
        assert_eq!(split_move("(drop 3)").0, "(drop _)");
    }

    #[test]
    fn permutations_begin_with_the_identity() {
        assert_eq!(permutations(3, 4).len(), 6);
        assert_eq!(permutations(3, 4)[0], [0, 1, 2]);
        assert_eq!(permutations(6, 4).len(), 16);
        let mut seen = Vec::new();
        each_product(&[2, 3], 100, |c| seen.push(c.to_vec()));
        assert_eq!((seen.len(), seen[1].clone()), (6, vec![0, 1]));
    }
}
