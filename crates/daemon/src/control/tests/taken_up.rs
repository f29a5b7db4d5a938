//! What a reload puts in force besides servers, and what a running process makes of a new key.

use config::Kept;
use store::{KeySource, SecretName, SecretValue, StoreError};

use super::*;

async fn learn(state: &Path) -> Vec<Answered<()>> {
    ask(state, &Request::Learn).await
}

impl Process {
    /// What a reload changes when the configuration says this: what is in force, and what waits for the next start.
    async fn reload(&self, text: &str) -> [String; 2] {
        write(self.folder.path(), text);
        let asked = reload(&self.state()).await;
        let reloaded = asked[0].answer.as_ref().expect("a sound configuration");
        [reloaded.in_force.join(", "), reloaded.next_start.join(", ")]
    }

    /// Why the configuration changes nothing when it says this.
    async fn refused(&self, text: &str) -> String {
        write(self.folder.path(), text);
        let asked = reload(&self.state()).await;
        let Err(refused) = &asked[0].answer else { panic!("{asked:?}") };
        refused.to_string().replace(&self.folder.path().display().to_string(), "DIR")
    }
}

#[test]
fn what_can_be_is_in_force_at_once() {
    run(async {
        let process = Process::start(folder(), "").await;
        let Process { identity, crib, .. } = &process;
        let state = async || {
            let telemetry = crib.gate.telemetry();
            let is_traced = telemetry.begin(None).is_some();
            (
                identity.is_open().await,
                telemetry.shows_metrics(),
                is_traced,
                crib.shared.audit_log.arguments(),
            )
        };
        let at_first = (Ok(true), true, false, audit::Arguments::Redacted);
        assert_eq!(state().await, at_first);
        let closed = "[server]\nopen_on_loopback = false\n";
        let all = "[telemetry]\nmetrics = false\n[telemetry.traces]\nendpoint = \"http://127.0.0.1:1/\"\n\
                   [audit]\narguments = \"hash\"\n[log]\nlevel = \"debug\"\n";
        let expected = ["[audit], [telemetry], server.open_on_loopback", "[log]"];
        assert_eq!(process.reload(&format!("{closed}{all}")).await, expected);
        let now = (Ok(false), false, true, audit::Arguments::Hash);
        assert_eq!(state().await, now);
        // The rest of that section needs the next start.
        let elsewhere = closed.replace("]", "]\nbind = \"127.0.0.1:1\"");
        assert_eq!(process.reload(&format!("{elsewhere}{all}")).await, ["", "[log], [server]"]);

        // What is wrong anywhere changes nothing.
        let issuer = |at: &str| format!("[[identity.issuers]]\nissuer = \"{at}\"\n");
        let traces = "[telemetry.traces]\nendpoint = \"ftp://a.example\"\nsample = 7.0\n";
        let wrong = closed.replace("false", "true") + &issuer("http://login.example") + traces;
        expect![[r#"
            DIR/toolcrib.toml:8:10: identity.issuers[0].issuer: "http://login.example" must be a full https address (http only on this machine), without `#`
            DIR/toolcrib.toml:10:12: telemetry.traces.endpoint: must be an http or https address, such as http://127.0.0.1:4318/v1/traces
            DIR/toolcrib.toml:11:10: telemetry.traces.sample: must be between 0 and 1, not 7"#]]
        .assert_eq(&process.refused(&wrong).await);
        assert_eq!(state().await, now);

        let trusting = issuer("https://login.example");
        assert_eq!(
            process.reload(&trusting).await,
            ["[audit], [identity], [telemetry], server.open_on_loopback", ""]
        );
        assert_eq!(state().await, (Ok(false), true, false, audit::Arguments::Redacted));
        assert_eq!(identity.knows_anybody().await, Ok(true));
        assert_eq!(process.reload("").await, ["[identity]", ""]);
        assert_eq!(state().await, at_first);
        process.end().await;
    });
}

/// The address that is listened on says whose tokens are good, and not the one that will be.
#[test]
fn a_section_that_does_not_fit_where_it_listens_changes_nothing() {
    run(async {
        let process = Process::start(folder(), "").await;
        let elsewhere = identity(&config::Settings::for_selftest(process.folder.path()));
        elsewhere.served_at("http", ([0, 0, 0, 0], 3000).into());
        let text = "[[identity.issuers]]\nissuer = \"https://login.example\"\n";
        let file = write(process.folder.path(), text);
        let surroundings = Surroundings { current_dir: "/".into(), ..Surroundings::default() };
        let loaded = config::load(Some(&file), &surroundings, Unfollowed::FailsItsServer).expect("sound");
        let reloader = Reloader::assembled(loaded, Some(file), Start::WhenWanted).expect("an assembly");
        reloader.govern_also(&elsewhere);
        let why = reloader.reload().await.expect_err("nobody says whom tokens are for").to_string();
        assert!(why.starts_with("identity.resource: must be set to the address that clients use"), "{why}");
        assert_eq!(elsewhere.knows_anybody().await, Ok(false));
        reloader.crib().close().await;
        process.end().await;
    });
}

#[test]
fn a_new_key_is_taken_by_who_runs() {
    run(async {
        let folder = folder();
        let state = folder.path().join("state");
        let kept = |source: KeySource| Kept::new(&state, source);
        let (name, value) =
            (SecretName::parse("TOKEN").expect("a name"), SecretValue::parse("planted-s3cret"));
        kept(KeySource::State).sealed().set_named(&name, &value.expect("a value"), 1).expect("kept");
        let key = folder.path().join("new.key");
        std::fs::write(&key, [7; 32]).expect("a file");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("its rights");
        let process = Process::start(folder, "").await;
        let sealed = process.crib.shared.sealed.clone();
        sealed.replace("oauth/it", None, Some(b"sign-in")).expect("kept");

        let new = KeySource::File { path: key, is_credential: false };
        assert_eq!(kept(new).sealed().reseal(&KeySource::State).expect("sealed anew"), 2);
        let is_refused = || matches!(sealed.load("oauth/it"), Err(StoreError::Resealed { .. }));
        assert!(is_refused(), "the old key is not used any more");
        let untold = learn(&process.state()).await[0].answer.as_ref().expect_err("a key").to_string();
        assert!(untold.starts_with("the kept secret TOKEN cannot be opened"), "{untold}");
        assert!(is_refused());

        write(process.folder.path(), "[secrets]\nkey = { file = \"new.key\" }\n[policy]\nallow = 3\n");
        // What else is wrong with the configuration is no matter for this.
        assert_eq!(learn(&process.state()).await[0].answer, Ok(()));
        assert_eq!(sealed.load("oauth/it").expect("opened").expect("kept").value, b"sign-in");
        let text = "[secrets]\nkey = { file = \"new.key\" }\n";
        assert_eq!(process.reload(text).await, ["[secrets]", ""]);
        process.end().await;
    });
}
