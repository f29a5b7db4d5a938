//! Tools that are offered otherwise than their server lists them.

use std::time::Duration;

use tool_api::Listing;
use upstream::{Config, Settings, Upstream};

use crate::headers::{done, modern};
use crate::web::Web;
use crate::world::*;

fn listing(it: &Upstream, name: &str) -> String {
    match &tool(it, name).definition().listing {
        Listing::Relayed(text) => String::from_utf8(text.to_vec()).expect("UTF-8"),
        Listing::Ours(_) | Listing::Declared(_) => panic!("not relayed"),
    }
}

#[tokio::test]
async fn tools_are_chosen_renamed_and_called_with_more_arguments() {
    let shape = r#"
        include = ["e*", "hang", "nothing_*"]
        exclude = ["hang"]
        [tool.echo]
        name = "say"
        description = "Says it."
        arguments = { fixed = { deep = [1, 2.5] } }
        defaults = { given = "if not" }
        [tool.ecko]
        name = "x"
        "#;
    let it = upstream(&format!("{}\n{shape}", fixture_table(&[])));
    it.connect().await.expect("connected");
    assert_eq!(names(&it), ["it_say", "it_env"]);
    assert_eq!(
        listing(&it, "it_say"),
        r#"{"name": "it_say",  "inputSchema":{"type":"object" ,"x-order":1.0},"description":"Says it.","x-unknown":[1.50,{"b":1,"a":2}]}"#
    );
    assert_eq!(tool(&it, "it_say").definition().description.as_ref(), "Says it.");
    assert_eq!(
        listing(&it, "it_env"),
        r#"{"name": "it_env",  "inputSchema":{"type":"object" ,"x-order":1.0}}"#
    );
    let offer = it.offers().borrow().clone();
    let listed = offer.definitions.as_deref().expect("definitions").matches("inputSchema").count();
    assert_eq!(offer.excluded, listed - offer.tools.len());
    assert_eq!(
        offer.mistakes,
        [
            r#"mcp.it.include[2]: "nothing_*" matches none of its tools"#,
            "mcp.it.tool.ecko: it has no tool of this name",
        ]
    );
    for (said, sent) in [
        (r#"{"a":1.5}"#, r#"{"given":"if not","fixed":{"deep":[1,2.5]},"a":1.5}"#),
        (r#"{"given":null,"fixed":0}"#, r#"{"given":null,"fixed":{"deep":[1,2.5]}}"#),
    ] {
        let expected = format!(r#"{{ "x":1.0,"content":[],"structuredContent":{sent}}}"#);
        assert_eq!(shown(call(&it, "it_say", said).await), expected);
    }
    it.end().await;
}

#[tokio::test]
async fn arguments_that_we_add_go_into_headers_too() {
    const TOOL: &str = r#"{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"zone":{"type":"string","x-mcp-header":"Zone"}},"required":["region","zone"],"additionalProperties":false}}"#;
    let web = Web::start(|request| modern(request, TOOL, done)).await;
    let shape = "[tool.echo]\narguments = { region = \"eu\" }\ndefaults = { zone = \"a\" }";
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"\n{shape}", web.port));
    it.connect().await.expect("connected");
    assert_eq!(
        listing(&it, "it_echo"),
        r#"{"name":"it_echo","inputSchema":{"type":"object","properties":{"zone":{"default":"a","type":"string","x-mcp-header":"Zone"}},"additionalProperties":false}}"#
    );
    assert_eq!(it.offers().borrow().mistakes, [""; 0]);
    for (arguments, zone) in [("{}", "a"), (r#"{"zone":"b"}"#, "b"), (r#"{"region":"us","zone":"c"}"#, "c")] {
        shown(call(&it, "it_echo", arguments).await);
        let last = web.seen().into_iter().rfind(|request| request.asked().0 == "tools/call").expect("a call");
        assert_eq!(last.header("mcp-param-region"), Some("eu"), "{arguments}");
        assert_eq!(last.header("mcp-param-zone"), Some(zone), "{arguments}");
    }
}

/// Settings of the table `name` that know one other, with this prefix.
fn knowing(name: &str, table: &str, prefix: &str) -> Settings {
    let settle = |name: &str, table: &str| {
        let config: Config = toml::from_str(table).expect("a table");
        config.settle(name, Duration::from_secs(30), &|_| Ok("s3cret".to_owned())).expect("sound")
    };
    let other = settle("other", &format!("command = \"x\"\nprefix = {prefix:?}"));
    settle(name, table).knowing(&[other])
}

#[tokio::test]
async fn others_that_come_and_go_change_what_is_offered() {
    let table = format!(
        "{}\nprefix = \"\"\ninclude = [\"echo\", \"env\"]\n[tool.echo]\nname = \"git_echo\"",
        fixture_table(&[])
    );
    let it = upstream(&table);
    it.connect().await.expect("connected");
    assert_eq!(names(&it), ["git_echo", "env"]);
    let mut offers = it.offers();
    offers.mark_unchanged();
    it.knowing_others(&knowing("it", &table, "git"));
    assert_eq!(names(&it), ["env"]);
    assert!(offers.has_changed().expect("there"));
    let withheld = it.offers().borrow().withheld.clone();
    assert_eq!(
        withheld[0].why,
        "its name would be `git_echo`, and those that begin with `git_` are another's"
    );
    offers.mark_unchanged();
    it.knowing_others(&knowing("it", &table, "git"));
    assert!(!offers.has_changed().expect("there"), "nothing is other than before");
    it.knowing_others(&knowing("it", &table, "svn"));
    assert_eq!(names(&it), ["git_echo", "env"]);
    it.end().await;
}
