//! Which proxy an address is reached through.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use mcp_proto::{ApiMisuse, HttpConfig};
use url::Url;

use super::no_proxy::{NoProxy, address};

/// Which proxy a client uses.
///
/// Whatever the scheme of the server, a tunnel is asked for (`CONNECT`): the proxy then neither
/// buffers event streams nor repeats requests, and all adapters behave alike. A proxy that opens
/// tunnels to port 443 only cannot be used for `http` servers.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyChoice {
    /// What the environment says, when the client is made: `HTTPS_PROXY` for `https` servers,
    /// `HTTP_PROXY` for `http` servers, `ALL_PROXY` for both when those are not set, and
    /// `NO_PROXY` for servers that are reached directly. Names in lower case win. Servers on the
    /// loopback interface are never reached through a proxy.
    ///
    /// `NO_PROXY` is a list with commas or blanks. `*` means all servers, `example.com` that name
    /// and all below it, `.example.com` and `*.example.com` all below it only, `10.0.0.0/8` and
    /// `fd00::/8` networks; each may have a port. Networks are compared with servers that are named
    /// by an address; names are not looked up for it.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one for every server, on the loopback interface too: `http://host:port`, perhaps with a
    /// user name and a password. `http://` may be left out.
    Url(String),
}

impl From<&str> for ProxyChoice {
    fn from(url: &str) -> Self {
        ProxyChoice::Url(String::from(url))
    }
}

impl From<String> for ProxyChoice {
    fn from(url: String) -> Self {
        ProxyChoice::Url(url)
    }
}

impl fmt::Debug for ProxyChoice {
    /// The URL may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxyChoice::Environment => "Environment",
            ProxyChoice::Direct => "Direct",
            ProxyChoice::Url(_) => "Url(..)",
        })
    }
}

impl ProxyChoice {
    /// Checks what the host has written.
    ///
    /// # Errors
    /// When it names no proxy that can be used.
    pub(super) fn check(&self) -> Result<(), ApiMisuse> {
        let must = "be the URL of an HTTP proxy, such as `http://host:port`";
        match self {
            ProxyChoice::Url(url) if Proxy::parse(url).is_err() => {
                Err(ApiMisuse::Setting { setting: "proxy", must })
            }
            _ => Ok(()),
        }
    }

    /// What it means for each server, by the environment as it is now.
    #[must_use]
    pub fn proxies(&self) -> Proxies {
        match self {
            ProxyChoice::Environment => {
                Proxies::from_variables(|name| std::env::var_os(name)?.into_string().ok())
            }
            ProxyChoice::Direct => Proxies::default(),
            ProxyChoice::Url(url) => {
                let source = Source { name: "the setting `proxy`", url: url.clone() };
                let (https, http) = (Some(source.clone()), Some(source));
                Proxies { https, http, except: NoProxy::default(), loopback: true }
            }
        }
    }
}

/// A proxy, which opens tunnels for whoever asks it with `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proxy {
    /// A name, or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port; 80 unless it is told.
    pub port: u16,
    /// User name and password, decoded.
    pub login: Option<(String, String)>,
}

impl fmt::Debug for Proxy {
    /// Without the login.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

impl Proxy {
    /// Reads a URL, with or without its scheme.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let full = if text.contains("://") { String::from(text) } else { format!("http://{text}") };
        let url = Url::parse(&full).map_err(|_| "it is no URL")?;
        match url.scheme() {
            "http" => {}
            "https" => return Err("proxies that are spoken to over TLS are not supported"),
            scheme if scheme.starts_with("socks") => return Err("SOCKS is not supported"),
            _ => return Err("its scheme is not `http`"),
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("it has no host")?;
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let (user, password) = (url.username(), url.password().unwrap_or_default());
        let login = !user.is_empty() || !password.is_empty();
        Ok(Proxy {
            host: String::from(bare.unwrap_or(host)),
            port: url.port().unwrap_or(80),
            login: login.then(|| (decode(user), decode(password))),
        })
    }
}

impl Proxy {
    /// The value of the header `Proxy-Authorization` (RFC 7617), if there is a login.
    #[must_use]
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = self.login.as_ref()?;
        Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
    }
}

/// Undoes percent encoding; what is no encoding stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        let encoded = (first == b'%').then(|| digit(0).zip(digit(1))).flatten();
        rest = tail;
        match encoded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A proxy was named that cannot be used. The server is not reached past it. Neither is the value
/// quoted, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    source: &'static str,
    why: &'static str,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} names no proxy that can be used: {}", self.source, self.why)
    }
}

impl std::error::Error for ProxyError {}

/// The proxies of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    https: Option<Source>,
    http: Option<Source>,
    except: NoProxy,
    /// Whether they serve the loopback interface too.
    loopback: bool,
}

/// A URL, and where it was found.
#[derive(Clone, PartialEq, Eq)]
struct Source {
    name: &'static str,
    url: String,
}

impl fmt::Debug for Source {
    /// The URL may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Proxies {
    /// Reads variables of an environment. Empty ones count as absent.
    #[must_use]
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let first = |names: [&'static str; 4]| {
            names.into_iter().find_map(|name| Some(Source { name, url: value(name)? }))
        };
        // A web server hands a request's header `Proxy` to its CGI programs as `HTTP_PROXY`.
        let upper = if get("REQUEST_METHOD").is_some() { "http_proxy" } else { "HTTP_PROXY" };
        Proxies {
            https: first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            http: first(["http_proxy", upper, "all_proxy", "ALL_PROXY"]),
            except: value("no_proxy")
                .or_else(|| value("NO_PROXY"))
                .map_or_else(NoProxy::default, |list| NoProxy::parse(&list)),
            loopback: false,
        }
    }

    /// The proxy through which a server is reached, if there is one.
    ///
    /// # Errors
    /// When one was named that cannot be used.
    pub fn find(&self, https: bool, host: &str, port: u16) -> Result<Option<Proxy>, ProxyError> {
        let Some(source) = (if https { &self.https } else { &self.http }) else { return Ok(None) };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if (!self.loopback && is_loopback(&host)) || self.except.covers(&host, port) {
            return Ok(None);
        }
        let proxy = Proxy::parse(&source.url);
        proxy.map(Some).map_err(|why| ProxyError { source: source.name, why })
    }

    /// The same for a whole address.
    ///
    /// # Errors
    /// When one was named that cannot be used.
    pub fn find_for(&self, url: &str) -> Result<Option<Proxy>, ProxyError> {
        let Ok(url) = HttpConfig::new(url).endpoint() else { return Ok(None) };
        let port = url.port_or_known_default().unwrap_or_default();
        self.find(url.scheme() == "https", url.host_str().unwrap_or_default(), port)
    }
}

/// Whether a host is this machine itself. `host` is a name in lower case, or an address.
pub(super) fn is_loopback(host: &str) -> bool {
    match address(host) {
        Some(address) => address.is_loopback(),
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}
