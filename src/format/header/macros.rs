//! Macros whose state is known without other headers. Every C++ compiler for Linux defines some of
//! these macros and leaves others undefined. The header that is read defines the rest.

use crate::id::FastMap;

/// The truth of a condition; `None` if it is unknown.
pub(super) type Truth = Option<bool>;

/// The state of a macro, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Macro {
    /// It is not defined.
    Undefined,
    /// It has this value.
    Number(i64),
    /// It is defined, but its value is empty, unknown or not a signed integer.
    Defined,
    /// Its state is unknown.
    Unknown,
}

/// Macros that GCC and clang define for Linux on every machine.
const DEFINED: [&[u8]; 11] = [
    b"__cplusplus",
    b"__GNUC__",
    b"__GNUC_MINOR__",
    b"__STDC__",
    b"__FILE__",
    b"__LINE__",
    b"__CHAR_BIT__",
    b"__SIZEOF_INT__",
    b"__SIZEOF_POINTER__",
    b"__BYTE_ORDER__",
    b"__VERSION__",
];
/// Macros that GCC and clang define as 1 for Linux on every machine.
const ONE: [&[u8]; 6] =
    [b"__linux__", b"__linux", b"__unix__", b"__unix", b"__gnu_linux__", b"__ELF__"];
/// Macros of other systems and compilers, and of other programs that read headers, such as SWIG.
const UNDEFINED: [&[u8]; 34] = [
    b"_WIN32",
    b"_WIN64",
    b"WIN32",
    b"__WIN32__",
    b"_WINDOWS",
    b"_MSC_VER",
    b"__MINGW32__",
    b"__MINGW64__",
    b"__CYGWIN__",
    b"__APPLE__",
    b"__MACH__",
    b"__FreeBSD__",
    b"__NetBSD__",
    b"__OpenBSD__",
    b"__DragonFly__",
    b"__ANDROID__",
    b"__EMSCRIPTEN__",
    b"__QNX__",
    b"__QNXNTO__",
    b"__HAIKU__",
    b"__sun",
    b"_AIX",
    b"__hpux",
    b"__VMS",
    b"__OS2__",
    b"__BORLANDC__",
    b"__WATCOMC__",
    b"__SUNPRO_C",
    b"__SUNPRO_CC",
    b"SWIG",
    b"DOXYGEN",
    b"__DOXYGEN__",
    b"Q_MOC_RUN",
    b"RC_INVOKED",
];

/// The state of all macros at one position in a file.
#[derive(Default)]
pub(super) struct Macros {
    own: FastMap<Vec<u8>, Macro>,
}

impl Macros {
    pub(super) fn get(&self, name: &[u8]) -> Macro {
        match self.own.get(name) {
            Some(known) => *known,
            None if ONE.contains(&name) => Macro::Number(1),
            None if DEFINED.contains(&name) => Macro::Defined,
            None if UNDEFINED.contains(&name) => Macro::Undefined,
            None => Macro::Unknown,
        }
    }

    pub(super) fn defined(&self, name: &[u8]) -> Truth {
        match self.get(name) {
            Macro::Undefined => Some(false),
            Macro::Number(_) | Macro::Defined => Some(true),
            Macro::Unknown => None,
        }
    }

    /// Handles a `#define` or `#undef`. `rest` is the text after the keyword. `active` is true if
    /// the line is compiled.
    pub(super) fn set(&mut self, rest: &[u8], is_define: bool, active: Truth) {
        let name = name(rest);
        let value = match active {
            Some(false) => return,
            None => Macro::Unknown,
            Some(true) if !is_define => Macro::Undefined,
            Some(true) => {
                let body = rest[name.len()..].trim_ascii();
                // `condition` computes with signed numbers, so an unsigned value becomes `Defined`.
                let signed =
                    Some(body).filter(|body| !body.ends_with(b"u") && !body.contains(&b'U'));
                signed.and_then(number).map_or(Macro::Defined, Macro::Number)
            }
        };
        self.own.insert(name.to_vec(), value);
    }

    /// Handles the inclusion of another file. The included file may change any macro that this file
    /// defined.
    pub(super) fn forget(&mut self) {
        self.own.values_mut().for_each(|value| *value = Macro::Unknown);
    }
}

/// The identifier or number at the start of a text. Empty if there is none.
pub(super) fn name(text: &[u8]) -> &[u8] {
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
    &text[..text.iter().take_while(is_part).count()]
}

/// An integer in the notation of C, with or without suffix. `None` for other text, and if the value
/// does not fit in an `i64`.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hex {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if digits.starts_with('0') && digits.len() > 1 => i64::from_str_radix(digits, 8).ok(),
        None if digits.starts_with(['+', '-']) => None,
        None => digits.parse().ok(),
    }
}
