//! Words by which people look for our tools, beside those that the tools say of themselves: how other programs call the same, and
//! what they are used for. They are shown to nobody.

/// Each tool with its words.
const WORDS: [(&str, &str); 27] = [
    (
        "Bash",
        "shell terminal command execute run tests test suite build compile script process program git npm cargo make cli sh zsh",
    ),
    ("BackgroundBash", "server watch daemon start long"),
    ("ReadBgOutput", "logs tail stdout output"),
    ("ListBgTasks", "processes jobs ps"),
    ("KillBgTask", "stop end cancel terminate"),
    ("workspace_read", "cat open view show content head tail less"),
    ("workspace_write", "create save new overwrite touch"),
    ("workspace_edit", "replace change modify sed substitute update str_replace"),
    ("workspace_patch", "diff apply change modify"),
    ("workspace_list", "ls dir directory tree entries"),
    ("workspace_search", "grep rg ripgrep regex regexp pattern text code occurrences"),
    ("workspace_find", "glob locate fd"),
    ("workspace_move", "rename mv move copy"),
    ("workspace_delete", "remove rm unlink trash erase"),
    ("workspace_restore", "undo revert undelete recover rollback history"),
    ("ReadImage", "picture photo screenshot png jpeg gif view show"),
    ("ReadDocs", "http https url fetch curl wget download browse browser page website html pdf"),
    ("WebSearch", "google internet web online look up"),
    ("TaskManager", "todo todos list checklist progress"),
    ("PlanMode", "plan planning design think"),
    ("AskUserQuestion", "ask user human confirm clarify input choose prompt"),
    ("SetCallback", "timer reminder alarm schedule later delay cron wake"),
    ("callback_wait", "sleep wait"),
    ("InvokeSkill", "skill instructions guide recipe"),
    ("job_wait", "job wait poll status"),
    ("job_result", "job result output"),
    ("artifact_read", "long result output rest"),
];

/// The words of a tool of ours.
pub(super) fn search_words(name: &str) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == name).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_tool() {
        let search = crate::SearchSettings::default();
        let tools = crate::all(&crate::offer::Set::ALL, crate::offer::Budgets::default(), &search);
        for (name, _) in WORDS {
            // Without services there is no search.
            let is_ours = tools.iter().any(|tool| tool.definition().name.as_str() == name);
            assert!(is_ours || name == "WebSearch", "{name}");
        }
    }
}
