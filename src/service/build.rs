//! Leaves out the spaces of `docs/openapi.json` that people read it by: the script has the rest.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let document = "../../docs/openapi.json";
    println!("cargo::rerun-if-changed={document}");
    println!("cargo::rerun-if-changed=build.rs");
    // No text of it goes over a line's end.
    let lines: String = fs::read_to_string(document)?
        .lines()
        .map(str::trim_start)
        .collect();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("openapi.json"), lines)?;
    Ok(())
}
