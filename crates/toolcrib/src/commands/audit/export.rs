//! `audit export`: the audit log as JSON Lines, as a table, or as OpenTelemetry logs.
#![expect(clippy::disallowed_methods, reason = "an export goes where the person at the command line says")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use admin::audit_log::{AuditPart, Export, ExportPage, Pages};
use sandbox::Client;
use telemetry::{Collector, SendError, Signal};
use terminal::times::time_ms;
use terminal::{Ending, Trouble, print, runtime};

use super::headers;
use crate::cli::{AuditExport, Format};

/// Only the owner may read what they did.
const FILE_MODE: u32 = 0o600;

pub(super) fn run(part: &AuditPart, export: &AuditExport) -> Result<Ending, Trouble> {
    let asked = Export {
        format: export.format.into(),
        after: export.after,
        since_ms: export.since.as_deref().map(|time| time_ms("--since", time)).transpose()?,
        until_ms: export.until.as_deref().map(|time| time_ms("--until", time)).transpose()?,
        records: None,
    };
    let mut pages = Pages::of(part, asked)?;
    let is_url = |to: &&str| to.starts_with("http://") || to.starts_with("https://");
    let url = export.to.as_deref().filter(is_url);
    match (export.format, url) {
        (Format::Otlp, Some(url)) => send(&mut pages, url, export.headers.as_deref()),
        (_, Some(_)) => {
            Err(Trouble::Misused("only --format otlp is sent to an address; name a file".to_owned()))
        }
        (format, None) if export.to.as_deref().is_some_and(|to| is_meant_as_url(format, to)) => {
            let to = export.to.as_deref().unwrap_or_default();
            let meant = to.split_once("://").map_or(to, |(_, rest)| rest);
            Err(Trouble::Misused(format!(
                "--to: `{to}` is no file, and an address begins with http:// or https://; did you mean http://{meant}?"
            )))
        }
        (_, None) if export.headers.is_some() => {
            Err(Trouble::Misused("--headers is for a collector; name its address with --to".to_owned()))
        }
        (_, None) => write(&mut pages, export.to.as_deref().map(Path::new)),
    }
}

/// Whether what is no address was to be one: a file of that name would hold what nobody gets.
fn is_meant_as_url(format: Format, to: &str) -> bool {
    let has_port = || {
        let (_, rest) = to.split('/').next().unwrap_or_default().rsplit_once(':')?;
        rest.parse::<u16>().ok()
    };
    to.contains("://") || (format == Format::Otlp && has_port().is_some())
}

/// Standard output as a writer: what is printed passes the redactor, some lines at a time.
struct Printed;

impl Write for Printed {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        print::line(&String::from_utf8_lossy(text))?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(pages: &mut Pages, to: Option<&Path>) -> Result<Ending, Trouble> {
    let Some(path) = to else {
        fill(pages, &mut Printed)??;
        return Ok(Ending::Good);
    };
    let unwritten = |error: io::Error| {
        let path = path.display();
        Trouble::Failed(match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!(
                    "{path} is there already, and nothing is written over; name another file, or move it away"
                )
            }
            _ => format!("{path} cannot be written: {error}"),
        })
    };
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    let mut file = file.map_err(unwritten)?;
    let written = fill(pages, &mut file)?.map_err(unwritten)?;
    file.sync_all().map_err(unwritten)?;
    written.remark(&format!("written to {}", path.display()));
    Ok(Ending::Good)
}

/// What left the audit log.
#[derive(Default)]
struct Left {
    records: usize,
    /// The number of the last one.
    last: Option<u64>,
}

impl Left {
    fn add(&mut self, page: &ExportPage) {
        self.records += page.records;
        self.last = page.last.or(self.last);
    }

    fn remark(&self, how: &str) {
        let up_to = self.last.map_or(String::new(), |seq| format!(", up to {seq}"));
        print::remark(&format!("{} records {how}{up_to}", self.records));
    }
}

fn fill(pages: &mut Pages, sink: &mut dyn Write) -> Result<io::Result<Left>, Trouble> {
    let mut left = Left::default();
    let mut page = pages.turn()?;
    let mut written = if page.head.is_empty() { Ok(()) } else { sink.write_all(page.head.as_bytes()) };
    while written.is_ok() && page.last.is_some() {
        written = sink.write_all(page.text.as_bytes());
        left.add(&page);
        page = pages.turn()?;
    }
    Ok(written.map(|()| left))
}

fn send(pages: &mut Pages, url: &str, headers: Option<&Path>) -> Result<Ending, Trouble> {
    let uri = Signal::Logs.address(url);
    let uri = uri.ok_or_else(|| Trouble::Misused("--to: this is no address of a collector".to_owned()))?;
    let headers = headers.map(headers::read).transpose().map_err(Trouble::Misused)?.unwrap_or_default();
    let collector = Collector::new(Client::new(), Signal::Logs, uri, headers);
    runtime::run(async {
        let mut left = Left::default();
        loop {
            let mut page = pages.turn()?;
            if page.last.is_none() {
                break;
            }
            let sent = collector.send(std::mem::take(&mut page.text).into()).await;
            sent.map_err(|error| stopped(&error, left.last))?;
            left.add(&page);
        }
        left.remark("sent");
        Ok(Ending::Good)
    })?
}

/// Says how to go on.
fn stopped(error: &SendError, last: Option<u64>) -> Trouble {
    let go_on =
        last.map_or(String::new(), |seq| format!("; what came before is there: go on with --after {seq}"));
    Trouble::Failed(format!("the collector took no more records: {error}{go_on}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_scheme_is_no_file() {
        for (format, to, expected) in [
            (Format::Otlp, "127.0.0.1:4318", true),
            (Format::Otlp, "localhost:4318/v1/logs", true),
            (Format::Otlp, "[::1]:4318", true),
            (Format::Otlp, "grpc://collector", true),
            (Format::Jsonl, "grpc://collector", true),
            (Format::Otlp, "logs.json", false),
            (Format::Otlp, "out/2026-11-22T04:20.json", false),
            (Format::Otlp, "a:b", false),
            (Format::Csv, "calls:17", false),
        ] {
            assert_eq!(is_meant_as_url(format, to), expected, "{to}");
        }
    }
}
