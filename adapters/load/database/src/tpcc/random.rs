//! The specification's random values.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The constants that NURand shifts its hot spots by. They are fixed, so that runs are alike and so that
/// a run fits tables that another process loaded; a report names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub last_name: i64,
    pub customer: i64,
    pub item: i64,
}

/// The load's. HammerDB has this one for last names, in its load and in its runs.
pub const AT_LOAD: Constants = Constants { last_name: 123, customer: 259, item: 7_911 };
/// The runs': for last names 85 from the load's, which the specification wants between 65 and 119 and
/// neither 96 nor 112.
pub const AT_RUN: Constants = Constants { last_name: 208, customer: 259, item: 7_911 };

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// Sixty-four, so that six bits are one; the specification asks for letters and digits.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789aA";

/// One stream of random values.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Streams of one seed differ by their number.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number of this range, both ends included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = u128::from(high.abs_diff(low)) + 1;
        // Below the width, which is far below what an i64 holds.
        let drawn = (u128::from(self.0.next_u64()) * width) >> 64;
        low + drawn as i64
    }

    /// Whether something happens that does in so many cases of a hundred.
    pub fn percent(&mut self, share: i64) -> bool {
        self.between(1, 100) <= share
    }

    /// In [0, 1).
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// NURand of the specification, 2.1.6.
    pub fn skewed(&mut self, mask: i64, low: i64, high: i64, constant: i64) -> i64 {
        let spread = (self.between(0, mask) | self.between(low, high)) + constant;
        spread % (high - low + 1) + low
    }

    pub fn letters(&mut self, out: &mut String, shortest: i64, longest: i64) {
        let mut bits = 0;
        for at in 0..self.between(shortest, longest) {
            if at % 10 == 0 {
                bits = self.0.next_u64();
            }
            out.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }

    pub fn digits(&mut self, out: &mut String, length: i64) {
        for _ in 0..length {
            out.push(char::from(b'0' + self.between(0, 9) as u8));
        }
    }

    /// The numbers 1 to `length`, shuffled.
    pub fn permutation(&mut self, length: i64) -> Vec<i64> {
        let mut numbers: Vec<i64> = (1..=length).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.between(0, last as i64) as usize;
            items.swap(last, other);
        }
    }
}

/// The last name of this number, 0 to 999.
pub fn last_name(number: i64) -> String {
    [number / 100, number / 10, number].map(|digit| SYLLABLES[digit as usize % 10]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1, 2);
        let mut seen = [0; 10];
        for _ in 0..1_000 {
            seen[random.between(3, 12) as usize - 3] += 1;
            let name = random.skewed(255, 0, 999, AT_RUN.last_name);
            assert!((0..=999).contains(&name), "{name}");
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }

    #[test]
    fn skewed_numbers_are_hot_where_the_constant_puts_them() {
        // The or with a mask of all ones favours numbers with many bits set.
        let mut random = Random::new(1, 3);
        let mut counts = vec![0_u32; 3_000];
        for _ in 0..300_000 {
            counts[random.skewed(1_023, 1, 3_000, AT_RUN.customer) as usize - 1] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u32 = counts[..300].iter().sum();
        assert!(hottest > 90_000, "a tenth of the customers has {hottest} of 300000 draws");
        assert!(counts.iter().filter(|&&count| count == 0).count() < 150);
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut numbers = Random::new(7, 0).permutation(3_000);
        assert_ne!(numbers[..5], [1, 2, 3, 4, 5]);
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=3_000).collect::<Vec<_>>());
    }
}
