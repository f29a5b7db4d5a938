//! What clients are shown of skills beside the tool: prompts, resources, and the extension.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_api::{
    Abilities, Action, AnyTool, Arguments, Block, Context, Definition, Features, Item, Outcome, Payload,
    SKILL_FILE, SKILL_SCHEME, SKILLS_EXTENSION, SkillSummary, Skills, ToolError,
};

use super::extension::method;
use super::invoke::{check_for_models, definition, invoke, media_type, uri};
use super::prompt::{GetPrompt, prompts};

/// The tool and the features of these skills. Without any the tool is for those of servers.
pub fn skill_tools(skills: &Arc<dyn Skills>) -> (Vec<Arc<dyn AnyTool>>, Features) {
    let list = skills.list();
    if list.is_empty() {
        return (vec![invoke(skills)], Features::default());
    }
    // One that a model may not load is no resource either: clients give those to models.
    let for_models = |skill: &&SkillSummary| skill.is_for_models;
    let names: Vec<_> = list.iter().filter(for_models).map(|skill| skill.name.clone()).collect();
    let of_methods = skills.clone();
    let features = Features {
        prompts: prompts(&list),
        resources: list.iter().filter(for_models).map(resource).collect(),
        claims: Some(Arc::new(move |uri: &str| {
            split(uri).is_some_and(|(name, _)| names.iter().any(|known| **known == *name))
        })),
        actions: vec![
            (Action::ReadResource, ReadFile::of(skills)),
            (Action::GetPrompt, GetPrompt::of(skills)),
        ],
        extension_methods: Some(Arc::new(move |name| method(name, &of_methods))),
        abilities: Abilities {
            prompts: true,
            resources: true,
            extensions: vec![(SKILLS_EXTENSION.into(), Bytes::from_static(br#"{"directoryRead":true}"#))],
            ..Abilities::default()
        },
        ..Features::default()
    };
    (vec![invoke(skills)], features)
}

fn resource(skill: &SkillSummary) -> Item {
    let uri = uri(&skill.name, SKILL_FILE);
    let listing = json!({
        "uri": uri,
        "name": &*skill.name,
        "description": &*skill.description,
        "mimeType": "text/markdown",
    });
    Item { key: uri.into(), listing: listing.to_string().into() }
}

/// The skill and the path of a file of it.
fn split(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SKILL_SCHEME)?.split_once('/')
}

/// Reads a file of a skill as a resource.
struct ReadFile {
    definition: Definition,
    skills: Arc<dyn Skills>,
}

impl ReadFile {
    fn of(skills: &Arc<dyn Skills>) -> Arc<dyn AnyTool> {
        Arc::new(ReadFile { definition: definition(), skills: skills.clone() })
    }
}

impl AnyTool for ReadFile {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let uri = arguments.value().get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
            let (name, path) = split(&uri).unwrap_or_default();
            let (name, path, skills) = (name.to_owned(), path.to_owned(), self.skills.clone());
            let named = media_type(&path);
            let (skill, bytes) = cx.blocking(move || skills.read(&name, Some(&path))).await?;
            check_for_models(&skill)?;
            let bytes = bytes.ok_or_else(|| {
                ToolError::new("not_found", "the skill has no such file; `skills/get` lists those it has")
            })?;
            let mime = if std::str::from_utf8(&bytes).is_ok() { named } else { "application/octet-stream" };
            let blocks = vec![Block::Blob { uri, mime: mime.into(), bytes }];
            Ok(Outcome::of(Payload::Ours { blocks, structured: None }))
        })
    }
}

#[cfg(test)]
mod tests;
