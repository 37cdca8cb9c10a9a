//! A naive reference reasoner: tries every rule against every atom until nothing new follows.
//!
//! It is slow, and simple enough to be trusted as the oracle of all other tests. It shares no code with the library: it has
//! its own parser and terms, and no indices or grounding. Relations are completed stratum by stratum.

use std::collections::{BTreeSet, HashMap};

/// A name or a list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum T {
    A(String),
    L(Vec<T>),
}

impl std::fmt::Display for T {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            T::A(s) => f.write_str(s),
            T::L(l) => {
                let words: Vec<String> = l.iter().map(T::to_string).collect();
                write!(f, "({})", words.join(" "))
            }
        }
    }
}

pub fn parse(text: &str) -> Vec<T> {
    let mut stack = vec![Vec::new()];
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or("").replace('(', " ( ").replace(')', " ) ");
        for word in line.split_whitespace() {
            match word {
                "(" => stack.push(Vec::new()),
                ")" => {
                    let list = stack.pop().unwrap();
                    stack.last_mut().unwrap().push(T::L(list));
                }
                _ => stack.last_mut().unwrap().push(T::A(word.into())),
            }
        }
    }
    stack.pop().unwrap()
}

type Env = HashMap<String, T>;
type Atoms = BTreeSet<T>;

fn substitute(t: &T, env: &Env) -> T {
    match t {
        T::A(s) => env.get(s).cloned().unwrap_or_else(|| t.clone()),
        T::L(l) => T::L(l.iter().map(|t| substitute(t, env)).collect()),
    }
}

fn matches(pattern: &T, t: &T, env: &mut Env) -> bool {
    match (pattern, t) {
        (T::A(v), _) if v.starts_with('?') => match env.get(v) {
            Some(bound) => bound == t,
            None => {
                env.insert(v.clone(), t.clone());
                true
            }
        },
        (T::A(a), T::A(b)) => a == b,
        (T::L(a), T::L(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| matches(a, b, env)),
        _ => false,
    }
}

/// The relation of a sentence: its name and number of arguments.
fn relation(t: &T) -> (String, usize) {
    match t {
        T::A(s) => (s.clone(), 0),
        T::L(l) => (l[0].to_string(), l.len() - 1),
    }
}

fn head_name(t: &T) -> &str {
    match t {
        T::A(s) => s,
        T::L(l) => match &l[0] {
            T::A(s) => s,
            T::L(_) => "",
        },
    }
}

/// All relations that a condition mentions, with whether under a `not`.
fn mentions(t: &T, negated: bool, out: &mut Vec<((String, usize), bool)>) {
    match (head_name(t), t) {
        ("not", T::L(l)) => mentions(&l[1], true, out),
        ("or" | "and", T::L(l)) => l[1..].iter().for_each(|t| mentions(t, negated, out)),
        ("distinct", _) => {}
        _ => out.push((relation(t), negated)),
    }
}

pub struct Reasoner {
    rules: Vec<(T, Vec<T>)>,
    level: HashMap<(String, usize), usize>,
    pub roles: Vec<T>,
}

impl Reasoner {
    pub fn new(text: &str) -> Reasoner {
        let mut rules = Vec::new();
        for t in parse(text) {
            match &t {
                T::L(l) if head_name(&t) == "<=" => rules.push((l[1].clone(), l[2..].to_vec())),
                _ => rules.push((t, Vec::new())),
            }
        }
        let mut level: HashMap<(String, usize), usize> = HashMap::new();
        loop {
            let mut changed = false;
            for (head, body) in &rules {
                let mut uses = Vec::new();
                body.iter().for_each(|t| mentions(t, false, &mut uses));
                for (r, negated) in uses {
                    let needed = level.get(&r).copied().unwrap_or(0) + negated as usize;
                    let mine = level.entry(relation(head)).or_insert(0);
                    if *mine < needed {
                        assert!(needed < 1000, "not stratified");
                        *mine = needed;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut reasoner = Reasoner { rules, level, roles: Vec::new() };
        let all = reasoner.everything(&BTreeSet::new());
        let is_role = |t: &&T| head_name(t) == "role";
        // In the order of the text.
        for (head, _) in &reasoner.rules {
            if is_role(&head) && all.contains(head) {
                let T::L(l) = head else { continue };
                reasoner.roles.push(l[1].clone());
            }
        }
        reasoner
    }

    /// All consequences of the given atoms.
    fn everything(&self, given: &Atoms) -> Atoms {
        let mut all = given.clone();
        let highest = self.level.values().copied().max().unwrap_or(0);
        for level in 0..=highest {
            loop {
                let mut new = Vec::new();
                for (head, body) in &self.rules {
                    if self.level.get(&relation(head)).copied().unwrap_or(0) != level {
                        continue;
                    }
                    solve(&binding_first(body.clone()), &Env::new(), &all, &mut |env| new.push(substitute(head, env)));
                }
                let before = all.len();
                all.extend(new);
                if all.len() == before {
                    break;
                }
            }
        }
        all
    }

    fn of(all: &Atoms, name: &str) -> Vec<Vec<T>> {
        let args = |t: &T| match t {
            T::L(l) if head_name(t) == name => Some(l[1..].to_vec()),
            _ => None,
        };
        all.iter().filter_map(args).collect()
    }

    pub fn initial(&self) -> Atoms {
        Self::of(&self.everything(&Atoms::new()), "init").into_iter().map(|mut a| a.remove(0)).collect()
    }

    /// The consequences of a state and, if given, of a joint move.
    pub fn at(&self, state: &Atoms, moves: &[T]) -> View {
        let wrap = |name: &str, args: Vec<T>| T::L([vec![T::A(name.into())], args].concat());
        let mut given: Atoms = state.iter().map(|f| wrap("true", vec![f.clone()])).collect();
        for (r, m) in self.roles.iter().zip(moves) {
            given.insert(wrap("does", vec![r.clone(), m.clone()]));
        }
        let all = self.everything(&given);
        let pairs = |name: &str, r: &T| -> BTreeSet<String> {
            Self::of(&all, name).into_iter().filter(|a| &a[0] == r).map(|a| a[1].to_string()).collect()
        };
        View {
            legal: self.roles.iter().map(|r| pairs("legal", r)).collect(),
            goals: self.roles.iter().map(|r| pairs("goal", r)).collect(),
            terminal: all.contains(&T::A("terminal".into())),
            next: Self::of(&all, "next").into_iter().map(|mut a| a.remove(0)).collect(),
        }
    }
}

/// What holds at a state.
pub struct View {
    pub legal: Vec<BTreeSet<String>>,
    pub goals: Vec<BTreeSet<String>>,
    pub terminal: bool,
    pub next: Atoms,
}

/// Positive conditions first, so that the others see bound variables.
fn binding_first(mut body: Vec<T>) -> Vec<T> {
    body.sort_by_key(|t| match head_name(t) {
        "not" | "distinct" => 2,
        "or" | "and" => 1,
        _ => 0,
    });
    body
}

fn solve(body: &[T], env: &Env, all: &Atoms, found: &mut dyn FnMut(&Env)) {
    let Some((first, rest)) = body.split_first() else { return found(env) };
    match (head_name(first), first) {
        ("or", T::L(l)) => {
            for alternative in &l[1..] {
                let body = [std::slice::from_ref(alternative), rest].concat();
                solve(&binding_first(body), env, all, found);
            }
        }
        ("and", T::L(l)) => solve(&binding_first([&l[1..], rest].concat()), env, all, found),
        ("distinct", T::L(l)) => {
            if substitute(&l[1], env) != substitute(&l[2], env) {
                solve(rest, env, all, found);
            }
        }
        ("not", T::L(l)) => {
            let mut holds = false;
            solve(&l[1..], env, all, &mut |_| holds = true);
            if !holds {
                solve(rest, env, all, found);
            }
        }
        _ => {
            let pattern = substitute(first, env);
            for atom in all {
                let mut env = env.clone();
                if matches(&pattern, atom, &mut env) {
                    solve(rest, &env, all, found);
                }
            }
        }
    }
}
