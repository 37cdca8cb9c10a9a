//! Makes the gates of a propositional network: simplified, and each different gate only once (structural hashing).
//!
//! An AND of several conditions and a guard (see [`crate::propnet`]) is made as `guard & rest`, so that guards stay on top.
//! Sums of products are factored algebraically, by the most frequent literal first, as in multi-level logic synthesis
//! (Brayton & McMullen 1982).

use crate::propnet::{FALSE, Kind, Lit, Node, Propnet, TRUE_LIT};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A network under construction.
pub(crate) struct GateBuilder {
    /// As in [`Propnet`].
    pub kinds: Vec<Kind>,
    /// As in [`Propnet`].
    pub starts: Vec<u32>,
    /// As in [`Propnet`].
    pub inputs: Vec<Lit>,
    /// The gates made so far, by kind and inputs.
    interned: HashMap<(Kind, Box<[Lit]>), Lit>,
    /// The nodes of the facts that are guards.
    pub guards: HashSet<Node>,
    /// As in [`Propnet`].
    pub loops: Vec<Range<Node>>,
    /// The inputs of the gates of loops, which become known only after the gates have been numbered.
    loop_inputs: HashMap<Node, Vec<Lit>>,
    /// The nodes of the moves of each role.
    does_nodes: Vec<Vec<Node>>,
    /// The role of each node that is a move.
    role_of: HashMap<Node, u32>,
    /// As in [`Propnet`].
    does: Vec<(u32, u32)>,
}

impl GateBuilder {
    /// Starts a network with node 0 alone; the caller adds the inputs.
    pub fn new(does: &[(u32, u32)], roles: usize) -> Self {
        GateBuilder {
            kinds: vec![Kind::False],
            starts: vec![0, 0],
            inputs: Vec::new(),
            interned: HashMap::new(),
            guards: Default::default(),
            loops: Vec::new(),
            loop_inputs: HashMap::new(),
            does_nodes: vec![Vec::new(); roles],
            role_of: HashMap::new(),
            does: does.to_vec(),
        }
    }

    /// Continues a finished network. Nodes keep their numbers, and gates that exist already are found again.
    pub fn from_net(net: &Propnet) -> Self {
        let mut b = GateBuilder::new(&net.does, net.roles.len());
        b.guards = net.guards.iter().map(|g| g + 1).collect();
        for n in 1..net.len() as Node {
            let kind = net.kinds[n as usize];
            match kind {
                Kind::And | Kind::Or => {
                    let lit = b.push(kind, net.inputs(n));
                    b.interned.entry((kind, net.inputs(n).into())).or_insert(lit);
                }
                _ => {
                    b.input(kind);
                }
            }
        }
        b
    }

    fn push(&mut self, kind: Kind, inputs: &[Lit]) -> Lit {
        self.kinds.push(kind);
        self.inputs.extend_from_slice(inputs);
        self.starts.push(self.inputs.len() as u32);
        (self.kinds.len() as Lit - 1) << 1
    }

    /// Adds an input: a fact or a move.
    pub fn input(&mut self, kind: Kind) -> Lit {
        let lit = self.push(kind, &[]);
        if let Kind::Does(d) = kind {
            let role = self.does[d as usize].0;
            self.does_nodes[role as usize].push(lit >> 1);
            self.role_of.insert(lit >> 1, role);
        }
        lit
    }

    /// Adds an OR that is part of a loop; its inputs follow by [`GateBuilder::set_loop_inputs`].
    pub fn declare_loop_or(&mut self) -> Lit {
        self.push(Kind::Or, &[])
    }

    /// States the inputs of an OR that was declared before.
    pub fn set_loop_inputs(&mut self, node: Node, mut inputs: Vec<Lit>) {
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|&l| l != FALSE);
        self.loop_inputs.insert(node, inputs);
    }

    /// Moves the inputs of the gates of loops into `inputs`. To be called once, at the end.
    pub fn lay_out_loops(&mut self) {
        if self.loop_inputs.is_empty() {
            return;
        }
        let (mut starts, mut inputs) = (vec![0], Vec::with_capacity(self.inputs.len()));
        for n in 0..self.kinds.len() {
            match self.loop_inputs.get(&(n as Node)) {
                Some(filled) => inputs.extend_from_slice(filled),
                None => inputs.extend_from_slice(&self.inputs[self.starts[n] as usize..self.starts[n + 1] as usize]),
            }
            starts.push(inputs.len() as u32);
        }
        (self.starts, self.inputs) = (starts, inputs);
    }

    /// The gate with these inputs, made if there is none yet.
    fn gate(&mut self, kind: Kind, inputs: Vec<Lit>) -> Lit {
        let key = (kind, inputs.into_boxed_slice());
        if let Some(&lit) = self.interned.get(&key) {
            return lit;
        }
        let lit = self.push(kind, &key.1);
        self.interned.insert(key, lit);
        lit
    }

    /// The conjunction of literals.
    pub fn and(&mut self, mut inputs: Vec<Lit>) -> Lit {
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|&l| l != TRUE_LIT);
        if inputs.first() == Some(&FALSE) || inputs.windows(2).any(|w| w[0] ^ 1 == w[1]) {
            return FALSE;
        }
        match inputs.len() {
            0 => return TRUE_LIT,
            1 => return inputs[0],
            _ => {}
        }
        if inputs.iter().all(|l| l & 1 == 1) {
            return self.or(inputs.iter().map(|l| l ^ 1).collect()) ^ 1;
        }
        if inputs.len() > 2
            && let Some(i) = inputs.iter().position(|l| l & 1 == 0 && self.guards.contains(&(l >> 1)))
        {
            let guard = inputs.remove(i);
            let rest = self.and(inputs);
            return self.and(vec![guard, rest]);
        }
        self.gate(Kind::And, inputs)
    }

    /// The disjunction of literals.
    pub fn or(&mut self, mut inputs: Vec<Lit>) -> Lit {
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|&l| l != FALSE);
        if inputs.first() == Some(&TRUE_LIT) || inputs.windows(2).any(|w| w[0] ^ 1 == w[1]) {
            return TRUE_LIT;
        }
        match inputs.len() {
            0 => return FALSE,
            1 => return inputs[0],
            _ => {}
        }
        if inputs.iter().all(|l| l & 1 == 1) {
            return self.gate(Kind::And, inputs.iter().map(|l| l ^ 1).collect()) ^ 1;
        }
        if let Some(fewer) = self.complement_moves(&inputs) {
            return self.or(fewer);
        }
        self.gate(Kind::Or, inputs)
    }

    /// If more than half of the moves of a role are among the inputs of an OR, replaces them by "none of its other moves".
    fn complement_moves(&mut self, inputs: &[Lit]) -> Option<Vec<Lit>> {
        let role = |l: &Lit| if l & 1 == 0 { self.role_of.get(&(l >> 1)).copied() } else { None };
        let mut count = vec![0; self.does_nodes.len()];
        inputs.iter().filter_map(role).for_each(|r| count[r as usize] += 1);
        let r = (0..count.len()).find(|&r| count[r] > 1 && count[r] * 2 > self.does_nodes[r].len())?;
        let (mine, mut rest): (Vec<Lit>, Vec<Lit>) = inputs.iter().partition(|l| role(l) == Some(r as u32));
        let others = self.does_nodes[r].iter().map(|n| n << 1).filter(|l| mine.binary_search(l).is_err()).collect();
        rest.push(self.or(others) ^ 1);
        Some(rest)
    }

    /// The disjunction of conjunctions, factored.
    pub fn sum_of_products(&mut self, terms: Vec<Vec<Lit>>) -> Lit {
        self.factor(terms, 0)
    }

    /// Factors a sum of products by its most frequent literals, then up to three more times by what the new products share.
    fn factor(&mut self, terms: Vec<Vec<Lit>>, round: u32) -> Lit {
        let mut products: Vec<Vec<Lit>> = Vec::with_capacity(terms.len());
        for mut term in terms {
            term.sort_unstable();
            term.dedup();
            term.retain(|&l| l != TRUE_LIT);
            // Contradictory products stay until the end: without them, equal sums would be factored differently.
            if term.first() == Some(&FALSE) {
                continue;
            }
            if term.is_empty() {
                return TRUE_LIT;
            }
            if let &[l] = term.as_slice()
                && let Some(split) = self.split_guard(l)
            {
                term = split.to_vec();
            }
            products.push(term);
        }
        products.sort_unstable();
        products.dedup();
        if products.len() == 1 {
            return self.and(products.pop().unwrap_or_default());
        }
        let mut count: HashMap<Lit, u32> = HashMap::new();
        products.iter().filter(|p| p.len() > 1).flatten().for_each(|&l| *count.entry(l).or_default() += 1);
        let is_guard = |l: Lit| l & 1 == 0 && self.guards.contains(&(l >> 1));
        let mut groups: Vec<(Lit, Vec<Lit>)> = Vec::new();
        let mut sum = Vec::new();
        for p in products {
            let best = p.iter().filter(|l| p.len() > 1 && count[l] > 1).max_by_key(|&&l| (is_guard(l), count[&l], l));
            match best {
                Some(&l) => groups.push((l, p)),
                None => sum.push(p),
            }
        }
        groups.sort_unstable();
        let mut factored = sum;
        for group in groups.chunk_by(|a, b| a.0 == b.0) {
            let factor = group[0].0;
            if let [(_, alone)] = group {
                factored.push(alone.clone());
                continue;
            }
            let rest = group.iter().map(|(_, p)| p.iter().copied().filter(|&l| l != factor).collect()).collect();
            let rest = self.sum_of_products(rest);
            let mut product = vec![factor];
            match self.conjuncts(rest) {
                Some(inputs) => product.extend(inputs),
                None => product.push(rest),
            }
            factored.push(product);
        }
        let mut count: HashMap<Lit, u32> = HashMap::new();
        factored.iter().filter(|p| p.len() > 1).flatten().for_each(|&l| *count.entry(l).or_default() += 1);
        if round < 3 && count.values().any(|&n| n > 1) && factored.len() > 1 {
            return self.factor(factored, round + 1);
        }
        let alternatives = factored.into_iter().map(|p| self.and(p)).collect();
        self.or(alternatives)
    }

    /// The inputs of an AND; `None` if the literal is anything else.
    fn conjuncts(&self, l: Lit) -> Option<&[Lit]> {
        let n = (l >> 1) as usize;
        let is_and = l & 1 == 0 && self.kinds[n] == Kind::And;
        is_and.then(|| &self.inputs[self.starts[n] as usize..self.starts[n + 1] as usize])
    }

    /// The two inputs of a gate `guard & rest`; `None` if the literal is anything else.
    fn split_guard(&self, l: Lit) -> Option<[Lit; 2]> {
        let n = (l >> 1) as usize;
        if l & 1 == 1 || self.kinds[n] != Kind::And {
            return None;
        }
        let &[a, b] = &self.inputs[self.starts[n] as usize..self.starts[n + 1] as usize] else { return None };
        let is_guard = |l: Lit| l & 1 == 0 && self.guards.contains(&(l >> 1));
        (is_guard(a) || is_guard(b)).then_some([a, b])
    }
}
