//! One rule, checked and compiled.

use std::borrow::Cow;
use std::sync::Arc;

use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::names::Content;
use crate::node::Place;
use crate::patterns::PathPatterns;
use crate::transform::Edit;

/// What stands in the place of what is struck out, unless a rule has words of its own.
pub(crate) const PLACEHOLDER: &str = "[REDACTED]";

/// What a rule is for. Nothing is decided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Category {
    /// Keeps harm away.
    Safety,
    /// Keeps what is private here.
    Privacy,
    /// How things are written.
    Style,
    /// How agents behave.
    Behaviour,
    /// The same in American English.
    Behavior,
    /// What may be spent.
    Cost,
    /// What a person must agree to.
    Approval,
}

/// What happens to a call that a rule matches, the most lenient first.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Nothing; it is noted that the rule matched.
    Ignore,
    /// It is noted and logged.
    Warn,
    /// What matches is struck out of arguments and results.
    Redact {
        /// True if it is logged as well.
        warns: bool,
        /// What stands in its place.
        placeholder: Arc<str>,
    },
    /// The arguments are changed.
    Transform(Arc<[Edit]>),
    /// Only something local, or one of these upstreams, may do it.
    OverrideProvider(Arc<[Box<str>]>),
    /// A person must agree, one of these roles; any that may answer if there are none.
    RequireApproval(Arc<[Box<str>]>),
    /// It does not run, and what it gave is withheld.
    Block,
}

impl Action {
    /// The words of a rules file.
    pub(crate) const WORDS: [&'static str; 8] = [
        "ignore",
        "warn",
        "redact",
        "redact_and_warn",
        "block",
        "require_approval",
        "override_provider",
        "transform",
    ];

    /// Its word in a rules file.
    pub fn word(&self) -> &'static str {
        match self {
            Action::Ignore => "ignore",
            Action::Warn => "warn",
            Action::Redact { warns: false, .. } => "redact",
            Action::Redact { warns: true, .. } => "redact_and_warn",
            Action::Transform(_) => "transform",
            Action::OverrideProvider(_) => "override_provider",
            Action::RequireApproval(_) => "require_approval",
            Action::Block => "block",
        }
    }

    /// Takes the rule's own words out of what stands in the place of what is struck.
    pub(crate) fn forget_placeholder(&mut self) {
        if let Action::Redact { placeholder, .. } = self {
            *placeholder = PLACEHOLDER.into();
        }
    }

    /// True if a call that it concerns does not go as it came.
    pub(crate) fn binds(&self) -> bool {
        match self {
            Action::Ignore | Action::Warn | Action::Transform(_) => false,
            Action::Redact { .. }
            | Action::OverrideProvider(_)
            | Action::RequireApproval(_)
            | Action::Block => true,
        }
    }

    /// True if it looks at results as well.
    pub(crate) fn concerns_results(&self) -> bool {
        match self {
            Action::Ignore | Action::Warn | Action::Redact { .. } | Action::Block => true,
            Action::Transform(_) | Action::OverrideProvider(_) | Action::RequireApproval(_) => false,
        }
    }
}

/// Whether rules act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ModeWord")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Mode {
    /// They do, unless a rule says otherwise itself.
    #[default]
    Enforce,
    /// What they would have done is in the audit log.
    AuditOnly,
    /// The same, and it is logged.
    DryRun,
}

impl Mode {
    /// The word in a rules file.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The more lenient of two.
    pub(crate) fn or_more_lenient(self, other: Mode) -> Mode {
        if self == Mode::Enforce { other } else { self }
    }
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its name in records, unique in its file.
    pub id: Arc<str>,
    /// What it is for.
    pub category: Option<Category>,
    /// What it says to people.
    pub description: Option<Arc<str>>,
    /// What it does.
    pub action: Action,
    /// Whether it does it.
    pub mode: Mode,
    /// Where it begins in its file.
    pub place: Place,
    pub(crate) matches: Matches,
}

/// What a rule is about. Whatever is given must hold; of several in one list, one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matches {
    pub(crate) paths: Option<PathPatterns>,
    pub(crate) content: Option<Content>,
    pub(crate) projects: Option<GlobSet>,
    pub(crate) tools: Option<GlobSet>,
    pub(crate) upstreams: Option<GlobSet>,
    /// In small letters, without their dots.
    pub(crate) file_types: Option<Vec<Box<str>>>,
}

impl Rule {
    /// What the audit log says of it when it matches: its action, and its mode unless it acts.
    pub fn effect(&self) -> Cow<'static, str> {
        match self.mode {
            Mode::Enforce => Cow::Borrowed(self.action.word()),
            Mode::AuditOnly | Mode::DryRun => {
                Cow::Owned(format!("{} ({})", self.action.word(), self.mode.word()))
            }
        }
    }

    /// What it matched, completing "the tool …", with what its file says to people.
    pub(crate) fn why(&self) -> String {
        let Matches { paths, content, file_types, .. } = &self.matches;
        let why = match (content, paths.is_some() || file_types.is_some()) {
            (Some(_), _) => "has content that a rule looks for",
            (None, true) => "names a path that a rule is about",
            (None, false) => "is what a rule is about",
        };
        match &self.description {
            Some(description) => format!("{why}: {}", description.trim_end_matches('.')),
            None => why.to_owned(),
        }
    }
}
