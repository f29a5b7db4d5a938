//! What folders' files declare, what a person has agreed to of it, and agreeing to it or taking that back.

mod held;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gate::Approvals;
use redact::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SqliteStore;

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;
use crate::receipts::{self, Receipt, Receipts};
use crate::running::{Running, Told};
pub use held::{Agreement, Declaration, HeldBack, Line, Waiting, WaitingState};

/// What operations on folders work on.
pub struct FoldersPart {
    /// Where agreements are kept.
    pub store: Arc<SqliteStore>,
    /// Looks at folders.
    pub look: Box<Look>,
    /// Strikes secrets out of what is kept.
    pub redactor: Redactor,
    /// Those who go by what is agreed to.
    pub running: Arc<dyn Running>,
    /// The time in milliseconds since 1970.
    pub now_ms: fn() -> i64,
}

/// Looks at a folder as if Toolcrib were started there. Waits for the disk.
pub type Look = dyn Fn(&Path) -> Result<DeclaringFolder, Fault> + Send + Sync;

/// A folder that was looked at.
pub struct DeclaringFolder {
    /// It, without links.
    pub folder: PathBuf,
    /// The folders whose files were read: it, or one above it.
    pub read: Vec<PathBuf>,
    /// What they declare that is not in force.
    pub held: Vec<HeldBack>,
    /// What else there is to say about them.
    pub notes: Vec<String>,
    /// Where agreements with them are kept.
    pub store: Arc<SqliteStore>,
}

/// Every folder of which something was agreed to.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// Folders of which something was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderList {
    /// In the order of their paths.
    pub folders: Vec<AgreedFolder>,
}

/// A folder of which something was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgreedFolder {
    /// It, without links.
    pub folder: String,
    /// What, by the names of its declarations.
    pub agreed: Receipts,
}

/// What a folder's files declare, and what was agreed to of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The folder. Its files are looked for as if Toolcrib were started there.
    pub folder: PathBuf,
}

/// One folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderReport {
    /// It, without links.
    pub folder: String,
    /// What is not in force before a person agrees to it.
    pub waiting: Vec<Waiting>,
    /// What was agreed to, by the names of its declarations.
    pub agreed: Receipts,
    /// What else there is to say about its files.
    pub notes: Vec<String>,
}

/// Agrees to what was shown of a folder. A person's to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agree {
    /// The folder, as it was looked at.
    pub folder: PathBuf,
    /// What of it.
    pub to: Vec<AgreeTo>,
}

/// A declaration that is agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgreeTo {
    /// Which, such as `toolcrib.toml mcp.git`.
    pub declaration: String,
    /// Its hash, as it was shown.
    pub sha256: String,
    /// The kept secrets among those that it names which it may use.
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// What was agreed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreedTo {
    /// The folder, without links.
    pub folder: String,
    /// The names of its declarations.
    pub agreed: Vec<String>,
    /// What running Toolcribs made of it.
    pub running: Vec<Told>,
}

/// Takes back what was agreed to of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The folder. Its files are looked for as if Toolcrib were started there.
    pub folder: PathBuf,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    /// The folder, without links.
    pub folder: String,
    /// False if nothing had been agreed to.
    pub revoked: bool,
    /// What running Toolcribs made of it.
    pub running: Vec<Told>,
}

impl FoldersPart {
    /// Keeps an agreement to this declaration, and to the use of these kept secrets, for whoever has found out by other means
    /// that a person agrees. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn keep(&self, declaration: &Declaration, secrets: Vec<String>) -> Result<(), Fault> {
        let new = [self.receipt(declaration, secrets)];
        receipts::agree(&*self.store, &declaration.folder, &new).map_err(Fault::failed)
    }

    fn receipt(&self, declaration: &Declaration, secrets: Vec<String>) -> (String, Receipt) {
        let clean = |line: &Line| self.redactor.text(&line.kept).into_owned();
        let receipt = Receipt {
            sha256: declaration.sha256.clone(),
            lines: declaration.lines.iter().map(clean).collect(),
            secrets,
            agreed_at_ms: (self.now_ms)(),
        };
        (declaration.key.clone(), receipt)
    }

    /// Has every running Toolcrib read its configuration again.
    fn tell(&self) -> Result<Vec<Told>, Fault> {
        let answers = self.running.reload().map_err(Fault::because)?;
        Ok(answers.into_iter().map(Told::from).collect())
    }
}

impl DeclaringFolder {
    /// What there is to say about it.
    ///
    /// # Errors
    /// What was agreed to cannot be read.
    pub fn report(&self) -> Result<FolderReport, Fault> {
        Ok(FolderReport {
            folder: self.shown(),
            waiting: self.held.iter().map(Waiting::from).collect(),
            agreed: receipts::receipts(&*self.store, &self.folder).map_err(Fault::failed)?,
            notes: self.notes.clone(),
        })
    }

    fn shown(&self) -> String {
        self.folder.display().to_string()
    }

    /// The declaration that was shown, if it is as it was.
    fn shown_as(&self, wanted: &AgreeTo) -> Result<&Declaration, Fault> {
        let (folder, key) = (self.shown(), &wanted.declaration);
        let held = self.held.iter().find(|held| held.declaration.key == *key);
        let nothing = || format!("nothing of the name `{key}` waits for your agreement in {folder}");
        let held = held.ok_or_else(|| Fault::unknown("unknown_declaration", nothing()))?;
        if let Agreement::Unreadable(why) = &held.why {
            return Err(Fault::failed(why));
        }
        if held.declaration.sha256 != wanted.sha256 {
            let changed = format!("{key} of {folder} has changed since it was shown; look at it once more");
            return Err(Fault::refused("changed", changed));
        }
        match wanted.secrets.iter().find(|secret| !held.declaration.secrets.contains(secret)) {
            Some(secret) => Err(Fault::misused(format!("{key} of {folder} names no kept secret {secret}"))),
            None => Ok(&held.declaration),
        }
    }
}

impl Operation for List {
    const NAME: &'static str = "folders.list";
    type Part = FoldersPart;
    type Output = FolderList;

    fn perform(self, part: &FoldersPart, _: &By) -> Result<FolderList, Fault> {
        let all = receipts::all(&*part.store).map_err(Fault::failed)?.into_iter();
        let all = all.map(|(folder, agreed)| AgreedFolder { folder: folder.display().to_string(), agreed });
        Ok(FolderList { folders: all.collect() })
    }
}

impl Operation for Show {
    const NAME: &'static str = "folders.show";
    type Part = FoldersPart;
    type Output = FolderReport;

    fn perform(self, part: &FoldersPart, _: &By) -> Result<FolderReport, Fault> {
        (part.look)(&self.folder)?.report()
    }
}

impl Operation for Agree {
    const NAME: &'static str = "folders.agree";
    type Part = FoldersPart;
    type Output = AgreedTo;

    fn perform(self, part: &FoldersPart, by: &By) -> Result<AgreedTo, Fault> {
        let found = (part.look)(&self.folder)?;
        let declarations = self.to.iter().map(|wanted| found.shown_as(wanted));
        let declarations = declarations.collect::<Result<Vec<_>, Fault>>()?;
        by.in_person()?.pass(&Approvals::new(found.store.clone()))?;
        // The configuration of a project and its manifests may lie in two folders.
        let mut new: BTreeMap<&Path, Vec<(String, Receipt)>> = BTreeMap::new();
        for (one, wanted) in declarations.iter().zip(self.to) {
            new.entry(&one.folder).or_default().push(part.receipt(one, wanted.secrets));
        }
        for (folder, new) in new {
            receipts::agree(&*found.store, folder, &new).map_err(Fault::failed)?;
        }
        let agreed = declarations.iter().map(|one| one.key.clone()).collect();
        Ok(AgreedTo { folder: found.shown(), agreed, running: part.tell()? })
    }
}

impl Operation for Revoke {
    const NAME: &'static str = "folders.revoke";
    type Part = FoldersPart;
    type Output = Revoked;

    fn perform(self, part: &FoldersPart, _: &By) -> Result<Revoked, Fault> {
        let found = (part.look)(&self.folder)?;
        let mut revoked = false;
        // Files that have gone since may have been agreed to, too.
        for folder in std::iter::once(&found.folder).chain(&found.read) {
            revoked |= receipts::revoke(&*found.store, folder).map_err(Fault::failed)?;
        }
        let running = if revoked { part.tell()? } else { Vec::new() };
        Ok(Revoked { folder: found.shown(), revoked, running })
    }
}
