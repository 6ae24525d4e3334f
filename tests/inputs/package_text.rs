//! Compares findings about text files with the programs that read these files: pkgconf and the
//! linker for package files, CMake for CMake packages, and Python, ldconfig and GCC for their own
//! files.

mod cmake;
mod headers;
mod loose;
mod pkg_config;

use crate::support;
pub use support::{debian, random, report};

/// Development packages of bookworm with their dependencies. `LINKAUDIT_TEXTS` takes the long list.
pub const FEW: &[&str] = &["libgtk-3-dev", "libarchive-dev", "libzmq3-dev"];
pub const MANY: &[&str] = &[
    "libarchive-dev",
    "libavformat-dev",
    "libboost-all-dev",
    "libcurl4-openssl-dev",
    "libeigen3-dev",
    "libgrpc++-dev",
    "libgstreamer-plugins-base1.0-dev",
    "libgtk-4-dev",
    "libgtkmm-3.0-dev",
    "libhdf5-dev",
    "libopencv-dev",
    "libpcl-dev",
    "libprotobuf-dev",
    "libsdl2-image-dev",
    "libsoup-3.0-dev",
    "libsystemd-dev",
    "libvtk9-dev",
    "libwebkit2gtk-4.1-dev",
    "libxerces-c-dev",
    "libzmq3-dev",
    "qt6-base-dev",
    "qtbase5-dev",
];

/// The packages of this run. `cargo test` leaves the largest out.
pub fn packages() -> &'static [&'static str] {
    match random::is_sweep() {
        _ if std::env::var_os("LINKAUDIT_TEXTS").is_some() => MANY,
        true => FEW,
        false => &FEW[1..],
    }
}

/// Packages with configuration files of CMake, in the same way.
const FEW_CMAKE: &[&str] = &[
    "libabsl-dev",
    "libcereal-dev",
    "libdouble-conversion-dev",
    "libevent-dev",
    "libflatbuffers-dev",
    "libfmt-dev",
    "libgflags-dev",
    "libglew-dev",
    "libglfw3-dev",
    "libjsoncpp-dev",
    "libprotobuf-dev",
    "libpugixml-dev",
    "libre2-dev",
    "libsdl2-dev",
    "libspdlog-dev",
    "libtbb-dev",
    "libtinyxml2-dev",
    "libyaml-cpp-dev",
    "libzmq3-dev",
    "nlohmann-json3-dev",
];
const MANY_CMAKE: &[&str] = &[
    "extra-cmake-modules",
    "gnuradio-dev",
    "libabsl-dev",
    "libarmadillo-dev",
    "libassimp-dev",
    "libavif-dev",
    "libboost-all-dev",
    "libbullet-dev",
    "libcapstone-dev",
    "libcereal-dev",
    "libceres-dev",
    "libcgal-dev",
    "libclang-14-dev",
    "libcurl4-openssl-dev",
    "libdeal.ii-dev",
    "libdouble-conversion-dev",
    "libeigen3-dev",
    "libevent-dev",
    "libflatbuffers-dev",
    "libfmt-dev",
    "libfreetype-dev",
    "libgflags-dev",
    "libglew-dev",
    "libglfw3-dev",
    "libglm-dev",
    "libgmock-dev",
    "libgoogle-glog-dev",
    "libgrpc++-dev",
    "libhdf5-dev",
    "libheif-dev",
    "libicu-dev",
    "libjsoncpp-dev",
    "libjxl-dev",
    "libkdecorations2-dev",
    "libkf5config-dev",
    "libkf5kio-dev",
    "libkf5plasma-dev",
    "libkf5wallet-dev",
    "liblapack-dev",
    "libleveldb-dev",
    "liblld-14-dev",
    "libmbedtls-dev",
    "libmlir-14-dev",
    "libopencv-dev",
    "libopenexr-dev",
    "libpcl-dev",
    "libpoppler-cpp-dev",
    "libprotobuf-dev",
    "libpugixml-dev",
    "libqhull-dev",
    "librange-v3-dev",
    "libre2-dev",
    "libsdl2-dev",
    "libspdlog-dev",
    "libtbb-dev",
    "libtiff-dev",
    "libtinyxml2-dev",
    "libuhd-dev",
    "libuv1-dev",
    "libvtk9-dev",
    "libwebp-dev",
    "libxerces-c-dev",
    "libxml2-dev",
    "libxtensor-dev",
    "libyaml-cpp-dev",
    "libzmq3-dev",
    "libzstd-dev",
    "llvm-14-dev",
    "mlir-14-tools",
    "nlohmann-json3-dev",
    "qt6-base-dev",
    "qt6-declarative-dev",
    "qtbase5-dev",
    "qtdeclarative5-dev",
    "rapidjson-dev",
];

/// The packages with CMake files of this run.
pub fn cmake_packages() -> &'static [&'static str] {
    match random::is_sweep() {
        _ if std::env::var_os("LINKAUDIT_TEXTS").is_some() => MANY_CMAKE,
        true => FEW_CMAKE,
        false => &FEW_CMAKE[FEW_CMAKE.len() - 6..],
    }
}
