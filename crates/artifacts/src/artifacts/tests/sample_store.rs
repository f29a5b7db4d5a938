//! A store on this machine that does what artifacts ask of one, and fails as it is told. It believes every signature; that they
//! are right is for the end-to-end case.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::bucket::Bucket;

/// What is done in place of what is asked for; nothing if it is to be done.
pub(super) type Fault = fn(&str) -> Option<(u16, &'static str)>;

pub(super) struct SampleStore {
    port: u16,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
pub(super) struct Held {
    pub(super) objects: BTreeMap<String, Vec<u8>>,
    parts: Vec<Vec<u8>>,
    /// The method, the path, and what of an upload is meant.
    pub(super) asked: Vec<String>,
    pub(super) fault: Option<Fault>,
}

impl SampleStore {
    pub(super) fn new() -> SampleStore {
        #[expect(clippy::disallowed_methods, reason = "a store for tests listens")]
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let held = Arc::new(Mutex::new(Held::default()));
        let answering = held.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &answering);
            }
        });
        SampleStore { port, held }
    }

    pub(super) fn bucket(&self) -> Bucket {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        Bucket::parse("s3://b/p", Some(&endpoint), "r").expect("it is sound").asked_by("id", "secret")
    }

    pub(super) fn held<T>(&self, look: impl FnOnce(&mut Held) -> T) -> T {
        look(&mut self.held.lock().expect("nobody panics with it"))
    }

    /// What was asked since the last time.
    pub(super) fn asked(&self) -> Vec<String> {
        self.held(|held| std::mem::take(&mut held.asked))
    }
}

/// One request on each connection.
fn answer(stream: TcpStream, held: &Mutex<Held>) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut range) = (String::new(), 0, None);
    reader.read_line(&mut line).expect("a request");
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a number"),
            "range" => {
                range = value.strip_prefix("bytes=").and_then(|range| range.split_once('-')).map(numbers)
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let (status, headers, body, is_head) = done(&line, range, body, &mut held.lock().expect("sound"));
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    // Whoever has hung up does not hear it.
    let _ =
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(if is_head { &[] } else { &body }));
}

fn numbers((from, last): (&str, &str)) -> (usize, usize) {
    (from.parse().expect("a number"), last.parse::<usize>().expect("a number") + 1)
}

fn done(
    line: &str,
    range: Option<(usize, usize)>,
    body: Vec<u8>,
    held: &mut Held,
) -> (u16, &'static str, Vec<u8>, bool) {
    let mut words = line.split(' ');
    let (method, target) = (words.next().expect("a method"), words.next().expect("a target"));
    let (path, query) = target.split_once('?').expect("a signature");
    let of_upload =
        query.split('&').filter(|part| part.starts_with("upload") || part.starts_with("partNumber"));
    let of_upload = of_upload.collect::<Vec<_>>().join(" ");
    let asked = format!("{method} {} {of_upload}", path.trim_start_matches("/b/p/")).trim_end().to_owned();
    let fault = held.fault.and_then(|fault| fault(&asked));
    held.asked.push(asked);
    if let Some((status, body)) = fault {
        return (status, "", body.into(), method == "HEAD");
    }
    let path = path.to_owned();
    let xml = |name: &str, inner: &str| {
        format!("<{name} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{inner}</{name}>").into_bytes()
    };
    let (status, body) = match (method, of_upload.as_str()) {
        ("POST", "uploads=1") => {
            held.parts.clear();
            let ids = "<Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId>";
            (200, xml("InitiateMultipartUploadResult", ids))
        }
        ("PUT", "") => {
            held.objects.insert(path, body);
            (200, Vec::new())
        }
        ("PUT", _) => {
            held.parts.push(body);
            (200, Vec::new())
        }
        ("POST", _) => {
            held.objects.insert(path, held.parts.concat());
            (200, xml("CompleteMultipartUploadResult", "<ETag>\"t\"</ETag>"))
        }
        ("DELETE", "") => {
            held.objects.remove(&path);
            (204, Vec::new())
        }
        ("DELETE", _) => (204, Vec::new()),
        (_, _) => match (held.objects.get(&path), range) {
            (None, _) => (404, Vec::new()),
            (Some(all), None) => (200, all.clone()),
            (Some(all), Some((from, to))) => (206, all[from..to.min(all.len())].to_vec()),
        },
    };
    (status, "etag: \"t\"\r\n", body, method == "HEAD")
}
