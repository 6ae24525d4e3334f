//! Changes bytes of a linked ELF file to values that no linker writes.
//!
//! It takes only 64-bit little-endian files from the laboratory's compiler, and panics on anything
//! else. It finds all tables through PT_DYNAMIC, so a file without section headers works too.

use std::path::PathBuf;

use object::elf::{
    DT_JMPREL, DT_NULL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRSZ, DT_STRTAB, DT_SYMTAB, DT_VERDEF,
    DT_VERNEED, DT_VERSYM, Dyn64, DynamicTag, FileHeader64, PT_DYNAMIC, PT_LOAD, ProgramHeader64,
    Rela64, Sym64, Verdaux, Verdef, Vernaux, Verneed,
};
use object::endian::{LittleEndian as Le, U16};
use object::pod::{Pod, from_bytes, from_bytes_mut, slice_from_bytes_mut};

use crate::support::Lab;

/// A dynamic tag that the loader stores and never reads.
pub(crate) const UNUSED_TAG: DynamicTag = object::elf::DT_CHECKSUM;

/// An ELF file in memory.
pub(crate) struct Elf {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Reads a file of the laboratory, lets `change` work on it and writes it back.
pub(crate) fn edit(lab: &Lab, name: &str, change: impl FnOnce(&mut Elf)) {
    let path = lab.path(name);
    let bytes = std::fs::read(&path).expect("the file to patch");
    let mut elf = Elf { path, bytes };
    change(&mut elf);
    std::fs::write(&elf.path, &elf.bytes).expect("the patched file");
}

impl Elf {
    fn get<T: Pod>(&self, offset: usize) -> &T {
        from_bytes(&self.bytes[offset..]).expect("a record inside the file").0
    }

    fn get_mut<T: Pod>(&mut self, offset: usize) -> &mut T {
        from_bytes_mut(&mut self.bytes[offset..]).expect("a record inside the file").0
    }

    /// One byte; the first sixteen are `e_ident`.
    pub(crate) fn byte(&mut self, offset: usize) -> &mut u8 {
        &mut self.bytes[offset]
    }

    pub(crate) fn header(&mut self) -> &mut FileHeader64<Le> {
        self.get_mut(0)
    }

    pub(crate) fn segments(&mut self) -> &mut [ProgramHeader64<Le>] {
        let header: &FileHeader64<Le> = self.get(0);
        let (at, count) = (header.e_phoff.get(Le) as usize, header.e_phnum.get(Le) as usize);
        slice_from_bytes_mut(&mut self.bytes[at..], count).expect("the program headers").0
    }

    /// The dynamic entries, including the last and spare DT_NULLs.
    pub(crate) fn dynamic(&mut self) -> &mut [Dyn64<Le>] {
        let segment = self.segments().iter().find(|s| s.p_type.get(Le) == PT_DYNAMIC);
        let segment = segment.expect("a PT_DYNAMIC");
        let (at, size) = (segment.p_offset.get(Le) as usize, segment.p_filesz.get(Le) as usize);
        let count = size / size_of::<Dyn64<Le>>();
        slice_from_bytes_mut(&mut self.bytes[at..], count).expect("the dynamic entries").0
    }

    fn entry(&mut self, tag: DynamicTag) -> Option<&mut Dyn64<Le>> {
        self.dynamic().iter_mut().find(|entry| entry.d_tag.get(Le) == tag)
    }

    pub(crate) fn value(&mut self, tag: DynamicTag) -> u64 {
        self.entry(tag).unwrap_or_else(|| panic!("no {tag:?}")).d_val.get(Le)
    }

    pub(crate) fn set_value(&mut self, tag: DynamicTag, value: u64) {
        self.entry(tag).unwrap_or_else(|| panic!("no {tag:?}")).d_val.set(Le, value);
    }

    /// Turns the first entry `old` into `new` and keeps its value.
    pub(crate) fn retag(&mut self, old: DynamicTag, new: DynamicTag) {
        self.entry(old).unwrap_or_else(|| panic!("no {old:?}")).d_tag.set(Le, new);
    }

    /// Appends an entry in a spare DT_NULL.
    pub(crate) fn push(&mut self, tag: DynamicTag, value: u64) {
        let entries = self.dynamic();
        let end = entries.iter().position(|entry| entry.d_tag.get(Le) == DT_NULL);
        let end = end.expect("a closing DT_NULL");
        assert!(end + 1 < entries.len(), "no spare dynamic entry");
        entries[end].d_tag.set(Le, tag);
        entries[end].d_val.set(Le, value);
    }

    /// Sets bits in an entry of flags; appends the entry if the file has none.
    pub(crate) fn set_flag(&mut self, tag: DynamicTag, bits: u64) {
        match self.entry(tag) {
            Some(entry) => entry.d_val.set(Le, entry.d_val.get(Le) | bits),
            None => self.push(tag, bits),
        }
    }

    /// The file offset of a virtual address.
    pub(crate) fn offset(&mut self, address: u64) -> usize {
        let inside = |s: &&ProgramHeader64<Le>| {
            let start = s.p_vaddr.get(Le);
            s.p_type.get(Le) == PT_LOAD && (start..start + s.p_filesz.get(Le)).contains(&address)
        };
        let segments = self.segments();
        let segment = segments.iter().find(inside).expect("an address of a PT_LOAD");
        (address - segment.p_vaddr.get(Le) + segment.p_offset.get(Le)) as usize
    }

    fn table(&mut self, tag: DynamicTag) -> usize {
        let address = self.value(tag);
        self.offset(address)
    }

    fn string(&self, offset: usize) -> &[u8] {
        self.bytes[offset..].split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Offset of `text` in the dynamic string table, as a whole string or the end of one.
    pub(crate) fn text(&mut self, text: &str) -> u64 {
        let (start, size) = (self.table(DT_STRTAB), self.value(DT_STRSZ) as usize);
        let with_end = [text.as_bytes(), &[0]].concat();
        let found = self.bytes[start..start + size].windows(with_end.len());
        let found = found.into_iter().position(|window| window == with_end);
        found.unwrap_or_else(|| panic!("no string {text:?}")) as u64
    }

    /// Overwrites a string of the dynamic string table by one of the same length, wherever it is
    /// used.
    pub(crate) fn respell(&mut self, old: &str, new: &[u8]) {
        assert_eq!(old.len(), new.len(), "a string keeps its length");
        let at = self.table(DT_STRTAB) + self.text(old) as usize;
        self.bytes[at..at + new.len()].copy_from_slice(new);
    }

    fn symbol_index(&mut self, name: &str) -> usize {
        let (symbols, strings) = (self.table(DT_SYMTAB), self.table(DT_STRTAB));
        (1..4096)
            .find(|index| {
                let symbol: &Sym64<Le> = self.get(symbols + index * size_of::<Sym64<Le>>());
                self.string(strings + symbol.st_name.get(Le) as usize) == name.as_bytes()
            })
            .unwrap_or_else(|| panic!("no symbol {name:?}"))
    }

    /// The first dynamic symbol of that name.
    pub(crate) fn symbol(&mut self, name: &str) -> &mut Sym64<Le> {
        let at = self.table(DT_SYMTAB) + self.symbol_index(name) * size_of::<Sym64<Le>>();
        self.get_mut(at)
    }

    /// Sets the visibility of a dynamic symbol.
    pub(crate) fn set_visibility(&mut self, name: &str, visibility: u8) {
        self.symbol(name).st_other.0 = visibility;
    }

    /// Sets binding and type of a dynamic symbol.
    pub(crate) fn set_info(&mut self, name: &str, bind: u8, kind: u8) {
        self.symbol(name).st_info.0 = bind << 4 | kind;
    }

    /// The version index of a dynamic symbol.
    pub(crate) fn version(&mut self, name: &str) -> &mut U16<Le> {
        let at = self.table(DT_VERSYM) + self.symbol_index(name) * size_of::<U16<Le>>();
        self.get_mut(at)
    }

    /// Clears the hidden bit of every version index of a dynamic symbol.
    pub(crate) fn show_versions(&mut self, name: &str) {
        let (symbols, strings) = (self.table(DT_SYMTAB), self.table(DT_STRTAB));
        let versions = self.table(DT_VERSYM);
        for index in 1..(strings - symbols) / size_of::<Sym64<Le>>() {
            let symbol: &Sym64<Le> = self.get(symbols + index * size_of::<Sym64<Le>>());
            if self.string(strings + symbol.st_name.get(Le) as usize) == name.as_bytes() {
                let version: &mut U16<Le> = self.get_mut(versions + index * size_of::<U16<Le>>());
                version.set(Le, version.get(Le) & 0x7fff);
            }
        }
    }

    /// The needed version of that name.
    pub(crate) fn vernaux(&mut self, name: &str) -> &mut Vernaux<Le> {
        let (mut at, strings) = (self.table(DT_VERNEED), self.table(DT_STRTAB));
        loop {
            let need: Verneed<Le> = *self.get(at);
            let mut aux_at = at + need.vn_aux.get(Le) as usize;
            for _ in 0..need.vn_cnt.get(Le) {
                let aux: Vernaux<Le> = *self.get(aux_at);
                if self.string(strings + aux.vna_name.get(Le) as usize) == name.as_bytes() {
                    return self.get_mut(aux_at);
                }
                aux_at += aux.vna_next.get(Le) as usize;
            }
            assert_ne!(need.vn_next.get(Le), 0, "no needed version {name:?}");
            at += need.vn_next.get(Le) as usize;
        }
    }

    /// The version definition of that name.
    pub(crate) fn verdef(&mut self, name: &str) -> &mut Verdef<Le> {
        let (mut at, strings) = (self.table(DT_VERDEF), self.table(DT_STRTAB));
        loop {
            let definition: Verdef<Le> = *self.get(at);
            let aux: Verdaux<Le> = *self.get(at + definition.vd_aux.get(Le) as usize);
            if self.string(strings + aux.vda_name.get(Le) as usize) == name.as_bytes() {
                return self.get_mut(at);
            }
            assert_ne!(definition.vd_next.get(Le), 0, "no version {name:?}");
            at += definition.vd_next.get(Le) as usize;
        }
    }

    /// Gives a needed version another name of the same length and the hash that belongs to it.
    pub(crate) fn rename_version(&mut self, old: &str, new: &str) {
        let hash = object::elf::hash(new.as_bytes());
        self.vernaux(old).vna_hash.set(Le, hash);
        self.respell(old, new.as_bytes());
    }

    /// Makes the first entry of that tag point at another string of the table.
    pub(crate) fn point(&mut self, tag: DynamicTag, old: &str, new: &str) {
        let (old, new) = (self.text(old), self.text(new));
        let mut entries = self.dynamic().iter_mut();
        let entry = entries.find(|e| e.d_tag.get(Le) == tag && e.d_val.get(Le) == old);
        entry.expect("an entry of that string").d_val.set(Le, new);
    }

    /// The relocations of DT_RELA.
    pub(crate) fn relocations(&mut self) -> &mut [Rela64<Le>] {
        self.relocations_of(DT_RELA, DT_RELASZ)
    }

    /// The relocations of DT_JMPREL.
    pub(crate) fn plt_relocations(&mut self) -> &mut [Rela64<Le>] {
        self.relocations_of(DT_JMPREL, DT_PLTRELSZ)
    }

    fn relocations_of(&mut self, table: DynamicTag, size: DynamicTag) -> &mut [Rela64<Le>] {
        let (at, size) = (self.table(table), self.value(size) as usize);
        let count = size / size_of::<Rela64<Le>>();
        slice_from_bytes_mut(&mut self.bytes[at..], count).expect("the relocations").0
    }

    /// The dynamic symbol's index, as relocations carry it.
    pub(crate) fn index(&mut self, name: &str) -> u32 {
        u32::try_from(self.symbol_index(name)).expect("a symbol index")
    }

    /// Removes the section headers from the ELF header.
    pub(crate) fn drop_sections(&mut self) {
        let header = self.header();
        header.e_shoff.set(Le, 0);
        header.e_shnum.set(Le, 0);
        header.e_shstrndx.set(Le, object::elf::SHN_UNDEF);
    }

    /// Cuts the file to its first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }
}
