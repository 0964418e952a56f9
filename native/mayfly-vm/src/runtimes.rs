//! What this machine has for each runtime of isolated handlers.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What the small guest is compiled with; one of each is enough. The framework's list is in `src/isolate/ffi/build/core_build.ts`.
const TOOLS: [(&str, &[&str]); 4] = [
    ("cargo", &["cargo"]),
    ("cmake", &["cmake"]),
    ("make", &["make", "gmake", "ninja"]),
    ("a C compiler", &["cc", "gcc", "clang"]),
];
const SIMDE: &str = "/usr/include/simde/simde-common.h";

/// Prints a line for each runtime, from the PATH of this process. A server takes the Deno that it runs in itself.
pub fn print_runtimes() {
    let path = env::var_os("PATH").unwrap_or_default();
    println!("runtime     deno: {}", deno(&path));
    println!("runtime     core: {}", core(&path, Path::new(SIMDE)));
}

fn deno(path: &OsStr) -> String {
    match find(path, &["deno"]) {
        Some(file) => format!("{}; a server takes its own", file.display()),
        None => "not in the PATH; a server takes its own".into(),
    }
}

fn core(path: &OsStr, header: &Path) -> String {
    let tools = TOOLS
        .iter()
        .filter(|(_, files)| find(path, files).is_none())
        .map(|&(name, _)| name.to_owned());
    let headers = (!header.is_file()).then(|| header.display().to_string());
    let missing: Vec<String> = tools.chain(headers).collect();
    if missing.is_empty() {
        "can be built here, at its first use".into()
    } else {
        format!(
            "cannot be built here: {} missing; Debian: apt install cmake make gcc libc6-dev libsimde-dev",
            missing.join(", ")
        )
    }
}

fn find(path: &OsStr, files: &[&str]) -> Option<PathBuf> {
    env::split_paths(path)
        .flat_map(|folder| files.iter().map(move |file| folder.join(file)))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_missing_is_named() {
        let folder = env::temp_dir().join(format!("mayfly-runtimes-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let there = folder.as_os_str();
        for file in ["cargo", "ninja", "clang", "header"] {
            fs::write(folder.join(file), "").unwrap();
        }
        let header = folder.join("header");
        let text = core(there, &header);
        assert!(text.starts_with("cannot be built here: cmake missing;"), "{text}");
        fs::write(folder.join("cmake"), "").unwrap();
        assert_eq!(core(there, &header), "can be built here, at its first use");
        let text = core(OsStr::new("/nowhere"), Path::new("/nowhere/simde.h"));
        assert!(
            text.contains("cargo, cmake, make, a C compiler, /nowhere/simde.h missing"),
            "{text}"
        );
        assert_eq!(deno(there), "not in the PATH; a server takes its own");
        fs::write(folder.join("deno"), "").unwrap();
        assert!(deno(there).ends_with("/deno; a server takes its own"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
