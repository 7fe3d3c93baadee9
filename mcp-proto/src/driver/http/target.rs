//! Where a request goes, by its URL.

use std::sync::Arc;

use url::Url;

use super::network::Address;
use crate::http1::authority;

/// Where a request goes.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: Arc<Address>,
    /// The path with its query.
    pub(super) path: Arc<str>,
    /// Host and port, as the `Host` header writes them.
    pub(super) authority: Arc<str>,
}

/// Remembers the URL that was read last, since most requests go to the same.
#[derive(Default)]
pub(super) struct Targets {
    latest: Option<(String, Target)>,
}

impl Targets {
    /// Where this URL leads. `None` when it leads nowhere.
    pub(super) fn find(&mut self, url: &str) -> Option<Target> {
        match &self.latest {
            Some((known, target)) if known == url => Some(target.clone()),
            _ => {
                let target = read(url)?;
                self.latest = Some((String::from(url), target.clone()));
                Some(target)
            }
        }
    }
}

fn read(url: &str) -> Option<Target> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let https = url.scheme() == "https";
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let address = Address { https, host: String::from(bare), port: url.port_or_known_default()? };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => String::from(url.path()),
    };
    let authority = authority(&address.host, address.port, address.default_port());
    Some(Target { address: Arc::new(address), path: path.into(), authority: authority.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_who_is_spoken_to_and_what_is_asked_for() {
        let mut targets = Targets::default();
        let mut found = |url| {
            let target = targets.find(url)?;
            let Address { https, host, port } = (*target.address).clone();
            Some(format!("{https} {host} {port} {} {}", target.path, target.authority))
        };
        for (url, expected) in [
            ("http://example.com", "false example.com 80 / example.com"),
            ("https://example.com/mcp?a=b", "true example.com 443 /mcp?a=b example.com"),
            ("http://[::1]:8080/mcp", "false ::1 8080 /mcp [::1]:8080"),
            ("http://[::1]:8080/mcp", "false ::1 8080 /mcp [::1]:8080"),
            ("https://localhost:80/", "true localhost 80 / localhost:80"),
        ] {
            assert_eq!(found(url).as_deref(), Some(expected));
        }
        assert_eq!(found("ftp://example.com"), None);
        assert_eq!(found("no url"), None);
    }
}
