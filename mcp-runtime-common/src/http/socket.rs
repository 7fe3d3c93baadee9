//! What connections to servers have in common on all runtimes.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::{RecvFlags, recv, sockopt};

/// After how long a silence the system asks whether the other end is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
/// How long it waits for each answer, and how often it asks.
const KEEPALIVE_EVERY: (Duration, u32) = (Duration::from_secs(10), 3);

/// Sets the options of a connection: nothing is held back, and an other end that has vanished
/// without a word is noticed within a minute, however long a stream is silent.
///
/// # Errors
/// When it is no TCP connection.
pub fn tune(socket: impl AsFd) -> io::Result<()> {
    let (interval, count) = KEEPALIVE_EVERY;
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, KEEPALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(&socket, interval)?;
    sockopt::set_tcp_keepcnt(&socket, count)?;
    Ok(())
}

/// Whether neither bytes nor the end have arrived that nobody has read yet. The socket does not
/// block.
#[must_use]
pub fn is_silent(socket: impl AsFd) -> bool {
    let looked = recv(socket, &mut [0; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    matches!(looked, Err(rustix::io::Errno::AGAIN))
}
