//! What `[policy]`, `[rules]` and `[limits]` come to.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Settling;
use super::vocabulary::rules_vocabulary;
use crate::file::Limits;
use crate::find::declaring_folder;
use crate::problem::spot;

impl Settling<'_> {
    /// Where rules for AI come from. The files are read when they are first needed.
    pub(super) fn rules(
        &mut self,
        config: &rules::Config,
        workspace: &Path,
        upstreams: &[upstream::Settings],
    ) -> rules::Settings {
        let named = |key: &str, path: &Option<PathBuf>| Some(self.path(&["rules", key], path.as_ref()?));
        let (organisation, project) =
            (named("organisation", &config.organisation), named("project", &config.project));
        let user = named("user", &config.user);
        let own_servers =
            || self.folders.into_iter().flat_map(|folders| folders.servers.keys().cloned()).collect();
        let local = upstreams.iter().filter(|upstream| is_local(upstream));
        let local_upstreams: BTreeSet<String> = local.map(|upstream| upstream.name().to_owned()).collect();
        rules::Settings {
            workspace: workspace.to_owned(),
            spellings: sandbox::spellings(workspace),
            home: self.surroundings.variable("HOME").map(PathBuf::from),
            organisation,
            project,
            user,
            user_folder: self.surroundings.config_folder(),
            project_name: config.project_name.clone(),
            project_folder: self.project_folder(),
            mode: config.mode,
            // A file that is named is a person's own word.
            own_servers: config.project.is_none().then(own_servers),
            local_upstreams,
            vocabulary: rules_vocabulary(),
        }
    }

    /// Where the project begins, if a file was found in it.
    fn project_folder(&self) -> Option<PathBuf> {
        let source = self.sources.iter().rev().find(|source| source.is_projects)?;
        Some(declaring_folder(source, self.surroundings))
    }

    /// Who may do what, with conditions that know how the workspace may be spelt.
    pub(super) fn policy(&mut self, config: &policy::Config, workspace: &Path) -> Option<policy::Policy> {
        let policy = Self::policy_within(config, workspace);
        for problem in policy.as_ref().err().into_iter().flat_map(|error| &error.problems) {
            let first = self.first_of_this_id(config, &problem.keys).unwrap_or_default();
            let keys = problem.keys.iter().map(String::as_str);
            self.report_below("policy", keys, format!("{}{first}", problem.what));
        }
        policy.ok()
    }

    pub(super) fn policy_within(
        config: &policy::Config,
        workspace: &Path,
    ) -> Result<policy::Policy, policy::ConfigError> {
        let workspace = rules::Workspace::new(workspace, &sandbox::spellings(workspace));
        policy::Policy::within(config, Arc::new(move |path: &str| workspace.places(path)))
    }

    /// Where the rule stands whose id one after it repeats, which may be in another file.
    fn first_of_this_id(&self, config: &policy::Config, keys: &[String]) -> Option<String> {
        let [list, nth, key] = keys else { return None };
        let nth: usize = nth.parse().ok().filter(|_| list == "rules" && key == "id")?;
        let id = &config.rules.get(nth)?.id;
        let first = config.rules[..nth].iter().position(|rule| rule.id == *id)?;
        let place = self.tree.place_of(["policy", "rules", &first.to_string(), "id"]);
        Some(format!("; the first stands at {}", spot(self.sources, place)?))
    }

    pub(super) fn rates(&mut self, limits: &Limits) -> Option<gate::Rates> {
        if let Some(why) = limits.result.fault() {
            self.report(&["limits", "result"], format!("limits.result: {why}"));
        }
        let rates = gate::Rates::new(limits.rate, &limits.callers, &limits.tools, &limits.upstreams);
        for problem in rates.as_ref().err().into_iter().flatten() {
            let [table, name] = &problem.keys;
            self.report(&["limits", table, name], problem.to_string());
        }
        rates.ok()
    }
}

/// Whether a server runs on this machine, as far as its settings tell: what it asks of others is not seen.
fn is_local(upstream: &upstream::Settings) -> bool {
    let Some(address) = upstream.address() else { return true };
    let host = address.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
