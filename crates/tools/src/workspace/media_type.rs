//! What bytes that are no text are: by their first bytes, or else by the name of the file.

/// How a model is shown bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a picture, of a type that models see.
    Image,
    /// As a sound, of a type that models hear.
    Audio,
    /// As bytes with an address.
    Blob,
}

/// A media type, and how it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MediaType {
    pub(super) name: &'static str,
    pub(super) form: Form,
}

/// Pictures that nothing here decodes.
pub(super) const AVIF: &str = "image/avif";
pub(super) const HEIC: &str = "image/heic";

/// What files of a type begin with, what else must be there at which byte, since several types share a container, and how
/// the type is shown.
type Magic = (&'static [u8], (usize, &'static [u8]), Form, &'static str);

const MAGIC: [Magic; 26] = [
    (b"\x89PNG\r\n\x1a\n", (0, b""), Form::Image, "image/png"),
    (b"\xff\xd8\xff", (0, b""), Form::Image, "image/jpeg"),
    (b"GIF87a", (0, b""), Form::Image, "image/gif"),
    (b"GIF89a", (0, b""), Form::Image, "image/gif"),
    (b"RIFF", (8, b"WEBP"), Form::Image, "image/webp"),
    // Models do not see these; `ReadImage` makes others of them.
    (b"BM", (6, b"\0\0\0\0"), Form::Blob, "image/bmp"),
    (b"II*\0", (0, b""), Form::Blob, "image/tiff"),
    (b"MM\0*", (0, b""), Form::Blob, "image/tiff"),
    // One container for all of them: what comes first is a length.
    (b"", (4, b"ftypheic"), Form::Blob, HEIC),
    (b"", (4, b"ftypheix"), Form::Blob, HEIC),
    (b"", (4, b"ftypmif1"), Form::Blob, HEIC),
    (b"", (4, b"ftypavif"), Form::Blob, AVIF),
    (b"", (4, b"ftypavis"), Form::Blob, AVIF),
    (b"RIFF", (8, b"WAVE"), Form::Audio, "audio/wav"),
    (b"ID3", (0, b""), Form::Audio, "audio/mpeg"),
    (b"\xff\xfb", (0, b""), Form::Audio, "audio/mpeg"),
    (b"\xff\xf3", (0, b""), Form::Audio, "audio/mpeg"),
    (b"\xff\xf2", (0, b""), Form::Audio, "audio/mpeg"),
    (b"OggS", (0, b""), Form::Audio, "audio/ogg"),
    (b"fLaC", (0, b""), Form::Audio, "audio/flac"),
    (b"%PDF-", (0, b""), Form::Blob, "application/pdf"),
    (b"\x1f\x8b", (0, b""), Form::Blob, "application/gzip"),
    (b"\x28\xb5\x2f\xfd", (0, b""), Form::Blob, "application/zstd"),
    (b"\0asm", (0, b""), Form::Blob, "application/wasm"),
    (b"SQLite format 3\0", (0, b""), Form::Blob, "application/vnd.sqlite3"),
    (b"wOF2", (0, b""), Form::Blob, "font/woff2"),
];

/// Names are believed only where the bytes say nothing, and only for what is shown as bytes anyway.
/// Many of these begin alike: office documents are ZIP files, and so are Java archives.
const BY_EXTENSION: [(&str, &str); 21] = [
    ("7z", "application/x-7z-compressed"),
    ("avif", AVIF),
    ("bz2", "application/x-bzip2"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("heic", HEIC),
    ("ico", "image/vnd.microsoft.icon"),
    ("jar", "application/java-archive"),
    ("m4a", "audio/mp4"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("tar", "application/x-tar"),
    ("ttf", "font/ttf"),
    ("webm", "video/webm"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xz", "application/x-xz"),
    ("zip", "application/zip"),
];

pub(super) const UNKNOWN: &str = "application/octet-stream";

/// True if a file that begins so is of a type that is no text.
pub(super) fn has_magic(head: &[u8]) -> bool {
    by_magic(head).is_some()
}

fn by_magic(head: &[u8]) -> Option<&'static Magic> {
    MAGIC.iter().find(|(start, (at, inner), ..)| {
        head.starts_with(start) && head.get(*at..).is_some_and(|rest| rest.starts_with(inner))
    })
}

/// The media type of a file of this name and beginning.
pub(super) fn of(name: &str, head: &[u8]) -> MediaType {
    if let Some((_, _, form, name)) = by_magic(head) {
        return MediaType { name, form: *form };
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = BY_EXTENSION.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    MediaType { name: known.map_or(UNKNOWN, |(_, name)| *name), form: Form::Blob }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, head: &[u8], expected: &str, form: Form) {
        let found = of(name, head);
        assert_eq!((found.name, found.form), (expected, form), "{name} {head:?}");
    }

    #[test]
    fn bytes_are_believed_before_names() {
        check("a.zip", b"\x89PNG\r\n\x1a\n\0", "image/png", Form::Image);
        check("a", b"\xff\xd8\xff\xe0", "image/jpeg", Form::Image);
        check("a", b"GIF89a\0", "image/gif", Form::Image);
        check("a", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", Form::Image);
        check("a", b"BM\x36\x10\0\0\0\0\0\0\x36\0", "image/bmp", Form::Blob);
        check("a", b"II*\0\x08\0\0\0", "image/tiff", Form::Blob);
        check("a", b"MM\0*\0\0\0\x08", "image/tiff", Form::Blob);
        check("a", b"RIFF\0\0\0\0WAVEfmt ", "audio/wav", Form::Audio);
        check("a.jpg", b"\0\0\0\x1cftypheic\0\0\0\0", "image/heic", Form::Blob);
        check("a", b"\0\0\0\x1cftypavif\0\0\0\0", "image/avif", Form::Blob);
        check("a.mp4", b"\0\0\0\x1cftypisom\0\0\0\0", "video/mp4", Form::Blob);
        check("a", b"ID3\x04\0", "audio/mpeg", Form::Audio);
        check("a", b"\xff\xfb\x90", "audio/mpeg", Form::Audio);
        check("a", b"OggS\0", "audio/ogg", Form::Audio);
        check("a", b"fLaC\0", "audio/flac", Form::Audio);
        check("a.txt", b"%PDF-1.7", "application/pdf", Form::Blob);
    }

    #[test]
    fn names_help_where_bytes_say_nothing() {
        check("Report.DOCX", b"PK\x03\x04", WORD, Form::Blob);
        check("x.zip", b"PK\x03\x04", "application/zip", Form::Blob);
        check("x.bmp", b"BMW is no picture", "application/octet-stream", Form::Blob);
        check("x.png", b"\0", "application/octet-stream", Form::Blob);
        check("RIFF", b"RIFF", "application/octet-stream", Form::Blob);
        check("noext", b"\0", "application/octet-stream", Form::Blob);
        check("zip", b"\0", "application/octet-stream", Form::Blob);
    }

    const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
}
