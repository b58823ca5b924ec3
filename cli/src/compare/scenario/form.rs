//! What can be in a scenario. Keys are called as the options are.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::marker::PhantomData;
use toml::{Spanned, Value};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) needs: Vec<Spanned<Value>>,
    pub(super) folder: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) with: Vec<Spanned<String>>,
    pub(super) baseline: Option<Spanned<String>>,
    pub(super) command: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) commands: Vec<Spanned<Command>>,
    #[serde(default)]
    pub(super) parameters: Pairs,
    #[serde(default)]
    pub(super) metrics: Pairs,
    pub(super) rounds: Option<Spanned<u32>>,
    pub(super) warmup: Option<Spanned<u32>>,
    pub(super) precision: Option<Spanned<f64>>,
    pub(super) budget: Option<Spanned<Value>>,
    pub(super) timeout: Option<Spanned<Value>>,
    pub(super) sample: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) ignore_failure: bool,
    #[serde(default)]
    pub(super) no_requested: bool,
    #[serde(default)]
    pub(super) in_part: bool,
    pub(super) server: Option<Spanned<Server>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    pub(super) name: Spanned<String>,
    pub(super) run: Spanned<Value>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Server {
    pub(super) ready_port: Option<Spanned<Value>>,
    pub(super) ready_log: Option<Spanned<String>>,
    pub(super) ready_cmd: Option<Spanned<String>>,
    pub(super) ready_timeout: Option<Spanned<Value>>,
    pub(super) stop_timeout: Option<Spanned<Value>>,
    pub(super) settle: Option<Spanned<Value>>,
    pub(super) probe: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) phases: Vec<Phase>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    pub(super) name: Spanned<String>,
    pub(super) run: Spanned<String>,
}

/// A table whose keys are the user's, in the order of the file: it is that of the columns and lines of a report.
#[derive(Default)]
pub(super) struct Pairs(pub(super) Vec<(Spanned<String>, Spanned<Value>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        struct Any(PhantomData<Pairs>);
        impl<'de> Visitor<'de> for Any {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs: Vec<(Spanned<String>, Spanned<Value>)> = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                pairs.sort_by_key(|(key, _)| key.span().start);
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Any(PhantomData))
    }
}
