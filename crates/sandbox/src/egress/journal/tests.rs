//! What is counted, and what is told in sum.

use super::*;

fn to(text: &str) -> Destination {
    Destination::parse(text, None).expect("a destination")
}

fn lines(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| {
        format!("{entry}: {} {} {}", entry.connections, entry.sent_bytes, entry.received_bytes)
    };
    entries.iter().map(line).collect()
}

#[test]
fn hosts_are_counted_by_port_and_outcome() {
    let journal = Journal::new();
    let before = SystemTime::now() - Duration::from_millis(1);
    let (first, second) = (journal.allow(&to("example.com:443")), journal.allow(&to("example.com:443")));
    journal.allow(&to("example.com:80"));
    first.sent(3);
    second.sent(4);
    second.received(1000);
    journal.block(Attempt::Connect(to("db.internal:5432")), Reason::NoRule);
    journal.block(Attempt::Connect(to("db.internal:5432")), Reason::NoRule);
    journal.block(Attempt::Connect(to("db.internal:5432")), Reason::OtherName);
    journal.block(Attempt::LookUp("db.internal".to_owned()), Reason::NoRule);
    journal.block(Attempt::unreadable("a\0b"), Reason::NotAHost);
    let blocked = [
        "connect db.internal:5432 (no rule allows it): 2 0 0",
        "connect db.internal:5432 (the TLS handshake names another host): 1 0 0",
        "look up db.internal (no rule allows it): 1 0 0",
        "connect a?b (it is not written as a host and a port): 1 0 0",
    ];
    assert_eq!(lines(&journal.blocked()), blocked);
    let all = ["connect example.com:443: 2 7 1000", "connect example.com:80: 1 0 0"];
    assert_eq!(lines(&journal.entries()), [&all[..], &blocked].concat());
    assert!(journal.entries().iter().all(|entry| entry.last >= before));
}

#[test]
fn what_is_beyond_the_limit_is_counted_in_sum() {
    let journal = Journal::new();
    for number in 0..ENTRIES_MAX + 10 {
        journal.allow(&to(&format!("host{number}.test:443"))).sent(1);
        journal.block(Attempt::LookUp(format!("host{number}.test")), Reason::NoRule);
    }
    let entries = journal.entries();
    assert_eq!(entries.len(), 2 * (ENTRIES_MAX + 1));
    assert_eq!(lines(&entries[ENTRIES_MAX..=ENTRIES_MAX]), ["other hosts: 10 10 0"]);
    assert_eq!(lines(&journal.blocked()[ENTRIES_MAX..]), ["other hosts (no rule allows it): 10 0 0"]);
    assert_eq!(*journal.watch_blocked().borrow(), ENTRIES_MAX + 1);
}

#[tokio::test]
async fn the_first_time_is_heard_of_and_no_other() {
    let journal = Journal::new();
    let mut heard = journal.watch_blocked();
    journal.allow(&to("example.com:443"));
    assert!(!heard.has_changed().expect("open"));
    journal.block(Attempt::LookUp("a.test".to_owned()), Reason::NoRule);
    assert!(heard.has_changed().expect("open"));
    assert_eq!(*heard.borrow_and_update(), 1);
    journal.block(Attempt::LookUp("a.test".to_owned()), Reason::NoRule);
    assert!(!heard.has_changed().expect("open"));
}

#[test]
fn what_has_been_told_is_not_told_again() {
    let journal = Journal::new();
    assert_eq!(lines(&journal.news()), [""; 0]);
    let open = journal.allow(&to("example.com:443"));
    open.sent(3);
    journal.block(Attempt::Connect(to("db.internal:5432")), Reason::NoRule);
    let told = ["connect example.com:443: 1 3 0", "connect db.internal:5432 (no rule allows it): 1 0 0"];
    assert_eq!(lines(&journal.news()), told);
    assert_eq!(lines(&journal.news()), [""; 0]);
    // The connection goes on, and another one comes.
    open.received(7);
    journal.allow(&to("example.com:443"));
    assert_eq!(lines(&journal.news()), ["connect example.com:443: 1 0 7"]);
    assert_eq!(lines(&journal.entries())[0], "connect example.com:443: 2 3 7");
}

#[test]
fn what_went_nowhere_is_told_by_how_often() {
    let journal = Journal::new();
    journal.went_nowhere(0, 0);
    assert_eq!(journal.blocked(), []);
    journal.went_nowhere(3, 1);
    let told: Vec<_> = journal.blocked().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "send UDP, 3 times (UDP goes nowhere: only TCP to hosts that are allowed leaves the sandbox)",
            "reach an address (no way leads to a mere address: only a name that is looked up, or the proxy that HTTP_PROXY \
             names, leads out)",
        ]
    );
}

#[test]
fn what_is_told_in_sum_is_news_too() {
    let journal = Journal::new();
    for nth in 0..ENTRIES_MAX + 2 {
        journal.allow(&to(&format!("host{nth}:443")));
    }
    assert_eq!(lines(&journal.news()).last().map(String::as_str), Some("other hosts: 2 0 0"));
    assert_eq!(lines(&journal.news()), [""; 0]);
}

#[test]
fn what_another_has_is_added() {
    let (journal, other) = (Journal::new(), Journal::new());
    for (host, is_blocked) in [("a.test:443", false), ("b.test:443", true)] {
        let open = other.allow(&to(host));
        if is_blocked {
            other.block(Attempt::Connect(to(host)), Reason::NoRule);
        }
        journal.take(&other);
        open.sent(3);
    }
    let all = [
        "connect a.test:443: 1 3 0",
        "connect b.test:443: 1 3 0",
        "connect b.test:443 (no rule allows it): 1 0 0",
    ];
    assert_eq!((&lines(&journal.entries())[..], other.entries().len()), (&all.map(String::from)[..], 0));
    assert_eq!(*journal.watch_blocked().borrow(), 1);
    for nth in 0..=ENTRIES_MAX {
        other.allow(&to(&format!("host{nth}:443")));
    }
    journal.take(&other);
    assert_eq!(journal.entries().len(), 3 + ENTRIES_MAX + 1);
}
