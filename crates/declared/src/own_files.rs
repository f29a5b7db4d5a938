//! What a tool runs from beside its manifest is only ours to write, as the manifest itself is: whoever else could would run with
//! our rights. Of a folder that the command names, the folder is held to that and not what lies in it.

use std::path::{Path, PathBuf};

use sandbox::text_file::{exposure, folder_exposure};

/// Why others could have written or replaced one of these files of a manifest's folder: a sentence for each, with what to do.
/// What cannot be looked at counts. Blocks on the disk.
pub(crate) fn exposed(files: &[PathBuf], folder: &Path) -> Vec<String> {
    let mut sentences = Vec::new();
    for file in files {
        let around = file.ancestors().skip(1).take_while(|above| above.starts_with(folder));
        // A link leads into a folder of its own.
        let real = sandbox::text_file::real(file);
        let around = around.chain(real.parent()).map(|above| (above, folder_exposure(above)));
        for (path, found) in [(&**file, exposure(file))].into_iter().chain(around) {
            let sentence =
                found.unwrap_or_else(|why| Some(format!("{} cannot be looked at: {why}", path.display())));
            sentences.extend(sentence.filter(|one| !sentences.contains(one)));
        }
    }
    sentences
}
