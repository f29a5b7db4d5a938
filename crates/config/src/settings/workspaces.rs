//! What `[workspaces]` comes to: for each name the settings of the workspace that is served, but for what differs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use admin::nearest;
use upstream::Globs;

use super::shown::ShownTools;
use super::{Settings, Settling, for_programs};
use crate::file::File;
use crate::workspaces::{NamedWorkspace, OfferedTools};

/// The section.
const SECTION: &str = "workspaces";

/// What differs from the workspace that is served.
pub(super) struct Differing {
    name: String,
    workspace: PathBuf,
    has_own_root: bool,
    tools: Vec<tools::Set>,
    policy: Option<policy::Policy>,
    rules: rules::Settings,
    upstreams: Vec<upstream::Settings>,
    shown: ShownTools,
}

impl Settling<'_> {
    /// What differs in the workspaces with names from the one in `workspace`, for which these servers are written.
    pub(super) fn workspaces(
        &mut self,
        file: &File,
        workspace: &Path,
        upstreams: &[upstream::Settings],
    ) -> Vec<Differing> {
        let mut all = Vec::new();
        for (name, config) in &file.workspaces {
            if let Err(why) = server::check_workspace_name(name) {
                self.report(&[SECTION, name], format!("{SECTION}.{name:?} {why}"));
            }
            self.check_servers(name, config, file);
            let root = config.root.as_ref().map(|root| self.path(&[SECTION, name, "root"], root));
            let rules = config.rules.as_ref().map(|rules| self.path(&[SECTION, name, "rules"], rules));
            let has_own_root = root.is_some();
            let workspace = root.unwrap_or_else(|| workspace.to_owned());
            let is_its = |upstream: &&upstream::Settings| {
                config.servers.as_ref().is_none_or(|names| names.iter().any(|name| name == upstream.name()))
            };
            let is_too_wide = !has_own_root && self.too_wide(&workspace).is_some();
            let given = for_programs(&workspace, is_too_wide);
            let its = upstreams.iter().filter(is_its).cloned();
            let upstreams: Vec<_> = its.map(|upstream| upstream.working_in(given)).collect();
            let project = rules.or_else(|| file.rules.project.clone());
            let rules = rules::Config { project, ..file.rules.clone() };
            let mut rules = self.rules(&rules, &workspace, &upstreams);
            // The folder's file was found from where we are.
            rules.project_folder.take_if(|_| has_own_root);
            // What is wrong with the rules of policy has been reported.
            let policy = Self::policy_within(&file.policy, &workspace).ok();
            let shown = self.shown(name, &config.tools);
            let (name, tools) = (name.clone(), file.tools.sets());
            all.push(Differing { name, workspace, has_own_root, tools, policy, rules, upstreams, shown });
        }
        all
    }

    fn check_servers(&mut self, name: &str, config: &NamedWorkspace, file: &File) {
        for (nth, server) in config.servers.iter().flatten().enumerate() {
            if !file.mcp.contains_key(server) {
                let near = nearest(server, file.mcp.keys().map(String::as_str));
                let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
                let why = format!("{SECTION}.{name}.servers: there is no server {server:?} in [mcp]{near}");
                self.report(&[SECTION, name, "servers", &nth.to_string()], why);
            }
        }
    }

    fn shown(&mut self, name: &str, tools: &OfferedTools) -> ShownTools {
        let mut globs = |key: &str, written: &[String]| {
            let problem = |nth: usize, why: String| {
                let why = format!("{SECTION}.{name}.tools.{key}[{nth}]: {why}");
                self.report(&[SECTION, name, "tools", key, &nth.to_string()], why);
            };
            (!written.is_empty()).then(|| Globs::new(written, problem))
        };
        ShownTools { include: globs("include", &tools.include), exclude: globs("exclude", &tools.exclude) }
    }
}

impl Settings {
    /// The same, with the workspaces that differ so.
    pub(super) fn with_named(mut self, differing: Vec<Differing>) -> Settings {
        let named: BTreeMap<String, Settings> = differing
            .into_iter()
            .map(|differing| (differing.name.clone(), self.differing(differing)))
            .collect();
        self.named = named;
        self
    }

    fn differing(&self, differing: Differing) -> Settings {
        let mut settings = self.clone();
        // Whoever names a folder means it.
        if differing.has_own_root {
            (settings.too_wide, settings.tools) = (None, differing.tools);
        }
        (settings.workspace, settings.shown) = (differing.workspace, differing.shown);
        (settings.rules, settings.upstreams) = (differing.rules, differing.upstreams);
        settings.policy = differing.policy.unwrap_or(settings.policy);
        settings
    }
}
