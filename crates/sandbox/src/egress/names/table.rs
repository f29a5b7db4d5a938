//! `Names`: which made-up address stands for which name.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use tokio::time::Instant;

/// Names that have an address at once; those that nobody used for the longest lose theirs. A page of the web needs some
/// dozens, and a table of this size about a megabyte.
const NAMES_MAX: usize = 4096;

/// The network whose addresses stand for names. It must be routed to the program's own loopback device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesNet {
    /// Its first address, which stands for no name.
    pub base: Ipv4Addr,
    /// How many bits of it count.
    pub bits: u32,
}

impl NamesNet {
    /// Addresses for benchmarks (RFC 2544), which are nobody's on the internet.
    pub const INSIDE: NamesNet = NamesNet { base: Ipv4Addr::new(198, 18, 0, 0), bits: 15 };

    fn size(self) -> u32 {
        1 << (32 - self.bits)
    }

    fn offset(self, address: Ipv4Addr) -> Option<u32> {
        address.to_bits().checked_sub(self.base.to_bits()).filter(|offset| *offset < self.size())
    }
}

/// Names and their addresses. An address is given out again only when all others of the network have been: a program that
/// remembers an old answer must not meet another host under it.
#[derive(Debug)]
pub(in super::super) struct Names {
    net: NamesNet,
    offsets: HashMap<String, u32>,
    given: HashMap<u32, Given>,
    /// The offsets by their last use, so that the oldest is found without a search.
    by_use: BTreeMap<u64, u32>,
    next: u32,
    uses: u64,
}

#[derive(Debug)]
struct Given {
    name: String,
    last_use: u64,
    /// When it was given out first.
    since: Instant,
    /// Whether somebody has come by the address, or was told that nobody has.
    is_settled: bool,
}

impl Names {
    pub(in super::super) fn new(net: NamesNet) -> Names {
        let (offsets, given, by_use) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Names { net, offsets, given, by_use, next: 1, uses: 0 }
    }

    /// The address of a name, the same as long as it is in the table.
    pub(in super::super) fn give(&mut self, name: &str) -> Ipv4Addr {
        if let Some(&offset) = self.offsets.get(name) {
            self.touch(offset);
            return self.address(offset);
        }
        if self.given.len() >= NAMES_MAX {
            self.forget_oldest();
        }
        let offset = self.free_offset();
        self.offsets.insert(name.to_owned(), offset);
        self.given.insert(
            offset,
            Given { name: name.to_owned(), last_use: 0, since: Instant::now(), is_settled: false },
        );
        self.touch(offset);
        self.address(offset)
    }

    /// True for an address of the network, whether it stands for a name or not.
    pub(in super::super) fn contains(&self, address: Ipv4Addr) -> bool {
        self.net.offset(address).is_some()
    }

    /// The name that an address stands for.
    pub(in super::super) fn name(&mut self, address: Ipv4Addr) -> Option<String> {
        let offset = self.net.offset(address)?;
        let given = self.given.get_mut(&offset)?;
        given.is_settled = true;
        let name = given.name.clone();
        self.touch(offset);
        Some(name)
    }

    /// Notes that somebody has come for this name, by whatever way.
    pub(in super::super) fn came(&mut self, name: &str) {
        let offset = self.offsets.get(name);
        if let Some(given) = offset.and_then(|offset| self.given.get_mut(offset)) {
            given.is_settled = true;
        }
    }

    /// The names that were given an address by then and by whose addresses nobody has come, in the order of their last use; each
    /// is told once.
    pub(in super::super) fn unmet(&mut self, by: Instant) -> Vec<String> {
        let mut unmet = Vec::new();
        for offset in self.by_use.values() {
            let given = self.given.get_mut(offset);
            if let Some(given) = given.filter(|given| !given.is_settled && given.since <= by) {
                given.is_settled = true;
                unmet.push(given.name.clone());
            }
        }
        unmet
    }

    /// Since when a name waits for somebody to come, if one does.
    pub(in super::super) fn waiting_since(&self) -> Option<Instant> {
        self.given.values().filter(|given| !given.is_settled).map(|given| given.since).min()
    }

    fn touch(&mut self, offset: u32) {
        if let Some(given) = self.given.get_mut(&offset) {
            self.by_use.remove(&given.last_use);
            self.uses += 1;
            given.last_use = self.uses;
            self.by_use.insert(given.last_use, offset);
        }
    }

    fn address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.net.base.to_bits() + offset)
    }

    fn forget_oldest(&mut self) {
        let oldest = self.by_use.pop_first().and_then(|(_, offset)| self.given.remove(&offset));
        if let Some(given) = oldest {
            self.offsets.remove(&given.name);
        }
    }

    /// Ends, since the network has more addresses than the table has names. The first and the last are left out: some
    /// programs take them for the network and for everybody in it.
    fn free_offset(&mut self) -> u32 {
        loop {
            let offset = self.next;
            self.next = if offset + 2 < self.net.size() { offset + 1 } else { 1 };
            if !self.given.contains_key(&offset) {
                return offset;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: usize) -> String {
        format!("host{number}.test")
    }

    #[test]
    fn a_name_keeps_its_address_and_an_address_its_name() {
        let mut names = Names::new(NamesNet::INSIDE);
        let first = names.give("a.test");
        assert_eq!(first.to_string(), "198.18.0.1");
        assert_eq!(names.give("b.test").to_string(), "198.18.0.2");
        assert_eq!(names.give("a.test"), first);
        for (address, expected, inside) in [
            ("198.18.0.1", Some("a.test"), true),
            ("198.18.0.2", Some("b.test"), true),
            ("198.18.0.0", None, true),
            ("198.18.0.3", None, true),
            ("198.19.255.255", None, true),
            ("198.20.0.0", None, false),
            ("198.17.255.255", None, false),
            ("127.0.0.1", None, false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(names.name(address).as_deref(), expected, "{address}");
            assert_eq!(names.contains(address), inside, "{address}");
        }
    }

    #[test]
    fn the_oldest_name_leaves_a_full_table_and_its_address_rests() {
        let mut names = Names::new(NamesNet::INSIDE);
        let addresses: Vec<Ipv4Addr> = (0..NAMES_MAX).map(|number| names.give(&host(number))).collect();
        // Both kinds of use count.
        names.give(&host(0));
        names.name(addresses[1]);
        let fresh = names.give("fresh.test");
        assert!(!addresses.contains(&fresh));
        let known: Vec<bool> = (0..4).map(|number| names.name(addresses[number]).is_some()).collect();
        assert_eq!(known, [true, true, false, true]);
        let sizes = [names.offsets.len(), names.given.len(), names.by_use.len()];
        assert_eq!(sizes, [NAMES_MAX; 3]);
        assert_ne!(names.give(&host(2)), addresses[2]);
    }

    #[test]
    fn addresses_come_round_without_meeting_those_in_use() {
        let net = NamesNet { base: Ipv4Addr::new(127, 18, 0, 0), bits: 16 };
        let mut names = Names::new(net);
        let kept = names.give("kept.test");
        for number in 0..70_000 {
            let address = names.give(&host(number));
            assert!(names.contains(address) && address != kept, "{address}");
            assert_eq!(names.give("kept.test"), kept);
        }
    }
}
