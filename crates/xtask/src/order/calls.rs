//! Which instructions ran, as callgrind writes it with `--dump-instr=yes`.

use std::collections::{BTreeSet, HashMap};

/// The addresses of instructions that ran, of the object whose path ends with `object`, as the linker knows them.
pub(super) fn addresses(profile: &str, object: &str) -> BTreeSet<u64> {
    let (mut found, mut objects, mut is_ours, mut at) = (BTreeSet::new(), HashMap::new(), false, 0_u64);
    for line in profile.lines() {
        if let Some(named) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            // A path is written the first time only, and then goes by its number.
            let (number, path) = named.split_once(' ').unwrap_or((named, ""));
            if !path.is_empty() {
                objects.insert(number, path.ends_with(object));
            }
            if line.starts_with('o') {
                is_ours = objects.get(number).copied().unwrap_or(false);
            }
            continue;
        }
        let Some(next) = line.split(' ').next().and_then(|word| moved(at, word)) else { continue };
        at = next;
        if is_ours {
            found.insert(at);
        }
    }
    found
}

/// The address that a line of costs begins with: whole, or by how far it is from the last one.
fn moved(at: u64, word: &str) -> Option<u64> {
    match word.split_at_checked(1)? {
        ("+", distance) => at.checked_add(distance.parse().ok()?),
        ("-", distance) => at.checked_sub(distance.parse().ok()?),
        ("*", "") => Some(at),
        _ => u64::from_str_radix(word.strip_prefix("0x")?, 16).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_program_are_read() {
        let profile = "positions: instr line\nob=(1) /lib/ld.so\nfn=(1) start\n0x10 0 1\ncob=(2) /x/toolcrib\ncfn=(2) main\n\
                       calls=1 0x1000 0\n+4 0 9\nob=(2)\nfn=(2)\n0x1000 0 1\n+3 0 1\n* 0 2\n-1 0 1\n\nob=(1)\n0x20 0 1\ntotals: 9\n";
        assert_eq!(addresses(profile, "/toolcrib"), BTreeSet::from([0x1000, 0x1002, 0x1003]));
        assert_eq!(addresses("", "/toolcrib"), BTreeSet::new());
    }
}
