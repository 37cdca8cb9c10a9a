//! Small random rulesheets: recursive relations, negation, `or`, `distinct`, functions, several roles, odd goals.

use ludex_core::Rng;
use std::fmt::Write;

struct Writer {
    rng: Rng,
    out: String,
}

/// A sheet that is safe and stratified by construction. A role may still lack legal moves, and a game may not end.
pub fn sheet(seed: u64) -> String {
    let mut w = Writer { rng: Rng::new(seed), out: String::new() };
    w.sheet();
    w.out
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.rng.below(n)
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.rng.below(list.len() as u32) as usize]
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// A condition that binds `?x`; views of lower levels only.
    fn binding(&mut self, var: &str, views: u32) -> String {
        match self.below(7) {
            0 => format!("(d {var})"),
            1 => format!("(true (q {var}))"),
            2 => format!("(e {var} {})", self.one_of(&["1", "2", "3", "?y"])),
            3 => format!("(e ?y {var})"),
            4 => format!("(or (d {var}) (true (q {var})))"),
            5 if views > 0 => format!("(v{} {var})", self.below(views)),
            _ => format!("(true (f {var} {}))", self.one_of(&["(g 1)", "(g ?z)", "?z", "2"])),
        }
    }

    /// A condition on bound variables.
    fn test(&mut self, var: &str, views: u32, moves: bool) -> String {
        match self.below(9) {
            0 => format!("(distinct {var} {})", self.one_of(&["1", "2", "3"])),
            1 => format!("(not (true (q {var})))"),
            2 if views > 0 => format!("(not (v{} {var}))", self.below(views)),
            3 => "(true p)".into(),
            4 => "(not (true p))".into(),
            5 => format!("(or (true (q {var})) (not (true p)) (distinct {var} 2))"),
            6 if moves => format!("(does {} (go {var}))", self.one_of(&["a", "?r", "b"])),
            7 if moves => format!("(not (does a (go {var})))"),
            _ => format!("(not (e {var} {var}))"),
        }
    }

    /// Conditions in random order: tests may come before what binds their variables.
    fn body(&mut self, views: u32, moves: bool) -> String {
        let mut conditions = vec![self.binding("?x", views)];
        for _ in 0..self.below(3) {
            let test = self.test("?x", views, moves);
            conditions.push(test);
        }
        self.rng.shuffle(&mut conditions);
        conditions.join(" ")
    }

    fn sheet(&mut self) {
        let roles = 1 + self.below(3) as usize;
        for r in &["a", "b", "c"][..roles] {
            self.line(&format!("(role {r})"));
        }
        self.line("(d 1) (d 2) (d 3)\n(e 1 2) (e 2 3)");
        if self.below(2) == 0 {
            self.line("(e 3 1)");
        }
        for fact in ["p", "(q 1)", "(q 3)", "(f 1 (g 1))", "(f 2 2)", "(s 0)"] {
            if self.below(2) == 0 || fact == "(s 0)" {
                self.line(&format!("(init {fact})"));
            }
        }
        if self.below(3) == 0 {
            self.line("(<= (init (q ?x)) (e ?x ?y) (not (e ?y 1)))");
        }
        let views = self.below(4);
        for v in 0..views {
            for _ in 0..1 + self.below(2) {
                let body = self.body(v, false);
                self.line(&format!("(<= (v{v} ?x) {body})"));
            }
            if self.below(2) == 0 {
                // Recursion along the edges, which may go in a circle.
                let edge = self.one_of(&["?x ?y", "?y ?x"]);
                self.line(&format!("(<= (v{v} ?x) (v{v} ?y) (e {edge}))"));
            }
        }
        for r in &["a", "b", "c"][..roles] {
            if self.below(8) > 0 {
                self.line(&format!("(legal {r} wait)"));
            }
            let body = self.body(views, false);
            self.line(&format!("(<= (legal {r} (go ?x)) {body})"));
        }
        for head in ["(q ?x)", "(q ?x)", "(f ?x (g ?x))", "(f ?x 2)"] {
            let mut body = self.body(views, true);
            if body.contains("?r") {
                body.push_str(" (role ?r)");
            }
            self.line(&format!("(<= (next {head}) {body})"));
        }
        if self.below(2) == 0 {
            self.line("(<= (next p) (not (true p)))");
        }
        if self.below(2) == 0 {
            self.line("(<= (next p) (does ?r (go ?x)) (true (q ?x)))");
        }
        self.line("(<= (next (s 1)) (true (s 0)))\n(<= (next (s 2)) (true (s 1)))\n(<= (next (s 3)) (true (s 2)))");
        self.line("(<= terminal (true (s 3)))");
        let body = self.body(views, false);
        self.line(&format!("(<= terminal {body} (not (true (s 0))))"));
        for r in &["a", "b", "c"][..roles] {
            let body = self.body(views, false);
            self.line(&format!("(<= (goal {r} 100) {body})"));
            if self.below(2) == 0 {
                let goal = self.one_of(&["0", "50", "100"]);
                self.line(&format!("(<= (goal {r} {goal}) (true p))"));
            }
        }
    }
}
