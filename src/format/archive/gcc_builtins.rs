//! The functions of the C library that GCC knows as builtins. GCC leaves them out of the symbol table
//! for linker plugins (`output_symbol_p` and `builtin_with_linkage_p` in GCC 12), so a linker does
//! not extract their members before LTO. Their names are in the section of declarations.

use crate::id::FastSet;
use flate2::read::ZlibDecoder;
use object::Endianness;
use object::read::elf::{FileHeader, SectionHeader};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// Prefix of the names of sections with declarations.
const SECTION: &[u8] = b".gnu.lto_.decls.";
/// Maximum size of these sections in one object, inflated.
const MOST: usize = 1 << 25;
/// First bytes of a zstd frame.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The names of such functions in glibc.
const NAMES: &str = "__fprintf_chk __memcpy_chk __memmove_chk __mempcpy_chk __memset_chk __printf_chk \
    __snprintf_chk __sprintf_chk __stpcpy_chk __stpncpy_chk __strcat_chk __strcpy_chk \
    __strncat_chk __strncpy_chk __vfprintf_chk __vprintf_chk __vsnprintf_chk __vsprintf_chk \
    _exit abort abs aligned_alloc bcmp bcopy bzero calloc dcgettext dgettext execl execle \
    execlp execv execve execvp exit ffs ffsl ffsll finite finitef finitel fork fprintf fputc \
    fputc_unlocked fputs fputs_unlocked free fscanf fwrite fwrite_unlocked gettext imaxabs \
    index isalnum isalpha isascii isblank iscntrl isdigit isgraph isinf isinff isinfl islower \
    isnan isnanf isnanl isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl \
    iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit labs \
    llabs malloc memchr memcmp memcpy memmove mempcpy memset posix_memalign printf putc \
    putc_unlocked putchar putchar_unlocked puts realloc rindex scanf snprintf sprintf sscanf \
    strcasecmp strcat strchr strcmp strcpy strcspn strdup strfmon strftime strlen strncasecmp \
    strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr toascii tolower \
    toupper towlower towupper vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf";

/// The names among [`NAMES`] that the declarations of the object `file` mention. All of them if the
/// declarations cannot be inflated or are too large.
pub(super) fn mentioned<H: FileHeader<Endian = Endianness>>(file: &[u8]) -> Vec<&'static str> {
    let Ok(header) = H::parse(file) else { return Vec::new() };
    let sections = header.endian().and_then(|e| Ok((e, header.sections(e, file)?)));
    let Ok((e, sections)) = sections else { return Vec::new() };
    let mut text = Vec::new();
    for section in sections.iter() {
        let name = sections.section_name(e, section).unwrap_or_default();
        if name.starts_with(SECTION) {
            let bytes = section.data(e, file).ok();
            if bytes.and_then(|bytes| inflate(bytes, &mut text)).is_none() {
                return NAMES.split_ascii_whitespace().collect();
            }
        }
    }
    names_in(&text)
}

/// The names that a table of strings has. An entry is the length of a name, then its text.
fn names_in(text: &[u8]) -> Vec<&'static str> {
    let all: FastSet<&'static str> = NAMES.split_ascii_whitespace().collect();
    let longest = all.iter().map(|name| name.len()).max().unwrap_or(0);
    let name_at = |(at, len): (usize, &u8)| {
        let len = usize::from(*len);
        let bytes = text.get(at + 1..=at + len).filter(|_| len <= longest)?;
        all.get(std::str::from_utf8(bytes).ok()?).copied()
    };
    let mut out: Vec<&str> = text.iter().enumerate().filter_map(name_at).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Appends the bytes of a section, which GCC compresses with zstd or zlib, or not at all. `None` if
/// they are damaged, or if `out` becomes larger than [`MOST`].
fn inflate(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let left = u64::try_from(MOST.checked_sub(out.len())?).ok()?;
    let stream: Box<dyn Read + '_> = match bytes {
        _ if bytes.starts_with(ZSTD) => Box::new(StreamingDecoder::new(bytes).ok()?),
        // The first byte of zlib's header with its default window.
        [0x78, ..] => Box::new(ZlibDecoder::new(bytes)),
        _ => Box::new(bytes),
    };
    stream.take(left + 1).read_to_end(out).ok()?;
    (out.len() <= MOST).then_some(())
}

#[cfg(test)]
mod tests {
    use super::{MOST, inflate, names_in};

    #[test]
    fn names_have_their_length_before_them() {
        assert_eq!(
            names_in(b"\x06printf\x04puts\x07puts\0ab\x05abort\x03abs\x04free"),
            ["abort", "abs", "free", "printf", "puts"]
        );
        assert!(names_in(b"\x05printf\x06print").is_empty());
    }

    #[test]
    fn sections_have_a_limit() {
        let mut out = Vec::new();
        assert!(inflate(&vec![0; MOST], &mut out).is_some());
        assert!(inflate(b"", &mut out).is_some() && inflate(b"a", &mut out).is_none());
        assert!(inflate(b"\x28\xb5\x2f\xfdrest", &mut Vec::new()).is_none());
    }
}
