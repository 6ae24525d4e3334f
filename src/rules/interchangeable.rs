//! Recognises harmless duplicate definitions of one name in two libraries: declared interposition,
//! vague linkage of C++, and parts of one C or C++ library. The winner is the library to whose
//! definition references bind. The definition of the other library, the loser, is not used.

use super::query::Query;
use crate::bind::query::alike::{are_alike, is_part_of_libc, is_weak};
use crate::facts::replacing::replaces_functions;
use crate::format::elf::tables::{Symbol, Tables};
use crate::id::{FastMap, FastSet, FileId};
use crate::order::Arrange as _;
use object::elf;

/// Each row lists the sonames of libraries of one project that export the same symbols.
const ONE_PROJECT: [&[&[u8]]; 2] = [
    // libglvnd: each exports functions of OpenGL that call libGLdispatch.
    &[
        b"libGL.so.1",
        b"libGLX.so.0",
        b"libOpenGL.so.0",
        b"libGLESv1_CM.so.1",
        b"libGLESv2.so.2",
        b"libEGL.so.1",
    ],
    // Wayland: both are linked with wayland-util.c and with the tables of the protocol.
    &[b"libwayland-client.so.0", b"libwayland-server.so.0"],
];

/// True if it is harmless that references to `name` bind to the winner instead of the loser. `both`
/// has the loser first, then the winner.
pub(super) fn definitions<'q>(
    query: &Query<'q>,
    name: &[u8],
    both: [(FileId, &Symbol<'_>); 2],
    cxx: &mut CxxFacts<'q>,
) -> bool {
    let [(loser, old), (winner, new)] = both;
    let is_of_runtime = || {
        is_name_of_libstdcxx(name)
            && [old, new].iter().all(|symbol| elf::SymbolType(symbol.kind) == elf::STT_FUNC)
            && [loser, winner].iter().all(|file| has_parts_of_libstdcxx(query, *file))
    };
    let is_replacing = || {
        let library = query.library_name(winner);
        query.facts(winner).object().is_some_and(|object| object.interposes)
            || replaces_functions(library)
    };
    are_alike(&[old, new].into_iter())
        || of_one_implementation(query, loser, winner)
        || is_of_runtime()
        || is_replacing()
        || is_inline(query, name, both, cxx)
        || is_default(query, name, both, cxx)
}

/// True if the names that both libraries define come from one implementation.
pub(super) fn of_one_implementation(query: &Query<'_>, a: FileId, b: FileId) -> bool {
    let names = [query.library_name(a), query.library_name(b)];
    let are_related =
        ONE_PROJECT.iter().any(|project| names.iter().all(|name| project.contains(name)));
    // On i386 and some other machines, libc.so.6 exports functions of libgcc_s, which only call
    // libgcc_s (`sysdeps/generic/framestate.c`).
    let are_unwinder = names.contains(&&b"libc.so.6"[..]) && names.contains(&&b"libgcc_s.so.1"[..]);
    are_related || are_unwinder || of_one_libc(query, a, b)
}

/// True if both definitions may come from one header:
/// - Instances of a template. Strong instances are accepted too, because libraries of one project
///   may contain the same explicit specialisation (Arrow).
/// - Members of a class that one of the files takes from another library. At least one definition
///   must be weak, or be in a file where link-time optimisation may have made it strong. Otherwise
///   the member is not inline.
fn is_inline<'q>(
    query: &Query<'q>,
    name: &[u8],
    both: [(FileId, &Symbol<'_>); 2],
    cxx: &mut CxxFacts<'q>,
) -> bool {
    let [(_, old), (_, new)] = both;
    let is_function = elf::SymbolType(old.kind) == elf::STT_FUNC;
    let may_stand = old.kind == new.kind && (old.size == new.size || is_function);
    let is_of_class = |class| both.iter().any(|(file, _)| cxx.takes(query, *file, class));
    if may_stand && is_template(name) {
        return true;
    }
    class(name).is_some_and(is_of_class)
        && both.iter().any(|(file, symbol)| is_weak(symbol) || !cxx.keeps_weak(query, *file))
}

/// True if the loser is a weak function that its library also exports under a longer name. The
/// winner must be strong, or its library must export it under a longer name too. The loser's
/// library offers its own code under the longer name, and lets other libraries replace the weak
/// name (MPI standard, 15.2.1: `PMPI_Send` and `MPI_Send`; `__foo` and `foo`; `backtrace` of
/// libunwind and of glibc). An alias with an unrelated name is ignored: a library that replaces the
/// function does not know the alias.
fn is_default<'q>(
    query: &Query<'q>,
    name: &[u8],
    [(loser, old), (winner, new)]: [(FileId, &Symbol<'_>); 2],
    cxx: &mut CxxFacts<'q>,
) -> bool {
    is_weak(old)
        && [old, new].iter().all(|symbol| elf::SymbolType(symbol.kind) == elf::STT_FUNC)
        && cxx.has_longer_name(query, loser, (name, old.value))
        && (!is_weak(new) || cxx.has_longer_name(query, winner, (name, new.value)))
}

/// The soname of GNU's C++ library.
const LIBSTDCXX: &[u8] = b"libstdc++.so.6";

/// True for libstdc++ and for an object that needs it. GCC Toolset, which builds most manylinux
/// wheels, links such objects with `libstdc++_nonshared.a`. That archive defines the functions that
/// an older libstdc++ lacks. False for an object that contains a whole static libstdc++, because
/// such an object does not need the shared library.
fn has_parts_of_libstdcxx(query: &Query<'_>, file: FileId) -> bool {
    query.library_name(file) == LIBSTDCXX
        || query.facts(file).object().is_some_and(|object| {
            object.needs.iter().any(|need| object.str(need.name) == LIBSTDCXX)
        })
}

/// True for a function of the namespaces `std` and `__gnu_cxx` or of the C++ ABI, and for its clone
/// for transactional memory (`_ZGTt`). These names are reserved for the C++ library.
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

/// True for an instance of a function template and for a member of a class template's instance.
/// Template arguments in parameter types are ignored. Rust's old mangling writes `$LT$` for `<`.
fn is_template(name: &[u8]) -> bool {
    name.starts_with(b"_Z") && name.windows(4).any(|part| part == b"$LT$")
        || has_template_arguments(name).unwrap_or(false)
}

/// True if the name of a function or variable has template arguments (Itanium C++ ABI 5.1.3).
/// `None` for names of another form.
fn has_template_arguments(name: &[u8]) -> Option<bool> {
    let mut rest = name.strip_prefix(b"_Z")?;
    if let [b'T', b'h' | b'v' | b'c', offsets @ ..] = rest {
        // A thunk: its offsets precede the name of its function.
        rest = &offsets[offsets.iter().position(|byte| *byte == b'N')?..];
    }
    let nested = rest.strip_prefix(b"N");
    if let Some(inner) = nested {
        let qualifiers = inner.iter().take_while(|byte| b"rVKRO".contains(byte)).count();
        rest = &inner[qualifiers..];
    }
    let mut is_named = false;
    loop {
        rest = match rest {
            [b'I', ..] => return Some(true),
            // A tag, as in `B5cxx11`.
            [b'B', tag @ ..] => after_source_name(tag)?,
            // In a name that is not nested, parameters follow without a separator.
            _ if is_named && nested.is_none() => return Some(false),
            [b'S', b't', after @ ..] | [b'L', after @ ..] => after,
            // Abbreviations of instances: `Ss` is `basic_string<char>`.
            [b'S', b'a' | b'b' | b's' | b'i' | b'o' | b'd', ..] => return Some(true),
            // A conversion operator: the type to which it converts follows.
            [b'c', b'v', ..] => return Some(false),
            [b'0'..=b'9', ..] => {
                is_named = true;
                after_source_name(rest)?
            }
            // Constructors, destructors and other operators.
            [b'C' | b'D', b'0'..=b'9', after @ ..]
            | [b'a'..=b'z', b'a'..=b'z' | b'A'..=b'Z', after @ ..] => {
                is_named = true;
                after
            }
            _ => return Some(false),
        };
    }
}

/// The text after the `<length><name>` at the start of `text`. `None` if `text` starts with other
/// text.
fn after_source_name(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    text.get(digits.checked_add(length)?..)
}

/// Facts about the code of files, mostly about C++. Each is computed on first use.
#[derive(Default)]
pub(super) struct CxxFacts<'q> {
    /// For each file, the classes that another library defines: the file refers to their
    /// constructor, destructor, vtable or type information. If the file also defines a member of
    /// one of these classes, the member is inline, or both libraries define it.
    taken: FastMap<FileId, FastSet<&'q [u8]>>,
    /// See [`CxxFacts::keeps_weak`].
    weak: FastMap<FileId, bool>,
    /// The address and name of each function that the file exports, sorted.
    functions: FastMap<FileId, Vec<(u64, &'q [u8])>>,
}

/// If fewer than one in this many C++ definitions is weak, the file was probably optimised at link
/// time. The weak definitions then come from objects compiled without that optimisation.
const RARE: usize = 100;

impl<'q> CxxFacts<'q> {
    /// True if inline functions and instances of templates are weak in the file. False if GCC's
    /// link-time optimisation may have made them strong (`update_visibility_by_resolution_info` in
    /// `ipa-visibility.cc`). Also false if the file has no weak C++ definition.
    fn keeps_weak(&mut self, query: &Query<'q>, file: FileId) -> bool {
        *self.weak.entry(file).or_insert_with(|| {
            let tables = query.facts(file).object().and_then(|object| object.tables.as_ref());
            let (mut all, mut weak) = (0_usize, 0_usize);
            for symbol in tables.into_iter().flat_map(Tables::symbols) {
                if symbol.is_export() && symbol.name.starts_with(b"_Z") {
                    all += 1;
                    weak += usize::from(is_weak(&symbol));
                }
            }
            weak > 0 && weak >= all / RARE
        })
    }

    /// True if the file exports the function at this address under a longer name that ends with
    /// `name`. The longer name may be weak: Open MPI's Fortran functions `mpi_send_` and
    /// `pmpi_send_` are aliases of `ompi_send_f`.
    fn has_longer_name(
        &mut self,
        query: &Query<'q>,
        file: FileId,
        (name, address): (&[u8], u64),
    ) -> bool {
        let functions = self.functions.entry(file).or_insert_with(|| {
            let tables = query.facts(file).object().and_then(|object| object.tables.as_ref());
            let is_function = |symbol: &Symbol<'_>| {
                symbol.is_export() && elf::SymbolType(symbol.kind) == elf::STT_FUNC
            };
            let functions = tables.into_iter().flat_map(Tables::symbols).filter(is_function);
            let mut functions: Vec<(u64, &[u8])> =
                functions.map(|symbol| (symbol.value, symbol.name)).collect();
            functions.arrange();
            functions
        });
        let begin = functions.partition_point(|(value, _)| *value < address);
        let names = functions[begin..].iter().take_while(|(value, _)| *value == address);
        let is_longer = |other: &[u8]| other.len() > name.len() && other.ends_with(name);
        names.map(|(_, other)| other).any(|other| is_longer(other))
    }

    fn takes(&mut self, query: &Query<'q>, file: FileId, class: &[u8]) -> bool {
        let classes = self.taken.entry(file).or_insert_with(|| {
            let object = query.facts(file).object();
            let references = object.into_iter().flat_map(|object| {
                object.references.iter().map(|reference| object.reference_name(reference))
            });
            references.filter_map(taken_class).collect()
        });
        classes.contains(class)
    }
}

/// The class whose constructor, destructor, vtable or type information has the mangled name `name`.
/// `None` for other names.
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

/// A nested name of the Itanium C++ ABI, split after its leading identifiers: `4Base6Object` and
/// `C1E`.
struct Nested<'n> {
    /// All identifiers with their lengths: `4Base6Object`.
    whole: &'n [u8],
    /// The offset of the last identifier in `whole`.
    last: usize,
    /// The text after the identifiers.
    rest: &'n [u8],
}

/// Splits `inner`, the text after `_ZN` and the qualifiers of the function. `None` if a length is
/// wrong.
fn nested(inner: &[u8]) -> Option<Nested<'_>> {
    let (mut at, mut last) = (0_usize, 0_usize);
    loop {
        let rest = inner.get(at..)?;
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            return Some(Nested { whole: &inner[..at], last, rest });
        }
        last = at;
        at = inner.len() - after_source_name(rest)?.len();
    }
}

/// True if both files are parts of the C library. Several parts may define one name.
fn of_one_libc(query: &Query<'_>, loser: FileId, winner: FileId) -> bool {
    let is_part = |file| query.facts(file).object().is_some_and(is_part_of_libc);
    is_part(loser) && is_part(winner)
}

#[cfg(test)]
mod tests {
    use super::{class, is_name_of_libstdcxx, is_template, taken_class};

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

    /// Names that g++ and rustc make, and invalid names.
    #[test]
    fn instances_of_templates() {
        for (name, expected) in [
            ("_ZN2ns5CodecIiE7versionEv", true),
            ("_ZN2ns5CodecIiE1sE", true),
            ("_ZN2ns5CodecIiEC2Ev", true),
            ("_ZN2ns5CodecIiEltEi", true),
            ("_ZN2ns3funIiEEiT_", true),
            ("_ZN2ns6Config3getIiEEiT_", true),
            ("_Z1gIiEiT_", true),
            ("_ZlsIiEiRN2ns6ConfigET_", true),
            ("_ZTv0_n24_N1DIiE2f2Ev", true),
            ("_ZNSt6vectorIiSaIiEE3endEv", true),
            ("_ZNSs6appendERKSs", true),
            ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", true),
            ("_ZN55_$LT$alloc..Vec$u20$as$u20$core..Drop$GT$4drop17h0123456789abcdefE", true),
            ("_Z1gSt6vectorIiSaIiEE", false),
            ("_Z1gSs", false),
            ("_Z1giSaIiE", false),
            ("_Z6taggedB1xSt6vectorIiSaIiEE", false),
            ("_ZN2ns6Config3tagB1xESt6vectorIiSaIiEE", false),
            ("_ZN2ns6Config4listE", false),
            ("_ZNK2ns6Config4loadERKSt6vectorIiSaIiEE", false),
            ("_ZNK2ns6ConfigltERKSt6vectorIiSaIiEE", false),
            ("_ZN2ns6ConfigC1ESt6vectorIiSaIiEE", false),
            ("_ZN2ns6ConfigcvSt6vectorIiSaIiEEEv", false),
            ("_ZNKR2ns6Config1rEv", false),
            ("_ZTv0_n24_N1E2f2Ev", false),
            ("_ZlsRN2ns6ConfigERKSt6vectorIiSaIiEE", false),
            ("_ZNSt6thread6_StateD1Ev", false),
            ("_ZN99Base", false),
            ("_ZN", false),
            ("_ZTv", false),
            ("main", false),
        ] {
            assert_eq!(is_template(name.as_bytes()), expected, "{name}");
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
