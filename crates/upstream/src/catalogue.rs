//! From what a server lists to tools that look like ours: names, collisions, what must be withheld.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use tool_api::{AnyTool, ToolName};

use crate::Upstream;
use crate::listing::{Listed, shown_name};
use crate::naming;
use crate::offer::{Offer, State, Withheld};
use crate::remote_tool::RemoteTool;
use crate::settings::Settings;

/// The offer that follows from a list.
pub(crate) fn offer(
    listed: &Listed,
    settings: &Settings,
    upstream: &Weak<Upstream>,
    state: State,
    fresh: bool,
) -> Offer {
    let mut tools: Vec<Arc<dyn AnyTool>> = Vec::with_capacity(listed.tools.len());
    let mut withheld = Vec::new();
    let mut taken: HashMap<ToolName, &str> = HashMap::with_capacity(listed.tools.len());
    for tool in &listed.tools {
        let mut withhold = |why: &str| withheld.push(withheld_tool(&tool.name, why));
        let Some(name) = naming::offered(&settings.prefix, &tool.name) else {
            withhold("its name cannot be offered");
            continue;
        };
        if let Some(first) = taken.get(&name) {
            withhold(&format!("its name would be `{name}`, which `{}` already has", shown_name(first)));
            continue;
        }
        taken.insert(name.clone(), tool.name.as_str());
        match RemoteTool::new(tool, name, settings, upstream.clone()) {
            Some(tool) => tools.push(Arc::new(tool)),
            None => withhold("its definition cannot be offered under another name"),
        }
    }
    if listed.unusable > 0 {
        let name = format!("{} without a sound definition", listed.unusable);
        let why = "a tool needs a name and an object as `inputSchema`".to_owned();
        withheld.push(Withheld { name, why });
    }
    Offer { state, tools, withheld, definitions: Some(listed.definitions().into()), fresh }
}

fn withheld_tool(name: &str, why: &str) -> Withheld {
    Withheld { name: shown_name(name), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(prefix: &str, definitions: &str, expected: Expect) {
        let config =
            Config { command: Some("x".to_owned()), prefix: Some(prefix.to_owned()), ..Config::default() };
        let settings = config.settle("it", Duration::from_secs(5), &|_| unreachable!("no reference"));
        let listed = Listed::remembered(definitions).expect("a list");
        let offer = offer(&listed, &settings.expect("sound"), &Weak::new(), State::Idle, true);
        let tools = offer.tools.iter().map(|tool| format!("{}\n", tool.definition().name));
        let withheld = offer.withheld.iter().map(|it| format!("withheld {}: {}\n", it.name, it.why));
        expected.assert_eq(&tools.chain(withheld).collect::<String>());
    }

    #[test]
    fn names_that_meet_are_told_apart_by_order_and_said() {
        check(
            "p",
            r#"[{"name":"a.b","inputSchema":{}},{"name":"a/b","inputSchema":{}},{"name":"c","inputSchema":{}},
                {"name":"c","inputSchema":{}},{"name":"d"},{"inputSchema":{}},{"name":"e","inputSchema":true}]"#,
            expect![[r#"
                p_a_b
                p_c
                withheld a/b: its name would be `p_a_b`, which `a.b` already has
                withheld c: its name would be `p_c`, which `c` already has
                withheld 3 without a sound definition: a tool needs a name and an object as `inputSchema`
            "#]],
        );
    }

    #[test]
    fn own_names_are_kept_without_a_prefix() {
        check("", r#"[{"name":"get-sum","inputSchema":{}}]"#, expect![["get-sum\n"]]);
    }
}
