//! A key-value store in one process: loaded, then churned in five rounds, with its memory read after each phase.
//!
//! Modelled on the write-up that ran Redis 7.4.0 with its bundled jemalloc and with libc's malloc over one plan of
//! 800,000 operations with 200,000 live keys, and against a control without churn. The expected saving in memory did not
//! show. At scale 1 this is the same plan: 200,000 keys set, then five rounds of 40,000 overwritten, 40,000 deleted and
//! 40,000 added.

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::{Checksum, Size, figure, figure_f64, memory_figure};
use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::BuildHasherDefault,
    time::Instant,
};

/// Loads 200,000 keys, then overwrites, deletes and adds some in five rounds, and says what memory each phase took
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    size: Size,

    /// Rounds of churn
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// The control: load the keys, and leave them as they are
    #[arg(long)]
    no_churn: bool,
}

/// Keys and values are boxed slices, so that each is one block of exactly its size; the hasher has fixed keys, so that
/// every run grows and probes alike.
struct Store {
    entries: HashMap<Box<[u8]>, Box<[u8]>, BuildHasherDefault<DefaultHasher>>,
    /// The numbers of the live keys, in no order, to pick one at random.
    live: Vec<u64>,
    next: u64,
    bytes: u64,
    operations: u64,
}

impl Store {
    /// Twice the room for `keys`: the table is then cleaned in place when deletions have worn it, and its growing does not
    /// show up as memory of the values.
    fn new(keys: usize) -> Self {
        let entries = HashMap::with_capacity_and_hasher(2 * keys, BuildHasherDefault::default());
        Store { entries, live: Vec::with_capacity(keys), next: 0, bytes: 0, operations: 0 }
    }

    fn key(number: u64) -> Box<[u8]> {
        format!("key:{number:012}").into_bytes().into_boxed_slice()
    }

    fn set(&mut self, number: u64, value: Box<[u8]>) {
        let key = Self::key(number);
        self.operations += 1;
        self.bytes += (key.len() + value.len()) as u64;
        let key_length = key.len();
        if let Some(old) = self.entries.insert(key, value) {
            self.bytes -= (key_length + old.len()) as u64;
        }
    }

    fn add(&mut self, rng: &mut Rng) {
        let number = self.next;
        self.next += 1;
        self.live.push(number);
        self.set(number, value(rng));
    }

    fn overwrite(&mut self, rng: &mut Rng) {
        let number = self.live[rng.usize(..self.live.len())];
        self.set(number, value(rng));
    }

    fn delete(&mut self, rng: &mut Rng) {
        let number = self.live.swap_remove(rng.usize(..self.live.len()));
        self.operations += 1;
        if let Some((key, value)) = self.entries.remove_entry(&Self::key(number)) {
            self.bytes -= (key.len() + value.len()) as u64;
        }
    }

    /// Reads everything back. Sorted by key, so that it does not hang on the order of a hash table.
    fn checksum(&self) -> Checksum {
        let mut numbers = self.live.clone();
        numbers.sort_unstable();
        let mut checksum = Checksum::default();
        checksum.number(self.bytes);
        for number in numbers {
            let key = Self::key(number);
            checksum.bytes(&key);
            // A key that got lost changes the sum like a value that did.
            checksum.bytes(self.entries.get(&key).map_or(b"lost", |value| value));
        }
        checksum
    }
}

/// Mostly small, some of a few kilobytes: about 450 bytes on average, as in the write-up.
fn value(rng: &mut Rng) -> Box<[u8]> {
    let length = match rng.u32(..100) {
        0..60 => rng.usize(16..256),
        60..95 => rng.usize(256..1024),
        _ => rng.usize(1024..4096),
    };
    let mut value = vec![0; length].into_boxed_slice();
    // Its ends are what a lost or shared block would spoil; filling all of it would time the generator.
    let mark = rng.u64(..).to_le_bytes();
    value[..8].copy_from_slice(&mark);
    value[length - 8..].copy_from_slice(&mark);
    value
}

fn main() {
    let options = Options::parse();
    let keys = options.size.scaled(200_000);
    let share = keys / 5;
    let mut rng = Rng::with_seed(options.size.seed);
    let mut store = Store::new(keys);

    let start = Instant::now();
    for _ in 0..keys {
        store.add(&mut rng);
    }
    let loaded = start.elapsed();
    memory_figure("rss_loaded", Some(store.bytes));

    let start = Instant::now();
    if !options.no_churn {
        for round in 1..=options.rounds {
            for _ in 0..share {
                store.overwrite(&mut rng);
            }
            for _ in 0..share {
                store.delete(&mut rng);
            }
            for _ in 0..share {
                store.add(&mut rng);
            }
            memory_figure(&format!("rss_round_{round}"), Some(store.bytes));
        }
    }
    let churned = start.elapsed();
    memory_figure("rss_settled", Some(store.bytes));

    figure("live_keys", store.entries.len(), "count");
    figure("live_bytes", store.bytes, "bytes");
    figure("operations", store.operations, "count");
    figure_f64("load", loaded.as_nanos() as f64 / keys as f64, "ns/op");
    if !options.no_churn {
        let operations = (share * 3) as f64 * f64::from(options.rounds);
        figure_f64("churn", churned.as_nanos() as f64 / operations.max(1.0), "ns/op");
    }
    let checksum = store.checksum();
    drop(store);
    memory_figure("rss_dropped", None);
    checksum.print();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_bytes_it_holds_through_every_operation() {
        let mut rng = Rng::with_seed(7);
        let mut store = Store::new(500);
        for _ in 0..500 {
            store.add(&mut rng);
        }
        for _ in 0..300 {
            store.overwrite(&mut rng);
            store.delete(&mut rng);
        }
        let held: usize = store.entries.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert_eq!(store.bytes, held as u64);
        assert_eq!(store.entries.len(), 200);
        assert_eq!(store.live.len(), 200);
    }

    #[test]
    fn a_lost_value_changes_the_checksum() {
        let mut rng = Rng::with_seed(7);
        let mut store = Store::new(10);
        for _ in 0..10 {
            store.add(&mut rng);
        }
        let before = store.checksum().value();
        store.entries.remove(&Store::key(3));
        assert_ne!(store.checksum().value(), before);
    }
}
