//! Attempts to escape. Each must succeed where nothing holds it, or it would prove nothing.

use sandbox::confine::{Confiner, Held, Profile, Sockets, self_test, try_outside};

use super::{probe, spawner};

/// As many as the suite promises.
const ATTEMPTS_MIN: usize = 60;

/// What is no way out of a network of one's own: datagrams go nowhere, and the devices told of are one's own.
const OWN_NETWORK: [&str; 2] = ["send_udp", "open_netlink"];

#[tokio::test]
async fn what_succeeds_outside_is_held_inside() {
    let outside = try_outside(&probe()).await.expect("the probe runs");
    let confiner = Confiner::new(spawner());
    // The sockets of a server, and what a project's programs do besides.
    let server = Profile { sockets: Sockets::LocalAndNetwork, ..Profile::write() };
    for (profile, allowed) in [(Profile::write(), &[][..]), (server, &OWN_NETWORK[..])] {
        let inside = self_test(&confiner, &probe(), profile, &[]).await.expect("the probe runs");
        assert!(inside.len() >= ATTEMPTS_MIN);
        let mut wrong = Vec::new();
        for (outside, inside) in outside.iter().zip(&inside) {
            assert_eq!(outside.name, inside.name);
            if outside.is_possible_outside && outside.held != Held::Escaped {
                wrong.push(format!("{} does not succeed outside: {:?}", outside.name, outside.held));
            }
            if inside.held != Held::Held && !allowed.contains(&inside.name) {
                wrong.push(format!("{} is not held: {:?}", inside.name, inside.held));
            }
        }
        assert!(wrong.is_empty(), "{:?}: {wrong:#?}", profile.sockets);
    }
}
