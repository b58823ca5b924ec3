//! Text built in memory that somebody else provides: no allocation, no panic, no formatting machinery.

/// Text in a buffer of fixed size. Once something did not fit, nothing more is added and [`Text::is_complete`] is
/// false: a cut-off path or option must never be used as if it were whole.
pub struct Text<'a> {
    buffer: &'a mut [u8],
    length: usize,
    complete: bool,
}

impl<'a> Text<'a> {
    /// An empty text over `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Text { buffer, length: 0, complete: true }
    }

    /// Adds bytes, all or none.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Self {
        let end = self.length.saturating_add(bytes.len());
        match self.buffer.get_mut(self.length..end) {
            Some(room) if self.complete => {
                // Not copy_from_slice: its check of the two lengths is a panic path.
                for (to, from) in room.iter_mut().zip(bytes) {
                    *to = *from;
                }
                self.length = end;
            }
            _ => self.complete = false,
        }
        self
    }

    /// Adds a number in decimal.
    pub fn push_number(&mut self, number: u64) -> &mut Self {
        let mut digits = [0_u8; 20];
        let mut rest = number;
        let mut used = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            used += 1;
            if rest == 0 {
                break;
            }
        }
        match digits.get(digits.len() - used..) {
            Some(digits) => self.push(digits),
            None => self,
        }
    }

    /// Adds a number in decimal, at least `width` characters wide, with spaces in front.
    pub fn push_number_aligned(&mut self, number: u64, width: usize) -> &mut Self {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        for _ in digits..width {
            self.push(b" ");
        }
        self.push_number(number)
    }

    /// Adds what `write` writes to the start of the room it is given, and says the length of; `None` when it does not
    /// fit.
    pub fn push_with(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> &mut Self {
        let room = self.buffer.get_mut(self.length..).unwrap_or(&mut []);
        let size = room.len();
        match write(room) {
            Some(length) if self.complete && length <= size => self.length += length,
            _ => self.complete = false,
        }
        self
    }

    /// What was added so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or(&[])
    }

    /// Whether everything that was added did fit.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Takes back everything after the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        if length <= self.length {
            self.length = length;
            self.complete = true;
        }
    }

    /// The text as a C string, or `None` when it did not fit or contains a NUL.
    #[must_use]
    pub fn as_c_str(&mut self) -> Option<&core::ffi::CStr> {
        let end = self.length;
        self.push(b"\0");
        self.length = end;
        if !self.complete {
            return None;
        }
        core::ffi::CStr::from_bytes_with_nul(self.buffer.get(..=end)?).ok()
    }
}

/// The number in decimal at the start of `text`, and what follows it.
#[must_use]
pub fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits).filter(|(digits, _)| !digits.is_empty())?;
    let mut number = 0_u64;
    for digit in digits {
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_all_or_nothing() {
        let mut buffer = [0; 6];
        let mut text = Text::new(&mut buffer);
        text.push(b"abc").push_number(120);
        assert_eq!((text.as_bytes(), text.is_complete()), (&b"abc120"[..], true));
        text.push(b"x").push(b"");
        assert_eq!((text.as_bytes(), text.is_complete()), (&b"abc120"[..], false));
        assert_eq!(text.as_c_str(), None);
        text.truncate(3);
        assert_eq!(text.as_c_str(), Some(c"abc"));
    }

    #[test]
    fn writes_the_smallest_and_largest_number() {
        let mut buffer = [0; 21];
        let mut text = Text::new(&mut buffer);
        text.push_number(0).push_number(u64::MAX);
        assert_eq!(text.as_bytes(), b"018446744073709551615");
    }

    #[test]
    fn aligns_numbers_to_the_right() {
        let mut buffer = [0; 64];
        let mut text = Text::new(&mut buffer);
        text.push_number_aligned(0, 3)
            .push_number_aligned(9, 3)
            .push_number_aligned(10, 3)
            .push_number_aligned(12345, 3);
        assert_eq!(text.as_bytes(), b"  0  9 1012345");
    }

    #[test]
    fn reads_a_number_up_to_the_first_other_byte() {
        assert_eq!(leading_number(b"150000 100000"), Some((150_000, &b" 100000"[..])));
        assert_eq!(leading_number(b"max 100000"), None);
        assert_eq!(leading_number(b"99999999999999999999"), None);
    }
}
