//! Looking for names in a symbol table. Programs with a million symbols are common: each name is looked at once, at its
//! beginning only.

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// A whole name, as C sees it: without the underscore before it.
    C(&'static str),
    /// A namespace of C++ around it, with its length before it, as in mangled names: `8tcmalloc`.
    Namespace(&'static str),
}

impl Name {
    /// Whether the name at the beginning of these bytes is the one. The linker's underscore is gone.
    fn begins(self, name: &[u8]) -> bool {
        match self {
            // The first letter turns nearly all of them away.
            Name::C(wanted) => {
                name.first() == wanted.as_bytes().first()
                    && name.strip_prefix(wanted.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
            }
            Name::Namespace(wanted) => name.strip_prefix(b"_ZN").is_some_and(|inner| {
                // Of a function that changes nothing.
                inner.strip_prefix(b"K").unwrap_or(inner).starts_with(wanted.as_bytes())
            }),
        }
    }
}

/// A symbol table.
#[derive(Default)]
pub(super) struct Symbols<'data> {
    /// All names, one after the other, each with a zero at its end.
    names: &'data [u8],
    /// Of each symbol: where its name begins, and whether it is defined here.
    symbols: Vec<(u32, bool)>,
}

impl<'data> Symbols<'data> {
    pub(super) fn new(names: &'data [u8], symbols: impl Iterator<Item = (u32, bool)>) -> Symbols<'data> {
        Symbols { names, symbols: symbols.collect() }
    }

    /// Which of these are there: with `true` what is defined here, with `false` what is imported.
    pub(super) fn find(&self, wanted: &[Name]) -> Vec<(Name, bool)> {
        let mut found = Vec::new();
        let (plain, namespaces): (Vec<Name>, Vec<Name>) =
            wanted.iter().copied().partition(|name| matches!(name, Name::C(_)));
        for (at, is_defined) in &self.symbols {
            let Some([b'_', name @ ..]) = self.names.get(*at as usize..) else { continue };
            for wanted in if name.starts_with(b"_ZN") { &namespaces } else { &plain } {
                if wanted.begins(name) && !found.contains(&(*wanted, *is_defined)) {
                    found.push((*wanted, *is_defined));
                }
            }
        }
        found
    }
}
