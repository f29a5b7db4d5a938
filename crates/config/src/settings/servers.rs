//! What the tables of `[mcp]` come to: where each server is, what its references lead to, and which of them come first.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use upstream::Reference;

use super::{Settling, begins_at_home, begins_with_reference, keys_of};
use crate::file::File;
use crate::kept::Kept;
use crate::reference;

/// The folder in the state folder that holds those of the servers.
const SERVERS: &str = "servers";

impl Settling<'_> {
    /// The servers, for a workspace whose folder is what they may be given, or the reason why they may not.
    pub(super) fn upstreams(&mut self, file: &File, kept: Option<&Kept>) -> Vec<upstream::Settings> {
        let timeout = Duration::from_millis(file.experimental.mcp_timeout);
        for name in file.mcp.keys().filter(|name| {
            [gate::ARTIFACTS, gate::SKILLS, gate::TASKS, gate::CALLBACKS, gate::BUILT_IN, gate::DECLARED]
                .contains(&name.as_str())
        }) {
            let why = format!("mcp.{name}: rules and lists know other tools by this name; rename it");
            self.report(&["mcp", name], why);
        }
        let settle = |(name, config): (&String, _)| {
            let settled = self.upstream(name, config, timeout, kept)?;
            Some(settled.inheriting(&self.surroundings.variables, &self.surroundings.current_dir))
        };
        let mut settled: Vec<_> = file.mcp.iter().filter_map(settle).collect();
        self.check_unique(&settled, upstream::Settings::uri_prefix, |prefix, first| {
            format!(
                "its resources would begin with `{prefix}` like those of mcp.{first}; set another `prefix`"
            )
        });
        self.check_unique(&settled, |upstream| policy::scope_of(upstream.name(), "call"), |scope, first| {
            format!(
                "its scope would be `{scope}` like that of mcp.{first}, so whoever may call one could call the other; \
                 rename one"
            )
        });
        let is_folders = |upstream: &upstream::Settings| self.secrets_of_folders(upstream.name()).is_some();
        // Where two have a name for something, the user's is offered; a folder's server takes none away from it.
        settled.sort_by_key(is_folders);
        let users: Vec<_> = settled.iter().filter(|upstream| !is_folders(upstream)).cloned().collect();
        let known = settled.iter().map(|upstream| {
            let others = if is_folders(upstream) { &settled } else { &users };
            upstream.clone().knowing(others)
        });
        // The one place that settles where servers start: none of them where others write.
        let started = |upstream: upstream::Settings| match kept {
            Some(kept) => {
                let folder = kept.state().join(SERVERS).join(upstream.folder_name());
                upstream.starting_in(folder)
            }
            // Nothing is started: what is wrong with the state folder is reported.
            None => upstream,
        };
        let known = known.map(started);
        // With the key and a look into the state folder a server would have every secret.
        match file.secrets.variable() {
            Some(variable) => known.map(|upstream| upstream.withholding(variable)).collect(),
            None => known.collect(),
        }
    }

    /// The kept secrets that a folder's server may use; nothing for a server of the user's.
    pub(super) fn secrets_of_folders(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.folders?.servers.get(name)
    }

    /// Reports the servers that would share with another what tells them apart: keys and tokens are given servers by the
    /// scopes that bear their names, and URIs are known by prefixes in which `_` reads as `-` and capitals as small letters.
    fn check_unique(
        &mut self,
        upstreams: &[upstream::Settings],
        mark: fn(&upstream::Settings) -> String,
        why: fn(&str, &str) -> String,
    ) {
        let mut taken: HashMap<String, &str> = HashMap::new();
        for upstream in upstreams.iter().filter(|upstream| upstream.enabled) {
            let mark = mark(upstream);
            if mark.is_empty() {
                continue;
            }
            if let Some(first) = taken.get(&mark) {
                self.report(&["mcp", upstream.name()], why(&mark, first));
            }
            taken.insert(mark, upstream.name());
        }
    }

    fn upstream(
        &mut self,
        name: &str,
        config: &upstream::Config,
        timeout: Duration,
        kept: Option<&Kept>,
    ) -> Option<upstream::Settings> {
        let misleading = self.misleading(name, config);
        let config = self.with_absolute_paths(name, config.clone());
        let settled = config.settle(name, timeout, &|reference| {
            let located = match reference {
                Reference::Env(_) | Reference::Store(_) => reference.clone(),
                Reference::File(path) => Reference::File(self.secret_path(&["mcp", name], path)),
            };
            let followed = match self.secrets_of_folders(name) {
                None => reference::follow(&located, self.surroundings, kept),
                Some(secrets) => {
                    let within = reference::Within {
                        server: name,
                        table: &config,
                        folder: self.folder(&["mcp", name]),
                        secrets,
                    };
                    within.follow(&located, self.surroundings, kept)
                }
            };
            followed.map_err(|why| self.unfollowed.judge(why))
        });
        for problem in settled.as_ref().err().into_iter().flatten() {
            let keys = keys_of(name, problem);
            self.report(&keys.iter().map(String::as_str).collect::<Vec<_>>(), problem.clone());
        }
        let outer = self.folders.and_then(|folders| folders.reached.get(name)).into_iter().flatten();
        let settled = outer.cloned().fold(settled.ok()?, upstream::Settings::reaching_within);
        Some(match misleading {
            Some((key, why)) => settled.lacking(&key, &why),
            None => settled,
        })
    }

    /// The owner of the table does not know which file it stood in.
    fn with_absolute_paths(&self, name: &str, mut config: upstream::Config) -> upstream::Config {
        // What begins with a reference says itself where it starts.
        if let Some(cwd) = config.cwd.as_mut().filter(|cwd| !begins_with_reference(cwd)) {
            *cwd = self.path(&["mcp", name, "cwd"], cwd);
        }
        if let Some(command) = config.command.as_mut().filter(|command| begins_at_home(Path::new(command))) {
            *command = self.text_path(&["mcp", name, "command"], command);
        }
        if let Some(socket) = config.socket.as_mut().filter(|socket| begins_at_home(socket)) {
            *socket = self.path(&["mcp", name, "socket"], socket);
        }
        for (table, values) in [("env", &mut config.env), ("headers", &mut config.headers)] {
            for (key, value) in values {
                self.locate(&["mcp", name, table, key], value);
            }
        }
        if let Some(table) = &mut config.sandbox {
            self.with_absolute_sandbox(name, table);
        }
        if let Some(upstream::Oauth::Table(table)) = &mut config.oauth {
            let secrets =
                [("client_secret", &mut table.client_secret), ("private_key", &mut table.private_key)];
            for (key, value) in secrets {
                value.iter_mut().for_each(|value| self.locate(&["mcp", name, "oauth", key], value));
            }
            if let Some(provider) = &mut table.identity_provider {
                let values =
                    [("id_token", &mut provider.id_token), ("client_secret", &mut provider.client_secret)];
                for (key, value) in values {
                    let keys = ["mcp", name, "oauth", "identity_provider", key];
                    value.iter_mut().for_each(|value| self.locate(&keys, value));
                }
            }
        }
        config
    }

    /// Makes the path of a reference absolute.
    fn locate(&self, keys: &[&str], value: &mut upstream::Value) {
        if let upstream::Value::Reference(Reference::File(file)) = value {
            *file = self.secret_path(keys, file);
        }
    }
}
