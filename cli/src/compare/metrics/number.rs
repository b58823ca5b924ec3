//! Numbers as programs print them: `636,476.43`, `1_000`, `1.5e-3`, `12%`, `111.54M`, `1.2 GiB`, `3.5 ms`.

use crate::compare::results::Unit;

/// A number with its unit. Of bytes and times, the value is in bytes and seconds.
///
/// `K`, `M`, `G`, `T` alone are powers of 1024 where the figure's name is one of memory, as Redis means them, and powers
/// of 1000 otherwise, as fio does; `KiB` … are powers of 1024, `kB` … of 1000. `None`: it is no number.
pub(super) fn parse(text: &str, name: &str) -> Option<(f64, Unit)> {
    let text = text.trim();
    let (number, suffix) = text.split_at(length(text));
    let value = value(number)?;
    let (factor, unit) = factor(suffix.trim(), name)?;
    let value = value * factor;
    value.is_finite().then_some((value, unit))
}

/// The unit of a number that has none beside it.
pub(super) fn unit_of(name: &str) -> Unit {
    if is_memory(name) { Unit::Bytes } else { Unit::Plain }
}

/// How many bytes of a text are a number.
fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    let mut exponent = false;
    while let Some(byte) = bytes.get(at) {
        let belongs = match byte {
            b'0'..=b'9' | b'.' => true,
            b',' | b'_' => digit_at(at.wrapping_sub(1)) && digit_at(at + 1),
            b'+' | b'-' => at == 0 || matches!(bytes.get(at - 1), Some(b'e' | b'E')),
            b'e' | b'E' if !exponent && at > 0 => {
                let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
                exponent = digit_at(at + 1 + sign);
                exponent
            }
            _ => false,
        };
        if !belongs {
            break;
        }
        at += 1;
    }
    at
}

/// Commas part thousands: "12,5" is not 125.
fn value(number: &str) -> Option<f64> {
    let whole = number.split(['.', 'e', 'E']).next().unwrap_or_default();
    let mut groups = whole.trim_start_matches(['+', '-']).split(',');
    let first = groups.next().unwrap_or_default();
    let mut parted = false;
    for group in groups {
        parted = true;
        if group.len() != 3 {
            return None;
        }
    }
    if (parted && !(1..=3).contains(&first.len())) || number.get(whole.len()..)?.contains(',') {
        return None;
    }
    number.replace([',', '_'], "").parse::<f64>().ok()
}

/// What a suffix multiplies by; `None`: it is none.
fn factor(suffix: &str, name: &str) -> Option<(f64, Unit)> {
    let seconds = |factor| Some((factor, Unit::Seconds));
    match suffix {
        "" => return Some((1.0, unit_of(name))),
        "%" | "ratio" => return Some((1.0, Unit::Plain)),
        "count" => return Some((1.0, Unit::Count)),
        "ns" => return seconds(1e-9),
        "us" | "µs" | "μs" => return seconds(1e-6),
        "ms" => return seconds(1e-3),
        "s" | "sec" | "seconds" => return seconds(1.0),
        "b" | "B" | "byte" | "bytes" => return Some((1.0, Unit::Bytes)),
        _ => {}
    }
    if let Some((amount, per)) = suffix.split_once('/') {
        // A rate, such as MiB/s, ns/op, requests/s: a size is scaled, everything else stays as it is printed.
        let word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
        if !word(amount) || !word(per) {
            return None;
        }
        let is_size = amount.ends_with(['B', 'K', 'M', 'G', 'T', 'k']);
        let factor = is_size.then(|| factor(amount, "")).flatten().map_or(1.0, |(factor, _)| factor);
        return Some((factor, Unit::Plain));
    }
    let mut letters = suffix.chars();
    let power = match letters.next()? {
        'k' | 'K' => 1,
        'm' | 'M' => 2,
        'g' | 'G' => 3,
        't' | 'T' => 4,
        _ => return None,
    };
    let (base, unit) = match letters.as_str() {
        "" if suffix == "m" => return None, // Minutes? Thousandths?
        "" if is_memory(name) => (1024.0_f64, Unit::Bytes),
        "" => (1000.0, Unit::Plain),
        "i" | "ib" | "iB" => (1024.0, Unit::Bytes),
        "b" | "B" | "bytes" => (1000.0, Unit::Bytes),
        _ => return None,
    };
    Some((base.powi(power), unit))
}

/// Whether a figure of that name is an amount of memory: "used_memory_rss", "live bytes", not "mem_fragmentation_ratio".
fn is_memory(name: &str) -> bool {
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
    let is_any = |of: &[&str]| words().any(|word| of.contains(&word.as_str()));
    is_any(&["bytes", "rss", "memory", "mem"])
        && !is_any(&[
            "ratio",
            "per",
            "perc",
            "percent",
            "share",
            "count",
            "faults",
            "fragmentation",
            "kb",
            "mb",
            "gb",
            "kib",
            "mib",
            "gib",
            "kbytes",
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(text: &str, value: f64, unit: Unit) {
        let (found, found_unit) = parse(text, "x").unwrap_or_else(|| panic!("{text} is no number"));
        assert!((found - value).abs() <= value.abs() * 1e-12, "{text}: {found}");
        assert_eq!(found_unit, unit, "{text}");
    }

    #[test]
    fn numbers_are_read_as_programs_print_them() {
        is("636,476.43", 636_476.43, Unit::Plain);
        is("1,413,593,628.00", 1_413_593_628.0, Unit::Plain);
        is(" 1_000 ", 1000.0, Unit::Plain);
        is("1.5e-3", 0.0015, Unit::Plain);
        is("-2E+3", -2000.0, Unit::Plain);
        is("12%", 12.0, Unit::Plain);
        is("29.1k", 29_100.0, Unit::Plain);
        is("111.54M", 111_540_000.0, Unit::Plain);
        is("1.2 GiB", 1.2 * f64::from(1 << 30), Unit::Bytes);
        is("4Ki", 4096.0, Unit::Bytes);
        is("3 kB", 3000.0, Unit::Bytes);
        is("17 bytes", 17.0, Unit::Bytes);
        is("3.5 ms", 0.0035, Unit::Seconds);
        is("40 µs", 40e-6, Unit::Seconds);
        is("111MiB/s", 111.0 * f64::from(1 << 20), Unit::Plain);
        is("915.62 ns/op", 915.62, Unit::Plain);
        is("12 requests/s", 12.0, Unit::Plain);
        is("7 count", 7.0, Unit::Count);
    }

    #[test]
    fn sizes_of_memory_are_counted_as_redis_means_them() {
        assert_eq!(parse("111.50M", "used_memory_human"), Some((111.5 * f64::from(1 << 20), Unit::Bytes)));
        assert_eq!(parse("97720000", "used_memory_rss"), Some((97_720_000.0, Unit::Bytes)));
        for no_memory in ["mem_fragmentation_ratio", "used_memory_peak_perc", "iops", "rss_built_per_live", "rss_kb"] {
            assert_eq!(parse("1.5", no_memory), Some((1.5, Unit::Plain)), "{no_memory}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            " ",
            "x",
            "12,5",
            "1,2345",
            "1234,567",
            "1.2,345",
            ",5",
            "1.2.3",
            "-",
            "+",
            "e5",
            "1e",
            "NaN",
            "inf",
            "0x10",
            "5m",
            "5 apples",
            "5 /s",
            "5 a/",
            "1e999",
            "1 2",
            "--1",
            "1-1",
            "KiB",
            "0123456789012345 fnv1a",
        ] {
            assert_eq!(parse(text, "x"), None, "{text:?}");
        }
    }
}
