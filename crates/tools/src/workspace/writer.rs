//! `Writer`: gives a file its new content for the tools that do: what a writer was not shown of a file stays, and a dry run
//! tells what would change in place of changing it.

use std::sync::Arc;

use tool_api::{Cancel, Context, DryRun, Expect, FileError, Inside, Root, Secrets, ToolError, Written};

use super::file_error::refused;
use super::lines_told::{LINES_TOLD_MAX, lines_told};
use super::text_encoding::utf8;

/// The most that is written to one file in one call, after decoding: far beyond what a model writes by itself.
pub(super) const CONTENT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// What writing takes of a call's hands.
pub(super) struct Writer {
    pub(super) files: Root,
    pub(super) cancel: Cancel,
    pub(super) dry_run: Option<Arc<DryRun>>,
    pub(super) secrets: Option<Arc<dyn Secrets>>,
}

impl Writer {
    pub(super) fn of(cx: &Context) -> Writer {
        let (files, cancel) = (cx.files.clone(), cx.cancel.clone());
        Writer { files, cancel, dry_run: cx.dry_run.clone(), secrets: cx.secrets.clone() }
    }

    pub(super) fn check_cancel(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::cancelled()) } else { Ok(()) }
    }

    /// Writes the content, or tells that it would be written. Blocks.
    pub(super) fn put(&self, path: &Inside, content: &[u8], expect: &Expect) -> Result<Written, ToolError> {
        let lines =
            self.secrets.as_ref().map(|secrets| secrets.placeholder_lines(content)).unwrap_or_default();
        // What has something in place of a secret never replaces a file with secrets: they would be lost.
        let would_lose = |present: &[u8]| !lines.is_empty() && self.holds_secrets(present);
        if let Some(dry_run) = &self.dry_run {
            return self.previewed(dry_run, (path, content, expect), &would_lose, &lines);
        }
        let is_kept = (!lines.is_empty()).then_some(&would_lose as &dyn Fn(&[u8]) -> bool);
        self.files.write_unless(path, content, expect, is_kept).map_err(|error| match error {
            FileError::Kept => would_destroy(&lines),
            other => refused(other),
        })
    }

    fn previewed(
        &self,
        dry_run: &DryRun,
        (path, content, expect): (&Inside, &[u8], &Expect),
        would_lose: &dyn Fn(&[u8]) -> bool,
        lines: &[usize],
    ) -> Result<Written, ToolError> {
        let change = self.files.preview(path, content, expect).map_err(refused)?;
        let present = change.before.as_ref().and_then(|before| before.shown.as_deref()).unwrap_or_default();
        if would_lose(present) {
            return Err(would_destroy(lines));
        }
        let created = change.before.is_none();
        let sha256 = change.after.as_ref().map(|after| after.sha256.clone()).unwrap_or_default();
        dry_run.would(change);
        Ok(Written { created, sha256, bytes: content.len() as u64 })
    }

    fn holds_secrets(&self, present: &[u8]) -> bool {
        self.secrets.as_ref().is_some_and(|secrets| secrets.are_in(present) || secrets.are_in(&utf8(present)))
    }
}

fn would_destroy(lines: &[usize]) -> ToolError {
    let hold = if lines.len() == 1 { "holds" } else { "hold" };
    ToolError::new(
        "would_destroy_secret",
        format!(
            "nothing was written: {} of the content {hold} `[REDACTED:…]`, which only stands in place of a secret, and the \
             file that is there has secrets, which would be lost; put what is new into another file, or ask the person to \
             change this one",
            lines_told(lines)
        ),
    )
    .with_details(serde_json::json!({ "lines": &lines[..lines.len().min(LINES_TOLD_MAX)] }))
}
