//! Making files appear before the program starts.

use std::sync::Arc;

use super::{Folder, Node, NodeKind, ROOT, Vfs};
use crate::fs::granted::{Granted, HostFolder};
use crate::fs::host_file::HostFile;

impl Vfs {
    /// The node of a mount path's directory, made where it is missing.
    fn mount_folder(&mut self, path: &str) -> usize {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let existing = self
                .entry(at, name.as_bytes())
                .filter(|&node| self.is_directory(node));
            at = existing.unwrap_or_else(|| {
                let kind = NodeKind::Directory {
                    entries: Folder::default(),
                    parent: at,
                    writable: false,
                };
                let node = self.add(kind, 0o755);
                self.attach(at, name.as_bytes(), node);
                node
            });
        }
        at
    }

    pub(super) fn mount(&mut self, path: &str, kind: NodeKind, mode: u32) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.mount_folder(folder);
        let node = self.add(kind, mode);
        self.detach(folder, name.as_bytes());
        self.attach(folder, name.as_bytes(), node);
    }

    /// Makes a host file appear at an absolute path, with the directories above it.
    pub fn mount_file(&mut self, path: &str, file: HostFile) {
        let mode = file.mode;
        self.mount(path, NodeKind::Host(file), mode);
    }

    /// Makes a symbolic link appear at an absolute path.
    pub fn mount_link(&mut self, path: &str, target: &str) {
        self.mount(path, NodeKind::Link(target.as_bytes().into()), 0o777);
    }

    /// Makes a directory appear at an absolute path.
    pub fn mount_directory(&mut self, path: &str) {
        self.mount_folder(path);
    }

    /// Makes a folder of the host appear, in place of an empty one. Nothing is to be mounted below it.
    pub fn mount_granted(&mut self, path: &str, granted: Granted) {
        self.mount(path, NodeKind::Granted(granted), 0o755);
    }

    /// Gives each granted folder of a tree that was read from a file what the host offers for it, by its path.
    ///
    /// # Errors
    /// The path of a folder for which there is nothing, or that is longer than a path may be.
    pub fn grant(&mut self, offered: &dyn Fn(&str) -> Option<Arc<dyn HostFolder>>) -> Result<(), String> {
        for number in 0..self.nodes.end() {
            if !self.is_granted(number) {
                continue;
            }
            let path = self.path_of(number).unwrap_or_default();
            let path = String::from_utf8_lossy(&path).into_owned();
            let folder = offered(&path).ok_or(path)?;
            if let Some(node) = self.nodes.get_mut(number) {
                node.kind = NodeKind::Granted(Granted::new(folder));
            }
        }
        self.nodes.mark_clean();
        Ok(())
    }

    /// Whether a path leads into a granted folder.
    #[must_use]
    pub fn is_in_granted(&self, path: &str) -> bool {
        let found = self.resolve(ROOT, path.as_bytes(), true);
        found.is_ok_and(|found| found.granted.is_some())
    }

    /// Makes a directory appear in which the guest may make files.
    pub fn mount_writable(&mut self, path: &str) {
        let node = self.mount_folder(path);
        if let Some(Node {
            kind: NodeKind::Directory { writable, .. },
            mode,
            ..
        }) = self.nodes.get_mut(node)
        {
            (*writable, *mode) = (true, 0o1777);
        }
    }
}
