//! Harmless definitions of one name in two libraries: declared interposition, vague linkage of C++,
//! and parts of one C or C++ library.

use super::query::Query;
use crate::bind::query::alike::{are_alike, is_part_of_libc};
use crate::demangle::demangle;
use crate::format::elf::tables::Symbol;
use crate::id::{FastMap, FastSet, FileId};
use object::elf;

/// Prefixes of the names of libraries that replace functions of others by design: sanitizers and
/// allocators.
const REPLACING: [&[u8]; 8] = [
    b"libasan",
    b"libtsan",
    b"libubsan",
    b"liblsan",
    b"libhwasan",
    b"libclang_rt.",
    b"libtcmalloc",
    b"libjemalloc",
];

/// The libraries of libglvnd: each exports functions of OpenGL that call libGLdispatch.
const DISPATCH: [&[u8]; 6] = [
    b"libGL.so.1",
    b"libGLX.so.0",
    b"libOpenGL.so.0",
    b"libGLESv1_CM.so.1",
    b"libGLESv2.so.2",
    b"libEGL.so.1",
];

/// True if the two definitions of `name` are interchangeable.
pub(super) fn definitions<'q>(
    query: &Query<'q>,
    name: &[u8],
    ((loser, old), (winner, new)): ((FileId, &Symbol<'_>), (FileId, &Symbol<'_>)),
    taken: &mut Taken<'q>,
) -> bool {
    let mut is_inline = || {
        let class = class(name);
        class.is_some_and(|class| [loser, winner].iter().any(|of| taken.holds(query, *of, class)))
    };
    let is_of_runtime = || {
        is_name_of_libstdcxx(name)
            && [old, new].iter().all(|symbol| elf::SymbolType(symbol.kind) == elf::STT_FUNC)
            && [loser, winner].iter().all(|file| has_parts_of_libstdcxx(query, *file))
    };
    let mut is_one_source = || is_inline() || is_of_runtime();
    is_vague(name, old, new) || of_one_implementation(query, loser, winner) || is_one_source() || {
        let library = query.library_name(winner);
        REPLACING.iter().any(|begin| library.starts_with(begin))
    }
}

/// True if the names that both libraries define lead to one implementation.
pub(super) fn of_one_implementation(query: &Query<'_>, a: FileId, b: FileId) -> bool {
    let names = [query.library_name(a), query.library_name(b)];
    let are_dispatch = names.iter().all(|name| DISPATCH.contains(name));
    // On i386 and others, libc.so.6 exports functions of libgcc_s, which call libgcc_s itself
    // (`sysdeps/generic/framestate.c`).
    let are_unwinder = names.contains(&&b"libc.so.6"[..]) && names.contains(&&b"libgcc_s.so.1"[..]);
    are_dispatch || are_unwinder || of_one_libc(query, a, b)
}

/// True if either definition will do: two vague ones (see [`are_alike`]), or two instances of a
/// template with the same type and, unless they are functions, the same size.
fn is_vague(name: &[u8], old: &Symbol<'_>, new: &Symbol<'_>) -> bool {
    let may_stand = || {
        let is_function = elf::SymbolType(old.kind) == elf::STT_FUNC;
        old.kind == new.kind && (old.size == new.size || is_function)
    };
    are_alike(&[old, new].into_iter())
        || name.starts_with(b"_Z") && may_stand() && is_template(name)
}

/// The soname of GNU's C++ library.
const LIBSTDCXX: &[u8] = b"libstdc++.so.6";

/// True for libstdc++ and for an object that needs it. Functions of libstdc++ that such an object
/// defines come from `libstdc++_nonshared.a`, which GCC Toolset links. That archive has the
/// functions that an older libstdc++ lacks. Most manylinux wheels are built this way. An object
/// with a whole static libstdc++ does not need the shared one.
fn has_parts_of_libstdcxx(query: &Query<'_>, file: FileId) -> bool {
    query.library_name(file) == LIBSTDCXX
        || query.facts(file).object().is_some_and(|object| {
            object.needs.iter().any(|need| object.str(need.name) == LIBSTDCXX)
        })
}

/// True for a function of the namespaces `std` and `__gnu_cxx`, its clone for transactional memory
/// (`_ZGTt`), and a function of the C++ ABI. These names are reserved to the C++ library.
fn is_name_of_libstdcxx(name: &[u8]) -> bool {
    if name.starts_with(b"__cxa_") {
        return true;
    }
    let Some(rest) = name.strip_prefix(b"_ZGTt").or_else(|| name.strip_prefix(b"_Z")) else {
        return false;
    };
    let rest = rest.strip_prefix(b"N").unwrap_or(rest);
    let rest = rest.strip_prefix(b"K").unwrap_or(rest);
    // The abbreviations of the Itanium C++ ABI 5.1.10.
    let begins = [&b"St"[..], b"Sa", b"Ss", b"Sb", b"Si", b"So", b"Sd", b"9__gnu_cxx"];
    begins.iter().any(|begin| rest.starts_with(begin))
}

/// True for an instance of a template: its demangled name has template arguments.
fn is_template(name: &[u8]) -> bool {
    demangle(name).is_some_and(|text| text.contains('<') && !text.contains("operator<"))
}

/// The C++ classes that each file takes from another library: it refers to a constructor, a
/// destructor, the vtable or the type information. If the file also defines a member of such a
/// class, the member is inline in the class's header. Link-time optimisation may have made it
/// strong.
#[derive(Default)]
pub(super) struct Taken<'q>(FastMap<FileId, FastSet<&'q [u8]>>);

impl<'q> Taken<'q> {
    fn holds(&mut self, query: &Query<'q>, file: FileId, class: &[u8]) -> bool {
        let classes = self.0.entry(file).or_insert_with(|| {
            let object = query.facts(file).object();
            let references = object.into_iter().flat_map(|object| {
                object.references.iter().map(|reference| object.reference_name(reference))
            });
            references.filter_map(taken_class).collect()
        });
        classes.contains(class)
    }
}

/// The class whose constructor, destructor, vtable or type information is called `name`.
fn taken_class(name: &[u8]) -> Option<&[u8]> {
    let data = [&b"_ZTVN"[..], b"_ZTIN"].iter().find_map(|begin| name.strip_prefix(*begin));
    let Nested { whole, rest, .. } = nested(data.or_else(|| name.strip_prefix(b"_ZN"))?)?;
    let is_taken = match data {
        Some(_) => rest == b"E",
        None => [&b"C1E"[..], b"C2E", b"D0E", b"D1E", b"D2E"].iter().any(|b| rest.starts_with(b)),
    };
    is_taken.then_some(whole)
}

/// The class or namespace of a function, as its mangled name spells it: `4Base6Object` in
/// `_ZN4Base6Object4nameEv`. `None` for templates, operators, constructors and destructors.
fn class(name: &[u8]) -> Option<&[u8]> {
    let inner = name.strip_prefix(b"_ZN")?;
    let Nested { whole, last, rest } = nested(inner.strip_prefix(b"K").unwrap_or(inner))?;
    (last > 0 && rest.starts_with(b"E")).then(|| &whole[..last])
}

/// The leading names of a nested name.
struct Nested<'n> {
    /// All names.
    whole: &'n [u8],
    /// The offset of the last name.
    last: usize,
    /// The text after the names.
    rest: &'n [u8],
}

/// Splits the part of a nested name after `_ZN` and its qualifiers.
fn nested(inner: &[u8]) -> Option<Nested<'_>> {
    let (mut at, mut last) = (0_usize, 0_usize);
    loop {
        let rest = inner.get(at..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Some(Nested { whole: &inner[..at], last, rest });
        }
        let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        last = at;
        at = at.checked_add(digits)?.checked_add(length)?;
    }
}

/// True if both files are parts of the C library. Its parts define names for each other.
fn of_one_libc(query: &Query<'_>, loser: FileId, winner: FileId) -> bool {
    let is_part = |file| query.facts(file).object().is_some_and(is_part_of_libc);
    is_part(loser) && is_part(winner)
}

#[cfg(test)]
mod tests {
    use super::{class, is_name_of_libstdcxx, taken_class};

    #[test]
    fn names_of_the_cxx_library() {
        for (name, expected) in [
            ("_ZSt28__throw_bad_array_new_lengthv", true),
            ("_ZNSt6thread6_StateD1Ev", true),
            ("_ZNKSt10filesystem4path7compareERKS0_", true),
            ("_ZGTtNSt11logic_errorD1Ev", true),
            ("_ZN9__gnu_cxx27__verbose_terminate_handlerEv", true),
            ("__cxa_call_terminate", true),
            ("_ZN4Base6Object4nameEv", false),
            ("_ZN9__gnu_cxy1fEv", false),
            ("_Z4sortv", false),
            ("Start", false),
        ] {
            assert_eq!(is_name_of_libstdcxx(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn classes_of_mangled_names() {
        for (name, expected) in [
            ("_ZN4Base6Object4nameEv", Some("4Base6Object")),
            ("_ZNK4Base6Object4nameEv", Some("4Base6Object")),
            ("_ZN4Base4nameEv", Some("4Base")),
            ("_Z4namev", None),
            ("_ZN4Base6ObjectC2Ev", None),
            ("_ZN3FooIiE4nameEv", None),
            ("_ZN99Base", None),
            ("_ZN99999999999999999999999Base", None),
        ] {
            assert_eq!(class(name.as_bytes()), expected.map(str::as_bytes), "{name}");
        }
    }

    #[test]
    fn classes_that_are_taken() {
        for (name, expected) in [
            ("_ZN4Base6ObjectC2EPvi", Some("4Base6Object")),
            ("_ZN4Base6ObjectD0Ev", Some("4Base6Object")),
            ("_ZTVN4Base6ObjectE", Some("4Base6Object")),
            ("_ZTIN4Base6ObjectE", Some("4Base6Object")),
            ("_ZTI6Object", None),
            ("_ZN4Base6Object4nameEv", None),
        ] {
            assert_eq!(taken_class(name.as_bytes()), expected.map(str::as_bytes), "{name}");
        }
    }
}
