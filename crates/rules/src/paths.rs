//! The paths that a call names, in every form in which a rule may speak of them. What a member is called says little of
//! what a server does with it, so any text that could be a path is taken for one.

mod address;
mod forms;
mod named;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::variables::{self, Spelt};
use crate::workspace::{LOOKS_MAX, TooMany, Workspace};
use forms::{Forms, JOINS_MAX};
use named::{FOLDERS_MAX, Named, OTHERS_MAX, PATHS_MAX, may_be_path};
pub(crate) use named::{is_path_name, looks_like_path};

/// The paths of a call.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// Every form of each: as it is written; from the workspace's folder on, without `.` and `..`, if it lies in there, and
    /// in full otherwise; and the same of what links lead to.
    pub(crate) forms: Vec<String>,
    /// What there is more of than is looked at.
    pub(crate) over: Option<TooMany>,
}

impl Paths {
    /// Adds those that these arguments may name.
    pub(crate) fn add(&mut self, arguments: &Value, workspace: &Workspace) {
        let mut named = Named::default();
        named.look(arguments, None);
        let mut forms = Forms::new(workspace);
        let over = named.over.or(forms.all(&mut named).err());
        self.over = self.over.or(over);
        self.forms.append(&mut forms.found);
        self.forms.sort_unstable();
        self.forms.dedup();
    }
}

impl TooMany {
    /// What there is too much of, completing "the tool …".
    pub(crate) fn why(self) -> String {
        let what = match self {
            TooMany::Paths => format!("names more than {PATHS_MAX} paths"),
            TooMany::Texts => format!("has more than {OTHERS_MAX} texts that may be paths"),
            TooMany::Folders => {
                format!("names more than {FOLDERS_MAX} folders that its paths may begin at")
            }
            TooMany::Joins => format!("has more than {JOINS_MAX} paths made of a folder and a text"),
            TooMany::Looks => {
                return format!(
                    "names paths for which the file system would be asked more than {LOOKS_MAX} times, which is the \
                     most that is done to hold them against the AI rules"
                );
            }
        };
        format!("{what}, which is the most that are held against the AI rules")
    }
}

/// Whether the arguments call something a path of which nobody knows here what it stands for (`$DATA/x`).
pub(crate) fn are_unknown(arguments: &Value, workspace: &Workspace) -> bool {
    let mut named = Named::default();
    named.look(arguments, None);
    let is_unknown = |text: &&str| {
        looks_like_path(text)
            && may_be_path(text)
            && variables::read(text.trim(), workspace.home()) == Spelt::Unknown
    };
    named.texts.iter().any(is_unknown)
}
