//! One try to connect to a server and to list what it has, with everything that can be said about it afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::diagnosis::{Diagnosis, Failed, Seen, Step, trace};
use config::Loaded;
use gate::Offered;
use serde_json::{Value, json};
use store::{DEFINITIONS_BYTES_MAX, DefinitionStore as _, Definitions, wait};
use terminal::times::now_ms;
use tool_api::Validate;
use upstream::{Offer, Settings, State, Upstream, World};

use super::programs::on_path;
use super::sandbox::Touched;

/// What a try has shown.
pub(crate) struct Tested {
    pub(crate) name: String,
    /// Its command line or address.
    place: String,
    /// What is wrong.
    pub(crate) problem: Option<Diagnosis>,
    /// What it has.
    pub(crate) offer: Offer,
    /// The end of what its program wrote on its stderr.
    pub(crate) stderr: String,
    steps: Vec<Step>,
    /// What its program may touch, and what it was refused; nothing if it is no program.
    sandbox: Option<Touched>,
    remarks: Vec<Remark>,
}

/// Something about a server that works all the same.
struct Remark {
    kind: &'static str,
    text: String,
}

/// Connects, lists and lets go again. A trace in `world` hears everything, too.
pub(crate) async fn probe(settings: &Settings, world: World) -> Tested {
    let seen = Arc::default();
    let trace = trace(&seen, world.trace.clone());
    let world = World { trace: Some(trace), ..world };
    let upstream = Upstream::new(settings.clone(), world);
    let begun = Instant::now();
    let connected = upstream.connect().await;
    let took = begun.elapsed();
    let (offer, stderr) = (upstream.offers().borrow().clone(), upstream.last_stderr());
    upstream.end().await;
    // All that it has tried.
    let sandbox = Touched::of(settings, upstream.sandbox().as_deref());
    let seen = seen.lock().expect("nothing panics while it holds the lock").clone();
    let steps = seen.steps(took);
    let problem = connected.err().map(|error| {
        let diagnosis =
            Failed { settings, seen: &seen, stderr: &stderr, programs: &on_path }.diagnose(&error);
        Diagnosis { what: upstream.masked(&diagnosis.what), ..diagnosis }
    });
    let remarks = remarks(settings, &seen, &offer);
    Tested {
        name: settings.name().to_owned(),
        place: settings.place(),
        problem,
        offer,
        stderr,
        steps,
        sandbox,
        remarks,
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
    remarks.extend(offer.tools.iter().filter_map(|tool| {
        let definition = tool.definition();
        let why = Offered::unchecked(definition)?;
        let follows = match definition.validate {
            Validate::Strict => "is not called",
            Validate::Lenient | Validate::Off => "is called without a check of its arguments",
        };
        let text = format!("the tool {} {follows}: its schema cannot be used: {why}", definition.name);
        Some(Remark { kind: "unusable_schema", text })
    }));
    remarks.extend(offer.mistakes.iter().map(|text| Remark { kind: "matches_nothing", text: text.clone() }));
    remarks
}

impl Tested {
    pub(crate) fn is_good(&self) -> bool {
        self.problem.is_none()
    }

    /// How many of its tools are marked as destructive, and how many it has, if that is half of them or more.
    pub(crate) fn mostly_destructive(&self) -> Option<(usize, usize)> {
        let tools = &self.offer.tools;
        let marked = tools.iter().filter(|tool| tool.definition().marked_destructive).count();
        (marked > 0 && marked * 2 >= tools.len()).then_some((marked, tools.len()))
    }

    /// Keeps what was listed, so that it is on offer before the server is connected to. What cannot be remembered is listed
    /// anew.
    pub(crate) fn remember(&self, loaded: &Loaded, settings: &Settings) {
        let listed = self.offer.definitions.as_ref().filter(|_| self.is_good());
        let listed = listed.filter(|definitions| definitions.len() <= DEFINITIONS_BYTES_MAX);
        let is_clean = |text: &str| loaded.settings.redactor.json(text.as_bytes()).is_none();
        if let Some(definitions) = listed.filter(|definitions| is_clean(definitions)) {
            let definitions = Definitions {
                upstream: settings.name().to_owned(),
                fingerprint: settings.fingerprint(),
                tools_json: definitions.to_string(),
                fetched_at_ms: now_ms(),
            };
            let _ = wait(loaded.settings.kept.store().keep_definitions(definitions));
        }
    }

    /// Adds what is to be said of words that were meant from another folder.
    pub(super) fn misplaced(&mut self, remark: Option<String>) {
        self.remarks.extend(remark.map(|text| Remark { kind: "relative_path", text }));
    }

    /// The revision spoken with it, and its own name and version; blank if it has gone away since.
    fn server(&self) -> (&str, &str) {
        match &self.offer.state {
            State::Connected { revision, server } => (revision.name(), server),
            State::Disabled
            | State::Stopped
            | State::Connecting
            | State::NeedsAuth
            | State::NeedsClientRegistration { .. }
            | State::Failed { .. } => ("", ""),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let ms = |took: Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let steps = self.steps.iter().map(|step| json!({ "step": step.name, "ms": ms(step.took) }));
        let remarks = self.remarks.iter().map(|remark| json!({ "kind": remark.kind, "text": remark.text }));
        let mut all = json!({
            "name": self.name,
            "where": self.place,
            "ok": self.is_good(),
            "steps": steps.collect::<Vec<_>>(),
            "remarks": remarks.collect::<Vec<_>>(),
        });
        if let Some(sandbox) = &self.sandbox {
            all["sandbox"] = sandbox.to_json();
        }
        if let Some(problem) = &self.problem {
            all["problem"] = json!(problem);
            return all;
        }
        let (revision, server) = self.server();
        let Offer { tools, features, withheld, held, .. } = &self.offer;
        all["server"] = server.into();
        all["revision"] = revision.into();
        all["tools"] = tools.len().into();
        all["prompts"] = features.prompts.len().into();
        all["resources"] = features.resources.len().into();
        all["templates"] = features.templates.len().into();
        let held = held.iter().filter(|item| item.why.awaits());
        all["held_back"] = held
            .map(|item| json!({ "kind": item.what, "name": item.name, "why": item.why.word() }))
            .collect();
        let withheld = withheld.iter();
        all["withheld"] =
            withheld.map(|item| json!({ "kind": item.kind, "name": item.name, "why": item.why })).collect();
        all
    }

    /// For people.
    pub(crate) fn lines(&self) -> String {
        let mut lines = vec![match (&self.problem, self.server()) {
            (Some(problem), _) => problem.lines(&self.name),
            (None, (revision, "")) => format!("{}: works ({revision})", self.name),
            (None, (revision, server)) => format!("{}: works, {server} ({revision})", self.name),
        }];
        let rows: Vec<Vec<String>> = self.steps.iter().map(|step| self.row(step)).collect();
        if !rows.is_empty() {
            lines.push(terminal::print::Table::plain(rows).to_string());
        }
        let sandbox = self.sandbox.iter().flat_map(|sandbox| sandbox.lines(&self.name));
        lines.extend(sandbox.map(|line| format!("  {line}")));
        if let Some(held) = pins::held_in_short(&self.offer.held).filter(|_| self.is_good()) {
            lines.push(format!("  {held}; `toolcrib mcp trust {}` shows more", self.name));
        }
        for item in self.offer.withheld.iter().filter(|_| self.is_good()) {
            lines.push(format!("  not offered: {} {}: {}", item.kind, item.name, item.why));
        }
        lines.extend(self.remarks.iter().map(|remark| format!("  note: {}", remark.text)));
        lines.join("\n")
    }

    /// One step: its name, its time, and what it brought.
    fn row(&self, step: &Step) -> Vec<String> {
        let features = &self.offer.features;
        let brought = match step.name {
            _ if !self.is_good() => String::new(),
            "tools" => self.offer.tools.len().to_string(),
            "prompts" => features.prompts.len().to_string(),
            "resources" if features.templates.is_empty() => features.resources.len().to_string(),
            "resources" => {
                format!("{}, and templates: {}", features.resources.len(), features.templates.len())
            }
            _ => String::new(),
        };
        vec![format!("  {}", step.name), format!("{:>6} ms", step.took.as_millis()), brought]
    }
}
