//! jemalloc's options as text, `name:value,name:value`, checked against those that the library has before a program
//! starts: jemalloc itself says one line on the program's stderr and goes on without them.
//!
//! Stricter than jemalloc (conf.c, 5.3.1), which takes any beginning of some names and values (`dss:p`), cuts numbers
//! that are too large to its own limits without a word, and swallows blanks before numbers.

use crate::library::{Library, Opt};
use crate::terminal::printable;

/// Where the options are explained.
const MANUAL: &str = "'man 3 jemalloc' and https://jemalloc.net/jemalloc.3.html explain all of them";

/// What is wrong with an option string. Each is one line: cause; remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages are the documentation.
pub enum Mistake {
    #[error("'{name}' is not an option of jemalloc {version}; {nearest}{MANUAL}")]
    Unknown { name: String, version: String, nearest: String },
    #[error("{name} does not take '{value}'; {takes}")]
    Value { name: String, value: String, takes: String },
    #[error("'{pair}' has no value; write name:value, with a colon")]
    NoValue { pair: String },
    #[error("a comma without an option beside it; write name:value,name:value")]
    Comma,
    #[error("a blank in '{text}'; write name:value,name:value without blanks")]
    Blank { text: String },
    #[error("a typographic mark ({mark:?}) in '{text}'; type plain characters, without quotes inside")]
    Typographic { mark: char, text: String },
    #[error("a quote inside '{text}'; the shell's quotes go round the whole, not into it")]
    Quote { text: String },
}

/// Checks an option string; an empty one says nothing, and is right.
///
/// # Errors
/// The first mistake.
pub fn check(text: &str, library: &Library) -> Result<(), Mistake> {
    if text.is_empty() {
        return Ok(());
    }
    let shown = || printable(text);
    for pair in text.split(',') {
        if pair.is_empty() {
            return Err(Mistake::Comma);
        }
        let (name, value) = match pair.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (pair, None),
        };
        let is_text = library.options.iter().any(|option| option.name == name && option.takes == "TEXT");
        let looked_at = if is_text { name } else { pair };
        if let Some(mark) = looked_at.chars().find(|c| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace()) {
            return Err(Mistake::Typographic { mark, text: shown() });
        }
        if looked_at.chars().any(char::is_whitespace) {
            return Err(Mistake::Blank { text: shown() });
        }
        if looked_at.contains(['\'', '"', '`']) {
            return Err(Mistake::Quote { text: shown() });
        }
        let Some(value) = value else {
            return Err(Mistake::NoValue { pair: printable(pair) });
        };
        match library.options.iter().find(|option| option.name == name) {
            Some(option) if takes(option, value) => {}
            Some(option) => return Err(wrong_value(option, value)),
            None => return Err(unknown(name, library)),
        }
    }
    Ok(())
}

fn unknown(name: &str, library: &Library) -> Mistake {
    let names = library.options.iter().map(|option| option.name.as_str());
    // `opt.` is what mallctl calls them by.
    let nearest = nearest(name.trim_start_matches("opt."), names)
        .map(|nearest| format!("the nearest is '{nearest}'; "))
        .unwrap_or_default();
    Mistake::Unknown { name: printable(name), version: library.jemalloc_version.clone(), nearest }
}

fn wrong_value(option: &Opt, value: &str) -> Mistake {
    let takes = match option.takes.as_str() {
        "NUMBER" | "SIZE" if has_unit(value) => {
            "it takes a whole number without a unit: bytes are written out, 1 MiB as 1048576".to_owned()
        }
        "NUMBER" | "SIZE" => "it takes a whole number, 0 or more".to_owned(),
        "NUMBER|default" => "it takes a whole number, 1 or more, or default".to_owned(),
        "SIGNED" => "it takes a whole number without a unit; -1 switches it off".to_owned(),
        "RATIO" => "it takes a fraction, such as 0.5".to_owned(),
        "RATIO|-1" => "it takes a fraction, such as 0.5, or -1".to_owned(),
        "TEXT" => "it takes text that is not empty".to_owned(),
        alternatives => format!("it takes one of {}", alternatives.replace('|', ", ")),
    };
    Mistake::Value { name: option.name.clone(), value: printable(value), takes }
}

fn has_unit(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < value.len() && !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether an option takes a value. What a newer library says it takes, and this does not know, is left to jemalloc.
fn takes(option: &Opt, value: &str) -> bool {
    option.takes.split('|').any(|kind| match kind {
        "NUMBER" if option.takes == "NUMBER|default" => number(value).is_some_and(|number| number > 0),
        "NUMBER" | "SIZE" => number(value).is_some(),
        "SIGNED" => {
            let least = if option.name == "lg_tcache_nslots_mul" { 16 } else { 1 };
            match value.strip_prefix('-') {
                Some(digits) => number(digits).is_some_and(|number| number <= least),
                None => number(value).is_some_and(|number| i64::try_from(number).is_ok()),
            }
        }
        "RATIO" => ratio(value),
        "TEXT" => !value.is_empty(),
        word if word.bytes().any(|byte| byte.is_ascii_uppercase()) => true,
        word => word == value,
    })
}

/// As jemalloc's strtoumax with base 0: decimal, hexadecimal after `0x`, octal after `0`.
fn number(text: &str) -> Option<u64> {
    let (digits, base) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (text.get(2..)?, 16),
        [b'0', _, ..] => (text.get(1..)?, 8),
        _ => (text, 10),
    };
    // `from_str_radix` takes a sign, too.
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, base).ok() }
}

/// As jemalloc's fxp_parse: `1`, `1.5` or `.5`, below 65536.
fn ratio(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole_is_right = match whole {
        "" => text.starts_with('.'),
        whole => digits(whole) && whole.parse().is_ok_and(|number: u64| number < 1 << 16),
    };
    whole_is_right && !fraction.is_empty() && digits(fraction)
}

/// The name that was probably meant, when there is one.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(typed, name);
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) > 0.75).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{System, Target};
    use object::{Architecture, Endianness};

    fn library() -> Library {
        let options = "narenas NUMBER|default,dirty_decay_ms SIGNED,tcache true|false,prof_prefix TEXT,tcache_max NUMBER,\
            narenas_ratio RATIO,hpa_dirty_mult RATIO|-1,lg_tcache_nslots_mul SIGNED,bin_shards TEXT,zero_realloc alloc|free|abort";
        Library {
            path: "/libjeshim.so".into(),
            version: String::new(),
            jemalloc_version: "5.3.1".into(),
            page_size: 4096,
            options: options
                .split(',')
                .map(|option| option.trim().split_once(' ').unwrap())
                .map(|(name, takes)| Opt { name: name.into(), takes: takes.into() })
                .collect(),
            target: Target {
                system: System::Glibc(None),
                architecture: Architecture::X86_64,
                sub_architecture: None,
                bits: 64,
                endianness: Endianness::Little,
            },
        }
    }

    fn said(text: &str) -> String {
        check(text, &library()).unwrap_err().to_string()
    }

    #[test]
    fn what_jemalloc_takes_is_taken() {
        for text in [
            "",
            "narenas:3",
            "narenas:default,narenas:2",
            "dirty_decay_ms:-1,tcache:false",
            "tcache_max:0x1000,tcache_max:010",
            "narenas_ratio:.5,narenas_ratio:2,hpa_dirty_mult:-1",
            "lg_tcache_nslots_mul:-16",
            "bin_shards:1-160:16|129-512:4",
            "prof_prefix:/tmp/a b:\u{e4}\u{2019}'",
        ] {
            assert_eq!(check(text, &library()), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        assert!(
            said("dirty_decay:1")
                .contains("'dirty_decay' is not an option of jemalloc 5.3.1; the nearest is 'dirty_decay_ms'")
        );
        assert!(said("opt.narenas:1").contains("the nearest is 'narenas'"));
        assert!(said("qqqqqq:1").contains("5.3.1; 'man 3 jemalloc'"));
        assert!(said("Tcache:true").contains("the nearest is 'tcache'"));
    }

    #[test]
    fn a_wrong_value_is_answered_with_what_is_right() {
        assert!(said("tcache_max:1M").ends_with("bytes are written out, 1 MiB as 1048576"));
        assert!(said("tcache:yes").ends_with("tcache does not take 'yes'; it takes one of true, false"));
        assert!(said("zero_realloc:f").ends_with("one of alloc, free, abort"));
        assert!(said("narenas:0").ends_with("1 or more, or default"));
        for text in ["narenas:-5", "narenas:+5", "narenas:0x", "narenas:08", "dirty_decay_ms:-2", "dirty_decay_ms:10s"]
        {
            assert!(said(text).contains("does not take"), "{text}");
        }
        for text in
            ["narenas:", "narenas_ratio:1.", "narenas_ratio:.", "narenas_ratio:65536", "prof_prefix:", "tcache:"]
        {
            assert!(said(text).contains("does not take"), "{text}");
        }
        assert!(said("narenas:99999999999999999999").contains("does not take"));
    }

    #[test]
    fn slips_of_the_keyboard_are_named() {
        assert!(said("narenas:2, tcache:false").contains("a blank in 'narenas:2, tcache:false'"));
        assert!(said("narenas: 2").contains("a blank"));
        assert!(said("narenas:2\n").contains("a blank in 'narenas:2?'"));
        assert!(said("\u{201c}narenas:2\u{201d}").contains("a typographic mark ('\u{201c}')"));
        assert!(said("narenas:2\u{200b}").contains("a typographic mark ('\\u{200b}')"));
        assert!(said("\"narenas:2\"").contains("a quote inside"));
        assert!(said("narenas=2").contains("'narenas=2' has no value; write name:value"));
        for text in [",", "narenas:2,", ",narenas:2", "narenas:2,,tcache:true"] {
            assert!(said(text).contains("a comma without an option"), "{text}");
        }
    }
}
