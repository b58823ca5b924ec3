//! A Bitcoin node as far as the workloads need one: transactions, and the JSON trees that it answers RPC calls with.

pub mod json;
pub mod rpc;

use fastrand::Rng;

/// A transaction as the node holds it before anyone asks for JSON.
pub struct Transaction {
    /// Its identifier.
    pub id: [u8; 32],
    /// What it spends.
    pub inputs: Vec<Coin>,
    /// What it makes.
    pub outputs: Vec<Coin>,
}

/// An amount, and who may spend it.
pub struct Coin {
    /// In the smallest unit.
    pub amount: u64,
    /// The condition.
    pub script: Vec<u8>,
}

impl Coin {
    fn random(rng: &mut Rng, longest: usize) -> Self {
        let mut script = vec![0; rng.usize(22..longest)];
        rng.fill(&mut script);
        Coin { amount: rng.u64(546..5_000_000_000), script }
    }
}

/// Transactions of a block, one at least.
pub fn block(rng: &mut Rng, transactions: usize) -> Vec<Transaction> {
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
