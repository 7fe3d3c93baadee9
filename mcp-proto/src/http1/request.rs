//! Requests as bytes (RFC 9112, section 3).

use core::net::Ipv6Addr;

use super::error::RequestError;
use super::head::Headers;
use crate::wire::headers::{is_name, is_value};

/// What is asked for. The body comes with [`Exchange::new`](super::Exchange::new).
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// A path with its query; to a proxy, an absolute `http` URL; for `CONNECT`, the authority.
    pub target: &'a str,
    /// Host and port of the server, as [`authority`] writes them: the `Host` header.
    pub authority: &'a str,
    /// The other headers, except those that the encoder writes itself.
    pub headers: &'a Headers,
}

/// Host and port as a URL and the `Host` header write them: an IPv6 address in brackets, and the
/// port only if it is not the scheme's own.
#[must_use]
pub fn authority(host: &str, port: u16, default_port: u16) -> String {
    let (open, close) = if host.parse::<Ipv6Addr>().is_ok() { ("[", "]") } else { ("", "") };
    if port == default_port {
        format!("{open}{host}{close}")
    } else {
        format!("{open}{host}{close}:{port}")
    }
}

impl Request<'_> {
    /// The head. `length` is that of the body, if there is one.
    pub(super) fn encode(&self, length: Option<usize>) -> Result<Vec<u8>, RequestError> {
        self.check()?;
        let mut head = String::with_capacity(512);
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|part| head.push_str(part));
            head.push_str("\r\n");
        };
        line(&[self.method, " ", self.target, " HTTP/1.1"]);
        line(&["host: ", self.authority]);
        for (name, value) in self.headers.iter() {
            line(&[name, ": ", value]);
        }
        // RFC 9110, section 8.6: these methods have a body, be it an empty one.
        let expected = matches!(self.method, "POST" | "PUT" | "PATCH").then_some(0);
        if let Some(length) = length.or(expected) {
            line(&["content-length: ", &length.to_string()]);
        }
        line(&[]);
        Ok(head.into_bytes())
    }

    fn check(&self) -> Result<(), RequestError> {
        if !is_name(self.method) {
            return Err(RequestError::Method(String::from(self.method)));
        }
        if !is_authority(self.authority) {
            return Err(RequestError::Authority);
        }
        let has_port = |text: &str| text.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
        let fits = match self.method {
            "CONNECT" => is_authority(self.target) && has_port(self.target),
            _ => self.target.starts_with('/') || self.target.starts_with("http://"),
        };
        let visible = self.target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !fits || !visible {
            return Err(RequestError::Target);
        }
        for (name, value) in self.headers.iter() {
            if !is_name(name) {
                return Err(RequestError::HeaderName(String::from(name)));
            }
            if is_reserved(name) {
                return Err(RequestError::Reserved(String::from(name)));
            }
            if !is_value(value) {
                return Err(RequestError::HeaderValue(String::from(name)));
            }
        }
        Ok(())
    }
}

/// Written here, or not at all: they say where a message ends, whether the connection stays, and
/// who is spoken to.
fn is_reserved(name: &str) -> bool {
    matches!(name, "content-length" | "transfer-encoding" | "te" | "trailer" | "expect")
        || matches!(name, "connection" | "keep-alive" | "upgrade" | "host")
}

/// A registered name, an IPv4 address, or an IPv6 address in brackets, and perhaps a port. User
/// names and passwords have no place in it (RFC 9110, section 4.2.4).
fn is_authority(text: &str) -> bool {
    let (is_host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let named = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
            (!host.is_empty() && host.bytes().all(named), port)
        }
    };
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    !text.starts_with('+') && text.parse::<u16>().is_ok()
}
