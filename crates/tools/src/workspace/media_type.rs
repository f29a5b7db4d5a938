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

const fn image(name: &'static str) -> MediaType {
    MediaType { name, form: Form::Image }
}

const fn audio(name: &'static str) -> MediaType {
    MediaType { name, form: Form::Audio }
}

const fn blob(name: &'static str) -> MediaType {
    MediaType { name, form: Form::Blob }
}

/// What files of a type begin with.
struct Magic {
    start: &'static [u8],
    /// What else must be there, and at which byte: several types share a container.
    inner: (usize, &'static [u8]),
    found: MediaType,
}

const fn magic(start: &'static [u8], found: MediaType) -> Magic {
    Magic { start, inner: (0, b""), found }
}

const fn riff(inner: &'static [u8], found: MediaType) -> Magic {
    Magic { start: b"RIFF", inner: (8, inner), found }
}

const MAGIC: [Magic; 18] = [
    magic(b"\x89PNG\r\n\x1a\n", image("image/png")),
    magic(b"\xff\xd8\xff", image("image/jpeg")),
    magic(b"GIF87a", image("image/gif")),
    magic(b"GIF89a", image("image/gif")),
    riff(b"WEBP", image("image/webp")),
    riff(b"WAVE", audio("audio/wav")),
    magic(b"ID3", audio("audio/mpeg")),
    magic(b"\xff\xfb", audio("audio/mpeg")),
    magic(b"\xff\xf3", audio("audio/mpeg")),
    magic(b"\xff\xf2", audio("audio/mpeg")),
    magic(b"OggS", audio("audio/ogg")),
    magic(b"fLaC", audio("audio/flac")),
    magic(b"%PDF-", blob("application/pdf")),
    magic(b"\x1f\x8b", blob("application/gzip")),
    magic(b"\x28\xb5\x2f\xfd", blob("application/zstd")),
    magic(b"\0asm", blob("application/wasm")),
    magic(b"SQLite format 3\0", blob("application/vnd.sqlite3")),
    magic(b"wOF2", blob("font/woff2")),
];

/// Names are believed only where the bytes say nothing, and only for what is shown as bytes anyway.
/// Many of these begin alike: office documents are ZIP files, and so are Java archives.
const BY_EXTENSION: [(&str, MediaType); 24] = [
    ("7z", blob("application/x-7z-compressed")),
    ("avif", blob("image/avif")),
    ("bmp", blob("image/bmp")),
    ("bz2", blob("application/x-bzip2")),
    ("docx", blob("application/vnd.openxmlformats-officedocument.wordprocessingml.document")),
    ("epub", blob("application/epub+zip")),
    ("heic", blob("image/heic")),
    ("ico", blob("image/vnd.microsoft.icon")),
    ("jar", blob("application/java-archive")),
    ("m4a", blob("audio/mp4")),
    ("mkv", blob("video/x-matroska")),
    ("mov", blob("video/quicktime")),
    ("mp4", blob("video/mp4")),
    ("ods", blob("application/vnd.oasis.opendocument.spreadsheet")),
    ("odt", blob("application/vnd.oasis.opendocument.text")),
    ("pptx", blob("application/vnd.openxmlformats-officedocument.presentationml.presentation")),
    ("tar", blob("application/x-tar")),
    ("tif", blob("image/tiff")),
    ("tiff", blob("image/tiff")),
    ("ttf", blob("font/ttf")),
    ("webm", blob("video/webm")),
    ("xlsx", blob("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")),
    ("xz", blob("application/x-xz")),
    ("zip", blob("application/zip")),
];

const UNKNOWN: MediaType = blob("application/octet-stream");

/// The media type of a file of this name and beginning.
pub(super) fn of(name: &str, head: &[u8]) -> MediaType {
    by_magic(head).or_else(|| by_extension(name)).unwrap_or(UNKNOWN)
}

fn by_magic(head: &[u8]) -> Option<MediaType> {
    let fits = |magic: &&Magic| {
        let (at, inner) = magic.inner;
        head.starts_with(magic.start) && head.get(at..).is_some_and(|rest| rest.starts_with(inner))
    };
    MAGIC.iter().find(fits).map(|magic| magic.found)
}

fn by_extension(name: &str) -> Option<MediaType> {
    let (_, extension) = name.rsplit_once('.')?;
    BY_EXTENSION.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|(_, found)| *found)
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
        check("a", b"RIFF\0\0\0\0WAVEfmt ", "audio/wav", Form::Audio);
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
        check("x.png", b"\0", "application/octet-stream", Form::Blob);
        check("RIFF", b"RIFF", "application/octet-stream", Form::Blob);
        check("noext", b"\0", "application/octet-stream", Form::Blob);
        check("zip", b"\0", "application/octet-stream", Form::Blob);
    }

    const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
}
