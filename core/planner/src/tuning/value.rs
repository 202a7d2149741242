//! The texts of kernel files: when two of them mean the same, and how masks are written.

use numawise_model::{CpuSet, Id, PathState, Pcpu, parse_list, parse_mask};

/// Whether two texts of this path mean the same. The kernel adds line ends, zeros before masks, and
/// writes `0-1` for `0,1`; a file on a disk is compared byte for byte.
pub fn same_value(path: &str, a: &PathState, b: &PathState) -> bool {
    let (PathState::Text(a), PathState::Text(b)) = (a, b) else { return a == b };
    if !is_kernel_file(path) {
        return a == b;
    }
    let (a, b) = (a.trim(), b.trim());
    if a == b {
        return true;
    }
    let same = |read: fn(&str) -> Option<CpuSet>| read(a).is_some_and(|a| read(b) == Some(a));
    match path.rsplit('/').next() {
        Some("cpumask" | "default_smp_affinity") => same(|text| parse_mask::<Pcpu>(text).ok()),
        Some("cpuset.cpus") => same(|text| parse_list::<Pcpu>(text).ok()),
        _ => false,
    }
}

/// Files that the kernel makes up when they are read.
pub fn is_kernel_file(path: &str) -> bool {
    path.starts_with("/sys/") || path.starts_with("/proc/")
}

/// A set as the kernel writes it: words of 32 bits in hexadecimal, the highest first, with as many
/// digits as `like` has (the kernel prints every CPU that could ever be there).
pub fn mask(cpus: &CpuSet, like: &str) -> String {
    let shown = like.chars().filter(char::is_ascii_hexdigit).count();
    let needed = cpus.last().map_or(1, |last| last.get() as usize / 4 + 1);
    let digits = shown.max(needed);
    let digit = |place: usize| {
        let bit = |n: usize| cpus.contains(Pcpu((place * 4 + n) as u32));
        let value = (0..4).filter(|n| bit(*n)).fold(0, |sum, n| sum | 1 << n);
        char::from_digit(value, 16)
    };
    let mut text = String::new();
    for place in (0..digits).rev() {
        text.extend(digit(place));
        if place > 0 && place % 8 == 0 {
            text.push(',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{mask, same_value};
    use numawise_model::{CpuSet, PathState, Pcpu, parse_mask};

    fn text(text: &str) -> PathState {
        PathState::Text(text.to_owned())
    }

    #[test]
    fn masks_are_as_wide_as_the_kernels_own() {
        for (cpus, like, wanted) in [
            (CpuSet::range(0, 1), "ff\n", "03"),
            (CpuSet::range(0, 7), "f\n", "ff"),
            (CpuSet::single(Pcpu(32)), "ffffffff,ffffffff", "00000001,00000000"),
            (CpuSet::range(30, 33), "fff,ffffffff", "003,c0000000"),
            (CpuSet::new(), "ff", "00"),
        ] {
            assert_eq!(mask(&cpus, like), wanted);
            assert_eq!(parse_mask(wanted), Ok(cpus));
        }
    }

    #[test]
    fn kernel_texts_are_compared_by_what_they_mean() {
        let mask = "/sys/devices/virtual/workqueue/cpumask";
        assert!(same_value(mask, &text("00000003\n"), &text("3")));
        assert!(!same_value(mask, &text("3"), &text("7")));
        let cpus = "/sys/fs/cgroup/machine/cpuset.cpus";
        assert!(same_value(cpus, &text("0,1\n"), &text("0-1")));
        assert!(same_value(cpus, &text("\n"), &text("")));
        assert!(!same_value(cpus, &text("\n"), &PathState::Absent));
        assert!(!same_value("/etc/sysctl.d/60-numawise.conf", &text("a"), &text("a\n")));
    }
}
