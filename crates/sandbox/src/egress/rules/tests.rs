//! Host lists: what they read as, and what they allow.

use super::*;

/// What each destination of a line may lead to, by the rules of `words`.
fn check(words: &[&str], cases: &[(&str, Option<Grant>)]) {
    let rules = HostRules::parse(words).expect("rules");
    for (to, expected) in cases {
        let destination = Destination::parse(to, None).expect("a destination");
        assert_eq!(rules.grant(&destination), *expected, "{words:?} {to}");
        assert!(expected.is_none() || rules.knows(&destination.host), "{words:?} {to}");
    }
}

const PUBLIC: Option<Grant> = Some(Grant::Public);
const NAMED: Option<Grant> = Some(Grant::Named);
const ADDRESS: Option<Grant> = Some(Grant::Address);

#[test]
fn no_rule_allows_nothing() {
    check(&[], &[("example.com:443", None), ("localhost:80", None), ("1.1.1.1:443", None)]);
    assert!(HostRules::parse::<[&str; 0]>([]).expect("rules").is_none());
    assert_eq!(HostRules::none(), HostRules::parse::<[&str; 0]>([]).expect("rules"));
}

#[test]
fn public_is_every_name_and_address_but_this_machine() {
    check(
        &["public"],
        &[
            ("example.com:443", PUBLIC),
            ("example.com:22", PUBLIC),
            ("1.1.1.1:53", PUBLIC),
            // Their addresses are judged when they are known.
            ("10.0.0.1:80", PUBLIC),
            ("localhost:80", None),
            ("127.0.0.1:443", None),
            ("[::1]:443", None),
        ],
    );
    assert_eq!(HostRules::public(), HostRules::parse(["public"]).expect("rules"));
}

#[test]
fn names_are_compared_whole_and_in_lower_case() {
    check(
        &["Example.COM.", "db.internal:5432"],
        &[
            ("example.com:443", NAMED),
            ("EXAMPLE.com.:80", NAMED),
            ("example.com:8443", None),
            ("www.example.com:443", None),
            ("notexample.com:443", None),
            ("example.com.evil.test:443", None),
            ("db.internal:5432", NAMED),
            ("db.internal:443", None),
            ("localhost:443", None),
        ],
    );
}

#[test]
fn wildcards_stand_for_whole_parts_and_at_least_one() {
    check(
        &["*.example.com", "*.cdn.test:8443"],
        &[
            ("www.example.com:443", PUBLIC),
            ("a.b.EXAMPLE.com.:80", PUBLIC),
            ("example.com:443", None),
            ("evilexample.com:443", None),
            ("www.example.com.evil.test:443", None),
            ("www.example.com:8443", None),
            ("a.cdn.test:8443", PUBLIC),
            ("a.cdn.test:443", None),
        ],
    );
}

#[test]
fn addresses_and_localhost_are_meant_literally() {
    check(
        &["localhost:5432", "10.0.0.5:5432", "[fd00::1]:80", "127.0.0.7:81", "169.254.169.254", "[::1]:9"],
        &[
            ("localhost:5432", ADDRESS),
            ("127.0.0.1:5432", ADDRESS),
            ("[::1]:5432", ADDRESS),
            ("[::ffff:127.0.0.1]:5432", ADDRESS),
            ("localhost:9", ADDRESS),
            ("localhost:5433", None),
            ("127.0.0.2:5432", None),
            ("127.0.0.7:81", ADDRESS),
            ("10.0.0.5:5432", ADDRESS),
            ("[::ffff:10.0.0.5]:5432", ADDRESS),
            ("10.0.0.5:443", None),
            ("[fd00:0::1]:80", ADDRESS),
            ("169.254.169.254:80", ADDRESS),
            ("metadata.test:80", None),
        ],
    );
}

#[test]
fn the_widest_grant_wins() {
    check(
        &["public", "*.corp.test", "git.corp.test"],
        &[("git.corp.test:443", NAMED), ("git.corp.test:22", PUBLIC), ("www.corp.test:443", PUBLIC)],
    );
}

#[test]
fn what_no_rule_names_is_left_open_unless_a_folder_keeps_it_out() {
    let parse = |words: &[&str]| HostRules::parse(words).expect("rules");
    let narrowed = parse(&["api.test", "*.x.test:22"]).within(parse(&["other.test"]));
    for (rules, cases) in [
        (parse(&[]), &[("api.test", None, true), ("api.test", Some(22), true)][..]),
        (parse(&["other.test"]), &[("api.test", Some(443), true)]),
        (
            narrowed.clone(),
            &[
                ("api.test", None, true),
                ("api.test", Some(443), true),
                ("api.test", Some(22), false),
                ("a.x.test", Some(22), true),
                ("evil.test", None, false),
                ("other.test", Some(443), false),
            ],
        ),
        (parse(&["tool.test"]).or(narrowed), &[("api.test", Some(443), true), ("evil.test", None, false)]),
    ] {
        for (host, port, expected) in cases {
            let host = Host::parse(host).expect("a host");
            assert_eq!(rules.leaves_open(&host, *port), *expected, "{rules:?} {host} {port:?}");
        }
    }
}

#[test]
fn what_tightens_never_widens() {
    let (outer, inner) =
        (["public", "git.corp.test"], ["git.corp.test", "api.test", "localhost:80", "*.x.test:22"]);
    let parse = |words: &[&str]| HostRules::parse(words).expect("rules");
    let both = parse(&inner).within(parse(&outer));
    for (to, expected) in [
        ("git.corp.test:443", NAMED),
        // Named inside, but no more than public outside.
        ("api.test:443", PUBLIC),
        ("a.x.test:22", PUBLIC),
        ("localhost:80", None),
        ("other.test:443", None),
    ] {
        assert_eq!(both.grant(&Destination::parse(to, None).expect("a destination")), expected, "{to}");
    }
    assert_eq!((both.words().len(), both.ports()), (4, vec![22, 80, 443]));
    assert!(!both.knows(&Host::Localhost));
    let thrice = both.within(HostRules::none());
    assert!(thrice.is_none());
    assert_eq!(thrice.grant(&Destination::parse("git.corp.test:443", None).expect("a destination")), None);
}

#[test]
fn a_grant_reaches_only_its_kinds() {
    use Kind::{LinkLocal, Loopback, Metadata, Private, Public, Reserved};
    for (grant, allowed) in [
        (Grant::Public, &[Public][..]),
        (Grant::Named, &[Public, Private]),
        (Grant::Address, &[Public, Private, Loopback, LinkLocal, Metadata, Reserved]),
    ] {
        for kind in [Public, Private, Loopback, LinkLocal, Metadata, Reserved] {
            assert_eq!(grant.allows(kind), allowed.contains(&kind), "{grant:?} {kind:?}");
        }
    }
}

#[test]
fn ports_are_the_usual_ones_and_those_named() {
    let rules = HostRules::parse(["public", "a.test:8443", "b.test:22", "localhost:22", "c.test:3128"]);
    let rules = rules.expect("rules");
    assert_eq!(rules.ports(), [22, 80, 443, 8443]);
    assert_eq!(rules.words(), ["public", "a.test:8443", "b.test:22", "localhost:22", "c.test:3128"]);
    assert!(rules.grant(&Destination::parse("c.test:3128", None).expect("a destination")).is_some());
    assert_eq!(HostRules::none().ports(), [80, 443]);
    assert_eq!(rules.ports_and(&[9, 443, 7, 9, PROXY_PORT]), [22, 80, 443, 8443, 9, 7]);
    assert_eq!(rules.ports_and(&(1..100).collect::<Vec<_>>()).len(), DOORS_MAX);
}

#[test]
fn limits_are_limits() {
    let hosts = |count: usize| (0..count).map(|number| format!("host{number}.test")).collect::<Vec<_>>();
    assert!(HostRules::parse(hosts(RULES_MAX)).is_ok());
    assert_eq!(HostRules::parse(hosts(RULES_MAX + 1)), Err(HostRuleError::TooMany(RULES_MAX + 1)));
    let ports =
        |count: usize| (0..count).map(|number| format!("host.test:{}", 1000 + number)).collect::<Vec<_>>();
    assert!(HostRules::parse(ports(PORTS_MAX - 2)).is_ok());
    assert_eq!(HostRules::parse(ports(PORTS_MAX - 1)), Err(HostRuleError::TooManyPorts(PORTS_MAX + 1)));
}

#[test]
fn what_is_no_rule_is_told_with_what_to_write() {
    for (word, expected) in [
        ("", "`` names no host: a host is missing"),
        (
            "user:secret@example.com",
            "`example.com` names no host: only the host is written and, behind a colon, its port: no http://, no path and \
             no user",
        ),
        (
            "http://example.com",
            "`http://example.com` names no host: only the host is written and, behind a colon, its port: no http://, no \
             path and no user",
        ),
        (
            "exa mple.com",
            "`exa mple.com` names no host: a host has only letters, digits, hyphens, underscores and dots; write other \
             letters in their xn-- form",
        ),
        (
            "evil\0.test\u{202e}",
            "`evil?.test?` names no host: a host has only letters, digits, hyphens, underscores and dots; write other \
             letters in their xn-- form",
        ),
        (
            "2130706433:80",
            "`2130706433:80` names no host: an address is written as four decimal numbers, as in 10.0.0.5",
        ),
        (
            "fd00::1",
            "`fd00::1` names no host: an IPv6 address is written in brackets, as in [fd00::1], and without a zone",
        ),
        (
            "localhost",
            "`localhost` needs a port, as in localhost:5432: nobody should get at everything on this machine",
        ),
        (
            "127.0.0.9",
            "`127.0.0.9` needs a port, as in localhost:5432: nobody should get at everything on this machine",
        ),
        ("*", "`*`: a wildcard stands at the beginning and for whole parts, as in *.example.com"),
        (
            "w*.example.com",
            "`w*.example.com`: a wildcard stands at the beginning and for whole parts, as in *.example.com",
        ),
        (
            "*.*.test",
            "`*.*.test`: a wildcard stands at the beginning and for whole parts, as in *.example.com",
        ),
        (
            "*.localhost:1",
            "`*.localhost:1`: a wildcard stands at the beginning and for whole parts, as in *.example.com",
        ),
        ("*.0.0.1", "`*.0.0.1` names no host: an address is written as four decimal numbers, as in 10.0.0.5"),
        (
            "0.0.0.0:80",
            "`0.0.0.0:80` is the address of no one machine; write the address that the program connects to",
        ),
        (
            "[ff02::1]",
            "`[ff02::1]` is the address of no one machine; write the address that the program connects to",
        ),
    ] {
        let error = HostRules::parse(["example.com", word]).expect_err(word);
        assert_eq!(error.to_string(), expected, "{word:?}");
    }
    let HostRuleError::Host { word, .. } = HostRules::parse(["é".repeat(500)]).expect_err("no host") else {
        panic!("not a host");
    };
    assert_eq!(word.chars().count(), SHOWN_CHARS_MAX);
}

#[test]
fn what_is_allowed_besides_widens_and_an_outer_list_holds_for_all() {
    let parse = |words: &[&str]| HostRules::parse(words).expect("rules");
    let folder = parse(&["public"]).within(parse(&["a.test"]));
    let both = HostRules::none().or(folder).or(parse(&["b.test", "*.c.test:8443"]));
    let held = both.clone().within(parse(&["b.test"]));
    for (to, wide, narrow) in [
        ("a.test:443", PUBLIC, None),
        ("b.test:443", NAMED, NAMED),
        ("x.c.test:8443", PUBLIC, None),
        ("x.c.test:443", None, None),
        ("d.test:443", None, None),
    ] {
        let destination = Destination::parse(to, None).expect("a destination");
        assert_eq!((both.grant(&destination), held.grant(&destination)), (wide, narrow), "{to}");
        assert_eq!(both.knows(&destination.host), to != "d.test:443", "{to}");
    }
    assert_eq!(both.ports(), [80, 443, 8443]);
    assert_eq!(both.words(), ["public", "b.test", "*.c.test:8443"]);
    assert!(!both.allows_internet() && !both.is_none());
    let none = HostRules::none().or(HostRules::none()).or(parse(&["a.test"]).within(HostRules::none()));
    assert!(none.is_none());
    // Each list has as many ports as one may have; together they have no more.
    let many =
        |from: u16| HostRules::parse((from..from + 14).map(|port| format!("a.test:{port}"))).expect("rules");
    assert_eq!(many(1000).or(many(2000)).ports().len(), PORTS_MAX);
}
