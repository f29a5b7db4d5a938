//! Dry runs: a call that changes nothing and says what it would change, and the same call in earnest, as long as the files
//! are as they were.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use audit::Hash;
use policy::Caller;
use sandbox::confine::Changes;
use sandbox::{Change, Content, What};
use serde::{Deserialize, Serialize};
use store::{Content as CellContent, Kind, Store, StoreError, replace};
use tool_api::{Block, Outcome, Payload, Planned};

use crate::admitted::Identity;
use crate::failure::{Failure, Refusal};
use crate::offer::Offered;
use crate::plan_fault::PlanFault;

/// The longest diff that a result holds, in bytes.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// How long a plan can be followed.
pub(crate) const PLAN_LASTS: Duration = Duration::from_secs(60 * 60);

/// How a call wants to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Earnest {
    /// As it is.
    #[default]
    Real,
    /// It changes nothing, and says what it would change.
    Dry,
    /// As the dry run of this hash has said.
    Planned(Arc<str>),
}

impl Earnest {
    /// As a request says it. One that says both changes nothing.
    pub fn of(dry_run: bool, plan_hash: Option<String>) -> Earnest {
        match (dry_run, plan_hash) {
            (true, _) => Earnest::Dry,
            (false, Some(plan)) => Earnest::Planned(plan.into()),
            (false, None) => Earnest::Real,
        }
    }

    /// Each in another word.
    pub fn word(&self) -> &str {
        match self {
            Earnest::Real => "",
            Earnest::Dry => "dry",
            Earnest::Planned(plan) => plan,
        }
    }
}

/// What was said to change, as it is kept.
#[derive(Serialize, Deserialize)]
struct Plan {
    /// Whose call it belongs to.
    call: String,
    /// In milliseconds since 1970.
    ends_at_ms: i64,
    files: Vec<PlannedFile>,
}

/// A file as it was.
#[derive(Serialize, Deserialize)]
struct PlannedFile {
    path: PathBuf,
    /// Mode and SHA-256; nothing if there was none.
    before: Option<(u32, String)>,
}

/// The plans that may be followed.
#[derive(Clone)]
pub(crate) struct Plans {
    store: Arc<dyn Store>,
    clock: fn() -> i64,
}

impl Plans {
    pub(crate) fn new(store: Arc<dyn Store>, clock: fn() -> i64) -> Plans {
        Plans { store, clock }
    }

    /// The files of a plan of this call, to be held against those that are there.
    pub(crate) async fn files(&self, plan_hash: &str, call: Hash) -> Result<Vec<Change>, Failure> {
        let unavailable = |error: StoreError| Refusal::NotPlanned(PlanFault::Unavailable(error.to_string()));
        let kept = self.store.cell(Kind::Plan, plan_hash).await.map_err(unavailable)?;
        let plan: Option<Plan> = kept.and_then(|cell| serde_json::from_slice(&cell.value).ok());
        let is_open = |plan: &Plan| plan.call == call.to_string() && (self.clock)() < plan.ends_at_ms;
        let plan = plan.filter(is_open);
        let plan = plan.ok_or(Refusal::NotPlanned(PlanFault::Unknown))?;
        let content = |(mode, sha256)| Content { mode, sha256, shown: None };
        let change = |file: PlannedFile| {
            let before = file.before.map(content);
            Change { path: file.path, what: What::Changed, before, after: None }
        };
        Ok(plan.files.into_iter().map(change).collect())
    }

    /// Remembers what a call would change, unless that is more than is told: nobody follows what was not shown.
    pub(crate) async fn keep(&self, found: &Found) -> Result<(), StoreError> {
        let (now_ms, Found { changes, call, plan_hash, .. }) = ((self.clock)(), found);
        self.store.remove_ended(Kind::Plan, now_ms).await?;
        if changes.is_cut {
            return Ok(());
        }
        let before = |change: &Change| change.before.as_ref().map(|it| (it.mode, it.sha256.clone()));
        let file = |change: &Change| PlannedFile { path: change.path.clone(), before: before(change) };
        let ends_at_ms = now_ms.saturating_add(PLAN_LASTS.as_millis() as i64);
        let plan = Plan { call: call.to_string(), ends_at_ms, files: changes.all.iter().map(file).collect() };
        let value = serde_json::to_vec(&plan).map_err(|error| StoreError::Database(Box::new(error)))?;
        let content = CellContent { value, ends_at_ms: Some(ends_at_ms), ..CellContent::default() };
        loop {
            let there = self.store.cell(Kind::Plan, plan_hash).await?.map(|cell| cell.version);
            let change = store::Change::put(Kind::Plan, plan_hash, there, content.clone());
            if replace(&*self.store, change).await?.is_some() {
                return Ok(());
            }
        }
    }
}

/// What a dry run has found.
pub(crate) struct Found {
    call: Hash,
    plan_hash: Arc<str>,
    changes: Changes,
    diff: String,
}

impl Found {
    pub(crate) fn new(call: Hash, changes: Changes) -> Found {
        let (plan_hash, diff) = (plan_hash(call, &changes).to_string().into(), cut(changes.to_string()));
        Found { call, plan_hash, changes, diff }
    }

    /// The outcome of the call, which says it.
    pub(crate) fn told(self, outcome: Outcome) -> Outcome {
        let Found { plan_hash, changes, diff, .. } = self;
        let text = match diff.is_empty() {
            true => "dry run: nothing would change".to_owned(),
            false => {
                format!("dry run: nothing was changed; plan_hash {plan_hash}; this would change:\n{diff}")
            }
        };
        let Payload::Ours { mut blocks, structured } = outcome.payload else { return outcome };
        blocks.push(Block::Text(text));
        let is_cut = changes.is_cut;
        let of = |change: &Change| (change.path.to_string_lossy().into_owned(), change.what.as_str());
        // A plan holds every file to how it is; what stays so is no change to tell of.
        let told = changes.all.iter().filter(|change| change.before != change.after).map(of).collect();
        let planned = Planned { plan_hash, changes: told, is_cut, diff };
        Outcome { payload: Payload::Ours { blocks, structured }, planned: Some(Box::new(planned)), ..outcome }
    }
}

/// What a plan belongs to: who calls what, with which arguments.
pub(crate) fn call_hash(identity: &Identity) -> Hash {
    call_hash_of(&identity.caller, &identity.offered, &identity.arguments)
}

pub(crate) fn call_hash_of(caller: &Caller, offered: &Offered, arguments: &[u8]) -> Hash {
    let key = caller.key_id().map(|key| key.to_string()).unwrap_or_default();
    let name = offered.definition().name.to_string();
    Hash::of_parts([caller.id().as_bytes(), key.as_bytes(), name.as_bytes(), arguments])
}

fn plan_hash(call: Hash, changes: &Changes) -> Hash {
    let content = |content: &Option<Content>| {
        content.as_ref().map(|it| format!("{:o} {}", it.mode, it.sha256)).unwrap_or_default()
    };
    let of = |change: &Change| {
        let (before, after) = (content(&change.before), content(&change.after));
        format!("{:?}\0{before}\0{after}\n", change.path)
    };
    let all: String = changes.all.iter().map(of).collect();
    Hash::of_parts([call.to_string().as_bytes(), all.as_bytes()])
}

/// Whole lines, as many as fit.
fn cut(mut diff: String) -> String {
    if diff.len() > DIFF_BYTES_MAX {
        let end = diff.floor_char_boundary(DIFF_BYTES_MAX);
        diff.truncate(diff[..end].rfind('\n').map_or(end, |at| at + 1));
        diff.push_str("the diff is longer: the rest is not shown\n");
    }
    diff
}
