//! TCP ports of this machine.

pub use crate::system::ports::listener;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// A process that has a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its pid.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Whether a server could listen on a port of 127.0.0.1 now. Ports below 1024 that this user may not have are taken for
/// free: the server may have other rights.
pub fn is_free(port: u16) -> bool {
    // To bind alone does not tell: two may listen on one port where both ask to share it.
    !takes_connections(port)
        && !matches!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)), Err(error) if error.kind() == ErrorKind::AddrInUse)
}

/// Whether somebody takes connections there.
pub fn takes_connections(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
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
}
