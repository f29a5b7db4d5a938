//! Tools that run programs, for the tests of what is between them and the programs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, AnyTool, ArgumentRoles, Block, Chunk, Command, Context, Document, Effect, Ended, Exit, Need,
    Progress, Structured, TEXT, Tool, ToolError, Worker, builtin,
};

/// What is kept of each stream; the rest is counted.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// The most that is read of an answer.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// `sh_run` runs a script that may change the workspace, `sh_look` one that looks at it, `sh_fetch` one that reaches hosts,
/// `web_browse` one that may run a browser, `sh_compute` one that sees no workspace, and `sh_beg` tries without having said that it needs programs.
/// `sh_log` keeps all that a script prints as an artifact. `host_ask` asks a server, and `host_beg` tries likewise.
pub fn program_tools() -> Vec<Arc<dyn AnyTool>> {
    vec![
        builtin(Run),
        builtin(Look),
        builtin(Fetch),
        builtin(Browse),
        builtin(Compute),
        builtin(Beg),
        builtin(Log),
        builtin(Ask),
        builtin(BegHost),
    ]
}

/// What they take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Script {
    /// For `sh`.
    script: String,
    /// What it reads.
    #[serde(default)]
    input: String,
    /// What it is to read beyond what the call sees.
    #[serde(default)]
    read: Vec<String>,
    /// What it is to write.
    #[serde(default)]
    write: Vec<String>,
    /// Instead of `sh`.
    #[serde(default)]
    program: Option<String>,
    /// Run by a worker of our own, which `sample_spawner` makes a shell of.
    #[serde(default)]
    in_worker: bool,
}

/// What they give.
#[derive(Debug, Serialize, JsonSchema)]
struct Ran {
    stdout: String,
    stderr: String,
    exit: String,
    limit: Option<&'static str>,
    written: Vec<String>,
    degraded: Vec<&'static str>,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.stdout, self.stderr, self.exit)
    }
}

impl Ran {
    fn of(stdout: &[u8], stderr: &[u8], ended: Ended) -> Structured<Ran> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Structured(Ran {
            stdout: text(stdout),
            stderr: text(stderr),
            exit: match ended.exit {
                Exit::Code(code) => format!("code {code}"),
                Exit::Signal(signal) => format!("signal {signal}"),
                Exit::Lost => "lost".to_owned(),
            },
            limit: ended.limit.map(|limit| limit.name()),
            written: ended.written.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            degraded: ended.degraded,
        })
    }
}

const fn about(name: &'static str, effect: Effect, needs: &'static [Need]) -> About {
    About {
        name,
        title: "Sample",
        summary: "a sample",
        effect,
        arguments: ArgumentRoles::NONE,
        scopes: match effect {
            Effect::Reads => &["read_workspace"],
            Effect::Writes | Effect::Destroys | Effect::Executes => &["run_tests"],
        },
        needs,
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[],
    }
}

fn command(script: Script) -> Command {
    let args = vec!["-c".into(), script.script.into()];
    let program = script.program.map_or_else(|| "sh".into(), Into::into);
    let env = vec![("SAMPLE".into(), "of its own".into())];
    let paths = |all: Vec<String>| all.into_iter().map(Into::into).collect();
    let (read, write) = (paths(script.read), paths(script.write));
    let worker = script.in_worker.then_some(Worker::Image);
    Command { program, args, env, read, write, input: script.input.into(), worker, ..Command::default() }
}

struct Run;

impl Tool for Run {
    const ABOUT: About = about("sh_run", Effect::Executes, &[Need::Process]);
    type Input = Script;
    type Output = Structured<Ran>;

    /// Says what comes as it comes.
    async fn run(&self, script: Script, cx: &Context) -> Result<Structured<Ran>, ToolError> {
        let mut process = cx.process()?.start(command(script)).await?;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Ok(Some(chunk)) = process.next().await {
            let (kept, bytes) = match chunk {
                Chunk::Stdout(bytes) => (&mut stdout, bytes),
                Chunk::Stderr(bytes) => (&mut stderr, bytes),
                Chunk::Told(_) => continue,
            };
            let message = Some(String::from_utf8_lossy(&bytes).into_owned());
            cx.report(Progress::Step { done: 1.0, total: None, message });
            kept.extend_from_slice(&bytes[..bytes.len().min(KEPT_BYTES_MAX - kept.len())]);
        }
        Ok(Ran::of(&stdout, &stderr, process.wait().await))
    }
}

/// A script, all of whose output comes at its end.
async fn printed(script: Script, cx: &Context) -> Result<Structured<Ran>, ToolError> {
    let process = cx.process()?.start(command(script)).await?;
    let printed = process.printed(KEPT_BYTES_MAX).await;
    Ok(Ran::of(&printed.stdout, &printed.stderr, printed.ended))
}

/// A tool that runs scripts in this way.
macro_rules! prints {
    ($kind:ident, $about:expr) => {
        struct $kind;
        impl Tool for $kind {
            const ABOUT: About = $about;
            type Input = Script;
            type Output = Structured<Ran>;
            async fn run(&self, script: Script, cx: &Context) -> Result<Structured<Ran>, ToolError> {
                printed(script, cx).await
            }
        }
    };
}

prints!(Look, about("sh_look", Effect::Reads, &[Need::Process]));
prints!(
    Fetch,
    About { open_world: true, ..about("sh_fetch", Effect::Executes, &[Need::Process, Need::Net(&[])]) }
);
prints!(
    Browse,
    About { open_world: true, ..about("web_browse", Effect::Executes, &[Need::Browser, Need::Net(&[])]) }
);
prints!(Compute, about("sh_compute", Effect::Executes, &[Need::Worker]));
prints!(Beg, about("sh_beg", Effect::Reads, &[]));

struct Log;

impl Tool for Log {
    const ABOUT: About = About {
        timeout: Duration::from_secs(1200),
        ..about("sh_log", Effect::Executes, &[Need::Process, Need::Artifacts])
    };
    type Input = Script;
    type Output = Document;

    async fn run(&self, script: Script, cx: &Context) -> Result<Document, ToolError> {
        let mut log = cx.artifacts()?.create("stdout", TEXT).await?;
        let mut process = cx.process()?.start(command(script)).await?;
        while let Ok(Some(chunk)) = process.next().await {
            if let Chunk::Stdout(bytes) = chunk {
                log.write(bytes).await?;
            }
        }
        match process.wait().await.limit {
            None => Ok(Document(vec![Block::Text(log.finish().await?.id)])),
            Some(limit) => Err(ToolError::new("limit_reached", limit.name())),
        }
    }
}

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Address {
    /// A whole one.
    url: String,
}

async fn asked(address: Address, cx: &Context) -> Result<Document, ToolError> {
    let unreadable = |error: http::Error| ToolError::new("bad_address", error.to_string());
    let request = http::Request::get(address.url).body(Bytes::new()).map_err(unreadable)?;
    let answer = cx.net()?.send(request).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| ToolError::new("no_answer", error.to_string()))?.to_bytes();
    Ok(Document(vec![Block::Text(format!("{} {}", status.as_u16(), String::from_utf8_lossy(&body)))]))
}

/// A tool that asks in this way.
macro_rules! asks {
    ($kind:ident, $about:expr) => {
        struct $kind;
        impl Tool for $kind {
            const ABOUT: About = $about;
            type Input = Address;
            type Output = Document;
            async fn run(&self, address: Address, cx: &Context) -> Result<Document, ToolError> {
                asked(address, cx).await
            }
        }
    };
}

asks!(Ask, About { open_world: true, ..about("host_ask", Effect::Reads, &[Need::Net(&[])]) });
asks!(BegHost, about("host_beg", Effect::Reads, &[]));
