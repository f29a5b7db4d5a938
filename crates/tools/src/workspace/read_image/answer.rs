//! `Answer`: what the worker says: a line that `images` writes, and behind it the picture.

use tool_api::{Block, Document, Inside, Limit, Printed, ToolError};

use super::super::listing::OnOneLine;
use crate::worker_answer::WorkerAnswer;

/// What the worker writes.
const WRITTEN: [&str; 2] = ["image/png", "image/jpeg"];

/// The codes of what it refuses.
const CODES: [&str; 3] = ["damaged", "too_large", "unsupported"];

/// A picture that was decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The type of the file.
    from: &'static str,
    mime: &'static str,
    /// Width and height in the file.
    original: (u32, u32),
    shown: (u32, u32),
    bytes: Vec<u8>,
}

impl Answer {
    /// What a worker has made of the file at `path`.
    pub(super) fn of(path: &Inside, from: &'static str, printed: Printed) -> Result<Answer, ToolError> {
        let (line, bytes) = match WorkerAnswer::of(&printed, &CODES) {
            WorkerAnswer::Made { line, bytes } => (line, bytes),
            WorkerAnswer::Refused { code, why } => {
                return Err(ToolError::new(code, format!("{path} cannot be shown: {why}")));
            }
            WorkerAnswer::Beyond(limit) => return Err(beyond(path, limit)),
            WorkerAnswer::Died => {
                let why = format!("{path} could not be decoded; it may be damaged");
                return Err(ToolError::new("damaged", why));
            }
            WorkerAnswer::Unknown => return Err(not_understood()),
        };
        let answer = picture(&line).filter(|_| !bytes.is_empty());
        let (mime, [width, height, shown_width, shown_height]) = answer.ok_or_else(not_understood)?;
        Ok(Answer {
            from,
            mime,
            original: (width, height),
            shown: (shown_width, shown_height),
            bytes: bytes.into(),
        })
    }

    /// The picture, and what there is to say of it.
    pub(super) fn shown(self, path: &Inside) -> Result<Document, ToolError> {
        let Answer { from, mime, original: (width, height), shown, bytes } = self;
        let smaller = match shown == (width, height) {
            true => String::new(),
            false => format!(", shown as {} × {}", shown.0, shown.1),
        };
        let path = path.to_string();
        let path = OnOneLine(&path);
        let text = format!("[{path}: {from}, {width} × {height} pixels{smaller}.]");
        Ok(Document(vec![Block::Image { mime: mime.into(), bytes }, Block::Text(text)]))
    }
}

/// `shown TYPE WIDTH HEIGHT WIDTH HEIGHT`.
fn picture(line: &str) -> Option<(&'static str, [u32; 4])> {
    let mut words = line.strip_prefix("shown ")?.split(' ');
    let mime = words.next()?;
    let mime = WRITTEN.into_iter().find(|known| *known == mime)?;
    let mut number = || words.next()?.parse().ok();
    Some((mime, [number()?, number()?, number()?, number()?]))
}

fn beyond(path: &Inside, limit: Limit) -> ToolError {
    let how = "make a smaller picture of it first";
    ToolError::new(
        "too_large",
        format!("{path} took more than decoding a picture may ({}); {how}", limit.name()),
    )
}

fn not_understood() -> ToolError {
    ToolError::new(
        "worker",
        "what decodes pictures has answered something unknown; stop Toolcrib and try again",
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use testkit::Workspace;
    use tool_api::{Access, Ended, Exit};

    use super::*;

    #[track_caller]
    fn check(stdout: &[u8], (exit, limit): (Exit, Option<Limit>), expected: &str) {
        let workspace = Workspace::new("");
        let path = workspace.root(Access::Read).locate("a/b.png").expect("a path");
        let ended = Ended::plain(exit, limit);
        let bytes = stdout.len() as u64;
        let printed = Printed { stdout: Bytes::copy_from_slice(stdout), stderr: Bytes::new(), bytes, ended };
        let told = match Answer::of(&path, "image/bmp", printed).and_then(|answer| answer.shown(&path)) {
            Ok(Document(blocks)) => format!("{blocks:?}"),
            Err(error) => format!("{}: {error}", error.code()),
        };
        assert_eq!(told, expected);
    }

    const WELL: (Exit, Option<Limit>) = (Exit::Code(0), None);

    #[test]
    fn a_picture_is_shown_and_its_size_said() {
        check(
            b"shown image/png 40 30 20 15\n\x89PNG",
            WELL,
            r#"[Image { mime: "image/png", bytes: [137, 80, 78, 71] }, Text("[a/b.png: image/bmp, 40 × 30 pixels, shown as 20 × 15.]")]"#,
        );
        check(
            b"shown image/jpeg 2 1 2 1\n\n",
            WELL,
            r#"[Image { mime: "image/jpeg", bytes: [10] }, Text("[a/b.png: image/bmp, 2 × 1 pixels.]")]"#,
        );
    }

    #[test]
    fn what_is_refused_says_why() {
        check(b"refused too_large it is long\n", WELL, "too_large: a/b.png cannot be shown: it is long");
        check(b"refused odd it is odd\n", WELL, "damaged: a/b.png cannot be shown: it is odd");
        let damaged = "damaged: a/b.png could not be decoded; it may be damaged";
        check(b"shown image/png 1 1 1 1\nx", (Exit::Code(101), None), damaged);
        check(b"", (Exit::Signal(11), None), damaged);
        check(b"", (Exit::Lost, None), damaged);
        check(
            b"",
            (Exit::Signal(9), Some(Limit::MemoryBytes)),
            "too_large: a/b.png took more than decoding a picture may (memory_bytes); make a smaller picture of it first",
        );
    }

    #[test]
    fn what_no_worker_of_ours_says_is_not_believed() {
        let unknown =
            "worker: what decodes pictures has answered something unknown; stop Toolcrib and try again";
        for said in [
            &b""[..],
            b"shown",
            b"shown image/png 1 1 1 1\n",
            b"shown image/png 1 1 1\nx",
            b"shown image/svg+xml 1 1 1 1\nx",
            b"shown image/png 1 1 1 -1\nx",
            b"\xff\nx",
        ] {
            check(said, WELL, unknown);
        }
    }
}
