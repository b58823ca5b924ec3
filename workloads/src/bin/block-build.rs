//! Builds the state of a chain block by block, drops it, and reads the resident set before, between and after.
//!
//! Modelled on the write-up in which CKB, a blockchain node, ran its block processing under mimalloc and jemalloc, with
//! one figure after the workload and one after dropping it: 173 MB and 174 MB under the one, 126 MB and 115 MB under the
//! other. Its way to read the resident set ended in a panic on a system without /proc; here that is a message.

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::{Checksum, Size, figure, figure_f64, memory_figure};
use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::BuildHasherDefault,
    time::Instant,
};

/// Builds blocks of transactions over a set of live cells, drops all, and says what memory each step took
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    size: Size,
}

type Hash = [u8; 32];

struct Block {
    transactions: Vec<Transaction>,
    /// Proposals of the next block: a plain list of short identifiers.
    proposals: Vec<[u8; 10]>,
}

struct Transaction {
    hash: Hash,
    inputs: Vec<Hash>,
    outputs: Vec<Script>,
    witnesses: Vec<Box<[u8]>>,
}

struct Script {
    code: Hash,
    arguments: Vec<u8>,
}

/// A cell that can be spent, with its data on the heap.
struct Cell {
    capacity: u64,
    data: Box<[u8]>,
}

/// The hasher has fixed keys, so that every run grows and probes alike.
#[derive(Default)]
struct Chain {
    blocks: Vec<Block>,
    cells: HashMap<Hash, Cell, BuildHasherDefault<DefaultHasher>>,
    /// The keys of `cells`, in no order, to spend one at random.
    spendable: Vec<Hash>,
    bytes: u64,
}

impl Chain {
    fn append(&mut self, rng: &mut Rng) {
        let transactions = (0..rng.usize(40..80)).map(|_| self.transaction(rng)).collect();
        let proposals = (0..rng.usize(10..50)).map(|_| random(rng)).collect();
        self.blocks.push(Block { transactions, proposals });
    }

    fn transaction(&mut self, rng: &mut Rng) -> Transaction {
        // Grown one by one, without a capacity given beforehand: the vectors of real block processing are, too.
        let mut inputs = Vec::new();
        let mut witnesses = Vec::new();
        for _ in 0..rng.usize(0..3).min(self.spendable.len()) {
            let spent = self.spendable.swap_remove(rng.usize(..self.spendable.len()));
            if let Some(cell) = self.cells.remove(&spent) {
                self.bytes -= cell.data.len() as u64;
            }
            inputs.push(spent);
            witnesses.push(filled(rng, 85));
        }
        let mut outputs = Vec::new();
        for _ in 0..rng.usize(1..4) {
            let key = random(rng);
            let length = if rng.u32(..20) == 0 { rng.usize(512..8192) } else { rng.usize(16..256) };
            self.bytes += length as u64;
            self.cells.insert(key, Cell { capacity: rng.u64(..), data: filled(rng, length) });
            self.spendable.push(key);
            outputs.push(Script { code: key, arguments: vec![rng.u8(..); 20] });
        }
        self.bytes += (inputs.len() * 85 + outputs.len() * 20) as u64;
        Transaction { hash: random(rng), inputs, outputs, witnesses }
    }

    fn checksum(&self) -> Checksum {
        let mut checksum = Checksum::default();
        for block in &self.blocks {
            checksum.number(block.proposals.len() as u64);
            for transaction in &block.transactions {
                checksum.bytes(&transaction.hash);
                for input in &transaction.inputs {
                    checksum.bytes(&input[..8]);
                }
                for output in &transaction.outputs {
                    checksum.bytes(&output.code[..8]);
                    checksum.bytes(&output.arguments);
                }
                for witness in &transaction.witnesses {
                    checksum.bytes(&witness[..8]);
                }
            }
        }
        for key in &self.spendable {
            let Some(cell) = self.cells.get(key) else {
                checksum.bytes(b"lost");
                continue;
            };
            checksum.number(cell.capacity);
            checksum.bytes(&cell.data[..8]);
            checksum.bytes(&cell.data[cell.data.len() - 8..]);
        }
        checksum
    }
}

fn random<const LENGTH: usize>(rng: &mut Rng) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    rng.fill(&mut bytes);
    bytes
}

/// A block of `length` bytes, at least 16, that are marked at both ends.
fn filled(rng: &mut Rng, length: usize) -> Box<[u8]> {
    let mut data = vec![0x5a; length].into_boxed_slice();
    let mark = rng.u64(..).to_le_bytes();
    data[..8].copy_from_slice(&mark);
    data[length - 8..].copy_from_slice(&mark);
    data
}

fn main() {
    let options = Options::parse();
    let blocks = options.size.scaled(1500);
    let mut rng = Rng::with_seed(options.size.seed);

    memory_figure("rss_start", None);
    let start = Instant::now();
    let mut chain = Chain::default();
    for _ in 0..blocks {
        chain.append(&mut rng);
    }
    figure_f64("build", start.elapsed().as_secs_f64() * 1e3, "ms");
    let built = memory_figure("rss_built", None);
    figure("payload", chain.bytes, "bytes");
    figure("live_cells", chain.cells.len(), "count");
    let checksum = chain.checksum();

    let start = Instant::now();
    drop(chain);
    figure_f64("drop", start.elapsed().as_secs_f64() * 1e3, "ms");
    if let (Some(built), Some(dropped)) = (built, memory_figure("rss_dropped", None)) {
        // The kernel notes the peak when memory is given back, from counters that are a few pages behind.
        let peak = dropped.peak.max(built.resident).max(dropped.resident);
        figure("rss_peak", peak, "bytes");
    }
    checksum.print();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spendable_cell_is_there_and_no_other() {
        let mut rng = Rng::with_seed(5);
        let mut chain = Chain::default();
        for _ in 0..20 {
            chain.append(&mut rng);
        }
        assert_eq!(chain.cells.len(), chain.spendable.len());
        assert!(chain.spendable.iter().all(|key| chain.cells.contains_key(key)));
        let before = chain.checksum().value();
        chain.cells.remove(&chain.spendable[0]);
        assert_ne!(chain.checksum().value(), before);
    }
}
