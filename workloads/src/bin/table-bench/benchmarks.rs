//! The ten benchmarks: each is set up once, then called over and over; a call returns a number that depends on its work.

use fastrand::Rng;
use jeshim_workloads::node::{Transaction, json::Value, rpc};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::DefaultHasher},
    hash::BuildHasherDefault,
};

/// Work that was set up; what it returns is the same for the same seed.
type Work<'a> = Box<dyn FnMut() -> u64 + 'a>;
type Benchmark = for<'a> fn(&'a [Transaction], &mut Rng) -> Work<'a>;
/// Fixed keys, so that every run grows and probes alike.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;
type Id = [u8; 32];

/// In the order of the published table.
pub(crate) const ALL: [(&str, Benchmark); 10] = [
    ("AssembleBlock", assemble_block),
    ("BlockAssemblerAddPackageTxns", add_packages),
    ("BlockToJsonVerboseWrite", write_json),
    ("BlockToJsonVerbosity1", |block, _| Box::new(|| built(&rpc::identifiers(block)))),
    ("BlockToJsonVerbosity2", |block, _| Box::new(|| built(&rpc::whole(block, false)))),
    ("BlockToJsonVerbosity3", |block, _| Box::new(|| built(&rpc::whole(block, true)))),
    ("CCoinsCaching", coins_caching),
    ("MempoolCheck", |block, rng| check(pool(block, rng, 4))),
    ("MempoolCheckEphemeralSpends", |block, rng| check(pool(&block[..block.len().min(20)], rng, 12))),
    ("RpcMempool", |block, _| Box::new(|| built(&rpc::mempool(block)))),
];

fn built(tree: &Value) -> u64 {
    let (values, bytes) = tree.measure();
    values.wrapping_mul(31).wrapping_add(bytes)
}

/// A transaction that waits for a block.
struct Entry {
    fee: u64,
    size: u64,
    parents: Vec<usize>,
}

/// A pool in which each transaction spends outputs of up to `most` earlier ones.
fn pool(block: &[Transaction], rng: &mut Rng, most: usize) -> Vec<Entry> {
    let size = |transaction: &Transaction| transaction.inputs.iter().map(|input| input.script.len() as u64).sum();
    block
        .iter()
        .enumerate()
        .map(|(index, transaction)| Entry {
            fee: transaction.outputs[0].amount % 100_000,
            size: size(transaction),
            parents: (0..rng.usize(..=most).min(index)).map(|_| rng.usize(..index)).collect(),
        })
        .collect()
}

/// Copies transactions into a block, best first, and drops it: one list of scripts for each.
fn assemble_block<'a>(block: &'a [Transaction], rng: &mut Rng) -> Work<'a> {
    let pool = pool(block, rng, 2);
    Box::new(move || {
        let mut order: Vec<usize> = (0..pool.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(pool[*index].fee));
        let assembled: Vec<Vec<Vec<u8>>> = order
            .iter()
            .map(|index| block[*index].outputs.iter().map(|output| output.script.clone()).collect())
            .collect();
        assembled.iter().flatten().map(|script| script.len() as u64).sum()
    })
}

/// Chooses packages by their rate of fees: sets of ancestors are built, compared and thrown away, for every transaction.
fn add_packages<'a>(block: &'a [Transaction], rng: &mut Rng) -> Work<'a> {
    let pool = pool(block, rng, 4);
    Box::new(move || {
        let mut rates = BTreeMap::new();
        for index in 0..pool.len() {
            let ancestors = ancestors(&pool, index);
            let sum = |of: fn(&Entry) -> u64| ancestors.iter().map(|ancestor| of(&pool[*ancestor])).sum::<u64>();
            rates.insert((sum(|entry| entry.fee) * 1000 / sum(|entry| entry.size).max(1), index), ancestors);
        }
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        for ((rate, _), ancestors) in rates.into_iter().rev() {
            if rate == 0 || chosen.len() > pool.len() / 2 {
                break;
            }
            chosen.extend(ancestors);
        }
        chosen.into_iter().map(|index| index as u64).sum()
    })
}

/// A transaction and all that it depends on.
fn ancestors(pool: &[Entry], index: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![index];
    while let Some(index) = waiting.pop() {
        if found.insert(index) {
            waiting.extend(&pool[index].parents);
        }
    }
    found
}

/// The one in which jemalloc lost in the write-up: the tree stays, one large string grows and goes.
fn write_json<'a>(block: &'a [Transaction], _: &mut Rng) -> Work<'a> {
    let tree = rpc::whole(block, true);
    Box::new(move || {
        let mut text = String::new();
        tree.write(&mut text);
        text.len() as u64
    })
}

/// A few coins are put into a cache in front of another, looked up, spent, and the cache is flushed.
fn coins_caching<'a>(block: &'a [Transaction], _: &mut Rng) -> Work<'a> {
    let spent = &block[0];
    let base: Map<Id, Vec<u8>> = block.iter().map(|coin| (coin.id, coin.outputs[0].script.clone())).collect();
    Box::new(move || {
        let mut cache: Map<Id, Vec<u8>> = Map::default();
        let mut found = 0;
        for (index, input) in spent.inputs.iter().enumerate() {
            let mut id = spent.id;
            id[0] = index as u8;
            cache.insert(id, input.script.clone());
            if let Some(script) = base.get(&spent.id) {
                cache.entry(spent.id).or_insert_with(|| script.clone());
            }
            found += cache.get(&id).map_or(0, |script| script.len() as u64);
        }
        found + cache.into_values().map(|script| script.len() as u64).sum::<u64>()
    })
}

/// Goes through a pool as the node's own check does: sets of parents and children of every transaction, made anew.
fn check<'a>(pool: Vec<Entry>) -> Work<'a> {
    Box::new(move || {
        let mut children: Map<usize, BTreeSet<usize>> = Map::default();
        for (index, entry) in pool.iter().enumerate() {
            for parent in &entry.parents {
                children.entry(*parent).or_default().insert(index);
            }
        }
        let mut sum = 0;
        for (index, entry) in pool.iter().enumerate() {
            let parents: BTreeSet<usize> = entry.parents.iter().copied().collect();
            let known = parents.iter().all(|parent| children.get(parent).is_some_and(|set| set.contains(&index)));
            sum += ancestors(&pool, index).len() as u64 * u64::from(known);
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeshim_workloads::node;

    #[test]
    fn every_benchmark_does_the_same_each_time_and_something_else_for_another_seed() {
        let run = |seed| {
            let block = node::block(&mut Rng::with_seed(seed), 60);
            ALL.map(|(_, benchmark)| {
                let mut work = benchmark(&block, &mut Rng::with_seed(seed));
                let first = work();
                assert_eq!(first, work());
                first
            })
        };
        let (one, other) = (run(1), run(2));
        assert_eq!(one, run(1));
        let differ = one.iter().zip(&other).filter(|(one, other)| one != other).count();
        assert!(differ >= 9, "{one:?} {other:?}");
        assert!(one.iter().all(|value| *value > 0), "{one:?}");
    }

    #[test]
    fn ancestors_are_all_that_it_depends_on() {
        let entry = |parents: &[usize]| Entry { fee: 1, size: 1, parents: parents.to_vec() };
        let pool = [entry(&[]), entry(&[0]), entry(&[]), entry(&[1, 1])];
        assert_eq!(ancestors(&pool, 3), [0, 1, 3].into());
        assert_eq!(ancestors(&pool, 2), [2].into());
    }
}
