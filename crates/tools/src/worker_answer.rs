//! What one of our own workers says: a line, and behind it what it has made; or a line that says why it made nothing. It has
//! looked at what strangers made, so it is not believed more than what any program prints.

use bytes::Bytes;
use tool_api::{Exit, Limit, Printed};

/// The longest line that is looked for.
const LINE_BYTES_MAX: usize = 2 * 1024;

/// What came of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkerAnswer {
    /// Its line, and what stands behind it.
    Made { line: String, bytes: Bytes },
    /// By it: one of the codes that were asked for, or the first of them, and its words.
    Refused { code: &'static str, why: String },
    /// A limit has ended it.
    Beyond(Limit),
    /// It has given up in a way that its makers did not mean.
    Died,
    /// The program's file is another than the one that runs.
    Unknown,
}

impl WorkerAnswer {
    /// What a worker says that refuses with these codes.
    pub(crate) fn of(printed: &Printed, codes: &[&'static str]) -> WorkerAnswer {
        match (printed.ended.exit, printed.ended.limit) {
            (Exit::Code(0), _) => {}
            (_, Some(limit)) => return WorkerAnswer::Beyond(limit),
            _ => return WorkerAnswer::Died,
        }
        let stdout = &printed.stdout;
        let end = stdout.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n');
        let Some((line, end)) = end.and_then(|end| Some((std::str::from_utf8(&stdout[..end]).ok()?, end)))
        else {
            return WorkerAnswer::Unknown;
        };
        match line.strip_prefix("refused ").and_then(|said| said.split_once(' ')) {
            Some((code, why)) => {
                let known = codes.iter().find(|known| **known == code).or(codes.first());
                WorkerAnswer::Refused { code: known.unwrap_or(&"refused"), why: why.to_owned() }
            }
            None => WorkerAnswer::Made { line: line.to_owned(), bytes: stdout.slice(end + 1..) },
        }
    }
}
