//! Documents against model values: what is written, what comes back, what is refused.

mod every_host_finding;
mod every_variant;
mod host;
mod plan;
mod refused;
mod stored;
