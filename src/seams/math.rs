//! The two functions of libm that jemalloc's heap profiler calls.
//!
//! For them alone the dynamic linker would map one library more into every process, which costs more than anything
//! else that it does for us. The profiler draws the distance to its next sample with `log` and scales what it has
//! sampled with `exp`: both are good to the last digits here, and neither is called unless profiling is on.

#[cfg(all(elf, not(test)))]
use super::seam;

use core::f64::consts::{LN_2, LOG2_E, SQRT_2};

#[cfg(all(elf, not(test)))]
seam! {
    log(x: f64) -> f64 {
        natural_logarithm(x)
    }
}

#[cfg(all(elf, not(test)))]
seam! {
    exp(x: f64) -> f64 {
        exponential(x)
    }
}

const FRACTION_BITS: u32 = 52;
const BIAS: i64 = 1023;

/// 2 to the power of a whole number for which that is a normal number.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + BIAS) as u64) << FRACTION_BITS)
}

/// x = m · 2^e with m near 1, and log m by the series of the area tangent in (m - 1) / (m + 1).
fn natural_logarithm(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    // A subnormal number is made normal first.
    let (x, scaled) = if x < f64::MIN_POSITIVE { (x * power_of_two(54), 54) } else { (x, 0) };
    let mut exponent = ((x.to_bits() >> FRACTION_BITS) as i64 & 0x7ff) - BIAS - scaled;
    let mut mantissa = f64::from_bits(x.to_bits() & ((1 << FRACTION_BITS) - 1) | (BIAS as u64) << FRACTION_BITS);
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    // |s| < 0.172: the first term left out is below 1e-18.
    let mut sum = 0.0;
    let mut divisor = 23.0;
    while divisor > 1.0 {
        sum = (sum + 1.0 / divisor) * square;
        divisor -= 2.0;
    }
    2.0 * s * (1.0 + sum) + exponent as f64 * LN_2
}

/// x = n · log 2 + r with r near 0, and exp r by its series.
fn exponential(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.0 {
        return if x < 709.782_712_893_384 { exponential(x - 1.0) * core::f64::consts::E } else { f64::INFINITY };
    }
    if x < -708.0 {
        return if x > -745.2 { exponential(x + 64.0 * LN_2) * power_of_two(-64) } else { 0.0 };
    }
    let nearest = (x * LOG2_E + if x < 0.0 { -0.5 } else { 0.5 }) as i64;
    // log 2 in two parts, the first short enough that the product is exact.
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    let rest = x - nearest as f64 * HIGH - nearest as f64 * LOW;
    let mut sum = 1.0;
    let mut divisor = 16.0;
    while divisor > 0.0 {
        sum = 1.0 + rest / divisor * sum;
        divisor -= 1.0;
    }
    sum * power_of_two(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    fn assert_close(ours: f64, libms: f64, x: f64) {
        let error = (ours - libms).abs() / libms.abs().max(f64::MIN_POSITIVE);
        assert!(ours == libms || error < 1e-14, "{x}: {ours} and not {libms}");
    }

    #[test]
    fn the_logarithm_is_libms() {
        for x in [5e-324_f64, 1e-310] {
            assert!((natural_logarithm(x) - x.ln()).abs() < 1e-12, "{x}");
        }
        let mut x = f64::MIN_POSITIVE;
        while x < 1e308 {
            // Near 1 the result is near 0: to the absolute error, as the sum with the exponent's part has it.
            let (ours, libms) = (natural_logarithm(x), x.ln());
            assert!((ours - libms).abs() <= libms.abs().max(1.0) * 1e-15, "{x}: {ours} and not {libms}");
            x *= 1.000_37_f64.powi(17);
        }
        assert_eq!(natural_logarithm(1.0), 0.0);
        assert_eq!(natural_logarithm(0.0), f64::NEG_INFINITY);
        assert_eq!(natural_logarithm(f64::INFINITY), f64::INFINITY);
        assert!(natural_logarithm(-1.0).is_nan() && natural_logarithm(f64::NAN).is_nan());
    }

    #[test]
    fn the_exponential_is_libms() {
        let mut x = -708.0;
        while x < 709.7 {
            assert_close(exponential(x), f64::exp(x), x);
            x += 0.001_37;
        }
        assert_eq!((exponential(0.0), exponential(710.0), exponential(-800.0)), (1.0, f64::INFINITY, 0.0));
        assert!(exponential(f64::NAN).is_nan());
        assert!((exponential(-740.0) - f64::exp(-740.0)).abs() < 1e-320);
    }
}
