//! The head of the audit log, signed, in a small file beside it: without it nobody could tell that the end of a
//! audit log is missing whose process was killed before it kept its head in the store.
//!
//! `audit.head` has two places of one line each, `SEQ HASH SIGNATURE`, written in turns, so that a power cut
//! spoils one at most. A head is noted only once everything up to it survives a power cut.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use crate::{
    file::FILE_MODE,
    key::{PublicKey, Signer},
    line::Head,
    pen::Pen,
};

/// The file's name within the state folder.
pub(crate) const HEAD_FILE: &str = "audit.head";

/// One place. A line takes 20 + 1 + 64 + 1 + 128 bytes at most; the rest is blank.
const PLACE_BYTES: usize = 256;

/// What is signed begins with this.
const PURPOSE: &str = "toolcrib audit head\n";

/// Notes a head, unless a later one is noted. Meant for the holder of the audit log's lock.
pub(crate) fn note(dir: &Path, head: Head, signer: &Signer, pen: &dyn Pen) -> io::Result<()> {
    let file = open(dir)?;
    let places = places(&file)?;
    let heads = places.each_ref().map(|place| read(place, &[signer.public()]).map_or(0, |head| head.seq));
    if heads.iter().any(|seq| *seq >= head.seq) {
        return Ok(());
    }
    let older = usize::from(heads[1] < heads[0]);
    pen.write_at(&file, line(head, signer).as_bytes(), (older * PLACE_BYTES) as u64)
}

/// Notes a head in both places, whatever is noted there: it stands behind a line of the audit log that says what was
/// lost. Meant for the holder of the audit log's lock.
pub(crate) fn replace(dir: &Path, head: Head, signer: &Signer, pen: &dyn Pen) -> io::Result<()> {
    let file = open(dir)?;
    let line = line(head, signer);
    pen.write_at(&file, line.as_bytes(), 0)?;
    pen.write_at(&file, line.as_bytes(), PLACE_BYTES as u64)
}

fn open(dir: &Path) -> io::Result<File> {
    let path = dir.join(HEAD_FILE);
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)
}

/// What stands in a place.
fn line(head: Head, signer: &Signer) -> String {
    let signature = signer.sign(format!("{PURPOSE}{head}").as_bytes());
    let signature = str::from_utf8(&signature).expect("hexadecimal digits are ASCII");
    format!("{:<width$}\n", format!("{head} {signature}"), width = PLACE_BYTES - 1)
}

/// The latest head that was noted with one of these keys; `None` if there is none. Blocks on the disk.
pub fn noted_head(dir: &Path, keys: &[PublicKey]) -> io::Result<Option<Head>> {
    let file = match File::open(dir.join(HEAD_FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    Ok(places(&file)?.iter().filter_map(|place| read(place, keys)).max_by_key(|head| head.seq))
}

fn places(file: &File) -> io::Result<[[u8; PLACE_BYTES]; 2]> {
    let mut places = [[0; PLACE_BYTES]; 2];
    for (nth, place) in places.iter_mut().enumerate() {
        match file.read_exact_at(place, (nth * PLACE_BYTES) as u64) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            read => read?,
        }
    }
    Ok(places)
}

fn read(place: &[u8], keys: &[PublicKey]) -> Option<Head> {
    let (head, signature) = str::from_utf8(place).ok()?.trim_ascii_end().rsplit_once(' ')?;
    let signed = format!("{PURPOSE}{head}");
    let is_signed = keys.iter().any(|key| key.has_signed(signed.as_bytes(), signature.as_bytes()));
    Head::parse(head).filter(|_| is_signed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{hash::Hash, pen::Steady};

    #[test]
    fn the_latest_head_is_found_whichever_place_is_spoilt() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of_folder(dir.path()).unwrap();
        let noted = || noted_head(dir.path(), &[signer.public()]).unwrap().map(|head| head.seq);
        assert_eq!(noted(), None);
        for seq in [1, 5, 3, 1_000, u64::MAX - 1] {
            note(dir.path(), Head { seq, hash: Hash::of(b"x") }, &signer, &Steady).unwrap();
        }
        assert_eq!(noted(), Some(u64::MAX - 1));
        let path = dir.path().join(HEAD_FILE);
        let whole = fs::read(&path).unwrap();
        let mut left: Vec<Option<u64>> = Vec::new();
        for at in [10, PLACE_BYTES + 10] {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 1;
            fs::write(&path, spoilt).unwrap();
            left.push(noted());
        }
        left.sort_unstable();
        assert_eq!(left, [Some(1_000), Some(u64::MAX - 1)]);
        fs::write(&path, &whole[..PLACE_BYTES / 2]).unwrap();
        assert_eq!(noted(), None);
    }
}
