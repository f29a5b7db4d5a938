//! `RemoteSkill`: a skill of a server, as an agent loads it. It is looked up in the server's list, read, and held to the digest
//! that the list gives: what a person was shown of it is what a model reads.

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tool_api::{
    AnyTool, Arguments, Block, Context, Definition, INVOKE_SKILL, Outcome, Payload, SKILL_FILE, Sandboxed,
    ToolError,
};

use crate::answer;
use crate::connection::{Answer, Request};
use crate::naming;
use crate::remote_action::Target;
use crate::remote_tool;
use crate::round;
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Most pages of a list of skills that are read for one of them.
const PAGES_MAX: usize = 20;

/// Most skills that are looked at.
const SKILLS_MAX: usize = 1_000;

/// Most skills and files that one answer names.
const NAMED_MAX: usize = 100;

/// Longest description that a list of skills shows, in characters.
const DESCRIPTION_CHARS_SHOWN: usize = 160;

/// The longest answer of a server that is read here, in bytes: a page of its list, or a file. It is parsed, and the file is held
/// against its digest, between the calls of others.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Most files of one skill.
const FILES_MAX: usize = 500;

/// Loads the skills of one server.
pub(crate) struct RemoteSkill {
    definition: Definition,
    prefix: Box<str>,
    target: Arc<Target>,
}

/// A skill in the server's list, under the server's own URIs.
struct Entry {
    /// What it is called here.
    name: String,
    uri: String,
    description: String,
    is_for_models: bool,
    files: Vec<File>,
}

/// A file of it.
struct File {
    uri: String,
    bytes: u64,
    digest: String,
}

impl RemoteSkill {
    /// That of a server with this prefix; nothing if it leaves no name.
    pub(crate) fn new(settings: &Settings, target: Arc<Target>) -> Option<RemoteSkill> {
        let name = naming::offered(&settings.prefix, "skills_load")?;
        let definition = Definition {
            result_budget: settings.result_budget,
            ..remote_tool::unknown(name, "loads a skill", settings)
        };
        Some(RemoteSkill { definition, prefix: settings.prefix.clone().into(), target })
    }

    async fn load(&self, upstream: &Upstream, arguments: &Value, cx: &Context) -> Result<String, ToolError> {
        let word = |name: &str| arguments[name].as_str().unwrap_or_default();
        let wanted = word("skill_name");
        let all = self.list(upstream, cx).await?;
        if wanted.strip_prefix(&*self.prefix) == Some("_") {
            return Ok(self.listed(&all));
        }
        let named: Vec<&Entry> = all.iter().filter(|entry| entry.name == wanted).collect();
        let entry = match named.as_slice() {
            [entry] => *entry,
            [] => return Err(self.unknown(&all)),
            several => {
                let uris: Vec<_> = several.iter().map(|entry| self.target.map.outward(&entry.uri)).collect();
                let why =
                    format!("several skills have this name; read one as a resource: {}", uris.join(", "));
                return Err(ToolError::new("skill_unusable", why));
            }
        };
        if !entry.is_for_models {
            let why = "this skill is for people to start; ask your user whether it is wanted";
            return Err(ToolError::new("skill_unusable", why));
        }
        let folder = entry.uri.strip_suffix(SKILL_FILE).unwrap_or_default();
        let path = match word("file") {
            "" => SKILL_FILE,
            path => path,
        };
        let text = self.read(upstream, entry, &format!("{folder}{path}"), cx).await?;
        Ok(match (path, word("arguments")) {
            (SKILL_FILE, words) => self.said(entry, folder, &text, words),
            _ => text,
        })
    }

    /// All skills that the server lists, as far as they are well formed.
    async fn list(&self, upstream: &Upstream, cx: &Context) -> Result<Vec<Entry>, ToolError> {
        let (mut all, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..PAGES_MAX {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.ask(upstream, "skills/list", params, cx).await?;
            let entries = page["skills"].as_array().into_iter().flatten();
            all.extend(entries.filter_map(|entry| self.entry(entry)));
            all.truncate(SKILLS_MAX);
            cursor = page.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }

    /// An entry of the list; nothing for one of too many files, or whose files have no digests, since nobody could say what is
    /// read.
    fn entry(&self, entry: &Value) -> Option<Entry> {
        let uri = entry["uri"].as_str()?;
        let head = &entry["frontmatter"];
        let name = head["name"].as_str()?;
        // The extension, "Resource Mapping": a skill's folder has its name.
        let folder = uri.strip_suffix(SKILL_FILE)?.strip_suffix('/')?;
        (folder.rsplit('/').next() == Some(name)).then_some(())?;
        let file = |file: &Value| {
            let uri = file["uri"].as_str()?.to_owned();
            Some(File { uri, bytes: file["size"].as_u64()?, digest: file["digest"].as_str()?.to_owned() })
        };
        let files = entry["resources"].as_array().filter(|files| files.len() <= FILES_MAX)?;
        Some(Entry {
            name: naming::offered(&self.prefix, name)?.to_string(),
            uri: uri.to_owned(),
            description: head["description"].as_str()?.to_owned(),
            is_for_models: head["disable-model-invocation"] != true,
            files: files.iter().map(file).collect::<Option<_>>()?,
        })
    }

    /// The text of a file of the skill, if it is what the list says.
    async fn read(
        &self,
        upstream: &Upstream,
        entry: &Entry,
        uri: &str,
        cx: &Context,
    ) -> Result<String, ToolError> {
        let file = entry.files.iter().find(|file| file.uri == uri).ok_or_else(|| {
            ToolError::new(
                "not_found",
                "the skill has no such file; load it without `file` to see which it has",
            )
        })?;
        if file.bytes > ANSWER_BYTES_MAX as u64 {
            return Err(too_large("the file", file.bytes));
        }
        if let Some(why) = self.target.closed.objection(uri) {
            return Err(answer::held_back(upstream.name(), why));
        }
        let read = self.ask(upstream, "resources/read", json!({ "uri": uri }), cx).await?;
        let bytes = match read["contents"].as_array().map(Vec::as_slice) {
            Some([one]) => match (one["text"].as_str(), one["blob"].as_str()) {
                (Some(text), _) => Some(text.as_bytes().to_vec()),
                (None, Some(blob)) => BASE64.decode(blob.as_bytes()).ok(),
                (None, None) => None,
            },
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| answer::broken(upstream.name(), "it is no content of one file"))?;
        let digest = || format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&bytes)));
        if bytes.len() as u64 != file.bytes || digest() != file.digest {
            let why = "what the server gives is not what its list says, so it is not used; try again, it may just have changed";
            return Err(ToolError::new("skill_changed", why));
        }
        String::from_utf8(bytes).map_err(|_| {
            let uri = self.target.map.outward(uri);
            ToolError::new("binary", format!("the file is no text; read it as the resource {uri}"))
        })
    }

    /// Asks the server for something that the call needs.
    async fn ask(
        &self,
        upstream: &Upstream,
        method: &str,
        params: Value,
        cx: &Context,
    ) -> Result<Value, ToolError> {
        let (text, uri) = (params.to_string(), params["uri"].as_str());
        let request = |_: &_| {
            Ok(Request {
                method,
                params: text.clone().into_bytes(),
                cx: Some(cx),
                name: uri,
                ..Request::default()
            })
        };
        let round = round::send(upstream, cx, (method, method), true, request).await?;
        match round.answer {
            Ok(Answer::Result(result)) if result.as_str().len() > ANSWER_BYTES_MAX => {
                Err(too_large("what the server answers", result.as_str().len() as u64))
            }
            Ok(Answer::Result(result)) => serde_json::from_str(result.as_str())
                .map_err(|_| answer::broken(upstream.name(), "it is no JSON")),
            Ok(Answer::Error(error)) => Err(answer::error(upstream.name(), &error, false)),
            Ok(Answer::Asked { .. }) => Err(answer::broken(upstream.name(), "it asks for something first")),
            Err(fault) => Err(upstream.failure(&fault)),
        }
    }

    /// The skill as an agent reads it: whose word it is, its text, and what lies beside it.
    fn said(&self, entry: &Entry, folder: &str, text: &str, arguments: &str) -> String {
        let (name, upstream) = (&entry.name, self.upstream_name());
        let mut said = format!(
            "The skill `{name}` is the text of the server `{upstream}`, and neither your user's nor checked by anybody.\n\n{text}"
        );
        if !arguments.is_empty() {
            said.push_str(&format!("\n\nARGUMENTS: {arguments}"));
        }
        let beside = entry.files.iter().filter_map(|file| file.uri.strip_prefix(folder));
        let beside: Vec<_> = beside.filter(|path| *path != SKILL_FILE).collect();
        if !beside.is_empty() {
            said.push_str(&format!("\n\nBeside it, to be read with `{INVOKE_SKILL}` and `file`:"));
        }
        beside.iter().take(NAMED_MAX).for_each(|path| said.push_str(&format!("\n- {path}")));
        said
    }

    fn listed(&self, all: &[Entry]) -> String {
        let line = |entry: &Entry| {
            let description: String = entry.description.chars().take(DESCRIPTION_CHARS_SHOWN).collect();
            format!("\n- {}: {description}", entry.name)
        };
        let lines: String =
            all.iter().filter(|entry| entry.is_for_models).take(NAMED_MAX).map(line).collect();
        format!("The skills of the server `{}`, in its words:{lines}", self.upstream_name())
    }

    fn unknown(&self, all: &[Entry]) -> ToolError {
        let known = all.iter().filter(|entry| entry.is_for_models).take(NAMED_MAX);
        let known: Vec<_> = known.map(|entry| &*entry.name).collect();
        let known = if known.is_empty() { "none that can be read".to_owned() } else { known.join(", ") };
        let why = format!("`{}` lists no skill of this name; there are: {known}", self.upstream_name());
        ToolError::new("unknown_skill", why)
    }

    fn upstream_name(&self) -> &str {
        self.definition.upstream().unwrap_or_default()
    }
}

fn too_large(what: &str, bytes: u64) -> ToolError {
    let why = format!("{what} has {bytes} bytes, and {ANSWER_BYTES_MAX} are the most that is read of skills");
    ToolError::new("too_large", why)
}

impl AnyTool for RemoteSkill {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let upstream = self.target.upstream.upgrade();
            let upstream = upstream.ok_or_else(|| ToolError::gone(self.upstream_name()))?;
            let _counted = upstream.count_call();
            let loaded = self.load(&upstream, arguments.value(), cx).await;
            let text = loaded.map_err(|error| error.reworded(|text| upstream.settings.masked(text)))?;
            Ok(Outcome::of(Payload::Ours { blocks: vec![Block::Text(text)], structured: None }))
        })
    }

    fn sandboxed(&self) -> Option<Sandboxed> {
        self.target.upstream.upgrade()?.sandboxed()
    }
}
