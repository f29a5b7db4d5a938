//! `Reaching`: what the program of a server reaches, told hour by hour and when it has ended. Whether a call or the program
//! itself wanted a host cannot be told apart: one program serves several calls at once, and does things of its own meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::confine::Limit;
use sandbox::egress::{Attempt, Entry, Journal, Outcome};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::clock::now_ms;
use crate::watch::ServerWatch;

/// Hosts of one server and hour that are told one by one. The others are told in sum, those reached and those blocked.
const HOSTS_PER_HOUR_MAX: usize = 64;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// Who tells the time, in milliseconds since 1970.
type Clock = fn() -> i64;

/// One program.
pub(super) struct Reaching {
    told: Arc<Told>,
    /// Ends with this.
    _telling: JoinSet<()>,
}

struct Told {
    watch: Arc<dyn ServerWatch>,
    server: Arc<str>,
    journal: Arc<Journal>,
    clock: Clock,
    /// When what is told next began.
    since_ms: Mutex<i64>,
}

impl Reaching {
    /// Of a program that has just been started.
    pub(super) fn begin(watch: Arc<dyn ServerWatch>, server: Arc<str>, journal: Arc<Journal>) -> Reaching {
        Reaching::by(now_ms, watch, server, journal)
    }

    fn by(clock: Clock, watch: Arc<dyn ServerWatch>, server: Arc<str>, journal: Arc<Journal>) -> Reaching {
        let told = Arc::new(Told { watch, server, journal, clock, since_ms: Mutex::new(clock()) });
        let mut telling = JoinSet::new();
        telling.spawn({
            let told = told.clone();
            async move {
                tokio::join!(told.each_hour(), told.each_blocked());
            }
        });
        Reaching { told, _telling: telling }
    }

    /// The program has ended, perhaps by a limit: tells what was not told yet.
    pub(super) fn end(self, limit: Option<Limit>) {
        self.told.tell();
        if let Some(limit) = limit.filter(|limit| limit.ends_programs()) {
            self.told.watch.ended_by(limit);
        }
    }
}

impl Told {
    async fn each_hour(&self) {
        loop {
            let left_ms = HOUR_MS - (self.clock)().rem_euclid(HOUR_MS);
            sleep(Duration::from_millis(left_ms.unsigned_abs())).await;
            self.tell();
        }
    }

    /// Figures need not wait for the hour to end.
    async fn each_blocked(&self) {
        let mut counted = 0;
        let mut blocked = self.journal.watch_blocked();
        loop {
            let count = *blocked.borrow_and_update();
            self.watch.blocked((count - counted) as u64);
            counted = count;
            if blocked.changed().await.is_err() {
                return;
            }
        }
    }

    fn tell(&self) {
        let since_ms = {
            let mut since_ms = self.since_ms.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *since_ms, (self.clock)())
        };
        for entry in bounded(self.journal.news()) {
            self.watch.reached(&self.server, since_ms, &entry);
        }
    }
}

/// The first ones, and the sums of what is behind them.
fn bounded(mut entries: Vec<Entry>) -> Vec<Entry> {
    let rest = entries.split_off(entries.len().min(HOSTS_PER_HOUR_MAX));
    let (allowed, blocked) = rest.into_iter().partition(|entry| entry.outcome == Outcome::Allowed);
    entries.extend([allowed, blocked].into_iter().filter_map(sum));
    entries
}

fn sum(entries: Vec<Entry>) -> Option<Entry> {
    entries.into_iter().reduce(|sum, entry| Entry {
        attempt: Attempt::Others,
        outcome: sum.outcome,
        connections: sum.connections + entry.connections,
        sent_bytes: sum.sent_bytes + entry.sent_bytes,
        received_bytes: sum.received_bytes + entry.received_bytes,
        last: sum.last.max(entry.last),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::UNIX_EPOCH;

    use bytes::Bytes;
    use http::Request;
    use sandbox::Client;
    use sandbox::egress::{Destination, HostClient, HostRules, Reason, WayOut};

    use super::*;

    fn entry(host: &str, outcome: Outcome) -> Entry {
        Entry {
            attempt: Attempt::Connect(Destination::parse(host, None).expect("a destination")),
            outcome,
            connections: 1,
            sent_bytes: 2,
            received_bytes: 3,
            last: UNIX_EPOCH,
        }
    }

    /// So many hosts, every second of them blocked: how many are told by name, and the sums.
    #[track_caller]
    fn check(hosts: usize, named: usize, sums: [Option<u64>; 2]) {
        let blocked = Outcome::Blocked(Reason::NoRule);
        let outcome = |nth: usize| if nth.is_multiple_of(2) { Outcome::Allowed } else { blocked };
        let entries = (0..hosts).map(|nth| entry(&format!("host{nth}:443"), outcome(nth))).collect();
        let told = bounded(entries);
        let is_sum = |entry: &&Entry| entry.attempt == Attempt::Others;
        assert_eq!(told.iter().filter(|entry| !is_sum(entry)).count(), named, "{hosts}");
        let of = |outcome| told.iter().filter(is_sum).find(|sum| sum.outcome == outcome);
        let found = [of(Outcome::Allowed), of(blocked)].map(|sum| sum.map(|sum| sum.connections));
        assert_eq!(found, sums, "{hosts}");
        assert!(told.iter().all(|entry| entry.received_bytes == 3 * entry.connections));
    }

    #[test]
    fn beyond_the_limit_hosts_are_told_in_sum() {
        check(0, 0, [None, None]);
        check(HOSTS_PER_HOUR_MAX, HOSTS_PER_HOUR_MAX, [None, None]);
        check(HOSTS_PER_HOUR_MAX + 10, HOSTS_PER_HOUR_MAX, [Some(5), Some(5)]);
    }

    #[derive(Default)]
    struct Heard(Mutex<Vec<(i64, String)>>, AtomicU64);

    impl ServerWatch for Heard {
        fn started(&self, _: &'static str) {}
        fn not_started(&self, _: sandbox::confine::Layer) {}
        fn ended_by(&self, limit: Limit) {
            self.0.lock().expect("no panic").push((0, limit.name().to_owned()));
        }
        fn blocked(&self, hosts: u64) {
            self.1.fetch_add(hosts, Ordering::Relaxed);
        }
        fn reached(&self, server: &str, since_ms: i64, entry: &Entry) {
            let line = format!("{server}: {entry}");
            self.0.lock().expect("no panic").push((since_ms / 1000, line));
        }
    }

    /// Ten minutes before an hour ends.
    const STARTED_MS: i64 = 1_700_002_200_000;

    /// By a clock that goes on with the paused one of the runtime.
    fn clock() -> i64 {
        thread_local! {
            static BEGUN: tokio::time::Instant = tokio::time::Instant::now();
        }
        BEGUN.with(|begun| STARTED_MS + i64::try_from(begun.elapsed().as_millis()).expect("a short test"))
    }

    #[tokio::test(start_paused = true)]
    async fn each_hour_is_told_when_it_ends_and_the_last_one_with_the_program() {
        let (heard, journal) = (Arc::new(Heard::default()), Arc::new(Journal::new()));
        let way = Arc::new(WayOut { rules: HostRules::none(), company: None, judge: None });
        let client = HostClient::new(&Client::new(), way, journal.clone()).await;
        let block = async |host: &str| {
            let request = Request::get(format!("http://{host}/")).body(Bytes::new()).expect("a request");
            client.send(request).await.expect_err("no rule allows it");
        };
        let reaching = Reaching::by(clock, heard.clone(), "git".into(), journal.clone());
        let mut told = Vec::new();
        block("a.test:1").await;
        sleep(Duration::from_secs(11 * 60)).await;
        told.push((STARTED_MS / 1000, "git: connect a.test:1 (no rule allows it)".to_owned()));
        assert_eq!(*heard.0.lock().expect("no panic"), told);
        // An hour without anything has no record.
        sleep(Duration::from_secs(90 * 60)).await;
        block("b.test:2").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(*heard.0.lock().expect("no panic"), told);
        reaching.end(Some(Limit::MemoryBytes));
        told.push((
            STARTED_MS / 1000 + 10 * 60 + 60 * 60,
            "git: connect b.test:2 (no rule allows it)".to_owned(),
        ));
        told.push((0, "memory_bytes".to_owned()));
        assert_eq!(*heard.0.lock().expect("no panic"), told);
        assert_eq!(heard.1.load(Ordering::Relaxed), 2);
    }
}
