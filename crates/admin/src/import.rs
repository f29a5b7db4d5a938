//! Taking over the servers that other clients have configured: what that would come to. Nothing is written and nothing
//! started.

mod gather;
mod moving;
mod plain_keys;
mod plan;
mod scorpiox;
mod target;

use std::collections::BTreeMap;

use clients::{ScorpioxSettings, Surroundings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use upstream::Config;

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;
pub use gather::{Gathered, unknown};
pub use moving::{MovedFile, Moving, Stays};
pub use plain_keys::{SealedKey, seal_keys, sounds_secret};
pub use plan::{Entry, FoundIn, Ourselves, Plan, Planned, Skipped};
pub use scorpiox::{Grown, Taken};
pub use target::Target;

/// What an import works on.
pub struct ImportPart {
    /// What clients' files are looked for by.
    pub surroundings: Surroundings,
    /// The servers that are configured, by their names.
    pub configured: BTreeMap<String, Config>,
    /// What we are in other clients' files.
    pub ourselves: Ourselves,
    /// Where new ones go.
    pub target: Box<dyn Target>,
}

/// An environment, by the names of its variables.
pub type Environment = BTreeMap<String, String>;

/// Makes that part when it is wanted, for this environment if there is one: whatever is wrong with it is in no other
/// operation's way. Blocks on the disk.
pub struct ImportSource(pub Box<dyn Fn(Option<Environment>) -> Result<ImportPart, Fault> + Send + Sync>);

/// Looks for servers in the files of other clients, and tells which of them an import would add.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preview {
    /// The clients and files to look at; all clients if there is none.
    pub from: Vec<String>,
    /// The environment by which these files are found, and in which variables that they refer to are looked up. If nothing
    /// is said, it is that of whoever does it: of a running Toolcrib it has the variables alone that its configuration names.
    pub environment: Option<Environment>,
}

/// What an import would do, without values that may be secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReport {
    /// The file that servers go into.
    pub file: String,
    /// Those that would be added.
    pub servers: Vec<NewServer>,
    /// Those that would not.
    pub skipped: Vec<Skipped>,
    /// The files that were read.
    pub read: Vec<String>,
    /// What else there is to say about them.
    pub notes: Vec<String>,
    /// The files that could not be read, and why.
    pub errors: Vec<String>,
}

/// A server that would be added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewServer {
    /// Under which name.
    pub name: String,
    /// Its table, as the configuration would have it.
    pub server: Map<String, Value>,
    /// What it refers to.
    pub references: Vec<String>,
    /// Where it was found.
    pub from: Vec<FoundIn>,
    /// What came up.
    pub notes: Vec<String>,
    /// What is missing; until then it is added and left alone.
    pub needs: Vec<String>,
}

impl ImportPart {
    /// What was found in the files of these clients, or in these files, and what an import of it would do. Blocks on the
    /// disk.
    ///
    /// # Errors
    /// A name is no client's and no file's, or the configuration cannot be read.
    pub fn plan(&self, from: &[String]) -> Result<(Gathered, Plan), Fault> {
        let mut gathered = gather::gather(from, &self.surroundings)?;
        let candidates = std::mem::take(&mut gathered.candidates);
        let mut plan = plan::plan(candidates, &self.configured, &self.ourselves);
        plan.sift(&*self.target)?;
        Ok((gathered, plan))
    }

    /// The same for scorpiox code, with what its other settings come to here. Blocks on the disk.
    ///
    /// # Errors
    /// There is no home folder, or the configuration cannot be read.
    pub fn plan_scorpiox(&self) -> Result<(Gathered, Plan, Taken), Fault> {
        let none = || Fault::failed("there is no home folder to look for scorpiox code in");
        let home = clients::home(&self.surroundings).ok_or_else(none)?;
        let settings = ScorpioxSettings::read(&self.surroundings);
        let mut gathered = gather::gather(&["scorpiox".to_owned()], &self.surroundings)?;
        // That it has no file of servers says nothing: its settings may name them.
        gathered.notes.clear();
        scorpiox::gather_servers(&settings, &self.surroundings, &home, &mut gathered);
        let candidates = std::mem::take(&mut gathered.candidates);
        let mut plan = plan::plan(candidates, &self.configured, &self.ourselves);
        let mut taken = Taken::of(&settings, &home);
        taken.told.extend(scorpiox::apply(&settings, &mut plan));
        plan.sift(&*self.target)?;
        gathered.files.extend(settings.files);
        gathered.notes.extend(settings.notes);
        gathered.errors.extend(settings.errors);
        Ok((gathered, plan, taken))
    }

    /// What was found, for showing.
    pub fn report(&self, gathered: &Gathered, plan: &Plan) -> PlanReport {
        PlanReport {
            file: self.target.path().display().to_string(),
            servers: plan.add.iter().map(NewServer::of).collect(),
            skipped: plan.skipped.clone(),
            read: gathered.files.iter().map(|path| path.display().to_string()).collect(),
            notes: gathered.notes.clone(),
            errors: gathered.errors.clone(),
        }
    }
}

impl NewServer {
    fn of(planned: &Planned) -> NewServer {
        let server = toml::from_str(&planned.server.masked().to_toml());
        NewServer {
            name: planned.name.clone(),
            server: server.expect("a server is a table"),
            references: planned.server.references().into_iter().collect(),
            from: planned.from.clone(),
            notes: planned.findings.remarks.clone(),
            needs: planned.findings.missing.clone(),
        }
    }
}

impl Operation for Preview {
    const NAME: &'static str = "import.preview";
    type Part = ImportSource;
    type Output = PlanReport;

    fn perform(self, source: &ImportSource, _by: &By) -> Result<PlanReport, Fault> {
        let part = (source.0)(self.environment)?;
        let (gathered, plan) = part.plan(&self.from)?;
        Ok(part.report(&gathered, &plan))
    }
}
