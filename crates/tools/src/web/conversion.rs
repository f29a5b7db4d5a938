//! `Conversion`: what a page says, of which a worker makes text: one that is confined and has nothing but the page's bytes.

use bytes::Bytes;
use tokio::sync::Semaphore;
use tool_api::{Command, Printed, Processes, ToolError, Worker};

use crate::worker_answer::WorkerAnswer;

/// What a worker may answer: all that it may print.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The longest address that others are relative to, in bytes.
const BASE_BYTES_MAX: usize = 8 * 1024;

/// Workers at once: each may take a gigabyte. All workspaces share the memory of one machine, and so these.
static WORKERS: Semaphore = Semaphore::const_new(2);

/// Addresses of frames that are taken of it.
const FRAME_ADDRESSES_MAX: usize = 5;

/// The codes of what it refuses.
const CODES: [&str; 3] = ["damaged", "encrypted", "no_text"];

/// What is made of which page.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Of HTML.
    Markdown(String),
    Text(String),
    /// What a search has found, in lines: of HTML behind the lines that say what to look for.
    Results(String),
    /// Its text.
    OfPdf(Bytes),
}

/// How a page is called, and what else could be done with one.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    hint: &'static str,
}

const HTML: Kind = Kind { name: "page", hint: "; read it as html" };
const RESULTS: Kind = Kind { name: "page", hint: "" };
const PDF: Kind = Kind { name: "PDF", hint: "; it may be damaged" };

/// What a page says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) title: String,
    pub(super) content: String,
    /// The frames that it leaves out.
    pub(super) frames: usize,
    /// Where some of them are, each once.
    pub(super) frame_addresses: Vec<String>,
}

impl Conversion {
    /// Has a worker read a page. Its addresses are relative to `base`.
    pub(super) async fn made(
        wanted: Wanted,
        base: &str,
        processes: &dyn Processes,
    ) -> Result<Conversion, ToolError> {
        let _worker = WORKERS.acquire().await.map_err(|_| ToolError::cancelled())?;
        let (kind, command) = command(wanted, base);
        let printed = processes.start(command).await?.printed(ANSWER_BYTES_MAX).await;
        Conversion::of(kind, &printed)
    }

    /// What a worker has made of a page.
    fn of(Kind { name, hint }: Kind, printed: &Printed) -> Result<Conversion, ToolError> {
        match WorkerAnswer::of(printed, &CODES) {
            WorkerAnswer::Made { line, bytes } => conversion(&line, &bytes).ok_or_else(not_understood),
            WorkerAnswer::Refused { code, why } => {
                Err(ToolError::new(code, format!("the {name} cannot be shown: {why}")))
            }
            WorkerAnswer::Beyond(limit) => {
                let why = format!("the {name} took more than reading one may ({}){hint}", limit.name());
                Err(ToolError::new("too_large", why))
            }
            WorkerAnswer::Died => {
                Err(ToolError::new("damaged", format!("what reads pages has failed at this {name}{hint}")))
            }
            WorkerAnswer::Unknown => Err(not_understood()),
        }
    }
}

/// A worker that reads a page. Its address goes before it and not into an argument, which everybody on the machine may read: it
/// can have a key in it.
fn command(wanted: Wanted, base: &str) -> (Kind, Command) {
    let base = if base.len() > BASE_BYTES_MAX || base.contains('\n') { "" } else { base };
    let behind_base = |html: String| Bytes::from(format!("{base}\n{html}"));
    let (kind, word, input) = match wanted {
        Wanted::Markdown(html) => (HTML, "markdown", behind_base(html)),
        Wanted::Text(html) => (HTML, "text", behind_base(html)),
        Wanted::Results(html) => (RESULTS, "results", behind_base(html)),
        Wanted::OfPdf(file) => (PDF, "pdf", file),
    };
    let args = vec![word.into()];
    (kind, Command { worker: Some(Worker::Page), args, input, ..Command::default() })
}

/// `read TITLE`; a line with the count of its frames and addresses of them; and the content.
fn conversion(line: &str, rest: &Bytes) -> Option<Conversion> {
    let title = line.strip_prefix("read ")?.to_owned();
    let (frames, content) = std::str::from_utf8(rest).ok()?.split_once('\n')?;
    let mut frames = frames.split(' ');
    let count = frames.next()?.parse().ok()?;
    let frame_addresses = frames.take(FRAME_ADDRESSES_MAX).map(str::to_owned).collect();
    Some(Conversion { title, content: content.to_owned(), frames: count, frame_addresses })
}

fn not_understood() -> ToolError {
    let why = "what reads pages has answered something unknown; stop Toolcrib and try again";
    ToolError::new("worker", why)
}

#[cfg(test)]
mod tests {
    use tool_api::{Ended, Exit, Limit};

    use super::*;

    #[track_caller]
    fn check(stdout: &[u8], ended: (Exit, Option<Limit>), expected: &str) {
        check_of(HTML, stdout, ended, expected);
    }

    #[track_caller]
    fn check_of(kind: Kind, stdout: &[u8], (exit, limit): (Exit, Option<Limit>), expected: &str) {
        let ended = Ended::plain(exit, limit);
        let bytes = stdout.len() as u64;
        let printed = Printed { stdout: Bytes::copy_from_slice(stdout), stderr: Bytes::new(), bytes, ended };
        let told = match Conversion::of(kind, &printed) {
            Ok(Conversion { title, content, frames, frame_addresses }) => {
                format!("{title:?} {content:?} {frames} {frame_addresses:?}")
            }
            Err(error) => format!("{}: {error}", error.code()),
        };
        assert_eq!(told, expected);
    }

    const WELL: (Exit, Option<Limit>) = (Exit::Code(0), None);

    #[test]
    fn no_argument_of_a_worker_has_the_address_in_it() {
        let long = "x".repeat(BASE_BYTES_MAX + 1);
        for (wanted, base, word, input) in [
            (
                Wanted::Markdown("a\nb".to_owned()),
                "http://a.test/?k=s",
                "markdown",
                "http://a.test/?k=s\na\nb",
            ),
            (Wanted::Text("a".to_owned()), "http://a.test/?k=s", "text", "http://a.test/?k=s\na"),
            (Wanted::Text("a".to_owned()), "http://a.test/\n<p>", "text", "\na"),
            (Wanted::Text("a".to_owned()), &long, "text", "\na"),
            (Wanted::Results("a".to_owned()), "http://a.test/?q=s", "results", "http://a.test/?q=s\na"),
            (Wanted::OfPdf(Bytes::from("%PDF-")), "http://a.test/?k=s", "pdf", "%PDF-"),
        ] {
            let (_, command) = command(wanted, base);
            assert_eq!(command.args, [word]);
            assert_eq!(command.input, input);
        }
    }

    #[test]
    fn a_page_has_a_title_and_says_something_or_nothing() {
        check(b"read A title\n0\n# A\nb", WELL, r##""A title" "# A\nb" 0 []"##);
        check(b"read \n0\n", WELL, r#""" "" 0 []"#);
        let two = br#"read A
3 http://a.test/ http://b.test/
b"#;
        check(two, WELL, r#""A" "b" 3 ["http://a.test/", "http://b.test/"]"#);
        check(b"read A\n9 1 2 3 4 5 6\nb", WELL, r#""A" "b" 9 ["1", "2", "3", "4", "5"]"#);
    }

    #[test]
    fn what_is_refused_says_why() {
        check(b"refused damaged it is odd\n", WELL, "damaged: the page cannot be shown: it is odd");
        check(b"refused odd it is odd\n", WELL, "damaged: the page cannot be shown: it is odd");
        let encrypted = "encrypted: the PDF cannot be shown: it is locked";
        check_of(PDF, b"refused encrypted it is locked\n", WELL, encrypted);
        let died = "damaged: what reads pages has failed at this page; read it as html";
        check(b"read A\nhalf", (Exit::Code(101), None), died);
        check(b"", (Exit::Signal(11), None), died);
        let beyond = "too_large: the page took more than reading one may (cpu); read it as html";
        check(b"read A\nhalf", (Exit::Signal(9), Some(Limit::Cpu)), beyond);
    }

    #[test]
    fn what_no_worker_of_ours_says_is_not_believed() {
        let unknown = "worker: what reads pages has answered something unknown; stop Toolcrib and try again";
        for said in [
            &b""[..],
            b"read",
            b"read A",
            b"shown image/png 1 1 1 1\n0\nx",
            b"read \xff\n0\nx",
            b"read A\n0\n\xff",
            b"read A\nx",
            b"read A\nx\n",
            b"read A\n\n",
        ] {
            check(said, WELL, unknown);
        }
    }
}
