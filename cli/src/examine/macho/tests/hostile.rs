//! Files that are cut off, lie, or are nonsense.

use super::fixture::{ARM64, Form, I386, Program, Sign, X86_64, universal};
use super::{ALLOW, ANY_LIBRARY, RUNTIME, ids, judge, judge_at};
use crate::examine::Effect;
use crate::examine::macho::examine;
use std::path::Path;

/// Files of every sort, for the two tests that follow.
fn files() -> Vec<Vec<u8>> {
    let sign =
        |form| Sign { flags: RUNTIME, team: "TEAM", entitlements: vec![ALLOW, ANY_LIBRARY], form, ..Sign::default() };
    let arm64 = Program {
        sections: vec![("__RESTRICT", "__restrict"), ("__TEXT", "__const")],
        crypt: 1,
        ..Program::signed(&sign(Form::Der))
    };
    let intel = Program { cpu: X86_64, ..Program::signed(&sign(Form::Xml)) };
    let pieces = [(arm64.build(), ARM64), (intel.build(), X86_64)];
    let small = Program { cpu: I386, ..Program::default() }.build();
    vec![arm64.build(), intel.build(), small, universal(&pieces, false), universal(&pieces, true)]
}

#[test]
fn a_file_that_is_cut_off_is_never_found_to_be_good() {
    for file in files().into_iter().filter(|file| !file.starts_with(&[0xce])) {
        let whole = judge_at("/opt/app", &file, None).1;
        for length in 0..file.len() {
            let found = judge_at("/opt/app", &file[..length], None).1;
            assert!(
                ids(&found).contains(&("damaged", Effect::Unsure)) || found.len() >= whole.len(),
                "{length}: {found:?}"
            );
        }
    }
    assert_eq!(judge(b""), [("damaged", Effect::Unsure)]);
    assert_eq!(judge(b"\x7fELF"), [("damaged", Effect::Unsure)]);
    // A universal file whose only piece is itself.
    let mut own = universal(&[(Vec::new(), ARM64)], false);
    own[16..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0x10, 0]);
    own.resize(4096, 0);
    assert_eq!(judge(&own), [("damaged", Effect::Unsure)]);
}

#[test]
fn sizes_that_lie_are_damage() {
    // More parts than the signature has room for.
    let mut signature = Sign { flags: RUNTIME, ..Sign::default() }.build();
    signature[8..12].copy_from_slice(&[0, 0, 1, 0]);
    let program = Program { signature: Some(signature), ..Program::default() };
    let (_, found, _) = judge_at("/opt/app", &program.build(), None);
    assert_eq!(ids(&found), [("damaged", Effect::Unsure)]);
    assert!(found[0].cause.contains("index is longer"), "{found:?}");
    // A piece whose signature would lie in the next piece.
    let mut piece = Program::signed(&Sign::default()).build();
    let whole = piece.len();
    piece.truncate(whole - 8);
    let other = Program { cpu: X86_64, ..Program::default() }.build();
    let (_, found, _) = judge_at("/opt/app", &universal(&[(piece, ARM64), (other, X86_64)], false), None);
    assert_eq!(ids(&found), [("damaged", Effect::Unsure)]);
    assert!(found[0].cause.contains("code signature"), "{found:?}");
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = fastrand::Rng::with_seed(20_261_201);
    let interesting = [0, 1, 2, 7, 0x7f, 0x80, 0xfe, 0xff];
    for file in files() {
        for _ in 0..2000 {
            let mut file = file.clone();
            for _ in 0..random.usize(1..8) {
                // Mostly in headers and signatures; a page of padding is of no interest.
                let at = random.usize(..file.len());
                let at = if file[at] == 0 && random.bool() { random.usize(..file.len().min(900)) } else { at };
                match random.u8(..4) {
                    0 => file[at] ^= 1 << random.u8(..8),
                    1 => file[at] = random.u8(..),
                    2 => file[at] = interesting[random.usize(..interesting.len())],
                    _ => (at..file.len().min(at + 4)).for_each(|at| file[at] = 0xff),
                }
            }
            if random.u8(..8) == 0 {
                file.truncate(random.usize(..=file.len()));
            }
            let path = Path::new("/opt/app");
            let (by_slice, by_cache) = (
                examine(path, &file[..], None),
                examine(path, &object::ReadCache::new(std::io::Cursor::new(&file[..])), None),
            );
            assert_eq!(by_slice, by_cache);
        }
    }
}
