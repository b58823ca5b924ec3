//! Mach-O files made by hand: header, load commands, one section of constants, symbols and a code signature, laid out
//! as Apple's linker does. Little-endian; the signature and universal headers are big-endian.

pub(super) const ARM64: (u32, u32) = (0x0100_000c, 0);
pub(super) const ARM64E: (u32, u32) = (0x0100_000c, 0x8000_0002);
pub(super) const X86_64: (u32, u32) = (0x0100_0007, 3);
pub(super) const I386: (u32, u32) = (7, 3);

/// What a piece shall have. The default is an executable for arm64 without a signature, of `clang` on macOS 13.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) cpu: (u32, u32),
    pub(super) file_type: u32,
    pub(super) platform: u32,
    pub(super) is_dynamic: bool,
    pub(super) crypt: u32,
    pub(super) sections: Vec<(&'static str, &'static str)>,
    pub(super) constants: &'static [u8],
    pub(super) libraries: Vec<&'static str>,
    /// Names as the linker writes them, and whether they are defined.
    pub(super) symbols: Vec<(&'static str, bool)>,
    pub(super) signature: Option<Vec<u8>>,
}

impl Default for Program {
    fn default() -> Program {
        Program {
            cpu: ARM64,
            file_type: 2,
            platform: 1,
            is_dynamic: true,
            crypt: 0,
            sections: Vec::new(),
            constants: b"usage: program\0",
            libraries: vec!["/usr/lib/libSystem.B.dylib"],
            symbols: vec![("_main", true), ("_malloc", false)],
            signature: None,
        }
    }
}

impl Program {
    pub(super) fn signed(signature: &Sign) -> Program {
        Program { signature: Some(signature.build()), ..Program::default() }
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let is_64 = self.cpu.0 & 0x0100_0000 != 0;
        // Commands first with offsets that are not known yet, then again: their size is the same.
        let size = self.commands(is_64, 0).1.len();
        let header = if is_64 { 32 } else { 28 };
        let begin = header + size;
        let (count, commands) = self.commands(is_64, begin as u32);
        let mut file = Vec::new();
        let magic = if is_64 { 0xfeed_facf_u32 } else { 0xfeed_face };
        for word in [magic, self.cpu.0, self.cpu.1, self.file_type, count, commands.len() as u32, 0x85, 0] {
            file.extend(word.to_le_bytes());
        }
        file.truncate(header);
        file.extend(commands);
        file.extend(self.constants);
        let (names, table) = self.symbol_table(is_64);
        file.extend(table);
        file.extend(names);
        file.extend(self.signature.iter().flatten());
        file
    }

    /// Number and bytes of the load commands, for contents that begin at an offset: constants, symbols, signature.
    fn commands(&self, is_64: bool, begin: u32) -> (u32, Vec<u8>) {
        let mut commands = Vec::new();
        let mut count = 0;
        let mut add = |words: &[u32], tail: &[u8]| {
            let size = (8 + words.len() * 4 - 4 + tail.len()).next_multiple_of(8);
            let at = commands.len();
            commands.extend(words[0].to_le_bytes());
            commands.extend((size as u32).to_le_bytes());
            words[1..].iter().for_each(|word| commands.extend(word.to_le_bytes()));
            commands.extend(tail);
            commands.resize(at + size, 0);
            count += 1;
        };
        let mut sections = vec![("__TEXT", "__cstring")];
        sections.extend(&self.sections);
        let mut tail = Vec::new();
        for (index, (segment, section)) in sections.iter().enumerate() {
            tail.extend(name16(section));
            tail.extend(name16(segment));
            let size = if index == 0 { self.constants.len() as u32 } else { 0 };
            // Address and size are of 8 bytes for 64 bits.
            let words: &[u32] = if is_64 { &[0, 0, size, 0, begin] } else { &[0, size, begin] };
            words.iter().for_each(|word| tail.extend(word.to_le_bytes()));
            tail.extend(vec![0; if is_64 { 28 } else { 24 }]);
        }
        let mut segment = name16("__TEXT").to_vec();
        segment.extend(vec![0; if is_64 { 32 } else { 16 }]);
        for word in [5, 5, sections.len() as u32, 0_u32] {
            segment.extend(word.to_le_bytes());
        }
        segment.extend(tail);
        add(&[if is_64 { 0x19 } else { 1 }], &segment);

        let (names, table) = self.symbol_table(is_64);
        let symbols = begin + self.constants.len() as u32;
        let strings = symbols + table.len() as u32;
        add(&[2, symbols, self.symbols.len() as u32, strings, names.len() as u32], &[]);
        if self.is_dynamic {
            add(&[0xe, 12], b"/usr/lib/dyld\0");
        }
        for library in &self.libraries {
            add(&[0xc, 24, 2, 0x1_0000, 0x1_0000], format!("{library}\0").as_bytes());
        }
        add(&[0x32, self.platform, 0x000d_0000, 0x000d_0000, 0], &[]);
        if self.crypt != 0 {
            add(&[0x2c, 0, 4096, self.crypt, 0], &[]);
        }
        if let Some(signature) = &self.signature {
            add(&[0x1d, strings + names.len() as u32, signature.len() as u32], &[]);
        }
        (count, commands)
    }

    /// The names, and the symbols that point at them.
    fn symbol_table(&self, is_64: bool) -> (Vec<u8>, Vec<u8>) {
        let (mut names, mut table) = (b" \0".to_vec(), Vec::new());
        for (name, is_defined) in &self.symbols {
            table.extend((names.len() as u32).to_le_bytes());
            table.extend(if *is_defined { [0x0f, 1, 0, 0] } else { [0x01, 0, 0, 0] });
            table.extend(vec![0; if is_64 { 8 } else { 4 }]);
            names.extend(name.as_bytes());
            names.push(0);
        }
        (names, table)
    }
}

fn name16(name: &str) -> [u8; 16] {
    std::array::from_fn(|at| name.as_bytes().get(at).copied().unwrap_or(0))
}

/// A universal file of these pieces; with 64-bit offsets, the table has 32 bytes a piece.
pub(super) fn universal(pieces: &[(Vec<u8>, (u32, u32))], is_64: bool) -> Vec<u8> {
    let mut file = if is_64 { 0xcafe_babf_u32 } else { 0xcafe_babe }.to_be_bytes().to_vec();
    file.extend((pieces.len() as u32).to_be_bytes());
    let mut at = 4096_u64;
    for (piece, (cpu, sub)) in pieces {
        file.extend(cpu.to_be_bytes());
        file.extend(sub.to_be_bytes());
        if is_64 {
            file.extend(at.to_be_bytes());
            file.extend((piece.len() as u64).to_be_bytes());
            file.extend([0, 0, 0, 12, 0, 0, 0, 0]);
        } else {
            file.extend((at as u32).to_be_bytes());
            file.extend((piece.len() as u32).to_be_bytes());
            file.extend(12_u32.to_be_bytes());
        }
        at += piece.len().next_multiple_of(4096) as u64;
    }
    for (piece, _) in pieces {
        file.resize(file.len().next_multiple_of(4096), 0);
        file.extend(piece);
    }
    file
}

/// Entitlements, as `codesign` writes them.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Xml,
    /// Before macOS 12.3: a set.
    OldDer,
    Der,
    /// XML that permits, and DER that does not.
    XmlAgainstDer,
}

/// What a signature shall say.
#[derive(Clone)]
pub(super) struct Sign {
    pub(super) flags: u32,
    pub(super) platform: u8,
    pub(super) team: &'static str,
    pub(super) entitlements: Vec<(&'static str, bool)>,
    pub(super) form: Form,
}

impl Default for Sign {
    fn default() -> Sign {
        Sign { flags: 0, platform: 0, team: "", entitlements: Vec::new(), form: Form::Xml }
    }
}

impl Sign {
    pub(super) fn build(&self) -> Vec<u8> {
        let mut parts = vec![(0, self.directory(self.flags, 2)), (2, blob(0xfade_0c01, &[0; 4]))];
        if !self.entitlements.is_empty() {
            match self.form {
                Form::Xml => parts.push((5, blob(0xfade_7171, self.xml().as_bytes()))),
                Form::OldDer => parts.push((7, blob(0xfade_7172, &tlv(0x31, &self.entries())))),
                Form::Der => parts.push((7, self.der(&self.entries()))),
                Form::XmlAgainstDer => {
                    parts.push((5, blob(0xfade_7171, self.xml().as_bytes())));
                    parts.push((7, self.der(&[])));
                }
            }
        }
        // The one with the weaker hash, as for systems before 10.11.5: it must not count.
        parts.push((0x1000, self.directory(0, 1)));
        let mut content = (parts.len() as u32).to_be_bytes().to_vec();
        let mut at = 12 + parts.len() * 8;
        for (slot, part) in &parts {
            content.extend((*slot as u32).to_be_bytes());
            content.extend((at as u32).to_be_bytes());
            at += part.len();
        }
        parts.iter().for_each(|(_, part)| content.extend(part));
        blob(0xfade_0cc0, &content)
    }

    fn directory(&self, flags: u32, hash: u8) -> Vec<u8> {
        let mut directory = Vec::new();
        let identifier = b"org.example.program\0";
        let team = if self.team.is_empty() { 0 } else { 52 + identifier.len() as u32 };
        // Version, flags, hashes, identifier, special and code slots, limit of the code.
        for word in [0x2_0400, flags, 0, 52, 0, 0, 0] {
            directory.extend(u32::to_be_bytes(word));
        }
        directory.extend([32, hash, self.platform, 12]);
        // Spare, scatter, team.
        for word in [0, 0, team] {
            directory.extend(u32::to_be_bytes(word));
        }
        directory.extend(identifier);
        directory.extend(self.team.as_bytes());
        directory.push(0);
        blob(0xfade_0c02, &directory)
    }

    fn xml(&self) -> String {
        let entries = self.entitlements.iter().map(|(key, value)| format!("\t<key>{key}</key>\n\t<{value}/>\n"));
        let entries: String = entries.collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
             \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n{entries}</dict>\n</plist>\n"
        )
    }

    fn entries(&self) -> Vec<u8> {
        let entry = |(key, value): &(&str, bool)| {
            tlv(0x30, &[tlv(0x0c, key.as_bytes()), tlv(0x01, &[if *value { 0xff } else { 0 }])].concat())
        };
        self.entitlements.iter().flat_map(entry).collect()
    }

    fn der(&self, entries: &[u8]) -> Vec<u8> {
        blob(0xfade_7172, &tlv(0x70, &[tlv(0x02, &[1]), tlv(0xb0, entries)].concat()))
    }
}

fn blob(magic: u32, content: &[u8]) -> Vec<u8> {
    [&magic.to_be_bytes(), &(content.len() as u32 + 8).to_be_bytes(), content].concat()
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..=0x7f => vec![tag, length as u8],
        0x80..=0xff => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [&head, content].concat()
}
