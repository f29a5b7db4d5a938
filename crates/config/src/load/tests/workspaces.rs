//! What `[workspaces]` comes to, and what is wrong with it.

use expect_test::expect;

use super::{check_refused, load};

#[test]
fn a_workspace_differs_in_what_it_says() {
    let text = "
        [mcp.git]
        command = 'x'
        [mcp.tickets]
        command = 'y'
        [workspaces.all]
        [workspaces.review]
        root = '/review'
        servers = ['git']
        tools = { include = ['git_*', 'workspace_*'], exclude = ['*_delete*', 'workspace_write'] }
        rules = 'review.json'";
    let settings = load(&[text]).expect("nothing is wrong").settings;
    let of = |name: &str| {
        let named = &settings.named[name];
        let servers: Vec<&str> = named.upstreams.iter().map(|server| server.name()).collect();
        let tools = ["git_log", "git_delete_it", "tickets_list", "workspace_read", "workspace_write"];
        let tools: Vec<&str> = tools.into_iter().filter(|name| named.shown.admits(name)).collect();
        let rules = named.rules.project.as_ref().map(|path| path.display().to_string());
        assert_eq!(named.rules.workspace, named.workspace);
        format!("{} {servers:?} {tools:?} {rules:?}", named.workspace.display())
    };
    let all = r#"["git_log", "git_delete_it", "tickets_list", "workspace_read", "workspace_write"]"#;
    assert_eq!(of("all"), format!(r#"/project ["git", "tickets"] {all} None"#));
    assert_eq!(of("review"), r#"/review ["git"] ["git_log", "workspace_read"] Some("/project/review.json")"#);
    assert!(settings.shown.admits("git_delete_it"), "the default one is as it was");
    assert!(settings.named["all"].named.is_empty());
}

#[test]
fn a_folder_of_its_own_is_meant() {
    let home = "[workspaces.own]\nroot = '~'\n[workspaces.other]\n";
    let surroundings = crate::Surroundings { current_dir: "/home/u".into(), ..super::surroundings() };
    let loaded = super::loaded(super::sources(&[home]), &surroundings, super::Unfollowed::IsWrong);
    let named = loaded.expect("nothing is wrong").settings.named;
    let has_files =
        |name: &str| (named[name].too_wide.is_none(), named[name].tools.contains(&tools::Set::Workspace));
    assert_eq!([has_files("own"), has_files("other")], [(true, true), (false, false)]);
}

#[test]
fn what_cannot_be_used_is_told_at_its_place() {
    check_refused(
        "mcp.git.command = 'x'
workspaces.approvals = {}
[workspaces.'a b']
[workspaces.review]
servers = ['git', 'gti', 'nobody']
tools = { include = ['[', 'a'], exclude = [''] }
",
        expect![[r#"
            toolcrib.toml:2:24: workspaces."approvals" is taken by an address of Toolcrib's own; take another name
            toolcrib.toml:3:1: workspaces."a b" is no name for an address: take a letter or digit first, then letters, digits, `-` and `_`, at most 64
            toolcrib.toml:5:19: workspaces.review.servers: there is no server "gti" in [mcp]; did you mean "git"?
            toolcrib.toml:5:26: workspaces.review.servers: there is no server "nobody" in [mcp]
            toolcrib.toml:6:22: workspaces.review.tools.include[0]: "[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:6:44: workspaces.review.tools.exclude[0]: is empty; write `*` for everything"#]],
    );
    check_refused(
        "[workspaces.a]\nroots = '.'\ntools = ['x']\n",
        expect![[r#"
        toolcrib.toml:2:1: unknown key `roots` in [workspaces.a]; did you mean `root`?
        toolcrib.toml:3:9: workspaces.a.tools must be a table, not a list"#]],
    );
}
