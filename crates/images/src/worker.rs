//! The whole life of the worker: its words say what comes, a file comes on stdin, and the picture goes to stdout behind a line
//! that says how it is. `tools` reads that line.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};

use image::ImageFormat;

use crate::fault::Fault;
use crate::shown::{Shown, shown};

/// The exit code where the words are not understood, or nobody reads what comes of them.
const NOT_DONE: i32 = 2;

/// Decodes one picture. `words` are its media type and the longest edge that is wanted, in pixels. Must be called in a process
/// started for nothing else. Returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let done = asked(words).ok_or(io::ErrorKind::InvalidInput.into()).and_then(|(format, edge)| {
        let mut file = Vec::new();
        io::stdin().read_to_end(&mut file)?;
        let (line, picture) = told(shown(&file, format, edge));
        let mut out = io::stdout();
        out.write_all(line.as_bytes())?;
        out.write_all(&picture)?;
        out.flush()
    });
    // Whoever asked sees the code.
    done.map_or(NOT_DONE, |()| 0)
}

fn asked(words: impl IntoIterator<Item = OsString>) -> Option<(ImageFormat, u32)> {
    let mut words = words.into_iter();
    let format = ImageFormat::from_mime_type(words.next()?.to_str()?)?;
    Some((format, words.next()?.to_str()?.parse().ok()?))
}

fn told(shown: Result<Shown, Fault>) -> (String, Vec<u8>) {
    match shown {
        Ok(Shown { mime, original: (width, height), shown: (shown_width, shown_height), bytes }) => {
            (format!("shown {mime} {width} {height} {shown_width} {shown_height}\n"), bytes)
        }
        Err(fault) => (format!("refused {} {fault}\n", fault.code()), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_a_type_and_an_edge() {
        let asked = |words: &[&str]| asked(words.iter().map(OsString::from));
        assert_eq!(asked(&["image/png", "100"]), Some((ImageFormat::Png, 100)));
        for wrong in [&["image/png"][..], &[], &["image/svg+xml", "100"], &["image/png", "-1"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_line_tells_how_it_is() {
        let picture = Shown { mime: "image/png", original: (4, 3), shown: (2, 1), bytes: vec![7] };
        assert_eq!(told(Ok(picture)), ("shown image/png 4 3 2 1\n".to_owned(), vec![7]));
        let (line, _) = told(Err(Fault::Memory(512)));
        assert_eq!(
            line,
            "refused too_large decoding it takes more than 512 MiB; make a smaller one of it first\n"
        );
    }
}
