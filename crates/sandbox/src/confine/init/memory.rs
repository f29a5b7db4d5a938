//! Memory of all processes inside: what they have, for the watchdog.

use std::fs;

/// The bytes that are no files' and nobody else's. What cannot be read has ended.
pub(super) fn used() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pages: u64 =
        processes.filter_map(|entry| pages(&fs::read_to_string(entry.path().join("statm")).ok()?)).sum();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Resident pages without shared ones: the second and the third number.
fn pages(statm: &str) -> Option<u64> {
    let mut numbers = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_ones_own_are_counted() {
        for (statm, expected) in
            [("900 50 20 1 0 30 0\n", Some(30)), ("9 5 20", Some(0)), ("9", None), ("", None)]
        {
            assert_eq!(pages(statm), expected, "{statm}");
        }
        assert!(used() > 0);
    }
}
