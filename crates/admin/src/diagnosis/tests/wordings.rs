//! What else is said of the same, where the case differs in something.

use super::*;

#[test]
fn servers_that_are_not_tried() {
    check(
        vec![
            case(program(), ConnectError::Ended),
            case(program(), ConnectError::Lacking("the environment variable X is not set".to_owned())),
            case(program(), ConnectError::NotRestarted { last: "it exited with code 1".to_owned() }),
            case(program(), ConnectError::Crowded),
        ],
        expect![[r#"
            interrupted
              the test was interrupted
              test it again
            missing_secret
              the environment variable X is not set
              then test it again
            not_restarted
              it has ended and is not started again by itself: it exited with code 1
              `toolcrib mcp reload` starts it; `restart` says when that happens by itself
            crowded
              all of its connections are in use by other callers
              test it again in a moment, or set another `isolation` in [mcp.it]
        "#]],
    );
}

#[test]
fn programs_in_other_words() {
    let start = |command: &str| {
        let config = Config { command: Some(command.to_owned()), ..Config::default() };
        let said = "it was not found".to_owned();
        case(settings(config), ConnectError::Start { kind: NotStarted::Missing, said })
    };
    let killed = ConnectError::Request(Fault::Gone("was ended by signal 15".to_owned()));
    for (case, expected) in [
        (
            start("no-such-program-at-all"),
            expect![[r#"
            program_missing
              it was not found
              install it, or give its full path: Toolcrib's PATH may be another than your shell's
        "#]],
        ),
        (
            start("npx -y x"),
            expect![[r#"
            program_missing
              it was not found
              put the program alone into `command` and each of its arguments into `args`
        "#]],
        ),
        (
            start("./x"),
            expect![[r#"
            program_missing
              it was not found
              check the path; a relative one starts at `cwd`
        "#]],
        ),
        (
            case(program(), killed),
            expect![[r#"
            killed
              it was ended by signal 15
              run `mcp-git -v` in a shell to see what it misses
        "#]],
        ),
    ] {
        check(vec![case], expected);
    }
}

#[test]
fn what_is_rare_has_words_too() {
    let socket = Config { socket: Some("/run/mcp.sock".into()), ..Config::default() };
    let closed = ConnectError::Request(Fault::Gone("closed the connection without an answer".to_owned()));
    check(
        vec![
            case(settings(socket), closed),
            case(
                address("https://h/x"),
                ConnectError::Start { kind: NotStarted::System, said: "it cannot be started".to_owned() },
            ),
        ],
        expect![[r#"
            closes_connection
              /run/mcp.sock closes the connection without an answer
              check that an MCP server listens at this socket; its own log may say more
            not_started
              it cannot be started
              check `command`
        "#]],
    );
}

#[test]
fn addresses_in_other_words() {
    let (what, stderr) = ("answer the handshake", String::new());
    let slow = ConnectError::TooSlow { what, limit: Duration::from_millis(500), stderr };
    let page = |url| {
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        let heard = vec![Traced::Response { status: 200, headers }];
        Case { heard, ..case(address(url), ConnectError::Request(Fault::Broken("a page".to_owned()))) }
    };
    let status = |url| {
        case(
            address(url),
            ConnectError::Request(Fault::Status { status: 404, said: "{path} {none}".to_owned() }),
        )
    };
    let redirect = ConnectError::Request(Fault::Redirect { status: 307, to: String::new() });
    let secret = Traced::Response {
        status: 307,
        headers: vec![("location".to_owned(), "https://h/hunter2hunter2/x".to_owned())],
    };
    let mut keyed = Config { url: Some("https://h/x".to_owned()), ..Config::default() };
    keyed.headers.insert("X-Key".to_owned(), upstream::Value::Plain("hunter2hunter2".into()));
    let near = |error| case(address("https://h/x"), error);
    for (case, expected) in [
        (
            near(slow),
            expect![[r#"
            never_answers
              it is there and answers nothing, for 0.5 s now
              check that the address is that of an MCP server; if it only needs longer, raise `start_timeout` in [mcp.it]
        "#]],
        ),
        (
            near(ConnectError::Request(Fault::NotSent("it is not there; start it".to_owned()))),
            expect![[r#"
            unreachable
              it is not there
              check that the server is running, and where
        "#]],
        ),
        (
            page("https://h/x"),
            expect![[r#"
            web_page
              it answers with a web page (HTTP status 200)
              check `url`: it leads to a page for people, not to an MCP server
        "#]],
        ),
        (
            status("https://h"),
            expect![[r#"
            path_missing
              there is nothing at the path / (HTTP status 404): {path} {none}
              add the path to `url`; most servers are at /mcp, older ones at /sse
        "#]],
        ),
        (
            near(redirect.clone()),
            expect![[r#"
            redirects
              it redirects (HTTP status 307) and does not say where
              set `url` to the final address
        "#]],
        ),
        (
            Case { heard: vec![secret], ..case(settings(keyed), redirect) },
            expect![[r#"
            redirects
              it redirects to https://h/hunter2hunter2/x (HTTP status 307), which is not followed
              if you trust that address, set `url` to it
        "#]],
        ),
    ] {
        check(vec![case], expected);
    }
}
