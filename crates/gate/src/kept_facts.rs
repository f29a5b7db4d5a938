//! What a result says besides its content, as it is kept with it: what a dry run would change, how programs ran, and which
//! artifacts were made.

use std::sync::Arc;

use sandbox::What;
use sandbox::confine::{Layer, Profile, StartedBy};
use serde::{Deserialize, Serialize};
use tool_api::{Artifact, Planned, Sandboxed};

/// What may become of a file.
const WHATS: [What; 3] = [What::Added, What::Changed, What::Removed];

/// A plan without its diff, which the content says in words.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KeptPlan {
    plan_hash: Arc<str>,
    changes: Vec<(String, String)>,
    is_cut: bool,
}

impl KeptPlan {
    pub(crate) fn of(planned: &Planned) -> KeptPlan {
        let Planned { plan_hash, changes, is_cut, diff: _ } = planned;
        let changes = changes.iter().map(|(path, what)| (path.clone(), (*what).to_owned())).collect();
        KeptPlan { plan_hash: plan_hash.clone(), changes, is_cut: *is_cut }
    }

    pub(crate) fn opened(self) -> Planned {
        let KeptPlan { plan_hash, changes, is_cut } = self;
        let change = |(path, what): (String, String)| Some((path, known(&what, WHATS.map(What::as_str))?));
        Planned {
            plan_hash,
            changes: changes.into_iter().filter_map(change).collect(),
            is_cut,
            diff: String::new(),
        }
    }
}

/// How programs ran.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KeptSandbox {
    profile: String,
    launcher: String,
    degraded: Vec<String>,
}

impl KeptSandbox {
    pub(crate) fn of(sandboxed: &Sandboxed) -> KeptSandbox {
        let Sandboxed { profile, launcher, degraded } = sandboxed;
        let degraded = degraded.iter().map(|layer| (*layer).to_owned()).collect();
        KeptSandbox { profile: (*profile).to_owned(), launcher: (*launcher).to_owned(), degraded }
    }

    /// Nothing if a word of it means nothing to us, as of another release.
    pub(crate) fn opened(self) -> Option<Sandboxed> {
        let degraded = self.degraded.iter().map(|layer| known(layer, Layer::ALL.map(Layer::name)));
        Some(Sandboxed {
            profile: known(&self.profile, Profile::NAMES.into_iter().chain([Profile::upstream().name]))?,
            launcher: known(&self.launcher, [StartedBy::Own, StartedBy::Bwrap].map(StartedBy::name))?,
            degraded: degraded.collect::<Option<_>>()?,
        })
    }
}

/// An artifact of the call.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KeptArtifact {
    id: String,
    name: String,
    media_type: String,
    bytes: u64,
    lines: u64,
    sha256: String,
}

impl KeptArtifact {
    pub(crate) fn of(artifact: &Artifact) -> KeptArtifact {
        let Artifact { id, name, media_type, bytes, lines, sha256 } = artifact.clone();
        KeptArtifact { id, name, media_type, bytes, lines, sha256 }
    }

    pub(crate) fn opened(self) -> Artifact {
        let KeptArtifact { id, name, media_type, bytes, lines, sha256 } = self;
        Artifact { id, name, media_type, bytes, lines, sha256 }
    }
}

/// The word of ours that this one is.
fn known(word: &str, ours: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    ours.into_iter().find(|known| *known == word)
}
