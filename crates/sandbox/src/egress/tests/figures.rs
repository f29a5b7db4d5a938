//! What the way out costs, beside a bare relay in the same run. Shown with `cargo test -p sandbox figures -- --nocapture`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::sync::oneshot;

use super::program::{Program, connect};

const ROUNDS: usize = 300;

/// Answers each byte with one, on a thread of its own for each connection.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.1.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("a socket");
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
    at
}

/// A relay as small as it gets, and the way out, on one runtime as in the product, until `end` ends.
#[tokio::main(flavor = "current_thread")]
async fn relays(to: SocketAddr, ready: SyncSender<[SocketAddr; 2]>, end: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let program = Program::new(&["public"]);
    let addresses = [listener.local_addr().expect("bound"), program.proxy];
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut host = tokio::net::TcpStream::connect(to).await.expect("a host");
                client.set_nodelay(true).expect("a socket");
                host.set_nodelay(true).expect("a socket");
                // Whoever hangs up is no concern of the figures.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut host).await;
            });
        }
    });
    ready.send(addresses).expect("somebody waits");
    // An error means that the test has ended as well.
    let _ = end.await;
}

fn round_trip(stream: &mut TcpStream) {
    stream.write_all(b"x").expect("sent");
    stream.read_exact(&mut [0]).expect("an answer");
}

/// A connection that has had its first answer.
fn dial(at: SocketAddr, through_proxy_to: Option<SocketAddr>) -> TcpStream {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    if let Some(to) = through_proxy_to {
        stream.write_all(connect(&to.to_string()).as_bytes()).expect("sent");
        // Nothing follows the head before this side has spoken.
        let (mut head, mut piece) = (Vec::new(), [0; 1024]);
        while !head.ends_with(b"\r\n\r\n") {
            let bytes = stream.read(&mut piece).expect("an answer");
            assert!(bytes > 0, "the answer breaks off");
            head.extend_from_slice(&piece[..bytes]);
        }
    }
    round_trip(&mut stream);
    stream
}

/// The time that nine of ten take longer than: what else runs on the machine only ever adds.
fn tenth(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 10]
}

/// The tenth of each of the ways, taken by turns.
fn compare<const N: usize>(mut ways: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = [(); N].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let start = Instant::now();
            way();
            times.push(start.elapsed());
        }
    }
    times.map(tenth)
}

/// All that this thread starts runs on one processor: waking another one costs more than what is measured, or less, as it
/// happens.
fn stay_on_one_processor() {
    let all = sched_getaffinity(None).expect("processors");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("one at least");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("a processor of ours");
}

#[test]
fn figures_of_the_way_out() {
    stay_on_one_processor();
    let to = echo();
    let (ready, addresses) = sync_channel(1);
    let (end, ended) = oneshot::channel();
    let thread = thread::spawn(move || relays(to, ready, ended));
    let [relay, proxy] = addresses.recv().expect("relays");
    let connections = compare([&mut || drop(dial(to, None)), &mut || drop(dial(relay, None)), &mut || {
        drop(dial(proxy, Some(to)))
    }]);
    let [mut straight, mut relayed, mut proxied] = [dial(to, None), dial(relay, None), dial(proxy, Some(to))];
    let round_trips =
        compare([&mut || round_trip(&mut straight), &mut || round_trip(&mut relayed), &mut || {
            round_trip(&mut proxied)
        }]);
    println!("connection with its first answer: straight, bare relay, proxy: {connections:?}");
    println!("round trip: straight, bare relay, proxy: {round_trips:?}");
    end.send(()).expect("relays");
    thread.join().expect("no panic");
    let [straight, relayed, proxied] = round_trips;
    // The way out may cost one bare relay more.
    assert!(proxied.saturating_sub(straight) <= 2 * relayed.saturating_sub(straight), "{round_trips:?}");
}
