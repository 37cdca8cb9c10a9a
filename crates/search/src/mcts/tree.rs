//! The search tree: numbers only, not generic over the game.
//!
//! Nodes are in one vector and what each player got in another (one total per player and node). The ids of a node's children
//! are side by side in a block of a third, which grows when it is full, and in a block of a fourth what selection asks for most
//! ([`EdgeStats`]): the mean that the chooser gets from the child, and one over the square root of its visits. So UCB1 reads
//! two short runs of numbers and neither divides nor takes roots. Moves not tried yet take no memory. A node takes 24 bytes, its
//! totals 8 per player, its slot in its parent's block 12: for two players 52 to 64 bytes in all, unused slots included.
//!
//! Memory is bounded by a number of nodes given at the start. When it is reached the tree stops to grow: simulations go on
//! and end in playouts from the leaves that there are.

use ludex_core::{Move, Payoffs, Player};
use std::collections::HashMap;

/// The number of a node in its tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct NodeId(pub u32);

/// Where every simulation begins.
pub const ROOT: NodeId = NodeId(0);

/// A node. What the players got is in [`Tree::total`].
#[derive(Clone, Copy, Debug)]
pub struct Node {
    mv: Move,
    visits: u32,
    /// Where the block of its children begins; if it is transposed, the id of its canonical node.
    edges: u32,
    /// Its own slot in its parent's block.
    place: u32,
    width: u16,
    children: u16,
    /// How many children the block has room for.
    room: u16,
    /// Who chooses here, and in the upper half who chose to come here.
    players: u8,
    flags: u8,
}

const ENTERED: u8 = 1;
const OPENED: u8 = 2;
const OVER: u8 = 4;
const PROVEN: u8 = 8;
const HIDDEN: u8 = 16;
const TRANSPOSED: u8 = 32;
const LOOKED_UP: u8 = 64;

impl Node {
    fn new(mv: Move, chooser: Player, place: u32) -> Self {
        let players = chooser.0 << 4;
        Node { mv, visits: 0, edges: 0, place, width: 0, children: 0, room: 0, players, flags: 0 }
    }

    /// The move that leads here.
    #[inline]
    pub fn mv(&self) -> Move {
        self.mv
    }

    /// Simulations that came through.
    #[inline]
    pub fn visits(&self) -> u32 {
        self.visits
    }

    /// Who chooses here; known once a simulation has entered.
    #[inline]
    pub fn mover(&self) -> Player {
        Player(self.players & 15)
    }

    /// Who chose the move that leads here.
    #[inline]
    pub fn chooser(&self) -> Player {
        Player(self.players >> 4)
    }

    /// A simulation has been here.
    #[inline]
    pub fn entered(&self) -> bool {
        self.flags & ENTERED != 0
    }

    /// The legal moves are known.
    #[inline]
    pub fn opened(&self) -> bool {
        self.flags & OPENED != 0
    }

    /// The game is over here.
    #[inline]
    pub fn over(&self) -> bool {
        self.flags & OVER != 0
    }

    /// The value is certain (only with the solver).
    #[inline]
    pub fn proven(&self) -> bool {
        self.flags & PROVEN != 0
    }

    /// The state holds choices that its mover must not see.
    #[inline]
    pub fn hidden(&self) -> bool {
        self.flags & HIDDEN != 0
    }

    /// It has been looked up by its position (only with transpositions).
    #[inline]
    pub(crate) fn looked_up(&self) -> bool {
        self.flags & LOOKED_UP != 0
    }

    /// Every move has a child.
    #[inline]
    pub fn complete(&self) -> bool {
        self.opened() && self.children == self.width
    }

    /// Moves that have no child yet.
    #[inline]
    pub fn untried(&self) -> usize {
        (self.width - self.children) as usize
    }
}

/// The tree of one search.
#[derive(Clone, Debug)]
pub struct Tree {
    players: usize,
    nodes: Vec<Node>,
    totals: Vec<f64>,
    squares: Option<Vec<f64>>,
    edges: Vec<u32>,
    edge_stats: Vec<EdgeStats>,
    /// Blocks no longer used, by their size as in [`ROOMS`].
    free: [Vec<u32>; ROOMS.len()],
    /// A bit for each size of which there are such blocks.
    unused: u64,
    /// What an evaluator thought of each node beforehand; empty without one.
    priors: Vec<f32>,
    /// How many visits that counts for, if edge statistics mix it in.
    prior_visits: Option<f32>,
    capacity: usize,
}

/// The sizes of blocks: each a quarter or a half bigger than the one before.
const ROOMS: [u16; 48] = {
    let mut rooms = [1u16; 48];
    let mut i = 1;
    while i < rooms.len() {
        let last = rooms[i - 1];
        let more = if last < 2 { 1 } else { last / if last < 16 { 2 } else { 4 } };
        rooms[i] = last.saturating_add(more);
        i += 1;
    }
    rooms[47] = u16::MAX;
    rooms
};

/// Selection reads children eight at a time: so many places beyond the last block can be read too.
pub(crate) const LANES: usize = 8;

/// What selection asks of the edge to a child: its mean for the player who chooses it, and its visits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EdgeStats {
    /// The mean payoff of the player who chooses it: infinite before the first visit, the least number if it is proven lost.
    /// With priors that count like visits, they are in it, and before the first visit it is the prior.
    pub mean: f32,
    /// One over the square root of its visits; 0 before the first, and if the value is proven. With such priors there is one
    /// visit more.
    pub inv_sqrt_visits: f32,
}

const UNSEEN: EdgeStats = EdgeStats { mean: f32::INFINITY, inv_sqrt_visits: 0.0 };
const LOST: EdgeStats = EdgeStats { mean: f32::MIN, inv_sqrt_visits: 0.0 };

impl Tree {
    /// A tree that holds its root only and never more than `capacity` nodes; `squares` if sums of squares are wanted.
    pub fn new(players: usize, capacity: usize, squares: bool) -> Self {
        let mut tree = Tree {
            players,
            nodes: Vec::new(),
            totals: Vec::new(),
            squares: squares.then(Vec::new),
            edges: Vec::new(),
            edge_stats: Vec::new(),
            free: std::array::from_fn(|_| Vec::new()),
            unused: 0,
            priors: Vec::new(),
            prior_visits: None,
            capacity: capacity.max(1),
        };
        tree.clear();
        tree
    }

    /// The same, but the prior of a node counts in its [`EdgeStats`] like so many visits.
    pub fn with_prior_visits(self, visits: Option<f32>) -> Self {
        Tree { prior_visits: visits, ..self }
    }

    /// Back to the root only, keeping the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.totals.clear();
        self.squares.iter_mut().for_each(Vec::clear);
        self.edges.clear();
        self.edge_stats.clear();
        self.free.iter_mut().for_each(Vec::clear);
        self.unused = 0;
        self.priors.clear();
        // The root stands in a block of its own, so that it is like every other node.
        let place = self.block(1);
        self.push(Node::new(Move(0), Player(0), place));
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.totals.resize(self.totals.len() + self.players, 0.0);
        if let Some(squares) = &mut self.squares {
            squares.resize(self.totals.len(), 0.0);
        }
        id
    }

    /// A block with room for so many children: one no longer used, or a piece of one, or a new one.
    fn block(&mut self, room: u16) -> u32 {
        let size = ROOMS.partition_point(|&r| r < room);
        let fitting = self.unused >> size;
        if fitting != 0 {
            let size = size + fitting.trailing_zeros() as usize;
            if let Some(block) = self.free[size].pop() {
                self.unused &= !((self.free[size].is_empty() as u64) << size);
                self.give_back(block + room as u32, ROOMS[size] - room);
                return block;
            }
        }
        let block = self.edges.len();
        self.edges.resize(block + room as usize, 0);
        self.edge_stats.resize(block + room as usize + LANES, UNSEEN);
        block as u32
    }

    /// So many places from `block` on are no longer used.
    fn give_back(&mut self, mut block: u32, mut room: u16) {
        while room > 0 {
            let size = ROOMS.partition_point(|&r| r <= room) - 1;
            self.free[size].push(block);
            self.unused |= 1 << size;
            block += ROOMS[size] as u32;
            room -= ROOMS[size];
        }
    }

    /// How many players' totals are kept.
    pub fn players(&self) -> usize {
        self.players
    }

    /// How many nodes there are.
    #[allow(clippy::len_without_is_empty)] // never empty: there is always a root
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        let squares = self.squares.as_ref().map_or(0, Vec::len);
        size_of::<Node>() * self.nodes.len()
            + 8 * (self.totals.len() + squares)
            + 12 * self.edges.len()
            + 4 * self.priors.len()
    }

    /// The most nodes there may be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether the tree has stopped to grow.
    #[inline]
    pub fn full(&self) -> bool {
        self.nodes.len() >= self.capacity
    }

    /// A node.
    #[inline]
    pub fn node(&self, n: NodeId) -> &Node {
        &self.nodes[n.0 as usize]
    }

    /// The sum of what a player got below a node.
    #[inline]
    pub fn total(&self, n: NodeId, p: Player) -> f64 {
        self.totals[n.0 as usize * self.players + p.index()]
    }

    /// The sum of squares of what a player got, where it is kept.
    #[inline]
    pub fn squares(&self, n: NodeId, p: Player) -> f64 {
        self.squares.as_ref().map_or(0.0, |s| s[n.0 as usize * self.players + p.index()])
    }

    /// The node whose children are this one's: itself, or the one that it was linked to as a transposition.
    #[inline]
    pub fn canonical(&self, n: NodeId) -> NodeId {
        let node = self.node(n);
        if node.flags & TRANSPOSED == 0 { n } else { NodeId(node.edges) }
    }

    /// Links a node that has no children to the canonical one of its position: it has that one's children and its mean, which
    /// is that of all simulations through the position.
    pub(crate) fn link_transposition(&mut self, n: NodeId, canonical: NodeId) {
        let node = &mut self.nodes[n.0 as usize];
        debug_assert!(!node.opened() && node.flags & TRANSPOSED == 0 && n != canonical);
        node.flags |= TRANSPOSED;
        node.edges = canonical.0;
    }

    /// Notes that a node has been looked up by its position.
    pub(crate) fn mark_looked_up(&mut self, n: NodeId) {
        self.nodes[n.0 as usize].flags |= LOOKED_UP;
    }

    /// What a player gets on average below a node; 0 where no simulation has been.
    #[inline]
    pub fn mean(&self, n: NodeId, p: Player) -> f64 {
        let n = self.canonical(n);
        let visits = self.node(n).visits;
        if visits == 0 { 0.0 } else { self.total(n, p) / visits as f64 }
    }

    /// What all players get on average.
    pub fn means(&self, n: NodeId) -> Payoffs {
        let mut p = Payoffs::draw(self.players);
        (0..self.players as u8).map(Player).for_each(|i| p[i] = self.mean(n, i) as f32);
        p
    }

    /// The children, in the order in which they were added.
    #[inline]
    pub fn children(&self, n: NodeId) -> &[NodeId] {
        let node = self.node(n);
        let block = &self.edges[node.edges as usize..node.edges as usize + node.children as usize];
        // NodeId is a transparent u32; copying the numbers instead would cost an allocation at each selection.
        bytemuck::cast_slice(block)
    }

    /// The statistics of the edges to the children, in the same order.
    #[inline]
    pub fn edge_stats(&self, n: NodeId) -> &[EdgeStats] {
        let node = self.node(n);
        &self.edge_stats[node.edges as usize..node.edges as usize + node.children as usize]
    }

    /// The same, in chunks of eight whose last one goes on into whatever stands behind.
    #[inline]
    pub(crate) fn edge_stats_by_eight(&self, n: NodeId) -> &[[EdgeStats; LANES]] {
        let node = self.node(n);
        let chunks = (node.children as usize).div_ceil(LANES);
        self.edge_stats[node.edges as usize..node.edges as usize + LANES * chunks].as_chunks().0
    }

    /// The `i`-th child.
    #[inline]
    pub fn child(&self, n: NodeId, i: usize) -> NodeId {
        self.children(n)[i]
    }

    /// Notes how many legal moves a node has.
    pub fn open(&mut self, n: NodeId, width: usize) {
        let node = &mut self.nodes[n.0 as usize];
        debug_assert!(!node.opened());
        node.width = width.min(u16::MAX as usize) as u16;
        node.flags |= OPENED;
    }

    /// Makes room for all children of a node at once.
    pub fn reserve(&mut self, n: NodeId) {
        let width = self.node(n).width;
        debug_assert!(self.node(n).room == 0);
        let edges = self.block(width);
        let node = &mut self.nodes[n.0 as usize];
        (node.edges, node.room) = (edges, width);
    }

    /// Adds a child for a move that has none yet; gives its place among the children, the last.
    pub fn add_child(&mut self, n: NodeId, m: Move) -> usize {
        debug_assert!(self.node(n).untried() > 0);
        if self.node(n).children == self.node(n).room {
            self.grow(n);
        }
        let node = self.node(n);
        let (i, place) = (node.children as usize, node.edges + node.children as u32);
        let child = self.push(Node::new(m, node.mover(), place));
        self.edges[place as usize] = child.0;
        self.edge_stats[place as usize] = UNSEEN;
        self.nodes[n.0 as usize].children += 1;
        i
    }

    /// The place of the child for this move, which is added if there is none.
    pub(crate) fn child_for(&mut self, n: NodeId, m: Move) -> usize {
        let found = self.children(n).iter().position(|&c| self.node(c).mv == m);
        found.unwrap_or_else(|| self.add_child(n, m))
    }

    /// A node without a parent, for statistics that several nodes share.
    pub(crate) fn detached(&mut self, mover: Player) -> NodeId {
        let place = self.block(1);
        let n = self.push(Node::new(Move(0), mover, place));
        self.enter(n, mover, false);
        n
    }

    /// Notes that the state holds choices its mover must not see.
    pub(crate) fn hide(&mut self, n: NodeId) {
        self.nodes[n.0 as usize].flags |= HIDDEN;
    }

    /// Moves the children of a node to the next bigger block.
    fn grow(&mut self, n: NodeId) {
        let Node { edges: old, room, .. } = *self.node(n);
        let more = ROOMS.into_iter().find(|&r| r > room).unwrap_or(u16::MAX);
        let new = self.block(more);
        for i in 0..room as u32 {
            let child = self.edges[(old + i) as usize];
            self.edges[(new + i) as usize] = child;
            self.edge_stats[(new + i) as usize] = self.edge_stats[(old + i) as usize];
            self.nodes[child as usize].place = new + i;
        }
        self.give_back(old, room);
        let node = &mut self.nodes[n.0 as usize];
        (node.edges, node.room) = (new, more);
    }

    /// Notes what the first simulation finds: who moves, and whether the game is over.
    #[inline]
    pub fn enter(&mut self, n: NodeId, mover: Player, over: bool) {
        let node = &mut self.nodes[n.0 as usize];
        node.players = node.players & 0xf0 | mover.0;
        node.flags |= ENTERED | if over { OVER } else { 0 };
    }

    /// Notes what an evaluator thinks of a node.
    pub fn set_prior(&mut self, n: NodeId, prior: f32) {
        if self.priors.len() <= n.0 as usize {
            self.priors.resize(n.0 as usize + 1, 0.0);
        }
        self.priors[n.0 as usize] = prior;
        if self.prior_visits.is_some() && self.node(n).visits == 0 {
            let place = self.node(n).place as usize;
            self.edge_stats[place] = EdgeStats { mean: prior, inv_sqrt_visits: 1.0 };
        }
    }

    /// What an evaluator thought of a node beforehand; 0 without one.
    #[inline]
    pub fn prior(&self, n: NodeId) -> f32 {
        self.priors.get(n.0 as usize).copied().unwrap_or(0.0)
    }

    /// Adds the result of a simulation.
    #[inline]
    pub fn add(&mut self, n: NodeId, payoffs: &Payoffs) {
        let node = &mut self.nodes[n.0 as usize];
        node.visits += 1;
        let at = n.0 as usize * self.players;
        let totals = &mut self.totals[at..at + self.players];
        totals.iter_mut().zip(payoffs.as_slice()).for_each(|(t, &v)| *t += v as f64);
        if let Some(squares) = &mut self.squares {
            squares[at..at + self.players].iter_mut().zip(payoffs.as_slice()).for_each(|(t, &v)| *t += (v * v) as f64);
        }
        if node.flags & PROVEN == 0 {
            let (place, chooser) = (node.place as usize, node.chooser());
            let canonical = if node.flags & TRANSPOSED == 0 { n } else { NodeId(node.edges) };
            let (own, all) = (node.visits as f32, self.node(canonical).visits as f32);
            let total = self.total(canonical, chooser) as f32;
            self.edge_stats[place] = match self.prior_visits {
                None => EdgeStats { mean: total * (1.0 / all), inv_sqrt_visits: (1.0 / own).sqrt() },
                Some(k) => EdgeStats {
                    mean: (total + k * self.prior(n)) / (all + k),
                    inv_sqrt_visits: (1.0 / (own + 1.0)).sqrt(),
                },
            };
        }
    }

    /// Makes a value certain: from now on the mean is exactly this.
    pub fn prove(&mut self, n: NodeId, payoffs: &Payoffs) {
        let node = &mut self.nodes[n.0 as usize];
        node.flags |= PROVEN;
        let (visits, at) = (node.visits as f64, n.0 as usize * self.players);
        let totals = &mut self.totals[at..at + self.players];
        totals.iter_mut().zip(payoffs.as_slice()).for_each(|(t, &v)| *t = v as f64 * visits);
        let stats = &mut self.edge_stats[node.place as usize];
        match payoffs[node.chooser()] {
            p if p <= -1.0 => *stats = LOST,
            p => *stats = EdgeStats { mean: p, inv_sqrt_visits: 0.0 },
        }
    }

    /// Keeps only what lies below the child that `m` leads to, which becomes the root; everything goes if there is none.
    pub fn reroot(&mut self, m: Move) {
        let old = std::mem::replace(
            self,
            Tree::new(self.players, self.capacity, self.squares.is_some()).with_prior_visits(self.prior_visits),
        );
        let Some(&start) = old.children(ROOT).iter().find(|&&c| old.node(c).mv == m) else { return };
        let place = self.nodes[0].place;
        // A transposed node becomes the canonical one where that is not below the new root or comes later.
        let mut copies = HashMap::from([(old.canonical(start), ROOT)]);
        let moved = |n: NodeId, place| {
            let (node, canonical) = (old.node(n), old.node(old.canonical(n)));
            let (players, flags) = (node.players & 0xf0 | canonical.players & 15, canonical.flags & !LOOKED_UP);
            Node { mv: node.mv, place, players, flags, ..*canonical }
        };
        self.nodes[0] = moved(start, place);
        let mut todo = vec![(old.canonical(start), ROOT)];
        while let Some((from, to)) = todo.pop() {
            let (f, t) = (from.0 as usize * self.players, to.0 as usize * self.players);
            self.totals[t..t + self.players].copy_from_slice(&old.totals[f..f + self.players]);
            if let (Some(new), Some(old)) = (&mut self.squares, &old.squares) {
                new[t..t + self.players].copy_from_slice(&old[f..f + self.players]);
            }
            let room = old.node(from).room;
            let edges = if room > 0 { self.block(room) } else { 0 };
            self.nodes[to.0 as usize].edges = edges;
            for (i, &child) in old.children(from).iter().enumerate() {
                let place = edges + i as u32;
                let canonical = old.canonical(child);
                let copy = match copies.get(&canonical) {
                    Some(&there) => {
                        let flags = old.node(child).flags & !OPENED | TRANSPOSED;
                        let none = Node { width: 0, children: 0, room: 0, ..*old.node(child) };
                        self.push(Node { place, edges: there.0, flags, ..none })
                    }
                    None => {
                        let copy = self.push(moved(child, place));
                        copies.insert(canonical, copy);
                        todo.push((canonical, copy));
                        copy
                    }
                };
                self.edges[place as usize] = copy.0;
                self.edge_stats[place as usize] = old.edge_stats(from)[i];
                if !old.priors.is_empty() {
                    self.set_prior(copy, old.prior(child));
                }
            }
        }
    }
}
