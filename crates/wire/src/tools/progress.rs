//! `notifications/progress` of a call.

use crate::string;
use crate::text::Text;

/// Writes the parameters of `notifications/progress` under the client's own token (JSON text).
pub fn write_progress(token: &Text, done: f64, total: Option<f64>, message: Option<&str>) -> Vec<u8> {
    let mut out = format!("{{\"progressToken\":{},\"progress\":{done}", token.as_str()).into_bytes();
    if let Some(total) = total {
        out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
    }
    if let Some(message) = message {
        out.extend_from_slice(b",\"message\":");
        string::encode(message, &mut out);
    }
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::expect;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn progress_keeps_the_clients_token() {
        let written = write_progress(&text("\"t\\u0031\""), 1.0, Some(2.5), Some("half"));
        expect![[r#"{"progressToken":"t\u0031","progress":1,"total":2.5,"message":"half"}"#]]
            .assert_eq(&String::from_utf8(written).expect("UTF-8"));
    }
}
