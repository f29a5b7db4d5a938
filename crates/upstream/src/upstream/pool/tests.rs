//! Who makes room for whom.

use std::time::Duration;

use bytes::Bytes;
use wire::Revision;

use super::*;
use crate::connection::Caller;
use crate::profiles::Profile;

fn connection() -> Arc<Connection> {
    Connection::unsent(Revision::LATEST_LEGACY)
}

fn slot(caller: &str, connection: Arc<Connection>) -> Slot {
    let key = Key { whose: Whose::Caller(caller.into()), profile: Profile::ALL, number: 0 };
    Slot { key, opened: Opened::Now(connection), used: Instant::now() }
}

/// As many connections as there may be, each used a second after the one before.
async fn full() -> Vec<Slot> {
    let mut slots = Vec::new();
    for number in 0..CONNECTIONS_MAX {
        assert!(matches!(Pool::make_room(&mut slots), Ok(None)));
        slots.push(slot(&number.to_string(), connection()));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    slots
}

fn callers(slots: &[Slot]) -> Vec<&str> {
    let caller = |slot: &'_ Slot| match &slot.key.whose {
        Whose::Caller(caller) => caller.parse::<usize>().expect("a number"),
        other => panic!("{other:?}"),
    };
    let mut callers: Vec<_> = slots.iter().map(caller).collect();
    callers.sort_unstable();
    let missing = (0..CONNECTIONS_MAX).filter(|number| !callers.contains(number));
    missing.map(|number| ["0", "1", "2", "3"][number]).collect()
}

#[tokio::test(start_paused = true)]
async fn the_one_that_was_used_least_lately_makes_room_and_none_that_is_in_use() {
    let mut slots = full().await;
    // One has a call under way, one waits for a client, and one was used just now.
    let held = slots[0].connection().cloned();
    let task = slots[1].connection().expect("open");
    task.follow_task("a task");
    let pool = Pool::default();
    *pool.slots() = slots;
    let key = Key { whose: Whose::Caller("2".into()), profile: Profile::ALL, number: 0 };
    assert!(Pool::find(&mut pool.slots(), &key).is_some());
    slots = pool.slots().drain(..).collect();
    let evicted = Pool::make_room(&mut slots).expect("room").expect("one makes way");
    assert_eq!(callers(&slots), ["3"]);
    assert!(evicted.exchange().pending.closed.is_cancelled(), "nothing more is sent over it");
    drop(held);
    slots.push(slot("3", connection()));
    assert!(matches!(Pool::make_room(&mut slots), Ok(Some(_))));
    assert_eq!(callers(&slots), ["0"]);
}

#[tokio::test(start_paused = true)]
async fn if_all_are_in_use_there_is_no_more_room() {
    let mut slots = full().await;
    let capabilities = Bytes::from_static(b"{}");
    let caller = Caller {
        conversation: 1,
        capabilities,
        log_level: None,
        may_be_asked: true,
        habit: None,
        listener: None,
    };
    let calls: Vec<_> = slots
        .iter()
        .filter_map(Slot::connection)
        .map(|open| open.exchange().begin(Some(caller.clone())).expect("open"))
        .collect();
    assert!(matches!(Pool::make_room(&mut slots), Err(ConnectError::Crowded)));
    drop(calls);
    assert!(matches!(Pool::make_room(&mut slots), Ok(Some(_))));
}
