# Debian packages, unpacked into the cache and never installed. Sourced by `run`; wants $cache and `skip`.
# shellcheck shell=bash disable=SC2034,SC2154

apt_options=()

# Makes apt's lists usable: the system's where they name PACKAGE, else our own copy, which needs no root.
prepare_apt() { # PACKAGE
  [[ -n $(command -v apt-get) && -n $(command -v dpkg-deb) ]] ||
    skip "no apt-get and dpkg-deb here, and $cache holds no $1: the packages come from Debian"
  [[ $(id -u) != 0 ]] || apt_options=(-o APT::Sandbox::User=root)
  [[ -z $(candidate "$1") ]] || return 0
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache"
  apt_options+=(-o "Dir::State::lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt/cache")
  [[ -z $(candidate "$1") ]] || return 0
  say "fetching apt's package lists"
  timeout -k 5 600 apt-get "${apt_options[@]}" -qq update >"$cache/apt/log" 2>&1 || true
  [[ -n $(candidate "$1") ]] || skip "no package $1 in apt's sources: $(tail -n 1 "$cache/apt/log")"
}

# The version that apt would take, or nothing.
candidate() { # PACKAGE
  apt-cache "${apt_options[@]}" policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '^(none)$' || true
}

# Downloads packages into a folder of .deb files.
download() { # FOLDER PACKAGE...
  local folder=$1
  shift
  say "downloading $*"
  (cd "$folder" && timeout -k 5 1200 apt-get "${apt_options[@]}" -qq download "$@") >"$folder/log" 2>&1 ||
    skip "cannot download $*: $(tail -n 1 "$folder/log")"
}

# PACKAGE and what it needs and this machine lacks.
closure() { # PACKAGE...
  apt-get "${apt_options[@]}" -s --no-install-recommends install "$@" 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p'
}

# Sets $unpacked to a folder of the cache that holds the packages' files; the second time nothing is fetched. With
# `--needs` the packages that they depend on are unpacked too, where this machine lacks them. With `--only` just the files
# that match the patterns are kept.
unpack() { # FOLDER [--needs] [--only PATTERN...] -- PACKAGE...
  unpacked=$cache/$1
  shift
  local needs='' patterns=()
  while [[ $1 != -- ]]; do
    case $1 in
      --needs) needs=yes ;;
      --only) ;;
      *) patterns+=("$1") ;;
    esac
    shift
  done
  shift
  [[ ! -d $unpacked ]] || return 0
  prepare_apt "$1"
  local packages=("$@") folder deb
  [[ -z $needs ]] || mapfile -t packages < <(closure "$@")
  ((${#packages[@]} > 0)) || skip "apt finds no way to have $*: see apt-get -s install $*"
  folder=$(mktemp -d "$cache/unpack.XXXXXX")
  mkdir "$folder/tree"
  download "$folder" "${packages[@]}"
  for deb in "$folder"/*.deb; do
    if ((${#patterns[@]} > 0)); then
      # tar also fails where a pattern matches nothing; the caller looks for what it wants.
      dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder/tree" --wildcards "${patterns[@]}" 2>>"$folder/log" || true
    else
      dpkg-deb -x "$deb" "$folder/tree"
    fi
    basename "$deb" >>"$folder/tree/PACKAGES"
  done
  # Another run may have been quicker; its copy is as good.
  mv -T "$folder/tree" "$unpacked" 2>/dev/null || [[ -d $unpacked ]]
  rm -rf "$folder"
}

# Folders of an unpacked tree that hold shared libraries, for LD_LIBRARY_PATH.
library_path() { # TREE
  local IFS=:
  echo "$1/usr/lib/x86_64-linux-gnu:$1/lib/x86_64-linux-gnu:$1/usr/lib"
}
