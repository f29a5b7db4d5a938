//! Skills of several sources behind one extension. `skills/list` goes through the sources one after the other, page by page; what
//! names a skill goes to the source whose URI it is.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_api::{
    AnyTool, Arguments, Context, Definition, Outcome, Payload, SKILLS_EXTENSION, Sandboxed, ToolError,
};

use crate::offer::{Offer, Source};

/// The method that lists skills.
const LIST: &str = "skills/list";

/// Whether a method is one that several sources may have.
pub(crate) fn is_about_skills(method: &str) -> bool {
    matches!(method, LIST | "skills/get" | "resources/directory/read")
}

/// A source, and what runs there for a method.
pub(crate) type Owner<'o> = (&'o Arc<Source>, Arc<dyn AnyTool>);

/// Whether a source declares the extension.
pub(crate) fn has_skills(source: &Source) -> bool {
    source.features.abilities.extensions.iter().any(|(name, _)| **name == *SKILLS_EXTENSION)
}

/// What runs for a method that all these sources have; nothing for a cursor that nobody gave out.
pub(crate) fn chosen(
    offer: &Offer,
    method: &str,
    params: &Value,
    owners: &[Owner<'_>],
) -> Option<Arc<dyn AnyTool>> {
    if method != LIST {
        let uri = params["uri"].as_str().unwrap_or_default();
        let reader = offer.owner_of_resource(uri);
        let owner =
            owners.iter().find(|(source, _)| reader.is_some_and(|reader| Arc::ptr_eq(reader, source)));
        // Whoever has no such skill says so in the words of the extension.
        return owner.or(owners.first()).map(|(_, tool)| tool.clone());
    }
    let (nth, cursor) = match params["cursor"].as_str() {
        None => (0, None),
        Some(given) => {
            let (name, cursor): (String, Option<String>) = serde_json::from_str(given).ok()?;
            (owners.iter().position(|(source, _)| *source.name == *name)?, cursor)
        }
    };
    let (source, tool) = owners.get(nth)?;
    let next = owners.get(nth + 1).map(|(source, _)| source.name.clone());
    Some(Arc::new(Page { source: source.name.clone(), tool: tool.clone(), cursor, next }))
}

/// A page of one of the sources.
struct Page {
    source: Arc<str>,
    tool: Arc<dyn AnyTool>,
    /// The source's own.
    cursor: Option<String>,
    /// Who comes when the source has no more.
    next: Option<Arc<str>>,
}

impl Page {
    async fn read(&self, arguments: &Arguments, cx: &Context) -> Result<Outcome, ToolError> {
        let mut params = arguments.value().clone();
        if let Some(params) = params.as_object_mut() {
            params.remove("cursor");
            params.extend(self.cursor.as_ref().map(|cursor| ("cursor".to_owned(), json!(cursor))));
        }
        let unreadable = |why: &dyn std::fmt::Display| ToolError::new("invalid_arguments", why.to_string());
        let own = Arguments::parse(Some(params.to_string().into())).map_err(|fault| unreadable(&fault))?;
        let outcome = self.tool.run(own, cx).await?;
        let Payload::Relayed { result, .. } = &outcome.payload else { return Ok(outcome) };
        let page = serde_json::from_slice(result).map_err(|error| unreadable(&error))?;
        Ok(self.ours(page))
    }

    /// The page under a cursor of ours.
    fn ours(&self, mut page: Value) -> Outcome {
        let cursor = match (page["nextCursor"].as_str(), &self.next) {
            (Some(cursor), _) => Some(json!([*self.source, cursor])),
            (None, Some(next)) => Some(json!([**next, null])),
            (None, None) => None,
        };
        if let Some(page) = page.as_object_mut() {
            page.remove("nextCursor");
            page.extend(cursor.map(|cursor| ("nextCursor".to_owned(), json!(cursor.to_string()))));
        }
        Outcome::of(Payload::Relayed { result: page.to_string().into(), structured: None })
    }
}

impl AnyTool for Page {
    fn definition(&self) -> &Definition {
        self.tool.definition()
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            match self.read(&arguments, cx).await {
                // One server that fails does not hide the skills of all others.
                Err(error) if !cx.cancel.is_cancelled() => {
                    tracing::warn!(source = %self.source, %error, "its skills are left out");
                    let empty = json!({ "skills": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
                    Ok(self.ours(empty))
                }
                done => done,
            }
        })
    }

    fn sandboxed(&self) -> Option<Sandboxed> {
        self.tool.sandboxed()
    }
}
