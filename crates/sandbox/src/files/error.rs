//! What can go wrong with a file, in sentences that may leave the program: no absolute path of the
//! host, and one text for every way out of the folder.

use std::io;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::inside::{Inside, NAME_BYTES_MAX};
use super::obeyed::ObeyedFile;

/// Why a file could not be read, written or listed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing is there.
    #[error("{0} does not exist")]
    NotFound(Inside),
    /// The root's own folder is not there any more.
    #[error(
        "the folder of the workspace is gone: it was deleted or moved away; nothing can be read or written until a folder \
         stands at its path again, which a person or a program outside can make"
    )]
    Gone,
    /// Another folder stands where the root's own was.
    #[error(
        "the folder of the workspace was deleted or moved away, and another one stands in its place now, which is used \
         from here on; look at what is in it and call again"
    )]
    Exchanged,
    /// The path leads out of the folder. The text is the same whether or not something lies there,
    /// so that it cannot be used to look around.
    #[error(
        "the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md"
    )]
    Outside,
    /// Something other than a regular file is there.
    #[error("{}", not_a_file_in_words(.path, .kind))]
    NotAFile {
        /// The path asked for.
        path: Inside,
        /// What it is, in a word or two.
        kind: &'static str,
    },
    /// The path, or a part of it, is not a folder.
    #[error("{0} is not a folder, or leads through something that is not one")]
    NotAFolder(Inside),
    /// It decides what tools may do here, so tools may not write it.
    #[error("{0} decides what may be done or run here, so only a person may write it")]
    Protected(Inside),
    /// A program that we start would load it.
    #[error(
        "{path} {claim}, so only a person may write it; a server whose script and `cwd` lie outside the workspace leaves \
         it free"
    )]
    OfServer {
        /// The path asked for.
        path: Inside,
        /// What the program has to do with it.
        claim: &'static str,
    },
    /// What no path can hold.
    #[error("the path has a NUL in it, which no path can have; give it without")]
    Nul,
    /// It is the workspace itself.
    #[error("this is the workspace itself, which is neither moved nor deleted; name what is in it")]
    Itself,
    /// Others obey this file, which may be another than was asked for, and nobody has agreed to this write.
    #[error("{0}, so a person must agree before it is written")]
    Obeyed(ObeyedFile),
    /// It holds secrets, so tools may neither read nor list nor write it.
    #[error(
        "{0} belongs to what this gateway is configured or signed in with, so no tool may read it; a person can"
    )]
    Secret(Inside),
    /// The handle may only read.
    #[error("the workspace is open for reading only")]
    ReadOnly,
    /// The file is not what the writer expected; nothing was written. The SHA-256 of the present content in hexadecimal,
    /// or nothing if there is no file.
    #[error("the file is not as expected: {}; read it again before writing", found_in_words(.0.as_deref()))]
    Changed(Option<String>),
    /// The file is not as a writer has left it, so what that replaced is not put back.
    #[error("{path} {}, and its SHA-256 is now {found}; nothing was put back. {}", who(*.by_us), instead(*.by_us))]
    ChangedSince {
        /// The path asked for.
        path: Inside,
        /// The SHA-256 of the present content in hexadecimal.
        found: String,
        /// Whether a later write of ours has left it so.
        by_us: bool,
    },
    /// Something has that path already.
    #[error("something is at {0} already; give another path, or move it away first")]
    Exists(Inside),
    /// A folder would end up in itself.
    #[error("{0} cannot be moved into itself")]
    IntoItself(Inside),
    /// It has entries, and was to be deleted as if it had none.
    #[error("{0} is a folder with something in it; say `recursive` to delete all of it")]
    NotEmpty(Inside),
    /// A rule is about what is in a folder.
    #[error(
        "a rule of this project is about {0}, so it is not moved or deleted with its folder; name it by itself"
    )]
    Held(Inside),
    /// Nothing is renamed between them.
    #[error("the two lie on different file systems; copy what is in it")]
    OtherFileSystem,
    /// What is deleted could not be had back.
    #[error("nothing can be deleted here, since there is no folder for what is deleted; a person can")]
    NoTrash,
    /// What is there may not be replaced with this; nothing was written.
    #[error("the file holds what would be lost")]
    Kept,
    /// A limit was passed.
    #[error("{what} is larger than {max} {unit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit, in `unit`.
        max: usize,
        /// The limit's unit.
        unit: &'static str,
    },
    /// The file system said no for another reason.
    #[error("the file system answered: {}", .0.kind())]
    Io(#[source] io::Error),
}

fn not_a_file_in_words(path: &Inside, kind: &str) -> String {
    match path.is_root() {
        true => "this is the workspace itself, which is a folder; name a file in it".to_owned(),
        false => format!("{path} is not a file but a {kind}"),
    }
}

fn found_in_words(found: Option<&str>) -> String {
    match found {
        Some(sha256) => format!("its SHA-256 is now {sha256}"),
        None => "it does not exist".to_owned(),
    }
}

fn who(by_us: bool) -> &'static str {
    if by_us {
        "was written again since by a tool"
    } else {
        "was changed since by somebody else, a person or a program"
    }
}

fn instead(by_us: bool) -> &'static str {
    if by_us {
        "Put back what the last write replaced first: that is what is found without an id"
    } else {
        "Read it; to have the earlier content all the same, move it away first"
    }
}

impl FileError {
    /// Names the failure of an operation on `path`.
    pub(super) fn of(path: &Inside) -> impl FnOnce(io::Error) -> FileError + '_ {
        |error| match (Errno::from_io_error(&error), error.kind()) {
            // cap-std reports an escape as a permission error that no system call made.
            (None, io::ErrorKind::PermissionDenied) => FileError::Outside,
            (Some(Errno::XDEV | Errno::LOOP), _) => FileError::Outside,
            (Some(Errno::NOENT), _) => FileError::NotFound(path.clone()),
            (Some(Errno::NOTDIR), _) => FileError::NotAFolder(path.clone()),
            (Some(Errno::ISDIR), _) => FileError::NotAFile { path: path.clone(), kind: "folder" },
            // Opening a socket, or a device nobody serves.
            (Some(Errno::NXIO), _) => FileError::NotAFile { path: path.clone(), kind: "socket" },
            (Some(Errno::NAMETOOLONG), _) => FileError::name_too_long(),
            _ => FileError::Io(error),
        }
    }

    /// As `of`, for the plain system calls.
    pub(super) fn of_errno(path: &Inside) -> impl FnOnce(Errno) -> FileError + '_ {
        |errno| FileError::of(path)(errno.into())
    }

    pub(super) fn name_too_long() -> FileError {
        FileError::TooLarge { what: "a name in the path", max: NAME_BYTES_MAX, unit: "bytes" }
    }

    pub(super) fn not_a_file(path: &Inside, found: FileType) -> FileError {
        let kind = match found {
            FileType::Directory => "folder",
            FileType::Fifo => "named pipe",
            FileType::Socket => "socket",
            FileType::Symlink => "symbolic link",
            FileType::CharacterDevice | FileType::BlockDevice => "device",
            _ => "special file",
        };
        FileError::NotAFile { path: path.clone(), kind }
    }
}
