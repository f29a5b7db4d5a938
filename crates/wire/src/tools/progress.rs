//! `notifications/progress` of a call.

use crate::object_writer::ObjectWriter;
use crate::text::Text;

/// Writes the parameters of `notifications/progress` under the client's own token (JSON text).
pub fn write_progress(token: &Text, done: f64, total: Option<f64>, message: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    ObjectWriter::begin(&mut out)
        .json("progressToken", token.as_str())
        .json("progress", &*done.to_string())
        .json("total", total.map(|total| total.to_string()).as_deref())
        .string("message", message)
        .end();
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
