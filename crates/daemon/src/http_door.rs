//! The address over which many clients come: bound before anything is started, served until it is to close.

mod administered;
mod banner;

use std::sync::Arc;

use config::log::Format;
use config::{Loaded, Settings};
use gate::Cancel;
use serde_json::json;
use server::identity::Identity;
use server::{Config, Server, http, unix};
use terminal::{Trouble, print};

use crate::assemble::identity;
use crate::control::Reloader;
use administered::Administered;
use banner::Banner;
pub use banner::connecting;

/// The address of a configuration, and the socket that it names beside it, if it does.
pub struct HttpDoor {
    config: Config,
    identity: Arc<Identity>,
    listener: http::Listener,
    socket: Option<unix::Socket>,
}

impl HttpDoor {
    /// Takes the address.
    ///
    /// # Errors
    /// Each says what is in the way: an address in use is the most common mistake.
    pub async fn bind(settings: &Settings) -> Result<HttpDoor, Trouble> {
        let config = settings.server.clone();
        let identity = identity(settings);
        let listener = http::bind(&config, &identity).await.map_err(Trouble::because)?;
        let socket = match &config.socket {
            Some(path) => Some(unix::bind(path).await.map_err(Trouble::because)?),
            None => None,
        };
        Ok(HttpDoor { config, identity, listener, socket })
    }

    /// What is said once it serves.
    ///
    /// # Errors
    /// The system does not tell which address it is.
    pub async fn announcement(&self, loaded: &Loaded) -> Result<Announcement, Trouble> {
        let is_open = self.identity.is_open().await.ok();
        let banner = Banner::new(loaded, self.listener.local_addr()?, is_open);
        Ok(Announcement { url: banner.url().to_owned(), banner, format: loaded.settings.log.format })
    }

    /// Serves what was put together until `stopping` is cancelled. Who may call goes by what is read again.
    pub async fn serve(self, reloader: &Arc<Reloader>, stopping: &Cancel) {
        let HttpDoor { config, identity, listener, socket } = self;
        reloader.govern_also(&identity);
        let crib = reloader.crib();
        let named = reloader.named_workspaces();
        // One of its own, since it closes when this door does.
        let server = Server::new(crib.gate.clone(), crib.instructions.clone());
        let on_socket = async {
            if let Some(socket) = socket {
                unix::serve(server.clone(), socket, stopping.cancelled()).await;
            }
        };
        let beside = (named.clone() as _, Arc::new(Administered(reloader.clone())) as _);
        let on_http = http::serve(server.clone(), beside, identity, listener, &config, stopping.cancelled());
        tokio::join!(on_http, on_socket);
        named.close_all().await;
    }
}

/// Where somebody serves, in the form of the log.
pub struct Announcement {
    /// The endpoint.
    pub url: String,
    banner: Banner,
    format: Format,
}

impl Announcement {
    /// Says it by `print`, which gets the address and the text for people; where the log is JSON, that says it.
    pub fn say(&self, print: impl FnOnce(&str, &str)) {
        match self.format {
            Format::Text => print(&self.url, &self.banner.to_string()),
            Format::Json => {
                tracing::info!(url = self.url, "serving");
                print(&self.url, "");
            }
        }
    }
}

/// Prints where somebody serves: for programs to standard output, and for people beside it.
pub fn print_address(is_json: bool, url: &str, text: &str) {
    match is_json {
        // Whoever does not read it serves all the same.
        true => drop(print::json(&json!({ "url": url }))),
        false if text.is_empty() => {}
        false => print::banner(text),
    }
}
