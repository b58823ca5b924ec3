//! Builds and drops the JSON trees that a Bitcoin node answers RPC calls with.
//!
//! Modelled on the write-up in which a Bitcoin node was benchmarked with and without jemalloc, because calls such as
//! getblocktemplate build large JSON trees: thousands of small allocations a call. Its benchmarks BlockToJsonVerbosity1,
//! 2 and 3, BlockToJsonVerboseWrite, RpcMempool and AssembleBlock have a figure each here, in nanoseconds per call.
//!
//! The tree is the node's, not a thrifty one: each value has its own text, each object a list of keys beside its list of
//! values, and numbers are kept as text.

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::{Checksum, Size, figure, figure_f64, memory_figure};
use std::{hint::black_box, time::Instant};

/// Builds and drops block-sized JSON trees, as a Bitcoin node's RPC calls do
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    size: Size,

    /// Transactions in a block
    #[arg(long, default_value_t = 400, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    transactions: u32,
}

#[derive(Default)]
struct Value {
    kind: Kind,
    text: String,
    keys: Vec<String>,
    values: Vec<Value>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Kind {
    #[default]
    Object,
    Array,
    Text,
    Number,
}

impl Value {
    fn array() -> Self {
        Value { kind: Kind::Array, ..Value::default() }
    }

    fn text(text: &str) -> Self {
        Value { kind: Kind::Text, text: text.into(), ..Value::default() }
    }

    fn number(number: u64) -> Self {
        Value { kind: Kind::Number, text: number.to_string(), ..Value::default() }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.keys.push(key.into());
        self.values.push(value);
        self
    }

    fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// How many values the tree has, itself included, and how many bytes of text.
    fn measure(&self) -> (u64, u64) {
        let own = (1, self.text.len() as u64 + self.keys.iter().map(|key| key.len() as u64).sum::<u64>());
        self.values.iter().map(Value::measure).fold(own, |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    fn write(&self, out: &mut String) {
        match self.kind {
            Kind::Number => out.push_str(&self.text),
            Kind::Text => {
                out.push('"');
                out.push_str(&self.text);
                out.push('"');
            }
            Kind::Array | Kind::Object => {
                let (open, close) = if self.kind == Kind::Array { ('[', ']') } else { ('{', '}') };
                out.push(open);
                for (index, value) in self.values.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    if let Some(key) = self.keys.get(index) {
                        out.push('"');
                        out.push_str(key);
                        out.push_str("\":");
                    }
                    value.write(out);
                }
                out.push(close);
            }
        }
    }
}

/// A transaction as the node holds it before anyone asks for JSON.
struct Transaction {
    id: [u8; 32],
    inputs: Vec<Coin>,
    outputs: Vec<Coin>,
}

struct Coin {
    amount: u64,
    script: Vec<u8>,
}

impl Coin {
    fn random(rng: &mut Rng, longest: usize) -> Self {
        let mut script = vec![0; rng.usize(22..longest)];
        rng.fill(&mut script);
        Coin { amount: rng.u64(546..5_000_000_000), script }
    }
}

fn block(rng: &mut Rng, transactions: usize) -> Vec<Transaction> {
    (0..transactions)
        .map(|_| {
            let mut id = [0; 32];
            rng.fill(&mut id);
            Transaction {
                id,
                inputs: (0..rng.usize(1..4)).map(|_| Coin::random(rng, 110)).collect(),
                outputs: (0..rng.usize(1..4)).map(|_| Coin::random(rng, 36)).collect(),
            }
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

fn script(name: &str, bytes: &[u8]) -> Value {
    Value::default()
        .with("asm", Value::text(&format!("{name} {}", hex(bytes))))
        .with("hex", Value::text(&hex(bytes)))
        .with("type", Value::text(if bytes.len() < 26 { "witness_v0_keyhash" } else { "pubkeyhash" }))
}

/// `getblock` with verbosity 1: the identifiers only.
fn identifiers(block: &[Transaction]) -> Value {
    let mut list = Value::array();
    for transaction in block {
        list.push(Value::text(&hex(&transaction.id)));
    }
    header(block).with("tx", list)
}

/// `getblock` with verbosity 2, or 3 with the outputs that were spent.
fn whole(block: &[Transaction], spent: bool) -> Value {
    let mut list = Value::array();
    for transaction in block {
        let mut inputs = Value::array();
        for (index, input) in transaction.inputs.iter().enumerate() {
            let mut value = Value::default()
                .with("txid", Value::text(&hex(&transaction.id)))
                .with("vout", Value::number(index as u64))
                .with("scriptSig", script("sig", &input.script))
                .with("sequence", Value::number(4_294_967_293));
            if spent {
                let output = Value::default()
                    .with("generated", Value::text("false"))
                    .with("value", Value::number(input.amount))
                    .with("scriptPubKey", script("OP_0", &input.script[..22]));
                value = value.with("prevout", output);
            }
            inputs.push(value);
        }
        let mut outputs = Value::array();
        for (index, output) in transaction.outputs.iter().enumerate() {
            outputs.push(
                Value::default()
                    .with("value", Value::number(output.amount))
                    .with("n", Value::number(index as u64))
                    .with("scriptPubKey", script("OP_0", &output.script)),
            );
        }
        list.push(
            Value::default()
                .with("txid", Value::text(&hex(&transaction.id)))
                .with("version", Value::number(2))
                .with("vin", inputs)
                .with("vout", outputs),
        );
    }
    header(block).with("tx", list)
}

fn header(block: &[Transaction]) -> Value {
    Value::default()
        .with("hash", Value::text(&hex(&block[0].id)))
        .with("confirmations", Value::number(1))
        .with("nTx", Value::number(block.len() as u64))
}

/// `getrawmempool true`: an object keyed by transaction, with objects inside.
fn mempool(block: &[Transaction]) -> Value {
    let mut pool = Value::default();
    for transaction in block {
        let fees = Value::default()
            .with("base", Value::number(transaction.outputs[0].amount))
            .with("modified", Value::number(transaction.outputs[0].amount))
            .with("ancestor", Value::number(transaction.inputs[0].amount));
        let mut depends = Value::array();
        for input in &transaction.inputs {
            depends.push(Value::text(&hex(&input.script[..16])));
        }
        let entry = Value::default()
            .with("vsize", Value::number(transaction.inputs.len() as u64 * 68))
            .with("time", Value::number(1_783_000_000))
            .with("fees", fees)
            .with("depends", depends);
        pool = pool.with(&hex(&transaction.id), entry);
    }
    pool
}

/// `getblocktemplate`: each transaction as raw data.
fn template(block: &[Transaction]) -> Value {
    let mut list = Value::array();
    for transaction in block {
        let data: Vec<u8> = transaction.inputs.iter().flat_map(|input| input.script.iter().copied()).collect();
        list.push(
            Value::default()
                .with("data", Value::text(&hex(&data)))
                .with("txid", Value::text(&hex(&transaction.id)))
                .with("fee", Value::number(transaction.outputs[0].amount)),
        );
    }
    Value::default().with("capabilities", Value::array()).with("transactions", list)
}

/// Runs `call` `times` times, prints its time per call, and folds the tree it built into the checksum.
fn bench(name: &str, times: usize, checksum: &mut Checksum, call: impl Fn() -> Value) {
    let (values, bytes) = call().measure();
    checksum.number(values);
    checksum.number(bytes);
    let start = Instant::now();
    for _ in 0..times {
        drop(black_box(call()));
    }
    figure_f64(name, start.elapsed().as_nanos() as f64 / times as f64, "ns/op");
}

fn main() {
    let options = Options::parse();
    let size = options.size;
    let block = block(&mut Rng::with_seed(size.seed), options.transactions as usize);

    let mut checksum = Checksum::default();
    bench("block_verbosity_1", size.scaled(200), &mut checksum, || identifiers(&block));
    bench("block_verbosity_2", size.scaled(40), &mut checksum, || whole(&block, false));
    bench("block_verbosity_3", size.scaled(25), &mut checksum, || whole(&block, true));
    bench("mempool", size.scaled(50), &mut checksum, || mempool(&block));
    bench("block_template", size.scaled(50), &mut checksum, || template(&block));

    // The one in which jemalloc lost in the write-up: the tree stays, one large string grows and goes.
    let tree = whole(&block, true);
    let mut text = String::new();
    tree.write(&mut text);
    checksum.bytes(text.as_bytes());
    let times = size.scaled(40);
    let start = Instant::now();
    for _ in 0..times {
        let mut text = String::new();
        tree.write(&mut text);
        black_box(&text);
    }
    figure_f64("block_write", start.elapsed().as_nanos() as f64 / times as f64, "ns/op");

    figure("values_per_block", tree.measure().0, "count");
    memory_figure("rss", None);
    checksum.print();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_json() {
        let mut list = Value::array();
        list.push(Value::number(7));
        list.push(Value::text(&hex(&[0x0f, 0xa0])));
        let tree = Value::default().with("tx", list).with("none", Value::array());
        let mut text = String::new();
        tree.write(&mut text);
        assert_eq!(text, r#"{"tx":[7,"0fa0"],"none":[]}"#);
        assert_eq!(tree.measure(), (5, 1 + 4 + 2 + 4));
    }

    #[test]
    fn a_call_is_thousands_of_allocations() {
        let block = block(&mut Rng::with_seed(1), 400);
        // Each value has at least one block of its own, of text or of children.
        assert!(whole(&block, true).measure().0 > 10_000);
    }
}
