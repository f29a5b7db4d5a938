//! `tool`: makes a tool of a manifest, or says everything that is wrong with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use policy::Scope;
use sandbox::confine::Limits;
use sandbox::egress::HostRules;
use serde_json::{Map, Value};
use tool_api::{
    AnyTool, Bounds, Definition, Described, Effect, Listing, Need, Origin, ResultBudget, SchemaText,
    ToolName, Validate,
};

use crate::asking::KeptSecrets;
use crate::attempts::RETRIES_MAX;
use crate::does;
use crate::dry_run::DryRun;
use crate::format::Format;
use crate::kind::Kind;
use crate::manifest::{Manifest, SandboxTable, WorkspaceSeen};

/// A model reads every name and description before it does anything.
const NAME_CHARS_MAX: usize = 80;
const DESCRIPTION_BYTES_MAX: usize = 2_000;

/// A version is shown beside a name.
const VERSION_CHARS_MAX: usize = 40;

/// An hour: what takes longer waits for nobody's answer.
const TIMEOUT_SECONDS_MAX: u64 = 3600;

/// Examples are for a model to learn from, not for tests to cover everything.
const EXAMPLES_MAX: usize = 16;

/// What a caller must hold whose tools reach hosts.
const NETWORK: &str = "network";

/// What is wrong with a manifest by those who know its names and its schemas among others: each with its key.
pub type Also<'b> = dyn Fn(&Manifest) -> Vec<String> + 'b;

/// What a manifest has around it.
pub struct Beside<'b> {
    /// The folder that it lies in.
    pub folder: &'b Path,
    /// Where secrets are kept, if there is such a place.
    pub secrets: Option<Arc<dyn KeptSecrets>>,
    /// What is wrong with it besides.
    pub also: Option<&'b Also<'b>>,
}

impl<'b> From<&'b Path> for Beside<'b> {
    fn from(folder: &'b Path) -> Beside<'b> {
        Beside { folder, secrets: None, also: None }
    }
}

/// The tool that the text of a manifest describes. Whether its schemas can be used, and its examples fit them, is
/// for others to say ([`Beside::also`]).
///
/// # Errors
/// Everything that is wrong with it, each with its key.
pub fn tool<'b>(
    text: &str,
    format: Format,
    beside: impl Into<Beside<'b>>,
) -> Result<Arc<dyn AnyTool>, Vec<String>> {
    let Beside { folder, secrets, also } = beside.into();
    let (manifest, mut problems) = format.read(text);
    let Some(mut manifest) = manifest else { return Err(problems) };
    let does = does::lines(&manifest);
    let scopes = scopes(&manifest, &mut problems);
    let dry_run = DryRun::declared(&mut manifest, &scopes, &mut problems);
    let hosts = hosts(&manifest, &mut problems);
    let kind = Kind::read(&manifest, folder, hosts.as_ref(), &mut problems);
    words(&manifest, &mut problems);
    shapes(&manifest, &mut problems);
    problems.extend(also.into_iter().flat_map(|also| also(&manifest)));
    match (ToolName::parse(&manifest.id).filter(|name| !name.as_str().contains('.')), kind) {
        (Some(name), Some(kind)) if problems.is_empty() => {
            let retries = manifest.retries;
            let definition = definition(manifest, name, (text, does), (scopes, hosts), &kind);
            Ok(kind.tool(definition, (dry_run, retries), secrets))
        }
        (None, _) => {
            let why = format!("id: {:?} is no name: 1 to 64 of `A-Z a-z 0-9 _ -`", manifest.id);
            problems.insert(0, why);
            Err(problems)
        }
        (Some(_), _) => Err(problems),
    }
}

/// The scopes by the names that callers hold them by.
fn scopes(manifest: &Manifest, problems: &mut Vec<String>) -> Vec<Box<str>> {
    let mut scopes = Vec::new();
    for (nth, name) in manifest.scopes.iter().enumerate() {
        match Scope::parse(name) {
            Ok(scope) => scopes.push(scope.as_str().into()),
            Err(why) => problems.push(format!("scopes[{nth}]: {why}")),
        }
    }
    if manifest.scopes.is_empty() {
        problems.push("scopes: it names none; a tool that looks needs \"read_workspace\"".to_owned());
    }
    scopes
}

/// What the program reaches; nothing if it names no host.
fn hosts(manifest: &Manifest, problems: &mut Vec<String>) -> Option<HostRules> {
    if manifest.hosts.is_empty() {
        return None;
    }
    if !manifest.scopes.iter().any(|scope| scope == NETWORK) {
        problems.push(format!("hosts: a tool that reaches some needs the scope {NETWORK:?} in `scopes`"));
    }
    if manifest.sandbox.workspace == WorkspaceSeen::None {
        problems
            .push("hosts: what computes with what it is sent (sandbox.workspace) reaches no host".to_owned());
    }
    HostRules::parse(&manifest.hosts).map_err(|why| problems.push(format!("hosts: {why}"))).ok()
}

/// What people and models read of it.
fn words(manifest: &Manifest, problems: &mut Vec<String>) {
    let mut text = |key: &str, text: &str, most: usize, is_line: bool| {
        let is_plain = |c: char| !c.is_control() || (!is_line && (c == '\n' || c == '\t'));
        if text.trim().is_empty() || text.len() > most || !text.chars().all(is_plain) {
            let form = if is_line { "one line" } else { "a text" };
            problems.push(format!("{key}: it must be {form} of 1 to {most} bytes"));
        }
    };
    text("name", &manifest.name, NAME_CHARS_MAX, true);
    text("description", &manifest.description, DESCRIPTION_BYTES_MAX, false);
    if let Some(version) = &manifest.version {
        text("version", version, VERSION_CHARS_MAX, true);
    }
}

/// The rest that no schema of ours says.
fn shapes(manifest: &Manifest, problems: &mut Vec<String>) {
    let is_object = |schema: &Map<String, Value>| schema.get("type").is_some_and(|kind| kind == "object");
    let schemas = [("inputs", Some(&manifest.inputs)), ("outputs", manifest.outputs.as_ref())];
    for (key, _) in schemas.iter().filter(|(_, schema)| schema.is_some_and(|schema| !is_object(schema))) {
        problems.push(format!("{key}: its `type` must be \"object\""));
    }
    if !(1..=TIMEOUT_SECONDS_MAX).contains(&manifest.timeout_seconds) {
        problems.push(format!("timeout_seconds: it must be 1 to {TIMEOUT_SECONDS_MAX}"));
    }
    if usize::from(manifest.retries) > RETRIES_MAX {
        problems.push(format!("retries: at most {RETRIES_MAX} can be"));
    }
    if manifest.retries > 0 && !manifest.idempotent {
        problems
            .push("retries: only what changes nothing by being done twice (idempotent = true)".to_owned());
    }
    if manifest.example_invocations.len() > EXAMPLES_MAX {
        problems.push(format!("example_invocations: at most {EXAMPLES_MAX} can be"));
    }
    let SandboxTable { workspace: _, memory, processes, open_files } = manifest.sandbox;
    // Those that `[sandbox]` is held to.
    let least = [
        ("memory", memory.map(|memory| memory.0), Limits::MEMORY_BYTES_MIN, "16 MiB is"),
        ("processes", processes, Limits::PROCESSES_MIN, "1 is"),
        ("open_files", open_files, Limits::OPEN_FILES_MIN, "16 are"),
    ];
    for (key, _, _, words) in
        least.into_iter().filter(|(_, given, least, _)| given.is_some_and(|given| given < *least))
    {
        problems.push(format!("sandbox.{key}: at least {words} needed"));
    }
}

fn definition(
    manifest: Manifest,
    name: ToolName,
    (text, does): (&str, Vec<String>),
    (scopes, hosts): (Vec<Box<str>>, Option<HostRules>),
    kind: &Kind,
) -> Definition {
    let SandboxTable { workspace, memory, processes, open_files } = manifest.sandbox;
    let programs = match workspace {
        WorkspaceSeen::Seen => Need::Process,
        WorkspaceSeen::None => Need::Worker,
    };
    let (programs, reads, stands_for) = match kind {
        Kind::Program(template) => (Some(programs), template.files.clone(), None),
        Kind::Request(_) => (None, Vec::new(), None),
        Kind::StandIn(stands_for) => (None, Vec::new(), Some(stands_for.clone())),
    };
    let open_world = hosts.is_some();
    let title = match &manifest.version {
        Some(version) => format!("{} {version}", manifest.name),
        None => manifest.name,
    };
    let examples = manifest.example_invocations.into_iter();
    let described = Described {
        title,
        version: manifest.version,
        text: text.into(),
        idempotent: manifest.idempotent,
        // What a program tells of and puts out may be kept.
        needs: [programs.clone(), programs.map(|_| Need::Artifacts)]
            .into_iter()
            .flatten()
            .chain(hosts.map(Need::Hosts))
            .collect(),
        stands_for,
        bounds: Bounds { memory_bytes: memory.map(|memory| memory.0), processes, open_files },
        reads,
        only_asks: matches!(kind, Kind::Request(request) if request.only_asks()),
        secrets: match kind {
            Kind::Request(request) => request.secrets(),
            Kind::Program(_) | Kind::StandIn(_) => Vec::new(),
        },
        dry_run: manifest.dry_run_supported,
        does,
        examples: examples.map(|arguments| Value::Object(arguments).to_string()).collect(),
    };
    Definition {
        name,
        origin: Origin::Declared,
        description: manifest.description.as_str().into(),
        effect: manifest.effect,
        marked_destructive: manifest.effect == Effect::Destroys,
        open_world,
        scopes: scopes.into(),
        timeout: Duration::from_secs(manifest.timeout_seconds),
        extends_to: None,
        input_schema: schema(manifest.inputs),
        validate: Validate::Strict,
        output_schema: manifest.outputs.map(schema),
        result_budget: ResultBudget::Usual,
        listing: Listing::Declared(Arc::new(described)),
    }
}

fn schema(schema: Map<String, Value>) -> SchemaText {
    Value::Object(schema).to_string().into()
}
