//! What programs sent in vain: the kernel counts it for each network, and tells nobody but the program.

use std::fs;

use crate::confine::report::Nowhere;

/// What is counted of IPv4 and, in another form, of IPv6.
const COUNTS: &str = "/proc/net/snmp";
const COUNTS_V6: &str = "/proc/net/snmp6";

/// By now. What cannot be read is not counted.
pub(super) fn nowhere() -> Nowhere {
    let [v4, v6] = [COUNTS, COUNTS_V6].map(|path| fs::read_to_string(path).unwrap_or_default());
    counted(&v4, &v6)
}

fn counted(v4: &str, v6: &str) -> Nowhere {
    Nowhere {
        datagrams: of_table(v4, "Udp:", "NoPorts") + of_list(v6, "Udp6NoPorts"),
        unrouted: of_table(v4, "Ip:", "OutNoRoutes") + of_list(v6, "Ip6OutNoRoutes"),
    }
}

/// A line of names, and below it one of values.
fn of_table(text: &str, row: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(row));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(named, _)| *named == name).and_then(|(_, value)| value.parse().ok()).unwrap_or_default()
}

/// A name and its value on each line.
fn of_list(text: &str, name: &str) -> u64 {
    let mut pairs = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    pairs
        .find(|(named, _)| *named == name)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_their_names() {
        let v4 = "Ip: Forwarding OutDiscards OutNoRoutes\nIp: 2 0 7\nUdp: InDatagrams NoPorts\nUdp: 9 3\nUdpLite: A NoPorts\nUdpLite: 0 8\n";
        let v6 = "Ip6OutNoRoutes                  \t5\nUdp6NoPorts                     \t1\n";
        assert_eq!(counted(v4, v6), Nowhere { datagrams: 4, unrouted: 12 });
        assert_eq!(counted("", ""), Nowhere::default());
        assert_eq!(counted("Ip: OutNoRoutes\n", "Udp6NoPorts x"), Nowhere::default());
    }
}
