//! The facts about one relocatable object that decide what a linker does with its parts: sections,
//! COMDAT groups, global symbols and relocations. `link_reader` reads them.

use crate::id::{FastMap, FastSet};
use object::elf;
use std::collections::BTreeSet;

/// Name prefix of link-once sections, which compilers wrote before COMDAT groups. GNU ld keeps only
/// the first of several such sections with the same name.
pub const LINK_ONCE: &[u8] = b".gnu.linkonce";

/// Upper bound for the total length of an object's names, as a multiple of the size of its string
/// tables. The bound is this multiple plus 64 KiB, plus 64 bytes for each section.
const SHARED: usize = 16;

/// Selects the relocations that are read. The selection also decides which symbols, sections and
/// names are stored.
#[derive(Clone, Copy)]
pub enum RelocationFilter<'w> {
    /// All relocations.
    All,
    /// Relocations to undefined or common symbols with one of some names.
    Names {
        /// The names. If there are none, no relocations are read.
        names: &'w FastSet<&'w [u8]>,
        /// True to read the relocations of all sections, not only of loaded ones.
        every_section: bool,
        /// True to read all relocations of an unwind table that has such a relocation.
        whole_unwind_tables: bool,
    },
    /// Relocations of loaded sections for which the function is true. Its arguments are
    /// `sh_flags` of the section, the type of the relocation, and true if the symbol is global.
    Loaded(&'w (dyn Fn(u64, u32, bool) -> bool + Sync)),
}

impl<'w> RelocationFilter<'w> {
    /// Selects the relocations of loaded sections to `names`.
    pub fn of(names: &'w FastSet<&'w [u8]>) -> Self {
        Self::Names { names, every_section: false, whole_unwind_tables: false }
    }

    /// True if the filter may select relocations of a section with these `sh_flags`.
    pub(super) fn section(self, flags: u64) -> bool {
        let is_loaded = flags & (elf::SHF_ALLOC.0 | elf::SHF_EXCLUDE.0) == elf::SHF_ALLOC.0;
        match self {
            Self::All => true,
            Self::Names { names, every_section, .. } => {
                !names.is_empty() && (every_section || is_loaded)
            }
            Self::Loaded(_) => is_loaded,
        }
    }

    /// True if the name of a symbol may be stored even if no wanted relocation refers to the
    /// symbol. An open symbol is undefined or common. A strong symbol is defined and not weak. A
    /// special symbol has restricted visibility, or is thread-local.
    pub(super) fn symbol(self, is_open: bool, is_strong: bool, is_special: bool) -> bool {
        match self {
            Self::All => true,
            Self::Names { names, .. } => is_open && !names.is_empty(),
            Self::Loaded(_) => is_strong || is_special,
        }
    }

    /// True if an unwind table is read as a whole, together with the sections of its functions.
    pub(super) fn functions(self) -> bool {
        matches!(self, Self::Names { whole_unwind_tables: true, .. })
    }

    /// True if versions of definitions are stored.
    pub(super) fn versions(self) -> bool {
        matches!(self, Self::Loaded(_))
    }

    pub(super) fn name(self, name: &[u8]) -> bool {
        !matches!(self, Self::Names { names, .. } if !names.contains(name))
    }

    pub(super) fn relocation(
        self,
        (flags, kind): (u64, u32),
        is_global: bool,
        is_named: bool,
    ) -> bool {
        match self {
            Self::All => true,
            Self::Names { .. } => is_named,
            Self::Loaded(wanted) => wanted(flags, kind, is_global),
        }
    }
}

/// A section of an object, with the facts that decide if a linker keeps it.
#[derive(Clone, Debug)]
pub struct ObjectSection {
    /// The name of the section, if it is a C identifier: linkers then define `__start_` and
    /// `__stop_` symbols for the section. `None` for other names.
    pub name: Option<Box<[u8]>>,
    /// Flags of the section (`sh_flags`), such as SHF_ALLOC.
    pub flags: u64,
    /// Type of the section (`sh_type`), such as SHT_NOTE.
    pub kind: u32,
    /// Its COMDAT group, by index into `LinkFacts::groups`; `None` if it is in no such group.
    pub group: Option<u32>,
    /// The index of the SHT_GROUP section of its group, COMDAT or not; `None` if it is in no
    /// group. Set only if all relocations are read. Linkers keep or drop all sections of a group
    /// together.
    pub unit: Option<u32>,
    /// The index of another section, which determines the position of this section in the output
    /// (SHF_LINK_ORDER). Linkers keep this section only together with the other one. `None` without
    /// the flag, or if the other section is not in [`LinkFacts::sections`].
    pub ordered_by: Option<u32>,
    /// True for `.eh_frame`.
    pub is_unwind_table: bool,
    /// True for `.debug*` and `.stab*` sections, which only debuggers read.
    pub is_debug: bool,
    /// True for `.jcr`. Linkers other than mold keep this section even if nothing refers to it.
    pub is_jcr: bool,
    /// True if linkers keep sections with the name of this section even if nothing refers to them.
    pub(super) is_named: bool,
}

/// A global symbol of an object: a definition or a reference.
#[derive(Clone, Debug)]
pub struct Global {
    /// Start and end of its name in [`LinkFacts::names`].
    pub(super) name: (u32, u32),
    /// Index of the section that contains the definition, even if `st_shndx` is SHN_XINDEX. 0 if
    /// the symbol is undefined, absolute or common.
    pub section: usize,
    /// Binding, such as STB_WEAK.
    pub bind: u8,
    /// Type, such as STT_FUNC.
    pub kind: u8,
    /// Visibility, such as STV_HIDDEN.
    pub visibility: u8,
    /// True if `st_shndx` is SHN_ABS.
    pub absolute: bool,
    /// True if `st_shndx` is SHN_COMMON, or a machine-specific index of common symbols.
    pub common: bool,
}

/// A relocation, with the symbol or the section to which it refers.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRelocation {
    /// The index of the section whose bytes the relocation changes.
    pub section: usize,
    /// Type of the relocation, such as R_X86_64_PC32.
    pub kind: u32,
    /// The symbol, by index into [`LinkFacts::globals`]; `None` for a local symbol or no symbol.
    pub global: Option<usize>,
    /// True if the symbol is absolute, or if there is no symbol.
    pub absolute: bool,
    /// The index of the section of a local symbol; 0 for a global symbol. Always 0 unless all
    /// relocations, or all of the unwind table, are wanted.
    pub target: usize,
    /// True if `r_offset` is a multiple of 4. In an unwind table, this distinguishes the address of
    /// a function from that of a personality routine.
    pub is_aligned: bool,
}

/// The facts of one relocatable object, as far as the [`RelocationFilter`] selects them.
#[derive(Clone, Debug, Default)]
pub struct LinkFacts {
    /// The sections, from index 0 on. Unless all relocations are wanted, the list has only
    /// section 0, and sections that have an [`ObjectSection::name`], thread-local data, wanted
    /// relocations or stored symbols.
    pub sections: Vec<ObjectSection>,
    /// Start and end, in `names`, of the signatures of the COMDAT groups. Unless relocations of
    /// loaded sections are wanted, a section with the prefix [`LINK_ONCE`] is a group too: its name
    /// is the signature.
    pub(super) groups: Vec<(u32, u32)>,
    /// The groups that define a name other than their signature, by index into `groups`. Empty
    /// unless relocations of loaded sections are wanted.
    pub(super) odd_groups: FastSet<usize>,
    /// References of loaded sections to symbols that are defined in other COMDAT groups of this
    /// object: to local symbols, and to global ones of `odd_groups`. Empty unless relocations of
    /// loaded sections are wanted.
    pub(super) entered_groups: FastSet<EnteredGroup>,
    /// The global symbols. Unless all relocations are wanted, the list has only symbols with stored
    /// names and symbols of wanted relocations.
    pub globals: Vec<Global>,
    /// The relocations that the [`RelocationFilter`] selected.
    pub relocations: Vec<ObjectRelocation>,
    /// The versions of the object's definitions: VERSION in `NAME@VERSION` and `NAME@@VERSION`.
    /// Empty unless relocations of loaded sections are wanted.
    pub versions: BTreeSet<Box<[u8]>>,
    /// The relocations of calls that find thread-local data (such as calls to `__tls_get_addr`),
    /// by index into `relocations`. Each value is the symbol of that data, by index into
    /// `globals`; `None` for a local symbol.
    pub tls_calls: FastMap<usize, Option<usize>>,
    /// The names of global symbols and the signatures, one after the other.
    names: Vec<u8>,
    /// Number of bytes of names that may still be stored.
    room: usize,
}

/// A reference to a symbol that the object defines in a COMDAT group, from outside of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EnteredGroup {
    /// The group, by index into `LinkFacts::groups`.
    pub(super) group: usize,
    /// The COMDAT group of the section that refers to it.
    pub(super) from: Option<usize>,
    /// The symbol, by index into [`LinkFacts::globals`]; `None` for a local symbol.
    pub(super) global: Option<usize>,
    /// True if the section is `.gcc_except_table`.
    pub(super) from_exception_table: bool,
}

/// A reference to a symbol that the object defines in a COMDAT group, from a loaded section outside
/// of the group.
#[derive(Clone, Copy)]
pub struct GroupReference<'f> {
    /// The signature of the group.
    pub signature: &'f [u8],
    /// The signature of the COMDAT group of the section, if it is in one.
    pub from: Option<&'f [u8]>,
    /// The name of the symbol; `None` for a local symbol.
    pub name: Option<&'f [u8]>,
    /// True if the section is `.gcc_except_table`.
    pub from_exception_table: bool,
}

/// Names by which other objects with the same COMDAT groups can be found.
#[derive(Default)]
pub struct GroupNames<'f> {
    /// The signatures, and the names that the groups define.
    pub names: Vec<&'f [u8]>,
    /// True if the signature of a group is not a symbol of the group. Another object with this
    /// group may then define none of the names. Mangled signatures (`_Z`) do not count: their
    /// groups hold constructors or destructors (`C5`, `D5`), and all copies define the same
    /// functions.
    pub may_differ: bool,
}

/// Start and end of a name that is not stored. No stored name begins there, not even an empty one.
pub(super) const NAMELESS: (u32, u32) = (u32::MAX, u32::MAX);

impl Global {
    pub(super) fn is_nameless(&self) -> bool {
        self.name == NAMELESS
    }
}

impl ObjectSection {
    /// True if a linker with `--gc-sections` keeps the section even if nothing refers to it.
    pub fn is_reserved(&self) -> bool {
        let arrays = [elf::SHT_INIT_ARRAY.0, elf::SHT_FINI_ARRAY.0, elf::SHT_PREINIT_ARRAY.0];
        let is_note = self.kind == elf::SHT_NOTE.0 && self.unit.is_none();
        let is_retained = self.flags & elf::SHF_GNU_RETAIN.0 != 0;
        self.is_named || is_note || is_retained || arrays.contains(&self.kind)
    }

    /// True for thread-local data.
    pub fn is_tls(&self) -> bool {
        self.flags & elf::SHF_TLS.0 != 0
    }
}

impl LinkFacts {
    /// The name of a global symbol, without a default version. Empty if the name was not wanted and
    /// no wanted relocation refers to the symbol.
    pub fn name(&self, global: &Global) -> &[u8] {
        self.kept(global.name)
    }

    /// The text between a start and an end in `names`.
    pub(super) fn kept(&self, (start, end): (u32, u32)) -> &[u8] {
        self.names.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Sets the upper bound for the total length of names. The string tables of the object have
    /// `strings` bytes, and `sections` is its number of sections. Symbols and sections may share
    /// bytes of a string table, and a hostile object may make all of them share a long name.
    pub(super) fn bound_names(&mut self, strings: usize, sections: usize) {
        let of_sections = sections.saturating_mul(64).saturating_add(64 << 10);
        self.room = strings.saturating_mul(SHARED).saturating_add(of_sections);
    }

    /// Subtracts the length of a name from the bound; `None` if too little is left.
    pub(super) fn reserve(&mut self, name: &[u8]) -> Option<()> {
        self.room = self.room.checked_sub(name.len())?;
        Some(())
    }

    /// Stores a name and returns its start and end; `None` if they do not fit in 32 bits or the
    /// bound.
    pub(super) fn keep(&mut self, name: &[u8]) -> Option<(u32, u32)> {
        self.reserve(name)?;
        let start = u32::try_from(self.names.len()).ok()?;
        self.names.extend_from_slice(name);
        Some((start, u32::try_from(self.names.len()).ok()?))
    }

    /// True unless SHF_EXCLUDE removes the section from the output.
    pub fn is_kept(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        flags & elf::SHF_EXCLUDE.0 == 0
    }

    /// True if the section is in the output and has SHF_ALLOC.
    pub fn is_loaded(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        self.is_kept(section) && flags & elf::SHF_ALLOC.0 != 0
    }

    /// True if the section has SHF_WRITE.
    pub fn is_writable(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        flags & elf::SHF_WRITE.0 != 0
    }

    /// The signature of a section's COMDAT group; `None` if the section is in no COMDAT group.
    pub fn group_of(&self, section: usize) -> Option<&[u8]> {
        self.groups.get(self.group_index(section)?).map(|signature| self.kept(*signature))
    }

    /// The signatures of all COMDAT groups.
    pub fn signatures(&self) -> impl Iterator<Item = &[u8]> {
        self.groups.iter().map(|signature| self.kept(*signature))
    }

    /// The COMDAT groups that define a name other than their signature, each with its signature and
    /// the sorted names that it defines. Empty unless relocations of loaded sections were wanted.
    pub fn odd_groups(&self) -> Vec<(&[u8], Vec<&[u8]>)> {
        if self.odd_groups.is_empty() {
            return Vec::new();
        }
        self.groups_with_names(|group| self.odd_groups.contains(&group))
    }

    /// All COMDAT groups that define a name, each with its signature and its sorted names.
    pub fn named_groups(&self) -> Vec<(&[u8], Vec<&[u8]>)> {
        self.groups_with_names(|_| true)
    }

    fn groups_with_names(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<(&[u8], Vec<&[u8]>)> {
        let mut out: FastMap<usize, Vec<&[u8]>> = FastMap::default();
        for global in &self.globals {
            let group = self.group_index(global.section);
            if let Some(group) = group.filter(|group| is_wanted(*group)) {
                out.entry(group).or_default().push(self.name(global));
            }
        }
        out.values_mut().for_each(|names| names.sort_unstable());
        let named = out
            .into_iter()
            .filter_map(|(group, names)| Some((self.kept(*self.groups.get(group)?), names)));
        named.collect()
    }

    /// The signatures of the COMDAT groups that are not in [`Self::odd_groups`].
    pub fn plain_groups(&self) -> impl Iterator<Item = &[u8]> {
        let groups = self.groups.iter().enumerate();
        let plain = groups.filter(|(at, _)| !self.odd_groups.contains(at));
        plain.map(|(_, signature)| self.kept(*signature))
    }

    /// The COMDAT groups with a local symbol to which a loaded section outside of the group refers.
    /// An item is the signature of such a group, and the signature of the section's own COMDAT
    /// group if it has one. Empty unless relocations of loaded sections were wanted.
    pub fn entered_groups(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let local = self.group_references().filter(|one| one.name.is_none());
        local.map(|one| (one.signature, one.from))
    }

    /// References from loaded sections to local symbols in other COMDAT groups of the object, and
    /// to global symbols of [`Self::odd_groups`]. Empty unless relocations of loaded sections were
    /// wanted.
    pub fn group_references(&self) -> impl Iterator<Item = GroupReference<'_>> {
        let signature = |group: usize| self.groups.get(group).map(|name| self.kept(*name));
        let name = |global: usize| self.globals.get(global).map(|global| self.name(global));
        self.entered_groups.iter().filter_map(move |one| {
            Some(GroupReference {
                signature: signature(one.group)?,
                from: one.from.and_then(signature),
                name: one.global.and_then(name),
                from_exception_table: one.from_exception_table,
            })
        })
    }

    /// The reference to the symbol of a relocation if the symbol is in another COMDAT group than
    /// `from`: a local symbol in a section of `self`, or a global symbol in one of `odd_groups`.
    pub(super) fn entered_group(
        &self,
        (section, global): (usize, Option<usize>),
        (from, from_exception_table): (Option<usize>, bool),
    ) -> Option<EnteredGroup> {
        let group = self.group_index(section).filter(|group| Some(*group) != from)?;
        let is_counted = global.is_none() || self.odd_groups.contains(&group);
        is_counted.then_some(EnteredGroup { group, from, global, from_exception_table })
    }

    pub(super) fn group_index(&self, section: usize) -> Option<usize> {
        self.sections.get(section)?.group.map(|group| group as usize)
    }

    /// The signatures of the COMDAT groups with a wanted relocation.
    pub fn referring(&self) -> impl Iterator<Item = &[u8]> {
        let groups = self.referring_groups().into_iter();
        groups.filter_map(|group| self.groups.get(group)).map(|signature| self.kept(*signature))
    }

    /// The COMDAT groups with a wanted relocation, by index into `groups`.
    pub(super) fn referring_groups(&self) -> FastSet<usize> {
        self.relocations.iter().flat_map(|one| self.groups_of(one)).collect()
    }

    /// The COMDAT groups whose copies decide if a relocation counts: the group of its section and,
    /// in an unwind table, the group of the function.
    fn groups_of(&self, one: &ObjectRelocation) -> impl Iterator<Item = usize> + use<> {
        let is_unwinding =
            self.sections.get(one.section).is_some_and(|section| section.is_unwind_table);
        let function = is_unwinding.then(|| self.group_index(one.target)).flatten();
        self.group_index(one.section).into_iter().chain(function)
    }

    /// Names by which other objects with the same COMDAT groups can be found: the signatures of the
    /// groups, and the names that the groups define. A group is included if it has a relocation to
    /// a local symbol, or to a name for which `is_asked` is true.
    pub fn group_names(&self, is_asked: impl Fn(&[u8]) -> bool) -> GroupNames<'_> {
        let asks = |relocation: &&ObjectRelocation| {
            let global = relocation.global.and_then(|global| self.globals.get(global));
            global.is_none_or(|global| is_asked(self.name(global)))
        };
        let asked = self.relocations.iter().filter(asks);
        let referring: FastSet<usize> = asked.flat_map(|one| self.groups_of(one)).collect();
        if referring.is_empty() {
            return GroupNames::default();
        }
        let signatures = referring.iter().filter_map(|group| self.groups.get(*group));
        let signatures: Vec<&[u8]> = signatures.map(|signature| self.kept(*signature)).collect();
        let is_inside = |global: &&Global| {
            let group = self.group_index(global.section);
            group.is_some_and(|group| referring.contains(&group)) && !global.is_nameless()
        };
        let defined = self.globals.iter().filter(is_inside).map(|global| self.name(global));
        let mut names: Vec<&[u8]> = defined.collect();
        let is_shared = |one: &&[u8]| one.starts_with(b"_Z") || names.contains(one);
        let may_differ = !signatures.iter().all(is_shared);
        names.extend(signatures);
        GroupNames { names, may_differ }
    }

    /// Removes all facts and keeps their memory for the next object.
    pub(super) fn clear(&mut self) {
        self.sections.clear();
        self.groups.clear();
        self.odd_groups.clear();
        self.entered_groups.clear();
        self.globals.clear();
        self.relocations.clear();
        self.versions.clear();
        self.tls_calls.clear();
        self.names.clear();
    }

    /// A copy with only the symbols and sections that the wanted relocations and stored names
    /// need. Most objects have hundreds of other symbols and sections.
    pub(super) fn compact(&self) -> Self {
        let mut globals = Renumbering::new(self.globals.len());
        let of_relocations = self.relocations.iter().filter_map(|relocation| relocation.global);
        let of_calls = self.tls_calls.values().flatten().copied();
        let named = self.globals.iter().enumerate().filter(|(_, global)| !global.is_nameless());
        globals.keep(of_relocations.chain(of_calls).chain(named.map(|(at, _)| at)));
        let kept = || globals.kept(&self.globals);
        let mut sections = Renumbering::new(self.sections.len());
        let told = self.sections.iter().enumerate();
        let told = told.filter(|(_, section)| section.name.is_some() || section.is_tls());
        let used = self.relocations.iter().flat_map(|one| [one.section, one.target]);
        let defining = kept().map(|global| global.section);
        // Index 0 means no section.
        sections.keep(std::iter::once(0).chain(told.map(|(at, _)| at)).chain(used).chain(defining));
        let section = |at: &ObjectSection| ObjectSection {
            unit: at.unit.and_then(|at| sections.place(at as usize)),
            ordered_by: at.ordered_by.and_then(|at| sections.place(at as usize)),
            ..at.clone()
        };
        let new_global = |at: usize| globals.new_index(at);
        let global = |global: &Global| {
            let section = sections.new_index(global.section).unwrap_or(0);
            Global { section, ..global.clone() }
        };
        Self {
            sections: exact(sections.len, sections.kept(&self.sections).map(section)),
            groups: self.groups.clone(),
            odd_groups: self.odd_groups.clone(),
            entered_groups: self
                .entered_groups
                .iter()
                .map(|one| EnteredGroup { global: one.global.and_then(new_global), ..*one })
                .collect(),
            globals: exact(globals.len, kept().map(global)),
            relocations: self
                .relocations
                .iter()
                .map(|relocation| ObjectRelocation {
                    section: sections.new_index(relocation.section).unwrap_or(0),
                    global: relocation.global.and_then(new_global),
                    target: sections.new_index(relocation.target).unwrap_or(0),
                    ..*relocation
                })
                .collect(),
            versions: self.versions.clone(),
            tls_calls: self
                .tls_calls
                .iter()
                .map(|(at, to)| (*at, to.and_then(new_global)))
                .collect(),
            names: self.names.clone(),
            room: 0,
        }
    }
}

/// Marks a removed item.
const GONE: u32 = u32::MAX;

/// Maps the old indices of a list to new ones after items are removed.
struct Renumbering {
    /// For each item of the list, its new index or [`GONE`].
    places: Vec<u32>,
    /// Number of items that are kept.
    len: usize,
}

impl Renumbering {
    /// Creates the map for a list of `len` items. Until [`Self::keep`] is called, all items count
    /// as removed.
    fn new(len: usize) -> Self {
        Self { places: vec![GONE; len], len: 0 }
    }

    /// Keeps the items at these indices. An index beyond the end of the list is ignored.
    fn keep(&mut self, indices: impl Iterator<Item = usize>) {
        for at in indices {
            if let Some(place) = self.places.get_mut(at) {
                *place = 0;
            }
        }
        let kept = self.places.iter_mut().filter(|place| **place != GONE);
        self.len = 0;
        for (new, place) in (0..).zip(kept) {
            *place = new;
            self.len += 1;
        }
    }

    /// The items of `list` that are kept.
    fn kept<'l, T>(&self, list: &'l [T]) -> impl Iterator<Item = &'l T> {
        let all = self.places.iter().zip(list);
        all.filter(|(place, _)| **place != GONE).map(|(_, item)| item)
    }

    /// The new index of an item; `None` if the item is removed.
    fn place(&self, at: usize) -> Option<u32> {
        self.places.get(at).copied().filter(|place| *place != GONE)
    }

    /// Like [`Self::place`], for fields that hold a `usize`.
    fn new_index(&self, at: usize) -> Option<usize> {
        self.place(at).map(|place| place as usize)
    }
}

/// A list of `len` items without spare capacity.
fn exact<T>(len: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut out = Vec::with_capacity(len);
    out.extend(items);
    out
}

#[cfg(test)]
mod tests {
    use super::{LinkFacts, SHARED};

    /// A hostile object may refer to one long name thousands of times.
    #[test]
    fn names_of_an_object_are_bounded() {
        let mut facts = LinkFacts::default();
        let name = vec![b'a'; 1 << 20];
        facts.bound_names(name.len(), 1000);
        assert_eq!((0..1000).filter(|_| facts.keep(&name).is_some()).count(), SHARED);
        assert!(facts.reserve(b"name").is_some());
    }
}
