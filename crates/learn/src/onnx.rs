//! ONNX export (operator set 17), so that a model runs wherever ONNX does.
//!
//! The input `facts` has one row per state and one column per fact, 1 where the fact holds (after the mirror, if the
//! encoder is mover-relative and player 1 moves), followed by one column per move if moves are inputs, or one column
//! per pair of fact and move if they are crossed, or one column per player, 1 for the mover, if the net has heads by mover. The encoder is folded into the first layer. Outputs are named by the
//! head; moves are mirrored like facts. The metadata holds game, rules, encoder (with the mirror, if it is mover-relative),
//! head and provenance, and the names of facts and moves if given.
//!
//! Protocol buffers are written by hand: a message is a list of (field number, value), and three kinds of values
//! suffice. Nothing is read here: an ONNX file cannot be turned into a model.

use crate::head::Link;
use crate::inference::first_columns;
use crate::{Activation, ExportNames, Head, Model, Net, Nnue};

impl Model {
    /// The model as an ONNX file.
    pub fn to_onnx(&self, names: &ExportNames) -> Vec<u8> {
        let mut graph = Graph::default();
        let first_layer = |graph: &mut Graph| {
            let (weights, bias, order) = first_columns(&self.net, &self.encoder);
            let columns = weights.len() / bias.len();
            (graph.gemm("facts", &weights, &bias, columns), order, columns)
        };
        let (mut out, columns) = match &self.net {
            Net::Mlp(m) => {
                let (mut z, _, columns) = first_layer(&mut graph);
                for layer in &m.layers[1..] {
                    let y = graph.act(m.hidden, z);
                    z = graph.gemm(&y, &layer.weights, &layer.bias, layer.inputs);
                }
                (z, columns)
            }
            Net::Cascade(c) => {
                let (z, order, columns) = first_layer(&mut graph);
                (graph.cascade(c, &order, z), columns)
            }
            Net::Nnue(n) => (graph.nnue(n), n.facts() + n.movers),
        };
        let outputs = self.net.outputs();
        let output_name = |head: Head| match head {
            Head::Value { .. } => "value",
            Head::WinDrawLoss => "win_draw_loss",
            Head::MoveScores { .. } => "move_scores",
            Head::PolicyValue { .. } => "policy",
        };
        let mut results = Vec::new();
        if let Head::PolicyValue { moves } = self.head {
            let parts = graph.split(&out, &[moves, 1]);
            let (policy, value) = match self.net.link() {
                Link::Each(act) => (graph.act(act, parts[0].clone()), graph.act(act, parts[1].clone())),
                Link::Softmax => {
                    // The net has one softmax over moves and value together.
                    out = graph.softmax(&out);
                    let parts = graph.split(&out, &[moves, 1]);
                    (parts[0].clone(), parts[1].clone())
                }
                Link::SoftmaxAnd(act) => (graph.softmax(&parts[0]), graph.act(act, parts[1].clone())),
            };
            results.push((policy, "policy", moves));
            results.push((value, "value", 1));
        } else {
            let last = match self.net.link() {
                Link::Each(act) => graph.act(act, out),
                Link::Softmax => graph.softmax(&out),
                Link::SoftmaxAnd(act) => {
                    let parts = graph.split(&out, &[outputs - 1, 1]);
                    let soft = graph.softmax(&parts[0]);
                    let last = graph.act(act, parts[1].clone());
                    graph.concat(&[&soft, &last])
                }
            };
            results.push((last, output_name(self.head), outputs));
        }
        for (from, name, _) in &results {
            graph.node("Identity", &[from], &[name.to_string()], &[]);
        }

        let mut body = graph.bytes;
        body.text(2, "ludex");
        body.message(11, &value_info("facts", columns));
        results.iter().for_each(|(_, name, width)| body.message(12, &value_info(name, *width)));
        let mut model = Bytes::default();
        model.number(1, 8);
        model.text(2, "ludex");
        model.text(3, env!("CARGO_PKG_VERSION"));
        model.text(6, &format!("{} for {}", self.provenance.system, self.game));
        model.message(7, &body);
        let mut opset = Bytes::default();
        opset.text(1, "");
        opset.number(2, 17);
        model.message(8, &opset);
        for (key, value) in self.metadata(names) {
            let mut entry = Bytes::default();
            entry.text(1, &key);
            entry.text(2, &value);
            model.message(14, &entry);
        }
        model.0
    }

    fn metadata(&self, names: &ExportNames) -> Vec<(String, String)> {
        let p = &self.provenance;
        let mut all = vec![
            ("game".to_string(), self.game.clone()),
            ("rules".into(), format!("{:016x}", self.rules_hash)),
            ("encoder".into(), self.encoder_text()),
            ("head".into(), json(&self.head)),
            ("system".into(), p.system.clone()),
            ("config".into(), p.config.clone()),
            ("seed".into(), p.seed.to_string()),
            ("data_hash".into(), p.data_hash.clone()),
            ("metrics".into(), json(&p.metrics)),
            ("version".into(), p.version.clone()),
        ];
        if let Some(mirror) = self.encoder.mirror() {
            all.push(("mirror_facts".into(), json(&mirror.facts.iter().map(|f| f.0).collect::<Vec<_>>())));
            all.push(("mirror_moves".into(), json(&mirror.moves.iter().map(|m| m.0).collect::<Vec<_>>())));
        }
        all.extend(names.texts());
        all
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

/// A protocol buffer being written.
#[derive(Clone, Debug, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn number(&mut self, field: u64, n: u64) {
        self.varint(field << 3);
        self.varint(n);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Bytes) {
        self.bytes(field, &message.0);
    }
}

/// A float tensor with a free number of rows.
fn value_info(name: &str, width: usize) -> Bytes {
    let (mut batch, mut column) = (Bytes::default(), Bytes::default());
    batch.text(2, "batch");
    column.number(1, width as u64);
    let mut shape = Bytes::default();
    shape.message(1, &batch);
    shape.message(1, &column);
    let mut tensor = Bytes::default();
    tensor.number(1, 1); // FLOAT
    tensor.message(2, &shape);
    let mut kind = Bytes::default();
    kind.message(1, &tensor);
    let mut info = Bytes::default();
    info.text(1, name);
    info.message(2, &kind);
    info
}

/// Nodes and constants; every value is named once.
#[derive(Default)]
struct Graph {
    bytes: Bytes,
    count: usize,
}

impl Graph {
    fn name(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}{}", self.count)
    }

    fn node(&mut self, op: &str, inputs: &[&str], outputs: &[String], integers: &[(&str, i64)]) {
        let mut node = Bytes::default();
        inputs.iter().for_each(|i| node.text(1, i));
        outputs.iter().for_each(|o| node.text(2, o));
        let name = self.name(op);
        node.text(3, &name);
        node.text(4, op);
        for (name, value) in integers {
            let mut attribute = Bytes::default();
            attribute.text(1, name);
            attribute.number(3, *value as u64);
            attribute.number(20, 2); // INT
            node.message(5, &attribute);
        }
        self.bytes.message(1, &node);
    }

    /// A node with one output of a new name.
    fn op(&mut self, op: &str, inputs: &[&str], integers: &[(&str, i64)]) -> String {
        let out = self.name(&op.to_lowercase());
        self.node(op, inputs, std::slice::from_ref(&out), integers);
        out
    }

    fn constant(&mut self, kind: u64, shape: &[usize], raw: &[u8]) -> String {
        let name = self.name("constant");
        let mut tensor = Bytes::default();
        shape.iter().for_each(|&n| tensor.number(1, n as u64));
        tensor.number(2, kind);
        tensor.text(8, &name);
        tensor.bytes(9, raw);
        self.bytes.message(5, &tensor);
        name
    }

    fn floats(&mut self, shape: &[usize], values: &[f32]) -> String {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(1, shape, &raw)
    }

    fn gemm(&mut self, x: &str, weights: &[f32], bias: &[f32], inputs: usize) -> String {
        let w = self.floats(&[inputs, bias.len()], weights);
        let b = self.floats(&[bias.len()], bias);
        self.op("Gemm", &[x, &w, &b], &[])
    }

    fn softmax(&mut self, x: &str) -> String {
        self.op("Softmax", &[x], &[("axis", 1)])
    }

    fn concat(&mut self, parts: &[&str]) -> String {
        if let [one] = parts {
            return one.to_string();
        }
        self.op("Concat", parts, &[("axis", 1)])
    }

    fn split(&mut self, x: &str, sizes: &[usize]) -> Vec<String> {
        if let [_] = sizes {
            return vec![x.to_string()];
        }
        let raw: Vec<u8> = sizes.iter().flat_map(|&n| (n as i64).to_le_bytes()).collect();
        let sizes_name = self.constant(7, &[sizes.len()], &raw); // INT64
        let outputs: Vec<String> = sizes.iter().map(|_| self.name("part")).collect();
        self.node("Split", &[x, &sizes_name], &outputs, &[("axis", 1)]);
        outputs
    }

    /// a·x + b.
    fn affine(&mut self, x: &str, a: f32, b: f32) -> String {
        let (a, b) = (self.floats(&[1], &[a]), self.floats(&[1], &[b]));
        let scaled = self.op("Mul", &[x, &a], &[]);
        self.op("Add", &[&scaled, &b], &[])
    }

    fn act(&mut self, act: Activation, x: String) -> String {
        let gauss = |graph: &mut Graph| {
            let square = graph.op("Mul", &[&x, &x], &[]);
            let minus = graph.op("Neg", &[&square], &[]);
            graph.op("Exp", &[&minus], &[])
        };
        match act {
            Activation::Identity => x,
            Activation::Relu => self.op("Relu", &[&x], &[]),
            Activation::Logistic => self.op("Sigmoid", &[&x], &[]),
            Activation::Tanh => self.op("Tanh", &[&x], &[]),
            Activation::Gauss => gauss(self),
            Activation::GaussSym => {
                let y = gauss(self);
                self.affine(&y, 2.0, -1.0)
            }
            Activation::SinSym => self.op("Sin", &[&x], &[]),
            Activation::Sin => {
                let y = self.op("Sin", &[&x], &[]);
                self.affine(&y, 0.5, 0.5)
            }
            Activation::ElliotSym => self.op("Softsign", &[&x], &[]),
            Activation::Elliot => {
                let y = self.op("Softsign", &[&x], &[]);
                self.affine(&y, 0.5, 0.5)
            }
        }
    }

    fn clip(&mut self, x: &str) -> String {
        let (low, high) = (self.floats(&[], &[0.0]), self.floats(&[], &[1.0]));
        self.op("Clip", &[x, &low, &high], &[])
    }

    /// The outputs of all heads of an NNUE, of which those of the mover and the phase are kept.
    fn nnue(&mut self, net: &Nnue) -> String {
        let parts = self.split("facts", &[net.facts(), net.movers]);
        let z = self.gemm(&parts[0], &net.transformer.weights, &net.transformer.bias, net.facts());
        let clipped = self.clip(&z);
        let y = self.op("Mul", &[&clipped, &clipped], &[]);
        let movers = self.split(&parts[1], &vec![1; net.movers]);
        // 1 where a phase has begun; the difference to the next one is 1 in that phase only.
        let mut begun = vec![self.affine(&movers[0], 0.0, 1.0)];
        if !net.phases.is_empty() {
            let counted: Vec<f32> = net.phases.counted.iter().map(|&c| c as u8 as f32).collect();
            let count = self.gemm(&parts[0], &counted, &[0.0], net.facts());
            for &start in &net.phases.starts {
                let start = self.floats(&[1], &[start as f32 - 0.5]);
                let reached = self.op("Greater", &[&count, &start], &[]);
                begun.push(self.op("Cast", &[&reached], &[("to", 1)]));
            }
        }
        begun.push(self.affine(&movers[0], 0.0, 0.0));
        let phases: Vec<String> = begun.windows(2).map(|w| self.op("Sub", &[&w[0], &w[1]], &[])).collect();
        let mut kept: Option<String> = None;
        for (h, head) in net.heads.iter().enumerate() {
            let mut x = y.clone();
            for (k, layer) in head.iter().enumerate() {
                x = self.gemm(&x, &layer.weights, &layer.bias, layer.inputs);
                if k < 2 {
                    x = self.clip(&x);
                }
            }
            let (mover, phase) = (&movers[h / phases.len()], &phases[h % phases.len()]);
            let chosen = self.op("Mul", &[mover, phase], &[]);
            let part = self.op("Mul", &[&x, &chosen], &[]);
            kept = Some(match kept {
                Some(sum) => self.op("Add", &[&sum, &part], &[]),
                None => part,
            });
        }
        kept.expect("a head")
    }

    /// The units of a cascade level by level, from the first layer's sums of all units (in this order) and outputs.
    fn cascade(&mut self, net: &crate::Cascade, order: &[usize], z: String) -> String {
        // Runs of one depth and activation, as ranges of places.
        let key = |p: usize| (net.units[order[p]].depth, net.units[order[p]].act);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for p in 0..order.len() {
            match runs.last_mut() {
                Some(run) if key(run.0) == key(p) => run.1 = p + 1,
                _ => runs.push((p, p + 1)),
            }
        }
        let sizes: Vec<usize> = runs.iter().map(|r| r.1 - r.0).chain([net.out.len()]).collect();
        let parts = self.split(&z, &sizes);
        let weight = |from: usize, weights: &[f32]| weights.get(1 + net.inputs + order[from]).copied().unwrap_or(0.0);
        let mut seen: Option<(String, usize)> = None; // activations of all levels below, and how many
        let mut level: Vec<String> = Vec::new();
        for (k, &(start, end)) in runs.iter().enumerate() {
            let mut z = parts[k].clone();
            if let Some((y, n)) = &seen {
                let w: Vec<f32> = (0..*n)
                    .flat_map(|from| (start..end).map(move |p| (from, p)))
                    .map(|(from, p)| weight(from, &net.units[order[p]].weights))
                    .collect();
                let w = self.floats(&[*n, end - start], &w);
                let sum = self.op("MatMul", &[y, &w], &[]);
                z = self.op("Add", &[&z, &sum], &[]);
            }
            level.push(self.act(key(start).1, z));
            if runs.get(k + 1).is_none_or(|next| key(next.0).0 != key(start).0) {
                let all: Vec<String> = seen.take().map(|(y, _)| y).into_iter().chain(level.drain(..)).collect();
                let names: Vec<&str> = all.iter().map(String::as_str).collect();
                seen = Some((self.concat(&names), end));
            }
        }
        let z = parts[runs.len()].clone();
        let Some((y, n)) = seen else { return z };
        let w: Vec<f32> = (0..n).flat_map(|from| net.out.iter().map(move |w| weight(from, w))).collect();
        let w = self.floats(&[n, net.out.len()], &w);
        let sum = self.op("MatMul", &[&y, &w], &[]);
        self.op("Add", &[&z, &sum], &[])
    }
}
