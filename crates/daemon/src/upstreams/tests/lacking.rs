//! Upstreams whose secret is kept nowhere.

use super::*;

#[test]
fn one_whose_secret_is_missing_fails_and_the_others_run() {
    let key = upstream::Value::Reference(upstream::Reference::Store("KEY".to_owned()));
    let lacking = Config { env: [("KEY".to_owned(), key)].into(), ..program("x") };
    let expected = ["y_a", "x failed", "y stopped (starts on demand)"];
    for start in [Start::WhenWanted, Start::AtOnce] {
        let on_demand = Config { on_demand: true, ..program("y") };
        check(&[("x", lacking.clone()), ("y", on_demand)], &[("y", 0)], start, &expected);
    }
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let world = World::new(folder.path(), settle_all(&[("x", lacking)]), Start::AtOnce);
        let x = world.upstreams.get("x").expect("it is there");
        // It fails at once each time, and in the same words.
        for _ in 0..3 {
            let said = x.connect().await.map_err(|error| error.to_string());
            assert_eq!(said, Err("mcp.x.env.KEY: no secret KEY is kept here".to_owned()));
        }
        // Once it is there, the same table is another server.
        assert_eq!(world.upstreams.replace(settle_all(&[("x", program("x"))])).changed, ["x"]);
        world.upstreams.end().await;
    });
}
