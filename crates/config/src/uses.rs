//! Which places of the configuration refer to which kept secrets.

use std::collections::{BTreeMap, BTreeSet};

use upstream::{Reference, references};

use crate::problem::{Source, spot};
use crate::tree::{Node, Written};

/// The one key of a reference that stands alone.
const STORE: &str = "store";

/// The places that refer to kept secrets, by the secrets' names.
#[derive(Debug, Default)]
pub struct Uses(BTreeMap<String, BTreeSet<String>>);

impl Uses {
    pub(crate) fn of(tree: &Node, sources: &[Source]) -> Uses {
        let mut uses = Uses::default();
        // Nothing else may refer to anything.
        for path in [
            &["mcp"][..],
            &["sandbox", "proxy"],
            &["artifacts", "access_key"],
            &["artifacts", "secret_key"],
            &["jobs", "notify"],
            &["search", "services"],
        ] {
            if let Some(node) = tree.at(path) {
                uses.gather(node, &path.join("."), sources);
            }
        }
        uses
    }

    /// With what tools send that files describe.
    pub(crate) fn and_sent(mut self, sent: impl Iterator<Item = (impl Into<String>, String)>) -> Uses {
        sent.for_each(|(name, by)| {
            self.0.entry(name.into()).or_default().insert(by);
        });
        self
    }

    fn gather(&mut self, node: &Node, path: &str, sources: &[Source]) {
        let mut add = |name: &str| {
            let place = spot(sources, node.place).unwrap_or_default();
            self.0.entry(name.to_owned()).or_default().insert(format!("{path} ({place})"));
        };
        match &node.written {
            Written::Table(members) => {
                match (members.len(), members.get(STORE).map(|only| &only.node.written)) {
                    // A variable or a header may be called so.
                    (1, Some(Written::Text(name)))
                        if !path.ends_with(".env") && !path.ends_with(".headers") =>
                    {
                        add(name)
                    }
                    _ => members.iter().for_each(|(key, member)| {
                        self.gather(&member.node, &format!("{path}.{key}"), sources);
                    }),
                }
            }
            Written::List(items) => items
                .iter()
                .enumerate()
                .for_each(|(nth, item)| self.gather(item, &format!("{path}[{nth}]"), sources)),
            Written::Text(text) => references(text).iter().for_each(|reference| {
                if let Reference::Store(name) = reference {
                    add(name);
                }
            }),
            Written::Integer(_) | Written::Float(_) | Written::Switch(_) | Written::Other(_) => {}
        }
    }

    /// The places that refer to the secret of this name, as `mcp.git.env.TOKEN (toolcrib.toml:3:9)`.
    pub fn of_secret(&self, name: &str) -> Vec<&str> {
        self.0.get(name).into_iter().flatten().map(String::as_str).collect()
    }

    /// Every name that is referred to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn every_reference_is_found_with_its_place() {
        let text = r#"
[mcp.git]
command = "git-mcp"
env = { TOKEN = { store = "GIT" }, PLAIN = "x" }
args = ["--as", "${store:ARGUMENT}"]
[mcp.web]
url = "https://h/"
headers.Authorization = "Bearer ${store:WEB} $${store:NO} ${env:NO}"
oauth = { client_id = "x", client_secret = { store = "GIT" } }
[sandbox]
proxy = { store = "PROXY" }
[jobs.notify]
secret = "${store:HOOK}"
[search.services.brave]
key = { store = "SEARCH" }
[workspace]
root = "${store:NO}"
"#;
        let sources = [Source { path: "t.toml".into(), text: text.to_owned(), is_projects: false }];
        let uses = Uses::of(&read::users(&sources).expect("TOML"), &sources);
        let shown: Vec<_> =
            uses.names().map(|name| format!("{name}: {}", uses.of_secret(name).join(", "))).collect();
        assert_eq!(
            shown,
            [
                "ARGUMENT: mcp.git.args[1] (t.toml:5:17)",
                "GIT: mcp.git.env.TOKEN (t.toml:4:17), mcp.web.oauth.client_secret (t.toml:9:44)",
                "HOOK: jobs.notify.secret (t.toml:13:10)",
                "PROXY: sandbox.proxy (t.toml:11:9)",
                "SEARCH: search.services.brave.key (t.toml:15:7)",
                "WEB: mcp.web.headers.Authorization (t.toml:8:25)",
            ]
        );
        assert!(uses.of_secret("NO").is_empty());
    }
}
