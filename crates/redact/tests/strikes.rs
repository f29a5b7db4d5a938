//! What is struck out, what stays, and what is left of the text around it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use redact::{Config, Holds, Known, Redactor, Vocabulary};

fn redactor(secrets: &[(&str, &str)], config: &Config) -> Redactor {
    let redactor = Redactor::with_vocabulary(config, vocabulary());
    let known = secrets.iter().map(|(name, value)| Known { name: (*name).into(), value: (*value).into() });
    redactor.know("test", known.collect());
    redactor
}

/// Some words of a protocol.
fn vocabulary() -> Vocabulary {
    let others = ["content", "contents", "isError", "messages", "resource", "text", "uri"];
    let forms = [
        ("blob", Holds::Bytes),
        ("data", Holds::Bytes),
        ("mimeType", Holds::MediaType),
        ("role", Holds::Words(&["user", "assistant"])),
        ("type", Holds::Words(&["text", "image", "resource"])),
    ];
    others.map(|name| (name, Holds::Other)).into_iter().chain(forms).collect()
}

fn known_only() -> Config {
    Config { patterns: false, ..Config::default() }
}

/// `text` becomes `expected` where these secrets are known and patterns are not looked for.
#[track_caller]
fn check_known(secrets: &[(&str, &str)], text: &str, expected: &str) {
    let redactor = redactor(secrets, &known_only());
    let struck = redactor.text(text).into_owned();
    assert_eq!(struck, expected);
    assert_eq!(redactor.text(&struck), struck, "a second time");
}

/// The same for JSON, with patterns.
#[track_caller]
fn check_json(secrets: &[(&str, &str)], json: &str, expected: &str) {
    let redactor = redactor(secrets, &Config::default());
    let struck = redactor.json(json.as_bytes());
    let struck =
        struck.map_or(json.to_owned(), |struck| String::from_utf8(struck.bytes.to_vec()).expect("text"));
    assert_eq!(struck, expected);
    serde_json::from_str::<serde_json::Value>(&struck).expect("JSON");
    assert!(redactor.json(struck.as_bytes()).is_none(), "a second time");
}

#[test]
fn known_values_go_whatever_they_are_written_like() {
    let secrets = [("API_KEY", "s3cr3t/v+lue?")];
    for (text, expected) in [
        ("a s3cr3t/v+lue? b", "a [REDACTED:API_KEY] b"),
        ("s3cr3t%2Fv%2Blue%3F", "[REDACTED:API_KEY]"),
        ("s3cr3t%2fv%2blue%3f", "[REDACTED:API_KEY]"),
        ("7333637233742f762b6c75653f", "[REDACTED:API_KEY]"),
        ("7333637233742F762B6C75653F", "[REDACTED:API_KEY]"),
        (r"s3cr3t\/v+lue?", "[REDACTED:API_KEY]"),
        (r"s3cr3t\\/v+lue?", "[REDACTED:API_KEY]"),
        // The last digit also says something of what is behind it.
        ("Basic dTpzM2NyM3QvditsdWU/", "Basic dTp[REDACTED:API_KEY]"),
        ("s3cr3t", "s3cr3t"),
        ("", ""),
    ] {
        check_known(&secrets, text, expected);
    }
}

#[test]
fn nothing_of_overlapping_secrets_stays() {
    check_known(&[("A", "abcdef"), ("B", "defghi")], "xabcdefghix", "x[REDACTED:A]x");
    check_known(&[("B", "abcdef"), ("A", "defghij")], "xabcdefghijx", "x[REDACTED:A]x");
    check_known(
        &[("SHORT", "abcd"), ("LONG", "xabcdx")],
        "1 xabcdx abcd",
        "1 [REDACTED:LONG] [REDACTED:SHORT]",
    );
    check_known(&[("A", "abcd"), ("B", "efgh")], "abcdefgh", "[REDACTED:A][REDACTED:B]");
    check_known(&[("B", "same"), ("A", "same")], "same", "[REDACTED:A]");
    check_known(&[("A", "aaaa")], "aaaaaaaaaa", "[REDACTED:A]");
}

#[test]
fn what_is_too_short_stays() {
    check_known(&[("A", "abc"), ("B", "äöü"), ("C", " ab \n")], "abc äöü ab", "abc äöü ab");
    check_known(&[("A", "äöüß")], "x äöüß y", "x [REDACTED:A] y");
}

#[test]
fn blanks_around_a_value_and_breaks_within_do_not_hide_it() {
    check_known(&[("A", "  token-1234\n")], "token-1234", "[REDACTED:A]");
    let key = "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASCBKcwggSj\n-----END X-----";
    check_known(&[("KEY", key)], key, "[REDACTED:KEY]");
    check_known(
        &[("KEY", key)],
        "-----BEGIN X-----\n  9w0BAQEFAASCBKcwggSj\n",
        "-----BEGIN X-----\n  [REDACTED:KEY]\n",
    );
}

#[test]
fn a_name_that_holds_a_value_is_shown() {
    check_known(&[("API_KEY", "API_KEY")], "an API_KEY here", "an [REDACTED:API_KEY] here");
    check_known(&[("A", "REDACTED")], "REDACTED", "[REDACTED:A]");
    // Only our own words are left alone.
    check_known(&[("A", "s3cret")], "[REDACTED: s3cret]", "[REDACTED: [REDACTED:A]]");
    check_known(&[("A", "s3cret")], "[REDACTED:s3cret]", "[REDACTED:[REDACTED:A]]");
}

#[test]
fn json_stays_json_and_everything_else_in_it_stays() {
    let secrets = [("API_KEY", "s3cr\"t\nvalue"), ("PIN", "12345")];
    for (json, expected) in [
        (r#"{"key": "s3cr\"t\nvalue"}"#, r#"{"key": "[REDACTED:API_KEY]"}"#),
        (r#"{"s3cr\"t\nvalue": 1.0}"#, r#"{"[REDACTED:API_KEY]": 1.0}"#),
        (r#"["s\u0033cr\u0022t\u000Avalue"]"#, r#"["[REDACTED:API_KEY]"]"#),
        (r#"["a\u00e9 \/ s3cr\"t\nvalue \/ \u00e9"]"#, r#"["a\u00e9 \/ [REDACTED:API_KEY] \/ \u00e9"]"#),
        (r#"["{\"a\":\"s3cr\\\"t\\nvalue\"}"]"#, r#"["{\"a\":\"[REDACTED:API_KEY]\"}"]"#),
        (r#"[12345, 1.0, -12345e2, 99]"#, r#"["[REDACTED:PIN]", 1.0, "[REDACTED:PIN]", 99]"#),
        (r#"[9123456]"#, r#"["[REDACTED:PIN]"]"#),
        (r#"{"a":{"12345":true}}"#, r#"{"a":{"[REDACTED:PIN]":true}}"#),
        // It lies in two strings, so it is in none.
        (r#"["s3cr\"t","value"]"#, r#"["s3cr\"t","value"]"#),
        (
            r#"[ 1e-40 , 123456789012345678901234567890 , "\ud83d\ude00" ]"#,
            r#"[ 1e-40 , "[REDACTED:PIN]" , "\ud83d\ude00" ]"#,
        ),
        (r#"[1, "a\\"]"#, r#"[1, "a\\"]"#),
    ] {
        check_json(&secrets, json, expected);
    }
}

#[test]
fn a_pattern_is_seen_through_escapes_and_across_a_member() {
    let token = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    for (json, expected) in [
        (r#"{"t":"TOKEN"}"#, r#"{"t":"[REDACTED:github-pat]"}"#),
        (r#"{"t":"a\nTOKEN\n"}"#, r#"{"t":"a\n[REDACTED:github-pat]\n"}"#),
        (r#"{"TOKEN":1}"#, r#"{"[REDACTED:github-pat]":1}"#),
        (r#"{"t":"{\"x\":\"\\nTOKEN\"}"}"#, r#"{"t":"{\"x\":\"\\n[REDACTED:github-pat]\"}"}"#),
        (r#"{"api_key": "2Tm6cdsRVBTL9hRCmR6MRD"}"#, r#"{"api_key": "[REDACTED:generic-secret]"}"#),
        (
            r#"{"url":"https:\/\/bob:hunter22@h.example\/x"}"#,
            r#"{"url":"https:\/\/bob:[REDACTED:url-password]@h.example\/x"}"#,
        ),
    ] {
        check_json(&[], &json.replace("TOKEN", &token), expected);
    }
}

#[test]
fn a_dollar_sign_does_not_end_a_password() {
    let redactor = Redactor::new(&Config::default());
    for (text, expected) in [
        ("password = \"hunt$er2!x\"", "password = \"[REDACTED:generic-password]\""),
        ("password: hunter2A!$", "password: [REDACTED:generic-password]"),
        ("pwd='$3cr3t!word'", "pwd='[REDACTED:generic-password]'"),
        ("DB_PASS=Xy$$9#z!kQ", "DB_PASS=[REDACTED:generic-password]"),
        ("password=hunter2A!${SUFFIX}", "password=[REDACTED:generic-password]{SUFFIX}"),
        ("api_key = 'aB3dE5$fG7hJ9kL1m'", "api_key = '[REDACTED:generic-secret]'"),
        ("curl -u bob:hun$ter22 https://h.example", "curl -u bob:[REDACTED:curl-password] https://h.example"),
        ("app --password=hunt$er2!x -v", "app --password=[REDACTED:command-line-password] -v"),
        ("Server=h;Password=hun$ter22;", "Server=h;Password=[REDACTED:connection-string-password];"),
        ("Server=h;Password='hun$ter22$';", "Server=h;Password='[REDACTED:connection-string-password]';"),
    ] {
        assert_eq!(redactor.text(text), expected, "{text}");
    }
}

#[test]
fn our_own_keys_go() {
    let redactor = Redactor::new(&Config::default());
    let key = ["tc_", "a1B2c3_", &"0Zx9".repeat(12), "Q"].concat();
    for (before, behind) in [("", ""), ("Authorization: Bearer ", "\n"), ("export KEY=", ""), ("\"", "\"")] {
        let struck = redactor.text(&format!("{before}{key}{behind}")).into_owned();
        assert_eq!(struck, format!("{before}[REDACTED:toolcrib-api-key]{behind}"));
    }
}

#[test]
fn a_name_of_a_secret_is_told_from_one_of_a_page() {
    let redactor = Redactor::new(&Config::default());
    for name in ["token", "page_access_token", "api_key", "NEXT_PUBLIC_API_KEY", "session_token", "key"] {
        let struck = redactor.text(&format!("{name} = 'aB3dE5fG7hJ9kL1mN2pQ4rS6'")).into_owned();
        assert!(struck.contains("[REDACTED:generic-"), "{struck}");
    }
}

#[test]
fn minified_data_hides_nothing_behind_many_keywords() {
    let token = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    let redactor = Redactor::new(&Config::default());
    for record in [
        r#"{"id":1,"token":"t1","key":"k1","secret":null},"#,
        "1,token,key,secret;",
        "token=t1&key=k1&secret=s1&",
        "'token':[key](secret)",
        // Nothing here ends a token.
        "/token/key/secret",
    ] {
        let text = format!("[{}\"{token}\"]", record.repeat(500));
        let struck = redactor.text(&text).into_owned();
        assert!(!struck.contains(&token), "{record}");
        let json = serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        let struck = redactor.json(json.as_bytes()).expect("something is struck out of it");
        assert!(!String::from_utf8_lossy(&struck.bytes).contains(&token), "{record} in JSON");
    }
    // Not beside a quote either.
    let text = format!("{}/{token}", "/token/key/secret".repeat(500));
    assert!(!redactor.text(&text).contains(&token));
}

#[test]
fn no_number_of_keywords_switches_the_patterns_off() {
    let github = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    let amazon = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    let slack = ["xoxb-", "730191371696-1413868247813-IG7Z2nYtC5Qb8dFhJkLmNpRs"].concat();
    let ai = ["sk-", "proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let jwt = ["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123_-xyz987abc"].concat();
    let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(80);
    let key = format!("-----BEGIN {0} KEY-----\n{lines}-----END {0} KEY-----", "PRIVATE");
    let redactor = Redactor::new(&Config::default());
    for (before, between) in [
        ("token_key_secret_", "_"),
        ("token/key/secret/", "/"),
        ("token.key.secret.", "."),
        ("-token-key-secret", "-"),
        ("token=key=secret=", "="),
        ("token%3Dkey%26secret", "%26"),
        ("%22token%22%3A%22t1%22%2C%22key%22%3Anull%7D", "%22"),
        ("token\u{e9}", "\u{e9}"),
        ("token:", "\n"),
        ("ghp_sk-eyJxoxb-AKIA", "/"),
    ] {
        for secret in [&github, &amazon, &slack, &ai, &jwt, &key] {
            // Of what is longer only the beginning goes where every few bytes begin a token.
            if before.starts_with("ghp_") && secret.len() > 64 {
                continue;
            }
            let text = format!("{}{between}{secret} end", before.repeat(1_000));
            let struck = redactor.text(&text);
            let tail = &secret[secret.len() - 12..];
            assert!(!struck.contains(&secret[..]) && !struck.contains(tail), "{before}: {secret}");
        }
    }
    // Where nothing is between, the beginning alone must tell.
    for secret in [github, amazon] {
        let text = format!("{}{secret}", "tokenkeysecret".repeat(1_000));
        assert!(!redactor.text(&text).contains(&secret), "{secret}");
    }
}

#[test]
fn files_inside_of_json_stay_base64() {
    let secrets = [("LOOSE", "loose-Secret-77"), ("DIGITS", "AbCdEfGhIjKl1234")];
    let encoded = |text: &str| STANDARD.encode(text);
    let inside = encoded("xxxxx loose-Secret-77 yy");
    let clean = encoded("xxxxx [REDACTED:LOOSE] yy");
    let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    for (json, expected) in [
        (
            format!(r#"{{"type":"image","data":"{inside}","mimeType":"image/png"}}"#),
            format!(r#"{{"type":"image","data":"{clean}","mimeType":"image/png"}}"#),
        ),
        (format!(r#"[{{"blob" : "{inside}"}}]"#), format!(r#"[{{"blob" : "{clean}"}}]"#)),
        (format!(r#"{{"x":"{inside}"}}"#), r#"{"x":"eHh4eHgg[REDACTED:LOOSE]IHl5"}"#.to_owned()),
        // Lines, no padding, digits for addresses.
        (
            format!(r#"{{"data":"{}\r\n{}\n"}}"#, &inside[..20], inside[20..].trim_end_matches('=')),
            format!(r#"{{"data":"{clean}"}}"#),
        ),
        (
            r#"{"blob":"_-_-bG9vc2UtU2VjcmV0LTc3"}"#.to_owned(),
            r#"{"blob":"/+/+W1JFREFDVEVEOkxPT1NFXQ=="}"#.to_owned(),
        ),
        // The digits themselves.
        (r#"{"blob":"AbCdEfGhIjKl1234/w=="}"#.to_owned(), r#"{"blob":"AAAAAAAAAAAAAAAA/w=="}"#.to_owned()),
        (format!(r#"{{"data":"{key}"}}"#), format!(r#"{{"data":"{}"}}"#, "A".repeat(20))),
        // What is no base64 need not stay it.
        (r#"{"data":"loose-Secret-77"}"#.to_owned(), r#"{"data":"[REDACTED:LOOSE]"}"#.to_owned()),
        (r#"{"data":["AbCdEfGhIjKl1234"]}"#.to_owned(), r#"{"data":["[REDACTED:DIGITS]"]}"#.to_owned()),
    ] {
        check_json(&secrets, &json, &expected);
    }
}

#[test]
fn names_of_one_object_stay_different() {
    let secrets = [("A", "alpha-value"), ("B", "other-value")];
    for (json, expected) in [
        (
            r#"{"alpha-value":1,"x":2,"alpha\u002dvalue":3,"YWxwaGEtdmFsdW":4}"#,
            r#"{"[REDACTED:A]":1,"x":2,"[REDACTED:A#2]":3,"[REDACTED:A#3]":4}"#,
        ),
        (
            r#"{"alpha-value":{"alpha-value":1},"b":[{"alpha-value":1}], "alpha-value x" : {}}"#,
            r#"{"[REDACTED:A]":{"[REDACTED:A]":1},"b":[{"[REDACTED:A]":1}], "[REDACTED:A] x" : {}}"#,
        ),
        (
            r#"{"[REDACTED:A]":1,"[REDACTED:A#2]":2,"alpha-value":3,"other-value":"alpha-value"}"#,
            r#"{"[REDACTED:A]":1,"[REDACTED:A#2]":2,"[REDACTED:A#3]":3,"[REDACTED:B]":"[REDACTED:A]"}"#,
        ),
        (
            r#"{"alpha-value":1,"[REDACTED:A]":2,"[REDACTED:A] x":3}"#,
            r#"{"[REDACTED:A]":1,"[REDACTED:A#2]":2,"[REDACTED:A] x":3}"#,
        ),
        (r#"{"q alpha-value z":1,"q alpha-value z":2}"#, r#"{"q [REDACTED:A] z":1,"q [REDACTED:A#2] z":2}"#),
    ] {
        check_json(&secrets, json, expected);
    }
}

#[test]
fn what_has_no_name_shows_as_stars() {
    let secrets = [("", "alpha-value"), ("B", "other-value")];
    for (json, expected) in [
        (
            r#"{"alpha-value":1,"a":"alpha\u002dvalue, alpha-value and other-value"}"#,
            r#"{"***":1,"a":"***, *** and [REDACTED:B]"}"#,
        ),
        (
            r#"{"alpha-value":1,"***":2,"x-YWxwaGEtdmFsdW":3,"YWxwaGEtdmFsdW":4,"x-alpha-value":5}"#,
            r#"{"***":1,"***#2":2,"x-***":3,"***#3":4,"x-***#2":5}"#,
        ),
    ] {
        check_json(&secrets, json, expected);
    }
    let redactor = redactor(&secrets, &known_only());
    assert_eq!(redactor.text("no alpha-value").as_ref(), "no ***");
    // The escapes of JSON in JSON make the longest spelling of it.
    assert_eq!(redactor.encoding_bytes_max(), 14 * "alpha-value".len());
}

#[test]
fn words_of_the_protocol_stay_readable() {
    let secrets = [("MODE", "text"), ("ROLE", "user"), ("T3", "content"), ("NAME", "resource")];
    for (json, expected) in [
        (
            r#"{"content":[{"type":"text","text":"some text"}],"isError":false}"#,
            r#"{"content":[{"type":"text","text":"some [REDACTED:MODE]"}],"isError":false}"#,
        ),
        (
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a user"}}]}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a [REDACTED:ROLE]"}}]}"#,
        ),
        (
            r#"{"contents":[{"uri":"a:text","mimeType":"text/html","text":"content"}]}"#,
            r#"{"contents":[{"uri":"a:[REDACTED:MODE]","mimeType":"text/html","text":"[REDACTED:T3]"}]}"#,
        ),
        (
            r#"{"structuredContent":{"texts":1,"content":"text!"}}"#,
            r#"{"structuredContent":{"[REDACTED:MODE]s":1,"content":"[REDACTED:MODE]!"}}"#,
        ),
    ] {
        check_json(&secrets, json, expected);
    }
}

#[test]
fn a_kind_of_media_and_a_number_of_ours_hide_no_secret() {
    let secrets =
        [("WORDS", "correct-horse-battery"), ("PIN", "48213377"), ("KEY", "alpha-KEY-value"), ("J", "json")];
    for (json, expected) in [
        (
            r#"{"type":"image","mimeType":"text/correct-horse-battery"}"#,
            r#"{"type":"image","mimeType":"text/[REDACTED:WORDS]"}"#,
        ),
        (r#"{"mimeType":"application/json"}"#, r#"{"mimeType":"application/json"}"#),
        (r#"{"mimeType":"application/vnd.api+json"}"#, r#"{"mimeType":"application/vnd.api+json"}"#),
        (r#"["[REDACTED:KEY#48213377]"]"#, r#"["[REDACTED:KEY#[REDACTED:PIN]]"]"#),
        (r#"{"[REDACTED:KEY#2]":1}"#, r#"{"[REDACTED:KEY#2]":1}"#),
    ] {
        check_json(&secrets, json, expected);
    }
}

#[test]
fn a_picture_is_no_token() {
    let head = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    let picture = format!("/{head}/{}", "iVBORw0KGgo".repeat(500));
    let redactor = redactor(&[("A", "planted-secret")], &Config::default());
    let json = |data: &str| serde_json::json!({ "type": "image", "data": data }).to_string();
    assert!(redactor.json(json(&picture).as_bytes()).is_none());
    let planted = format!("{picture}{}", "cGxhbnRlZC1zZWNyZXQ");
    assert_eq!(redactor.json(json(&planted).as_bytes()).map(|struck| struck.count), Some(1));
    assert_eq!(redactor.bytes(b"\xff planted-secret \xff").map(|(_, count)| count), Some(1));
    assert!(redactor.bytes(head.as_bytes()).is_none());
}

#[test]
fn what_the_configuration_says_holds() {
    let token = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    let count = |config: &Config| Redactor::new(config).strike(&token).map_or(0, |(_, count)| count);
    let config = |allow: &str, disable: &str| {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Config { patterns: true, allow: list(allow), disable: list(disable) }
    };
    assert_eq!(count(&Config::default()), 1);
    assert_eq!(count(&known_only()), 0);
    assert_eq!(count(&config("ghp_[A-Za-z0-9]+", "")), 0);
    assert_eq!(count(&config("ghp_", "")), 1, "not the whole of it");
    assert_eq!(count(&config("", "github-pat")), 0);
    assert_eq!(config("ghp_.*", "github-pat generic-secret").check(), Ok(()));
    let faults = config("a( )b", "github-pta").check().expect_err("both are wrong");
    let told: Vec<String> =
        faults.iter().map(|fault| format!("{}[{}]: {fault}", fault.key, fault.nth)).collect();
    assert_eq!(
        told,
        [
            "allow[0]: is no regular expression: unclosed group",
            "allow[1]: is no regular expression: unopened group",
            "disable[0]: there is no kind `github-pta`; did you mean `github-pat`?",
        ]
    );
}

#[test]
fn what_is_known_changes_for_all_clones_by_source() {
    let redactor = Redactor::new(&known_only());
    let clone = redactor.clone();
    let versions = [redactor.version()];
    let known = |value: &str| vec![Known { name: "A".into(), value: value.into() }];
    redactor.know("store", known("first"));
    redactor.know("config", known("second"));
    assert_eq!(clone.text("first second"), "[REDACTED:A] [REDACTED:A]");
    redactor.know("store", known("third"));
    assert_eq!(clone.text("first second third"), "first [REDACTED:A] [REDACTED:A]");
    redactor.know("store", Vec::new());
    assert_eq!(clone.text("first second third"), "first [REDACTED:A] third");
    let version = clone.version();
    assert_ne!(versions, [version]);
    redactor.know("nobody", Vec::new());
    assert_eq!(clone.version(), version);
    redactor.configure(&Config::default());
    assert_ne!(clone.version(), version);
    assert_eq!(clone.text("second"), "[REDACTED:A]");
}

#[test]
fn text_that_is_no_json_does_no_harm() {
    let redactor = redactor(&[("A", "s3cret")], &Config::default());
    for text in
        ["", "\"", "\"s3cret", "\\", "\"s3cret\\", "\"\\u12", "{\"a\":s3cret", "\"s3cret\\ud800\\u", "s3cret"]
    {
        let _ = redactor.json(text.as_bytes());
    }
    let _ = redactor.json(b"\"\xff\xfe s3cret \xf0");
}
