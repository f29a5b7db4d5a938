//! The variables of conditions: those that people write, and those that only we put in.

use strum::VariantNames as _;

use crate::caller::{CallerKind, Via};
use crate::facts::{Effect, ToolOrigin};
use crate::role::Role;
use crate::words::ActionWord;

/// The name under which a loop asks for its next step. No expression can spell it.
pub(super) const STEP: &str = "@step";

/// What the names of patterns begin with.
pub(super) const PATTERN: &str = "@pattern";

/// The name under which `isUnder` asks where relative paths begin.
pub(super) const BASE: &str = "@base";

/// The name under which `runs` and `commands` ask for what commands run.
pub(super) const SCRIPTS: &str = "@scripts";

/// One field of a variable.
pub(super) struct Field {
    pub(super) root: &'static str,
    pub(super) name: &'static str,
    pub(super) sort: Sort,
    /// All that it can be, if those are a few words.
    pub(super) words: &'static [&'static str],
}

/// What a field, or another expression, is bound to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Number,
    Flag,
    List,
}

impl Sort {
    pub(super) const fn named(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::List => "a list",
        }
    }
}

/// The variables whose fields are known; `args` is the one beside them.
static FIELDS: [Field; 17] = [
    field("caller", "id", Sort::Text, &[]),
    field("caller", "kind", Sort::Text, CallerKind::VARIANTS),
    field("caller", "via", Sort::Text, Via::VARIANTS),
    field("caller", "roles", Sort::List, Role::VARIANTS),
    field("caller", "scopes", Sort::List, &[]),
    field("tool", "name", Sort::Text, &[]),
    field("tool", "upstream", Sort::Text, &[]),
    field("tool", "origin", Sort::Text, ToolOrigin::VARIANTS),
    field("tool", "action", Sort::Text, ActionWord::VARIANTS),
    field("tool", "effect", Sort::Text, Effect::VARIANTS),
    field("tool", "destructive", Sort::Flag, &[]),
    field("tool", "leaves_machine", Sort::Flag, &[]),
    field("tool", "sends", Sort::Flag, &[]),
    field("now", "unix", Sort::Number, &[]),
    field("now", "hour", Sort::Number, &[]),
    field("now", "minute", Sort::Number, &[]),
    field("now", "weekday", Sort::Number, &[]),
];

const fn field(root: &'static str, name: &'static str, sort: Sort, words: &'static [&'static str]) -> Field {
    Field { root, name, sort, words }
}

/// The fields of one variable.
pub(super) fn fields_of(root: &str) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.root == root)
}
