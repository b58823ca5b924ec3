//! What is said between this process and the starter: frames of a kind, numbers, and lists of bytes. Both ends are one
//! program, so nothing here has to last; and a frame that makes no sense is an error all the same.

use std::io::{self, Read, Write};

/// One message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// What it is about.
    pub(super) kind: u8,
    pub(super) numbers: Vec<u64>,
    pub(super) lists: Vec<Vec<Vec<u8>>>,
}

impl Frame {
    pub(super) fn new(kind: u8, numbers: &[u64]) -> Frame {
        Frame { kind, numbers: numbers.to_vec(), lists: Vec::new() }
    }

    pub(super) fn send(&self, mut socket: impl Write) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        bytes.push(self.kind);
        put_length(&mut bytes, self.numbers.len())?;
        bytes.extend(self.numbers.iter().flat_map(|number| number.to_ne_bytes()));
        put_length(&mut bytes, self.lists.len())?;
        for list in &self.lists {
            put_length(&mut bytes, list.len())?;
            for item in list {
                put_length(&mut bytes, item.len())?;
                bytes.extend_from_slice(item);
            }
        }
        let mut length = Vec::new();
        put_length(&mut length, bytes.len().saturating_sub(4))?;
        bytes.splice(..4, length);
        socket.write_all(&bytes)
    }

    /// The next one; an error of the kind `UnexpectedEof` when the other end is gone.
    pub(super) fn receive(mut socket: impl Read) -> io::Result<Frame> {
        let mut length = [0; 4];
        socket.read_exact(&mut length)?;
        let mut bytes = vec![0; usize::try_from(u32::from_ne_bytes(length)).unwrap_or(0)];
        socket.read_exact(&mut bytes)?;
        Frame::read(&mut bytes.as_slice()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn read(bytes: &mut &[u8]) -> Option<Frame> {
        let [kind] = take(bytes)?;
        let numbers = (0..take_length(bytes)?).map(|_| take(bytes).map(u64::from_ne_bytes)).collect::<Option<_>>()?;
        let lists = (0..take_length(bytes)?).map(|_| take_list(bytes)).collect::<Option<_>>()?;
        Some(Frame { kind, numbers, lists })
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let length = u32::try_from(length).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    bytes.extend_from_slice(&length.to_ne_bytes());
    Ok(())
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_ne_bytes(take(bytes)?)).ok()
}

fn take_list(bytes: &mut &[u8]) -> Option<Vec<Vec<u8>>> {
    let item = |bytes: &mut &[u8]| {
        let length = take_length(bytes)?;
        let (item, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(item.to_vec())
    };
    (0..take_length(bytes)?).map(|_| item(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_arrives_as_it_was_sent_and_half_of_one_is_an_error() {
        let frame = Frame {
            kind: 3,
            numbers: vec![0, u64::MAX],
            lists: vec![vec![b"a".to_vec(), Vec::new()], Vec::new(), vec![vec![0xff; 300]]],
        };
        let mut bytes = Vec::new();
        frame.send(&mut bytes).expect("memory takes it");
        frame.send(&mut bytes).expect("memory takes it");
        let mut both = bytes.as_slice();
        assert_eq!(Frame::receive(&mut both).expect("the first"), frame);
        assert_eq!(Frame::receive(&mut both).expect("the second"), frame);
        assert_eq!(Frame::receive(&mut both).expect_err("no third").kind(), io::ErrorKind::UnexpectedEof);
        // A length inside that is too large.
        bytes[5] = 0xff;
        assert_eq!(Frame::receive(bytes.as_slice()).expect_err("nonsense").kind(), io::ErrorKind::InvalidData);
    }
}
