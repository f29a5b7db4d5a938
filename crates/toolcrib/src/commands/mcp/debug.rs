//! `mcp debug`: everything that is said between Toolcrib and a server while it is connected to and asked for its lists,
//! what its sign-in server says, what is kept of a sign-in, and the last words of its program. Secrets are masked.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use admin::servers::Stderr;
use admin::{By, Operation as _};
use config::Loaded;
use daemon::administration;
use daemon::control::Neighbours;
use oauth::{AuthError, Document, Status};
use serde_json::{Value, json};
use terminal::signals::unless_stopped;
use terminal::{Ending, Trouble, print, runtime};
use upstream::{Settings, Trace, Traced, Upstream, World};

use super::auth::{described, shown};
use super::servers::{named, world};
use super::test::{Tested, probe};
use crate::cli::Cli;
use crate::commands::start::{Asking, Log, start};

/// How much of one message or document is shown to people, in bytes.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// How many events are kept for `--json`; a server that connects needs a few dozen.
const EVENTS_MAX: usize = 10_000;

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::Quiet, Asking::Here)?;
    let settings = named(&loaded, name)?;
    let (tested, exchange, signing_in) = runtime::run(async {
        let world = world(&loaded)?;
        if !cli.json {
            print::foreign(&title(&format!("exchange with {}", settings.place())))?;
        }
        let (tested, exchange) = exchange(cli.json, settings, world.clone()).await?;
        let upstream = Upstream::new(settings.clone(), world);
        let signing_in = match upstream.account() {
            Some(account) => Some((account.status().await, account.explore().await)),
            None => None,
        };
        Ok::<_, Trouble>((tested, exchange, signing_in))
    })??;
    let stderr = stderr(&loaded, settings, &tested)?;
    let about = About { settings, tested, signing_in, stderr };
    print::found(cli.json, &about.to_json(exchange), &about.to_text())?;
    Ok(if about.tested.is_good() { Ending::Good } else { Ending::Failed })
}

/// What is known after the exchange.
struct About<'a> {
    settings: &'a Settings,
    tested: Tested,
    /// What is kept of a sign-in, and what the sign-in server says.
    signing_in: Option<(Result<Status, AuthError>, Vec<Document>)>,
    /// Whose stderr, "process N" or that of this try, and the end of what it wrote on it.
    stderr: Vec<(String, String)>,
}

/// Connects and lists. Everything that is said is told at once, or given for an object.
async fn exchange(json: bool, settings: &Settings, world: World) -> Result<(Tested, Vec<Value>), Trouble> {
    let (begun, kept) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let events = kept.clone();
    let trace = Trace::new(move |traced| match json {
        true => keep(&events, begun.elapsed(), &traced),
        // Nobody reads any more if this fails, and what is printed next finds that out.
        false => drop(print::foreign(&line(begun.elapsed(), &traced))),
    });
    let tested = unless_stopped(probe(settings, World { trace: Some(trace), ..world })).await?;
    let events = std::mem::take(&mut *kept.lock().expect("nothing panics while it holds the lock"));
    Ok((tested, events))
}

fn keep(kept: &Mutex<Vec<Value>>, at: Duration, traced: &Traced) {
    let mut kept = kept.lock().expect("nothing panics while it holds the lock");
    if kept.len() < EVENTS_MAX {
        let mut event = event(traced);
        event["at_ms"] = u64::try_from(at.as_millis()).unwrap_or(u64::MAX).into();
        kept.push(event);
    }
}

fn event(traced: &Traced) -> Value {
    // A message that is JSON stands as such.
    let message = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    match traced {
        Traced::Opened(place) => json!({ "opened": place }),
        Traced::Sent(text) => json!({ "sent": message(text) }),
        Traced::Received(text) => json!({ "received": message(text) }),
        Traced::Request { method, address, headers } => {
            json!({ "request": { "method": method, "url": address, "headers": headers } })
        }
        Traced::Response { status, headers } => {
            json!({ "response": { "status": status, "headers": headers } })
        }
        Traced::Unanswered { said, .. } => json!({ "unanswered": said }),
    }
}

/// One event for people: when, which way, and what.
fn line(at: Duration, traced: &Traced) -> String {
    let headers = |headers: &[(String, String)]| {
        headers.iter().map(|(name, value)| format!("\n               {name}: {value}")).collect::<String>()
    };
    let what = match traced {
        Traced::Opened(place) => format!("   opened {place}"),
        Traced::Sent(text) => format!("-> {}", cut(text)),
        Traced::Received(text) => format!("<- {}", cut(text)),
        Traced::Request { method, address, headers: all } => format!("-> {method} {address}{}", headers(all)),
        Traced::Response { status, headers: all } => format!("<- HTTP status {status}{}", headers(all)),
        Traced::Unanswered { said, .. } => format!("   no answer: {said}"),
    };
    format!("{:>9.3} s  {what}", at.as_secs_f64())
}

fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let shown = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    format!("{shown}… ({} bytes; --json shows all)", text.len())
}

impl About<'_> {
    fn to_json(&self, exchange: Vec<Value>) -> Value {
        let stderr = self.stderr.iter().map(|(whose, text)| json!({ "of": whose, "text": text }));
        let mut all = json!({
            "name": self.settings.name(),
            "where": self.settings.place(),
            "exchange": exchange,
            "stderr": stderr.collect::<Vec<_>>(),
            "test": self.tested.to_json(),
        });
        if let Some((status, documents)) = &self.signing_in {
            all["account"] = match status {
                Ok(status) => described(status),
                Err(error) => json!({ "error": error.to_string() }),
            };
            let document = |document: &Document| {
                let status = document.status.as_ref().map_or_else(|why| json!(why), |status| json!(status));
                json!({ "url": document.url, "status": status, "body": self.settings.masked(&document.body) })
            };
            all["documents"] = documents.iter().map(document).collect();
        }
        all
    }

    fn to_text(&self) -> String {
        let mut page = String::new();
        let mut section = |name: &str, text: &str| page += &format!("{}\n{}\n", title(name), text.trim_end());
        if let Some((status, documents)) = &self.signing_in {
            let documents: Vec<String> = documents.iter().map(|document| self.document(document)).collect();
            section("signing in: what the server's metadata says", &documents.join("\n"));
            section("signing in: what is kept", &status.as_ref().map_or_else(ToString::to_string, shown));
        }
        for (whose, text) in &self.stderr {
            let text = if text.is_empty() { "nothing" } else { text };
            section(&format!("the end of its stderr, of {whose}"), text);
        }
        section("outcome", &self.tested.lines());
        page
    }

    fn document(&self, document: &Document) -> String {
        let status = match &document.status {
            Ok(status) => format!("HTTP status {status}"),
            Err(why) => why.clone(),
        };
        let body = self.settings.masked(&document.body);
        let body = serde_json::from_str(&body).map_or(body, |value: Value| format!("{value:#}"));
        let body: String = cut(&body).lines().map(|line| format!("\n  {line}")).collect();
        format!("GET {}\n  {status}{body}", document.url)
    }
}

fn title(title: &str) -> String {
    format!("\n== {title}\n")
}

/// The last words of the program: of those that are running, else of the one that was just tried.
fn stderr(loaded: &Loaded, settings: &Settings, tested: &Tested) -> Result<Vec<(String, String)>, Trouble> {
    if settings.program().is_none() {
        return Ok(Vec::new());
    }
    let part = administration::servers(loaded, Neighbours::on(&loaded.settings.state));
    let found = Stderr { server: settings.name().to_owned() }.perform(&part, &By::owner())?;
    let running = found.running.into_iter().filter(|one| !one.text.is_empty());
    let running = running.map(|one| (format!("the running Toolcrib's (process {})", one.pid), one.text));
    let mut all: Vec<_> = running.collect();
    if all.is_empty() {
        all.push(("the one that was just tried".to_owned(), tested.stderr.clone()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn events_are_lines_with_a_time_and_a_direction() {
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let events = [
            Traced::Opened("https://host/mcp".to_owned()),
            Traced::Request {
                method: "POST".to_owned(),
                address: "https://host/mcp".to_owned(),
                headers: header("authorization", "***"),
            },
            Traced::Sent(r#"{"id":0}"#.to_owned()),
            Traced::Response { status: 200, headers: header("content-type", "application/json") },
            Traced::Received("x".repeat(TEXT_BYTES_MAX + 1)),
        ];
        let lines = events.map(|traced| line(Duration::from_millis(1_234), &traced));
        // Snapshots lose blanks that all lines begin with.
        let lines = format!("\n{}", lines.join("\n")).replace(&"x".repeat(99), "").replace('\n', "\n|");
        expect![[r#"

            |    1.234 s     opened https://host/mcp
            |    1.234 s  -> POST https://host/mcp
            |               authorization: ***
            |    1.234 s  -> {"id":0}
            |    1.234 s  <- HTTP status 200
            |               content-type: application/json
            |    1.234 s  <- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (16385 bytes; --json shows all)"#]].assert_eq(&lines);
        assert_eq!(event(&Traced::Sent(r#"{"id":0}"#.to_owned())), json!({ "sent": { "id": 0 } }));
    }
}
