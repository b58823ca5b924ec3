//! Where values lie. Values have to be finite.

use statrs::statistics::{Data, OrderStatistics};

/// The middle value, or the mean of the two in the middle. `None`: no value.
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values.to_vec()).median())
}

/// First and third quartile: estimates that are median-unbiased whatever the distribution (R's type 8). `None`: no value.
pub fn quartiles(values: &[f64]) -> Option<(f64, f64)> {
    let mut data = Data::new(values.to_vec());
    (!values.is_empty()).then(|| (data.lower_quartile(), data.upper_quartile()))
}

/// Smallest and largest. `None`: no value.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), value| (low.min(*value), high.max(*value))))
}

/// The mean of ratios. `None`: no value, or one that is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    positive.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_described() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(range(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
        // numpy 2.x: quantile([1, …, 10], [0.25, 0.75], method="median_unbiased").
        let (low, high) = quartiles(&[7.0, 1.0, 2.0, 3.0, 4.0, 10.0, 5.0, 6.0, 8.0, 9.0]).unwrap();
        assert!((low - 2.916_666_666_666_667).abs() < 1e-12, "{low}");
        assert!((high - 8.083_333_333_333_332).abs() < 1e-12, "{high}");
        assert_eq!(geometric_mean(&[0.5, 2.0, 8.0]).map(|mean| (mean * 1e9).round()), Some(2e9));
    }

    #[test]
    fn nothing_is_said_about_nothing() {
        assert_eq!((median(&[]), quartiles(&[]), range(&[]), geometric_mean(&[])), (None, None, None, None));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(quartiles(&[7.0]), Some((7.0, 7.0)));
    }
}
