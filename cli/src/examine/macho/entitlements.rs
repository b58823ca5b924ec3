//! What a signature permits a process: a dictionary, as XML property list or in DER. Only what is `true` matters here.

use super::Damage;
use quick_xml::Reader;
use quick_xml::events::Event;
use std::collections::BTreeSet;

/// The keys whose value is true.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entitlements(BTreeSet<String>);

impl Entitlements {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains(key)
    }

    /// From a property list: `<plist><dict><key>…</key><true/>…`. Dictionaries inside are another matter.
    pub(super) fn from_xml(text: &[u8]) -> Result<Entitlements, Damage> {
        let damaged = || Damage::new("the entitlements in its code signature are not XML");
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        // Some signers count a C string's end.
        let mut reader = Reader::from_str(text.trim_end_matches('\0'));
        // The kernel's own reader takes both for the same.
        reader.config_mut().expand_empty_elements = true;
        let mut found = BTreeSet::new();
        // The elements around the one that is read.
        let mut depth = 0_u64;
        let (mut in_key, mut key) = (false, None::<String>);
        loop {
            match reader.read_event().map_err(|_| damaged())? {
                Event::Start(element) => {
                    let name = element.local_name();
                    if depth == 2 {
                        in_key = name.as_ref() == "key";
                        match key.take() {
                            _ if in_key => key = Some(String::new()),
                            Some(key) if name.as_ref() == "true" => _ = found.insert(key),
                            _ => {}
                        }
                    }
                    depth = depth.saturating_add(1);
                }
                Event::End(_) => {
                    depth = depth.saturating_sub(1);
                    in_key &= depth > 2;
                }
                Event::Text(text) if in_key && depth == 3 => {
                    if let Some(key) = &mut key {
                        key.push_str(&text);
                    }
                }
                // `&#46;`; the names of entities are of no interest, and a key with one is another key.
                Event::GeneralRef(reference) if in_key && depth == 3 => {
                    if let Some(key) = &mut key {
                        key.push(reference.resolve_char_ref().ok().flatten().unwrap_or('&'));
                    }
                }
                Event::Eof => return Ok(Entitlements(found)),
                _ => {}
            }
        }
    }

    /// From DER: a set of (key, value), or, since macOS 12.3, `[APPLICATION 16] { version, [16] { (key, value) … } }`.
    pub(super) fn from_der(bytes: &[u8]) -> Result<Entitlements, Damage> {
        let damaged = || Damage::new("the entitlements in its code signature are not DER");
        let mut outer = Elements(bytes);
        let entries = match outer.next().ok_or_else(damaged)?.ok_or_else(damaged)? {
            (SET | DICTIONARY, entries) => entries,
            (VERSIONED, content) => {
                let dictionary = Elements(content).flatten().find(|(tag, _)| *tag == DICTIONARY);
                dictionary.ok_or_else(damaged)?.1
            }
            _ => return Err(damaged()),
        };
        let mut found = BTreeSet::new();
        for entry in Elements(entries) {
            let (SEQUENCE, entry) = entry.ok_or_else(damaged)? else { return Err(damaged()) };
            let mut entry = Elements(entry).flatten();
            let (Some((TEXT, key)), Some(value)) = (entry.next(), entry.next()) else { return Err(damaged()) };
            if matches!(value, (BOOLEAN, [value]) if *value != 0) {
                found.insert(String::from_utf8_lossy(key).into_owned());
            }
        }
        Ok(Entitlements(found))
    }
}

const BOOLEAN: u8 = 0x01;
const TEXT: u8 = 0x0c;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSIONED: u8 = 0x70;
const DICTIONARY: u8 = 0xb0;

/// The elements of DER beside one another, each a tag and its content; `None`, and then the end, where it is damaged.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = Option<(u8, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let element = self.element();
        if element.is_none() {
            self.0 = &[];
        }
        Some(element)
    }
}

impl<'a> Elements<'a> {
    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        // Tags of several bytes do not occur here.
        let (first, rest) = rest.split_first().filter(|_| tag & 0x1f != 0x1f)?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }
}
