//! The latest events of one session, kept for a client whose connection broke. Plain data: who reads and who
//! writes is for `streams` to say.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::time::{Duration, Instant};

/// How long an event is kept; a client whose connection broke is back sooner, or does not come back. Without it
/// sessions that were left behind would keep what all share until they end.
pub(super) const KEPT_MAX: Duration = Duration::from_secs(5 * 60);

/// Most events kept for one session; hundreds of progress reports of a call, or all changes of a night.
pub(super) const EVENTS_KEPT_MAX: usize = 256;

/// Most bytes kept for one session. A single event may be larger: it may be the answer somebody waits for.
pub(super) const BYTES_KEPT_MAX: usize = 1024 * 1024;

/// Most bytes kept for all sessions together. Beyond it a session keeps only what others let go of.
const BYTES_KEPT_ALL_MAX: usize = 64 * 1024 * 1024;

/// The name of an event: of which stream of the session, and the how manieth. The standing stream is number 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) sequence: u64,
}

impl EventId {
    /// Reads what a client repeats.
    pub(super) fn parse(text: &str) -> Option<EventId> {
        let (stream, sequence) = text.split_once('-')?;
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten()
        };
        Some(EventId { stream: number(stream)?, sequence: number(sequence)? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.stream, self.sequence)
    }
}

/// How much all sessions keep together, in bytes.
pub(super) type Total = Arc<AtomicUsize>;

/// What is kept.
pub(super) struct EventLog {
    events: VecDeque<(EventId, Bytes, Instant)>,
    bytes: usize,
    total: Total,
}

impl EventLog {
    /// Nothing yet.
    pub(super) fn new(total: Total) -> EventLog {
        EventLog { events: VecDeque::new(), bytes: 0, total }
    }

    /// Keeps an event, as it is written on the wire, in place of the oldest.
    pub(super) fn keep(&mut self, id: EventId, event: Bytes) {
        while self.events.len() >= EVENTS_KEPT_MAX
            || (!self.events.is_empty() && self.bytes + event.len() > BYTES_KEPT_MAX)
        {
            self.forget_oldest();
        }
        while self.total.load(Ordering::Relaxed) + event.len() > BYTES_KEPT_ALL_MAX {
            if !self.forget_oldest() {
                return;
            }
        }
        self.bytes += event.len();
        self.total.fetch_add(event.len(), Ordering::Relaxed);
        self.events.push_back((id, event, Instant::now()));
    }

    fn forget_oldest(&mut self) -> bool {
        let Some((_, event, _)) = self.events.pop_front() else { return false };
        self.bytes -= event.len();
        self.total.fetch_sub(event.len(), Ordering::Relaxed);
        true
    }

    /// Forgets what was kept long enough.
    pub(super) fn forget_old(&mut self) {
        let now = Instant::now();
        while self.events.front().is_some_and(|(_, _, kept)| now.duration_since(*kept) > KEPT_MAX) {
            self.forget_oldest();
        }
    }

    /// What followed an event on its stream.
    pub(super) fn after(&self, last: EventId) -> impl Iterator<Item = (EventId, Bytes)> {
        let followed = move |id: &EventId| id.stream == last.stream && id.sequence > last.sequence;
        self.events.iter().filter(move |(id, ..)| followed(id)).map(|(id, event, _)| (*id, event.clone()))
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(stream: u64, sequence: u64) -> EventId {
        EventId { stream, sequence }
    }

    fn sequences(log: &EventLog, last: EventId) -> Vec<String> {
        log.after(last)
            .map(|(_, event)| String::from_utf8_lossy(&event[..event.len().min(4)]).into_owned())
            .collect()
    }

    #[test]
    fn ids_read_back_and_others_are_refused() {
        for sample in [id(0, 0), id(7, 1), id(u64::MAX, u64::MAX)] {
            assert_eq!(EventId::parse(&sample.to_string()), Some(sample));
        }
        for bad in ["", "-", "1", "1-", "-1", "1-2-3", "+1-2", "1- 2", "1-99999999999999999999", "a-b"] {
            assert_eq!(EventId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_followed_is_found_stream_by_stream() {
        let mut log = EventLog::new(Total::default());
        for (stream, sequence) in [(0, 1), (3, 1), (0, 2), (3, 2)] {
            log.keep(id(stream, sequence), format!("{stream}-{sequence}").into());
        }
        assert_eq!(sequences(&log, id(0, 0)), ["0-1", "0-2"]);
        assert_eq!(sequences(&log, id(0, 1)), ["0-2"]);
        assert_eq!(sequences(&log, id(3, 2)), [""; 0]);
        assert_eq!(sequences(&log, id(4, 0)), [""; 0]);
    }

    #[test]
    fn the_number_and_the_bytes_are_bounded() {
        let mut log = EventLog::new(Total::default());
        for sequence in 1..=EVENTS_KEPT_MAX as u64 + 10 {
            log.keep(id(0, sequence), Bytes::from_static(b"x"));
        }
        assert_eq!((log.events.len(), log.bytes), (EVENTS_KEPT_MAX, EVENTS_KEPT_MAX));
        let half = Bytes::from(vec![b'x'; BYTES_KEPT_MAX / 2]);
        for sequence in 1..4 {
            log.keep(id(1, sequence), half.clone());
            assert!(log.bytes <= BYTES_KEPT_MAX);
        }
        assert_eq!(log.events.len(), 2);
        log.keep(id(1, 4), Bytes::from(vec![b'y'; 2 * BYTES_KEPT_MAX]));
        assert_eq!(sequences(&log, id(1, 0)), ["yyyy"], "a large one is kept alone");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_kept_long_enough_is_forgotten() {
        let total = Total::default();
        let mut log = EventLog::new(total.clone());
        let mut left = Vec::new();
        for sequence in 1..=3 {
            log.keep(id(1, sequence), Bytes::from_static(b"x"));
            tokio::time::advance(KEPT_MAX / 2).await;
            log.forget_old();
            left.push((log.events.len(), total.load(Ordering::Relaxed)));
        }
        tokio::time::advance(KEPT_MAX).await;
        log.forget_old();
        left.push((log.events.len(), total.load(Ordering::Relaxed)));
        assert_eq!(left, [(1, 1), (2, 2), (2, 2), (0, 0)]);
    }

    #[test]
    fn all_sessions_share_a_bound_and_give_back_what_they_had() {
        let total = Total::default();
        let large = Bytes::from(vec![b'x'; BYTES_KEPT_ALL_MAX]);
        let mut greedy = EventLog::new(total.clone());
        greedy.keep(id(1, 1), large.clone());
        let mut late = EventLog::new(total.clone());
        late.keep(id(1, 1), Bytes::from_static(b"y"));
        assert_eq!(late.events.len(), 0);
        drop(greedy);
        late.keep(id(1, 2), Bytes::from_static(b"y"));
        assert_eq!((late.events.len(), total.load(Ordering::Relaxed)), (1, 1));
    }
}
