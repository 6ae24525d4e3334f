//! Random content of a tree: directories, files, links and special files by absolute path. It is
//! written to disk, into memory, or split into two layers that give the same content as an overlay.

use super::random::Random;
use linkaudit::tree::{EntryType, MemTree, Special, Tree as _};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Directory,
    File(Vec<u8>),
    Link(String),
    Fifo,
    Socket,
}

/// Items by absolute path. The directories above an item are items too, except `/`.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub items: BTreeMap<PathBuf, Item>,
}

const NAMES: [&str; 8] = ["a", "b", "lib", "opt", "x.so", "y z", "\u{e9}", "..."];

/// A name in a directory. A few names are as long as the kernel permits.
fn name(random: &mut Random) -> String {
    if random.chance(3) { "n".repeat(255) } else { (*random.pick(&NAMES)).to_owned() }
}

fn bytes(random: &mut Random) -> Vec<u8> {
    let head: &[u8] = match random.below(4) {
        0 => b"\x7fELF\x02\x01\x01",
        1 => b"!<arch>\n",
        _ => b"text ",
    };
    let tail = (0..random.below(80)).map(|_| b'a' + u8::try_from(random.below(26)).unwrap_or(0));
    head.iter().copied().chain(tail).collect()
}

impl Content {
    /// About forty items. Without `wild`, links are relative and do not climb out by themselves.
    pub fn random(random: &mut Random, wild: bool) -> Self {
        let mut content = Self::default();
        let mut dirs = vec![PathBuf::from("/")];
        for _ in 0..random.between(10, 40) {
            let path = random.pick(&dirs).join(name(random));
            if content.items.contains_key(&path) {
                continue;
            }
            let item = match random.below(10) {
                0..=3 => Item::Directory,
                4..=5 => Item::File(bytes(random)),
                6..=8 => Item::Link(content.target(random, &path, wild)),
                _ if random.chance(50) => Item::Fifo,
                _ => Item::Socket,
            };
            if item == Item::Directory && path.components().count() < 6 {
                dirs.push(path.clone());
            }
            content.items.insert(path, item);
        }
        if random.chance(20) {
            content.chain(random.between(38, 42));
        }
        content
    }

    /// A chain of links, about as long as the kernel follows.
    fn chain(&mut self, length: usize) {
        self.items.insert("/end".into(), Item::File(b"\x7fELF".to_vec()));
        for at in 0..length {
            let target = if at == 0 { "end".to_owned() } else { format!("chain{}", at - 1) };
            self.items.insert(format!("/chain{at}").into(), Item::Link(target));
        }
    }

    fn target(&self, random: &mut Random, link: &Path, wild: bool) -> String {
        let paths: Vec<&PathBuf> = self.items.keys().collect();
        let mut to = match random.below(8) {
            0 => link.to_path_buf(),
            1 => Path::new("/nowhere").join(name(random)),
            2 => PathBuf::from("/"),
            _ if paths.is_empty() => PathBuf::from("/a"),
            _ => (*random.pick(&paths)).clone(),
        };
        if random.chance(15) {
            to.push(random.pick(&["..", ".", "x.so", "../usr"]));
        }
        let to = to.to_str().expect("UTF-8").to_owned();
        let end = if random.chance(10) { "/" } else { "" };
        if wild && random.chance(40) {
            return format!("{to}{end}");
        }
        let up = link.components().count() - 2 + if wild { random.below(3) } else { 0 };
        let target = format!("{}{}{end}", "../".repeat(up), to.trim_start_matches('/'));
        if target.is_empty() { ".".to_owned() } else { target }
    }

    /// Writes everything below `top`, a directory that does not exist yet.
    pub fn on_disk(&self, top: &Path) {
        std::fs::create_dir_all(top).expect("a directory");
        for (path, item) in &self.items {
            let path = top.join(path.strip_prefix("/").expect("an absolute path"));
            match item {
                Item::Directory => std::fs::create_dir(&path).expect("a directory"),
                Item::File(bytes) => std::fs::write(&path, bytes).expect("a file"),
                Item::Link(target) => std::os::unix::fs::symlink(target, &path).expect("a link"),
                Item::Fifo => special(&path, FileType::Fifo),
                Item::Socket => special(&path, FileType::Socket),
            }
        }
    }

    pub fn in_memory(&self, device: u64) -> MemTree {
        let mut tree = MemTree::on_device(device);
        for (path, item) in &self.items {
            match item {
                Item::Directory => tree.directory(path),
                Item::File(bytes) => tree.file(path, bytes.clone()),
                Item::Link(target) => tree.link(path, target),
                Item::Fifo => tree.special(path, Special::Fifo),
                Item::Socket => tree.special(path, Special::Socket),
            };
        }
        tree
    }

    /// Puts an item and makes the directories above it.
    pub fn put(&mut self, path: &Path, item: Item) {
        for above in path.ancestors().skip(1).filter(|above| above.parent().is_some()) {
            self.items.insert(above.to_path_buf(), Item::Directory);
        }
        self.items.insert(path.to_path_buf(), item);
    }

    /// Two layers: each item is in one layer or in both. If it is in both, the lower layer holds
    /// another item, which must be hidden.
    pub fn split(&self, random: &mut Random) -> (Self, Self) {
        let (mut upper, mut lower) = (Self::default(), Self::default());
        // Below these the lower layer holds something else.
        let mut hidden: Vec<&Path> = Vec::new();
        for (path, item) in &self.items {
            let is_hidden = hidden.iter().any(|above| path.starts_with(above));
            match (item, if is_hidden { 0 } else { random.below(5) }) {
                (_, 0) => upper.put(path, item.clone()),
                (_, 1..=2) => lower.put(path, item.clone()),
                (Item::Directory, 3) => {
                    upper.put(path, Item::Directory);
                    lower.put(path, Item::Directory);
                }
                (_, _) => {
                    upper.put(path, item.clone());
                    lower.put(path, hidden_item(random, item));
                    hidden.push(path);
                }
            }
        }
        // Items may have been put below a path that is a file in the lower layer.
        for path in &hidden {
            if let Some(Item::Directory) = lower.items.get(*path) {
                lower.put(&path.join("decoy"), Item::File(b"\x7fELF decoy".to_vec()));
            }
        }
        upper.unpack_over(&lower, random);
        (upper, lower)
    }

    /// Moves entries of directories to which links of the lower layer lead. They move into
    /// directories with the names of these links.
    fn unpack_over(&mut self, lower: &Self, random: &mut Random) {
        let tree = lower.in_memory(1);
        for (link, item) in &lower.items {
            let free = link.ancestors().all(|above| {
                above == Path::new("/")
                    || (above == link && !self.items.contains_key(above))
                    || (above != link && lower.items.get(above) == Some(&Item::Directory))
                        && matches!(self.items.get(above), None | Some(Item::Directory))
            });
            if !matches!(item, Item::Link(_)) || !free || random.chance(30) {
                continue;
            }
            let Ok(real) = tree.real_path(link) else { continue };
            let inside = |path: &&PathBuf| path.parent() == Some(&*real);
            if tree.kind(&real) != Ok(EntryType::Directory) {
                continue;
            }
            let entries: Vec<PathBuf> = self.items.keys().filter(inside).cloned().collect();
            for entry in entries {
                if self.items[&entry] != Item::Directory {
                    let item = self.items.remove(&entry).expect("it is there");
                    self.put(&link.join(entry.file_name().expect("a name")), item);
                }
            }
        }
    }
}

/// A random item that an item of an upper layer hides. Its links are dangling, because an upper
/// directory does not hide a link to a directory.
fn hidden_item(random: &mut Random, item: &Item) -> Item {
    match random.below(4) {
        0 => Item::File(b"\x7fELF hidden".to_vec()),
        1 => Item::Fifo,
        2 => Item::Link("/nowhere/at/all".to_owned()),
        _ if *item == Item::Directory => Item::Socket,
        _ => Item::Directory,
    }
}

fn special(path: &Path, kind: FileType) {
    mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), 0).expect("a special file");
}
