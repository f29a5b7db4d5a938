//! What a server may touch, and what it was refused while it was tested.

use std::path::{Path, PathBuf};

use admin::servers::{RefusalFacts, SandboxFacts};
use sandbox::confine::Layer;
use serde_json::{Value, json};
use upstream::{SandboxReport, SandboxState, Settings};

/// Paths of one kind that people are shown; `--json` has all.
const PATHS_SHOWN_MAX: usize = 6;

/// How a server's program is confined, and what came of it.
pub(super) struct Touched {
    facts: SandboxFacts,
    read: Vec<String>,
    write: Vec<String>,
    sockets: Vec<String>,
    hosts: Vec<String>,
    refused: Vec<RefusalFacts>,
}

impl Touched {
    /// What is known of it after the program has ended; nothing for a server that is no program.
    pub(super) fn of(settings: &Settings, report: Option<&SandboxReport>) -> Option<Touched> {
        let facts = SandboxFacts::from(SandboxState::of(settings, report)?);
        let sandbox = settings.sandbox();
        // Before it was started no more is known than what its table says.
        let (read, write, hosts) = match report {
            Some(report) => (&report.read, &report.write, &report.hosts),
            None => (&sandbox.read, &sandbox.write, &sandbox.network),
        };
        let texts = |paths: &[PathBuf]| {
            let mut texts: Vec<String> = paths.iter().map(|path| settings.masked_path(path)).collect();
            texts.sort_unstable();
            // What lies in another one goes without saying.
            texts.dedup_by(|next, kept| Path::new(next).starts_with(kept));
            texts
        };
        let refused = report.map(|report| report.refusals(settings)).unwrap_or_default();
        Some(Touched {
            facts,
            read: texts(read),
            write: texts(write),
            sockets: texts(&sandbox.sockets),
            hosts: hosts.words().to_vec(),
            refused: refused.into_iter().map(RefusalFacts::from).collect(),
        })
    }

    pub(super) fn to_json(&self) -> Value {
        if self.facts.profile == "open" {
            return json!({ "profile": self.facts.profile });
        }
        json!({
            "profile": self.facts.profile,
            "without": self.facts.without,
            "read": self.read,
            "write": self.write,
            "sockets": self.sockets,
            "network": self.hosts,
            "blocked": self.refused,
        })
    }

    /// For people, `name` being the server's.
    pub(super) fn lines(&self, name: &str) -> Vec<String> {
        if self.facts.profile == "open" {
            return vec![format!(
                "open: it runs with your rights; `toolcrib mcp set {name} sandbox.profile=confined` confines it"
            )];
        }
        let mut parts = vec![format!("reaches {}", reached(&self.hosts))];
        for (verb, paths) in
            [("reads", &self.read), ("writes", &self.write), ("uses the sockets", &self.sockets)]
        {
            parts.extend((!paths.is_empty()).then(|| format!("{verb} {}", some(paths))));
        }
        let mut lines = vec![format!("{}: {}", self.facts.profile, parts.join("; "))];
        let mut waived: Vec<&str> = self.facts.without.iter().map(String::as_str).collect();
        for (layer, words) in Layer::SAID_OTHERWISE {
            let told = waived.extract_if(.., |without| *without == layer.name());
            lines.extend(told.map(|_| words.to_owned()));
        }
        if !waived.is_empty() {
            let layers = waived.join(" and ");
            lines.push(format!("runs without {layers}, which this machine lacks and you waive"));
        }
        lines.extend(self.refused.iter().map(RefusalFacts::line));
        lines
    }
}

fn reached(hosts: &[String]) -> String {
    let public = |host: &String| if host == "public" { "every public host".to_owned() } else { host.clone() };
    match hosts {
        [] => "no network".to_owned(),
        hosts => hosts.iter().map(public).collect::<Vec<_>>().join(", "),
    }
}

fn some(paths: &[String]) -> String {
    let shown = paths.iter().take(PATHS_SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(PATHS_SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn touched(profile: &str) -> Touched {
        let facts = SandboxFacts { profile: profile.to_owned(), ..SandboxFacts::default() };
        let (read, write, sockets, hosts, refused) = Default::default();
        Touched { facts, read, write, sockets, hosts, refused }
    }

    #[track_caller]
    fn check(touched: &Touched, expected: Expect) {
        expected.assert_eq(&touched.lines("it").join("\n"));
    }

    #[test]
    fn what_it_may_touch_is_one_line_and_each_refusal_another() {
        check(
            &touched("open"),
            expect![
                "open: it runs with your rights; `toolcrib mcp set it sandbox.profile=confined` confines it"
            ],
        );
        check(&touched("confined"), expect!["confined: reaches no network"]);
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let refusal = |what: &str, allow: Option<&str>| RefusalFacts {
            what: what.to_owned(),
            why: "no rule allows it".to_owned(),
            times: 1,
            allow: allow.map(str::to_owned),
        };
        let full = Touched {
            read: texts(&["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"]),
            write: texts(&["/w"]),
            sockets: texts(&["/run/x"]),
            hosts: texts(&["public", "localhost:5432"]),
            refused: vec![
                refusal("connect db:5432", Some("toolcrib mcp set it x")),
                refusal("connect", None),
            ],
            facts: SandboxFacts {
                profile: "degraded".to_owned(),
                without: texts(&["landlock", "names"]),
                ..SandboxFacts::default()
            },
        };
        check(
            &full,
            expect![[r#"
                degraded: reaches every public host, localhost:5432; reads /a, /b, /c, /d, /e, /f and 2 more; writes /w; uses the sockets /run/x
                bwrap started it, so it finds hosts only through the proxy that HTTP_PROXY names
                runs without landlock, which this machine lacks and you waive
                blocked: connect db:5432 (no rule allows it); allow it with `toolcrib mcp set it x`
                blocked: connect (no rule allows it)"#]],
        );
        assert_eq!(
            full.to_json()["blocked"][1],
            json!({ "what": "connect", "why": "no rule allows it", "times": 1, "allow": null })
        );
        assert_eq!(full.to_json()["read"].as_array().map(Vec::len), Some(8));
        assert_eq!(touched("open").to_json(), json!({ "profile": "open" }));
    }
}
