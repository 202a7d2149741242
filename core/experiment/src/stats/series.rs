//! Whether values in a row hang together.

use super::location::{mean, median};

/// Theil and Sen's slope per step: the median of the slopes of all pairs. NaN of fewer than two values.
pub fn theil_sen(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * values.len().saturating_sub(1) / 2);
    for (at, one) in values.iter().enumerate() {
        let later = values[at + 1..].iter().enumerate();
        slopes.extend(later.map(|(steps, other)| (other - one) / (steps as f64 + 1.0)));
    }
    median(&slopes)
}

/// The correlation of each value with the one before it: 0 where they have nothing to do with each other,
/// NaN where there is no variation.
pub fn lag1(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    products / squares
}
