//! `Remembered`: the outcome of the last test of the sandbox, kept for all processes of a state folder, with what it holds for.

use sandbox::confine::Circumstances;
use serde::{Deserialize, Serialize};
use store::{CellStore, Kind, StoreError};

use crate::build::Build;

/// There is one.
const KEY: &str = "last";

/// A test that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// What it holds for.
    pub at: HoldsFor,
    /// When it was made, in milliseconds since 1970.
    pub made_at_ms: i64,
    /// How many attempts were made.
    pub attempts: usize,
    /// Those that succeeded.
    pub escaped: Vec<String>,
}

/// What a test holds for: where any of this is another, the outcome may be, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldsFor {
    /// The machine, as it was started, and who runs Toolcrib.
    #[serde(flatten)]
    pub circumstances: Circumstances,
    /// Our program.
    pub build: String,
    /// The layers that the operator does without.
    pub waived: Vec<String>,
}

impl HoldsFor {
    /// This process, on this machine. Nothing if the system does not tell.
    pub fn here(waived: &[sandbox::confine::Layer]) -> Option<HoldsFor> {
        let waived = waived.iter().map(|layer| layer.name().to_owned()).collect();
        Some(HoldsFor { circumstances: Circumstances::here()?, build: Build::own().ok()?.name(), waived })
    }
}

/// What the state folder remembers. A cell of another version of ours tells nothing.
///
/// # Errors
/// The store cannot be read.
pub async fn recall(store: &(impl CellStore + ?Sized)) -> Result<Option<Remembered>, StoreError> {
    let cell = store.cell(Kind::SelfTest, KEY).await?;
    Ok(cell.and_then(|cell| serde_json::from_slice(&cell.value).ok()))
}

pub(super) async fn remember(store: &(impl CellStore + ?Sized), test: &Remembered) -> Result<(), StoreError> {
    let value = serde_json::to_vec(test).expect("a test is JSON");
    store.overwrite(Kind::SelfTest, KEY, value).await
}
