//! Attempts to escape. Each must succeed where nothing holds it, or it would prove nothing.

use sandbox::confine::{Confiner, Held, self_test, try_outside};

use super::{probe, spawner};

/// As many as the suite promises.
const ATTEMPTS_MIN: usize = 60;

#[tokio::test]
async fn what_succeeds_outside_is_held_inside() {
    let outside = try_outside(&probe()).await.expect("the probe runs");
    let inside = self_test(&Confiner::new(spawner()), &probe(), &[]).await.expect("the probe runs");
    assert!(inside.len() >= ATTEMPTS_MIN);
    let mut wrong = Vec::new();
    for (outside, inside) in outside.iter().zip(&inside) {
        assert_eq!(outside.name, inside.name);
        if outside.is_possible_outside && outside.held != Held::Escaped {
            wrong.push(format!("{} does not succeed outside: {:?}", outside.name, outside.held));
        }
        if inside.held != Held::Held {
            wrong.push(format!("{} is not held: {:?}", inside.name, inside.held));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
