//! Retention: old segments are removed whole, oldest first. What was removed is named, with the head of its
//! chain, in a signed line of the book before it goes, so the rest can still be verified.
#![expect(clippy::disallowed_methods, reason = "the audit book is a declared home of files")]

use std::fs::{self, File};

use crate::{
    book::Shared,
    checkpoint::{Occasion, Removed, Said},
    config::Config,
    error::BookError,
    file::BookFile,
    pen::Pen,
    segments,
};

/// Segments that are removed in one go; more stay for the next time.
const REMOVED_MAX: usize = 10_000;

impl Shared {
    /// Removes segments that are too old or too many. The newest closed one always stays: its number is what
    /// the next one counts from.
    pub(crate) fn prune(&self) -> Result<Vec<Removed>, BookError> {
        let now_ms = (self.clock)();
        let mut removed = Vec::new();
        let exists = self.dir.is_dir();
        if exists {
            self.compare_once()?;
        }
        while exists && removed.len() < REMOVED_MAX {
            let oldest = self.with_file(|file| {
                file.close_if_due(now_ms, &*self.pen)?;
                remove_oldest(file, &self.config, now_ms, &*self.pen)
            })?;
            match oldest {
                Some(oldest) => removed.push(oldest),
                None => break,
            }
        }
        Ok(removed)
    }
}

fn remove_oldest(
    file: &mut BookFile,
    config: &Config,
    now_ms: i64,
    pen: &dyn Pen,
) -> Result<Option<Removed>, BookError> {
    file.locked(pen, |file| {
        let unwritable = BookError::unwritable;
        let closed = segments::closed(&file.dir).map_err(unwritable)?;
        let [oldest, _, ..] = &closed[..] else { return Ok(None) };
        let mut bytes = file.file.metadata().map_err(unwritable)?.len();
        for segment in &closed {
            bytes += fs::metadata(&segment.path).map_err(unwritable)?.len();
        }
        let end = File::open(&oldest.path).and_then(|file| segments::end_of(&file)).map_err(unwritable)?;
        // One without a record was damaged; it stays for whoever looks into that.
        let Some(last) = end.and_then(|end| end.last) else { return Ok(None) };
        let is_old = now_ms.saturating_sub(last.written_at_ms) > config.keep_ms();
        if !is_old && bytes <= config.max_bytes.0 {
            return Ok(None);
        }
        let segment = segments::name_of(&oldest.path);
        let removed = Removed { segment, seq: last.head.seq, hash: last.head.hash };
        let said = Said { removed: Some(removed.clone()), early: !is_old, ..Said::default() };
        file.write_checkpoint(Occasion::Removed, said, now_ms, pen)?;
        file.sync(pen)?;
        pen.remove(&oldest.path).map_err(unwritable)?;
        if !is_old {
            let (segment, last_record, max_bytes) = (&*removed.segment, removed.seq, config.max_bytes.0);
            tracing::error!(
                segment,
                last_record,
                max_bytes,
                "records younger than `audit.keep` were removed, as the audit book had grown beyond `audit.max_bytes`"
            );
        }
        Ok(Some(removed))
    })
}
