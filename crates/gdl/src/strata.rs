//! The dependencies among relations: which are static, which are needed, and in which order negation can be decided.
//!
//! A relation is *static* if it depends on neither `true` nor `does`; it is the same in every state. A relation that depends
//! on its own negation makes a sheet *unstratified* (Apt, Blair & Walker 1988). Strict reading refuses such sheets. Other
//! readings refuse them only if some ground atom depends on its own negation, that is, if they are not locally stratified
//! (Przymusinski 1988). That becomes known when the propositional network is built; until then the relation is treated as
//! not static. So unstratified sheets cannot be interpreted.

use crate::error::{Error, ErrorKind};
use crate::rulesheet::*;

/// The dependencies of a sheet, by relation.
#[derive(Clone, Debug)]
pub(crate) struct Strata {
    /// Whether the relation is the same in every state.
    pub is_static: Vec<bool>,
    /// Whether it depends on `does`.
    pub depends_on_does: Vec<bool>,
    /// Whether play needs it: `role`, `init`, `legal`, `next`, `goal`, `terminal` and all that these depend on.
    pub needed: Vec<bool>,
    /// Whether steps need it: `legal`, `next`, `terminal` and all that these depend on.
    pub needed_to_step: Vec<bool>,
    /// Its stratum. A stratum must be complete before the next one is derived.
    pub stratum: Vec<u32>,
    /// The number of strata.
    pub count: u32,
    /// The error to report about the first relation that depends on its own negation, if there is one.
    pub unstratified: Option<Error>,
}

impl Strata {
    /// Finds the dependencies. Refuses `legal`, `goal` and `terminal` that depend on `does`, and `init` and `role` that depend
    /// on the state.
    pub fn of(sheet: &Rulesheet) -> Result<Strata, Error> {
        let n = sheet.relations.len();
        let mut edges: Vec<Vec<(Pred, bool)>> = vec![Vec::new(); n];
        for rule in &sheet.rules {
            for literal in &rule.body {
                match literal {
                    Literal::Pos(a) => edges[rule.head.pred as usize].push((a.pred, false)),
                    Literal::Neg(a) => edges[rule.head.pred as usize].push((a.pred, true)),
                    Literal::Distinct(..) => {}
                }
            }
        }
        for e in &mut edges {
            e.sort_unstable();
            e.dedup();
        }
        let component = sccs(&edges.iter().map(|e| e.iter().map(|d| d.0).collect()).collect::<Vec<_>>());
        let is_unstratified = |p: usize| edges[p].iter().any(|&(q, neg)| neg && component[p] == component[q as usize]);
        let unstratified = (0..n).find(|&p| is_unstratified(p)).map(|p| {
            let rule = sheet.rules.iter().find(|r| r.head.pred as usize == p);
            let place = rule.map_or(Default::default(), |r| r.at);
            ErrorKind::Unstratified(sheet.relation_name(p as Pred).into()).at(place)
        });
        let reaches = |from: &[Pred]| {
            let mut seen = vec![false; n];
            let mut stack: Vec<Pred> = from.to_vec();
            while let Some(p) = stack.pop() {
                if !std::mem::replace(&mut seen[p as usize], true) {
                    stack.extend(edges[p as usize].iter().map(|d| d.0));
                }
            }
            seen
        };
        let needed = reaches(&[ROLE, INIT, LEGAL, NEXT, GOAL, TERMINAL]);
        let needed_to_step = reaches(&[LEGAL, NEXT, TERMINAL]);
        // Components are numbered dependencies first, so one pass in that order suffices.
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&p| component[p]);
        let (mut dynamic, mut on_does, mut stratum) = (vec![false; n], vec![false; n], vec![0u32; n]);
        (dynamic[TRUE as usize], dynamic[DOES as usize], on_does[DOES as usize]) = (true, true, true);
        for same in order.chunk_by(|&a, &b| component[a] == component[b]) {
            let deps = || same.iter().flat_map(|&p| edges[p].iter().map(|&(q, neg)| (q as usize, neg)));
            let is_dynamic = same.iter().any(|&p| dynamic[p] || is_unstratified(p)) || deps().any(|(q, _)| dynamic[q]);
            let does = same.iter().any(|&p| on_does[p]) || deps().any(|(q, _)| on_does[q]);
            let level = deps().map(|(q, neg)| stratum[q] + neg as u32).max().unwrap_or(0);
            for &p in same {
                (dynamic[p], on_does[p], stratum[p]) = (is_dynamic, does, level);
            }
        }
        for (what, on) in
            [(ROLE, &dynamic), (INIT, &dynamic), (LEGAL, &on_does), (TERMINAL, &on_does), (GOAL, &on_does)]
        {
            if on[what as usize] {
                let first = sheet.rules.iter().find(|r| r.head.pred == what).map_or(Default::default(), |r| r.at);
                let reached = reaches(&[what]);
                let on = [DOES, TRUE].into_iter().find(|&on| reached[on as usize]);
                return Err(match (on, unstratified) {
                    (None, Some(unstratified)) => unstratified,
                    (on, _) => {
                        let name = |p: Pred| KEYWORDS[p as usize].0.to_string();
                        ErrorKind::Depends { what: name(what), on: name(on.unwrap_or(TRUE)) }.at(first)
                    }
                });
            }
        }
        let count = stratum.iter().max().map_or(1, |m| m + 1);
        Ok(Strata {
            is_static: dynamic.iter().map(|d| !d).collect(),
            depends_on_does: on_does,
            needed,
            needed_to_step,
            stratum,
            count,
            unstratified,
        })
    }
}

/// The strongly connected component of each node of a graph (Tarjan 1972, without recursion). No edge leads to a component
/// with a higher number.
pub(crate) fn sccs(edges: &[Vec<u32>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let n = edges.len();
    let (mut index, mut low, mut component) = (vec![NEW; n], vec![0; n], vec![NEW; n]);
    let (mut stack, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let (mut next, mut count) = (0, 0);
    for root in 0..n as u32 {
        if index[root as usize] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (v, ref mut at)) = path.last_mut() {
            let v = v as usize;
            if *at == 0 {
                (index[v], low[v]) = (next, next);
                next += 1;
                stack.push(v as u32);
            }
            if let Some(&w) = edges[v].get(*at) {
                *at += 1;
                if index[w as usize] == NEW {
                    path.push((w, 0));
                } else if component[w as usize] == NEW {
                    low[v] = low[v].min(index[w as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[v]);
            }
            if low[v] == index[v] {
                while let Some(w) = stack.pop() {
                    component[w as usize] = count;
                    if w as usize == v {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_point_to() {
        // 0 -> 1 <-> 2 -> 3, 4 -> 4
        let c = sccs(&[vec![1], vec![2], vec![1, 3], vec![], vec![4]]);
        assert_eq!(c[1], c[2]);
        assert!(c[3] < c[2] && c[2] < c[0] && c[4] != c[0]);
        let chain: Vec<Vec<u32>> = (0..100_000).map(|i| if i > 0 { vec![i - 1] } else { vec![] }).collect();
        assert!(sccs(&chain).windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn what_has_no_agreed_meaning_is_refused_with_its_place() {
        let all = |text| Strata::of(&Rulesheet::read(text, Reading::Plain).unwrap());
        let strata = |text| all(text).map(|_| ());
        let at = |e: Error| (e.line, e.kind);
        let rules = "(role x)\n(<= (p ?x) (role ?x) (not (q ?x)))\n(<= (q ?x) (p ?x))";
        assert_eq!(at(all(rules).unwrap().unstratified.unwrap()), (2, ErrorKind::Unstratified("p".into())));
        let role = strata("(role x)\n(<= (p ?x) (role ?x) (not (p ?x)))\n(<= (role ?x) (p ?x))").unwrap_err();
        assert!(matches!(role.kind, ErrorKind::Unstratified(_)), "not even `true` is reached");
        let on_does = strata("(role x)\n(<= (legal x a) b)\n(<= b (does x a))").unwrap_err();
        assert_eq!(at(on_does), (2, ErrorKind::Depends { what: "legal".into(), on: "does".into() }));
        let init = strata("(<= (init a) (true b))").unwrap_err();
        assert_eq!(at(init), (1, ErrorKind::Depends { what: "init".into(), on: "true".into() }));
    }
}
