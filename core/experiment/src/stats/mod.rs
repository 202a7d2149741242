//! The statistics, each a plain function on numbers.
//!
//! Quantiles of the normal, t and chi-square distributions come from `statrs`. What is here is short enough
//! to be read and checked, since a verdict that cannot be audited is an opinion: where values lie
//! ([`median`], [`hodges_lehmann`]), how sure their mean is ([`t_interval`], [`Bootstrap`]), how likely
//! chance made it ([`sign_flip_p`], [`holm`]), and whether values in a row hang together
//! ([`theil_sen`], [`lag1`]).
//!
//! Randomness comes from a seed. Not one of these functions panics on an empty slice or on numbers that are
//! none: they give NaN or `None`, and a NaN is never proof of anything.

mod chance;
mod interval;
mod location;
mod series;

pub use chance::{EXACT_PAIRS, holm, sign_flip_p};
pub(crate) use interval::t_quantile;
pub use interval::{Bootstrap, Bounds, RESAMPLES, t_interval};
pub use location::{hodges_lehmann, mad_spread, mean, median, spread};
pub use series::{lag1, theil_sen};
