//! Validates a rulesheet: reports what is wrong, doubtful or worth knowing, each with its place and with advice.
//!
//! Reading, dependency analysis and grounding find what keeps a sheet from being played, and conditions that nothing can make
//! true, which are probable misspellings. Random play finds states without a legal move, ends without a goal or with several, and games that do not
//! end. Random play proves nothing about states that it does not reach.

use crate::error::{Error, ErrorKind, Place};
use crate::game::{GdlGame, GdlOptions};
use crate::ground;
use crate::never_true::never_true;
use crate::rulesheet::*;
use crate::strata::Strata;
use ludex_core::{Game, Rng};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The sheet cannot be played.
    Error,
    /// The sheet can be played, but it is not standard GDL or probably does not mean what its author intended.
    Warning,
    /// Information that needs no action.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One finding about a sheet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The line, from 1; 0 if the sheet as a whole is meant.
    pub line: u32,
    /// The column, from 1; 0 if the sheet as a whole is meant.
    pub column: u32,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// Writes one line, without a trailing newline.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.severity)?;
        if self.line > 0 {
            write!(f, " at line {}, column {}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, " ({})", self.advice) }
    }
}

/// How to check a sheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckOptions {
    /// How the sheet is opened.
    pub open: GdlOptions,
    /// The number of random matches.
    pub matches: u32,
    /// The seed of the random matches.
    pub seed: u64,
}

/// Plays a hundred matches.
impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { open: GdlOptions::default(), matches: 100, seed: 1 }
    }
}

/// What a check found, and the game.
#[derive(Debug)]
pub struct Checked {
    /// Sorted by severity, then by place.
    pub findings: Vec<Finding>,
    /// The opened game; `None` if the sheet cannot be played.
    pub game: Option<GdlGame>,
}

/// Checks a rulesheet. Findings are sorted by severity, then by place.
pub fn check(text: &str, options: &CheckOptions) -> Vec<Finding> {
    check_game(text, options).findings
}

/// Checks a rulesheet and keeps the game that was opened on the way.
pub fn check_game(text: &str, options: &CheckOptions) -> Checked {
    let mut findings = Findings(Vec::new());
    let game = findings.all(text, options);
    let mut findings = findings.0;
    findings.sort_by_key(|f| (f.severity, f.line, f.column));
    findings.dedup();
    let refused = findings.iter().any(|f| f.severity == Severity::Error);
    Checked { findings, game: game.filter(|_| !refused) }
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, at: Place, message: impl Into<String>, advice: impl Into<String>) {
        let (message, advice) = (message.into(), advice.into());
        self.0.push(Finding { severity, line: at.line, column: at.column, message, advice });
    }

    /// Adds an error that keeps the sheet from being played.
    fn refused(&mut self, e: Error) -> Option<GdlGame> {
        let at = Place { line: e.line, column: e.column };
        self.add(Severity::Error, at, e.kind.to_string(), advice(&e.kind));
        None
    }

    /// Adds all findings; gives the game if it can be opened.
    fn all(&mut self, text: &str, options: &CheckOptions) -> Option<GdlGame> {
        if text.len() > options.open.budget.bytes {
            let kind = ErrorKind::TooLong { bytes: text.len(), limit: options.open.budget.bytes };
            return self.refused(kind.without_place());
        }
        // Strict reading stops at the first non-standard form; plain reading finds the rest.
        let strict = options.open.reading == Reading::Strict;
        let reading = if strict { Reading::Plain } else { options.open.reading };
        if strict && let Err(e) = Rulesheet::read(text, Reading::Strict) {
            self.refused(e);
        }
        let sheet = match Rulesheet::read(text, reading) {
            Ok(sheet) => sheet,
            Err(e) => return self.refused(e),
        };
        self.non_standard(&sheet);
        self.names(&sheet);
        self.keywords(&sheet);
        let strata = Strata::of(&sheet);
        for c in never_true(text, &sheet, strata.as_ref().ok(), &options.open.budget) {
            let meant = c.meant.map_or(String::new(), |m| format!("; did you mean {m}?"));
            self.add(Severity::Warning, c.at, format!("nothing makes {} true{meant}", c.text), "it never holds");
        }
        let strata = match strata {
            Ok(strata) => strata,
            Err(e) => return self.refused(e),
        };
        if strict && let Some(unstratified) = &strata.unstratified {
            self.refused(unstratified.clone());
        }
        let game = match GdlGame::new("sheet", text, &GdlOptions { reading, ..options.open }) {
            Ok(game) => game,
            Err(e) => return self.refused(e),
        };
        if !strict && let Some(unstratified) = &strata.unstratified {
            let place = Place { line: unstratified.line, column: unstratified.column };
            self.add(
                Severity::Warning,
                place,
                unstratified.kind.to_string(),
                "each instance has a meaning; strict readers refuse it",
            );
        }
        if game.interpreted() {
            self.add(
                Severity::Warning,
                Place::default(),
                "the rules are too large for a net and are interpreted",
                "play is slower; fewer variables in one rule help most",
            );
        }
        self.declared(&sheet, &strata, options, &game);
        self.play(&game, options);
        Some(game)
    }

    /// Adds the non-standard forms.
    fn non_standard(&mut self, sheet: &Rulesheet) {
        for l in &sheet.non_standard {
            self.add(Severity::Warning, l.at, format!("{} is a liberty", l.what), "strict readers refuse it");
        }
    }

    /// Adds what names suggest: several arities, differences in case only, relations that nothing uses.
    fn names(&mut self, sheet: &Rulesheet) {
        let own = |p: &usize| *p >= KEYWORDS.len() && !sheet.relations[*p].auxiliary;
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut by_letters: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for p in (0..sheet.relations.len()).filter(own) {
            let name = sheet.relation_name(p as Pred);
            by_name.entry(name).or_default().push(p);
            by_letters.entry(name.to_lowercase()).or_default().insert(name);
        }
        for (name, preds) in by_name.iter().filter(|n| n.1.len() > 1) {
            let arities: Vec<String> = preds.iter().map(|&p| sheet.relations[p].arity.to_string()).collect();
            let message = format!("{name} is used with {} arguments", arities.join(" and "));
            self.add(Severity::Warning, sheet.relations[preds[1]].at, message, "they are different relations");
        }
        for same in by_letters.values().filter(|s| s.len() > 1) {
            let list: Vec<&str> = same.iter().copied().collect();
            let message = format!("{} differ only in case", list.join(" and "));
            self.add(Severity::Warning, Place::default(), message, "they are different names unless read leniently");
        }
        let heads: BTreeSet<Pred> = sheet.rules.iter().map(|r| r.head.pred).collect();
        let mut used: BTreeSet<Pred> = BTreeSet::new();
        for rule in &sheet.rules {
            for literal in &rule.body {
                if let Literal::Pos(a) | Literal::Neg(a) = literal {
                    used.insert(a.pred);
                }
            }
        }
        for p in (0..sheet.relations.len()).filter(own) {
            if heads.contains(&(p as Pred)) && !used.contains(&(p as Pred)) {
                let name = sheet.relation_name(p as Pred);
                self.add(Severity::Note, sheet.relations[p].at, format!("nothing uses {name}"), "");
            }
        }
    }

    /// Adds keywords that are not defined.
    fn keywords(&mut self, sheet: &Rulesheet) {
        let defined = |p: Pred| sheet.rules.iter().any(|r| r.head.pred == p);
        let missing = [
            (INIT, Severity::Warning, "the game starts without any fact"),
            (LEGAL, Severity::Error, "nobody can ever move"),
            (NEXT, Severity::Warning, "every fact is gone after one step"),
            (GOAL, Severity::Warning, "everyone gets 0"),
            (TERMINAL, Severity::Warning, "the game never ends"),
        ];
        for (p, severity, consequence) in missing {
            if !defined(p) {
                self.add(severity, Place::default(), format!("there is no {}", KEYWORDS[p as usize].0), consequence);
            }
        }
        for p in [BASE, INPUT] {
            if !defined(p) {
                let name = KEYWORDS[p as usize].0;
                self.add(Severity::Note, Place::default(), format!("there is no {name}"), "none is needed here");
            }
        }
    }

    /// Compares the facts and moves that `base` and `input` declare with those that are possible.
    fn declared(&mut self, sheet: &Rulesheet, strata: &Strata, options: &CheckOptions, game: &GdlGame) {
        let mut strata = strata.clone();
        let is_static = |p: Pred| strata.is_static[p as usize] && sheet.rules.iter().any(|r| r.head.pred == p);
        let (base, input) = (is_static(BASE), is_static(INPUT));
        if !base && !input {
            return;
        }
        strata.needed.fill(true);
        let Ok(statics) = ground::statics(sheet, &strata, &options.open.budget) else { return };
        for (p, declared, possible, what, i) in
            [(BASE, base, &game.names.facts, "fact", 0), (INPUT, input, &game.names.moves, "move", 1)]
        {
            if !declared {
                continue;
            }
            let texts = statics.db.of(p).iter().map(|&a| sheet.text(&statics.terms, statics.terms.args(a)[i]));
            let known: BTreeSet<String> = texts.collect();
            let unknown: Vec<&String> = possible.iter().filter(|n| !known.contains(*n)).collect();
            if let Some(first) = unknown.first() {
                let name = KEYWORDS[p as usize].0;
                let message = format!("{name} does not declare {} possible {what}s, such as {first}", unknown.len());
                self.add(
                    Severity::Note,
                    Place::default(),
                    message,
                    "possible is more than reachable; it changes nothing here",
                );
            }
        }
    }

    /// Adds what random matches find.
    fn play(&mut self, game: &GdlGame, options: &CheckOptions) {
        let roles = &game.info().roles;
        let cap = game.info().horizon.map_or(u32::MAX, |h| h.plies).min(20_000);
        // The moves left for all matches together.
        let mut moves_left = if game.interpreted() { 500 } else { 200_000 };
        let mut rng = Rng::new(options.seed);
        let (mut stuck, mut silent, mut doubled, mut endless) = (None, None, None, 0);
        let mut had_choice = vec![false; roles.len()];
        let mut matches = 0;
        while matches < options.matches && moves_left > 0 {
            matches += 1;
            let mut s = game.initial();
            let mut plies = 0;
            while let Some(m) = game.sample(&s, &mut rng).filter(|_| plies < cap && moves_left > 0) {
                moves_left -= 1;
                had_choice[game.mover(&s).index()] |= game.count_legal(&s) > 1;
                game.play(&mut s, m);
                plies += 1;
            }
            if game.outcome(&s).is_none() {
                endless += (plies >= cap) as u32;
                continue;
            }
            if !game.is_terminal(&s) {
                let role = (0..roles.len()).find(|&r| game.legal_moves(&s, r).is_empty()).unwrap_or(0);
                stuck.get_or_insert((roles[role].clone(), game.position(&s)));
                continue;
            }
            for (r, goals) in game.goals(&s).iter().enumerate() {
                match goals.len() {
                    0 => drop(silent.get_or_insert((roles[r].clone(), game.position(&s)))),
                    1 => {}
                    _ => drop(doubled.get_or_insert((roles[r].clone(), game.position(&s)))),
                }
            }
        }
        let nowhere = Place::default();
        if let Some((role, position)) = stuck {
            let message = format!("{role} has no legal move though the game is not over, at {position}");
            self.add(Severity::Warning, nowhere, message, "the game is taken to end there");
        }
        if let Some((role, position)) = silent {
            let message = format!("{role} has no goal at the end, at {position}");
            self.add(Severity::Warning, nowhere, message, "it counts as 0");
        }
        if let Some((role, position)) = doubled {
            let message = format!("{role} has several goals at the end, at {position}");
            self.add(Severity::Warning, nowhere, message, "the highest counts");
        }
        if endless > 0 {
            let message = format!("{endless} of {matches} random matches did not end within {cap} moves");
            self.add(
                Severity::Warning,
                nowhere,
                message,
                "they are cut there, as draws; a step counter would end them",
            );
        }
        for r in (0..roles.len()).filter(|&r| !had_choice[r] && matches > 0) {
            self.add(Severity::Note, nowhere, format!("{} never had a choice in random play", roles[r]), "");
        }
        let values = game.goal_values();
        if let Some(odd) = values.iter().find(|v| !(0..=100).contains(*v)) {
            let message = format!("the goal {odd} is not within 0 to 100");
            self.add(Severity::Warning, nowhere, message, "payoffs are scaled to the range that occurs");
        }
    }
}

/// Advice on an error.
fn advice(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unopened | ErrorKind::Unclosed => "count the parentheses of this statement and the one before",
        ErrorKind::NonStandard(_) => "read it plainly or leniently, or write it out",
        ErrorKind::Unsafe { .. } => "add a condition that says what it can be",
        ErrorKind::Unstratified(_) => "split the relation so that the negated part does not need the whole",
        ErrorKind::Depends { .. } => "it must be decided by the state alone",
        ErrorKind::NoRole => "name the players: (role white) (role black)",
        ErrorKind::TooManyBodies(_) => "give the alternatives a relation of their own",
        ErrorKind::Random | ErrorKind::Sees => "only GDL-I, with complete information, is played",
        ErrorKind::Budget(_) | ErrorKind::TooLong { .. } => "simplify the rules, or raise the budget",
        ErrorKind::BadGoal(_) => "goals are whole numbers from 0 to 100",
        _ => "",
    }
}
