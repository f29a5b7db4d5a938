//! `Route`: how a connection of our own is made, straight or through the company's proxy.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::company::CompanyProxy;
use super::connect::{self, NoConnection, Tcp};
use super::error::destination;
use super::reach::{self, Reach};

type BoxError = Box<dyn Error + Send + Sync>;
type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, BoxError>> + Send>>;

/// A connector for plain connections.
#[derive(Debug, Clone)]
pub(super) struct Route {
    straight: Tcp,
    company: Option<CompanyProxy>,
    reach: Reach,
}

impl Route {
    pub(super) fn new(straight: Tcp, company: Option<CompanyProxy>, reach: Reach) -> Route {
        Route { straight, company, reach }
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The connector for straight connections is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let company = self.company.clone();
        let (straight, reach) = (self.straight.call(uri.clone()), self.reach);
        Box::pin(async move {
            let target = match &company {
                Some(_) => target(&uri, reach).await?,
                None => Target::Ours,
            };
            match (target, company) {
                (Target::Beyond(target), Some(company)) => Ok(TokioIo::new(company.tunnel(&target).await?)),
                (Target::Ours | Target::Beyond(_), _) => straight.await.map_err(Into::into),
            }
        })
    }
}

enum Target {
    /// This machine or our own network, which does not lie behind the proxy.
    Ours,
    /// What the proxy is asked for.
    Beyond(String),
}

/// Where the proxy is to lead. It is told the name, which it may know better than we do; but where only the open internet
/// may be reached, an address that was looked up and judged here.
async fn target(uri: &Uri, reach: Reach) -> Result<Target, NoConnection> {
    let (host, port) = destination(uri);
    let by_name = Target::Beyond(format!("{host}:{port}"));
    let found = match reach::literal(uri) {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => match (connect::addresses(&host, port).await, reach) {
            (Ok(found), _) => found,
            (Err(_), Reach::Any) => return Ok(by_name),
            (Err(error), Reach::Public) => return Err(NoConnection::UnknownName(error)),
        },
    };
    Ok(match (found.iter().find(|at| reach::is_public(at.ip())), reach) {
        (None, _) => Target::Ours,
        (Some(_), Reach::Any) => by_name,
        (Some(public), Reach::Public) => Target::Beyond(public.to_string()),
    })
}
