//! JSON, written into a buffer, one member a line so that `grep` can read it too.

use jeshim_platform::text::Text;

/// A document being written. What does not fit makes the whole incomplete, see [`Text::is_complete`].
pub(super) struct Json<'t, 'b> {
    text: &'t mut Text<'b>,
    depth: usize,
    first: bool,
}

impl<'t, 'b> Json<'t, 'b> {
    /// Begins at the given depth of nesting, as the next member of an object unless `first`.
    pub(super) fn new(text: &'t mut Text<'b>, depth: usize, first: bool) -> Self {
        Json { text, depth, first }
    }

    /// Everything written so far.
    pub(super) fn length(&self) -> usize {
        self.text.as_bytes().len()
    }

    fn name(&mut self, name: &[u8]) -> &mut Self {
        self.text.push(if self.first { b"\n" } else { b",\n" });
        self.first = false;
        for _ in 0..self.depth {
            self.text.push(b"  ");
        }
        self.quote(name);
        self.text.push(b": ");
        self
    }

    /// A member that is an object, with the members that `write` writes.
    pub(super) fn object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.name(name.as_bytes());
        self.text.push(b"{");
        self.depth += 1;
        self.first = true;
        write(self);
        self.depth -= 1;
        self.first = false;
        self.text.push(b"\n");
        for _ in 0..self.depth {
            self.text.push(b"  ");
        }
        self.text.push(b"}");
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name.as_bytes()).text.push_number(value);
    }

    pub(super) fn signed(&mut self, name: &str, value: i64) {
        self.name(name.as_bytes());
        if value < 0 {
            self.text.push(b"-");
        }
        self.text.push_number(value.unsigned_abs());
    }

    pub(super) fn boolean(&mut self, name: &str, value: bool) {
        self.raw(name, if value { b"true" } else { b"false" });
    }

    /// A member whose value is JSON already.
    pub(super) fn raw(&mut self, name: &str, value: &[u8]) {
        self.name(name.as_bytes()).text.push(value);
    }

    /// A string, or null.
    pub(super) fn string(&mut self, name: &str, value: Option<&[u8]>) {
        self.name(name.as_bytes());
        match value {
            Some(value) => self.quote(value),
            None => _ = self.text.push(b"null"),
        }
    }

    /// Writes any bytes as a string; those that are not UTF-8 as U+FFFD.
    fn quote(&mut self, bytes: &[u8]) {
        self.text.push(b"\"");
        for chunk in bytes.utf8_chunks() {
            for byte in chunk.valid().as_bytes() {
                self.escape(*byte);
            }
            if !chunk.invalid().is_empty() {
                self.text.push("\u{fffd}".as_bytes());
            }
        }
        self.text.push(b"\"");
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'"' => _ = self.text.push(b"\\\""),
            b'\\' => _ = self.text.push(b"\\\\"),
            0..=0x1f | 0x7f => {
                let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
                self.text.push(b"\\u00").push(&[digit(byte >> 4), digit(byte & 15)]);
            }
            _ => _ = self.text.push(&[byte]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    fn written(write: impl FnOnce(&mut Json)) -> std::string::String {
        let mut buffer = [0; 512];
        let mut text = Text::new(&mut buffer);
        write(&mut Json::new(&mut text, 0, true));
        std::string::String::from_utf8(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn every_byte_becomes_a_valid_string() {
        let all: std::vec::Vec<u8> = (0..=255).collect();
        for bytes in [&all[..64], &all[64..128], &all[128..160]] {
            let text = std::format!("{{{}}}", written(|json| json.string("x", Some(bytes))));
            let value: serde_json::Value = serde_json::from_str(&text).expect(&text);
            let expected = std::string::String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(value["x"].as_str(), Some(expected.as_str()));
        }
    }

    #[test]
    fn members_are_separated_and_nested() {
        let text = written(|json| {
            json.object("a", |json| {
                json.signed("b", -1);
                json.object("empty", |_| {});
                json.number("c", 2);
            });
            json.boolean("d", true);
            json.string("e", None);
        });
        let value: serde_json::Value = serde_json::from_str(&std::format!("{{{text}}}")).unwrap();
        let expected = serde_json::json!({"a": {"b": -1, "empty": {}, "c": 2}, "d": true, "e": null});
        assert_eq!(value, expected);
    }
}
