//! Our own way to the internet leads through a company's proxy.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::super::CompanyProxy;
use super::program::{Program, read_exactly, read_head};
use super::servers::{echo, host};

/// A proxy that echoes in every tunnel, and the targets that it was asked for.
async fn company() -> (CompanyProxy, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("bound");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let targets = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = read_head(&mut stream).await;
            let target = head.split(' ').nth(1).expect("a target").to_owned();
            let refused = target.ends_with(":403");
            targets.lock().expect("no panic").push(target);
            let answer = if refused { "HTTP/1.1 403 No\r\n\r\n" } else { "HTTP/1.1 200 Fine\r\n\r\n" };
            stream.write_all(answer.as_bytes()).await.expect("someone listens");
            if !refused {
                tokio::spawn(echo(stream));
            }
        }
    });
    (CompanyProxy::parse(&format!("http://me:secret@{at}")).expect("a proxy"), asked)
}

#[tokio::test]
async fn the_proxy_is_asked_for_checked_addresses_and_for_whole_names_that_nobody_knows() {
    let private = host("127.2.0.1", echo).await.port();
    let local = host("127.0.0.1", echo).await.port();
    let rules = [
        "public".to_owned(),
        "nowhere.test:7".to_owned(),
        format!("private.test:{private}"),
        format!("localhost:{local}"),
        "public.test:403".to_owned(),
    ];
    for (to, asked_for, status) in [
        ("public.test:7", Some("127.1.0.1:7"), "200"),
        ("127.1.0.7:7", Some("127.1.0.7:7"), "200"),
        // Nobody could check where it leads to; a person wrote it.
        ("nowhere.test:7", Some("nowhere.test:7"), "200"),
        // Nobody did.
        ("nowhere.test:8", None, "502"),
        ("metadata.test:80", None, "403"),
        ("local.test:80", None, "403"),
        ("public.test:403", Some("127.1.0.1:403"), "502"),
        // Our own network does not lie behind the proxy.
        (&format!("private.test:{private}"), None, "200"),
        (&format!("localhost:{local}"), None, "200"),
    ] {
        let (company, asked) = company().await;
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let program = Program::with(&rules, Some(company), &[]);
        match program.tunnel(to).await {
            Ok(mut stream) => {
                stream.write_all(b"hello").await.expect("sent");
                assert_eq!((read_exactly(&mut stream, 5).await.as_str(), status), ("hello", "200"), "{to}");
            }
            Err(head) => assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{to}: {head}"),
        }
        let asked = asked.lock().expect("no panic");
        assert_eq!(asked.as_slice(), asked_for.into_iter().collect::<Vec<_>>(), "{to}");
    }
}

#[tokio::test]
async fn its_password_is_shown_to_nobody() {
    let (company, _) = company().await;
    let way = super::program::way(&["public"], Some(company.clone()));
    assert!(!format!("{way:?} {company}").contains("secret"));
}
