//! Calls of tools whose source has not reported yet. They wait, and leave a record however they end.

use testkit::offer_walk;

use crate::client::{Connection, Door, Request, within};

/// How a call ends whose source is late.
enum End {
    /// The client goes.
    HangUp,
    /// The source reports, and has the tool.
    Report,
    /// There is no such source any more.
    Remove,
}

async fn check(header: &str, end: End, expected: &str, record: &str) {
    let door = Door::open().await;
    let catalog = door.gate.gate.catalog().clone();
    catalog.remove("walks");
    catalog.expect("walks");
    let params = r#""name":"region","arguments":{"region":"Hello"}"#;
    let request = Request::modern("tools/call", params).with("Mcp-Name", "region");
    let mut connection: Connection = door.connect().await;
    connection.send(&request.with("Mcp-Param-Region", header)).await;
    within(catalog.wanted()).await;
    match end {
        End::HangUp => drop(connection),
        End::Report | End::Remove => {
            match end {
                End::Remove => catalog.remove("walks"),
                End::Report | End::HangUp => drop(offer_walk(&catalog)),
            }
            assert_eq!(connection.answer().await.brief(), expected, "{record}");
        }
    }
    assert_eq!(door.ended().await.records(2), [record]);
}

#[tokio::test]
async fn what_waits_for_its_source_is_recorded() {
    check("Hello", End::HangUp, "", "region abandoned -").await;
    check("Hello", End::Remove, "200 -32602", "region refused unknown_tool").await;
    check("hello", End::Report, "400 -32020", "region refused header_mismatch").await;
    check("Hello", End::Report, "200 result", "region result -").await;
}
