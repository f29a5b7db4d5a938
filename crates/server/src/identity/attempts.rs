//! How often wrong credentials have come from an address: past a bound it is told to wait.
//!
//! Only wrong ones are counted and refused. Behind a reverse proxy everybody has the same address, and somebody who
//! sends nonsense must not lock the others out; and neither a key nor a signature is found by trying.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Wrong credentials from one address within [`SPAN`] that get an answer of their own.
pub(super) const FAILED_MAX: u32 = 20;

/// How long wrong credentials are held against an address.
pub(super) const SPAN: Duration = Duration::from_secs(60);

/// Addresses that are remembered. When there are more, all are forgotten: it is a brake, not a wall.
const ADDRESSES_MAX: usize = 4_096;

/// Wrong attempts by address.
#[derive(Default)]
pub(super) struct Attempts {
    failed: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Attempts {
    /// Counts one more.
    ///
    /// # Errors
    /// It is one too many: how long to wait.
    pub(super) fn failed(&self, peer: IpAddr) -> Result<(), Duration> {
        let now = Instant::now();
        // What it guards is sound between any two statements.
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= ADDRESSES_MAX {
            failed.retain(|_, (since, _)| now.duration_since(*since) < SPAN);
            if failed.len() >= ADDRESSES_MAX {
                failed.clear();
            }
        }
        let (since, count) = failed.entry(network(peer)).or_insert((now, 0));
        let elapsed = now.duration_since(*since);
        if elapsed >= SPAN {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        match *count {
            0..=FAILED_MAX => Ok(()),
            _ => Err(SPAN.saturating_sub(elapsed).max(Duration::from_secs(1))),
        }
    }
}

/// What stands for an address: of IPv6 one party has a whole network.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(peer) => match peer.to_ipv4_mapped() {
            Some(mapped) => mapped.into(),
            None => Ipv6Addr::from_bits(peer.to_bits() & (u128::MAX << 64)).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_bound_an_address_waits() {
        let attempts = Attempts::default();
        let (bad, other) = (address("192.0.2.1"), address("192.0.2.2"));
        for nth in 0..FAILED_MAX {
            assert_eq!(attempts.failed(bad), Ok(()), "{nth}");
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(attempts.failed(bad), Err(SPAN - Duration::from_secs(10)));
        assert_eq!(attempts.failed(other), Ok(()));
        tokio::time::advance(SPAN).await;
        assert_eq!(attempts.failed(bad), Ok(()), "it has waited");
    }

    #[test]
    fn an_ipv6_network_is_one_party() {
        for (one, other, same) in [
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
        ] {
            assert_eq!(network(address(one)) == network(address(other)), same, "{one} {other}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let attempts = Attempts::default();
        for number in 0..2 * u32::try_from(ADDRESSES_MAX).expect("small") {
            let _ = attempts.failed(std::net::Ipv4Addr::from_bits(number).into());
        }
        assert!(attempts.failed.lock().expect("sound").len() <= ADDRESSES_MAX);
    }
}
