//! Archives of the C library, of compilers and of tools, known by their names and directories.

use crate::format::deps_list::bare_name;
use crate::format::elf::Target;
use object::elf;
use std::ffi::OsStr;
use std::path::Path;

/// Directories that belong to a compiler. The compiler links their archives by itself.
const COMPILER_DIRS: &[&str] = &["gcc", "gcc-cross", "clang"];
/// Directories that belong to a tool. Only that tool links the archives in them, with its own C
/// library instead of glibc.
const TOOL_DIRS: &[&str] = &["valgrind"];
/// Archives of glibc. Dynamically linked files use glibc's shared libraries instead.
const LIBC: &[&str] = &[
    "libc.a",
    "libm.a",
    "libmvec.a",
    "libpthread.a",
    "libdl.a",
    "librt.a",
    "libutil.a",
    "libanl.a",
    "libresolv.a",
    "libBrokenLocale.a",
];

/// Archives of glibc with names that projects also use. The audit takes such an archive as glibc's
/// only if `libc.a` or `libc.so` is in the same directory.
const COMMON: &[&str] =
    &["libm.a", "libpthread.a", "libdl.a", "librt.a", "libutil.a", "libresolv.a"];

/// Libraries that compilers provide, by name without `lib`.
const COMPILER: &[&str] = &["atomic", "gcc", "gcc_eh", "gcc_s", "stdc++"];

/// Functions of `libgcc.a`, `libgcc_eh.a` and `libgcc_s.so.1` for 64-bit machines, separated by
/// blanks. Compilers add these libraries to every link. The functions for decimal floating point
/// and for split stacks are left out.
const FUNCTIONS: &str = "\
_Unwind_Backtrace _Unwind_DeleteException _Unwind_FindEnclosingFunction _Unwind_Find_FDE
_Unwind_ForcedUnwind _Unwind_GetCFA _Unwind_GetDataRelBase _Unwind_GetGR _Unwind_GetIP
_Unwind_GetIPInfo _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase
_Unwind_RaiseException _Unwind_Resume _Unwind_Resume_or_Rethrow _Unwind_SetGR _Unwind_SetIP
__absvdi2 __absvsi2 __absvti2 __addtf3 __addvdi3 __addvsi3 __addvti3 __ashlti3 __ashrti3
__bswapdi2 __bswapsi2 __clear_cache __clrsbdi2 __clrsbti2 __clzdi2 __clzti2 __cmpti2 __ctzdi2
__ctzti2 __deregister_frame __deregister_frame_info __divdc3 __divhc3 __divmodti4 __divsc3
__divtc3 __divtf3 __divti3 __emutls_get_address __eqhf2 __eqtf2 __extenddftf2 __extendhfdf2
__extendhfsf2 __extendhftf2 __extendsfdf2 __extendsftf2 __ffsdi2 __ffsti2 __fixdfti __fixhfti
__fixsfti __fixtfdi __fixtfsi __fixtfti __fixunsdfdi __fixunsdfti __fixunshfti __fixunssfdi
__fixunssfti __fixunstfdi __fixunstfsi __fixunstfti __floatditf __floatsitf __floattidf
__floattihf __floattisf __floattitf __floatunditf __floatunsitf __floatuntidf __floatuntihf
__floatuntisf __floatuntitf __gcc_personality_v0 __getf2 __gttf2 __letf2 __lshrti3 __lttf2
__modti3 __muldc3 __mulhc3 __mulsc3 __multc3 __multf3 __multi3 __mulvdi3 __mulvsi3 __mulvti3
__negtf2 __negti2 __negvdi2 __negvsi2 __negvti2 __nehf2 __netf2 __paritydi2 __parityti2
__popcountdi2 __popcountti2 __powidf2 __powisf2 __powitf2 __register_frame __register_frame_info
__subtf3 __subvdi3 __subvsi3 __subvti3 __truncdfhf2 __truncdfsf2 __truncsfhf2 __trunctfdf2
__trunctfhf2 __trunctfsf2 __ucmpti2 __udivmodti4 __udivti3 __umodti3 __unordtf2";
/// Functions of the same libraries on x86-64 only.
const FUNCTIONS_X86_64: &str = "\
__cpu_indicator_init __cpu_model __divxc3 __extendhfxf2 __extendxftf2 __fixunsxfdi __fixunsxfti
__fixxfti __floattixf __floatuntixf __mulxc3 __powixf2 __trunctfxf2 __truncxfhf2";

/// True for a function of the compiler's own libraries, which its links need not name.
pub fn is_of_compiler(target: Target, name: &[u8]) -> bool {
    let is_in = |names: &str| names.split_ascii_whitespace().any(|n| n.as_bytes() == name);
    let is_x86_64 = target.machine == elf::EM_X86_64.0;
    (name.starts_with(b"__") || name.starts_with(b"_Unwind_"))
        && target.is_64
        && (is_in(FUNCTIONS) || is_x86_64 && is_in(FUNCTIONS_X86_64))
}

/// True for the bare name of a library that the C library or the compiler provides (`pthread`).
/// Linkers find such a library without help, and builds do not merge its archive into another
/// archive. An archive of a project may have the same name.
pub fn is_system_name(name: &[u8]) -> bool {
    LIBC.iter().any(|archive| bare_name(archive.as_bytes()) == Some(name))
        || COMPILER.iter().any(|known| known.as_bytes() == name)
}

/// True for the bare name of a library that the compiler provides. Also true for a library of the C
/// library, if none of the archives at `paths` belongs to a project. `is_there` is true for paths
/// of existing files.
pub fn is_system_library<'p>(
    name: &[u8],
    mut paths: impl Iterator<Item = &'p Path>,
    is_there: &dyn Fn(&Path) -> bool,
) -> bool {
    COMPILER.iter().any(|known| known.as_bytes() == name)
        || is_system_name(name) && paths.all(|path| is_runtime(path, is_there))
}

/// True for an archive that no fix links into a dynamically linked file. It is an archive of the C
/// library, or only a compiler or a tool uses it. `is_there` is true for paths of existing files.
pub fn is_runtime(path: &Path, is_there: &dyn Fn(&Path) -> bool) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let beside = |name: &str| is_there(&path.with_file_name(name));
    let is_libc = LIBC.contains(&name) || name.starts_with("libm-");
    is_libc && (!COMMON.contains(&name) || beside("libc.a") || beside("libc.so"))
        || lies_in(path, COMPILER_DIRS, 2)
        || is_of_tool(path)
}

/// True for an archive that only one tool links, and for a directory of such archives.
pub fn is_of_tool(path: &Path) -> bool {
    lies_in(path, TOOL_DIRS, 0)
}

/// True if a directory with one of these names is directly in a library directory, and if at least
/// `below` components of the path follow that directory. A compiler keeps its archives in a
/// subdirectory for a machine or a version. `below` therefore excludes a project directory that is
/// merely called `gcc` or `clang`.
fn lies_in(path: &Path, names: &[&str], below: usize) -> bool {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    let is_library_dir = |part: &str| part.starts_with("lib") || part.contains("-linux-");
    let is_one =
        |pair: &[&str]| matches!(pair, [dir, name] if is_library_dir(dir) && names.contains(name));
    parts[..parts.len().saturating_sub(below)].windows(2).any(is_one)
}
