//! `Reach`: which addresses a client may connect to, judged by the address itself and never by a name, since
//! whoever owns a name decides from one moment to the next where it leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

/// Which addresses may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of them.
    Any,
    /// Those of the open internet.
    Public,
}

impl Reach {
    pub(super) fn allows(self, address: IpAddr) -> bool {
        self == Reach::Any || is_public(address)
    }
}

/// The address that an authority names itself, without a name to resolve.
pub(super) fn literal(uri: &Uri) -> Option<IpAddr> {
    let host = uri.host()?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// True for an address that anybody on the internet could reach (IANA's special-purpose registries, RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Networks that are not the open internet's: the first address, and how many of its bits count.
const PRIVATE_V4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),       // this network, and the unspecified address
    ([10, 0, 0, 0], 8),      // RFC 1918
    ([100, 64, 0, 0], 10),   // carrier-grade NAT, RFC 6598
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, and the clouds' metadata
    ([172, 16, 0, 0], 12),   // RFC 1918
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 88, 99, 0], 24),  // 6to4 relays, which may lead anywhere
    ([192, 168, 0, 0], 16),  // RFC 1918
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved, and broadcast
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !PRIVATE_V4.iter().any(|&(network, bits)| {
        let mask = u32::MAX << (32 - bits);
        address.to_bits() & mask == u32::from_be_bytes(network)
    })
}

/// Only what is given out as global unicast is (2000::/3), but for what is in it of another kind. What carries
/// an IPv4 address is as public as that.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(embedded(high, low)),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        // Protocol assignments, of which Teredo and benchmarks, and documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // All else: loopback, unspecified, unique local, link-local, multicast, and IPv4 in its other clothes.
        [first, ..] => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => first & 0xe000 == 0x2000,
        },
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_and_private_addresses() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.0.0.1",
            "128.0.0.1",
            "169.253.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ];
        let private = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "3fff::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "100::1",
            "5f00::1",
            "4000::1",
        ];
        for (addresses, expected) in [(&public[..], true), (&private[..], false)] {
            for address in addresses {
                assert_eq!(is_public(address.parse().expect("an address")), expected, "{address}");
            }
        }
    }

    #[test]
    fn an_address_in_place_of_a_name_is_read_as_one() {
        for (uri, expected) in [
            ("http://127.0.0.1:80/", Some("127.0.0.1")),
            ("https://[::1]/x", Some("::1")),
            ("https://me@[::ffff:10.0.0.1]:1/x", Some("::ffff:10.0.0.1")),
            ("https://host/127.0.0.1", None),
            // Not an address to Rust, and so resolved, and checked then.
            ("http://127.1/", None),
            ("http://0x7f000001/", None),
        ] {
            let read = literal(&uri.parse().expect("an address"));
            assert_eq!(read.map(|address| address.to_string()).as_deref(), expected, "{uri}");
        }
    }
}
