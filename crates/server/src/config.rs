//! The `[server]` section.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where the program listens.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Address and port for HTTP. Port 0 takes any free one. Only loopback addresses are accepted, since
    /// whoever can reach it has the local user's rights.
    #[schemars(with = "String")]
    pub bind: SocketAddr,
}

impl Default for Config {
    fn default() -> Config {
        Config { bind: SocketAddr::from(([127, 0, 0, 1], 3000)) }
    }
}

impl Config {
    /// Whether this address may be listened on.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.bind.ip().is_loopback() {
            return Ok(());
        }
        Err(format!(
            "{} can be reached from other machines, and everybody who reaches it would have the local user's \
             rights; use a loopback address such as 127.0.0.1:{}",
            self.bind,
            self.bind.port()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        for (address, good) in [
            ("127.0.0.1:3000", true),
            ("127.9.9.9:1", true),
            ("[::1]:0", true),
            ("0.0.0.0:3000", false),
            ("[::]:1", false),
            ("192.0.2.1:80", false),
        ] {
            let config = Config { bind: address.parse().expect("a sample parses") };
            assert_eq!(config.check().is_ok(), good, "{address}");
        }
    }
}
