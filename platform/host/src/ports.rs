//! TCP ports of this machine.

pub use crate::system::ports::listener;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a connection may take: only somebody who is too busy to take it lets one wait on this machine.
const PATIENCE: Duration = Duration::from_millis(250);

/// A process that has a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its pid.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Whether a server could listen on a port of 127.0.0.1 now, and none does on that of ::1. Ports below 1024 that this user
/// may not have are taken for free: the server may have other rights.
pub fn is_free(port: u16) -> bool {
    // To bind alone does not tell: two may listen on one port where both ask to share it.
    !takes_connections(port)
        && !matches!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)), Err(error) if error.kind() == ErrorKind::AddrInUse)
}

/// Whether somebody takes connections there, by 127.0.0.1 or ::1.
pub fn takes_connections(port: u16) -> bool {
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    addresses.into_iter().any(|address| {
        TcpStream::connect_timeout(&SocketAddr::new(address, port), PATIENCE)
            .is_ok_and(|stream| has_another_end(&stream))
    })
}

/// Where nobody listens, and the port is one of those that connections get for their own end, one may get this port, and
/// then it is connected to itself.
fn has_another_end(stream: &TcpStream) -> bool {
    !matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(other)) if own == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_its_owner_while_it_is_listened_on() {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listening.local_addr().unwrap().port();
        assert!(!is_free(port) && takes_connections(port));
        if let Some(owner) = listener(port) {
            assert_eq!(owner.pid, std::process::id());
        }
        drop(listening);
        assert!(is_free(port) && !takes_connections(port) && listener(port).is_none());
    }

    #[test]
    fn a_server_on_the_other_loopback_address_is_seen() {
        let Ok(listening) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
            eprintln!("SKIPPED: there is no IPv6 here");
            return;
        };
        let port = listening.local_addr().unwrap().port();
        assert!(!is_free(port) && takes_connections(port));
    }

    #[test]
    fn a_connection_to_itself_is_none() {
        use std::os::fd::{FromRawFd, OwnedFd};
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        // SAFETY: numbers, for which zeros are values.
        let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = free.to_be();
        address.sin_addr.s_addr = u32::from(Ipv4Addr::LOCALHOST).to_be();
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the address is of this size; the descriptor is this one's own.
        let stream = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
            let place = (&raw const address).cast();
            assert_eq!((libc::bind(socket, place, size), libc::connect(socket, place, size)), (0, 0));
            TcpStream::from(OwnedFd::from_raw_fd(socket))
        };
        assert!(!has_another_end(&stream));
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(has_another_end(&TcpStream::connect(listening.local_addr().unwrap()).unwrap()));
    }

    #[test]
    fn a_server_that_is_too_busy_lets_nobody_wait_for_ever() {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        // As short a queue as there can be, and full.
        // SAFETY: changes its own socket.
        assert_eq!(unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listening), 0) }, 0);
        let address = listening.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, PATIENCE) {
            waiting.push(stream);
            assert!(waiting.len() < 100, "the queue has no end");
        }
        let began = std::time::Instant::now();
        assert!(!takes_connections(address.port()));
        // The system's own limit is two minutes.
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
