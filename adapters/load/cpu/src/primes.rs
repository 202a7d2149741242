//! One event: primes by trial division.

/// How many primes there are from 3 up to, and without, the limit.
///
/// Divisors are compared with the root as floating-point numbers and divide 64-bit integers, since the
/// time of an event is only comparable with sysbench's when its instructions are of the same kinds.
pub fn count_primes(limit: u64) -> u64 {
    let mut found = 0;
    for number in 3..limit {
        let root = (number as f64).sqrt();
        let mut divisor = 2_u64;
        while divisor as f64 <= root {
            if number % divisor == 0 {
                break;
            }
            divisor += 1;
        }
        if divisor as f64 > root {
            found += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::count_primes;

    #[test]
    fn primes_are_counted_from_three_on() {
        // pi(x) is 4, 168 and 1,229; two is not looked at.
        assert_eq!([10, 1_000, 10_000].map(count_primes), [3, 167, 1_228]);
    }
}
