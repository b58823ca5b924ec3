//! Mach-O: what dyld and the kernel of macOS will refuse, told from the file alone, on any system.
//!
//! | module | what it reads |
//! |---|---|
//! | [`container`] | universal files: which pieces there are |
//! | [`slice`] | a piece's header and load commands |
//! | [`signature`], [`entitlements`] | its code signature |
//! | [`heap`], [`symbols`] | allocators, sanitizers, Go, interpreters |
//! | [`protected`] | the paths of System Integrity Protection |
//! | [`dylib`] | the library that would be inserted |
//! | [`refusal`] | what follows from all that |
//!
//! What dyld and AppleMobileFileIntegrity do with a flag is from Apple's published source and from reports of others;
//! nothing here was run on a Mac. A signature is read, not verified, and System Integrity Protection is taken to be on.

mod container;
mod dylib;
mod entitlements;
mod heap;
mod protected;
mod refusal;
mod signature;
mod slice;
mod symbols;
#[cfg(test)]
mod tests;

use super::{Effect, Obstacle};
use crate::library::{Library, System, Target};
use crate::terminal::printable;
use container::{Container, Kind, Piece};
use dylib::Dylib;
use object::Architecture;
use object::read::ReadRef;
use slice::Slice;
use std::path::Path;

/// Why something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Damage(String);

impl Damage {
    fn new(what: impl Into<String>) -> Damage {
        Damage(what.into())
    }
}

impl From<object::read::Error> for Damage {
    fn from(error: object::read::Error) -> Damage {
        let text = error.to_string();
        let mut letters = text.chars();
        // "Invalid Mach-O …" in the middle of a sentence.
        Damage(letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default())
    }
}

/// Examines a Mach-O file, thin or universal: for which processor it will run, what stands in the way, worst first, and
/// what is worth knowing. `path` is the file's, without symbolic links; its data may have been read from anywhere.
///
/// `library` is what would be inserted. Without one, and with one for another system, the file is judged for the
/// library that `cargo build` makes on a Mac. Any bytes are good enough: what makes no sense is the obstacle `damaged`.
pub fn examine<'data, R: ReadRef<'data>>(
    path: &Path,
    data: R,
    library: Option<&Library>,
) -> (Option<Target>, Vec<Obstacle>, Vec<String>) {
    let name = printable(path);
    let damaged = |Damage(what)| Obstacle {
        id: "damaged",
        effect: Effect::Unsure,
        cause: format!("{name} cannot be understood: {what}"),
        remedy: "get the file anew; if macOS runs it as it is, report this".to_owned(),
    };
    let (pieces, is_universal) = match container::read(data) {
        Ok(Container::Thin(piece)) => (vec![piece], false),
        Ok(Container::Universal(pieces)) => (pieces, true),
        Ok(Container::JavaClass) => {
            let obstacle = Obstacle {
                id: "not_a_program",
                effect: Effect::Prevents,
                cause: format!("{name} is a Java class, which the system does not run"),
                remedy: "examine java, which runs it".to_owned(),
            };
            return (None, vec![obstacle], Vec::new());
        }
        Err(damage) => return (None, vec![damaged(damage)], Vec::new()),
    };
    let dylib = Dylib::of(library);
    let mut notes = Vec::new();
    let running = running(&pieces, &dylib);
    if is_universal {
        notes.push(format!(
            "{name} is universal ({}); {}",
            container::names(pieces.iter().map(|piece| &piece.kind)),
            if running.is_empty() {
                "no macOS of today runs any of it".to_owned()
            } else {
                let runs = running.iter().map(|run| format!("{} is what {} runs", run.piece.kind.name(), run.machines));
                runs.collect::<Vec<_>>().join(", ")
            }
        ));
    }
    if let ([run], Some(other)) = (&running[..], pieces.iter().find(|piece| APPLE_SILICON_OWN.contains(&piece.kind)))
        && !APPLE_SILICON_OWN.contains(&run.piece.kind)
    {
        notes.push(format!(
            "{} is for Intel Macs; on Apple silicon the {} piece of {name} would run, and inserting it would end the program",
            dylib.name,
            other.kind.name()
        ));
    }
    if running.is_empty() {
        return (None, vec![refusal::architecture(&name, &pieces)], notes);
    }

    let slices: Vec<_> = running.iter().map(|run| Slice::read(data, run.piece)).collect();
    let refusals = |slice: &Result<Slice, Damage>, name: &str| match slice {
        Ok(slice) => refusal::of(slice, path, name, &dylib),
        Err(damage) => vec![damaged(damage.clone())],
    };
    let mut obstacles: Vec<_> = slices.iter().map(|slice| refusals(slice, &name)).collect();
    if let [first, second] = &obstacles[..] {
        // What holds for one piece only is said of that piece.
        let ids = |obstacles: &[Obstacle]| obstacles.iter().map(|obstacle| obstacle.id).collect::<Vec<_>>();
        let (in_first, in_second) = (ids(first), ids(second));
        for (at, others) in [(0, in_second), (1, in_first)] {
            let (Some(run), Some(slice), Some(found)) = (running.get(at), slices.get(at), obstacles.get_mut(at)) else {
                continue;
            };
            let named = refusals(slice, &format!("the {} piece of {name}", run.piece.kind.name()));
            for (obstacle, named) in found.iter_mut().zip(named) {
                if !others.contains(&obstacle.id) {
                    *obstacle = named;
                }
            }
        }
    }
    let mut found: Vec<Obstacle> = Vec::new();
    for obstacle in refusal::of_file(path, &name).into_iter().chain(obstacles.into_iter().flatten()) {
        if !found.iter().any(|known| known.id == obstacle.id) {
            found.push(obstacle);
        }
    }
    found.sort_by_key(|obstacle| obstacle.effect);
    for slice in slices.iter().flatten() {
        notes.extend(refusal::notes(slice, &name).into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
    }
    let best = slices.iter().flatten().find(|slice| dylib.is_for(&slice.kind));
    (best.or_else(|| slices.iter().flatten().next()).map(target), found, notes)
}

/// What Apple silicon runs without Rosetta.
const APPLE_SILICON_OWN: &[Kind] = &[Kind::Arm64e, Kind::Arm64];

/// A piece that runs, and where.
struct Run<'a> {
    piece: &'a Piece,
    machines: &'static str,
}

/// The pieces that the kernel will choose, on the machines for which the library is; when it chooses none there, on
/// others.
fn running<'a>(pieces: &'a [Piece], dylib: &Dylib) -> Vec<Run<'a>> {
    const APPLE_SILICON: &[Kind] = &[Kind::Arm64e, Kind::Arm64, Kind::X86_64, Kind::X86_64h];
    const INTEL: &[Kind] = &[Kind::X86_64h, Kind::X86_64];
    let choose = |order: &[Kind]| order.iter().find_map(|kind| pieces.iter().find(|piece| piece.kind == *kind));
    let is_for = |kinds: &[Kind]| dylib.kinds.iter().any(|kind| kinds.contains(kind));
    let (apple, intel) = (choose(APPLE_SILICON), choose(INTEL));
    let run = |piece: Option<&'a Piece>, machines| piece.map(|piece| Run { piece, machines });
    let (mut on_apple, mut on_intel) = (None, None);
    if is_for(APPLE_SILICON_OWN) {
        on_apple = run(apple, "Apple silicon");
    }
    if is_for(INTEL) {
        on_intel = run(intel, "an Intel Mac");
    }
    match (on_apple, on_intel) {
        (Some(apple), Some(intel)) if std::ptr::eq(apple.piece, intel.piece) => {
            vec![Run { machines: "every Mac", ..apple }]
        }
        (None, None) => run(apple, "Apple silicon").or(run(intel, "an Intel Mac")).into_iter().collect(),
        (apple, intel) => apple.into_iter().chain(intel).collect(),
    }
}

fn target(slice: &Slice) -> Target {
    let (architecture, sub_architecture) = match slice.kind {
        Kind::Arm64 => (Architecture::Aarch64, None),
        Kind::Arm64e => (Architecture::Aarch64, Some(format!("{:?}", object::SubArchitecture::Arm64E))),
        Kind::X86_64 | Kind::X86_64h => (Architecture::X86_64, None),
        Kind::Other(_) => (Architecture::Unknown, None),
    };
    Target { system: System::MacOs, architecture, sub_architecture, bits: slice.bits, endianness: slice.endianness }
}
