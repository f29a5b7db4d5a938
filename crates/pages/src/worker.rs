//! The whole life of the worker: its word says what comes, a page comes on stdin, and what it says goes to stdout behind a line
//! with its title and one with its frames: how many, and some addresses. `tools` reads both. Before HTML comes a line with its
//! address: everybody on the machine sees words. Before a page of results come lines with what is looked for, too.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};

use crate::fault::Fault;
use crate::read::Read;
use crate::{html, pdf, results};

/// The exit code where the words are not understood, or nobody reads what comes of them.
const NOT_DONE: i32 = 2;

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 400;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Of HTML.
    Markdown,
    Text,
    /// Of HTML, what a search has found.
    Results,
    /// Of a PDF.
    Pdf,
}

/// Reads one page. `words` is what is wanted: `markdown`, `text`, `results` or `pdf`. Must be called in a process started for nothing else.
/// Returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let done = asked(words).ok_or(io::ErrorKind::InvalidInput.into()).and_then(|asked| {
        let mut page = Vec::new();
        io::stdin().read_to_end(&mut page)?;
        let (lines, content) = told(read(asked, &page));
        let mut out = io::stdout();
        out.write_all(lines.as_bytes())?;
        out.write_all(content.as_bytes())?;
        out.flush()
    });
    // Whoever asked sees the code.
    done.map_or(NOT_DONE, |()| 0)
}

fn asked(words: impl IntoIterator<Item = OsString>) -> Option<Asked> {
    let words: Vec<String> = words.into_iter().map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    match &words[..] {
        [wanted] if wanted == "markdown" => Some(Asked::Markdown),
        [wanted] if wanted == "text" => Some(Asked::Text),
        [wanted] if wanted == "results" => Some(Asked::Results),
        [wanted] if wanted == "pdf" => Some(Asked::Pdf),
        _ => None,
    }
}

fn read(asked: Asked, page: &[u8]) -> Result<Read, Fault> {
    let read_html = match asked {
        Asked::Markdown => html::markdown,
        Asked::Text => html::text,
        Asked::Results => results::results,
        Asked::Pdf => return pdf::text(page),
    };
    let page = String::from_utf8_lossy(page);
    let (base, html) = page.split_once('\n').unwrap_or_default();
    read_html(html, base)
}

fn told(read: Result<Read, Fault>) -> (String, String) {
    match read {
        Ok(Read { title, content, frames }) => {
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
            let count = frames.count.to_string();
            let frames = [count].into_iter().chain(frames.addresses).collect::<Vec<_>>().join(" ");
            (format!("read {title}\n{frames}\n"), content)
        }
        Err(fault) => (format!("refused {} {fault}\n", fault.code()), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Frames;

    #[test]
    fn the_word_is_what_is_wanted() {
        let asked = |words: &[&str]| asked(words.iter().map(OsString::from));
        assert_eq!(asked(&["text"]), Some(Asked::Text));
        assert_eq!(asked(&["pdf"]), Some(Asked::Pdf));
        assert_eq!(asked(&["results"]), Some(Asked::Results));
        assert_eq!(asked(&["markdown"]), Some(Asked::Markdown));
        for wrong in [&["markdown", ""][..], &[], &["html"], &["text", "http://a.test/"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn before_html_comes_its_address() {
        for (page, expected) in [
            ("http://a.test/b/\n<p><a href='c'>A\nlink</a>", "[A link](http://a.test/b/c)"),
            ("\n<p>no address", "no address"),
        ] {
            let Read { content, .. } = read(Asked::Markdown, page.as_bytes()).expect("read");
            assert_eq!(content.trim(), expected);
        }
    }

    #[test]
    fn a_line_tells_how_it_is() {
        let title = format!(" A\n title {}", "x".repeat(500));
        let frames = Frames { count: 2, addresses: vec!["http://a.test/".to_owned()] };
        let (lines, content) = told(Ok(Read { title, content: "it".to_owned(), frames }));
        let (title, frames) = lines.split_once('\n').expect("two lines");
        assert_eq!((title.len(), &title[..13], &*content), (5 + TITLE_CHARS_MAX, "read A title ", "it"));
        assert_eq!(frames, "2 http://a.test/\n");
        let (line, _) = told(Err(Fault::Html));
        assert_eq!(line, "refused damaged it cannot be parsed as HTML; read it as html\n");
    }
}
