//! A person signs that they know what the audit log has lost.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::io;
use std::path::Path;

use crate::audit_log::AuditLog;
use crate::checkpoint::{self, Details, Occasion};
use crate::error::AuditError;
use crate::key::PublicKey;
use crate::line::{self, Line};
use crate::loss::{Loss, Losses};
use crate::read::Reader;
use crate::record::cut;
use crate::{end_check, head_file};

impl AuditLog {
    /// Signs into the audit log that a person knows what was lost of it, with what they say of it, and tells what that
    /// was. Writes nothing if nothing was lost, or all of it acknowledged. Blocks on the disk, for as long as reading
    /// the audit log takes.
    ///
    /// # Errors
    /// If the audit log cannot be read or written.
    pub fn acknowledge(&self, because: Option<&str>) -> Result<Vec<Loss>, AuditError> {
        let shared = &*self.shared;
        if !shared.dir.is_dir() {
            return Ok(Vec::new());
        }
        shared.compare_once()?;
        let (losses, noted) = losses(&shared.dir)?;
        let noted = noted.filter(|loss| !losses.are_acknowledged_after(loss.seq));
        let mut open: Vec<Loss> = losses.all.into_iter().filter(|loss| loss.acknowledged.is_none()).collect();
        if open.is_empty() {
            open.extend(noted);
        }
        if open.is_empty() {
            return Ok(open);
        }
        let details =
            Details { because: because.map(|because| cut(because).to_owned()), ..Details::default() };
        shared.with_segment(|segment| {
            segment.locked(|segment| {
                segment.write_checkpoint(Occasion::Acknowledged, details)?;
                end_check::note_end(segment, None, &*shared.ops)
            })
        })?;
        Ok(open)
    }
}

/// The losses that an audit log tells of, signed by the key of its folder, and the one that is noted beside it.
fn losses(dir: &Path) -> io::Result<(Losses, Option<Loss>)> {
    let key = PublicKey::of_folder(dir)?;
    let mut losses = Losses::default();
    let mut reader = Reader::since(dir, 0)?;
    while let Some(line) = reader.next_line()? {
        // Most lines are calls, and need not be hashed.
        if !line.contains("\"checkpoint\":{\"why\":\"") {
            continue;
        }
        if let Line::Whole(links) = line::read(line.as_bytes())
            && let Some(checkpoint) = links.checkpoint
            && key == Some(checkpoint.key)
            && checkpoint::is_signed(line.as_bytes(), &checkpoint)
        {
            losses.read(links.head, &checkpoint);
        }
    }
    Ok((losses, head_file::noted_loss(dir, key.as_slice())?))
}
