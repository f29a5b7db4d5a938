//! The list of all built-in tools.

use std::sync::Arc;

use tool_api::{AnyTool, builtin};

use crate::offer::{Budgets, Set};
use crate::web::search::Settings as SearchSettings;
use crate::{agent, artifact, catalogue, job, shell, skill, web, workspace};

/// The tools of these sets, in the order in which they are listed. `search` is what a web search asks.
pub fn all(sets: &[Set], budgets: Budgets, search: &SearchSettings) -> Vec<Arc<dyn AnyTool>> {
    sets.iter().flat_map(|&set| of(set, budgets, search)).collect()
}

/// Who has no service left has no search.
fn web(budgets: Budgets, search: &SearchSettings) -> Vec<Arc<dyn AnyTool>> {
    let find = (!search.is_empty()).then(|| builtin(web::search::WebSearch::new(search)));
    let read = web::read_docs::ReadDocs { text_bytes_max: budgets.text_bytes };
    find.into_iter().chain([builtin(read)]).collect()
}

/// The tools of one set. A new tool is its file and a line here.
fn of(set: Set, budgets: Budgets, search: &SearchSettings) -> Vec<Arc<dyn AnyTool>> {
    match set {
        Set::Workspace => vec![
            builtin(workspace::read::Read { text_bytes_max: budgets.text_bytes }),
            builtin(workspace::read_image::ReadImage::new(budgets.image_edge)),
            builtin(workspace::write::Write),
            builtin(workspace::edit::EditFile),
            builtin(workspace::patch::ApplyPatch),
            builtin(workspace::list::List { entries: budgets.list_entries }),
            builtin(workspace::search::Search { text_bytes_max: budgets.text_bytes }),
            builtin(workspace::find::Find { entries: budgets.list_entries }),
            builtin(workspace::move_entry::Move),
            builtin(workspace::delete::Delete),
            builtin(workspace::restore::Restore),
        ],
        Set::Shell => vec![
            builtin(shell::bash::Bash { shown_bytes_max: budgets.printed_bytes() }),
            builtin(shell::background::Background { shown_bytes_max: budgets.printed_bytes() }),
            builtin(shell::read::Read { shown_bytes_max: budgets.printed_bytes() }),
            builtin(shell::list::List),
            builtin(shell::kill::Kill),
        ],
        Set::Web => web(budgets, search),
        Set::Artifacts => vec![
            builtin(artifact::read::Read { text_bytes_max: budgets.text_bytes }),
            builtin(artifact::search::Search { text_bytes_max: budgets.text_bytes }),
        ],
        Set::Agent => vec![
            builtin(agent::tasks::TaskManager),
            builtin(agent::plan_mode::PlanMode),
            builtin(agent::question::AskUserQuestion),
            builtin(agent::callback::SetCallback),
            builtin(agent::callback_wait::CallbackWait),
        ],
        Set::Skills => vec![skill::invoke::without_skills()],
        Set::Jobs => vec![builtin(job::wait::Wait), builtin(job::result::Result)],
        Set::Catalogue => vec![
            builtin(catalogue::search::Search),
            builtin(catalogue::describe::Describe),
            builtin(catalogue::call::Call),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sound() {
        let mut tools = all(&Set::ALL, Budgets::default(), &SearchSettings::default());
        // One stands for others, and runs nowhere; the other is checked where there are skills.
        let is_alone = |name: &str| [tool_api::TOOLS_CALL, tool_api::INVOKE_SKILL].contains(&name);
        tools.retain(|tool| !is_alone(tool.definition().name.as_str()));
        testkit::check_catalogue(&tools);
    }

    #[test]
    fn the_list_is_this() {
        let tools = all(&Set::ALL, Budgets::default(), &SearchSettings::default());
        let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
        let workspace = [
            "workspace_read",
            "ReadImage",
            "workspace_write",
            "workspace_edit",
            "workspace_patch",
            "workspace_list",
            "workspace_search",
            "workspace_find",
            "workspace_move",
            "workspace_delete",
            "workspace_restore",
        ];
        let web = ["WebSearch", "ReadDocs"];
        let shell = ["Bash", "BackgroundBash", "ReadBgOutput", "ListBgTasks", "KillBgTask"];
        let agent = ["TaskManager", "PlanMode", "AskUserQuestion", "SetCallback", "callback_wait"];
        let others = ["InvokeSkill", "artifact_read", "artifact_search", "job_wait", "job_result"];
        let catalogue = ["tools_search", "tools_describe", "tools_call"];
        assert_eq!(names, [&workspace[..], &shell, &web, &agent, &others, &catalogue].concat());
        assert!(all(&[], Budgets::default(), &SearchSettings::default()).is_empty());
    }
}
