//! Writes the table of what characters look like without addresses in it. As the library has it, slices within slices, the
//! loader fills in 10,000 addresses at every start of every process of ours, on 160 KiB of pages that nobody shares.

#![expect(clippy::disallowed_methods, reason = "a build script reads cargo's variables and speaks to cargo")]

use std::error::Error;
use std::path::PathBuf;

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let (mut records, mut texts) = (Vec::new(), String::new());
    for character in char::MIN..=char::MAX {
        let plain = character.to_string();
        let looks: String = skeleton(&plain).collect();
        // What is put together of others is taken apart before it is looked up.
        if looks == plain || !character.nfd().eq([character]) {
            continue;
        }
        records.extend(u32::from(character).to_le_bytes());
        records.extend(u16::try_from(texts.len())?.to_le_bytes());
        records.extend(u16::try_from(looks.len())?.to_le_bytes());
        texts.push_str(&looks);
    }
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names the folder")?);
    std::fs::write(folder.join("looks.records"), records)?;
    std::fs::write(folder.join("looks.texts"), texts)?;
    Ok(())
}
