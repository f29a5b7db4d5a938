//! The name server that a confined program has: it asks nobody, and answers with made-up addresses for the names that a
//! rule could allow. A connection to such an address comes in at `direct`, which looks up the name and judges it.
//!
//! Names that no rule could allow do not exist (NXDOMAIN). REFUSED would be the honest word, but resolvers take it for a
//! server in trouble and try again for seconds, and programs then say "try again later".

mod question;
mod table;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use question::{Asks, Code, NoQuestion, Question};
pub(super) use table::Names;
pub use table::NamesNet;

use super::access::Access;
use super::host::Host;
use super::journal::Attempt;
use super::reason::Reason;

/// Whoever looks a name up connects at once, or tries addresses that it has for some seconds.
const UNMET_AFTER: Duration = Duration::from_secs(10);

/// Answers questions until it is dropped, and notes the names to which nobody comes.
pub(super) async fn serve(socket: UdpSocket, access: Arc<Access>) {
    tokio::join!(answer_all(socket, &access), note_unmet(&access));
}

/// Of a program that lasts, nobody waits for the end to hear what it does not reach. Wakes only while a name waits.
async fn note_unmet(access: &Access) {
    loop {
        access.names_given().await;
        while let Some(since) = access.waiting_since() {
            sleep_until(since + UNMET_AFTER).await;
            access.note_unmet(Instant::now() - UNMET_AFTER);
        }
    }
}

async fn answer_all(socket: UdpSocket, access: &Access) {
    // One byte more, so that a longer packet is seen to be longer.
    let mut packet = [0; question::PACKET_BYTES_MAX + 1];
    loop {
        // An error is that of an earlier answer to somebody who has gone.
        let Ok((length, from)) = socket.recv_from(&mut packet).await else {
            continue;
        };
        if let Some(reply) = answer(&packet[..length], access) {
            // Whoever does not hear an answer asks again.
            let _ = socket.send_to(&reply, from).await;
        }
    }
}

fn answer(packet: &[u8], access: &Access) -> Option<Vec<u8>> {
    let question = match question::read(packet) {
        Ok(question) => question,
        Err(NoQuestion::Silence) => return None,
        Err(NoQuestion::Reply(reply)) => return Some(reply),
    };
    let Some(addresses) = find(&question, access) else {
        return Some(question.reply(Code::NoSuchName, None));
    };
    let address = match question.asks {
        Asks::V4 => addresses.v4.map(IpAddr::V4),
        Asks::V6 => addresses.v6.map(IpAddr::V6),
        Asks::Other => None,
    };
    Some(question.reply(Code::Fine, address))
}

struct Addresses {
    v4: Option<Ipv4Addr>,
    v6: Option<Ipv6Addr>,
}

fn find(question: &Question<'_>, access: &Access) -> Option<Addresses> {
    match Host::parse(&question.name) {
        Ok(Host::Localhost) => {
            Some(Addresses { v4: Some(Ipv4Addr::LOCALHOST), v6: Some(Ipv6Addr::LOCALHOST) })
        }
        Ok(host @ Host::Name(_)) if access.knows(&host) => {
            // No address is given out for questions that it would not answer.
            let v4 = (question.asks == Asks::V4).then(|| access.give_name(&host));
            Some(Addresses { v4, v6: None })
        }
        // Programs ask for the names of addresses by themselves; nobody is told that they could not.
        Ok(Host::Name(name)) if name.ends_with(".arpa") => None,
        Ok(host) => {
            access.journal().block(Attempt::LookUp(host.to_string()), Reason::NoRule);
            None
        }
        Err(_) => None,
    }
}
