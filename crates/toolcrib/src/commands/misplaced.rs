//! Words of command lines that were meant from another folder than the one their server starts in.

use config::Settings;

/// What is to be said of a server whose command line names something beside the configuration or in the workspace, while
/// it starts in a folder of its own.
pub(super) fn misplaced(server: &upstream::Settings, settings: &Settings) -> Option<String> {
    let own = server.program()?.own_folder.as_deref()?;
    let beside = settings.files.iter().filter_map(|file| file.parent());
    let folders = beside.chain([settings.workspace.as_path()]);
    let (folder, words) = folders
        .map(|folder| (folder, server.misplaced_words(folder)))
        .find(|(_, words)| !words.is_empty())?;
    let (name, words) =
        (server.name(), words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "));
    Some(format!(
        "mcp.{name}: {words} is there as seen from {}, but without `cwd` the server starts in a folder of its own, {}; write \
         an absolute path, or cwd = {:?}",
        folder.display(),
        own.display(),
        folder.display().to_string()
    ))
}
