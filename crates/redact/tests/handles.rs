//! What an agent goes on with stays whole whatever its value is: places in a list, ids, hashes, names of files.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use redact::{Config, Redactor};

/// Values that are tried for each name.
const VALUES: usize = 1_000;

/// Names of members whose values open nothing.
const NAMES: &[&str] = &[
    "--starting-token",
    "$skiptoken",
    "AccessKeyId",
    "ClientRequestToken",
    "ClientToken",
    "ContinuationToken",
    "ExclusiveStartKey",
    "KeyId",
    "KeyMarker",
    "LastEvaluatedKey",
    "NextContinuationToken",
    "NextMarker",
    "NextToken",
    "PaginationToken",
    "ReceiptHandle",
    "SecretArn",
    "TaskToken",
    "UploadId",
    "VersionIdMarker",
    "after",
    "after_key",
    "blobKey",
    "blob_id",
    "bookmark",
    "cancellation_token",
    "change_token",
    "clientToken",
    "confirmation_token",
    "continuationToken",
    "cursor",
    "dedup_key",
    "deduplication_key",
    "deltaToken",
    "edit_token",
    "endkey",
    "etag",
    "from_key",
    "id",
    "imageKey",
    "issueKey",
    "keyId",
    "key_id",
    "key_name",
    "kid",
    "lock_token",
    "message_key",
    "nextPageKey",
    "nextPageToken",
    "nextSyncToken",
    "nextToken",
    "next_cursor",
    "next_key",
    "next_page_token",
    "next_token",
    "page_key",
    "page_token",
    "pagination_key",
    "project_key",
    "record_key",
    "requestToken",
    "request_token",
    "resourcekey",
    "resume_token",
    "revision_token",
    "scrollToken",
    "secretName",
    "sha",
    "skipToken",
    "startAfterKey",
    "start_key",
    "startkey",
    "startkey_docid",
    "state_token",
    "syncToken",
    "taskToken",
    "tokenHash",
    "token_id",
    "upload_token",
    "view_key",
];

/// The same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).expect("31 bits") % end
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    fn hex(&mut self, count: usize) -> String {
        (0..count).map(|_| format!("{:x}", self.next() & 15)).collect()
    }

    fn of(&mut self, signs: &str, count: usize) -> String {
        (0..count).map(|_| char::from(signs.as_bytes()[self.below(signs.len())])).collect()
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|digits| self.hex(digits)).join("-")
    }

    /// One as some server makes it.
    fn value(&mut self, nth: usize) -> String {
        const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let bytes = 30 + self.below(270);
        match nth % 8 {
            0..3 => STANDARD.encode(self.bytes(bytes)),
            3 => URL_SAFE_NO_PAD.encode(self.bytes(bytes)),
            4 => STANDARD.encode(format!(r#"{{"id":"{}","at":{}}}"#, self.uuid(), self.next())),
            5 => self.of(ALL, 20),
            6 => self.hex(40),
            _ => self.uuid(),
        }
    }
}

#[track_caller]
fn check(redactor: &Redactor, text: &str) {
    assert_eq!(redactor.text(text), text);
    check_json(redactor, &serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string());
}

#[track_caller]
fn check_json(redactor: &Redactor, json: &str) {
    let struck = redactor.json(json.as_bytes());
    let struck = struck.map(|struck| String::from_utf8_lossy(&struck.bytes).into_owned());
    assert_eq!(struck, None, "{json}");
}

#[test]
fn an_agent_can_go_on_to_the_next_page() {
    let redactor = Redactor::new(&Config::default());
    let mut numbers = Numbers(7);
    for name in NAMES {
        for nth in 0..VALUES {
            let value = numbers.value(nth);
            let json = serde_json::json!({ *name: value }).to_string();
            check_json(&redactor, &json);
            if nth % 10 == 0 {
                check(&redactor, &json);
                check(&redactor, &format!("{name}={value}"));
            }
        }
    }
}

#[test]
fn what_things_are_found_by_stays() {
    const ULID: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const NANO: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let redactor = Redactor::new(&Config::default());
    let mut numbers = Numbers(11);
    for _ in 0..VALUES {
        let (digest, uuid, time) = (numbers.hex(64), numbers.uuid(), numbers.below(8));
        let (nano, node) = (numbers.of(NANO, 21), numbers.of(&NANO[..62], 15));
        let digits = STANDARD.encode(numbers.bytes(32));
        for text in [
            format!("Cache restored from key: Linux-node-{digest}"),
            format!("key: v1-linux-npm-{digest}"),
            format!(r#"{{"Key": "{node}/{uuid}.parquet"}}"#),
            format!(r#"{{"Key": "data/dt=2024-01-0{time}/part-00001-{uuid}-c000.snappy.parquet"}}"#),
            format!(r#"{{"key":"{nano}"}}"#),
            format!(r#"{{"key":"{time}{}"}}"#, numbers.of(ULID, 25)),
            format!(r#"{{"key":"{}{}"}}"#, time % 3, numbers.of(&NANO[..62], 26)),
            format!("Host key fingerprint is SHA256:{digits}"),
            format!("secretName: my-app-tls-{}", numbers.hex(10)),
            format!("arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-{}", &node[..6]),
            format!(r#""lock_token":"opaquelocktoken:{uuid}""#),
            format!("https://drive.example/file/d/x/view?resourcekey=0-{node}"),
            format!("commit {0}\n    fix token handling: {0}", &digest[..40]),
            format!(r#""sheet_token":"shtcn{node}","doc_token":"doxcn{node}","node_token":"wikcn{node}""#),
        ] {
            check(&redactor, &text);
        }
    }
}

#[test]
fn a_secret_beside_such_names_goes() {
    let redactor = Redactor::new(&Config::default());
    let key = STANDARD.encode(
        b"0123\x96\x07\xbe\x95\x12\xf0\x81\x6eq\xd2\xf7\x99zQ\x04\xe8\xc1\x33\xaf\x5b\x29\x88\x70\x1dM\xe2",
    );
    let digest = "3f8a1c5e7b9d2046a8c1e3f5072b4d6e9f1a3c5e7b9d2046f8a1c3e5b7d92046";
    let uuid = "1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d";
    for (text, secret) in [
        (format!("aws_secret_access_key = {key}"), &key[..]),
        (format!(r#"{{"SecretAccessKey":"{key}"}}"#), &key),
        (format!("AWS_KEY='{key}'"), &key),
        (format!("api_token: {digest}"), digest),
        (format!("token={digest}"), digest),
        (format!("the token is: {digest}"), digest),
        (format!("K3S_NODE_TOKEN=K10{digest}::server:x"), digest),
        (format!("secret_id={uuid}"), uuid),
        (format!("client_secret: {uuid}"), uuid),
        (format!("client_token: s.{}", &key[..24]), &key[..24]),
        (format!("front_end_token={}", &key[..24]), &key[..24]),
    ] {
        let struck = redactor.text(&text);
        assert!(!struck.contains(secret), "{text}");
    }
}
