//! The corpora of the fuzz targets, replayed. `fuzz/run` looks for more.

#![cfg(feature = "testing")]

use std::fs;
use std::path::Path;

#[allow(unreachable_pub, reason = "a crate of its own for the fuzzer")]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

#[test]
#[allow(clippy::disallowed_methods, reason = "the core reads no files; its tests may")]
fn what_was_found_stays_fixed() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, target) in fuzz::TARGETS {
        let files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().collect();
        assert!(files.len() >= 5, "{name} has a corpus of {} files", files.len());
        for file in files {
            let path = file.unwrap().path();
            // The name tells which one it was, should it panic.
            eprintln!("{}", path.display());
            target(&fs::read(path).unwrap());
        }
    }
    let mut folders: Vec<_> =
        fs::read_dir(corpora).unwrap().map(|it| it.unwrap().file_name()).collect();
    folders.sort();
    assert!(folders.iter().eq(fuzz::TARGETS.map(|(name, _)| name).iter()), "{folders:?}");
}
