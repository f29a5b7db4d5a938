//! The configuration that servers are to be added to: whether it bears them, and what it becomes with them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::plan::{Plan, Planned, Skipped};
use crate::config::problem::{Problems, without_place};
use crate::config::{Surroundings, load_as_if, text_of};
use crate::config_edit as edit;
use crate::ending::Trouble;

/// The configuration as it is.
pub(super) struct Ground<'a> {
    pub(super) named: Option<&'a Path>,
    pub(super) surroundings: &'a Surroundings,
    /// The file that servers go into.
    pub(super) target: PathBuf,
}

impl Ground<'_> {
    /// Takes those out of the plan that the configuration would not bear.
    pub(super) fn sift(&self, plan: &mut Plan) -> Result<(), Trouble> {
        let mut text = self.text()?;
        // What is wrong as it is, such as a variable that is not set here, is not the newcomers' fault.
        let known: HashSet<String> = self.problems(&text).into_iter().collect();
        // Reading everything once for each of many would take long: they are tried together, and by halves where
        // something is wrong. The one that is tried next is the last one here.
        let mut untried = vec![std::mem::take(&mut plan.add)];
        while let Some(mut some) = untried.pop() {
            let more = self.with(&text, &some)?;
            let problems = self.problems(&more).into_iter().filter(|problem| !known.contains(problem));
            let problems: Vec<String> = problems.map(|problem| without_place(&problem).to_owned()).collect();
            if problems.is_empty() {
                text = more;
                plan.add.append(&mut some);
            } else if some.len() > 1 {
                let half = some.split_off(some.len() / 2);
                untried.extend([half, some]);
            } else {
                let from = some.into_iter().flat_map(|planned| planned.from);
                plan.skipped.extend(from.map(|from| Skipped { from, why: problems.join("; ") }));
            }
        }
        Ok(())
    }

    /// Writes them all, or none if the file has become another one that does not bear them.
    pub(super) fn add(&self, planned: &[Planned]) -> Result<(), Trouble> {
        let held = edit::hold(&self.target).map_err(Trouble::Failed)?;
        let before = held.text().map_err(Trouble::Failed)?;
        let text = self.with(&before, planned)?;
        let known = self.problems(&before);
        if let Some(problem) = self.problems(&text).iter().find(|problem| !known.contains(problem)) {
            return Err(self.failed(problem));
        }
        held.write(&text).map_err(Trouble::Failed)
    }

    fn text(&self) -> Result<String, Trouble> {
        Ok(text_of(&self.target).map_err(Trouble::Failed)?.unwrap_or_default())
    }

    fn with(&self, text: &str, planned: &[Planned]) -> Result<String, Trouble> {
        let new: Vec<_> = planned.iter().map(|planned| (planned.name.as_str(), &planned.server)).collect();
        edit::add_servers(text, &new).map_err(|why| self.failed(&why))
    }

    fn problems(&self, text: &str) -> Vec<String> {
        let loaded = load_as_if(self.named, self.surroundings, &self.target, text.to_owned());
        loaded.err().as_ref().map(Problems::lines).unwrap_or_default().to_vec()
    }

    fn failed(&self, why: &str) -> Trouble {
        Trouble::Failed(format!("{}: {why}; nothing was added", self.target.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::From;
    use super::*;
    use crate::clients::{Findings, Server};

    #[test]
    fn those_that_the_configuration_does_not_bear_are_taken_out_and_the_rest_stays_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("toolcrib.toml");
        let state =
            format!("[state]\ndir = {:?}\n[mcp.ours]\nsokcet = \"x\"\n", folder.path().display().to_string());
        edit::hold(&target).expect("free").write(&state).expect("written");
        let surroundings = Surroundings { current_dir: folder.path().into(), ..Surroundings::default() };
        let planned = |number: usize| {
            let url = if number % 4 == 3 { "gopher://a" } else { "https://a.example/mcp" };
            let from = From { client: "Cursor", path: "/f".into(), name: number.to_string() };
            Planned {
                name: format!("s{number}"),
                server: Server { url: Some(url.to_owned()), ..Server::default() },
                findings: Findings::default(),
                from: vec![from],
            }
        };
        let mut plan = Plan { add: (0..9).map(planned).collect(), skipped: Vec::new() };
        let ground = Ground { named: Some(&target), surroundings: &surroundings, target: target.clone() };
        ground.sift(&mut plan).expect("it can be read");
        let names: Vec<&str> = plan.add.iter().map(|planned| planned.name.as_str()).collect();
        assert_eq!(names, ["s0", "s1", "s2", "s4", "s5", "s6", "s8"]);
        let skipped: Vec<&str> = plan.skipped.iter().map(|skipped| skipped.from.name.as_str()).collect();
        assert_eq!(skipped, ["3", "7"]);
        assert!(plan.skipped.iter().all(|skipped| skipped.why.contains("url")), "{:?}", plan.skipped);
    }
}
