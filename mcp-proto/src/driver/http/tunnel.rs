//! A tunnel through a proxy (RFC 9110, section 9.3.6).

use core::pin::Pin;
use core::task::{Context, Poll};
use std::future::Future;

use super::network::{Address, Socket, Via};
use crate::http1::{Exchange, Headers, Part, Request, authority};

/// How much of the answer is read at once. Its head is all that matters.
const READ_BYTES: usize = 4096;

/// Asks the proxy at the other end for a tunnel to this server.
pub(super) fn tunnel(socket: Box<dyn Socket>, via: &Via, server: &Address) -> Tunnel {
    // Always with the port, which no scheme implies here.
    let target = authority(&server.host, server.port, 0);
    let secret = via.authorization.as_deref();
    let headers: Headers =
        secret.map(|secret| ("proxy-authorization", secret)).into_iter().collect();
    let request =
        Request { method: "CONNECT", target: &target, authority: &target, headers: &headers };
    let exchange = Exchange::new(&request, None, false).map_err(|error| error.to_string());
    Tunnel { socket: Some(socket), exchange }
}

/// A tunnel that is being opened.
pub(super) struct Tunnel {
    /// `None` once it is through.
    socket: Option<Box<dyn Socket>>,
    exchange: Result<Exchange, String>,
}

impl Tunnel {
    /// Whether the proxy has opened it.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), String>> {
        let exchange = self.exchange.as_mut().map_err(|error| error.clone())?;
        let Some(socket) = &mut self.socket else { return Poll::Pending };
        let broken = |error: std::io::Error| format!("the connection to the proxy broke: {error}");
        while !exchange.unsent().is_empty() {
            match socket.poll_write(cx, exchange.unsent()).map_err(broken)? {
                Poll::Ready(bytes) => exchange.sent(bytes),
                Poll::Pending => break,
            }
        }
        let _ = socket.poll_flush(cx).map_err(broken)?;
        let mut buffer = [0; READ_BYTES];
        loop {
            let Poll::Ready(bytes) = socket.poll_read(cx, &mut buffer).map_err(broken)? else {
                return Poll::Pending;
            };
            let mut input = buffer.get(..bytes).unwrap_or_default();
            if input.is_empty() {
                let ended = exchange.finish().map_err(|error| format!("the proxy: {error}"));
                return Poll::Ready(ended.and_then(|_| Err(String::from("the proxy hung up"))));
            }
            while let Some(part) =
                exchange.decode(&mut input).map_err(|error| format!("the proxy: {error}"))?
            {
                match part {
                    Part::Head(head) if !(200..300).contains(&head.status) => {
                        let text = format!("the proxy refused with status {}", head.status);
                        return Poll::Ready(Err(text));
                    }
                    Part::Head(_) | Part::Body(_) => {}
                    // Neither a server of HTTP nor one of TLS speaks first.
                    Part::End { .. } if !input.is_empty() => {
                        let text = "something came through the tunnel unasked";
                        return Poll::Ready(Err(String::from(text)));
                    }
                    Part::End { .. } => return Poll::Ready(Ok(())),
                }
            }
        }
    }
}

impl Future for Tunnel {
    type Output = Result<Box<dyn Socket>, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let opened = std::task::ready!(self.advance(cx));
        let socket = self.socket.take();
        Poll::Ready(opened.and_then(|()| socket.ok_or_else(|| String::from("it is open already"))))
    }
}
