//! How far the audit log went, signed, in a small file beside it: without it nobody could tell that the end of an audit log
//! is missing.
//!
//! `audit.head` has three slots of one line each. Two hold a head, `SEQ HASH SIGNATURE`, and are written in turns, so that a
//! power cut spoils one at most; a head is noted only once everything up to it survives a power cut. The third holds the
//! loss that nobody acknowledged yet: the number of the line that tells of it, and the record that was kept.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use store::found;

use crate::file_ops::{FILE_MODE, FileOps};
use crate::head::Head;
use crate::key::{PublicKey, Signer};
use crate::loss::Loss;

/// The file's name within the state folder.
pub(crate) const HEAD_FILE: &str = "audit.head";

/// One slot. A line takes 20 + 1 + 64 + 1 + 128 bytes at most; the rest is blank.
const SLOT_BYTES: usize = 256;

const HEADS: [usize; 2] = [0, 1];
const LOSS: usize = 2;

/// What is signed begins with the purpose, so that no line can be taken for one of the other kind.
const HEAD_PURPOSE: &str = "toolcrib audit head\n";
const LOSS_PURPOSE: &str = "toolcrib audit loss\n";

/// Notes a head, unless a later one is noted. Meant for the holder of the audit log's lock.
pub(crate) fn note(dir: &Path, head: Head, signer: &Signer, ops: &dyn FileOps) -> io::Result<()> {
    let file = open(dir)?;
    let mut seqs = [0; 2];
    for slot in HEADS {
        seqs[slot] = head_in(&file, slot, &[signer.public()])?.map_or(0, |head| head.seq);
    }
    if seqs.iter().any(|seq| *seq >= head.seq) {
        return Ok(());
    }
    let older = usize::from(seqs[1] < seqs[0]);
    write(&file, older, &line(HEAD_PURPOSE, &head.to_string(), signer), ops)
}

/// Notes a head in both slots, whatever is noted there: it stands behind a line of the audit log that says what was lost.
/// Meant for the holder of the audit log's lock.
pub(crate) fn replace(dir: &Path, head: Head, signer: &Signer, ops: &dyn FileOps) -> io::Result<()> {
    let (file, line) = (open(dir)?, line(HEAD_PURPOSE, &head.to_string(), signer));
    HEADS.into_iter().try_for_each(|slot| write(&file, slot, &line, ops))
}

/// Notes the loss that nobody acknowledged, or that there is none any more.
pub(crate) fn mark_loss(
    dir: &Path,
    loss: Option<&Loss>,
    signer: &Signer,
    ops: &dyn FileOps,
) -> io::Result<()> {
    let line = match loss {
        Some(loss) => line(LOSS_PURPOSE, &format!("{} {}", loss.seq, loss.kept), signer),
        None => " ".repeat(SLOT_BYTES),
    };
    write(&open(dir)?, LOSS, &line, ops)
}

fn open(dir: &Path) -> io::Result<File> {
    let path = dir.join(HEAD_FILE);
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)
}

fn write(file: &File, slot: usize, line: &str, ops: &dyn FileOps) -> io::Result<()> {
    ops.write_at(file, line.as_bytes(), (slot * SLOT_BYTES) as u64)
}

fn line(purpose: &str, text: &str, signer: &Signer) -> String {
    let signature = signer.sign(format!("{purpose}{text}").as_bytes());
    let signature = str::from_utf8(&signature).expect("hexadecimal digits are ASCII");
    format!("{:<width$}\n", format!("{text} {signature}"), width = SLOT_BYTES - 1)
}

/// The latest head that was noted with one of these keys; `None` if there is none. Blocks on the disk.
pub fn noted_head(dir: &Path, keys: &[PublicKey]) -> io::Result<Option<Head>> {
    let Some(file) = found(File::open(dir.join(HEAD_FILE)))? else { return Ok(None) };
    let [one, other] = HEADS.map(|slot| head_in(&file, slot, keys));
    Ok([one?, other?].into_iter().flatten().max_by_key(|head| head.seq))
}

/// The loss that nobody acknowledged, noted with one of these keys. Blocks on the disk.
pub fn noted_loss(dir: &Path, keys: &[PublicKey]) -> io::Result<Option<Loss>> {
    let Some(file) = found(File::open(dir.join(HEAD_FILE)))? else { return Ok(None) };
    let text = text_in(&file, LOSS, LOSS_PURPOSE, keys)?;
    let numbers = text.as_deref().and_then(|text| text.split_once(' '));
    Ok(numbers.and_then(|(seq, kept)| Some(Loss::new(seq.parse().ok()?, kept.parse().ok()?))))
}

fn head_in(file: &File, slot: usize, keys: &[PublicKey]) -> io::Result<Option<Head>> {
    Ok(text_in(file, slot, HEAD_PURPOSE, keys)?.and_then(|text| Head::parse(&text)))
}

/// What stands in a slot, if one of these keys has signed it for this purpose.
fn text_in(file: &File, slot: usize, purpose: &str, keys: &[PublicKey]) -> io::Result<Option<String>> {
    let mut bytes = [0; SLOT_BYTES];
    match file.read_exact_at(&mut bytes, (slot * SLOT_BYTES) as u64) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let Some((text, signature)) =
        str::from_utf8(&bytes).ok().and_then(|line| line.trim_ascii_end().rsplit_once(' '))
    else {
        return Ok(None);
    };
    let signed = format!("{purpose}{text}");
    let is_signed = keys.iter().any(|key| key.has_signed(signed.as_bytes(), signature.as_bytes()));
    Ok(is_signed.then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{file_ops::SystemFiles, hash::Hash};

    #[test]
    fn the_latest_head_is_found_whichever_slot_is_spoilt() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of_folder(dir.path()).unwrap();
        let noted = || noted_head(dir.path(), &[signer.public()]).unwrap().map(|head| head.seq);
        assert_eq!(noted(), None);
        for seq in [1, 5, 3, 1_000, u64::MAX - 1] {
            note(dir.path(), Head { seq, hash: Hash::of(b"x") }, &signer, &SystemFiles).unwrap();
        }
        assert_eq!(noted(), Some(u64::MAX - 1));
        let path = dir.path().join(HEAD_FILE);
        let whole = fs::read(&path).unwrap();
        let mut left: Vec<Option<u64>> = Vec::new();
        for at in [10, SLOT_BYTES + 10] {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 1;
            fs::write(&path, spoilt).unwrap();
            left.push(noted());
        }
        left.sort_unstable();
        assert_eq!(left, [Some(1_000), Some(u64::MAX - 1)]);
        fs::write(&path, &whole[..SLOT_BYTES / 2]).unwrap();
        assert_eq!(noted(), None);
    }

    #[test]
    fn a_head_is_noted_in_place_of_the_older_and_of_no_later_one() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of_folder(dir.path()).unwrap();
        let keys = [signer.public()];
        for (seq, slots) in [
            (5, [Some(5), None]),
            (3, [Some(5), None]),
            (6, [Some(5), Some(6)]),
            (6, [Some(5), Some(6)]),
            (4, [Some(5), Some(6)]),
            (8, [Some(8), Some(6)]),
            (7, [Some(8), Some(6)]),
            (9, [Some(8), Some(9)]),
        ] {
            note(dir.path(), Head { seq, hash: Hash::of(b"x") }, &signer, &SystemFiles).unwrap();
            let file = File::open(dir.path().join(HEAD_FILE)).unwrap();
            let noted = HEADS.map(|slot| head_in(&file, slot, &keys).unwrap().map(|head| head.seq));
            assert_eq!(noted, slots, "{seq}");
            let latest = noted_head(dir.path(), &keys).unwrap().map(|head| head.seq);
            assert_eq!(latest, slots.into_iter().flatten().max(), "{seq}");
        }
    }

    #[test]
    fn a_loss_stays_noted_beside_the_heads_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of_folder(dir.path()).unwrap();
        let keys = [signer.public()];
        assert_eq!(noted_loss(dir.path(), &keys).unwrap(), None);
        mark_loss(dir.path(), Some(&Loss::new(3, 9)), &signer, &SystemFiles).unwrap();
        assert_eq!(noted_head(dir.path(), &keys).unwrap(), None);
        let head = Head { seq: 3, hash: Hash::of(b"x") };
        replace(dir.path(), head, &signer, &SystemFiles).unwrap();
        assert_eq!(noted_head(dir.path(), &keys).unwrap(), Some(head));
        assert_eq!(noted_loss(dir.path(), &keys).unwrap(), Some(Loss::new(3, 9)));
        assert_eq!(noted_loss(dir.path(), &[]).unwrap(), None, "who signed it is not known");
        mark_loss(dir.path(), None, &signer, &SystemFiles).unwrap();
        assert_eq!(noted_loss(dir.path(), &keys).unwrap(), None);
        assert_eq!(noted_head(dir.path(), &keys).unwrap(), Some(head));
    }
}
