//! The JSON trees that a node answers with.

/// A value of JSON, as the node keeps it: each has its own text, each object a list of keys beside its list of values, and
/// numbers are kept as text. Not a thrifty tree.
#[derive(Default)]
pub struct Value {
    kind: Kind,
    text: String,
    keys: Vec<String>,
    values: Vec<Value>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Kind {
    #[default]
    Object,
    Array,
    Text,
    Number,
}

impl Value {
    /// An empty list.
    pub fn array() -> Self {
        Value { kind: Kind::Array, ..Value::default() }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Value { kind: Kind::Text, text: text.into(), ..Value::default() }
    }

    /// A number.
    pub fn number(number: u64) -> Self {
        Value { kind: Kind::Number, text: number.to_string(), ..Value::default() }
    }

    /// An object with one member more.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.keys.push(key.into());
        self.values.push(value);
        self
    }

    /// Puts a value at the end of a list.
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// How many values the tree has, itself included, and how many bytes of text.
    pub fn measure(&self) -> (u64, u64) {
        let own = (1, self.text.len() as u64 + self.keys.iter().map(|key| key.len() as u64).sum::<u64>());
        self.values.iter().map(Value::measure).fold(own, |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    /// Writes it as JSON.
    pub fn write(&self, out: &mut String) {
        match self.kind {
            Kind::Number => out.push_str(&self.text),
            Kind::Text => {
                out.push('"');
                out.push_str(&self.text);
                out.push('"');
            }
            Kind::Array | Kind::Object => {
                let (open, close) = if self.kind == Kind::Array { ('[', ']') } else { ('{', '}') };
                out.push(open);
                for (index, value) in self.values.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    if let Some(key) = self.keys.get(index) {
                        out.push('"');
                        out.push_str(key);
                        out.push_str("\":");
                    }
                    value.write(out);
                }
                out.push(close);
            }
        }
    }
}

/// Bytes as the node shows them.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_json() {
        let mut list = Value::array();
        list.push(Value::number(7));
        list.push(Value::text(&hex(&[0x0f, 0xa0])));
        let tree = Value::default().with("tx", list).with("none", Value::array());
        let mut text = String::new();
        tree.write(&mut text);
        assert_eq!(text, r#"{"tx":[7,"0fa0"],"none":[]}"#);
        assert_eq!(tree.measure(), (5, 1 + 4 + 2 + 4));
    }
}
