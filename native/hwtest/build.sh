# Builds the test programs. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154

triple=x86_64-unknown-linux-gnu

# Every test program and every binary of the chosen crates: static and optimised, with debug assertions. Writes one
# line for each to $work/programs: `test|bin CRATE NAME FOLDER PATH`.
build_programs() {
  local selection=(--workspace) name
  if ((${#crates[@]} > 0)); then
    selection=()
    for name in "${crates[@]}"; do selection+=(-p "$name"); done
  fi
  say "building the tests"
  cargo_static test "${selection[@]}" --tests --no-run >"$work/cargo.json" || fail "the tests do not build"
  cargo_static build -p mayfly-vm --bins >>"$work/cargo.json" || fail "mayfly-vm does not build"
  # Backwards, so that the crates nearest to the hardware come first: vmm, pool, then the rest.
  read_artifacts <"$work/cargo.json" | LC_ALL=C sort -ur >"$work/programs"
  for name in "${without[@]}"; do sed -i "/^test ${name/\// } /d" "$work/programs"; done
  grep -q '^test ' "$work/programs" || fail "cargo named no test program: cargo test --no-run of $native/Cargo.toml"
}

cargo_static() { # VERB OPTION...
  local verb=$1
  shift
  # A target directory of its own: the flags differ from those of an ordinary build.
  CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-C target-feature=+crt-static' \
    CARGO_PROFILE_DEV_OPT_LEVEL=3 CARGO_PROFILE_DEV_DEBUG=0 \
    cargo "$verb" --manifest-path "$native/Cargo.toml" --locked --quiet "$@" --target "$triple" \
    --target-dir "$target" --message-format json-render-diagnostics
}

# Cargo's messages in, lines of $work/programs out. Cargo prints one object a line.
read_artifacts() {
  local line folder kind name
  while read -r line; do
    [[ $line == *'"reason":"compiler-artifact"'* && $line == *'"executable":"'* ]] || continue
    folder=$(dirname "$(field manifest_path "$line")")
    kind=bin
    [[ $line != *'"test":true},"features"'* ]] || kind='test'
    name=$(sed 's/.*"target":{[^}]*"name":"\([^"]*\)".*/\1/' <<<"$line")
    [[ $line != *'"target":{"kind":["lib"]'* ]] || name=unit
    echo "$kind $(basename "$folder") $name $folder $(field executable "$line")"
  done
}

field() { # NAME LINE
  sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" <<<"$2"
}
