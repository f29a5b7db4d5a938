//! What a reader sees of a file with secrets.

use testkit::{Workspace, keep_secret};
use tool_api::builtin;

use super::*;

const READ: Read = Read { text_bytes_max: 256 * 1024 };

/// Whatever its parts are, no part of a secret is in them.
#[test]
fn no_secret_is_cut_in_two() {
    let line = |secret: &str| format!("0123456789 key={secret} 0123456789é{secret}");
    for (behind, ahead) in [("", ""), ("\nnext\n", "before\n")] {
        let workspace = Workspace::new("");
        workspace.put("a", format!("{ahead}{}{behind}", line("hunter2hunter2")).as_bytes());
        for text_bytes_max in 5..60 {
            let tool = builtin(Read { text_bytes_max });
            let first = 1 + ahead.lines().count();
            let (mut parts, mut line_byte) = (Vec::new(), 0);
            while parts.concat() != line("[REDACTED:secret]") {
                let arguments =
                    format!(r#"{{"path": "a", "offset": {first}, "limit": 1, "line_byte": {line_byte}}}"#);
                let shown = keep_secret(&*tool, &workspace, "hunter2hunter2", &arguments);
                let part = shown.strip_prefix("text: ").expect(&shown);
                let part = &part[..part.find(['\n', '¶']).expect("its end")];
                line_byte += part.len();
                parts.push(part.to_owned());
                assert!(!part.is_empty() && parts.len() < 20, "{text_bytes_max}: {parts:?}");
            }
        }
    }
}

/// What comes whole is struck as a whole, so that the rest of a secret does not come without its beginning.
#[test]
fn a_secret_of_several_lines_is_known_where_its_first_line_is_whole() {
    let known = "correct-horse-battery\nstaple99";
    let key = format!(
        "KEY=\"-----BEGIN PRIVATE KEY-----MIIEvQIBADANBg\n{}\n-----END PRIVATE KEY-----\"",
        "kqhkiG9w0BAQ\n".repeat(9)
    );
    for (text, secret) in [(known, "staple"), (&key, "kqhkiG9w0B")] {
        for (before, behind) in [("", ""), ("", "\nnext\n"), ("before\n", "\nnext")] {
            let workspace = Workspace::new("");
            workspace.put("a", format!("{before}{text}{behind}").as_bytes());
            let offset = 1 + before.lines().count();
            for sha256 in [false, true] {
                let arguments = format!(r#"{{"path": "a", "offset": {offset}, "sha256": {sha256}}}"#);
                let shown = keep_secret(&*builtin(READ), &workspace, known, &arguments);
                assert!(shown.contains("[REDACTED:") && !shown.contains(secret), "{shown}");
            }
        }
    }
}
