//! What somebody may have meant whose address is none, or has no such method.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gate::near_names;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::answer::{self, Answer};
use super::openapi::OPENAPI;
use crate::config::MCP_PATH;
use crate::workspaces::check_workspace_name;

/// What a workspace has at its own address.
pub(super) const OF_WORKSPACES: [&str; 5] = ["artifacts", "health", "invoke", "jobs", "tools"];

/// The addresses as they are described, such as `/mcp/jobs/{id}`, each with its methods. Read once somebody has mistyped one.
static ROUTES: LazyLock<BTreeMap<String, BTreeMap<String, IgnoredAny>>> = LazyLock::new(|| {
    let Described { paths } = serde_json::from_str(OPENAPI).expect("a test reads it");
    paths
});

#[derive(Deserialize)]
struct Described {
    paths: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
}

/// There is nothing at this path.
pub(super) fn nothing_at(path: &str) -> Answer {
    match near_route(path, None) {
        Some(near) => {
            answer::problem(StatusCode::NOT_FOUND, format!("there is no such route; did you mean {near}?"))
        }
        None => answer::nothing_here(),
    }
}

/// What stands at this path is not asked for by this method.
pub(super) fn not_allowed_at(path: &str, method: &Method, methods: &'static str) -> Answer {
    match near_route(path, Some(method)) {
        Some(near) => {
            let why = format!("only {methods} are allowed here; did you mean {near}, which takes {method}?");
            answer::with_methods(answer::problem(StatusCode::METHOD_NOT_ALLOWED, why), methods)
        }
        None => answer::not_allowed(methods),
    }
}

/// There is neither a route nor a workspace of this name; `names` are those of workspaces.
pub(super) fn unknown_workspace(name: &str, names: &[String]) -> String {
    let workspace = near_names(name, names.iter().map(String::as_str)).first().map(|near| address(near));
    let near = workspace.or_else(|| near_route(&address(name), None));
    let hint = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    format!("no workspace has this name, nor has a route; {hint}the default one is at {MCP_PATH}")
}

fn address(rest: &str) -> String {
    format!("{MCP_PATH}/{rest}")
}

/// The address that is most like this one, of those that are asked for by `method` if one is said.
fn near_route(path: &str, method: Option<&Method>) -> Option<String> {
    let sent: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let method = method.map(|method| method.as_str().to_ascii_lowercase());
    let near: Vec<String> = ROUTES
        .iter()
        .filter(|(_, methods)| method.as_ref().is_none_or(|method| methods.contains_key(method)))
        .filter_map(|(route, _)| meant(route, &sent))
        .collect();
    near_names(path, near.iter().map(String::as_str)).first().map(|near| (*near).to_owned())
}

/// An address as a route has it, with what was sent in place of an id, if each of its words is like the one that was sent.
fn meant(route: &str, sent: &[&str]) -> Option<String> {
    let wanted: Vec<&str> = route.split('/').skip(2).collect();
    let front = sent.len().checked_sub(wanted.len())?;
    let is_sound = match sent[..front] {
        [root] => is_root(root),
        [root, workspace] => {
            is_root(root)
                && check_workspace_name(workspace).is_ok()
                && OF_WORKSPACES.contains(wanted.first()?)
        }
        _ => false,
    };
    let part = |(wanted, sent): (&&'_ str, &&'_ str)| match wanted.starts_with('{') {
        true => Some((*sent).to_owned()),
        false => is_like(sent, wanted).then(|| (*wanted).to_owned()),
    };
    let parts: Option<Vec<String>> = wanted.iter().zip(&sent[front..]).map(part).collect();
    parts.filter(|_| is_sound).map(|parts| format!("/{}/{}", sent[..front].join("/"), parts.join("/")))
}

fn is_root(part: &str) -> bool {
    MCP_PATH.strip_prefix('/') == Some(part)
}

/// Whether a word is like another one. Behind the path a short one may differ in two letters.
fn is_like(sent: &str, wanted: &str) -> bool {
    let of = |word: &str| format!("mcp/{word}");
    !near_names(&of(sent), [of(wanted).as_str()]).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_like_another_names_it() {
        for (path, method, expected) in [
            ("/mcp/tol", Method::GET, Some("/mcp/tools")),
            ("/mcp/tools/", Method::GET, Some("/mcp/tools")),
            ("/mcp//tools", Method::GET, Some("/mcp/tools")),
            ("/mcp/job/1", Method::GET, Some("/mcp/jobs/1")),
            ("/mcp/jobs/j1/cancle", Method::POST, Some("/mcp/jobs/j1/cancel")),
            ("/mcp/jobs/j1/finish", Method::POST, None),
            ("/mcp/tools/validat", Method::POST, Some("/mcp/tools/validate")),
            ("/mcp/tools/git_log", Method::POST, None),
            ("/mcp/rule/test", Method::POST, Some("/mcp/rules/test")),
            ("/mcp/approval/k7", Method::GET, Some("/mcp/approvals/k7")),
            ("/mcp/review/tol", Method::GET, Some("/mcp/review/tools")),
            ("/mcp/review/grant", Method::GET, None),
            ("/mcp/zzzzzz", Method::GET, None),
            ("/mcp/abc/0123456789abcdef0123456789abcdef", Method::GET, None),
            ("/mcp/", Method::GET, None),
            ("/", Method::GET, None),
        ] {
            assert_eq!(near_route(path, Some(&method)).as_deref(), expected, "{path}");
        }
        let long = format!("/mcp/job/{}", "x".repeat(1_000));
        assert_eq!(near_route(&long, None), None);
    }

    #[test]
    fn a_name_that_no_workspace_has_names_a_near_one() {
        let names = ["review", "team"].map(str::to_owned);
        for (name, hint) in
            [("revew", "did you mean /mcp/review? "), ("tol", "did you mean /mcp/tools? "), ("zzzzzz", "")]
        {
            let expected =
                format!("no workspace has this name, nor has a route; {hint}the default one is at /mcp");
            assert_eq!(unknown_workspace(name, &names), expected);
        }
    }
}
