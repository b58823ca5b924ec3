//! Builds and drops the JSON trees that a Bitcoin node answers RPC calls with.
//!
//! Modelled on the write-up in which a Bitcoin node was benchmarked with and without jemalloc, because calls such as
//! getblocktemplate build large JSON trees: thousands of small allocations a call. Its benchmarks BlockToJsonVerbosity1,
//! 2 and 3, BlockToJsonVerboseWrite, RpcMempool and AssembleBlock have a figure each here, in nanoseconds per call.
//!
//! The trees are in the library's `node`.

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::node::json::Value;
use jeshim_workloads::node::{block, rpc};
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
    bench("block_verbosity_1", size.scaled(200), &mut checksum, || rpc::identifiers(&block));
    bench("block_verbosity_2", size.scaled(40), &mut checksum, || rpc::whole(&block, false));
    bench("block_verbosity_3", size.scaled(25), &mut checksum, || rpc::whole(&block, true));
    bench("mempool", size.scaled(50), &mut checksum, || rpc::mempool(&block));
    bench("block_template", size.scaled(50), &mut checksum, || rpc::template(&block));

    // The one in which jemalloc lost in the write-up: the tree stays, one large string grows and goes.
    let tree = rpc::whole(&block, true);
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
