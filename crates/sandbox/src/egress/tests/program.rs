//! A confined program as far as its network goes, and the network that it believes in.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::super::access::Access;
use super::super::dial::{BoxFuture, Network};
use super::super::{CompanyProxy, Doors, Egress, HostRules, Journal, Kind, NamesNet, WayOut};

/// Long enough for anything on loopback, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names, and the addresses that they have at each look; the last ones stay.
pub(super) struct Internet(Mutex<HashMap<&'static str, Vec<&'static [&'static str]>>>);

impl Internet {
    pub(super) fn new() -> Internet {
        Internet(Mutex::new(HashMap::from([
            ("public.test", vec![&["127.1.0.1"][..]]),
            ("www.public.test", vec![&["127.1.0.1"]]),
            ("private.test", vec![&["127.2.0.1"]]),
            ("www.private.test", vec![&["127.2.0.1"]]),
            ("local.test", vec![&["127.0.0.1"]]),
            ("mapped.test", vec![&["::ffff:127.0.0.1"]]),
            ("metadata.test", vec![&["169.254.169.254"]]),
            ("link.test", vec![&["169.254.7.7"]]),
            ("nobody.test", vec![&["0.0.0.0"]]),
            ("both.test", vec![&["127.2.0.1", "127.1.0.1"]]),
            ("empty.test", vec![&[]]),
            ("flip.test", vec![&["127.1.0.1"], &["127.0.0.1"]]),
        ])))
    }
}

impl Network for Internet {
    fn addresses<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        let mut names = self.0.lock().expect("no panic");
        let found =
            names.get_mut(name).map(|answers| if answers.len() > 1 { answers.remove(0) } else { answers[0] });
        let at = |address: &&str| SocketAddr::new(address.parse().expect("an address"), port);
        let found = found.map(|addresses| addresses.iter().map(at).collect());
        Box::pin(std::future::ready(found.ok_or(io::ErrorKind::NotFound.into())))
    }

    fn kind(&self, address: IpAddr) -> Kind {
        match address {
            IpAddr::V4(address) if address.octets()[..2] == [127, 1] => Kind::Public,
            IpAddr::V4(address) if address.octets()[..2] == [127, 2] => Kind::Private,
            address => Kind::of(address),
        }
    }
}

pub(super) const NET: NamesNet = NamesNet { base: Ipv4Addr::new(127, 18, 0, 0), bits: 16 };

pub(super) struct Program {
    pub(super) egress: Option<Egress>,
    pub(super) journal: Arc<Journal>,
    pub(super) proxy: SocketAddr,
    names: SocketAddr,
}

impl Program {
    pub(super) fn new(rules: &[&str]) -> Program {
        Program::with(rules, None, &[])
    }

    /// A program with listeners at these addresses, by which it can go without the proxy.
    pub(super) fn with(rules: &[&str], company: Option<CompanyProxy>, direct: &[SocketAddr]) -> Program {
        Program::on(way(rules, company), direct)
    }

    /// A program that goes this way.
    pub(super) fn on(way: Arc<WayOut>, direct: &[SocketAddr]) -> Program {
        let proxy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let names = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let (proxy_at, names_at) = (proxy.local_addr().expect("bound"), names.local_addr().expect("bound"));
        let listen = |at: &SocketAddr| std::net::TcpListener::bind(at).expect("a port").into();
        let doors = Doors {
            proxy: proxy.into(),
            names: Some(names.into()),
            direct: direct.iter().map(listen).collect(),
        };
        let journal = Arc::new(Journal::new());
        let egress = Egress::open_in(doors, way, Arc::clone(&journal), Arc::new(Internet::new()), NET);
        Program { egress: Some(egress.expect("sockets")), journal, proxy: proxy_at, names: names_at }
    }

    /// A connection to the proxy.
    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.proxy).await.expect("a proxy")
    }

    /// What the proxy answers to one request, after which nothing more comes.
    pub(super) async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.expect("a proxy");
        stream.shutdown().await.expect("a proxy");
        read_to_end(&mut stream).await
    }

    /// A tunnel to a host, or the answer that says why there is none.
    pub(super) async fn tunnel(&self, to: &str) -> Result<TcpStream, String> {
        let mut stream = self.connect().await;
        stream.write_all(connect(to).as_bytes()).await.expect("a proxy");
        let head = read_head(&mut stream).await;
        if head.starts_with("HTTP/1.1 200 ") { Ok(stream) } else { Err(head) }
    }

    /// What the name server answers; nothing if it keeps silent until a second question is answered.
    pub(super) async fn query(&self, packet: &[u8], second: &[u8]) -> Vec<u8> {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        socket.send_to(packet, self.names).await.expect("sent");
        socket.send_to(second, self.names).await.expect("sent");
        let mut reply = vec![0; 2048];
        let length = within(socket.recv(&mut reply)).await.expect("an answer");
        reply.truncate(length);
        reply
    }

    /// What the journal says, a line for each entry.
    pub(super) fn lines(&self) -> Vec<String> {
        self.journal.entries().iter().map(ToString::to_string).collect()
    }
}

pub(super) fn way(rules: &[&str], company: Option<CompanyProxy>) -> Arc<WayOut> {
    Arc::new(WayOut { rules: HostRules::parse(rules).expect("rules"), company, judge: None })
}

pub(super) fn access(rules: &[&str]) -> (Arc<Access>, Arc<Journal>) {
    let journal = Arc::new(Journal::new());
    let access = Access::new(way(rules, None), Arc::clone(&journal), Arc::new(Internet::new()), NET);
    (Arc::new(access), journal)
}

pub(super) fn connect(to: &str) -> String {
    format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")
}

pub(super) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("not held up")
}

/// Everything until the other side ends, politely or not.
pub(super) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too; what came before it is kept.
    let _ = within(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The head of an answer, or what came instead of one.
pub(super) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match within(stream.read_u8()).await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub(super) async fn read_exactly(stream: &mut TcpStream, length: usize) -> String {
    let mut bytes = vec![0; length];
    within(stream.read_exact(&mut bytes)).await.expect("as much as was asked for");
    String::from_utf8_lossy(&bytes).into_owned()
}
