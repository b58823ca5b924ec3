//! The answers to RPC calls, as trees of JSON.

use super::Transaction;
use super::json::{Value, hex};

fn script(name: &str, bytes: &[u8]) -> Value {
    Value::default()
        .with("asm", Value::text(&format!("{name} {}", hex(bytes))))
        .with("hex", Value::text(&hex(bytes)))
        .with("type", Value::text(if bytes.len() < 26 { "witness_v0_keyhash" } else { "pubkeyhash" }))
}

/// `getblock` with verbosity 1: the identifiers only.
pub fn identifiers(block: &[Transaction]) -> Value {
    let mut list = Value::array();
    for transaction in block {
        list.push(Value::text(&hex(&transaction.id)));
    }
    header(block).with("tx", list)
}

/// `getblock` with verbosity 2, or 3 with the outputs that were spent.
pub fn whole(block: &[Transaction], spent: bool) -> Value {
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
pub fn mempool(block: &[Transaction]) -> Value {
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
pub fn template(block: &[Transaction]) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::block;
    use fastrand::Rng;

    #[test]
    fn a_call_is_thousands_of_allocations() {
        let block = block(&mut Rng::with_seed(1), 400);
        // Each value has at least one block of its own, of text or of children.
        assert!(whole(&block, true).measure().0 > 10_000);
    }
}
