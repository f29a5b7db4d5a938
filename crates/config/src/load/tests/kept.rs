//! References to kept secrets, and where the key comes from.

use expect_test::expect;

use super::super::{Loaded, Unfollowed, Uses, loaded, read, settings};
use super::{check_refused, load, sources, surroundings};
use crate::kept::Kept;

#[test]
fn a_kept_secret_is_referred_to_by_name() {
    const KEPT: &str = "kept-s3cret";
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().display();
    let text = format!(
        "[state]\ndir = \"{state}\"\n[mcp.git]\ncommand = \"git-mcp\"\nenv = {{ TOKEN = {{ store = \"GIT\" }}, DSN = \"db://{{store:GIT}}@h\" }}\n"
    );
    let missing = "mcp.git.env.TOKEN: no secret GIT is kept here; set it with `toolcrib secrets set GIT`";
    let said = load(&[&text]).err().expect("it is missing").to_string();
    assert!(said.contains(&format!("toolcrib.toml:5:17: {missing}")), "{said}");

    let (kept, uses) = {
        let sources = sources(&[&text]);
        let tree = read::users(&sources).expect("TOML");
        let (file, _) = read::file(&tree);
        (
            settings::Settling::new(&tree, &sources, &surroundings()).kept(&file).expect("a place"),
            Uses::of(&tree, &sources),
        )
    };
    assert_eq!(
        uses.of_secret("GIT"),
        ["mcp.git.env.DSN (toolcrib.toml:5:42)", "mcp.git.env.TOKEN (toolcrib.toml:5:17)"]
    );
    let name = store::SecretName::parse("GIT").expect("a name");
    let value = store::SecretValue::parse(KEPT).expect("a value");
    kept.sealed().set_named(&name, &value, 1).expect("kept");

    let loaded = load(&[&text]).expect("it is there");
    let secrets: Vec<_> = loaded.settings.secrets.iter().map(|it| (&*it.name, &*it.value)).collect();
    assert_eq!(secrets, [("GIT", KEPT), ("DSN", "db://kept-s3cret@h")]);
    let shown = loaded.to_toml();
    assert!(shown.contains("TOKEN = \"***\"  # toolcrib.toml:5:9, the kept secret GIT"), "{shown}");
    assert!(!format!("{shown}{:?}", loaded.settings.upstreams).contains(KEPT), "{shown}");
}

/// A table beside a sound one, whose secret is kept nowhere or cannot be had: what each way of loading makes of it.
#[track_caller]
fn check_unfollowed(table: &str, unfollowed: Unfollowed, expected: Result<&str, &str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().display();
    let text = format!("[state]\ndir = \"{state}\"\n[mcp.a]\ncommand = \"a\"\n[mcp.b]\n{table}\n");
    let loaded = loaded(sources(&[&text]), &surroundings(), unfollowed);
    let lacking = |loaded: Loaded| {
        let lacking = |it: &upstream::Settings| format!("{}: {}", it.name(), it.lacks().unwrap_or("good"));
        loaded.settings.upstreams.iter().map(lacking).collect::<Vec<_>>().join("; ")
    };
    let said = loaded.map(lacking).map_err(|problems| problems.to_string());
    assert_eq!(said, expected.map(str::to_owned).map_err(str::to_owned), "{table}");
}

#[test]
fn one_missing_secret_fails_its_own_server_alone() {
    use Unfollowed::{FailsItsServer, IsPassedOver, IsWrong};
    let kept = "command = \"b\"\nenv = { TOKEN = { store = \"UP\" } }";
    let missing =
        "no secret UP is kept here; set it with `toolcrib secrets set UP`, then run `toolcrib mcp reload`";
    let problem = format!("toolcrib.toml:7:17: mcp.b.env.TOKEN: {missing}");
    check_unfollowed(kept, IsWrong, Err(&problem));
    let fails = format!("a: good; b: mcp.b.env.TOKEN: {missing}");
    check_unfollowed(kept, FailsItsServer, Ok(&fails));
    check_unfollowed(kept, IsPassedOver, Ok(&format!("a: good; b: mcp.b.env.TOKEN: {missing}")));
    for address in [
        "url = \"https://h/mcp?key={store:UP}\"",
        "url = \"{store:UP}\"\nheaders = { X = \"y {store:UP}\" }",
        "url = \"https://h/mcp\"\noauth = { client_id = \"c\", client_secret = { store = \"UP\" } }",
    ] {
        let key = if address.contains("oauth") { "oauth.client_secret" } else { "url" };
        let key = if address.contains("headers") { "headers.X" } else { key };
        let fails = format!("a: good; b: mcp.b.{key}: {missing}");
        check_unfollowed(address, FailsItsServer, Ok(&fails));
    }
}

#[test]
fn one_unset_variable_or_missing_file_fails_its_own_server_alone() {
    use Unfollowed::{FailsItsServer, IsPassedOver, IsWrong};
    let unset = "command = \"b\"\nenv = { TOKEN = { env = \"NONE\" } }";
    let why = "mcp.b.env.TOKEN: the environment variable NONE is not set";
    check_unfollowed(unset, IsWrong, Err(&format!("toolcrib.toml:7:17: {why}")));
    check_unfollowed(unset, FailsItsServer, Ok(&format!("a: good; b: {why}")));
    check_unfollowed(unset, IsPassedOver, Ok(&format!("a: good; b: {why}")));
    let file = "command = \"b\"\nenv = { TOKEN = { file = \"/no/such/file\" } }";
    let why = "mcp.b.env.TOKEN: there is no file /no/such/file";
    check_unfollowed(file, FailsItsServer, Ok(&format!("a: good; b: {why}")));
    check_unfollowed(file, IsPassedOver, Ok(&format!("a: good; b: {why}")));
    let no_key = "command = \"b\"\n[secrets]\nkey = { env = \"NONE\" }";
    check_unfollowed(no_key, IsPassedOver, Ok("a: good; b: good"));
    let url = "url = \"https://h/{env:NONE}\"\nheaders = { X = { file = \"/no/such/file\" } }";
    check_unfollowed(url, FailsItsServer, Ok("a: good; b: mcp.b.headers.X: there is no file /no/such/file"));
    let args = "command = \"b\"\nargs = [\"--key\", \"{env:NONE}\"]";
    let why = "mcp.b.args[1]: the environment variable NONE is not set";
    check_unfollowed(args, FailsItsServer, Ok(&format!("a: good; b: {why}")));
    // What is there could not be struck out if it cannot be read.
    let folder = "command = \"b\"\nenv = { TOKEN = { file = \"/\" } }";
    let why = "toolcrib.toml:7:17: mcp.b.env.TOKEN: the file / cannot be read: it is no regular file";
    check_unfollowed(folder, FailsItsServer, Err(why));
    // What is wrong otherwise is wrong for everybody.
    let wrong = "command = \"\"\nenv = { TOKEN = { env = \"NONE\" } }";
    let why = "toolcrib.toml:6:11: mcp.b.command: must be a program's name or path";
    check_unfollowed(wrong, IsPassedOver, Err(why));
}

#[test]
fn what_is_there_and_cannot_be_opened_stops_every_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Kept::new(folder.path(), store::KeySource::State);
    let name = store::SecretName::parse("UP").expect("a name");
    let value = store::SecretValue::parse("kept-s3cret").expect("a value");
    kept.sealed().set_named(&name, &value, 1).expect("kept");
    #[expect(clippy::disallowed_methods, reason = "a key to be lost")]
    std::fs::remove_file(folder.path().join("secret.key")).expect("removed");
    let state = folder.path().display();
    let text = format!(
        "[state]\ndir = \"{state}\"\n[mcp.b]\ncommand = \"b\"\nenv = {{ TOKEN = {{ store = \"UP\" }} }}\n"
    );
    let loaded = |unfollowed| loaded(sources(&[&text]), &surroundings(), unfollowed);
    let said = loaded(Unfollowed::FailsItsServer).err().expect("it cannot be opened").to_string();
    assert!(said.contains("mcp.b.env.TOKEN: the kept secret UP cannot be opened"), "{said}");
    assert!(loaded(Unfollowed::IsPassedOver).is_ok());
}

#[test]
fn where_the_key_comes_from_is_checked_with_its_place() {
    check_refused(
        "[secrets]\nkey = { env = \"NONE\" }\n",
        expect!["toolcrib.toml:2:7: secrets.key: the environment variable NONE is not set"],
    );
    check_refused(
        "[secrets]\nkey = { file = \"a\", env = \"TOKEN\" }\nkee = 1\n",
        expect![[r#"
            toolcrib.toml:2:7: secrets.key takes one of `file`, `credential`, `env`, not several
            toolcrib.toml:3:1: unknown key `kee` in [secrets]; did you mean `key`?"#]],
    );
    let loaded = load(&["[secrets]\nkey = { file = \"master.key\" }\n"]).expect("nothing is wrong");
    // Tools do not read it.
    assert!(loaded.settings.secret_files.contains(&"/project/master.key".into()));
}

#[test]
fn the_key_is_withheld_and_known_in_every_spelling() {
    let key = "fb".repeat(32);
    let with_key = || {
        let mut surroundings = surroundings();
        surroundings.variables.insert("MASTER".into(), key.clone().into());
        surroundings
    };
    let text =
        "secrets.key = { env = 'MASTER' }\n[mcp.a]\ncommand = 'a'\ninherit = ['*']\n[mcp.b]\ncommand = 'b'\n";
    let loaded = loaded(sources(&[text]), &with_key(), Unfollowed::IsWrong).expect("nothing is wrong");
    let withheld: Vec<(&str, Vec<&str>)> =
        loaded.settings.upstreams.iter().map(|it| (it.name(), it.withheld().collect())).collect();
    assert_eq!(withheld, [("a", vec!["MASTER"]), ("b", vec![])]);
    let known: Vec<&str> = loaded.settings.secrets.iter().map(|known| &*known.value).collect();
    for spelt in [&key, &key.to_uppercase(), "+/v7+/v7+/v7", "-_v7-_v7-_v7"] {
        assert!(known.iter().any(|known| known.starts_with(spelt)), "{spelt}");
    }
}
