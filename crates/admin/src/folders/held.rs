//! What a folder declares that is not in force before a person agrees to it, and what is known of their agreement.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A declaration that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// What it is.
    pub declaration: Declaration,
    /// Never [`Agreement::Given`].
    pub why: Agreement,
}

/// One thing that a folder's file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The folder, without links.
    pub folder: PathBuf,
    /// Which it is there, such as `toolcrib.toml mcp.git`.
    pub key: String,
    /// Where it stands, as `toolcrib.toml:3:1`.
    pub place: String,
    /// The SHA-256 of what matters in it, as 64 hexadecimal digits.
    pub sha256: String,
    /// What it does, one thing to a line.
    pub lines: Vec<Line>,
    /// The kept secrets that it names.
    pub secrets: Vec<String>,
}

/// One thing that a declaration does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// As a person sees it who is asked.
    pub shown: String,
    /// As it is kept: without values of variables and headers.
    pub kept: String,
}

/// What is known of a person's agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// They have agreed, and to the use of these kept secrets.
    Given {
        /// Their names.
        secrets: Vec<String>,
    },
    /// They have not been asked.
    Unknown,
    /// They have agreed to something else, which was kept in these lines.
    Changed {
        /// What it did, without values.
        before: Vec<String>,
    },
    /// It cannot be found out, for this reason.
    Unreadable(String),
}

/// What waits for a person's agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// The folder that declares it, without links.
    pub folder: String,
    /// Which it is there, such as `toolcrib.toml mcp.git`.
    pub declaration: String,
    /// Where it stands, as `toolcrib.toml:3:1`.
    pub place: String,
    /// Why it waits.
    pub state: WaitingState,
    /// What it does, one thing to a line.
    pub does: Vec<String>,
    /// The kept secrets that it names.
    pub secrets: Vec<String>,
    /// The SHA-256 of what matters in it, by which it is agreed to.
    pub sha256: String,
}

/// Why something waits for a person's agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingState {
    /// They have not been asked.
    New,
    /// They have agreed to something else.
    Changed,
    /// It cannot be found out.
    Unreadable,
}

impl Declaration {
    /// The server that it declares, if it is one.
    pub fn server(&self) -> Option<&str> {
        self.key.split_once(" mcp.").map(|(_, name)| name)
    }
}

impl From<&HeldBack> for Waiting {
    fn from(HeldBack { declaration, why }: &HeldBack) -> Waiting {
        Waiting {
            folder: declaration.folder.display().to_string(),
            declaration: declaration.key.clone(),
            place: declaration.place.clone(),
            state: match why {
                Agreement::Changed { .. } => WaitingState::Changed,
                Agreement::Unknown => WaitingState::New,
                Agreement::Unreadable(_) | Agreement::Given { .. } => WaitingState::Unreadable,
            },
            does: declaration.lines.iter().map(|line| line.shown.clone()).collect(),
            secrets: declaration.secrets.clone(),
            sha256: declaration.sha256.clone(),
        }
    }
}
