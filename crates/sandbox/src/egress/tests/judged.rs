//! What no rule names, where there is somebody who decides about it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use super::super::access::Access;
use super::super::dial::{BoxFuture, Network};
use super::super::{Destination, HostRules, Journal, Judge, Kind, Reason, WayOut};
use super::names::question;
use super::program::{Internet, NET, Program, read_exactly, within};
use super::servers::{echo, host};

/// Says yes to hosts that do not begin with `no`, and remembers what it was asked.
#[derive(Default)]
struct Says(Mutex<Vec<String>>);

impl Judge for Says {
    fn allows<'a>(&'a self, to: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        self.0.lock().expect("no panic").push(to.host.to_string());
        let host = to.host.to_string();
        Box::pin(std::future::ready(match &*host {
            _ if host.starts_with("nobody") => Err(Reason::Unanswered),
            _ if host.starts_with("no") => Err(Reason::Denied),
            _ => Ok(()),
        }))
    }
}

fn judged(rules: &HostRules) -> (Program, Arc<Says>) {
    let says = Arc::new(Says::default());
    let judge = Some(says.clone() as Arc<dyn Judge>);
    (Program::on(Arc::new(WayOut { rules: rules.clone(), company: None, judge }), &[]), says)
}

fn parse(words: &[&str]) -> HostRules {
    HostRules::parse(words).expect("rules")
}

#[tokio::test]
async fn what_somebody_allows_is_reached_on_the_open_internet_alone() {
    let port = host("127.1.0.1", echo).await.port();
    let folders = parse(&["www.public.test"]).within(parse(&["other.test"]));
    for (rules, to, asked, expected) in [
        (parse(&[]), "public.test", true, "reached"),
        (parse(&[]), "127.1.0.1", true, "reached"),
        (parse(&["other.test"]), "public.test", true, "reached"),
        (parse(&[]), "nobody.test", true, "nobody has answered the question about it"),
        (parse(&[]), "no.test", true, "a person was asked and said no"),
        (parse(&[]), "private.test", true, "private address"),
        (parse(&[]), "local.test", true, "this machine"),
        (parse(&[]), "metadata.test", true, "credentials"),
        // Nobody is asked about what nobody could allow, nor about what a rule allows.
        (parse(&[]), "127.2.0.1", false, "no rule allows it"),
        (parse(&[]), "127.0.0.1", false, "no rule allows it"),
        (parse(&[]), "localhost", false, "no rule allows it"),
        (parse(&[]), "169.254.169.254", false, "no rule allows it"),
        (parse(&[]), "intranet", false, "no rule allows it"),
        (parse(&[]), "db.internal", false, "no rule allows it"),
        (parse(&["public"]), "public.test", false, "reached"),
        (folders, "public.test", false, "no rule allows it"),
    ] {
        let (program, says) = judged(&rules);
        match program.tunnel(&format!("{to}:{port}")).await {
            Ok(mut stream) => {
                stream.write_all(b"hello").await.expect("a tunnel");
                assert_eq!(
                    (read_exactly(&mut stream, 5).await.as_str(), expected),
                    ("hello", "reached"),
                    "{to}"
                );
            }
            Err(answer) => {
                let noted = program.lines().join("");
                assert!(
                    answer.starts_with("HTTP/1.1 403") && noted.contains(expected),
                    "{to}: {answer}{noted}"
                );
            }
        }
        assert_eq!(*says.0.lock().expect("no panic"), [to][..usize::from(asked)], "{to}");
    }
}

#[tokio::test]
async fn a_name_that_somebody_could_allow_exists_and_nobody_is_asked_for_that() {
    let (program, says) = judged(&parse(&[]));
    for (name, code) in [("public.test", 0), ("intranet", 3), ("db.internal", 3), ("printer.local", 3)] {
        let packet = question(name, 1);
        assert_eq!(program.query(&packet, &packet).await[3] & 15, code, "{name}");
    }
    assert_eq!(*says.0.lock().expect("no panic"), [""; 0]);
}

/// Never decides.
struct Silent;

impl Judge for Silent {
    fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn one_that_waits_holds_up_no_other() {
    let port = host("127.1.0.1", echo).await.port();
    let rules = parse(&[&format!("public.test:{port}")]);
    let way = WayOut { rules, company: None, judge: Some(Arc::new(Silent)) };
    let program = Program::on(Arc::new(way), &[]);
    let mut waiting = program.connect().await;
    waiting.write_all(super::program::connect("www.public.test:443").as_bytes()).await.expect("a proxy");
    within(program.tunnel(&format!("public.test:{port}"))).await.expect("a rule allows it");
    assert_eq!(program.lines(), [format!("connect public.test:{port}")]);
}

/// Would say yes, and lets nothing out now.
struct Closed;

impl Judge for Closed {
    fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn turn(&self) -> Option<u64> {
        None
    }
}

#[tokio::test]
async fn what_is_closed_lets_out_to_no_host_not_even_to_one_that_a_rule_names() {
    let port = host("127.1.0.1", echo).await.port();
    let rules = parse(&[&format!("public.test:{port}")]);
    let program = Program::on(Arc::new(WayOut { rules, company: None, judge: Some(Arc::new(Closed)) }), &[]);
    for to in ["public.test", "other.test"] {
        let answer = program.tunnel(&format!("{to}:{port}")).await.expect_err("closed");
        assert!(answer.starts_with("HTTP/1.1 403"), "{to}: {answer}");
    }
}

/// Works for one call after the other; for none where the number is zero.
#[derive(Default)]
struct Turns(AtomicU64);

impl Judge for Turns {
    fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        Box::pin(std::future::ready(Err(Reason::NoRule)))
    }

    fn turn(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }
}

/// Looks names up when told to.
struct Slow(Internet, Notify);

impl Network for Slow {
    fn addresses<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            self.1.notified().await;
            self.0.addresses(name, port).await
        })
    }

    fn kind(&self, address: IpAddr) -> Kind {
        self.0.kind(address)
    }
}

#[tokio::test]
async fn what_is_looked_up_when_a_call_ends_is_not_dialled_any_more() {
    let listener = std::net::TcpListener::bind("127.1.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("bound").port();
    for (then, is_reached) in [(1, true), (0, false), (2, false)] {
        let (turns, network) = (Arc::new(Turns::default()), Arc::new(Slow(Internet::new(), Notify::new())));
        let way = WayOut {
            rules: parse(&[&format!("public.test:{port}")]),
            company: None,
            judge: Some(turns.clone()),
        };
        let journal = Arc::new(Journal::new());
        let access = Access::new(Arc::new(way), journal.clone(), network.clone(), NET);
        turns.0.store(1, Ordering::Relaxed);
        let to = Destination::parse("public.test", Some(port)).expect("a destination");
        let mut opening = std::pin::pin!(access.open(&to));
        tokio::select! {
            biased;
            _ = &mut opening => unreachable!("it is looked up"),
            () = std::future::ready(()) => {}
        }
        turns.0.store(then, Ordering::Relaxed);
        network.1.notify_one();
        assert_eq!(within(opening).await.is_ok(), is_reached, "call {then}");
        assert_eq!(listener.accept().is_ok(), is_reached, "call {then}");
        assert_eq!(journal.entries().len(), usize::from(is_reached), "it is no other call's");
    }
}

/// Says no when told to, to whatever call it is then.
#[derive(Default)]
struct Person(Turns, Notify);

impl Judge for Person {
    fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        Box::pin(async {
            self.1.notified().await;
            Err(Reason::NoRule)
        })
    }

    fn turn(&self) -> Option<u64> {
        self.0.turn()
    }
}

#[tokio::test]
async fn what_is_refused_once_a_call_has_ended_is_noted_for_no_other() {
    for (then, noted) in [(1, 1), (0, 0), (2, 0)] {
        let person = Arc::new(Person::default());
        person.0.0.store(1, Ordering::Relaxed);
        let way = WayOut { rules: parse(&[]), company: None, judge: Some(person.clone()) };
        let journal = Arc::new(Journal::new());
        let access = Access::new(Arc::new(way), journal.clone(), Arc::new(Internet::new()), NET);
        let to = Destination::parse("public.test", Some(443)).expect("a destination");
        let mut opening = std::pin::pin!(access.open(&to));
        tokio::select! {
            biased;
            _ = &mut opening => unreachable!("somebody is asked"),
            () = std::future::ready(()) => {}
        }
        person.0.0.store(then, Ordering::Relaxed);
        person.1.notify_one();
        within(opening).await.expect_err("it is refused");
        assert_eq!(journal.entries().len(), noted, "call {then}");
    }
}
