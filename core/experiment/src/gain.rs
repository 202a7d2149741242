//! The short table that reports of placements print: throughput and its gain, 95th percentile and its fall.
//! Two numbers and their ratio; whether the ratio means anything is the [verdict](crate::verdict)'s word.

/// One scenario's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    pub scenario: String,
    /// Where it was measured, if that is known.
    pub host: Option<String>,
    pub threads: Option<u32>,
    pub tps: f64,
    /// In milliseconds.
    pub latency_p95: Option<f64>,
}

/// A row, with what changed against the first one; `None` in the first row itself.
#[derive(Clone, Debug, PartialEq)]
pub struct GainRow {
    pub figures: Figures,
    /// In per cent, above zero where throughput rose.
    pub tps_gain: Option<f64>,
    /// In per cent, above zero where latency fell.
    pub latency_fall: Option<f64>,
}

/// The first scenario is the one that others are held against.
pub fn gain_rows(all: Vec<Figures>) -> Vec<GainRow> {
    let first = all.first().cloned();
    let row = |(index, figures): (usize, Figures)| {
        let against = first.as_ref().filter(|_| index > 0);
        let tps_gain = against.and_then(|first| change(first.tps, figures.tps));
        let latency_fall = against
            .and_then(|first| change(first.latency_p95?, figures.latency_p95?))
            .map(|change| 0.0 - change);
        GainRow { figures, tps_gain, latency_fall }
    };
    all.into_iter().enumerate().map(row).collect()
}

/// From one to the other, in per cent; `None` from nothing.
pub fn change(from: f64, to: f64) -> Option<f64> {
    (from > 0.0 && to.is_finite()).then(|| 100.0 * (to / from - 1.0))
}

/// The mean latency that a closed loop must have had, in milliseconds: its threads are always in a
/// transaction, so their number is throughput times latency (Little's law).
pub fn mean_latency_msec(threads: u32, tps: f64) -> Option<f64> {
    (tps > 0.0).then(|| f64::from(threads) / tps * 1e3)
}

/// A latency that such a closed loop cannot have had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impossible {
    pub threads: u32,
    pub tps: f64,
    /// What it must have been on average, in milliseconds.
    pub mean: f64,
    /// As it was told, in milliseconds.
    pub told: f64,
    /// What it is if the unit was a thousand times too large, where that is possible.
    pub thousandth: Option<f64>,
}

/// Whether a 95th percentile can be, in milliseconds. One transaction in twenty takes at least as long, so
/// the mean is at least a twentieth of it, whatever the others take.
pub fn possible_p95(threads: u32, tps: f64, told: f64) -> Result<(), Impossible> {
    const ONE_IN: f64 = 20.0;
    let Some(mean) = mean_latency_msec(threads, tps) else { return Ok(()) };
    let most = ONE_IN * mean;
    if told <= most {
        return Ok(());
    }
    let thousandth = Some(told / 1e3).filter(|latency| *latency <= most);
    Err(Impossible { threads, tps, mean, told, thousandth })
}
