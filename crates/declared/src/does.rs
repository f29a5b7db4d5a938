//! What a manifest makes happen, in lines for a person who must agree to it: everything that is run, reached and said.

use serde_json::Value;

use crate::manifest::{HttpTable, Manifest, McpTable, WorkspaceSeen};
use crate::request::method;

/// One thing to a line.
pub(crate) fn lines(manifest: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    if !manifest.command.is_empty() {
        lines.push(format!("starts {}", words(&manifest.command)));
    }
    lines.extend(manifest.http.iter().flat_map(request));
    if let Some(McpTable { tool, arguments }) = &manifest.mcp {
        let fixed = Value::Object(arguments.clone());
        lines.push(format!("calls the tool {}, always with {fixed}", word(tool)));
    }
    // As JSON, so that no text of it reads as a line of ours.
    lines.push(format!("says of itself {}", Value::from(manifest.description.as_str())));
    lines.push(format!("effect = {:?}, scopes = {}", manifest.effect.name(), words(&manifest.scopes)));
    if !manifest.options_from.is_empty() {
        lines.push(format!(
            "lets these arguments be options of the program: {}",
            words(&manifest.options_from)
        ));
    }
    lines.extend(manifest.hosts.iter().map(|host| format!("reaches {}", word(host))));
    if manifest.sandbox.workspace == WorkspaceSeen::None {
        lines.push("sees no workspace".to_owned());
    }
    lines
}

/// Where a request goes, and all that is sent.
fn request(table: &HttpTable) -> Vec<String> {
    let method = method(table.method);
    let mut lines = vec![format!("asks {method} {}", word(&table.url))];
    let quoted = |text: &str| Value::from(text).to_string();
    lines.extend(
        table
            .query
            .iter()
            .map(|(name, value)| format!("with {} = {} behind the ?", quoted(name), quoted(value))),
    );
    lines.extend(
        table
            .headers
            .iter()
            .map(|(name, value)| format!("sends the header {} = {}", quoted(name), quoted(value))),
    );
    lines.extend(table.body.iter().map(|body| format!("sends {body}")));
    lines
}

fn words(words: &[String]) -> String {
    words.iter().map(|text| word(text)).collect::<Vec<_>>().join(" ")
}

/// A word of a command line, in quotes if it would not be read as one.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=+,%?&#~*{}".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}
