//! `Kind`: what sort of address a name leads to. Which sort a rule may lead to is for `rules`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::is_public;

/// What sort of address it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of the open internet.
    Public,
    /// One of a network at home or at work: RFC 1918, unique local (RFC 4193), and RFC 6598, by which overlay networks
    /// such as Tailscale number their machines; what is for documentation counts with them.
    Private,
    /// This machine.
    Loopback,
    /// A neighbour on the same wire.
    LinkLocal,
    /// Where a cloud tells its machines their credentials.
    Metadata,
    /// Nothing that anybody should be found at.
    Reserved,
}

/// Where clouds tell machines their credentials: some lie among the public and the private addresses.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254), // nearly everybody
    Ipv4Addr::new(169, 254, 170, 2),   // Amazon, for containers
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle
    Ipv4Addr::new(168, 63, 129, 16),   // Azure's host, under a public address
];

const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), // Amazon
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),  // Amazon, for containers
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),  // Google
];

impl Kind {
    /// The sort of `address`. An IPv4 address in the clothes of IPv6 is judged as what it is.
    pub fn of(address: IpAddr) -> Kind {
        match address.to_canonical() {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        _ if METADATA_V4.contains(&address) => Kind::Metadata,
        _ if is_public(address.into()) => Kind::Public,
        [127, ..] => Kind::Loopback,
        [169, 254, ..] => Kind::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Kind::Private,
        // For documentation (RFC 5737), and so nobody's on the internet: who meets them has a network that uses them.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Kind::Private,
        _ => Kind::Reserved,
    }
}

fn of_v6(address: Ipv6Addr) -> Kind {
    match address.segments() {
        _ if METADATA_V6.contains(&address) => Kind::Metadata,
        _ if is_public(address.into()) => Kind::Public,
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xfc00..=0xfdff, ..] => Kind::Private,
        _ => Kind::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_kind() {
        for (kind, addresses) in [
            (Kind::Public, &["1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "168.63.129.17"][..]),
            (
                Kind::Private,
                &[
                    "10.0.0.1",
                    "172.31.0.1",
                    "192.168.1.1",
                    "203.0.113.80",
                    "100.64.0.1",
                    "fd12::1",
                    "fc00::1",
                ],
            ),
            (Kind::Loopback, &["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"]),
            (Kind::LinkLocal, &["169.254.1.1", "fe80::1", "febf::1"]),
            (
                Kind::Metadata,
                &["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "168.63.129.16"],
            ),
            (Kind::Metadata, &["100.100.100.200"]),
            (Kind::Reserved, &["0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "198.18.0.1", "240.0.0.1"]),
            (Kind::Reserved, &["::7f00:1", "64:ff9b::10.0.0.1", "2002:7f00:1::1", "ff02::1", "fec0::1"]),
        ] {
            for address in addresses {
                assert_eq!(Kind::of(address.parse().expect("an address")), kind, "{address}");
            }
        }
    }
}
