//! What is offered when sources come, go, collide and are late.

#[path = "samples/definition.rs"]
mod samples;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Catalog, Collision, Definition, Offer, Outcome, ToolError};
use tool_api::{AnyTool, Arguments, Context, Effect, Features};

struct Named(Definition);

impl AnyTool for Named {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, _: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        std::future::pending().boxed()
    }
}

fn tools(names: &[&str]) -> Vec<Arc<dyn AnyTool>> {
    let tool = |name: &&str| {
        Arc::new(Named(samples::definition(Some("somewhere"), name, Effect::Executes))) as Arc<dyn AnyTool>
    };
    names.iter().map(tool).collect()
}

/// Nothing beside tools.
fn none() -> Features {
    Features::default()
}

fn names(offer: &Offer) -> Vec<String> {
    offer.tools.iter().map(|tool| tool.definition().name.to_string()).collect()
}

#[test]
fn the_earlier_announced_source_keeps_a_name_whoever_reports_first() {
    let catalog = Catalog::new(tools(&["own", "shared"]));
    catalog.expect("first");
    catalog.expect("second");
    let collision = |source: &str| Collision { name: "x".into(), source: source.into() };
    assert_eq!(catalog.replace("second", tools(&["x", "b"]), none()), []);
    let shared = Collision { name: "shared".into(), source: "first".into() };
    let refused = catalog.replace("first", tools(&["x", "a", "shared"]), none());
    assert_eq!(refused, [shared, collision("second")], "`shared` is ours, `x` is now the first's");
    assert_eq!(catalog.replace("first", tools(&["x", "a", "shared"]), none()), [], "that is known");
    assert_eq!(names(&catalog.offer()), ["own", "shared", "x", "a", "b"]);
    assert!(catalog.offer().collisions.contains(&collision("second")), "`x` went to the first source");
    catalog.replace("first", Vec::new(), none());
    assert_eq!(names(&catalog.offer()), ["own", "shared", "x", "b"]);
    assert_eq!(catalog.offer().collisions, []);
}

#[test]
fn what_is_not_shown_is_not_there() {
    let catalog = Catalog::new(tools(&["own_read", "own_write"]));
    catalog.replace("x", tools(&["x_a", "x_b"]), none());
    let before = catalog.offer().versions.tools;
    catalog.show_only(|name| name == "own_read" || name == "x_a");
    assert_eq!(names(&catalog.offer()), ["own_read", "x_a"]);
    assert!(catalog.offer().get("x_b").is_none(), "what is not listed cannot be called");
    assert!(catalog.offer().versions.tools > before, "clients hear of it");
    // What comes later is held to it as well, and nobody loses a name to what is not there.
    catalog.replace("y", tools(&["x_b", "x_a"]), none());
    assert_eq!(names(&catalog.offer()), ["own_read", "x_a"]);
    assert_eq!(catalog.offer().collisions.len(), 1);
    catalog.show_only(|_| true);
    assert_eq!(names(&catalog.offer()), ["own_read", "own_write", "x_a", "x_b"]);
}

#[test]
fn a_change_is_told_and_has_a_version() {
    let catalog = Catalog::new(tools(&["own"]));
    let mut changes = catalog.changes();
    assert!(!changes.has_changed().unwrap());
    let before = catalog.offer().versions;
    catalog.replace("late", tools(&["x"]), none());
    assert!(changes.has_changed().unwrap());
    assert_eq!(*changes.borrow_and_update(), catalog.offer().versions);
    let after = catalog.offer().versions;
    assert!(after.tools > before.tools && after.prompts == before.prompts);
    catalog.replace("late", tools(&["x"]), none());
    assert_eq!(catalog.offer().versions.tools, after.tools, "the same list again is no news");
    catalog.replace("late", tools(&["y", "x"]), none());
    let after = catalog.offer().versions;
    catalog.replace("late", tools(&["x", "y"]), none());
    assert_eq!(catalog.offer().versions.tools, after.tools, "nor is another order");
    assert_eq!(names(&catalog.offer()), ["own", "x", "y"]);
}

#[test]
fn a_source_that_is_removed_takes_its_tools_along_and_frees_their_names() {
    let catalog = Catalog::new(tools(&["own"]));
    catalog.replace("first", tools(&["x", "a"]), none());
    catalog.replace("second", tools(&["x", "b"]), none());
    let before = catalog.offer().versions;
    catalog.remove("first");
    assert_eq!(names(&catalog.offer()), ["own", "x", "b"]);
    assert_eq!(catalog.offer().collisions, []);
    let after = catalog.offer().versions;
    assert!(after.all > before.all && after.tools > before.tools && after.prompts == before.prompts);
    assert_eq!(*catalog.changes().borrow(), after);
    for unknown in ["first", "nobody", gate::BUILT_IN] {
        catalog.remove(unknown);
        assert_eq!(catalog.offer().versions, after, "{unknown}");
    }
    catalog.expect("late");
    assert!(!catalog.offer().is_settled);
    catalog.remove("late");
    assert!(catalog.offer().is_settled, "nobody waits for what is removed");
    assert!(catalog.settled().now_or_never().is_some());
    assert_eq!(catalog.offer().versions, after, "it had nothing");
}

#[test]
fn the_order_of_sources_can_be_settled_anew() {
    let catalog = Catalog::new(tools(&["own"]));
    for source in ["c", "b"] {
        catalog.replace(source, tools(&["x"]), none());
    }
    let owner = || catalog.offer().collisions.iter().map(|one| one.source.to_string()).collect::<Vec<_>>();
    assert_eq!(owner(), ["b"]);
    let before = catalog.offer().versions;
    catalog.expect("a");
    catalog.arrange(&["a", "c", "b"]);
    assert_eq!(catalog.offer().versions, before, "nobody has lost or won a name");
    catalog.arrange(&["a", "b", "c"]);
    assert_eq!(owner(), ["c"]);
    assert!(catalog.offer().versions.tools > before.tools);
    catalog.replace("a", tools(&["x"]), none());
    assert_eq!(owner(), ["b", "c"]);
    catalog.replace(gate::TASKS, Vec::new(), none());
    catalog.arrange(&["a", "b", "c"]);
    let first =
        catalog.offer().sources.iter().take(2).map(|source| source.name.to_string()).collect::<Vec<_>>();
    assert_eq!(first, [gate::BUILT_IN, gate::TASKS], "no server comes before what is ours");
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_for_sources_but_not_for_ever() {
    let catalog = Catalog::new(tools(&["own"]));
    assert!(catalog.settled().now_or_never().is_some(), "nobody is expected");
    catalog.expect("quick");
    catalog.expect("slow");
    assert!(catalog.wanted().now_or_never().is_none(), "nobody has asked yet");
    let settling = catalog.settled();
    tokio::pin!(settling);
    assert!((&mut settling).now_or_never().is_none());
    assert!(catalog.wanted().now_or_never().is_some(), "somebody has asked");
    catalog.replace("quick", tools(&["x"]), none());
    assert!((&mut settling).now_or_never().is_none(), "one is still missing");
    // The clock is paused: time passes only because nothing else can happen.
    assert_eq!(names(&*settling.await), ["own", "x"]);
    catalog.replace("slow", tools(&["y"]), none());
    assert_eq!(names(&catalog.settled().now_or_never().expect("all have reported")), ["own", "x", "y"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_costs_one_list_a_second() {
    let catalog = Catalog::new(tools(&["own"]));
    catalog.expect("hangs");
    let waited = async || {
        let begun = tokio::time::Instant::now();
        let names = names(&*catalog.soon().await);
        (begun.elapsed(), names)
    };
    assert_eq!(waited().await, (Duration::from_secs(1), vec!["own".to_owned()]));
    assert_eq!(waited().await.0, Duration::ZERO, "it has been waited for");
    tokio::time::advance(Duration::from_secs(60)).await;
    catalog.expect("new");
    assert_eq!(waited().await.0, Duration::from_secs(1), "the other one has not");
    catalog.replace("hangs", tools(&["x"]), none());
    catalog.replace("new", tools(&["y"]), none());
    assert_eq!(waited().await, (Duration::ZERO, ["own", "x", "y"].map(str::to_owned).to_vec()));
}
