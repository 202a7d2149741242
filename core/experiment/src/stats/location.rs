//! Where values lie, and how far apart.

/// The arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample; NaN of fewer than two values.
pub fn spread(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// The value in the middle, or the mean of the two there; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    median_of(&mut sorted)
}

fn median_of(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return f64::NAN;
    }
    let (below, middle, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let middle = *middle;
    if count % 2 == 1 {
        return middle;
    }
    let before = below.iter().copied().max_by(f64::total_cmp).unwrap_or(middle);
    f64::midpoint(before, middle)
}

/// Hodges and Lehmann's estimate: the median of the means of all pairs, each value paired with itself too. More
/// than a quarter of the values may be nonsense before it is.
pub fn hodges_lehmann(values: &[f64]) -> f64 {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, one) in values.iter().enumerate() {
        means.extend(values[index..].iter().map(|other| f64::midpoint(*one, *other)));
    }
    median_of(&mut means)
}

/// The standard deviation as the median distance from the median tells it, if the values are normal: what
/// lies far out does not count.
pub fn mad_spread(values: &[f64]) -> f64 {
    const OF_NORMAL: f64 = 1.4826;
    let centre = median(values);
    let mut distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    OF_NORMAL * median_of(&mut distances)
}
