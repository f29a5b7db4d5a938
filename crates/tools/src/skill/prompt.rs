//! A skill as a prompt, which a person starts.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_api::{
    AnyTool, Arguments, Context, Definition, Item, Outcome, Payload, SkillSummary, Skills, ToolError,
};

use super::invoke::definition;
use super::said::said;

/// The prompts of these skills.
pub(super) fn prompts(skills: &[SkillSummary]) -> Vec<Item> {
    let of = |skill: &SkillSummary| {
        let listing = json!({
            "name": &*skill.name,
            "description": &*skill.description,
            "arguments": [{ "name": "arguments", "description": "What it is to be done with.", "required": false }],
        });
        Item { key: skill.name.clone(), listing: listing.to_string().into() }
    };
    skills.iter().filter(|skill| skill.is_for_people).map(of).collect()
}

/// Fills one in.
pub(super) struct GetPrompt {
    definition: Definition,
    skills: Arc<dyn Skills>,
}

impl GetPrompt {
    pub(super) fn of(skills: &Arc<dyn Skills>) -> Arc<dyn AnyTool> {
        Arc::new(GetPrompt { definition: definition(), skills: skills.clone() })
    }
}

impl AnyTool for GetPrompt {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            let name = word(arguments.value().get("name"));
            let with = word(arguments.value().pointer("/arguments/arguments"));
            let skills = self.skills.clone();
            let (skill, _) = cx.blocking(move || skills.read(&name, None)).await?;
            let text = said(&skill, &with, cx.files.path())?;
            let result = json!({
                "description": &*skill.description,
                "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
            });
            let result = result.to_string().into();
            Ok(Outcome::of(Payload::Relayed { result, structured: None }))
        })
    }
}
