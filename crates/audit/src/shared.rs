//! What the audit log and its writer share: the open segment, the queue, the intents, the settings.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redact::Redactor;

use crate::checkpoint::Removed;
use crate::clock::Clock;
use crate::config::{Config, SyncPolicy};
use crate::degraded::{Degraded, Part};
use crate::error::AuditError;
use crate::file_ops::FileOps;
use crate::in_place::InPlace;
use crate::intents::Intents;
use crate::line::Body;
use crate::open_segment::OpenSegment;
use crate::queue::{ClosedCall, Entry, Queue};
use crate::retention::{self, Age, PruneTrigger, REMOVED_MAX};
use crate::segments::FILE;
use crate::settings::Settings;
use crate::{end_check, head_file, recover};

/// Of two locks the segment's is taken first.
pub(crate) struct Shared {
    pub(crate) ops: Arc<dyn FileOps>,
    pub(crate) queue: Queue,
    pub(crate) intents: Intents,
    pub(crate) settings: Settings,
    pub(crate) dir: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) degraded: Arc<Degraded>,
    redactor: Option<Redactor>,
    /// Whether the noted head was looked for in the audit log.
    is_compared: AtomicBool,
    /// The number of the audit log's last record when last seen. A call's own record is never before it.
    last_seen: AtomicU64,
    segment: Mutex<Option<OpenSegment>>,
    /// Whether that segment is still the audit log's end.
    pub(crate) in_place: InPlace,
}

impl Shared {
    pub(crate) fn new(
        dir: &Path,
        clock: Clock,
        config: Config,
        redactor: Option<Redactor>,
        ops: Arc<dyn FileOps>,
    ) -> Shared {
        let degraded = Arc::<Degraded>::default();
        Shared {
            queue: Queue::default(),
            intents: Intents::new(dir, Arc::clone(&ops), Arc::clone(&degraded)),
            settings: Settings::new(config),
            dir: dir.to_owned(),
            clock,
            degraded,
            redactor,
            is_compared: AtomicBool::new(false),
            last_seen: AtomicU64::new(0),
            segment: Mutex::new(None),
            in_place: InPlace::of(dir.join(FILE)),
            ops,
        }
    }

    pub(crate) fn last_seen(&self) -> u64 {
        self.last_seen.load(Ordering::Relaxed)
    }

    /// Runs `work` on the open segment, which is opened first if need be.
    pub(crate) fn with_segment<T>(
        &self,
        work: impl FnOnce(&mut OpenSegment) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        let mut slot = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        let config = self.settings.config();
        let segment = match &mut *slot {
            Some(segment) => segment,
            none => none.insert(OpenSegment::open(&self.dir, &config, self.clock, Arc::clone(&self.ops))?),
        };
        segment.config = config;
        let done = work(segment);
        self.last_seen.store(segment.head.seq, Ordering::Relaxed);
        self.in_place.set(segment.id);
        done
    }

    /// Looks closer at an audit log that is not where it was: another process closed the segment, or it was removed, and then
    /// nothing that is written from now on stays.
    #[cold]
    pub(crate) fn find_segment(&self) -> Result<(), AuditError> {
        let found = self.with_segment(|segment| segment.locked(|_| Ok(())));
        let Err(failure) = found else { return Ok(()) };
        self.degraded.report(Part::Records, Some(&failure));
        self.queue.fail(failure.clone());
        if failure.lets_reads_go_on() { Ok(()) } else { Err(failure) }
    }

    /// Looks for the noted head in the audit log, unless this process has done so. Nothing may be written before.
    pub(crate) fn compare_once(&self) -> Result<(), AuditError> {
        if self.is_compared.load(Ordering::Acquire) {
            return Ok(());
        }
        self.with_segment(|segment| segment.locked(|segment| end_check::compare(segment, &*self.ops)))?;
        self.is_compared.store(true, Ordering::Release);
        Ok(())
    }

    /// Appends and takes out of the list what reached the disk. True if a segment was closed before.
    pub(crate) fn append(&self, records: &mut Vec<impl Body>) -> Result<bool, AuditError> {
        self.compare_once()?;
        self.with_segment(|segment| segment.append(records))
    }

    /// Hands what was written to the disk itself and notes the head that is safe by now.
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        self.compare_once()?;
        self.with_segment(|segment| {
            let safe = segment.head;
            segment.sync()?;
            segment.locked(|segment| {
                // Best effort: the next time is a second away.
                let _ = head_file::note(&self.dir, safe, segment.signer()?, &*self.ops);
                Ok(())
            })
        })
    }

    /// Puts what is left of the arguments into the record, and strikes what a caller made up out of it.
    /// Returns the bytes that are no longer held.
    pub(crate) fn strike(&self, entry: &mut Entry) -> usize {
        match entry {
            Entry::Call(closed) => self.strike_call(closed),
            Entry::Event(event) => {
                let redactor = self.redactor.as_ref();
                if let Some((redactor, text)) = redactor.zip(event.foreign()) {
                    strike_text(redactor, text);
                }
                0
            }
        }
    }

    fn strike_call(&self, closed: &mut ClosedCall) -> usize {
        let (plain, opening) = (closed.plain.take(), &mut closed.record.opening);
        if let Some(redactor) = &self.redactor {
            opening.arguments = plain.as_ref().and_then(|plain| plain.strike(redactor));
            // The name of a tool that there is none of is the caller's text.
            if opening.effect.is_none() {
                strike_text(redactor, &mut opening.tool);
            }
        }
        plain.map_or(0, |plain| plain.bytes())
    }

    /// Writes the records of calls that were running when their process died, and says how many.
    pub(crate) fn recover(&self) -> Result<usize, AuditError> {
        let mut recovered = 0;
        for log in recover::dead_logs(&self.dir).map_err(AuditError::intents)? {
            let mut left_open = log.left_open(&self.dir).map_err(AuditError::intents)?;
            recovered += left_open.len();
            if !left_open.is_empty() {
                self.append(&mut left_open)?;
            }
            if self.settings.sync() != SyncPolicy::Never {
                // Its other records may have been written a moment before their process died.
                self.sync()?;
            }
            log.remove(&*self.ops).map_err(AuditError::intents)?;
        }
        Ok(recovered)
    }

    /// Removes segments that are too old or too many.
    pub(crate) fn prune(&self, trigger: PruneTrigger) -> Result<Vec<Removed>, AuditError> {
        let (now_ms, config) = ((self.clock)(), self.settings.config());
        let mut removed = Vec::new();
        if !self.dir.is_dir() {
            return Ok(removed);
        }
        self.compare_once()?;
        while removed.len() < REMOVED_MAX {
            let oldest = self.with_segment(|segment| {
                segment.close_if_due()?;
                retention::remove_oldest(segment, &Age { config: &config, now_ms, trigger }, &*self.ops)
            })?;
            match oldest {
                Some(oldest) => removed.push(oldest),
                None => break,
            }
        }
        Ok(removed)
    }
}

fn strike_text(redactor: &Redactor, text: &mut Arc<str>) {
    let struck = redactor.text(text);
    if *struck != **text {
        *text = Arc::from(struck);
    }
}
