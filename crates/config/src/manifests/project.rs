//! `Project`: a folder whose manifests are somebody else's word until a person agrees to each.

use std::path::{Path, PathBuf};

use admin::folders::{Agreement, Declaration, HeldBack, Line};
use data_encoding::HEXLOWER;
use sandbox::text_file;
use sha2::{Digest as _, Sha256};
use tool_api::{AnyTool, Listing};

use crate::consent::{Consent, FolderConsent};
use crate::find::{PROJECT_TOOLS, project_tools};
use crate::surroundings::Surroundings;

/// A project that has manifests.
#[derive(Clone)]
pub(super) struct Project {
    /// Where they lie.
    pub tools: PathBuf,
    /// The project's own folder, without links.
    pub folder: PathBuf,
    consent: Consent,
}

/// What becomes of a manifest.
pub(super) enum Judged {
    /// A person has agreed to it.
    Agreed,
    /// None has, or to another text.
    Held(HeldBack),
    /// Nobody can.
    Wrong(String),
}

impl Project {
    /// The one that whoever starts here is in, for a user whose agreements are in `state`.
    pub(super) fn found(surroundings: &Surroundings, state: &Path) -> Option<Project> {
        let tools = project_tools(surroundings)?;
        let folder = text_file::real(tools.parent()?.parent()?);
        let consent = match surroundings.flags.trust_folder {
            true => Consent::ForThisRun,
            false => Consent::KeptIn(Some(state.to_owned())),
        };
        Some(Project { tools, folder, consent })
    }

    /// What a person has agreed to by now. Blocks on the disk.
    pub(super) fn consent(&self) -> FolderConsent {
        self.consent.of_folder(&self.folder)
    }

    /// What becomes of the tool that the file describes.
    pub(super) fn judged(&self, file: &Path, tool: &dyn AnyTool, consent: &FolderConsent) -> Judged {
        // Its programs read these files whatever else they may see.
        let mut reads = tool.definition().listing.reads().iter();
        if let Some(outside) = reads.find(|path| !text_file::real(path).starts_with(&self.folder)) {
            return Judged::Wrong(format!("command: {} lies outside the project", outside.display()));
        }
        let declaration = self.declaration(file, tool);
        match consent.to(&declaration) {
            Agreement::Given { .. } => Judged::Agreed,
            why => Judged::Held(HeldBack { declaration, why }),
        }
    }

    fn declaration(&self, file: &Path, tool: &dyn AnyTool) -> Declaration {
        let definition = tool.definition();
        let (text, does) = match &definition.listing {
            Listing::Declared(described) => (&*described.text, &described.does[..]),
            Listing::Ours(_) | Listing::Relayed(_) => ("", &[][..]),
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let line = |line: &String| Line { shown: line.clone(), kept: line.clone() };
        Declaration {
            folder: self.folder.clone(),
            key: format!("{PROJECT_TOOLS} tool.{}", definition.name),
            place: format!("{PROJECT_TOOLS}/{name}"),
            sha256: HEXLOWER.encode(&Sha256::digest(text)),
            lines: does.iter().map(line).collect(),
            secrets: Vec::new(),
        }
    }
}
