//! What came of a manifest's calls as JUnit XML, as CI services read it.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::tried::Tried;

/// Writes the file, all of it or nothing.
pub(super) fn write(path: &Path, tool: &str, tried: &[Tried]) -> io::Result<()> {
    sandbox::text_file::replace(path, &text(tool, tried))
}

fn text(tool: &str, tried: &[Tried]) -> String {
    let failures = tried.iter().filter(|one| one.fault.is_some()).count();
    let seconds: f64 = tried.iter().map(|one| one.took.as_secs_f64()).sum();
    let tool = escaped(tool);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{tool}\" tests=\"{}\" \
         failures=\"{failures}\" errors=\"0\" time=\"{seconds:.3}\">\n",
        tried.len()
    );
    for one in tried {
        let (name, time) = (escaped(&one.arguments.to_string()), one.took.as_secs_f64());
        let case = format!("<testcase classname=\"{tool}\" name=\"{name}\" time=\"{time:.3}\"");
        // Writing to a text never fails.
        let _ = match &one.fault {
            None => writeln!(xml, "    {case}/>"),
            Some(why) => {
                let code = one.came.as_ref().err().map_or("other_result", |(code, _)| code);
                let (code, why) = (escaped(code), escaped(why));
                writeln!(xml, "    {case}><failure type=\"{code}\" message=\"{why}\"/></testcase>")
            }
        };
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// A text for an attribute. What XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            character if character.is_control() => {}
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use terminal::Ending;

    use super::*;

    #[test]
    fn it_says_what_failed_and_stays_xml() {
        let one = |came: Result<Value, (String, String)>, fault: Option<&str>| Tried {
            arguments: json!({ "a": "<&\u{1}>" }),
            came,
            fault: fault.map(str::to_owned),
            ending: Ending::Failed,
            took: Duration::from_millis(1500),
        };
        let failed = Err(("tool_failed".to_owned(), String::new()));
        let text = text("t", &[one(Ok(json!(1)), None), one(failed, Some("it \"said\"\nno\u{7}"))]);
        expect_test::expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites>
              <testsuite name="t" tests="2" failures="1" errors="0" time="3.000">
                <testcase classname="t" name="{&quot;a&quot;:&quot;&lt;&amp;\u0001&gt;&quot;}" time="1.500"/>
                <testcase classname="t" name="{&quot;a&quot;:&quot;&lt;&amp;\u0001&gt;&quot;}" time="1.500"><failure type="tool_failed" message="it &quot;said&quot;&#10;no"/></testcase>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&text);
    }
}
