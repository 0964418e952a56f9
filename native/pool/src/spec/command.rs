//! A program of the host's files, run as a shell would run it.

use std::io;
use std::path::Path;

use crate::spec::libraries::library_mounts;
use crate::spec::mount::Mount;
use crate::spec::{Limits, Spec};

/// Most sockets with names among the threads of such a program.
const SOCKETS: usize = 1024;

impl Spec {
    /// Runs a file of the host under its real path, in the current folder, with the libraries that it names, `/tmp` to write in, and sockets
    /// among its threads. The command's first word is the program's name. The environment is empty.
    pub fn command(program: &Path, command: &[String]) -> io::Result<Spec> {
        let program = program.canonicalize()?;
        let path = program.display().to_string();
        let mut mounts = vec![Mount::host(&path, &program)];
        mounts.extend(library_mounts(&program));
        Ok(Spec {
            path,
            arguments: command.to_vec(),
            mounts,
            folder: std::env::current_dir()?.display().to_string(),
            writable: Some("/tmp".into()),
            limits: Limits {
                sockets: SOCKETS,
                ..Limits::default()
            },
            ..Spec::default()
        })
    }

    /// Shows a file or folder of the host to the program, under the path that it has there, and the libraries that it names.
    pub fn show(&mut self, path: &Path) -> io::Result<()> {
        let real = path.canonicalize()?;
        let shown = std::path::absolute(path)?.display().to_string();
        self.mounts.push(Mount::host(shown, &real));
        self.mounts.extend(library_mounts(&real));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_sees_its_file_and_its_libraries_under_real_paths() {
        let program = std::env::current_exe().unwrap();
        let spec = Spec::command(&program, &["test".into(), "-v".into()]).unwrap();
        assert_eq!(spec.path, program.canonicalize().unwrap().display().to_string());
        assert_eq!(spec.arguments, ["test", "-v"]);
        assert_eq!(spec.mounts[0].guest, spec.path);
        assert_eq!(spec.mounts[1..], library_mounts(&program));
        assert!(spec.environment.is_empty() && spec.limits.sockets == SOCKETS);
        assert!(Spec::command(Path::new("/no/such/program"), &[]).is_err());
    }

    #[test]
    fn what_is_shown_keeps_the_path_that_it_was_named_by() {
        let folder = std::env::temp_dir().join(format!("mayfly-show-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        std::fs::write(&file, "text").unwrap();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut spec = Spec::default();
        spec.show(&link).unwrap();
        let expected = Mount::host(link.display().to_string(), file.canonicalize().unwrap());
        assert_eq!(spec.mounts, [expected]);
        assert!(spec.show(&folder.join("none")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
