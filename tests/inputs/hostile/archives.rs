//! Archives in all forms (GNU, BSD and thin ones, with and without index, nested), with harmful and
//! harmless changes.

use super::case::{Case, Expected, Label};
use super::objects::{self, Object};
use super::random::Random;
use super::shape::{MACHINES, Machine};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Gnu,
    Bsd,
    Thin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Index {
    None,
    Words,
    Longs,
}

struct Member {
    name: String,
    data: Vec<u8>,
    defined: Vec<String>,
}

/// An archive, and the offsets of its headers.
struct Archive {
    bytes: Vec<u8>,
    form: Form,
    index: Index,
    /// Offsets of the headers of members, with the end of each.
    members: Vec<(usize, usize)>,
    /// Ranges of the index and of the table of long names.
    index_at: Option<(usize, usize)>,
    names_at: Option<(usize, usize)>,
    /// Files of a thin archive.
    files: Vec<(String, Vec<u8>)>,
}

fn header(out: &mut Vec<u8>, name: &str, size: usize, pad: u8) {
    let text = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 100_644);
    out.extend(text.bytes());
    assert!(text.len() == 60 && pad.is_ascii(), "{text}");
}

impl Archive {
    fn draw(random: &mut Random, machine: Machine) -> Self {
        let form = random.weighted(&[(60, Form::Gnu), (20, Form::Bsd), (20, Form::Thin)]);
        let index = random.weighted(&[(40, Index::Words), (20, Index::Longs), (40, Index::None)]);
        let members: Vec<Member> =
            (0..random.between(1, 5)).map(|at| Self::member(random, machine, at)).collect();
        Self::write(random, form, index, &members)
    }

    fn member(random: &mut Random, machine: Machine, at: usize) -> Member {
        let name = match random.below(4) {
            0 => format!("{}{at}.o", "a_member_with_a_long_name".repeat(random.between(1, 4))),
            _ => format!("m{at}.o"),
        };
        match random.below(8) {
            0 => Member { name, data: Vec::new(), defined: Vec::new() },
            1 => Member { name, data: b"!<arch>\n".to_vec(), defined: Vec::new() },
            2 => Member { name, data: b"no object".repeat(at + 1), defined: Vec::new() },
            _ => {
                let object = Object::draw(random, machine, &format!("m{at}"));
                Member { name, data: object.bytes, defined: object.defined }
            }
        }
    }

    /// Writes the archive twice: the index holds offsets of members.
    fn write(random: &mut Random, form: Form, index: Index, members: &[Member]) -> Self {
        let pad = *random.pick(b"\n\0 ");
        let mut archive = Self {
            bytes: Vec::new(),
            form,
            index,
            members: Vec::new(),
            index_at: None,
            names_at: None,
            files: Vec::new(),
        };
        for _ in 0..2 {
            archive.write_once(members, pad);
        }
        archive
    }

    fn write_once(&mut self, members: &[Member], pad: u8) {
        let magic = if self.form == Form::Thin { b"!<thin>\n" } else { b"!<arch>\n" };
        let mut out = magic.to_vec();
        let offsets: Vec<usize> = self.members.iter().map(|(at, _)| *at).collect();
        self.members.clear();
        self.files.clear();
        self.write_index(&mut out, members, &offsets, pad);
        // Long names; in a thin archive, all names.
        let is_long = |name: &str| self.form == Form::Thin || name.len() > 15;
        let mut names = Vec::new();
        let places: Vec<usize> = members
            .iter()
            .map(|member| {
                let at = names.len();
                if is_long(&member.name) {
                    names.extend(format!("{}/\n", member.name).bytes());
                }
                at
            })
            .collect();
        if self.form != Form::Bsd && !names.is_empty() {
            header(&mut out, "//", names.len(), pad);
            self.names_at = Some((out.len(), names.len()));
            out.extend(&names);
            even(&mut out, pad);
        }
        for (member, place) in members.iter().zip(places) {
            let start = out.len();
            match self.form {
                Form::Bsd => {
                    let len = member.name.len().next_multiple_of(8);
                    header(&mut out, &format!("#1/{len}"), len + member.data.len(), pad);
                    let end = out.len() + len;
                    out.extend(member.name.bytes());
                    out.resize(end, 0);
                }
                _ if is_long(&member.name) => {
                    header(&mut out, &format!("/{place}"), member.data.len(), pad);
                }
                _ => header(&mut out, &format!("{}/", member.name), member.data.len(), pad),
            }
            if self.form == Form::Thin {
                self.files.push((member.name.clone(), member.data.clone()));
            } else {
                out.extend(&member.data);
            }
            self.members.push((start, out.len()));
            even(&mut out, pad);
        }
        self.bytes = out;
    }

    fn write_index(&mut self, out: &mut Vec<u8>, members: &[Member], offsets: &[usize], pad: u8) {
        if self.index == Index::None {
            return;
        }
        let mut entries: Vec<(usize, &str)> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let offset = offsets.get(at).copied().unwrap_or(0);
            entries.extend(member.defined.iter().map(|name| (offset, &**name)));
        }
        let mut data = Vec::new();
        if self.form == Form::Bsd {
            let mut names = Vec::new();
            data.extend((entries.len() as u32 * 8).to_le_bytes());
            for (offset, name) in &entries {
                data.extend((names.len() as u32).to_le_bytes());
                data.extend((*offset as u32).to_le_bytes());
                names.extend(name.bytes().chain([0]));
            }
            data.extend((names.len() as u32).to_le_bytes());
            data.extend(names);
            header(out, "__.SYMDEF", data.len(), pad);
        } else {
            let wide = self.index == Index::Longs;
            let mut number = |value: usize| {
                let raw = (value as u64).to_be_bytes();
                data.extend(if wide { &raw[..] } else { &raw[4..] });
            };
            number(entries.len());
            for (offset, _) in &entries {
                number(*offset);
            }
            data.extend(entries.iter().flat_map(|(_, name)| name.bytes().chain([0])));
            header(out, if wide { "/SYM64/" } else { "/" }, data.len(), pad);
        }
        self.index_at = (!entries.is_empty()).then_some((out.len(), data.len()));
        out.extend(data);
        even(out, pad);
    }

    fn one_of(&mut self, random: &mut Random, at: usize, texts: &[&str]) {
        let text = *random.pick(texts);
        self.field(at, text);
    }

    fn field(&mut self, at: usize, text: &str) {
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
}

/// Members begin at even offsets.
fn even(out: &mut Vec<u8>, pad: u8) {
    if out.len() % 2 == 1 {
        out.push(pad);
    }
}

type Outcome = Option<Expected>;
type Operation = fn(&mut Random, &mut Archive) -> Outcome;

fn malformed(at: usize) -> Outcome {
    Some(Expected { rule: Some("malformed"), at: Some(at) })
}

fn any() -> Outcome {
    Some(Expected::default())
}

const HARM: &[(&str, Operation)] = &[
    ("size-large", |random, archive| {
        let (at, _) = *random.pick(&archive.members);
        if archive.form == Form::Thin {
            return None;
        }
        archive.one_of(random, at + 48, &["9999999999", "4294967295", "99999999  "]);
        malformed(at)
    }),
    ("size-no-number", |random, archive| {
        let (at, _) = *random.pick(&archive.members);
        let texts =
            ["-1        ", "          ", "12x       ", "0x10      ", "\0\0\0\0\0\0\0\0\0\0"];
        archive.one_of(random, at + 48, &texts);
        malformed(at)
    }),
    ("size-small", |_, archive| {
        let (at, end) = *archive.members.first()?;
        if archive.form == Form::Thin || end - at < 100 {
            return None;
        }
        archive.field(at + 48, "4         ");
        any()
    }),
    ("terminator", |random, archive| {
        let (at, _) = *random.pick(&archive.members);
        archive.one_of(random, at + 58, &["\n`", "``", "\0\0"]);
        malformed(at)
    }),
    ("name-at-end-of-table", |random, archive| {
        let (_, size) = archive.names_at?;
        let long: Vec<usize> = archive.members.iter().map(|(at, _)| *at).collect();
        let long: Vec<usize> = long.into_iter().filter(|at| archive.bytes[*at] == b'/').collect();
        let at = *random.pick(&long);
        let place = *random.pick(&[size, size + 1, 99_999_999]);
        archive.field(at, &format!("/{place:<15}"));
        malformed(at)
    }),
    ("bsd-name-long", |random, archive| {
        if archive.form != Form::Bsd {
            return None;
        }
        let (at, _) = *random.pick(&archive.members);
        archive.one_of(random, at, &["#1/9999999      ", "#1/4294967295   "]);
        malformed(at)
    }),
    ("index-count", |random, archive| {
        let (at, _) = archive.index_at?;
        // In both byte orders the number is larger than the room for it.
        let value = *random.pick(&[0x7f_u8, 0xff]);
        let width = if archive.index == Index::Longs && archive.form == Form::Gnu { 8 } else { 4 };
        archive.bytes[at..at + width].fill(value);
        malformed(at)
    }),
    ("index-no-nul", |_, archive| {
        let (at, size) = archive.index_at?;
        archive.bytes[at + size - 1] = b'x';
        any()
    }),
    ("index-names-nothing", |_, archive| {
        let (at, _) = archive.index_at?;
        if archive.form == Form::Bsd {
            return None;
        }
        let width = if archive.index == Index::Longs { 8 } else { 4 };
        archive.bytes[at + width + width - 2..at + width + width].fill(0x7f);
        Some(Expected { rule: Some("stale-archive-index"), at: None })
    }),
    ("index-other-name", |_, archive| {
        let (at, size) = archive.index_at?;
        archive.bytes[at + size - 2] = b'~';
        Some(Expected { rule: Some("stale-archive-index"), at: None })
    }),
    ("cut-in-member", |random, archive| {
        let (at, end) = *random.pick(&archive.members);
        if archive.form == Form::Thin || end - at < 62 {
            return None;
        }
        archive.bytes.truncate(random.between(at + 60, end - 1));
        malformed(at)
    }),
    ("cut-in-header", |random, archive| {
        let (at, _) = *random.pick(&archive.members);
        archive.bytes.truncate(at + random.between(1, 59));
        malformed(at)
    }),
    ("tail", |random, archive| {
        let at = archive.bytes.len();
        archive.bytes.extend(b"garbage!".repeat(random.between(1, 20)));
        malformed(at)
    }),
    ("thin-absent", |random, archive| {
        if archive.form != Form::Thin {
            return None;
        }
        let at = random.below(archive.files.len());
        archive.files.remove(at);
        Some(Expected { rule: Some("thin-member-missing"), at: None })
    }),
];

/// Returns false if the change does not apply.
type Change = fn(&mut Random, &mut Archive) -> bool;

const ODD: &[(&str, Change)] = &[
    ("archive", |_, _| true),
    ("fields", |random, archive| {
        // Date, owner, group and mode.
        let (at, _) = *random.pick(&archive.members);
        archive.one_of(random, at + 16, &["            ", "999999999999", "x y z -1    "]);
        archive.one_of(random, at + 40, &["        ", "777     ", "99999999"]);
        true
    }),
    ("empty", |_, archive| {
        archive.bytes.truncate(8);
        true
    }),
    ("no-last-padding", |_, archive| {
        let Some((_, end)) = archive.members.last() else { return false };
        let end = *end;
        archive.bytes.truncate(end);
        true
    }),
    ("size-aligned-right", |random, archive| {
        let (at, _) = *random.pick(&archive.members);
        let size = String::from_utf8_lossy(&archive.bytes[at + 48..at + 58]).trim().to_owned();
        archive.field(at + 48, &format!("{size:>10}"));
        true
    }),
];

/// An archive that is damaged itself, has a damaged member, or is intact.
pub fn case(number: usize, random: &mut Random) -> Case {
    loop {
        let machine = *random.pick(&MACHINES);
        if number % 6 == 4 {
            return with_object(number, random, machine);
        }
        let mut archive = Archive::draw(random, machine);
        let (operation, label) = if number % 3 == 2 {
            let (name, operation) = ODD[number / 3 % ODD.len()];
            if !operation(random, &mut archive) {
                continue;
            }
            (name, Label::Clean)
        } else {
            let (name, operation) = HARM[number / 3 % HARM.len()];
            let Some(expected) = operation(random, &mut archive) else { continue };
            (name, Label::Reported(expected))
        };
        let mut files = vec![("subject.a".to_owned(), archive.bytes)];
        files.extend(archive.files);
        return Case { operation, label, files };
    }
}

/// An archive without index, of which one member is an object as `objects` makes them.
fn with_object(number: usize, random: &mut Random, machine: Machine) -> Case {
    let (operation, object, label) = objects::draw(number / 6, random, machine, "f");
    let other = Archive::member(random, machine, 1);
    let damaged = Member { name: "damaged.o".to_owned(), data: object.bytes, defined: Vec::new() };
    let form = *random.pick(&[Form::Gnu, Form::Bsd, Form::Thin]);
    let mut members = vec![damaged, other];
    if random.chance(50) {
        members.reverse();
    }
    let archive = Archive::write(random, form, Index::None, &members);
    let mut files = vec![("subject.a".to_owned(), archive.bytes)];
    files.extend(archive.files.into_iter().filter(|(name, _)| !name.is_empty()));
    Case { operation, label, files }
}
