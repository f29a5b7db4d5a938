//! What is missing of the audit log although its head was kept: looked for when the audit log is opened, written down in the
//! chain before anything else is, and found fault with until a person signs that they know.

use std::{fmt, path::Path, sync::atomic::Ordering};

use store::{Kind, Store, wait};

use crate::{
    anchor::{anchored, keep},
    audit_log::{AuditLog, Shared},
    checkpoint::{self, CHECKPOINT_RECORDS, Checkpoint, Lost, Occasion, Said},
    error::{AnchorError, AuditError},
    file::LogFile,
    head_note,
    key::PublicKey,
    line::{self, Head, Line},
    read::Reader,
    record::cut,
    segments::{self, Place},
};

/// Where the store keeps the loss that nobody acknowledged yet; an empty text is none.
const KEY: &str = "audit.lost";

/// Losses that are told of; each needs a start of the program, so there are few.
const LOSSES_MAX: usize = 100;

/// That records which the audit log had are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The number of the line that says so: the first one written after the loss.
    pub seq: u64,
    /// The number of the record that was kept elsewhere and is not in the audit log.
    pub kept: u64,
    /// The number of the line in which somebody signed that they know.
    pub acknowledged: Option<u64>,
    /// What they say of it.
    pub because: Option<String>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { seq, kept, .. } = self;
        match seq.saturating_sub(1) {
            0 => write!(f, "the whole book before this one was lost: it went up to record {kept} at least"),
            last if kept > &last => {
                write!(
                    f,
                    "the end after record {last} was lost: the audit log went up to record {kept} at least"
                )
            }
            _ => write!(
                f,
                "record {kept} is not the one that was kept: the audit log was written anew before record {seq}"
            ),
        }
    }
}

/// The losses that an audit log tells of, in the order they are read.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    all: Vec<Loss>,
    /// The first of those that nobody acknowledged.
    open: Option<Loss>,
    acknowledged: Option<u64>,
}

impl Losses {
    pub(crate) fn read(&mut self, head: Head, checkpoint: &Checkpoint) {
        match (checkpoint.why, checkpoint.said.lost) {
            (Occasion::Lost, Some(lost)) => {
                let loss = Loss { seq: head.seq, kept: lost.seq, acknowledged: None, because: None };
                self.open.get_or_insert(loss.clone());
                if self.all.len() < LOSSES_MAX {
                    self.all.push(loss);
                }
            }
            (Occasion::Acknowledged, _) => {
                for loss in self.all.iter_mut().filter(|loss| loss.acknowledged.is_none()) {
                    loss.acknowledged = Some(head.seq);
                    loss.because.clone_from(&checkpoint.said.because);
                }
                (self.open, self.acknowledged) = (None, Some(head.seq));
            }
            _ => {}
        }
    }

    /// The first that nobody acknowledged.
    pub(crate) fn open(&self) -> Option<&Loss> {
        self.open.as_ref()
    }

    /// Whether somebody acknowledged what was lost up to this line.
    pub(crate) fn are_acknowledged_after(&self, seq: u64) -> bool {
        self.acknowledged.is_some_and(|acknowledged| acknowledged > seq)
    }

    pub(crate) fn into_all(self) -> Vec<Loss> {
        self.all
    }
}

/// The loss that nobody acknowledged, as far as the store knows. Blocks on the store.
///
/// # Errors
/// If the store cannot be read, or what it holds is no loss.
pub fn marked_loss(store: &dyn Store) -> Result<Option<Loss>, AnchorError> {
    let kept = wait(store.cell(Kind::Anchor, KEY))?.map(|kept| kept.value).unwrap_or_default();
    let text = String::from_utf8_lossy(&kept);
    if text.is_empty() {
        return Ok(None);
    }
    let numbers = text.split_once(' ').and_then(|(seq, kept)| Some((seq.parse().ok()?, kept.parse().ok()?)));
    let (seq, kept) = numbers.ok_or(AnchorError::Unreadable)?;
    Ok(Some(Loss { seq, kept, acknowledged: None, because: None }))
}

impl Shared {
    /// Looks for the kept heads in the audit log, unless this process has done so. Nothing may be written before.
    pub(crate) fn compare_once(&self) -> Result<(), AuditError> {
        if self.is_compared.load(Ordering::Acquire) {
            return Ok(());
        }
        self.compare(self.store.as_deref())?;
        self.is_compared.store(true, Ordering::Release);
        Ok(())
    }

    /// Looks for the kept heads in the audit log. If one is not there, says so in the audit log, and only then keeps a newer one.
    pub(crate) fn compare(&self, store: Option<&dyn Store>) -> Result<(), AuditError> {
        self.with_file(|file| file.locked(&*self.pen, |file| self.compare_locked(file, store)))
    }

    fn compare_locked(&self, file: &mut LogFile, store: Option<&dyn Store>) -> Result<(), AuditError> {
        let noted = self.noted();
        let kept = store.and_then(|store| readable(anchored(store)));
        let is_lost =
            |head: &Head| readable(holds(&self.dir, file.last_seen(), *head).map(Some)) == Some(false);
        let lost = [noted, kept].into_iter().flatten().filter(is_lost).max_by_key(|head| head.seq);
        let Some(Head { seq, hash }) = lost else {
            if let Some(store) = store {
                remind(store);
                keep_newer(store, kept, noted);
            }
            return Ok(());
        };
        let said = Said { lost: Some(Lost { seq, hash }), ..Said::default() };
        file.write_checkpoint(Occasion::Lost, said, (self.clock)(), &*self.pen)?;
        let loss = Loss { seq: file.last_seen().seq, kept: seq, acknowledged: None, because: None };
        tracing::error!("{}", Notice(&loss));
        if let Err(error) = self.replace_kept(file, store, &loss) {
            // The line is written. The next start finds the heads of before and tells of the loss once more.
            tracing::warn!(%error, "it could not be noted up to where the audit log goes now");
        }
        Ok(())
    }

    /// The head in the file beside the audit log. Without it there is nothing to hold against the audit log, which is no reason
    /// to refuse calls.
    fn noted(&self) -> Option<Head> {
        let key = readable(PublicKey::of_folder(&self.dir))?;
        readable(head_note::noted_head(&self.dir, &[key]))
    }

    /// Keeps the end of the audit log as it is now, behind the line that tells of the loss.
    fn replace_kept(
        &self,
        file: &mut LogFile,
        store: Option<&dyn Store>,
        loss: &Loss,
    ) -> Result<(), AnchorError> {
        file.sync(&*self.pen)?;
        let head = file.last_seen();
        head_note::replace(&self.dir, head, file.signer()?, &*self.pen).map_err(AuditError::unwritable)?;
        if let Some(store) = store {
            mark(store, Some(loss))?;
            keep(store, head)?;
        }
        Ok(())
    }
}

/// What was read; nothing, and a word in the log, if it could not be.
fn readable<T>(read: Result<Option<T>, impl fmt::Display>) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(%error, "it cannot be checked whether the audit log has its end"))
        .ok()?
}

/// Moves what the store keeps, so that the next start need not look far back though no process ever ends in peace.
fn keep_newer(store: &dyn Store, kept: Option<Head>, noted: Option<Head>) {
    let newer = noted.filter(|noted| kept.is_some_and(|kept| kept.seq + CHECKPOINT_RECORDS < noted.seq));
    // The older one is as good, and found more slowly.
    let _ = newer.map(|noted| keep(store, noted));
}

/// Whether a kept record is in the audit log, or was removed as too old. `end` is the last record of the audit log.
fn holds(dir: &Path, end: Head, kept: Head) -> std::io::Result<bool> {
    if kept.seq >= end.seq {
        return Ok(kept == end);
    }
    Ok(match segments::place_of(dir, kept.seq)? {
        Place::Here(hash) => hash == kept.hash,
        Place::Before => true,
        Place::Nowhere => false,
    })
}

fn mark(store: &dyn Store, loss: Option<&Loss>) -> Result<(), AnchorError> {
    let text = loss.map_or_else(String::new, |loss| format!("{} {}", loss.seq, loss.kept));
    Ok(wait(store.overwrite(Kind::Anchor, KEY, text.into()))?)
}

/// Says once more, in each process, what nobody acknowledged.
fn remind(store: &dyn Store) {
    if let Ok(Some(loss)) = marked_loss(store) {
        tracing::warn!("{}", Notice(&loss));
    }
}

/// A loss as it is said to whoever reads the log.
struct Notice<'l>(&'l Loss);

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss = self.0;
        write!(
            f,
            "the audit log is not whole: {loss}; see `toolcrib audit verify`, then `toolcrib audit acknowledge`"
        )
    }
}

impl AuditLog {
    /// Signs into the audit log that a person knows what was lost of it, with what they say of it, and tells what that
    /// was. Writes nothing if nothing was lost, or all of it acknowledged. Blocks on the disk, for as long as reading
    /// the audit log takes.
    ///
    /// # Errors
    /// If the audit log or the store cannot be read or written.
    pub fn acknowledge(&self, store: &dyn Store, because: Option<&str>) -> Result<Vec<Loss>, AnchorError> {
        let shared = &*self.shared;
        let marked = marked_loss(store)?;
        anchored(store)?;
        if !shared.dir.is_dir() {
            return Ok(Vec::new());
        }
        shared.compare(Some(store))?;
        let told = losses(&shared.dir).map_err(AuditError::unwritable)?;
        let marked = marked.filter(|loss| !told.are_acknowledged_after(loss.seq));
        let mut open: Vec<Loss> =
            told.into_all().into_iter().filter(|loss| loss.acknowledged.is_none()).collect();
        if open.is_empty() {
            open.extend(marked);
        }
        if open.is_empty() {
            return Ok(open);
        }
        let said = Said { because: because.map(|because| cut(because).to_owned()), ..Said::default() };
        let head = shared.with_file(|file| {
            file.checkpoint(Occasion::Acknowledged, said, (shared.clock)(), &*shared.pen)?;
            Ok(file.last_seen())
        })?;
        shared.sync()?;
        mark(store, None)?;
        keep(store, head)?;
        Ok(open)
    }
}

/// The losses that an audit log tells of, signed by the key of its folder.
fn losses(dir: &Path) -> std::io::Result<Losses> {
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
    Ok(losses)
}
