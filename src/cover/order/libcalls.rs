//! The functions that code which LLVM generates may call, for the rules of lld: the names of
//! `RTLIB::RuntimeLibcallsInfo` in LLVM 19 (`llvm/IR/RuntimeLibcalls.def`,
//! `lib/IR/RuntimeLibcalls.cpp`), on Linux.

use crate::format::elf::Target;
use object::elf;

/// The names of all targets, in LLVM's order.
const NAMES: &str = "__ashlhi3 __ashlsi3 __ashldi3 __ashlti3 __lshrhi3 __lshrsi3 __lshrdi3 __lshrti3 __ashrhi3 \
    __ashrsi3 __ashrdi3 __ashrti3 __mulqi3 __mulhi3 __mulsi3 __muldi3 __multi3 __mulosi4 \
    __mulodi4 __muloti4 __divqi3 __divhi3 __divsi3 __divdi3 __divti3 __udivqi3 __udivhi3 \
    __udivsi3 __udivdi3 __udivti3 __modqi3 __modhi3 __modsi3 __moddi3 __modti3 __umodqi3 \
    __umodhi3 __umodsi3 __umoddi3 __umodti3 __negsi2 __negdi2 __clzsi2 __clzdi2 __clzti2 __addsf3 \
    __adddf3 __addxf3 __addkf3 __addtf3 __gcc_qadd __subsf3 __subdf3 __subxf3 __subkf3 __subtf3 \
    __gcc_qsub __mulsf3 __muldf3 __mulxf3 __mulkf3 __multf3 __gcc_qmul __divsf3 __divdf3 __divxf3 \
    __divkf3 __divtf3 __gcc_qdiv fmodf fmod fmodl fmodf128 fmaf fma fmal fmaf128 __powisf2 \
    __powidf2 __powixf2 __powikf2 __powitf2 sqrtf sqrt sqrtl sqrtf128 cbrtf cbrt cbrtl cbrtf128 \
    logf log logl logf128 __logf_finite __log_finite __logl_finite __logf128_finite log2f log2 \
    log2l log2f128 __log2f_finite __log2_finite __log2l_finite __log2f128_finite log10f log10 \
    log10l log10f128 __log10f_finite __log10_finite __log10l_finite __log10f128_finite expf exp \
    expl expf128 __expf_finite __exp_finite __expl_finite __expf128_finite exp2f exp2 exp2l \
    exp2f128 __exp2f_finite __exp2_finite __exp2l_finite __exp2f128_finite exp10f exp10 exp10l \
    exp10f128 sinf sin sinl sinf128 cosf cos cosl cosf128 tanf tan tanl tanf128 sinhf sinh sinhl \
    sinhf128 coshf cosh coshl coshf128 tanhf tanh tanhl tanhf128 asinf asin asinl asinf128 acosf \
    acos acosl acosf128 atanf atan atanl atanf128 sincosf sincos sincosl powf pow powl powf128 \
    __powf_finite __pow_finite __powl_finite __powf128_finite ceilf ceil ceill ceilf128 truncf \
    trunc truncl truncf128 rintf rint rintl rintf128 nearbyintf nearbyint nearbyintl \
    nearbyintf128 roundf round roundl roundf128 roundevenf roundeven roundevenl roundevenf128 \
    floorf floor floorl floorf128 copysignf copysign copysignl copysignf128 fminf fmin fminl \
    fminf128 fmaxf fmax fmaxl fmaxf128 lroundf lround lroundl lroundf128 llroundf llround \
    llroundl llroundf128 lrintf lrint lrintl lrintf128 llrintf llrint llrintl llrintf128 ldexpf \
    ldexp ldexpl ldexpf128 frexpf frexp frexpl frexpf128 fegetenv fesetenv fegetmode fesetmode \
    __extendbfsf2 __gcc_stoq __gcc_dtoq __extendxftf2 __extenddfkf2 __extendsfkf2 __extenddftf2 \
    __extendsftf2 __extendhftf2 __extendhfxf2 __extendsfdf2 __extendhfdf2 __gnu_h2f_ieee \
    __gnu_f2h_ieee __truncdfhf2 __truncxfhf2 __trunctfhf2 __truncsfbf2 __truncdfbf2 __truncdfsf2 \
    __truncxfsf2 __trunckfsf2 __trunctfsf2 __gcc_qtos __truncxfdf2 __trunckfdf2 __trunctfdf2 \
    __gcc_qtod __trunctfxf2 __fixhfsi __fixhfdi __fixhfti __fixsfsi __fixsfdi __fixsfti __fixdfsi \
    __fixdfdi __fixdfti __fixxfsi __fixxfdi __fixxfti __fixkfsi __fixkfdi __fixkfti __fixtfsi \
    __fixtfdi __fixtfti __gcc_qtou __fixunshfsi __fixunshfdi __fixunshfti __fixunssfsi \
    __fixunssfdi __fixunssfti __fixunsdfsi __fixunsdfdi __fixunsdfti __fixunsxfsi __fixunsxfdi \
    __fixunsxfti __fixunskfsi __fixunskfdi __fixunskfti __fixunstfsi __fixunstfdi __fixunstfti \
    __floatsihf __floatsisf __floatsidf __floatsixf __floatsikf __floatsitf __gcc_itoq \
    __floatdihf __floatdisf __floatdidf __floatdixf __floatdikf __floatditf __floattihf \
    __floattisf __floattidf __floattixf __floattikf __floattitf __floatunsihf __floatunsisf \
    __floatunsidf __floatunsixf __floatunsikf __floatunsitf __gcc_utoq __floatundihf \
    __floatundisf __floatundidf __floatundixf __floatundikf __floatunditf __floatuntihf \
    __floatuntisf __floatuntidf __floatuntixf __floatuntikf __floatuntitf __extendkftf2 \
    __trunctfkf2 __eqsf2 __eqdf2 __eqkf2 __eqtf2 __gcc_qeq __nesf2 __nedf2 __nekf2 __netf2 \
    __gcc_qne __gesf2 __gedf2 __gekf2 __getf2 __gcc_qge __ltsf2 __ltdf2 __ltkf2 __lttf2 __gcc_qlt \
    __lesf2 __ledf2 __lekf2 __letf2 __gcc_qle __gtsf2 __gtdf2 __gtkf2 __gttf2 __gcc_qgt \
    __unordsf2 __unorddf2 __unordkf2 __unordtf2 __gcc_qunord memcpy memmove memset calloc \
    __llvm_memcpy_element_unordered_atomic_1 __llvm_memcpy_element_unordered_atomic_2 \
    __llvm_memcpy_element_unordered_atomic_4 __llvm_memcpy_element_unordered_atomic_8 \
    __llvm_memcpy_element_unordered_atomic_16 __llvm_memmove_element_unordered_atomic_1 \
    __llvm_memmove_element_unordered_atomic_2 __llvm_memmove_element_unordered_atomic_4 \
    __llvm_memmove_element_unordered_atomic_8 __llvm_memmove_element_unordered_atomic_16 \
    __llvm_memset_element_unordered_atomic_1 __llvm_memset_element_unordered_atomic_2 \
    __llvm_memset_element_unordered_atomic_4 __llvm_memset_element_unordered_atomic_8 \
    __llvm_memset_element_unordered_atomic_16 _Unwind_Resume __cxa_end_cleanup \
    __sync_val_compare_and_swap_1 __sync_val_compare_and_swap_2 __sync_val_compare_and_swap_4 \
    __sync_val_compare_and_swap_8 __sync_val_compare_and_swap_16 __sync_lock_test_and_set_1 \
    __sync_lock_test_and_set_2 __sync_lock_test_and_set_4 __sync_lock_test_and_set_8 \
    __sync_lock_test_and_set_16 __sync_fetch_and_add_1 __sync_fetch_and_add_2 \
    __sync_fetch_and_add_4 __sync_fetch_and_add_8 __sync_fetch_and_add_16 __sync_fetch_and_sub_1 \
    __sync_fetch_and_sub_2 __sync_fetch_and_sub_4 __sync_fetch_and_sub_8 __sync_fetch_and_sub_16 \
    __sync_fetch_and_and_1 __sync_fetch_and_and_2 __sync_fetch_and_and_4 __sync_fetch_and_and_8 \
    __sync_fetch_and_and_16 __sync_fetch_and_or_1 __sync_fetch_and_or_2 __sync_fetch_and_or_4 \
    __sync_fetch_and_or_8 __sync_fetch_and_or_16 __sync_fetch_and_xor_1 __sync_fetch_and_xor_2 \
    __sync_fetch_and_xor_4 __sync_fetch_and_xor_8 __sync_fetch_and_xor_16 __sync_fetch_and_nand_1 \
    __sync_fetch_and_nand_2 __sync_fetch_and_nand_4 __sync_fetch_and_nand_8 \
    __sync_fetch_and_nand_16 __sync_fetch_and_max_1 __sync_fetch_and_max_2 __sync_fetch_and_max_4 \
    __sync_fetch_and_max_8 __sync_fetch_and_max_16 __sync_fetch_and_umax_1 \
    __sync_fetch_and_umax_2 __sync_fetch_and_umax_4 __sync_fetch_and_umax_8 \
    __sync_fetch_and_umax_16 __sync_fetch_and_min_1 __sync_fetch_and_min_2 __sync_fetch_and_min_4 \
    __sync_fetch_and_min_8 __sync_fetch_and_min_16 __sync_fetch_and_umin_1 \
    __sync_fetch_and_umin_2 __sync_fetch_and_umin_4 __sync_fetch_and_umin_8 \
    __sync_fetch_and_umin_16 __atomic_load __atomic_load_1 __atomic_load_2 __atomic_load_4 \
    __atomic_load_8 __atomic_load_16 __atomic_store __atomic_store_1 __atomic_store_2 \
    __atomic_store_4 __atomic_store_8 __atomic_store_16 __atomic_exchange __atomic_exchange_1 \
    __atomic_exchange_2 __atomic_exchange_4 __atomic_exchange_8 __atomic_exchange_16 \
    __atomic_compare_exchange __atomic_compare_exchange_1 __atomic_compare_exchange_2 \
    __atomic_compare_exchange_4 __atomic_compare_exchange_8 __atomic_compare_exchange_16 \
    __atomic_fetch_add_1 __atomic_fetch_add_2 __atomic_fetch_add_4 __atomic_fetch_add_8 \
    __atomic_fetch_add_16 __atomic_fetch_sub_1 __atomic_fetch_sub_2 __atomic_fetch_sub_4 \
    __atomic_fetch_sub_8 __atomic_fetch_sub_16 __atomic_fetch_and_1 __atomic_fetch_and_2 \
    __atomic_fetch_and_4 __atomic_fetch_and_8 __atomic_fetch_and_16 __atomic_fetch_or_1 \
    __atomic_fetch_or_2 __atomic_fetch_or_4 __atomic_fetch_or_8 __atomic_fetch_or_16 \
    __atomic_fetch_xor_1 __atomic_fetch_xor_2 __atomic_fetch_xor_4 __atomic_fetch_xor_8 \
    __atomic_fetch_xor_16 __atomic_fetch_nand_1 __atomic_fetch_nand_2 __atomic_fetch_nand_4 \
    __atomic_fetch_nand_8 __atomic_fetch_nand_16 __stack_chk_fail __llvm_deoptimize __clear_cache \
    __riscv_flush_icache";

/// Functions of 128-bit numbers that POWER has under other names, which contain `kf`.
const NOT_ON_POWER: &[&str] = &[
    "__addtf3",
    "__divtf3",
    "__eqtf2",
    "__extenddftf2",
    "__extendsftf2",
    "__fixtfsi",
    "__floatsitf",
    "__floatunsitf",
    "__getf2",
    "__gttf2",
    "__letf2",
    "__lttf2",
    "__multf3",
    "__netf2",
    "__subtf3",
    "__trunctfdf2",
    "__trunctfsf2",
    "__unordtf2",
];

/// The names for a target, in the order in which lld looks them up. Bitcode does not tell its target
/// here: x86-64 is assumed if no input does.
pub(super) fn names(target: Option<Target>) -> impl Iterator<Item = &'static [u8]> {
    let (machine, is_64) = target.map_or((elf::EM_X86_64.0, true), |of| (of.machine, of.is_64));
    let is_power = machine == elf::EM_PPC64.0;
    let is_called = move |name: &&str| match *name {
        "__ashlti3" | "__ashrti3" | "__lshrti3" => is_64 && machine != elf::EM_S390.0,
        "__mulodi4" | "__multi3" => is_64,
        "__muloti4" => is_64 && machine != elf::EM_X86_64.0 && !is_power,
        _ if name.ends_with("f128") || name.ends_with("f128_finite") => {
            is_64 && machine == elf::EM_X86_64.0
        }
        _ if name.contains("kf") && !name.contains("tf") => is_power,
        _ => !is_power || !NOT_ON_POWER.contains(name),
    };
    NAMES.split_ascii_whitespace().filter(is_called).map(str::as_bytes)
}

/// All names, which members in bitcode may define although nothing refers to them.
pub fn all() -> impl Iterator<Item = &'static [u8]> {
    NAMES.split_ascii_whitespace().map(str::as_bytes)
}
