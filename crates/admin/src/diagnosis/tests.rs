//! What is wrong, as people read it: each way to fail has words of its own.

mod wordings;

use std::time::Duration;

use expect_test::{Expect, expect};
use oauth::{AuthError, Reason, TokenStoreError};
use upstream::{Config, ConnectError, Fault, NotStarted, Obstacle, Settings, Traced};

use super::Failed;
use super::evidence::Seen;

/// What a server was configured as.
fn settings(config: Config) -> Settings {
    config.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference")).expect("sound")
}

fn program() -> Settings {
    settings(Config { command: Some("mcp-git".to_owned()), args: vec!["-v".to_owned()], ..Config::default() })
}

fn address(url: &str) -> Settings {
    settings(Config { url: Some(url.to_owned()), ..Config::default() })
}

/// A try that failed.
struct Case {
    settings: Settings,
    error: ConnectError,
    heard: Vec<Traced>,
    stderr: &'static str,
}

/// The diagnosis of each, and that no two are of one kind.
#[track_caller]
fn check(cases: Vec<Case>, expected: Expect) {
    let programs = || ["mcp-git", "node", "npx"].map(str::to_owned).to_vec();
    let mut seen_kinds = Vec::new();
    let mut said = String::new();
    for Case { settings, error, heard, stderr } in cases {
        let mut seen = Seen::default();
        heard.into_iter().for_each(|traced| seen.take_in(traced, Duration::ZERO));
        let diagnosis =
            Failed { settings: &settings, seen: &seen, stderr, programs: &programs }.diagnose(&error);
        said.push_str(&format!("{}\n  {}\n  {}\n", diagnosis.kind, diagnosis.what, diagnosis.try_));
        assert!(!seen_kinds.contains(&diagnosis.kind), "{} twice", diagnosis.kind);
        seen_kinds.push(diagnosis.kind);
    }
    expected.assert_eq(&said);
}

fn case(settings: Settings, error: ConnectError) -> Case {
    Case { settings, error, heard: Vec::new(), stderr: "" }
}

fn heard(text: &str) -> Vec<Traced> {
    vec![Traced::Received(text.to_owned())]
}

#[test]
fn programs_that_do_not_start() {
    let start = |command: &str, kind, said: &str| {
        let config = Config { command: Some(command.to_owned()), ..Config::default() };
        case(settings(config), ConnectError::Start { kind, said: said.to_owned() })
    };
    check(
        vec![
            start("mpc-git", NotStarted::Missing, "the program `mpc-git` was not found; install it"),
            start(
                "/opt/x",
                NotStarted::NotExecutable,
                "`/opt/x` is there but may not be run; it must be a file",
            ),
            start("x", NotStarted::Folder, "the working folder /no does not exist or is not a folder"),
            start("x", NotStarted::System, "the program could not be started: out of memory"),
            start(
                "x",
                NotStarted::CannotBeShown,
                "/a cannot be shown to the program: No such file; if `read` names it, make it",
            ),
            case(program(), ConnectError::Disabled),
        ],
        expect![[r#"
            program_missing
              the program `mpc-git` was not found
              did you mean `mcp-git`? Otherwise install it, or give its full path: Toolcrib's PATH may be another than your shell's
            not_executable
              `/opt/x` is there but may not be run
              make it executable (`chmod +x /opt/x`), or start it with what runs it, such as `python3` or `node`
            folder_missing
              the working folder /no does not exist or is not a folder
              create the folder, or set another `cwd`
            not_started
              the program could not be started: out of memory
              free memory or processes; the system's own message says which
            cannot_be_shown
              /a cannot be shown to the program: No such file
              make it, or take it out of `read`, `write` or `sockets` in the server's `sandbox` table or in [sandbox]; `toolcrib config check` says which key names it
            disabled
              it is switched off in the configuration
              remove `enabled = false` from [mcp.it]
        "#]],
    );
}

#[test]
fn programs_that_end() {
    let exited = |stderr| {
        let how = "exited with code 1 (the last line)".to_owned();
        Case { stderr, ..case(program(), ConnectError::Request(Fault::Gone(how))) }
    };
    let ended = |how: &str| case(program(), ConnectError::Request(Fault::Gone(how.to_owned())));
    check(
        vec![
            exited("something\nno section [core]\n\n"),
            exited("npm error code E404\nnpm error 404 Not Found\n"),
            exited("npm error code ENOTFOUND"),
            exited("npm error could not determine executable to run"),
            exited("Error: Cannot find module '/x.js'"),
            exited("Error: listen EADDRINUSE"),
            exited("PermissionError: [Errno 13]"),
            exited("error: unrecognized arguments: --x"),
            exited("Cannot connect to the Docker daemon"),
            exited("BRAVE_API_KEY is missing: set the environment variable"),
            exited("SyntaxError: Unexpected token"),
            Case { heard: heard("Hello!"), ..exited("") },
            ended("was ended by signal 9"),
            ended("exited with code 126"),
            ended("closed its output"),
        ],
        expect![[r#"
            exits
              it exited with code 1 before it was ready; the last it said: no section [core]
              run `mcp-git -v` in a shell to see what it misses
            package_missing
              it exited with code 1: the package does not exist; it said: npm error code E404
              check the package's name and version in `args`
            registry_unreachable
              it exited with code 1: it could not reach the network to fetch what it needs; it said: npm error code ENOTFOUND
              check the connection, and what its sandbox lets it reach (`network`); where a company's proxy alone leads out, name it in `[sandbox] proxy`
            no_executable
              it exited with code 1: the package holds no program of that name; it said: npm error could not determine executable to run
              check the package's name, and name its program too, such as `npx -y -p PACKAGE PROGRAM` or `uvx --from PACKAGE PROGRAM`
            module_missing
              it exited with code 1: a file or module that it needs is not there; it said: Error: Cannot find module '/x.js'
              check the path of the script in `args` (relative paths start at `cwd`), and install what it depends on
            port_taken
              it exited with code 1: it wants a network port that is taken; it said: Error: listen EADDRINUSE
              start it so that it speaks over its standard streams (often with an argument such as `stdio`), or give it another port
            no_permission
              it exited with code 1: it was not allowed to do something that it needs; it said: PermissionError: [Errno 13]
              give it a folder or file it may use; its sandbox shows it others if `read` or `write` in its `sandbox` table name them
            wrong_arguments
              it exited with code 1: it does not understand its arguments; it said: error: unrecognized arguments: --x
              check `args`; its own help (mostly `--help`) says what it takes
            no_docker
              it exited with code 1: Docker does not answer; it said: Cannot connect to the Docker daemon
              start Docker, and let the server use it: `sandbox.sockets = ["/var/run/docker.sock"]`, or `sandbox.profile = "open"`; if it runs elsewhere, `inherit = ["DOCKER_*"]`
            setting_missing
              it exited with code 1: it misses a setting or a key; it said: BRAVE_API_KEY is missing: set the environment variable
              give it in `env`; a program inherits only a few variables of this one, others have to be named in `env` or `inherit`
            wrong_version
              it exited with code 1: it does not fit the version of what runs it; it said: SyntaxError: Unexpected token
              install a newer version of what runs it (Node, Python, …), or an older one of the server
            exits_with_text
              it exited with code 1 after it had printed text instead of MCP: Hello!
              run the command line in a shell to see all it says; it may need other arguments
            killed
              it was ended by signal 9
              run `mcp-git -v` in a shell to see what it misses; signal 9 often means that memory ran out
            cannot_run
              it could not be run
              check the first line of the script (`#!…`) and that the file is made for this machine
            closes_output
              it closed its output and goes on running without a word
              check that it is a server for standard streams; some programs go into the background
        "#]],
    );
}

#[test]
fn servers_that_do_not_answer() {
    let slow = |settings| {
        let (what, limit, stderr) = ("answer the handshake", Duration::from_secs(30), String::new());
        case(settings, ConnectError::TooSlow { what, limit, stderr })
    };
    check(
        vec![
            slow(program()),
            Case { heard: heard("Listening on :3000"), ..slow(program()) },
            Case { heard: heard(r#"{"hello":1}"#), ..slow(program()) },
            Case { heard: heard(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#), ..slow(address("http://h/mcp")) },
            case(
                program(),
                ConnectError::Refused { method: "initialize", code: -32000, said: "no licence".to_owned() },
            ),
            Case {
                heard: heard(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#),
                ..case(
                    program(),
                    ConnectError::Refused { method: "initialize", code: -32601, said: "no".to_owned() },
                )
            },
            case(program(), ConnectError::Request(Fault::Broken("it names no version".to_owned()))),
        ],
        expect![[r#"
            never_answers
              it is there and answers nothing, for 30 s now
              check that it speaks MCP over its standard streams: some programs need an argument such as `stdio`; if it only needs longer, raise `start_timeout` in [mcp.it]
            only_text
              it prints text where MCP is expected, and answers nothing: Listening on :3000
              check that `mcp-git -v` starts an MCP server for standard streams: some need an argument such as `stdio`, some serve HTTP and need `url` instead
            other_protocol
              it speaks JSON, but not MCP: {"hello":1}
              check that it is an MCP server and not some other interface of the same program; it may need an argument or another path
            hangs
              it answered, and then did not answer the handshake within 30 s
              see `toolcrib mcp debug it` for what it was asked last; if it only needs longer, raise `start_timeout` or `list_timeout` in [mcp.it]
            refuses
              it refuses `initialize`: no licence (code -32000)
              look into its documentation for what it wants of a client; `toolcrib mcp debug` shows all that was said
            echoes
              it only echoes what it is sent
              check that it is an MCP server, and that it is not started through something that repeats its input
            not_mcp
              it does not speak MCP as expected: it names no version
              check that it is an MCP server, and a newer version of it; `toolcrib mcp debug` shows all that was said
        "#]],
    );
}

#[test]
fn addresses_that_are_not_reached() {
    let unanswered = |obstacle, said: &str| {
        let heard = vec![Traced::Unanswered { obstacle, said: said.to_owned() }];
        Case {
            heard,
            ..case(address("https://h/mcp"), ConnectError::Request(Fault::NotSent(said.to_owned())))
        }
    };
    let tls = |why: &str| {
        unanswered(Obstacle::Tls, &format!("no secure connection to h:443: invalid peer certificate: {why}"))
    };
    check(
        vec![
            unanswered(Obstacle::Refused, "h:443 refuses connections; check that the server is running"),
            unanswered(Obstacle::Name, "the name h could not be resolved"),
            unanswered(Obstacle::Time, "h:443 could not be reached in time"),
            unanswered(
                Obstacle::Private,
                "h is a private address, which a public server must not send us to",
            ),
            tls("certificate not valid for name \"h\"; certificate is only valid for DnsName(\"g\")"),
            tls("UnknownIssuer"),
            tls("certificate expired: verification time 9 (UNIX)"),
            unanswered(Obstacle::Tls, "no secure connection to h:443: received corrupt message"),
            case(
                address("https://h/mcp"),
                ConnectError::Request(Fault::Gone("closed the connection without an answer".to_owned())),
            ),
        ],
        expect![[r#"
            connection_refused
              h:443 refuses connections
              start the server, and check the port in `url`
            unknown_host
              the name h could not be resolved
              check the host's name in `url`, and the connection to the network
            unreachable
              h:443 could not be reached in time
              check the address, and whether a firewall is in between
            private_address
              h is a private address, which a public server must not send us to
              set `url` to a public address
            certificate_name
              its certificate is for another name: no secure connection to h:443: invalid peer certificate: certificate not valid for name "h"; certificate is only valid for DnsName("g")
              use the name that the certificate is for in `url`
            certificate_untrusted
              its certificate is not trusted on this machine: no secure connection to h:443: invalid peer certificate: UnknownIssuer
              install the certificate of whoever issued it on this machine, or name the file in SSL_CERT_FILE
            certificate_expired
              its certificate is out of date: no secure connection to h:443: invalid peer certificate: certificate expired: verification time 9 (UNIX)
              renew the server's certificate; check this machine's clock
            no_tls
              no secure connection to h:443: received corrupt message
              check whether the server speaks https there; if it does not, write http in `url`
            closes_connection
              https://h/mcp closes the connection without an answer
              check that it speaks HTTP there, and http or https as `url` says; its own log may say more
        "#]],
    );
}

#[test]
fn addresses_that_answer_something_else() {
    let head = |status, media_type: &str, location: Option<&str>| {
        let mut headers = vec![("content-type".to_owned(), media_type.to_owned())];
        headers.extend(location.map(|location| ("location".to_owned(), location.to_owned())));
        vec![Traced::Response { status, headers }]
    };
    let status = |status, said: &str| {
        case(address("https://h/x"), ConnectError::Request(Fault::Status { status, said: said.to_owned() }))
    };
    let redirect = |to| {
        let error = ConnectError::Request(Fault::Redirect { status: 302, to: String::new() });
        Case { heard: head(302, "", Some(to)), ..case(address("https://h/x"), error) }
    };
    let not_mcp = || ConnectError::Request(Fault::Broken("it answered with something else".to_owned()));
    let page = || head(200, "text/HTML; charset=utf-8", None);
    let text = [head(200, "text/plain", None), heard("It works")].concat();
    check(
        vec![
            Case { heard: page(), ..case(address("https://h"), not_mcp()) },
            Case { heard: text, ..case(address("https://h/x"), not_mcp()) },
            Case { heard: page(), ..status(404, "<html>") },
            status(405, ""),
            status(429, "slow down"),
            status(503, "maintenance"),
            status(418, ""),
            redirect("https://other/mcp"),
            redirect("http://10.0.0.1/"),
            redirect("http://other/mcp"),
            redirect("file:///etc/passwd"),
            case(address("https://h/x"), ConnectError::Request(Fault::Access(401))),
            case(address("https://h/x"), ConnectError::Request(Fault::Access(403))),
        ],
        expect![[r#"
            web_page
              it answers with a web page (HTTP status 200)
              add the server's path to `url`; is it /mcp?
            plain_text
              it answers with text: It works
              check `url`: it leads to something else than an MCP server
            path_missing
              there is nothing at the path /x (HTTP status 404)
              check the path in `url`; most servers are at /mcp, older ones at /sse
            method_refused
              it takes no POST at the path /x (HTTP status 405)
              check the path in `url`; most servers are at /mcp, older ones at /sse
            too_many_requests
              it is asked too often (HTTP status 429): slow down
              wait a while and test again
            server_error
              it is in trouble (HTTP status 503): maintenance
              try again later; the server's own log says more
            http_error
              it answers with HTTP status 418
              check `url` and `headers`; `toolcrib mcp debug` shows all that was said
            redirects
              it redirects to https://other/mcp (HTTP status 302), which is not followed
              if you trust that address, set `url = "https://other/mcp"`
            redirects_to_private
              it redirects to 10.0.0.1, a private address (HTTP status 302), which is not followed
              do not trust this server; if it is yours, let it answer itself or set `url` to the final address
            redirects_unencrypted
              it redirects to http://other/mcp (HTTP status 302), where nothing would be encrypted, which is not followed
              do not set `url` to that address; ask the server's owner for one that begins with https
            redirects_nowhere
              it redirects to something else than a web address (HTTP status 302)
              do not trust this server; check `url`, or ask its owner
            no_credentials
              it wants credentials (HTTP status 401)
              give them with `headers` in [mcp.it], or correct those that stand there; a server without an `Authorization` header and without `oauth = false` can be signed in to with `toolcrib mcp auth it`
            forbidden
              it refuses access to whoever we are (HTTP status 403)
              give other credentials with `headers`, or ask its owner for access
        "#]],
    );
}

/// A sign-in that failed so.
fn sign_in(error: AuthError) -> Case {
    case(address("https://h/x"), ConnectError::Request(Fault::SignIn(error)))
}

fn failed(reason: Reason) -> Case {
    sign_in(AuthError::failed(reason, format!("{reason:?}")))
}

#[test]
fn sign_ins_that_wait_for_a_person() {
    check(
        vec![
            sign_in(AuthError::NeedsSignIn { why: "it wants you to sign in".to_owned() }),
            sign_in(AuthError::NeedsRegistration("https://a does not register clients by itself".to_owned())),
            sign_in(AuthError::Keep(TokenStoreError("the key cannot be read".to_owned()))),
        ],
        expect![[r#"
            needs_auth
              it wants you to sign in
              sign in with `toolcrib mcp auth it`
            needs_client_registration
              https://a does not register clients by itself
              register a client with the server by hand and put what you get into [mcp.it.oauth] as `client_id` and, if there is one, `client_secret`
            not_kept
              sign-ins cannot be kept: the key cannot be read
              check the folder of `state.dir` and its file secret.key
        "#]],
    );
}

#[test]
fn sign_ins_that_nobody_should_try() {
    let reasons = [
        Reason::Impostor,
        Reason::IssuerDiffers,
        Reason::IssuerChanged,
        Reason::EndpointPrivate,
        Reason::EndpointRefused,
        Reason::ResourceDiffers,
        Reason::IssuerSpelling,
        Reason::NoPkce,
    ];
    check(
        reasons.map(failed).into(),
        expect![[r#"
        sign_in_by_another
          Impostor
          do not sign in: somebody else has answered in place of the sign-in server; tell the server's owner
        issuer_differs
          IssuerDiffers
          do not sign in: somebody may be posing as the sign-in server; tell the server's owner, who must correct its metadata
        issuer_changed
          IssuerChanged
          if the server's owner says that this is right, set `oauth.issuer`, or run `toolcrib mcp logout it` to begin anew; else do not sign in: somebody may be after the client's secret
        endpoint_private
          EndpointPrivate
          do not sign in: its metadata leads into your own network; tell the server's owner
        endpoint_refused
          EndpointRefused
          do not sign in: its metadata names an address that no server should; tell the server's owner
        resource_differs
          ResourceDiffers
          check `url`; if it is right, do not sign in: its metadata is that of another server; tell the server's owner
        issuer_spelling
          IssuerSpelling
          if you trust it, set `oauth.issuer` to its own spelling; tell the server's owner, who should use the same
        no_pkce
          NoPkce
          ask the server's owner to support PKCE with S256; without it signing in is not safe
    "#]],
    );
}

#[test]
fn sign_ins_that_fail() {
    let reasons = [
        Reason::NoSignIn,
        Reason::NotJson,
        Reason::Redirects,
        Reason::NotFinished,
        Reason::ScopeRefused,
        Reason::ClientRefused,
        Reason::Denied,
        Reason::ScopesNeverEnough,
        Reason::Settings,
        Reason::Unreachable,
        Reason::Other,
    ];
    check(
        reasons.map(failed).into(),
        expect![[r#"
        no_sign_in
          NoSignIn
          if it wants a key, give it with `headers`; if it has a sign-in server, name it with `oauth.issuer`
        sign_in_no_json
          NotJson
          check `url` and `oauth.issuer`; the sign-in server answers with something else than OAuth
        sign_in_redirects
          Redirects
          set `oauth.issuer` to the final address; redirects are not followed while secrets are sent
        sign_in_not_finished
          NotFinished
          run the command again, and paste the address that this very sign-in ends at
        scope_refused
          ScopeRefused
          ask for other scopes with `oauth.scope`
        client_refused
          ClientRefused
          check `oauth.client_id` and `oauth.client_secret`, or remove them to register anew
        sign_in_denied
          Denied
          run the command again and consent; if you did, ask the server's owner for access
        scopes_never_enough
          ScopesNeverEnough
          ask the server's owner for the access that it wants; signing in again does not help
        sign_in_settings
          Settings
          correct [mcp.it.oauth]
        sign_in_unreachable
          Unreachable
          check that the sign-in server can be reached from here, and `oauth.issuer` if it is set; then try again
        sign_in_failed
          Other
          try again later; `toolcrib mcp debug it` shows what the sign-in server says
    "#]],
    );
}
