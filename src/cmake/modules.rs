//! The modules of CMake 3.25: `include(NAME)` finds all of them, and `find_package` finds the
//! modules whose names start with `Find` (`cmake --help-module-list`).

/// Packages for which CMake has a find module, so that no configuration file is needed.
const PACKAGES: &str = " ALSA ASPELL AVIFile Armadillo BISON BLAS BZip2 Backtrace Boost Bullet CABLE CUDA \
CUDAToolkit CURL CVS Coin3D Cups Curses CxxTest Cygwin DCMTK Dart DevIL Doxygen EXPAT EnvModules FLEX FLTK \
FLTK2 Fontconfig Freetype GCCXML GDAL GIF GLEW GLU GLUT GSL GTK GTK2 GTest Gettext Git GnuTLS Gnuplot HDF5 \
HSPELL HTMLHelp Hg ICU Ice Iconv Icotool ImageMagick Intl JNI JPEG Jasper Java KDE3 KDE4 LAPACK LATEX LTTngUST \
LibArchive LibLZMA LibXml2 LibXslt Libinput Lua Lua50 Lua51 MFC MPEG MPEG2 MPI Matlab Motif Msys ODBC OpenACC \
OpenAL OpenCL OpenGL OpenMP OpenSP OpenSSL OpenSceneGraph OpenThreads PHP4 PNG Patch Perl PerlLibs PhysFS Pike \
PkgConfig PostgreSQL Producer Protobuf Python Python2 Python3 PythonInterp PythonLibs Qt Qt3 Qt4 QuickTime RTI \
Ruby SDL SDL_gfx SDL_image SDL_mixer SDL_net SDL_sound SDL_ttf SQLite3 SWIG SelfPackers Squish Subversion TCL \
TIFF TclStub Tclsh Threads UnixCommands Vulkan Wget Wish X11 XCTest XMLRPC XalanC XercesC ZLIB osg osgAnimation \
osgDB osgFX osgGA osgIntrospection osgManipulator osgParticle osgPresentation osgProducer osgQt osgShadow osgSim \
osgTerrain osgText osgUtil osgViewer osgVolume osgWidget wxWidgets wxWindows ";

/// The modules that are not in [`PACKAGES`].
const OTHERS: &str = " AddFileDependencies AndroidTestUtilities BundleUtilities CMakeAddFortranSubdirectory \
CMakeBackwardCompatibilityC CMakeBackwardCompatibilityCXX CMakeCheckCompilerFlagCommonPatterns \
CMakeDependentOption CMakeDetermineSystem CMakeDetermineVSServicePack CMakeExpandImportedTargets \
CMakeFindDependencyMacro CMakeFindFrameworks CMakeFindPackageMode CMakeForceCompiler \
CMakeGraphVizOptions CMakePackageConfigHelpers CMakeParseArguments CMakePrintHelpers \
CMakePrintSystemInformation CMakePushCheckState CMakeVerifyManifest CPack CPackComponent CPackIFW \
CPackIFWConfigureFile CSharpUtilities CTest CTestCoverageCollectGCOV CTestScriptMode CTestUseLaunchers \
CheckCCompilerFlag CheckCSourceCompiles CheckCSourceRuns CheckCXXCompilerFlag CheckCXXSourceCompiles \
CheckCXXSourceRuns CheckCXXSymbolExists CheckCompilerFlag CheckFortranCompilerFlag \
CheckFortranFunctionExists CheckFortranSourceCompiles CheckFortranSourceRuns CheckFunctionExists \
CheckIPOSupported CheckIncludeFile CheckIncludeFileCXX CheckIncludeFiles CheckLanguage \
CheckLibraryExists CheckLinkerFlag CheckOBJCCompilerFlag CheckOBJCSourceCompiles CheckOBJCSourceRuns \
CheckOBJCXXCompilerFlag CheckOBJCXXSourceCompiles CheckOBJCXXSourceRuns CheckPIESupported \
CheckPrototypeDefinition CheckSizeOf CheckSourceCompiles CheckSourceRuns CheckStructHasMember \
CheckSymbolExists CheckTypeSize CheckVariableExists Dart DeployQt4 Documentation ExternalData \
ExternalProject FeatureSummary FetchContent FindPackageHandleStandardArgs FindPackageMessage \
Findosg_functions FortranCInterface GNUInstallDirs GenerateExportHeader GetPrerequisites GoogleTest \
InstallRequiredSystemLibraries MacroAddFileDependencies ProcessorCount SelectLibraryConfigurations \
SquishTestScript SystemInformation TestBigEndian TestCXXAcceptsFlag TestForANSIForScope \
TestForANSIStreamHeaders TestForSSTREAM TestForSTDNamespace UseEcos UseJava UsePkgConfig UseSWIG \
Use_wxWindows UsewxWidgets WriteBasicConfigVersionFile WriteCompilerDetectionHeader ";

/// True if CMake has a find module for a package.
pub(super) fn finds(package: &[u8]) -> bool {
    has(PACKAGES, package)
}

/// True if CMake has a module of this name.
pub(super) fn includes(module: &[u8]) -> bool {
    module.strip_prefix(b"Find").is_some_and(finds) || has(OTHERS, module)
}

fn has(names: &str, name: &[u8]) -> bool {
    names.split_ascii_whitespace().any(|known| known.as_bytes() == name)
}
