//! xoroshiro128+, the generator that sysbench uses, and the texts of its rows.

use rand_xoshiro::Xoroshiro128Plus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Ten groups of eleven digits, joined by dashes: column `c`.
pub const C_LENGTH: usize = 119;
/// Five groups: column `pad`.
pub const PAD_LENGTH: usize = 59;

const GROUP: usize = 11;
const GROUP_END: u128 = 100_000_000_000;

/// One stream of random numbers. Streams with different seeds have nothing to do with each other.
#[derive(Clone, Debug)]
pub struct Random {
    source: Xoroshiro128Plus,
}

impl Random {
    /// The stream with this number under this seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let seed = seed.wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self { source: Xoroshiro128Plus::seed_from_u64(seed) }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.source.next_u64()
    }

    /// At least 0 and less than 1, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Each of `low..=high` alike.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.unit() * (high - low + 1) as f64) as u64
    }

    /// Appends groups of eleven digits, joined by dashes.
    pub fn append_groups(&mut self, groups: usize, out: &mut Vec<u8>) {
        for group in 0..groups {
            if group > 0 {
                out.push(b'-');
            }
            // The upper half of the product: even to one part in 10^8, and without a division.
            let number = (u128::from(self.next_u64()) * GROUP_END) >> 64;
            append_digits(number as u64, out);
        }
    }

    /// A value for column `c`.
    pub fn append_c(&mut self, out: &mut Vec<u8>) {
        self.append_groups(C_LENGTH.div_ceil(GROUP + 1), out);
    }

    /// A value for column `pad`.
    pub fn append_pad(&mut self, out: &mut Vec<u8>) {
        self.append_groups(PAD_LENGTH.div_ceil(GROUP + 1), out);
    }
}

const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

/// Eleven digits, with leading zeros, two at a time.
fn append_digits(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; GROUP];
    for at in (1..GROUP).step_by(2).rev() {
        let pair = (number % 100) as usize * 2;
        digits[at] = PAIRS[pair];
        digits[at + 1] = PAIRS[pair + 1];
        number /= 100;
        if at == 1 {
            digits[0] = b'0' + (number % 10) as u8;
        }
    }
    out.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_shape_of_sysbench() {
        let mut random = Random::new(1, 2);
        let (mut c, mut pad) = (Vec::new(), Vec::new());
        random.append_c(&mut c);
        random.append_pad(&mut pad);
        assert_eq!((c.len(), pad.len()), (C_LENGTH, PAD_LENGTH));
        for (at, byte) in c.iter().enumerate() {
            assert_eq!(*byte == b'-', at % 12 == 11, "{at}");
            assert!(*byte == b'-' || byte.is_ascii_digit());
        }
    }

    #[test]
    fn digits_are_those_of_the_number() {
        let mut out = Vec::new();
        append_digits(98_765_432_101, &mut out);
        append_digits(7, &mut out);
        assert_eq!(out, b"9876543210100000000007");
    }

    #[test]
    fn each_digit_comes_equally_often() {
        let mut random = Random::new(3, 0);
        let mut text = Vec::new();
        for _ in 0..10_000 {
            random.append_groups(1, &mut text);
        }
        let mut counts = [0_f64; 10];
        text.iter().for_each(|digit| counts[usize::from(digit - b'0')] += 1.0);
        let expected = text.len() as f64 / 10.0;
        let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        // Nine degrees of freedom: one in a thousand lies above 27.9, and the seed is fixed.
        assert!(chi < 27.9, "{counts:?}");
    }
}
