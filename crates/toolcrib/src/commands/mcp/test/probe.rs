//! One try to connect to a server and to list what it has, with everything that can be said about it afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use upstream::{ConnectError, Offer, Settings, State, Upstream, Withheld, World};

use super::diagnosis::{Diagnosis, Failed, late};
use super::evidence::{Evidence, Seen, Step};

/// A server that needs longer than its table gives it is waited for so much longer, to tell slow from dead.
const MORE_TIME_MAX: Duration = Duration::from_secs(10);

/// What a try has shown.
pub(crate) struct Tested {
    pub(crate) name: String,
    /// Its command line or address.
    place: String,
    /// What it has, or what is wrong.
    pub(crate) outcome: Result<Found, Diagnosis>,
    /// The end of what its program wrote on its stderr.
    pub(crate) stderr: String,
    /// What it has, as it is remembered; nothing if not all of it was listed.
    pub(crate) definitions: Option<Arc<str>>,
    steps: Vec<Step>,
    remarks: Vec<Remark>,
}

/// What a server has.
pub(crate) struct Found {
    /// Its own name and version.
    server: String,
    /// The protocol revision spoken with it.
    revision: &'static str,
    tools: usize,
    prompts: usize,
    resources: usize,
    templates: usize,
    withheld: Vec<Withheld>,
}

/// Something about a server that works all the same.
struct Remark {
    kind: &'static str,
    text: String,
}

/// Connects, lists and lets go again. A trace in `world` hears everything, too.
pub(crate) async fn probe(settings: &Settings, world: World, programs: &dyn Fn() -> Vec<String>) -> Tested {
    let evidence = Evidence::new();
    let trace = evidence.trace(world.trace.clone());
    let world = World { trace: Some(trace), ..world };
    let more = settings.start_timeout().min(MORE_TIME_MAX);
    let upstream = Upstream::new(settings.clone().patient(more), world);
    let begun = Instant::now();
    let connected = upstream.connect().await;
    let took = begun.elapsed();
    let (offer, stderr) = (upstream.offers().borrow().clone(), upstream.last_stderr());
    upstream.end().await;
    let seen = evidence.seen();
    let steps = seen.steps(took);
    let outcome = match connected {
        Ok(()) => match too_late(settings, &steps) {
            Some(diagnosis) => Err(diagnosis),
            None => Ok(found(&offer)),
        },
        Err(error) => {
            let failed = Failed { settings, seen: &seen, stderr: &stderr, programs };
            let diagnosis = failed.diagnose(&in_its_own_time(error, more));
            Err(Diagnosis { what: upstream.masked(&diagnosis.what), ..diagnosis })
        }
    };
    let remarks = remarks(settings, &seen, &offer);
    let (name, place, definitions) = (settings.name().to_owned(), settings.place(), offer.definitions);
    Tested { name, place, outcome, stderr, definitions, steps, remarks }
}

/// It had more time than its table says, and the sentence should name what it says.
fn in_its_own_time(error: ConnectError, more: Duration) -> ConnectError {
    match error {
        ConnectError::TooSlow { what, limit, stderr } => {
            ConnectError::TooSlow { what, limit: limit.saturating_sub(more), stderr }
        }
        error => error,
    }
}

/// A step that took longer than the table allows.
fn too_late(settings: &Settings, steps: &[Step]) -> Option<Diagnosis> {
    let is_start = |step: &&Step| matches!(step.name, "start" | "handshake");
    let start: Duration = steps.iter().filter(is_start).map(|step| step.took).sum();
    let (start_limit, list_limit) = (settings.start_timeout(), settings.list_timeout());
    if start > start_limit {
        return Some(late(settings, "start", "start_timeout", start_limit, start));
    }
    let list = steps.iter().filter(|step| !is_start(step)).max_by_key(|step| step.took)?;
    (list.took > list_limit)
        .then(|| late(settings, &format!("list of {}", list.name), "list_timeout", list_limit, list.took))
}

fn found(offer: &Offer) -> Found {
    let (server, revision) = match &offer.state {
        State::Connected { revision, server } => (server.clone(), revision.name()),
        // It has gone away since; what it has is known all the same.
        State::Disabled
        | State::Stopped
        | State::Connecting
        | State::NeedsAuth
        | State::NeedsClientRegistration { .. }
        | State::Failed { .. } => (String::new(), ""),
    };
    Found {
        server,
        revision,
        tools: offer.tools.len(),
        prompts: offer.features.prompts.len(),
        resources: offer.features.resources.len(),
        templates: offer.features.templates.len(),
        withheld: offer.withheld.clone(),
    }
}

fn remarks(settings: &Settings, seen: &Seen, offer: &Offer) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let is_program = settings.program().is_some();
    if let Some(text) = seen.text.as_deref().filter(|_| is_program && seen.messages > 0) {
        let (kind, when) = match seen.text_came_first {
            true => ("banner", "before it speaks MCP"),
            false => ("text_on_stdout", "between its messages"),
        };
        let text = format!("it prints text on its standard output {when}, which is skipped: {text}");
        remarks.push(Remark { kind, text });
    }
    remarks.extend(offer.mistakes.iter().map(|it| Remark { kind: "matches_nothing", text: it.clone() }));
    remarks
}

impl Tested {
    pub(crate) fn is_good(&self) -> bool {
        self.outcome.is_ok()
    }

    /// Adds what is to be said of words that were meant from another folder.
    pub(super) fn misplaced(&mut self, said: Option<String>) {
        self.remarks.extend(said.map(|text| Remark { kind: "relative_path", text }));
    }

    pub(crate) fn to_json(&self) -> Value {
        let ms = |took: Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let steps = self.steps.iter().map(|step| json!({ "step": step.name, "ms": ms(step.took) }));
        let remarks = self.remarks.iter().map(|it| json!({ "kind": it.kind, "text": it.text }));
        let mut all = json!({
            "name": self.name,
            "where": self.place,
            "ok": self.is_good(),
            "steps": steps.collect::<Vec<_>>(),
            "remarks": remarks.collect::<Vec<_>>(),
        });
        match &self.outcome {
            Ok(found) => {
                all["server"] = found.server.clone().into();
                all["revision"] = found.revision.into();
                all["tools"] = found.tools.into();
                all["prompts"] = found.prompts.into();
                all["resources"] = found.resources.into();
                all["templates"] = found.templates.into();
                let withheld = found.withheld.iter();
                all["withheld"] =
                    withheld.map(|it| json!({ "kind": it.kind, "name": it.name, "why": it.why })).collect();
            }
            Err(diagnosis) => all["problem"] = diagnosis.to_json(),
        }
        all
    }

    /// For people.
    pub(crate) fn lines(&self) -> String {
        let mut lines = match &self.outcome {
            Ok(found) if found.server.is_empty() => {
                vec![format!("{}: works ({})", self.name, found.revision)]
            }
            Ok(found) => vec![format!("{}: works, {} ({})", self.name, found.server, found.revision)],
            Err(diagnosis) => vec![diagnosis.lines(&self.name)],
        };
        let found = self.outcome.as_ref().ok();
        let rows: Vec<Vec<String>> = self.steps.iter().map(|step| row(step, found)).collect();
        if !rows.is_empty() {
            lines.push(crate::print::table(&rows));
        }
        for it in found.iter().flat_map(|found| &found.withheld) {
            lines.push(format!("  not offered: {} {}: {}", it.kind, it.name, it.why));
        }
        lines.extend(self.remarks.iter().map(|remark| format!("  note: {}", remark.text)));
        lines.join("\n")
    }
}

/// One step: its name, its time, and what it brought.
fn row(step: &Step, found: Option<&Found>) -> Vec<String> {
    let brought = |count: fn(&Found) -> String| found.map(count).unwrap_or_default();
    let what = match step.name {
        "tools" => brought(|found| found.tools.to_string()),
        "prompts" => brought(|found| found.prompts.to_string()),
        "resources" if found.is_some_and(|found| found.templates > 0) => {
            brought(|found| format!("{}, and templates: {}", found.resources, found.templates))
        }
        "resources" => brought(|found| found.resources.to_string()),
        _ => String::new(),
    };
    vec![format!("  {}", step.name), format!("{:>6} ms", step.took.as_millis()), what]
}
