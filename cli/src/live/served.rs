//! What the library shows of itself while it runs (`src/live.rs`): whether small blocks were taken from it, and which
//! memory jemalloc has mapped.

use super::image::Image;
use super::objects::Object;
use jeshim_host::live::Process;
use std::ops::Range;

const SECTION: &str = ".jeshim.live";
const MAGIC: &[u8; 8] = b"jeshim1\0";
/// Magic, fills, used and lost.
const HEAD: u64 = 24;
/// The section's largest size that makes sense, in bytes.
const LARGEST: u64 = 1 << 20;
/// A library whose file is out of reach is searched for in objects up to this size, in bytes.
const SMALL: u64 = 32 << 20;

/// The library in a process.
pub struct Loaded {
    /// Which of the objects it is.
    pub object: usize,
    /// Its version, and that of jemalloc.
    pub versions: (String, String),
    /// What it shows; `None`: its memory cannot be read, or it is of a version that shows nothing.
    pub shown: Option<Shown>,
}

/// What it shows.
pub struct Shown {
    /// Small blocks were handed out by the slow path at least so often; it counts up to 1000.
    pub fills: u64,
    /// Mappings of jemalloc that found no place in `ranges`.
    pub lost: u32,
    /// The addresses that jemalloc has mapped, sorted.
    pub ranges: Vec<Range<u64>>,
}

/// Finds the library among the objects, by what its file says about itself.
pub fn find(process: &Process, objects: &[Object]) -> Option<Loaded> {
    objects.iter().enumerate().find_map(|(index, object)| {
        let about = about(&object.image)?;
        let word = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        let shown = place(&object.image).and_then(|(address, size)| shown(process, object, address, size));
        Some(Loaded { object: index, versions: (word("jeshim "), word("jemalloc ")), shown })
    })
}

/// What the library says about itself, when it is the library.
fn about(image: &Image) -> Option<String> {
    let bytes = if image.has_sections() {
        let (address, size) = image.section(".jeshim.about")?;
        image.at(address, size)?
    } else {
        // No sections in memory: look for its second line.
        let mut parts = small(image)?.filter(|segment| !segment.writable && !segment.executable);
        parts.find_map(|segment| {
            let bytes = image.at(segment.address, segment.file_size)?;
            let second = memchr::memmem::find(&bytes, b"\njemalloc ")?;
            let first = memchr::memrchr(b'j', bytes.get(..second)?)?;
            let text = bytes.get(first..)?;
            let end = text
                .iter()
                .position(|byte| !(byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n')))
                .unwrap_or(text.len());
            text.starts_with(b"jeshim ").then(|| text.get(..end).unwrap_or_default().to_vec())
        })?
    };
    String::from_utf8(bytes).ok().filter(|text| text.starts_with("jeshim "))
}

/// Where the section is: address without the bias, and size.
fn place(image: &Image) -> Option<(u64, u64)> {
    if image.has_sections() {
        return image.section(SECTION);
    }
    small(image)?.filter(|segment| segment.writable).find_map(|segment| {
        let bytes = image.at(segment.address, segment.file_size)?;
        let at = memchr::memmem::find(&bytes, MAGIC)? as u64;
        // Its own size is not known, that of this version's is.
        Some((segment.address.checked_add(at)?, HEAD + 256 * 16))
    })
}

fn small<'i>(image: &'i Image) -> Option<impl Iterator<Item = &'i super::image::Segment>> {
    let (low, high) = image.extent()?;
    (high - low <= SMALL).then(|| image.loaded())
}

fn shown(process: &Process, object: &Object, address: u64, size: u64) -> Option<Shown> {
    let size = usize::try_from(size).ok().filter(|_| (HEAD..=LARGEST).contains(&size))?;
    let mut bytes = vec![0; size];
    process.read(object.bias.wrapping_add(address), &mut bytes).ok()?;
    let (head, ranges) = bytes.split_at_checked(HEAD as usize)?;
    let word = |from: usize| Some(u64::from_ne_bytes(head.get(from..from + 8)?.try_into().ok()?));
    let lost = u32::from_ne_bytes(head.get(20..24)?.try_into().ok()?);
    if head.get(..8)? != MAGIC {
        return None;
    }
    let (words, _) = ranges.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut ranges: Vec<Range<u64>> = pairs
        .iter()
        .map(|[start, length]| (u64::from_ne_bytes(*start), u64::from_ne_bytes(*length)))
        .filter(|(_, length)| *length > 0)
        .filter_map(|(start, length)| Some(start..start.checked_add(length)?))
        .collect();
    ranges.sort_by_key(|range| range.start);
    Some(Shown { fills: word(8)?, lost, ranges })
}
