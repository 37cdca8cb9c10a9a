//! A rulesheet as relations and rules: the meaning of the text, with every non-standard form resolved.
//!
//! The body of a rule becomes a flat list of conditions. `or`, `and` and nested `not` are expanded into disjunctive normal
//! form, with one rule per alternative. `(not (distinct a b))` unifies `a` and `b`. A variable that occurs only under a
//! `not` is read as "there is none", by an auxiliary relation.
//!
//! Rules are checked for safety (every variable must be bound by a positive condition) and for the arity of keywords.
//! Dependencies among relations are analysed elsewhere ([`crate::strata`]).

use crate::error::{Error, ErrorKind, Place};
use crate::kif::{self, Expr, ExprKind};
use crate::terms::{Sym, Symbols, Term, Terms};
use std::collections::HashMap;

/// How strictly a text is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// By the letter of GDL: every non-standard form is refused. Symbols are case-sensitive.
    Strict,
    /// Symbols are case-sensitive, and forms that have only one possible meaning are accepted: `(terminal)` for
    /// `terminal`, rules without a body, `(not (distinct a b))`, `and`, variables that occur only under a `not`.
    #[default]
    Plain,
    /// As plain, but symbols and variables that differ only in case are the same.
    Lenient,
}

/// The number of a relation. The first ones are the keywords.
pub(crate) type Pred = u32;

pub(crate) const ROLE: Pred = 0;
pub(crate) const INIT: Pred = 1;
pub(crate) const TRUE: Pred = 2;
pub(crate) const NEXT: Pred = 3;
pub(crate) const LEGAL: Pred = 4;
pub(crate) const DOES: Pred = 5;
pub(crate) const GOAL: Pred = 6;
pub(crate) const TERMINAL: Pred = 7;
pub(crate) const BASE: Pred = 8;
pub(crate) const INPUT: Pred = 9;

/// The keyword relations and their arities, by number.
pub(crate) const KEYWORDS: [(&str, usize); 10] = [
    ("role", 1),
    ("init", 1),
    ("true", 1),
    ("next", 1),
    ("legal", 2),
    ("does", 2),
    ("goal", 2),
    ("terminal", 0),
    ("base", 1),
    ("input", 2),
];

/// The bit that marks the functor of an atom, so that atoms, which are stored as terms, differ from terms of the same name.
pub(crate) const ATOM: u32 = 1 << 31;

/// The largest number of rules that the alternatives of one rule may become.
const MAX_BODIES: usize = 4096;

/// The largest number of conditions in one rule as written.
const MAX_CONDITIONS: usize = 500;

/// The largest number of conditions in all rules after expansion.
const MAX_LITERALS: usize = 2_000_000;

/// The statements of a sheet. They may also come wrapped in one list, as the GGP protocol sends them.
pub(crate) fn statements<'a, 'b>(exprs: &'b [Expr<'a>]) -> &'b [Expr<'a>] {
    match exprs {
        [Expr { kind: ExprKind::List(list), .. }] if list.iter().all(|e| matches!(e.kind, ExprKind::List(_))) => list,
        all => all,
    }
}

/// A term that may contain variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pat {
    Var(u16),
    Ground(Term),
    Fn(Sym, Box<[Pat]>),
}

impl Pat {
    /// Calls `f` for each occurrence of a variable.
    pub fn each_var(&self, f: &mut impl FnMut(u16)) {
        match self {
            Pat::Var(v) => f(*v),
            Pat::Ground(_) => {}
            Pat::Fn(_, args) => args.iter().for_each(|a| a.each_var(f)),
        }
    }
}

/// A relation applied to terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Atom {
    pub pred: Pred,
    pub args: Vec<Pat>,
    pub at: Place,
}

impl Atom {
    pub fn each_var(&self, f: &mut impl FnMut(u16)) {
        self.args.iter().for_each(|a| a.each_var(f));
    }
}

/// One condition of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Literal {
    Pos(Atom),
    Neg(Atom),
    Distinct(Pat, Pat),
}

impl Literal {
    pub fn each_var(&self, f: &mut impl FnMut(u16)) {
        match self {
            Literal::Pos(a) | Literal::Neg(a) => a.each_var(f),
            Literal::Distinct(a, b) => {
                a.each_var(f);
                b.each_var(f);
            }
        }
    }
}

/// A rule: the head holds if all conditions of the body hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub head: Atom,
    pub body: Vec<Literal>,
    /// The number of variables.
    pub vars: usize,
    pub at: Place,
}

/// A relation. Relations of one name with different arities are different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Relation {
    pub name: Sym,
    pub arity: usize,
    /// Where it occurs first.
    pub at: Place,
    /// Whether it is not in the text but was added for a variable that occurs only under a `not`.
    pub auxiliary: bool,
}

/// A form that is not standard GDL but has only one possible meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NonStandardForm {
    pub at: Place,
    pub what: &'static str,
}

/// The rules of a game.
#[derive(Clone, Debug)]
pub(crate) struct Rulesheet {
    pub symbols: Symbols,
    pub terms: Terms,
    pub relations: Vec<Relation>,
    pub rules: Vec<Rule>,
    /// The non-standard forms found.
    pub non_standard: Vec<NonStandardForm>,
    /// Whether names that differ only in case are the same.
    pub fold_case: bool,
}

impl Rulesheet {
    /// Parses a text.
    pub fn read(text: &str, reading: Reading) -> Result<Rulesheet, Error> {
        let exprs = kif::read(text)?;
        let mut reader = Reader::new(reading);
        let statements = statements(&exprs);
        if let Some(whole) = exprs.first().filter(|_| !std::ptr::eq(exprs.as_slice(), statements)) {
            reader.non_standard("the sheet as one list", whole.at)?;
        }
        for e in statements {
            reader.statement(e)?;
        }
        Ok(reader.sheet)
    }

    pub fn relation_name(&self, p: Pred) -> &str {
        self.symbols.name(self.relations[p as usize].name)
    }

    /// Writes a ground term in the spelling of the sheet. Recursive; the parser and the budget bound the nesting of terms.
    pub fn write(&self, terms: &Terms, t: Term, out: &mut String) {
        let functor = terms.functor(t);
        let name = if functor & ATOM != 0 { self.relation_name(functor & !ATOM) } else { self.symbols.name(functor) };
        let args = terms.args(t);
        if args.is_empty() {
            out.push_str(name);
            return;
        }
        out.push('(');
        out.push_str(name);
        for &a in args {
            out.push(' ');
            self.write(terms, a, out);
        }
        out.push(')');
    }

    /// A ground term as text, in the spelling of the sheet.
    pub fn text(&self, terms: &Terms, t: Term) -> String {
        let mut out = String::new();
        self.write(terms, t, &mut out);
        out
    }
}

/// A condition as written, with `not` pushed inwards.
enum Formula {
    Literal(Literal),
    Equal(Pat, Pat),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// The state of parsing.
struct Reader {
    sheet: Rulesheet,
    reading: Reading,
    /// Relations by name and arity.
    preds: HashMap<(Sym, usize), Pred>,
    /// The variables of the rule under way.
    vars: HashMap<String, u16>,
    var_names: Vec<String>,
    /// The conditions of all rules so far, after expansion.
    literals: usize,
}

impl Reader {
    fn new(reading: Reading) -> Self {
        let fold_case = reading == Reading::Lenient;
        let mut symbols = Symbols::default();
        let mut preds = HashMap::new();
        let mut relations = Vec::new();
        for (p, (name, arity)) in KEYWORDS.into_iter().enumerate() {
            let name = symbols.intern(name, fold_case);
            preds.insert((name, arity), p as Pred);
            relations.push(Relation { name, arity, at: Place::default(), auxiliary: false });
        }
        let sheet = Rulesheet {
            symbols,
            terms: Terms::default(),
            relations,
            rules: Vec::new(),
            non_standard: Vec::new(),
            fold_case,
        };
        Reader { sheet, reading, preds, vars: HashMap::new(), var_names: Vec::new(), literals: 0 }
    }

    /// Notes a non-standard form, or refuses it if the reading is strict.
    fn non_standard(&mut self, what: &'static str, at: Place) -> Result<(), Error> {
        if self.reading == Reading::Strict {
            return Err(ErrorKind::NonStandard(what).at(at));
        }
        self.sheet.non_standard.push(NonStandardForm { at, what });
        Ok(())
    }

    /// Parses a rule or a ground fact.
    fn statement(&mut self, e: &Expr) -> Result<(), Error> {
        self.vars.clear();
        self.var_names.clear();
        if let ExprKind::List(list) = &e.kind
            && let Some(Expr { kind: ExprKind::Name("<="), .. }) = list.first()
        {
            let head = list.get(1).ok_or_else(|| ErrorKind::NoHead.at(e.at))?;
            let head = self.atom(head)?;
            if list.len() == 2 {
                self.non_standard("a rule without a body", e.at)?;
            }
            let conditions: Vec<Formula> = list[2..].iter().map(|c| self.formula(c, true)).collect::<Result<_, _>>()?;
            if conditions.iter().map(count_conditions).sum::<usize>() > MAX_CONDITIONS {
                return Err(ErrorKind::Budget(format!("a rule has more than {MAX_CONDITIONS} conditions")).at(e.at));
            }
            return self.rule(head, Formula::All(conditions), e.at);
        }
        let head = self.atom(e)?;
        self.rule(head, Formula::All(Vec::new()), e.at)
    }

    /// Expands a rule and stores its alternatives.
    fn rule(&mut self, head: Atom, body: Formula, at: Place) -> Result<(), Error> {
        match head.pred {
            TRUE => return Err(ErrorKind::BadHead("true").at(head.at)),
            DOES => return Err(ErrorKind::BadHead("does").at(head.at)),
            _ => {}
        }
        let mut bodies = Vec::new();
        alternatives(&[&body], &mut Vec::new(), &mut bodies)
            .ok_or_else(|| ErrorKind::TooManyBodies(MAX_BODIES).at(at))?;
        for alternative in bodies {
            self.literals += alternative.len();
            if self.literals > MAX_LITERALS {
                let why = format!("the rules multiply into more than {MAX_LITERALS} conditions");
                return Err(ErrorKind::Budget(why).at(at));
            }
            let Some((head, body)) = self.resolve(&head, alternative) else { continue };
            self.safe_rule(head, body, at)?;
        }
        Ok(())
    }

    /// Applies the equations of one alternative by substitution. `None` if an equation or a `distinct` cannot hold.
    fn resolve(&mut self, head: &Atom, alternative: Vec<&Formula>) -> Option<(Atom, Vec<Literal>)> {
        let mut bound: Vec<Option<Pat>> = vec![None; self.var_names.len()];
        for f in &alternative {
            if let Formula::Equal(a, b) = f
                && !unify(a, b, &mut bound, &mut self.sheet.terms)
            {
                return None;
            }
        }
        let terms = &mut self.sheet.terms;
        let mut body = Vec::new();
        for f in alternative {
            let Formula::Literal(literal) = f else { continue };
            let literal = match literal {
                Literal::Pos(a) => Literal::Pos(substitute_atom(a, &bound, terms)),
                Literal::Neg(a) => Literal::Neg(substitute_atom(a, &bound, terms)),
                Literal::Distinct(a, b) => match (substitute(a, &bound, terms), substitute(b, &bound, terms)) {
                    (a, b) if a == b => return None,
                    (Pat::Ground(_), Pat::Ground(_)) => continue,
                    (a, b) => Literal::Distinct(a, b),
                },
            };
            if !body.contains(&literal) {
                body.push(literal);
            }
        }
        Some((substitute_atom(head, &bound, terms), body))
    }

    /// Stores a rule if it is safe: positive conditions must bind every variable.
    fn safe_rule(&mut self, head: Atom, mut body: Vec<Literal>, at: Place) -> Result<(), Error> {
        let vars = self.var_names.len();
        let mut bound = vec![false; vars];
        for l in &body {
            if let Literal::Pos(a) = l {
                a.each_var(&mut |v| bound[v as usize] = true);
            }
        }
        let names = self.var_names.clone();
        let unsafe_in = |v: u16, place| ErrorKind::Unsafe { variable: names[v as usize].clone(), place };
        if let Some(v) = first_free(&head.args, &bound) {
            return Err(unsafe_in(v, "the head").at(head.at));
        }
        for literal in &mut body {
            match literal {
                Literal::Distinct(a, b) => {
                    if let Some(v) = first_free([&*a, &*b], &bound) {
                        return Err(unsafe_in(v, "a `distinct`").at(at));
                    }
                }
                Literal::Neg(a) => {
                    if let Some(v) = first_free(&a.args, &bound) {
                        if self.reading == Reading::Strict {
                            return Err(unsafe_in(v, "a `not`").at(a.at));
                        }
                        let what = "a variable that occurs only under a `not`";
                        self.sheet.non_standard.push(NonStandardForm { at: a.at, what });
                        *literal = Literal::Neg(existential(&mut self.sheet, a, &bound, vars));
                    }
                }
                Literal::Pos(_) => {}
            }
        }
        self.sheet.rules.push(Rule { head, body, vars, at });
        Ok(())
    }

    /// Parses a condition; `positive` is false under an odd number of `not`s.
    fn formula(&mut self, e: &Expr, positive: bool) -> Result<Formula, Error> {
        if let ExprKind::List(list) = &e.kind
            && let Some(Expr { kind: ExprKind::Name(name), .. }) = list.first()
        {
            let arity = |n: usize, expected| match list.len() - 1 {
                found if found == n => Ok(()),
                found => Err(ErrorKind::KeywordArity { name: name.to_string(), expected, found }.at(e.at)),
            };
            match name.to_ascii_lowercase().as_str() {
                "not" => {
                    arity(1, "one condition")?;
                    return self.formula(&list[1], !positive);
                }
                "distinct" => {
                    arity(2, "two terms")?;
                    let (a, b) = (self.term(&list[1])?, self.term(&list[2])?);
                    if positive {
                        return Ok(Formula::Literal(Literal::Distinct(a, b)));
                    }
                    self.non_standard("(not (distinct ..))", e.at)?;
                    return Ok(Formula::Equal(a, b));
                }
                connective @ ("or" | "and") => {
                    if connective == "and" {
                        self.non_standard("`and`", e.at)?;
                    } else if !positive {
                        self.non_standard("`or` under a `not`", e.at)?;
                    }
                    let parts = list[1..].iter().map(|c| self.formula(c, positive)).collect::<Result<_, _>>()?;
                    let any = (connective == "or") == positive;
                    return Ok(if any { Formula::Any(parts) } else { Formula::All(parts) });
                }
                "<=" => return Err(ErrorKind::BadHead("a rule inside a rule").at(e.at)),
                _ => {}
            }
        }
        let atom = self.atom(e)?;
        Ok(Formula::Literal(if positive { Literal::Pos(atom) } else { Literal::Neg(atom) }))
    }

    /// Parses a sentence: a relation applied to terms.
    fn atom(&mut self, e: &Expr) -> Result<Atom, Error> {
        let (name, args, at) = match &e.kind {
            ExprKind::Name(name) => (*name, &[][..], e.at),
            ExprKind::List(list) => match list.split_first() {
                None => return Err(ErrorKind::EmptyList.at(e.at)),
                Some((Expr { kind: ExprKind::Name(name), .. }, args)) => (*name, args, e.at),
                Some((Expr { at, .. }, _)) => return Err(ErrorKind::NoName.at(*at)),
            },
        };
        check_arity(args.len(), at)?;
        if name.starts_with('?') {
            return Err(ErrorKind::VariableSentence(name.into()).at(at));
        }
        if args.is_empty() && matches!(e.kind, ExprKind::List(_)) {
            self.non_standard("a relation without arguments in parentheses", at)?;
        }
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "not" | "or" | "and" | "distinct" | "<=" => {
                let name = ["not", "or", "and", "distinct", "<="].into_iter().find(|n| *n == lower).unwrap_or("it");
                return Err(ErrorKind::BadHead(name).at(at));
            }
            "sees" if args.len() == 2 => return Err(ErrorKind::Sees.at(at)),
            _ => {}
        }
        let keyword = KEYWORDS.iter().position(|k| k.0 == lower);
        let pred = match keyword {
            Some(p) if KEYWORDS[p].1 == args.len() => p as Pred,
            // `base` and `input` were added to GDL late; older sheets use the names for relations of their own.
            Some(p) if p as Pred != BASE && p as Pred != INPUT => {
                let expected = ["no argument", "one argument", "two arguments"][KEYWORDS[p].1];
                return Err(ErrorKind::KeywordArity { name: name.into(), expected, found: args.len() }.at(at));
            }
            _ => self.pred(name, args.len(), at),
        };
        let args = args.iter().map(|a| self.term(a)).collect::<Result<_, _>>()?;
        Ok(Atom { pred, args, at })
    }

    /// The number of a relation, new if it has not occurred before.
    fn pred(&mut self, name: &str, arity: usize, at: Place) -> Pred {
        let name = self.sheet.symbols.intern(name, self.sheet.fold_case);
        let relations = &mut self.sheet.relations;
        *self.preds.entry((name, arity)).or_insert_with(|| {
            relations.push(Relation { name, arity, at, auxiliary: false });
            relations.len() as Pred - 1
        })
    }

    /// Parses a term.
    fn term(&mut self, e: &Expr) -> Result<Pat, Error> {
        match &e.kind {
            ExprKind::Name(name) if name.starts_with('?') => {
                let key = if self.sheet.fold_case { name.to_lowercase() } else { name.to_string() };
                let next = self.var_names.len();
                if next > u16::MAX as usize / 2 {
                    return Err(ErrorKind::Budget("a rule has too many variables".into()).at(e.at));
                }
                let v = *self.vars.entry(key).or_insert(next as u16);
                if v as usize == next {
                    self.var_names.push(name.to_string());
                }
                Ok(Pat::Var(v))
            }
            ExprKind::Name(name) => {
                let sym = self.sheet.symbols.intern(name, self.sheet.fold_case);
                Ok(Pat::Ground(self.sheet.terms.intern(sym, &[])))
            }
            ExprKind::List(list) => match list.split_first() {
                None => Err(ErrorKind::EmptyList.at(e.at)),
                Some((Expr { kind: ExprKind::Name(name), at }, args)) => {
                    if name.starts_with('?') {
                        return Err(ErrorKind::NoName.at(*at));
                    }
                    check_arity(args.len(), e.at)?;
                    if args.is_empty() {
                        self.non_standard("a name in parentheses", e.at)?;
                    }
                    let sym = self.sheet.symbols.intern(name, self.sheet.fold_case);
                    let args = args.iter().map(|a| self.term(a)).collect::<Result<Vec<_>, _>>()?;
                    Ok(function(sym, args, &mut self.sheet.terms))
                }
                Some((Expr { at, .. }, _)) => Err(ErrorKind::NoName.at(*at)),
            },
        }
    }
}

/// The first variable in some terms that is not bound.
fn first_free<'a>(terms: impl IntoIterator<Item = &'a Pat>, bound: &[bool]) -> Option<u16> {
    let mut first = None;
    for p in terms {
        p.each_var(&mut |v| {
            if !bound[v as usize] {
                first.get_or_insert(v);
            }
        });
    }
    first
}

/// Refuses relations and functions with too many arguments.
fn check_arity(args: usize, at: Place) -> Result<(), Error> {
    const MOST: usize = 200;
    if args <= MOST { Ok(()) } else { Err(ErrorKind::Budget(format!("more than {MOST} arguments")).at(at)) }
}

/// A function applied to arguments; a ground term if all arguments are ground.
pub(crate) fn function(sym: Sym, args: Vec<Pat>, terms: &mut Terms) -> Pat {
    let ground: Option<Vec<Term>> = args.iter().map(|a| if let Pat::Ground(t) = a { Some(*t) } else { None }).collect();
    match ground {
        Some(args) => Pat::Ground(terms.intern(sym, &args)),
        None => Pat::Fn(sym, args.into()),
    }
}

/// Adds an auxiliary relation that holds if the atom holds for some values of its variables that are not bound. Returns the
/// atom of that relation, so that `(not (p ?bound ?free))` becomes `(not (p' ?bound))`.
fn existential(sheet: &mut Rulesheet, atom: &Atom, bound: &[bool], vars: usize) -> Atom {
    let mut kept: Vec<u16> = Vec::new();
    atom.each_var(&mut |v| {
        if bound[v as usize] && !kept.contains(&v) {
            kept.push(v);
        }
    });
    let relation = Relation { arity: kept.len(), auxiliary: true, ..sheet.relations[atom.pred as usize].clone() };
    sheet.relations.push(relation);
    let pred = sheet.relations.len() as Pred - 1;
    let head = Atom { pred, args: kept.into_iter().map(Pat::Var).collect(), at: atom.at };
    sheet.rules.push(Rule { head: head.clone(), body: vec![Literal::Pos(atom.clone())], vars, at: atom.at });
    head
}

/// Counts the conditions in a formula.
fn count_conditions(f: &Formula) -> usize {
    match f {
        Formula::All(parts) | Formula::Any(parts) => 1 + parts.iter().map(count_conditions).sum::<usize>(),
        _ => 1,
    }
}

/// Expands a conjunction into disjunctive normal form: pushes each alternative to `out`. `None` if there are too many.
fn alternatives<'f>(
    rest: &[&'f Formula],
    chosen: &mut Vec<&'f Formula>,
    out: &mut Vec<Vec<&'f Formula>>,
) -> Option<()> {
    let Some((first, rest)) = rest.split_first() else {
        if out.len() >= MAX_BODIES {
            return None;
        }
        out.push(chosen.clone());
        return Some(());
    };
    match first {
        Formula::All(parts) => {
            let all: Vec<&Formula> = parts.iter().chain(rest.iter().copied()).collect();
            alternatives(&all, chosen, out)
        }
        Formula::Any(parts) => {
            for part in parts {
                let mut all = vec![part];
                all.extend_from_slice(rest);
                alternatives(&all, chosen, out)?;
            }
            Some(())
        }
        Formula::Literal(_) | Formula::Equal(..) => {
            chosen.push(first);
            let done = alternatives(rest, chosen, out);
            chosen.pop();
            done
        }
    }
}

/// A term with variables replaced by what they are bound to.
pub(crate) fn substitute(p: &Pat, bound: &[Option<Pat>], terms: &mut Terms) -> Pat {
    match p {
        Pat::Var(v) => match &bound[*v as usize] {
            Some(p) => substitute(p, bound, terms),
            None => p.clone(),
        },
        Pat::Ground(_) => p.clone(),
        Pat::Fn(f, args) => {
            let args = args.iter().map(|a| substitute(a, bound, terms)).collect();
            function(*f, args, terms)
        }
    }
}

/// An atom with variables replaced by what they are bound to.
pub(crate) fn substitute_atom(a: &Atom, bound: &[Option<Pat>], terms: &mut Terms) -> Atom {
    Atom { args: a.args.iter().map(|p| substitute(p, bound, terms)).collect(), ..a.clone() }
}

/// Unifies two terms by binding variables, with the occurs check; false if that is impossible.
fn unify(a: &Pat, b: &Pat, bound: &mut Vec<Option<Pat>>, terms: &mut Terms) -> bool {
    let (a, b) = (substitute(a, bound, terms), substitute(b, bound, terms));
    match (a, b) {
        (a, b) if a == b => true,
        (Pat::Var(v), p) | (p, Pat::Var(v)) => {
            let mut occurs = false;
            p.each_var(&mut |w| occurs |= v == w);
            if !occurs {
                bound[v as usize] = Some(p);
            }
            !occurs
        }
        (Pat::Ground(_), Pat::Ground(_)) => false,
        (Pat::Fn(f, x), Pat::Fn(g, y)) => {
            f == g && x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| unify(x, y, bound, terms))
        }
        (Pat::Fn(f, x), Pat::Ground(t)) | (Pat::Ground(t), Pat::Fn(f, x)) => {
            let args = terms.args(t).to_vec();
            terms.functor(t) == f
                && args.len() == x.len()
                && x.iter().zip(args).all(|(x, t)| unify(x, &Pat::Ground(t), bound, terms))
        }
    }
}
