# The initramfs: busybox, KVM's modules, the test programs at the paths where they were built. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154

# In the order of loading; what a kernel has built in is left out.
modules=(rng-core irqbypass ccp kvm kvm-amd kvm-intel)

# Kernel, modules, busybox and the archiver. Sets $kernel and $tree.
prepare_system() {
  prepare_kernel
  cpio=(cpio)
  if ! command -v cpio >/dev/null; then
    unpack cpio -- cpio
    cpio=("$(find "$unpacked" -path '*bin/cpio')")
  fi
  unpack busybox -- busybox-static
  tree=$work/tree
  mkdir -p "$tree"/{bin,dev,proc,sys,tmp,root,etc,hwtest/bin,hwtest/modules}
  local busybox
  busybox=$(find "$unpacked" -type f -path '*bin/busybox' | head -n 1)
  [[ -n $busybox ]] || fail "the package busybox-static holds no busybox: $unpacked"
  cp "$busybox" "$tree/hwtest/bin/busybox"
  cp "$here/init" "$tree/init"
  cp "$here/checks" "$tree/hwtest/checks"
  texts_of DENO_ARGUMENTS >"$tree/hwtest/deno-arguments"
  texts_of DENO_ENVIRONMENT >"$tree/hwtest/deno-environment"
  texts_of V8_FLAGS | paste -sd, >"$tree/hwtest/v8-flags"
  chmod +x "$tree/init"
  cp -r "$cache/kernel/hwtest/." "$tree/hwtest/modules/"
}

# Debian's kernel with its modules unpacked and uncompressed once, in the cache.
prepare_kernel() {
  if [[ ! -d $cache/kernel ]]; then
    local image patterns=('*/vmlinuz-*' '*/modules.builtin') module
    prepare_apt linux-image-amd64
    image=$(apt-cache "${apt_options[@]}" show --no-all-versions linux-image-amd64 | sed -n 's/^Depends: *\([^ ,]*\).*/\1/p')
    [[ -n $image ]] || fail "apt's entry of linux-image-amd64 names no kernel: $(candidate linux-image-amd64)"
    for module in "${modules[@]}"; do patterns+=("*/$module.ko*"); done
    unpack kernel.new --only "${patterns[@]}" -- "$image"
    gather_modules "$cache/kernel.new"
    mv -T "$cache/kernel.new" "$cache/kernel"
  fi
  kernel=$(echo "$cache"/kernel/boot/vmlinuz-*)
}

# Puts the modules that KVM needs into TREE/hwtest, numbered in their order, and drops the rest of them.
gather_modules() { # TREE
  local tree=$1 module file number=0
  mkdir -p "$tree/hwtest"
  for module in "${modules[@]}"; do
    file=$(find "$tree" -path "$tree/hwtest" -prune -o -name "$module.ko*" -print | head -n 1)
    number=$((number + 1))
    case $file in
      *.ko) cp "$file" "$tree/hwtest/$number-$module.ko" ;;
      *.ko.xz) xz -dc "$file" >"$tree/hwtest/$number-$module.ko" ;;
      *.ko.zst) zstd -qdc "$file" >"$tree/hwtest/$number-$module.ko" ;;
      *) grep -qrs "/$module.ko" --include modules.builtin "$tree" || fail "the kernel package has no module $module" ;;
    esac
  done
  find "$tree" -type d -name kernel -path '*/modules/*' -prune -exec rm -rf {} +
}

# Copies a file to the same path in the image, and for a program its loader and libraries.
add_file() { # PATH
  [[ ! -e $tree$1 ]] || return 0
  mkdir -p "$tree$(dirname "$1")"
  cp -L "$1" "$tree$1"
  add_libraries "$1"
}

add_libraries() { # PATH
  local library
  # ldd fails on what is no dynamic program; that is an answer, not an error.
  for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do add_file "$library"; done
}

# Packs the tree. A newc archive without compression is quickest to make and to read.
pack() { # FILE
  (cd "$tree" && find . | LC_ALL=C sort | "${cpio[@]}" -o -H newc --quiet -R 0:0) >"$1"
}

# The test programs at the paths where cargo put them, so that the paths compiled into them hold; the binaries in /bin too. With
# them the files of the tests, and the shell as an ordinary program.
add_programs() {
  local kind crate name folder path when filters
  : >"$tree/hwtest/programs"
  # All of them: a crate's tests may use another's.
  for folder in "$native"/*/; do
    [[ ! -d ${folder}tests ]] || { mkdir -p "$tree$folder" && cp -r "${folder}tests" "$tree$folder"; }
  done
  while read -r kind crate name folder path when filters; do
    if [[ $crate == framework ]]; then
      add_framework
      echo "framework $when /hwtest sh /hwtest/checks framework $filters" >>"$tree/hwtest/programs"
      continue
    fi
    add_file "$path"
    # Only `guard` looks at the lines of its sources, and they are three quarters of a program.
    [[ $crate == guard ]] || strip --strip-debug "$tree$path"
    mkdir -p "$tree$folder" "$tree$target/x86_64-unknown-linux-gnu/tmp"
    case $kind in
      bin) ln -sf "$path" "$tree/bin/$name" ;;
      test) echo "$crate/$name $when $folder $path --test-threads=1 --show-output --color=never $filters" >>"$tree/hwtest/programs" ;;
    esac
  done <"$work/programs"
  add_file /bin/sh
  [[ -z $deno ]] || { add_file "$deno" && ln -sf "$deno" "$tree/bin/deno"; }
}

# The framework with its DENO_DIR, for the check that serves an isolated route.
add_framework() {
  say "gathering the framework"
  # What it builds is kept for users, and the gate lints our own builds.
  env -u RUSTC_WORKSPACE_WRAPPER timeout -k 5 1800 "$deno" run --quiet --allow-all --no-prompt "$here/framework.ts" "$tree/hwtest" >&2 || fail "the framework cannot be gathered"
  add_libraries "$(find "$tree/hwtest/mayfly/native/target" -name '*.so')"
}

# The texts of a list in `native/abi`, a line each.
texts_of() { # NAME
  sed -n "/^pub const $1:/,/^];/s/^ *\"\(.*\)\",\$/\1/p" "$native/abi/src/deno.rs"
}
