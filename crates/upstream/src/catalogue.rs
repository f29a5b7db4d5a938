//! From what a server lists to an offer: names, collisions, what must be withheld.

use std::sync::{Arc, Weak};

use pins::Judge;
use tool_api::{Features, Held, ToolName};

use crate::draft::Draft;
use crate::features;
use crate::kind::Kind;
use crate::listing::Entry;
use crate::lists::Lists;
use crate::names::Names;
use crate::offer::{Offer, State};
use crate::remote_tool::RemoteTool;
use crate::settings::Settings;
use crate::tool_filter::ToolOverride;
use crate::upstream::Upstream;

/// The offer that follows from a server's lists.
pub(crate) fn offer(
    lists: &Lists,
    settings: &Settings,
    upstream: &Weak<Upstream>,
    state: State,
    fresh: bool,
    judge: &Judge,
) -> Offer {
    let offer = Offer { state, fresh, ..Offer::default() };
    let mut draft = Draft { lists, settings, upstream, judge, offer };
    if lists.unread.iter().all(|(kind, _)| *kind != Kind::Tools) {
        draft.offer.mistakes = mistakes(lists, settings);
    }
    let held = add_tools(&mut draft);
    draft.offer.features = Features { held, ..features::features(&mut draft) };
    for (kind, error) in &lists.unread {
        draft.withhold(*kind, &format!("all {}", kind.noun()), settings.masked(&error.to_string()));
    }
    let (definitions, ttl_ms) = (Some(lists.written().into()), lists.ttl_ms());
    let lists = fresh.then(|| Arc::new(lists.clone()));
    Offer { definitions, lists, ttl_ms, ..draft.offer }
}

/// What the server's table says about tools that it does not have.
fn mistakes(lists: &Lists, settings: &Settings) -> Vec<String> {
    let tools = lists.of(Kind::Tools).entries.iter();
    let tools: Vec<_> = tools.map(|tool| (tool.key.as_str(), &tool.text)).collect();
    let mistakes = settings.shape.mistakes(&tools);
    mistakes.into_iter().map(|mistake| format!("mcp.{}.{mistake}", settings.name())).collect()
}

/// Adds the tools that can be offered, and says of the others why not. Returns those that are held back, which keep
/// their names from others.
fn add_tools(draft: &mut Draft<'_>) -> Vec<Held> {
    let Draft { lists, settings, upstream, .. } = *draft;
    let (listed, shape) = (lists.of(Kind::Tools), &settings.shape);
    let admitted = listed.entries.iter().filter(|entry| shape.admits(&entry.key));
    let admitted: Vec<_> = admitted.map(|entry| (entry, shape.tools.get(&entry.key))).collect();
    draft.offer.excluded = listed.entries.len() - admitted.len();
    let mut held = Vec::new();
    for (&(entry, reshaped), name) in admitted.iter().zip(names(&admitted, settings)) {
        let tool = name
            .and_then(|name| RemoteTool::new(entry, name, reshaped, lists.era, settings, upstream.clone()));
        match tool.map(Arc::new) {
            Ok(tool) => match draft.hold_back(Kind::Tools, entry) {
                None => draft.offer.tools.push(tool),
                Some(why) => held.push(Held { why: why.into(), tool }),
            },
            Err(why) => draft.withhold(Kind::Tools, &entry.key, why),
        }
    }
    draft.withhold_unusable(listed);
    held
}

/// The name of each, or why it has none. Those that keep theirs come first: a new name takes none away.
fn names(admitted: &[(&Entry, Option<&ToolOverride>)], settings: &Settings) -> Vec<Result<ToolName, String>> {
    fn new(reshaped: Option<&ToolOverride>) -> Option<&str> {
        reshaped.and_then(|reshaped| reshaped.name.as_deref())
    }
    let mut names = Names::new(settings, admitted.len());
    let kept = admitted.iter().map(|&(entry, it)| new(it).is_none().then(|| names.give(&entry.key)));
    let kept: Vec<_> = kept.collect();
    let given = kept.into_iter().zip(admitted).map(|(kept, &(entry, reshaped))| {
        kept.unwrap_or_else(|| names.give(new(reshaped).unwrap_or(&entry.key)))
    });
    given.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(table: Config, definitions: &str, expected: Expect) {
        let settle = |name, table: Config| {
            let settled = table.settle(name, Duration::from_secs(5), &|_| unreachable!("no reference"));
            settled.expect("sound")
        };
        let all = ["p", "p_q", "long"].map(|prefix| settle(prefix, program(prefix)));
        let settings = settle("it", table).knowing(&all);
        let lists = Lists::remembered(definitions).expect("a list");
        let offer = offer(&lists, &settings, &Weak::new(), State::Stopped, true, &Judge::Everything);
        let tools = offer.tools.iter().map(|tool| format!("{}\n", tool.definition().name));
        let withheld =
            offer.withheld.iter().map(|it| format!("withheld {} {}: {}\n", it.kind, it.name, it.why));
        expected.assert_eq(&tools.chain(withheld).collect::<String>());
    }

    fn program(prefix: &str) -> Config {
        Config { command: Some("x".to_owned()), prefix: Some(prefix.to_owned()), ..Config::default() }
    }

    #[test]
    fn a_table_chooses_and_renames() {
        let definitions = r#"[{"name":"read","inputSchema":{}},{"name":"write","inputSchema":{}},{"name":"list","inputSchema":{}},
            {"name":"list_all","inputSchema":{}},{"inputSchema":{}}]"#;
        let table = |keys: &str| {
            toml::from_str(&format!("command = \"x\"\nprefix = \"p\"\n{keys}")).expect("a table")
        };
        check(
            table("include = [\"list*\", \"read\"]\nexclude = [\"*_all\"]"),
            definitions,
            expect![[r#"
            p_read
            p_list
            withheld tool 1 without a sound definition: a tool needs a name and an object as `inputSchema`
        "#]],
        );
        // What is renamed keeps its place; names are told apart as ever.
        check(
            table("exclude = [\"write\"]\ntool.list.name = \"read\"\ntool.read.name = \"q_see\""),
            definitions,
            expect![[r#"
                p_read
                p_list_all
                withheld tool read: its name would be `p_q_see`, and those that begin with `p_q_` are another's
                withheld tool 1 without a sound definition: a tool needs a name and an object as `inputSchema`
            "#]],
        );
        // Nobody loses a name to one who is renamed, wherever it stands in the list.
        check(
            table("tool.read.name = \"list_all\"\nexclude = [\"write\"]"),
            definitions,
            expect![[r#"
                p_list
                p_list_all
                withheld tool read: its name would be `p_list_all`, which `list_all` already has
                withheld tool 1 without a sound definition: a tool needs a name and an object as `inputSchema`
            "#]],
        );
    }

    #[test]
    fn what_a_tool_says_of_itself_tells_no_secret() {
        let table: Config =
            toml::from_str("command = \"x\"\nprefix = \"p\"\nenv.KEY = \"sk-\\\"0123456\"").expect("a table");
        let settings = table.settle("it", Duration::from_secs(5), &|_| unreachable!("no reference"));
        let definitions = r#"[{"name":"a","title":"T sk-\"0123456","description":"D sk-\u00220123456.","inputSchema":{"const":"sk-\"0123456"}}]"#;
        let lists = Lists::remembered(definitions).expect("a list");
        let offer =
            offer(&lists, &settings.expect("sound"), &Weak::new(), State::Stopped, true, &Judge::Everything);
        let definition = offer.tools[0].definition();
        let tool_api::Listing::Relayed(listing) = &definition.listing else { panic!("it is relayed") };
        assert_eq!(&*definition.description, "D ***.");
        expect![[
            r#"{"name":"p_a","title":"T ***","description":"D ***.","inputSchema":{"const":"sk-\"0123456"}}"#
        ]]
        .assert_eq(&String::from_utf8_lossy(listing));
    }

    #[test]
    fn names_that_meet_are_told_apart_by_order_and_said() {
        check(
            program("p"),
            r#"[{"name":"a.b","inputSchema":{}},{"name":"a/b","inputSchema":{}},{"name":"c","inputSchema":{}},
                {"name":"c","inputSchema":{}},{"name":"d"},{"inputSchema":{}},{"name":"e","inputSchema":true}]"#,
            expect![[r#"
                p_a_b
                p_c
                withheld tool a/b: its name would be `p_a_b`, which `a.b` already has
                withheld tool c: its name would be `p_c`, which `c` already has
                withheld tool 3 without a sound definition: a tool needs a name and an object as `inputSchema`
            "#]],
        );
    }

    #[test]
    fn names_that_read_like_anothers_are_withheld() {
        let definitions = r#"[{"name":"q_create","inputSchema":{}},{"name":"q","inputSchema":{}},
            {"name":"qq_x","inputSchema":{}},{"name":"long_x","inputSchema":{}}]"#;
        check(
            program("p"),
            definitions,
            expect![[r#"
                p_q
                p_qq_x
                p_long_x
                withheld tool q_create: its name would be `p_q_create`, and those that begin with `p_q_` are another's
            "#]],
        );
        check(program("p_q"), definitions, expect![["p_q_q_create\np_q_q\np_q_qq_x\np_q_long_x\n"]]);
        check(
            program(""),
            definitions,
            expect![[r#"
                q_create
                q
                qq_x
                withheld tool long_x: its name would be `long_x`, and those that begin with `long_` are another's
            "#]],
        );
    }

    #[test]
    fn annotations_for_headers_must_be_sound_where_there_are_headers() {
        let definitions = |era: &str| {
            let annotated = r#"{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#;
            let tools =
                format!(r#"[{{"name":"bad","inputSchema":{annotated}}},{{"name":"t","inputSchema":{{}}}}]"#);
            format!(r#"{{"tools":{tools},"capabilities":{{"tools":{{}}}},"era":"{era}"}}"#)
        };
        let url = Some("http://127.0.0.1/mcp".to_owned());
        let address = Config { url, prefix: Some("p".to_owned()), ..Config::default() };
        check(
            address.clone(),
            &definitions("modern"),
            expect![[r#"
                p_t
                withheld tool bad: the x-mcp-header of "a" stands at what is neither integer, string nor boolean
            "#]],
        );
        check(address, &definitions("legacy"), expect![["p_bad\np_t\n"]]);
        check(program("p"), &definitions("modern"), expect![["p_bad\np_t\n"]]);
    }

    #[test]
    fn names_are_cut_to_64_characters_and_end_in_their_hash() {
        let long = |end| format!(r#"{{"name":"{}{end}","inputSchema":{{}}}}"#, "x".repeat(62));
        check(
            program("p"),
            &format!("[{},{}]", long(1), long(2)),
            expect![[
                "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_c7b2fa83\np_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_683caa9e\n"
            ]],
        );
    }

    #[test]
    fn own_names_are_kept_without_a_prefix() {
        check(program(""), r#"[{"name":"get-sum","inputSchema":{}}]"#, expect![["get-sum\n"]]);
    }
}
