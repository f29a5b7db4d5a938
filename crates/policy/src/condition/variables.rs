//! The variables of conditions: those that people write, and those that only we put in.

/// The name under which a loop asks for its next step. No expression can spell it.
pub(super) const STEP: &str = "@step";

/// What the names of patterns begin with.
pub(super) const PATTERN: &str = "@pattern";

/// The name under which `isUnder` asks where relative paths begin.
pub(super) const BASE: &str = "@base";

/// The values of one variable: its fields, and the words of those that have only some.
pub(super) struct Fields {
    pub(super) root: &'static str,
    pub(super) names: &'static [&'static str],
}

/// The variables whose fields are known; `args` is the one beside them.
pub(super) const FIELDS: [Fields; 3] = [
    Fields { root: "caller", names: &["id", "kind", "via", "roles", "scopes"] },
    Fields {
        root: "tool",
        names: &["name", "upstream", "action", "effect", "destructive", "leaves_machine"],
    },
    Fields { root: "now", names: &["unix", "hour", "minute", "weekday"] },
];

/// The fields that are one of a few words.
pub(super) const WORDS: [(&str, &str, &[&str]); 5] = [
    ("caller", "kind", &["local_user", "key", "token"]),
    ("caller", "via", &["stdio", "socket", "http", "command_line"]),
    ("caller", "roles", &["owner", "maintainer", "developer", "auditor", "agent"]),
    ("tool", "effect", &["reads", "writes", "destroys", "executes"]),
    (
        "tool",
        "action",
        &[
            "tools_call",
            "resources_read",
            "resources_subscribe",
            "resources_unsubscribe",
            "prompts_get",
            "completion_complete",
            "tasks_get",
            "tasks_update",
            "tasks_cancel",
        ],
    ),
];
