//! The methods of `io.modelcontextprotocol/skills` (MCP Skills extension, "Listing Skills", "Getting a Skill", "Reading
//! Directories").

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_api::{
    AnyTool, Arguments, Context, DIRECTORY_READ, Definition, Outcome, Payload, Protocol, SKILL_FILE,
    SKILL_SCHEME, Skill, SkillSummary, Skills, ToolError,
};

use super::invoke::{definition, media_type, uri};

/// Entries in one answer. Each names all files of its skill.
const PAGE: usize = 20;

/// How long a client may keep an answer, in milliseconds: people edit skills.
const TTL_MS: u32 = 10_000;

/// The media type of a folder (the extension, "Directory Resources").
const DIRECTORY: &str = "inode/directory";

/// JSON-RPC's code for parameters that name nothing (the extension, "Getting a Skill").
const INVALID_PARAMS: i64 = -32602;

/// What runs for a method of the extension; nothing if it has none of this name.
pub(super) fn method(name: &str, skills: &Arc<dyn Skills>) -> Option<Arc<dyn AnyTool>> {
    let asked = match name {
        "skills/list" => Asked::List,
        "skills/get" => Asked::Get,
        DIRECTORY_READ => Asked::Directory,
        _ => return None,
    };
    Some(Arc::new(Method { definition: definition(), asked, skills: skills.clone() }))
}

#[derive(Clone, Copy)]
enum Asked {
    List,
    Get,
    Directory,
}

struct Method {
    definition: Definition,
    asked: Asked,
    skills: Arc<dyn Skills>,
}

impl AnyTool for Method {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let word = |name: &str| arguments.value().get(name).and_then(Value::as_str).map(str::to_owned);
            let skills = self.skills.clone();
            let mut result = match self.asked {
                Asked::List => {
                    let after = word("cursor");
                    cx.blocking(move || Ok(list(&*skills, after.as_deref()))).await?
                }
                Asked::Get => {
                    let uri = word("uri").unwrap_or_default();
                    let name = named(&uri).ok_or_else(|| unknown(&uri))?.to_owned();
                    let read = cx.blocking(move || skills.read(&name, None)).await;
                    let skill = for_models(read).ok_or_else(|| unknown(&uri))?;
                    json!({ "skill": entry(&skill) })
                }
                Asked::Directory => {
                    let uri = word("uri").unwrap_or_default();
                    let (name, folder) = folder(&uri).ok_or_else(|| no_directory(&uri))?;
                    let read = cx.blocking(move || skills.read(&name, None)).await;
                    let skill = for_models(read).ok_or_else(|| no_directory(&uri))?;
                    let children = children(&skill, &folder).ok_or_else(|| no_directory(&uri))?;
                    json!({ "resources": children })
                }
            };
            result["resultType"] = "complete".into();
            if !matches!(self.asked, Asked::Directory) {
                result["ttlMs"] = TTL_MS.into();
                result["cacheScope"] = "private".into();
            }
            Ok(Outcome::of(Payload::Relayed { result: result.to_string().into(), structured: None }))
        })
    }
}

/// A skill that was read and that a model may load.
fn for_models(read: Result<(Skill, Option<Vec<u8>>), ToolError>) -> Option<Skill> {
    read.ok().map(|(skill, _)| skill).filter(|skill| skill.is_for_models)
}

/// The skill whose `SKILL.md` has this URI.
fn named(uri: &str) -> Option<&str> {
    uri.strip_prefix(SKILL_SCHEME)?.strip_suffix(SKILL_FILE)?.strip_suffix('/')
}

/// The skill, and where in it the folder of this URI lies: nothing, or a path that ends in `/`.
fn folder(uri: &str) -> Option<(String, String)> {
    let path = uri.strip_prefix(SKILL_SCHEME)?;
    match path.split_once('/') {
        Some((name, folder)) => Some((name.to_owned(), format!("{folder}/"))),
        None => Some((path.to_owned(), String::new())),
    }
}

/// What lies in a folder of a skill itself; nothing if it has no such folder. A skill has few enough files for one page.
fn children(skill: &Skill, folder: &str) -> Option<Vec<Value>> {
    let inside = skill.files.iter().filter_map(|file| file.path.strip_prefix(folder));
    let names: BTreeSet<_> =
        inside.map(|rest| rest.split_once('/').map_or((rest, false), |(sub, _)| (sub, true))).collect();
    let child = |(name, is_folder): (&str, bool)| {
        let path = format!("{folder}{name}");
        let mime = if is_folder { DIRECTORY } else { media_type(name) };
        json!({ "uri": uri(&skill.name, &path), "name": name, "mimeType": mime })
    };
    (!names.is_empty()).then(|| names.into_iter().map(child).collect())
}

fn no_directory(uri: &str) -> ToolError {
    invalid(
        "unknown_directory",
        uri,
        "there is no directory at",
        "`skills/list` lists the files that there are",
    )
}

fn unknown(uri: &str) -> ToolError {
    invalid("unknown_skill", uri, "there is no skill at", "`skills/list` lists those there are")
}

fn invalid(code: &'static str, uri: &str, what: &str, hint: &str) -> ToolError {
    let shown: String = uri.chars().take(200).collect();
    let message = format!("{what} `{shown}`; {hint}");
    let protocol = Protocol { code: INVALID_PARAMS, message: message.clone(), data: None };
    ToolError::new(code, message).with_protocol(protocol)
}

/// A page of entries behind the skill whose name is `after`. What cannot be read now is left out.
fn list(skills: &dyn Skills, after: Option<&str>) -> Value {
    let all = skills.list();
    let is_left = |skill: &&SkillSummary| after.is_none_or(|after| &*skill.name > after);
    let mut left = all.iter().filter(|skill| skill.is_for_models).filter(is_left);
    let page: Vec<_> = left.by_ref().take(PAGE).collect();
    let entries = page.iter().filter_map(|skill| for_models(skills.read(&skill.name, None)));
    let mut result = json!({ "skills": entries.map(|skill| entry(&skill)).collect::<Vec<_>>() });
    if let (Some(last), Some(_)) = (page.last(), left.next()) {
        result["nextCursor"] = (&*last.name).into();
    }
    result
}

fn entry(skill: &Skill) -> Value {
    let files = skill.files.iter().map(|file| {
        json!({ "uri": uri(&skill.name, &file.path), "digest": format!("sha256:{}", file.sha256), "size": file.bytes })
    });
    json!({
        "uri": uri(&skill.name, SKILL_FILE),
        "frontmatter": skill.fields,
        "resources": files.collect::<Vec<_>>(),
    })
}
