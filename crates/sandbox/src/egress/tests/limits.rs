//! What ends: connections beyond the limit, and all of them with the program.

use tokio::io::AsyncWriteExt;

use super::super::access::CONNECTIONS_MAX;
use super::program::{Program, read_exactly, read_to_end, within};
use super::servers::{echo, host, web};

#[tokio::test]
async fn as_many_connections_as_the_limit_and_no_more() {
    let program = Program::new(&["public"]);
    let to = host("127.1.0.1", echo).await.to_string();
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        open.push(program.tunnel(&to).await.expect("a tunnel"));
    }
    assert_eq!(program.tunnel(&to).await.expect_err("full"), "");
    assert_eq!(program.lines().last().map(String::as_str), Some("connect (too many connections are open)"));
    // One that ends makes room; it is seen to have ended when the host's end has come.
    let mut ended = open.pop().expect("one");
    ended.shutdown().await.expect("sent");
    read_to_end(&mut ended).await;
    within(async { while program.tunnel(&to).await.is_err() {} }).await;
    for stream in &mut open {
        stream.write_all(b"x").await.expect("sent");
        read_exactly(stream, 1).await;
    }
}

#[tokio::test]
async fn everything_ends_when_it_is_dropped() {
    let (tunnel_to, web_to) = (host("127.1.0.1", echo).await.to_string(), host("127.1.0.1", web).await);
    let mut program = Program::new(&["public"]);
    let mut tunnel = program.tunnel(&tunnel_to).await.expect("a tunnel");
    tunnel.write_all(b"x").await.expect("sent");
    read_exactly(&mut tunnel, 1).await;
    let mut fresh = program.connect().await;
    // A request whose body never ends.
    let mut half = program.connect().await;
    let request =
        format!("POST http://{web_to}/ HTTP/1.1\r\nHost: {web_to}\r\nContent-Length: 9\r\n\r\nhalf");
    half.write_all(request.as_bytes()).await.expect("sent");
    within(async {
        while program.lines().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(program.egress.take());
    for stream in [&mut tunnel, &mut fresh, &mut half] {
        assert_eq!(read_to_end(stream).await, "");
    }
}

#[tokio::test]
async fn a_host_that_ends_ends_the_program_s_connection() {
    let program = Program::new(&["public"]);
    let listener = tokio::net::TcpListener::bind("127.1.0.1:0").await.expect("a port");
    let to = listener.local_addr().expect("bound").to_string();
    let mut stream = program.tunnel(&to).await.expect("a tunnel");
    let (server, _) = listener.accept().await.expect("a connection");
    // With bytes unread, the system resets the connection.
    stream.write_all(b"unread").await.expect("sent");
    server.readable().await.expect("bytes");
    drop(server);
    assert_eq!(read_to_end(&mut stream).await, "");
}
