//! Data of the Debian sysroot: the packages, the files that each program loads, and the symbols
//! that these files take from each other.

/// With their dependencies, some hundred packages.
pub const FEW: &[&str] = &[
    "apache2",
    "coreutils",
    "gdb",
    "iproute2",
    "libdbi-perl",
    "libtraceevent1-plugin",
    "lua-cjson",
    "lua5.4",
    "perl",
    "python3",
    "python3-cffi-backend",
    "trace-cmd",
];

/// With their dependencies, the packages of `packages.txt`.
pub const MANY: &str = "\
    coreutils \
    python3 python3-numpy python3-lxml python3-cryptography python3-pil python3-gi python3-gi-cairo \
    python3-yaml python3-psutil python3-cffi-backend python3-markupsafe python3-apt python3-dbus \
    python3-cairo python3-psycopg2 python3-tk python3-bcrypt python3-pycurl python3-ldap \
    python3-gdbm python3-zmq \
    perl libdbi-perl libxml-libxml-perl libdbd-sqlite3-perl libjson-xs-perl libdbd-pg-perl \
    libterm-readline-gnu-perl libnet-ssleay-perl libxml-parser-perl \
    r-base-core r-cran-rcpp r-cran-jsonlite r-cran-data.table r-cran-xml2 r-cran-lattice \
    r-cran-mass r-cran-cluster \
    php8.2-cli php8.2-mbstring php8.2-xml php8.2-curl php8.2-gd php8.2-intl php8.2-pgsql \
    php8.2-sqlite3 php8.2-mysql php8.2-zip libapache2-mod-php8.2 \
    ruby ruby-nokogiri ruby-json ruby-ffi ruby-sqlite3 ruby-pg ruby-msgpack \
    apache2 libapache2-mod-security2 libapache2-mod-wsgi-py3 libapache2-mod-perl2 \
    libapache2-mod-fcgid libapache2-mod-svn \
    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-x gstreamer1.0-alsa \
    libqt6gui6 qt6-qpa-plugins libqt6sql6-sqlite qt6-wayland qml6-module-qtquick libqt6svg6 \
    qt6-image-formats-plugins libqt5gui5 libqt5sql5-sqlite qtwayland5 qt5-image-formats-plugins \
    qml-module-qtquick2 \
    libpam-modules libpam-systemd libpam-cap libpam-krb5 libpam-ldapd libpam-gnome-keyring \
    libnss-systemd libnss-myhostname libnss-ldapd libnss-mdns libnss-libvirt \
    lua5.4 lua5.3 lua5.2 lua5.1 lua-socket lua-cjson lua-sec lua-lpeg lua-posix \
    tcl tk tcl-tls tdom libsqlite3-tcl tcl-thread \
    nginx libnginx-mod-http-geoip libnginx-mod-http-image-filter libnginx-mod-http-xslt-filter \
    libnginx-mod-stream libnginx-mod-mail libnginx-mod-http-lua libnginx-mod-http-perl \
    postgresql-15 postgresql-plpython3-15 postgresql-plperl-15 postgresql-pltcl-15 \
    postgresql-15-cron postgresql-15-repack \
    xserver-xorg-core xserver-xorg-video-amdgpu xserver-xorg-video-nouveau \
    xserver-xorg-video-vesa xserver-xorg-video-fbdev xserver-xorg-video-dummy \
    xserver-xorg-video-qxl xserver-xorg-input-libinput xserver-xorg-input-evdev \
    xserver-xorg-input-wacom \
    iproute2 gdb trace-cmd libtraceevent1-plugin packagekit";

/// Links that scripts of packages make with update-alternatives, and nothing else does.
pub const LINKS: &[(&str, &str)] = &[
    ("usr/lib/x86_64-linux-gnu/libblas.so.3", "blas/libblas.so.3"),
    ("usr/lib/x86_64-linux-gnu/liblapack.so.3", "lapack/liblapack.so.3"),
];

/// A program below `/usr`, and globs of the files below `/usr` that it loads.
pub const HOSTS: &[(&str, &str)] = &[
    ("bin/python3.11", "lib/python3*/**/*.so"),
    ("bin/perl", "lib/x86_64-linux-gnu/{perl,perl-base}/**/*.so"),
    ("bin/perl", "lib/x86_64-linux-gnu/perl5/*/auto/[!AMn]*/**/*.so"),
    ("bin/php8.2", "lib/php/2*/*.so"),
    ("sbin/apache2", "lib/apache2/modules/*.so"),
    ("sbin/apache2", "lib/x86_64-linux-gnu/apr-util-1/*.so"),
    ("sbin/apache2", "lib/x86_64-linux-gnu/perl5/*/auto/{APR,Apache2,ModPerl}/**/*.so"),
    ("sbin/nginx", "lib/nginx/modules/*.so"),
    ("sbin/nginx", "lib/x86_64-linux-gnu/perl5/*/auto/nginx/*.so"),
    ("lib/xorg/Xorg", "lib/xorg/modules/**/*.so"),
    ("lib/postgresql/15/bin/postgres", "lib/postgresql/15/lib/*.so"),
    ("bin/tclsh8.6", "lib/tcltk/**/*.so"),
    ("lib/R/bin/exec/R", "lib/R/**/*.so"),
    ("bin/ruby3.1", "lib/x86_64-linux-gnu/ruby/**/*.so"),
    ("bin/lua5.4", "lib/x86_64-linux-gnu/liblua5.4-*.so.*"),
    ("bin/lua5.3", "lib/x86_64-linux-gnu/liblua5.3-*.so.*"),
    ("bin/lua5.2", "lib/x86_64-linux-gnu/liblua5.2-*.so.*"),
    ("bin/lua5.1", "lib/x86_64-linux-gnu/liblua5.1-*.so.*"),
    ("sbin/tc", "lib/x86_64-linux-gnu/tc/*.so"),
    ("bin/gdb", "lib/x86_64-linux-gnu/libthread_db.so.1"),
    ("bin/trace-cmd", "lib/x86_64-linux-gnu/traceevent/plugins/*.so"),
    ("libexec/packagekitd", "lib/x86_64-linux-gnu/packagekit-backend/*.so"),
];

/// A plugin, and another plugin that its program must have loaded before. Both are globs of paths
/// below `/usr`.
pub const AFTER: &[(&str, &str)] = &[
    // LoadModule in the order of mods-enabled, whose files say `Depends:`.
    ("lib/apache2/modules/mod_proxy_*.so", "lib/apache2/modules/mod_proxy.so"),
    ("lib/apache2/modules/mod_dav_*.so", "lib/apache2/modules/mod_dav.so"),
    ("lib/apache2/modules/mod_authz_svn.so", "lib/apache2/modules/mod_dav_svn.so"),
    ("lib/apache2/modules/mod_cache_*.so", "lib/apache2/modules/mod_cache.so"),
    ("lib/apache2/modules/mod_session_*.so", "lib/apache2/modules/mod_session.so"),
    // Perl's modules run in Perl, which mod_perl and nginx's module bring along.
    ("lib/*/perl5/*/auto/{APR,Apache2,ModPerl}/**/*.so", "lib/apache2/modules/mod_perl.so"),
    ("lib/*/perl5/*/auto/{APR,Apache2,ModPerl}/**/*.so", "lib/*/libperl.so.*"),
    ("lib/*/perl5/*/auto/nginx/*.so", "lib/nginx/modules/ngx_http_perl_module.so"),
    ("lib/*/perl5/*/auto/nginx/*.so", "lib/*/libperl.so.*"),
    // It asks the server for libglamoregl.so first, which needs libgbm.
    ("lib/xorg/modules/drivers/modesetting_drv.so", "lib/*/libgbm.so.1*"),
    // load_module in the order of modules-enabled.
    ("lib/nginx/modules/ngx_http_lua_module.so", "lib/nginx/modules/ndk_http_module.so"),
    ("lib/nginx/modules/ngx_stream_*.so", "lib/nginx/modules/ngx_stream_module.so"),
    // ZEND_MOD_REQUIRED; Debian's files in conf.d have numbers.
    ("lib/php/*/{mysqli,pdo_mysql}.so", "lib/php/*/mysqlnd.so"),
    ("lib/php/*/pdo_*.so", "lib/php/*/pdo.so"),
    ("lib/php/*/{xmlreader,xsl}.so", "lib/php/*/dom.so"),
    // xf86LoadSubModule.
    ("lib/xorg/modules/drivers/*.so", "lib/xorg/modules/*.so"),
];

/// Programs that load their plugins; each must succeed.
pub const LOADS: &[&[&str]] = &[
    &["python3", "-c", "import _ctypes, _decimal, _cffi_backend, _sqlite3, _ssl, readline"],
    &["perl", "-e", "use DBI; use POSIX; use Storable; use Encode"],
    &["lua5.4", "-e", "require 'cjson'"],
    &["trace-cmd", "list", "-P"],
];

/// The same for packages of [`MANY`].
pub const LOADS_OF_MANY: &[&[&str]] = &[
    &[
        "python3",
        "-c",
        "import numpy, lxml.etree, PIL.Image, gi, yaml, apt_pkg, psycopg2, zmq, _tkinter",
    ],
    &["perl", "-e", "use XML::LibXML; use JSON::XS; use Net::SSLeay; use DBD::SQLite; use DBD::Pg"],
    &[
        "ruby",
        "-e",
        "require 'nokogiri'; require 'ffi'; require 'sqlite3'; require 'pg'; require 'msgpack'",
    ],
    &["lua5.1", "-e", "require 'lpeg'; require 'socket.core'; require 'ssl'; require 'posix'"],
    &[
        "php8.2",
        "-n",
        "-dextension_dir=/usr/lib/php/20220829",
        "-dextension=mysqlnd",
        "-dextension=mysqli",
        "-dextension=pdo",
        "-dextension=pdo_mysql",
        "-dextension=xml",
        "-dextension=dom",
        "-dextension=xsl",
        "-dextension=phar",
        "-dextension=intl",
        "-m",
    ],
];
