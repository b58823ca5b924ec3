//! Who listens on a port: `man 5 proc_net` tells the socket, the descriptors in `/proc/PID/fd` whose it is.

use crate::ports::Owner;
use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDTarget, all_processes};

/// The process that listens on a TCP port, as far as this user may see it.
pub fn listener(port: u16) -> Option<Owner> {
    let sockets = tcp().into_iter().flatten().chain(tcp6().into_iter().flatten());
    let inodes: Vec<u64> = sockets
        .filter(|socket| socket.state == TcpState::Listen && socket.local_address.port() == port)
        .map(|socket| socket.inode)
        .collect();
    if inodes.is_empty() {
        return None;
    }
    for process in all_processes().ok()?.flatten() {
        let mut descriptors = process.fd().into_iter().flatten().flatten();
        if descriptors.any(|fd| matches!(fd.target, FDTarget::Socket(inode) if inodes.contains(&inode))) {
            let name = process.stat().map(|stat| stat.comm).unwrap_or_default();
            return u32::try_from(process.pid).ok().map(|pid| Owner { pid, name });
        }
    }
    None
}
