//! The requests that wait for an answer, by their numbers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wire::message::Text;

use super::{Fault, Listener};

/// Most requests that wait on one server. Beyond this it is not slow but stuck.
const REQUESTS_MAX: usize = 4_096;

/// Progress reports of one call that its task has not yet passed on; more are dropped, the newest first.
const REPORTS_WAITING_MAX: usize = 64;

/// The answer to a request: its result, or the error object that the server sent instead.
pub(crate) type Reply = Result<Text, Text>;

/// Open requests.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    open: HashMap<u64, Entry>,
    /// Why no answer will come any more.
    ended: Option<Fault>,
}

#[derive(Debug)]
struct Entry {
    answer: oneshot::Sender<Result<Reply, Fault>>,
    reports: Option<mpsc::Sender<Bytes>>,
}

/// One open request. Dropping it forgets the request.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    pending: &'a Pending,
    id: u64,
    answer: oneshot::Receiver<Result<Reply, Fault>>,
    reports: Option<mpsc::Receiver<Bytes>>,
}

impl Pending {
    /// Opens a request under a number of its own.
    pub(crate) fn begin(&self, wants_progress: bool) -> Result<Waiting<'_>, Fault> {
        let (answer_in, answer) = oneshot::channel();
        let (reports_in, reports) =
            if wants_progress { Some(mpsc::channel(REPORTS_WAITING_MAX)) } else { None }.unzip();
        let mut table = self.table();
        if table.ended.is_some() {
            return Err(Fault::NotSent("it has stopped".to_owned()));
        }
        if table.open.len() >= REQUESTS_MAX {
            return Err(Fault::Busy);
        }
        table.last_id += 1;
        let id = table.last_id;
        table.open.insert(id, Entry { answer: answer_in, reports: reports_in });
        Ok(Waiting { pending: self, id, answer, reports })
    }

    /// Hands over an answer; false if nobody waits for it.
    pub(crate) fn answer(&self, id: u64, answer: Result<Reply, Fault>) -> bool {
        let entry = self.table().open.remove(&id);
        entry.is_some_and(|entry| entry.answer.send(answer).is_ok())
    }

    /// Hands over a progress report, if somebody listens and keeps up.
    pub(crate) fn report(&self, id: u64, report: Bytes) {
        if let Some(reports) = self.table().open.get(&id).and_then(|entry| entry.reports.as_ref()) {
            // Progress may be dropped: the next report says more than this one.
            let _ = reports.try_send(report);
        }
    }

    /// The only open request, if there is exactly one.
    pub(crate) fn only(&self) -> Option<u64> {
        let table = self.table();
        let mut ids = table.open.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Answers all open requests with `fault` and opens no more.
    pub(crate) fn end(&self, fault: &Fault) {
        let mut table = self.table();
        table.ended.get_or_insert_with(|| fault.clone());
        for (_, entry) in table.open.drain() {
            // Who does not wait any more need not hear it.
            let _ = entry.answer.send(Err(fault.clone()));
        }
    }

    /// Why no answer will come any more, if so.
    pub(crate) fn ended(&self) -> Option<Fault> {
        self.table().ended.clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while it holds the lock")
    }
}

impl Waiting<'_> {
    /// The request's number.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer and passes on what is reported before it.
    pub(crate) async fn answer(&mut self, listener: Listener<'_>) -> Result<Reply, Fault> {
        let nobody = |_| Err(Fault::Gone("forgot the request".to_owned()));
        let Some(reports) = &mut self.reports else {
            return (&mut self.answer).await.unwrap_or_else(nobody);
        };
        loop {
            tokio::select! {
                // Reports first, so that none comes after the answer.
                biased;
                Some(report) = reports.recv() => listener(report),
                answer = &mut self.answer => return answer.unwrap_or_else(nobody),
            }
        }
    }

    /// The answer, if it is there already.
    pub(crate) fn answer_now(&mut self, listener: Listener<'_>) -> Option<Result<Reply, Fault>> {
        while let Some(Ok(report)) = self.reports.as_mut().map(mpsc::Receiver::try_recv) {
            listener(report);
        }
        self.answer.try_recv().ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.table().open.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &'static str) -> Text {
        Text::check(Bytes::from_static(json.as_bytes())).expect("JSON")
    }

    #[tokio::test]
    async fn an_answer_finds_its_request_and_reports_come_first() {
        let pending = Pending::default();
        let mut first = pending.begin(true).expect("open");
        let mut second = pending.begin(false).expect("open");
        assert_eq!((first.id(), second.id()), (1, 2));
        pending.report(1, Bytes::from_static(b"half"));
        pending.report(2, Bytes::from_static(b"nobody listens"));
        assert!(pending.answer(2, Ok(Ok(text("2")))));
        assert!(pending.answer(1, Ok(Err(text("1")))));
        assert!(!pending.answer(1, Ok(Ok(text("0")))), "a second answer");
        let heard = Mutex::new(Vec::new());
        let listen = |report| heard.lock().unwrap().push(report);
        assert_eq!(first.answer(&listen).await, Ok(Err(text("1"))));
        assert_eq!(second.answer(&listen).await, Ok(Ok(text("2"))));
        assert_eq!(*heard.lock().unwrap(), [Bytes::from_static(b"half")]);
    }

    #[test]
    fn who_gives_up_is_forgotten() {
        let pending = Pending::default();
        let waiting = pending.begin(false).expect("open");
        assert_eq!(pending.only(), Some(1));
        drop(waiting);
        assert_eq!(pending.only(), None);
        assert!(!pending.answer(1, Ok(Ok(text("{}")))));
    }

    #[test]
    fn the_end_reaches_everyone() {
        let pending = Pending::default();
        let mut waiting = pending.begin(false).expect("open");
        pending.end(&Fault::Gone("exited".to_owned()));
        assert_eq!(waiting.answer_now(&|_| {}), Some(Err(Fault::Gone("exited".to_owned()))));
        assert_eq!(pending.begin(false).expect_err("over"), Fault::NotSent("it has stopped".to_owned()));
    }

    #[test]
    fn there_is_an_end_to_waiting_requests() {
        let pending = Pending::default();
        let waiting: Vec<_> = (0..REQUESTS_MAX).map(|_| pending.begin(false).expect("open")).collect();
        assert_eq!(pending.begin(false).expect_err("full"), Fault::Busy);
        drop(waiting);
        assert!(pending.begin(false).is_ok());
    }
}
