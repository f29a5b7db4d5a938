//! Files of settings, ours and other clients', as texts: read within bounds, replaced so that a reader sees the old text
//! or the new one, whatever happens meanwhile. What is no regular file is not waited for.
#![expect(clippy::disallowed_methods, reason = "the configuration is a declared home of files")]

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// Links followed to the file that is written; what Linux itself follows.
const LINKS_MAX: usize = 40;

/// The mode of a new file: settings may hold secrets.
const NEW_FILE_MODE: u32 = 0o600;

/// The bits of a mode that a new content keeps.
const KEPT_MODE_BITS: u32 = 0o777;

/// The bit of a folder in which nobody takes away what is another's.
const STICKY: u32 = 0o1000;

/// Why a file may say what somebody else wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exposed {
    /// Neither ours nor the administrator's.
    #[error("belongs to another user; make it yours, or name it with --config")]
    Owner,
    /// Its mode lets everybody, or a group of several, write it.
    #[error("can be written by other users; take that away with `chmod go-w`, or name it with --config")]
    Mode,
}

/// Reads a text of bounded size, and waits for nobody who might write it.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(open(path)?.0, bytes_max)
}

/// The same, unless somebody else could have written it.
pub fn read_own(path: &Path, bytes_max: u64) -> io::Result<Result<String, Exposed>> {
    let (file, found) = open(path)?;
    match exposed(&found, geteuid().as_raw()) {
        Some(exposed) => Ok(Err(exposed)),
        None => text(file, bytes_max).map(Ok),
    }
}

/// Who else than the user `us` could have written a file or in a folder. The administrator could write anything anyway, and a group that
/// bears the user's own number is theirs alone on the systems that make files writable for it.
fn exposed(found: &Metadata, us: u32) -> Option<Exposed> {
    // `/dev/null` holds nothing that anybody could write.
    if !found.is_file() && !found.is_dir() {
        return None;
    }
    let (owner, mode) = (found.uid(), found.mode());
    if owner != us && owner != 0 {
        return Some(Exposed::Owner);
    }
    let is_own_group = found.gid() == owner;
    (mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_own_group)).then_some(Exposed::Mode)
}

/// Who else than us and the administrator could have written a file or a folder that is run from, in words that name it and say
/// what to do; nothing if nobody. Looks behind links.
pub fn exposure(path: &Path) -> io::Result<Option<String>> {
    Ok(told(path, &fs::metadata(path)?))
}

/// The same of a folder that holds such files. Where each may take away only what is their own (the sticky bit), none of ours
/// can be replaced.
pub fn folder_exposure(folder: &Path) -> io::Result<Option<String>> {
    let found = fs::metadata(folder)?;
    let is_replaced =
        found.mode() & STICKY == 0 || exposed(&found, geteuid().as_raw()) == Some(Exposed::Owner);
    Ok(told(folder, &found).filter(|_| is_replaced))
}

fn told(path: &Path, found: &Metadata) -> Option<String> {
    let (path, us) = (path.display(), geteuid().as_raw());
    Some(match exposed(found, us)? {
        Exposed::Owner => {
            let owner = found.uid();
            format!("{path} belongs to another user ({owner}); make it yours with `chown {us} {path}`")
        }
        Exposed::Mode => {
            let mode = found.mode() & KEPT_MODE_BITS;
            format!(
                "{path} can be written by other users (mode {mode:03o}); take that away with `chmod go-w {path}`"
            )
        }
    })
}

fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // A pipe that nobody writes into would be opened for ever.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    let kind = found.file_type();
    // `/dev/null` is how people write an empty file.
    if !kind.is_file() && !kind.is_char_device() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok((file, found))
}

fn text(file: File, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            io::Error::new(error.kind(), "it is not text in UTF-8; save it in that encoding")
        }
        _ => error,
    })?;
    if text.len() as u64 > bytes_max {
        let mib = bytes_max / (1024 * 1024);
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {mib} MiB")));
    }
    Ok(text)
}

/// The files of a folder whose names end like this, in the order of their names.
pub fn with_ending(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_meant = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending));
        if is_meant && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The line and column of a byte of a text, counted from 1, columns in characters.
pub fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// True for a file, also behind links.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// True if anything lies there.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// The path without links; what does not exist stays as it is written.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Where the links of a folder lead, by their own words, whether or not something is there; nothing of a folder that cannot be
/// read.
pub fn link_targets(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let targets = entries.filter_map(|entry| entry.ok()?.path().read_link().ok());
    targets.map(|target| folder.join(target)).collect()
}

/// Replaces or creates the file that the path, or the link at it, names. A file keeps its mode.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = followed(path)?;
    let folder = parent(&path);
    fs::create_dir_all(folder)?;
    let mode = match fs::metadata(&path) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is no file")),
        Ok(found) => found.permissions().mode() & KEPT_MODE_BITS,
        Err(error) if error.kind() == ErrorKind::NotFound => NEW_FILE_MODE,
        Err(error) => return Err(error),
    };
    // In the same folder, since a rename cannot cross file systems.
    let mut new = tempfile::Builder::new().prefix(".toolcrib-").tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(Permissions::from_mode(mode))?;
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|error| error.error)?;
    // The name is on disk as well; some file systems cannot say so, and the content is safe anyway.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Writes a file that must not exist yet, with the mode of another.
pub fn copy(of: &Path, text: &str, to: &Path) -> io::Result<()> {
    let mode = fs::metadata(of)?.permissions().mode() & KEPT_MODE_BITS;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
    // The process's umask may have taken bits away.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The folder of the file that the path, or the link at it, names.
pub fn folder_of(path: &Path) -> io::Result<PathBuf> {
    followed(path).map(|path| parent(&path).to_owned())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path behind a chain of links. What it leads to need not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("too many links in a row"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn columns_count_characters() {
        for (byte, expected) in [(0, (1, 1)), (3, (1, 3)), (4, (2, 1)), (5, (2, 2)), (99, (2, 2))] {
            assert_eq!(line_and_column("aé\nb", byte), expected, "{byte}");
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").permissions().mode() & 0o7777
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).expect("a folder");
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn nobody_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link, pipe) =
            (folder.path().join("file"), folder.path().join("link"), folder.path().join("pipe"));
        fs::write(&path, "text").expect("a file");
        symlink(&path, &link).expect("a link");
        mkfifoat(CWD, &pipe, Mode::RWXU).expect("a pipe");
        let said = |path: &Path| read(path, 4).map_err(|error| error.to_string());
        assert_eq!((said(&path), said(&link)), (Ok("text".to_owned()), Ok("text".to_owned())));
        for odd in [&pipe, folder.path()] {
            assert_eq!(said(odd), Err("it is no regular file".to_owned()), "{}", odd.display());
        }
        assert_eq!(said(Path::new("/dev/null")), Ok(String::new()));
        assert_eq!(read(Path::new("/dev/zero"), 4).expect_err("endless").kind(), ErrorKind::FileTooLarge);
        assert_eq!(read(&folder.path().join("none"), 4).expect_err("none").kind(), ErrorKind::NotFound);
        assert_eq!(read(&path, 3).expect_err("too large").kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_others_could_have_written_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "text").expect("a file");
        let (us, folder) = (geteuid().as_raw(), folder.path());
        for (path, mode, strict, in_folder) in [
            (&*file, 0o700, false, false),
            (&file, 0o666, true, true),
            (folder, 0o755, false, false),
            (folder, 0o757, true, true),
            (folder, 0o1777, true, false),
        ] {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
            let shown = path.display();
            let bits = mode & 0o777;
            let told = format!(
                "{shown} can be written by other users (mode {bits:o}); take that away with `chmod go-w {shown}`"
            );
            assert_eq!(exposure(path).expect("it is there"), strict.then(|| told.clone()), "{mode:o}");
            assert_eq!(folder_exposure(path).expect("it is there"), in_folder.then_some(told), "{mode:o}");
        }
        assert_eq!(exposure(&folder.join("none")).expect_err("none").kind(), ErrorKind::NotFound);
        // Only root gives files away.
        if us == 0 {
            std::os::unix::fs::chown(folder, Some(12_345), None).expect("an owner");
            let shown = folder.display();
            let told =
                format!("{shown} belongs to another user (12345); make it yours with `chown 0 {shown}`");
            // Whoever owns a folder takes away what they like, whatever the bit says.
            assert_eq!(folder_exposure(folder).expect("it is there"), Some(told));
        }
    }

    #[test]
    fn a_file_keeps_its_mode_and_a_new_one_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/c.toml");
        replace(&path, "one").expect("it can be written");
        assert_eq!((mode(&path), fs::read_to_string(&path).expect("text").as_str()), (0o600, "one"));
        fs::set_permissions(&path, Permissions::from_mode(0o664)).expect("a mode");
        replace(&path, "two").expect("it can be written");
        assert_eq!((mode(&path), fs::read_to_string(&path).expect("text").as_str()), (0o664, "two"));
        assert_eq!(names(&folder.path().join("a/b")), ["c.toml"]);
    }

    #[test]
    fn what_is_no_utf_8_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, b"Z\xe4hlt").expect("a file");
        let said = read(&path, 10).expect_err("another encoding").to_string();
        assert_eq!(said, "it is not text in UTF-8; save it in that encoding");
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link.toml");
        symlink("dotfiles/real.toml", &link).expect("a link");
        replace(&link, "one").expect("it can be written");
        assert_eq!(fs::read_to_string(folder.path().join("dotfiles/real.toml")).expect("text"), "one");
        assert!(link.is_symlink());
        let circle = folder.path().join("circle");
        symlink("circle", &circle).expect("a link");
        assert_eq!(replace(&circle, "x").expect_err("no end").to_string(), "too many links in a row");
    }

    #[test]
    fn what_cannot_be_replaced_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(replace(folder.path(), "x").expect_err("a folder").to_string(), "it is no file");
        let path = folder.path().join("file");
        fs::write(&path, "old").expect("a file");
        assert!(replace(&path.join("below"), "x").is_err());
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_copy_has_the_same_mode_and_overwrites_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, to) = (folder.path().join("file"), folder.path().join("copy"));
        fs::write(&path, "text").expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("a mode");
        copy(&path, "text", &to).expect("it can be written");
        assert_eq!((mode(&to), fs::read_to_string(&to).expect("text").as_str()), (0o640, "text"));
        assert_eq!(copy(&path, "other", &to).expect_err("it is there").kind(), ErrorKind::AlreadyExists);
    }
}
