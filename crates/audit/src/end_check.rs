//! Looks for the noted head in the audit log before this process writes there. If it is missing, a signed line says so, and
//! only then a newer one is noted.

use std::io;

use crate::checkpoint::{Details, Occasion};
use crate::error::AuditError;
use crate::file_ops::FileOps;
use crate::head::Head;
use crate::key::PublicKey;
use crate::loss::Loss;
use crate::open_segment::OpenSegment;
use crate::{head_file, segments};

/// Compares the end of the audit log, which is locked, with the noted head.
pub(crate) fn compare(segment: &mut OpenSegment, ops: &dyn FileOps) -> Result<(), AuditError> {
    // Without a head there is nothing to compare with, which is no reason to refuse calls.
    let Some(key) = readable(PublicKey::of_folder(&segment.dir)) else { return Ok(()) };
    let head = readable(head_file::noted_head(&segment.dir, &[key]));
    let is_there = |head: Head| readable(holds(segment, head).map(Some)).unwrap_or(true);
    let Some(lost) = head.filter(|head| !is_there(*head)) else {
        if let Ok(Some(loss)) = head_file::noted_loss(&segment.dir, &[key]) {
            tracing::warn!("{}", notice(&loss));
        }
        return Ok(());
    };
    let details = Details { lost: Some(lost), ..Details::default() };
    segment.write_checkpoint(Occasion::Lost, details)?;
    let loss = Loss::new(segment.head.seq, lost.seq);
    tracing::error!("{}", notice(&loss));
    if let Err(error) = note_end(segment, Some(&loss), ops) {
        // The line is written. The next start finds the head of before and tells of the loss once more.
        tracing::warn!(%error, "it could not be noted up to where the audit log goes now");
    }
    Ok(())
}

/// Notes the end of the audit log as it is now, behind a line about losses, and the loss that nobody acknowledged.
pub(crate) fn note_end(
    segment: &mut OpenSegment,
    loss: Option<&Loss>,
    ops: &dyn FileOps,
) -> Result<(), AuditError> {
    segment.sync()?;
    let (dir, head) = (segment.dir.clone(), segment.head);
    let signer = segment.signer()?;
    let noted = head_file::mark_loss(&dir, loss, signer, ops);
    Ok(noted.and_then(|()| head_file::replace(&dir, head, signer, ops))?)
}

/// What was read; nothing, and a word in the log, if it could not be.
fn readable<T>(read: io::Result<Option<T>>) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(%error, "it cannot be checked whether the audit log has its end"))
        .ok()?
}

/// Whether a noted record is in the audit log, or was removed as too old.
fn holds(segment: &OpenSegment, noted: Head) -> io::Result<bool> {
    let end = segment.head;
    if noted.seq >= end.seq {
        return Ok(noted == end);
    }
    segments::holds(&segment.dir, noted)
}

/// A loss as it is told to whoever reads the program's log.
fn notice(loss: &Loss) -> String {
    format!(
        "the audit log is not whole: {loss}; see `toolcrib audit verify`, then `toolcrib audit acknowledge`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_with_what_to_do() {
        let expected = "the audit log is not whole: the end after record 2 was lost: the audit log went up to record 9 at \
                        least; see `toolcrib audit verify`, then `toolcrib audit acknowledge`";
        assert_eq!(notice(&Loss::new(3, 9)), expected);
    }
}
