# Builds the test programs. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154

# Every test program and every binary of the chosen crates, as `cargo` beside this file builds them. Writes one line for each to $work/programs: `test|bin CRATE NAME FOLDER PATH ...`.
build_programs() {
  local selection=(--workspace) name
  if ((${#only[@]} > 0)); then
    selection=()
    for name in "${only[@]%%[/=]*}"; do
      [[ $name != framework ]] || continue
      [[ -f $native/$name/Cargo.toml ]] || fail "--only: $name, want a folder of $native with a Cargo.toml, or framework"
      selection+=(-p "$(sed -n 's/^name = "\(.*\)"/\1/p' "$native/$name/Cargo.toml" | head -n 1)")
    done
  fi
  say "building the tests"
  : >"$work/cargo.json"
  ((${#selection[@]} == 0)) ||
    cargo_static test "${selection[@]}" --tests --no-run >"$work/cargo.json" || fail "the tests do not build"
  # All tests bring it with them, and built alone it has other features.
  ((${#only[@]} == 0)) || cargo_static build -p mayfly-vm --bins >>"$work/cargo.json" || fail "mayfly-vm does not build"
  read_artifacts <"$work/cargo.json" | LC_ALL=C sort -u >"$work/programs"
  [[ -z $deno ]] || echo "test framework framework /hwtest sh" >>"$work/programs"
  order_tests
  grep -q '^test ' "$work/programs" || fail "no test program: cargo test --no-run of $native/Cargo.toml, --only, --without"
}

# Puts the tests into the order of the file `order`, drops those that were not chosen, and writes behind each line
# `all|once|npt=1|npt=0 FILTER...`.
order_tests() {
  local kind crate name folder path title rank when filters left=()
  while read -r kind crate name folder path; do
    title=$crate/$name filters=$filter
    [[ $crate != framework ]] || title=framework
    if [[ $kind == bin ]]; then
      rank=0 when=all
    elif is_chosen "$title"; then
      rank_of "$title" || { left+=("$title") && continue; }
    else
      continue
    fi
    printf '%03d %s %s %s %s %s %s %s\n' "$rank" "$kind" "$crate" "$name" "$folder" "$path" "$when" "$filters"
  done <"$work/programs" >"$work/ranked"
  LC_ALL=C sort "$work/ranked" | cut -d' ' -f2- >"$work/programs"
  ((${#left[@]} == 0)) || say "not in this share: ${left[*]}"
}

# Sets $rank and $when as the file `order` says, and in a share $filters. Fails for what no machine runs: in a share, what has no place
# there.
rank_of() { # TITLE
  local number=0 others=0 pattern word names
  rank='' when=all
  while read -r pattern word names; do
    [[ -n $pattern && $pattern != '#'* ]] || continue
    number=$((number + 1))
    [[ $pattern != - ]] || others=$number
    # shellcheck disable=SC2053 # a pattern
    if [[ $1 == $pattern ]]; then
      rank=$number when=${word:-all}
      if [[ -n $share ]]; then
        filters=${filters:-${names//,/ }}
        [[ $when != whole && $when != once ]]
      elif [[ $when != once ]]; then
        when=all
      fi
      return
    fi
  done <"$here/order"
  rank=$others
  [[ -z $share ]]
}

# Whether a test program is to run, by --only and --without; sets $filters to what --only says of it.
is_chosen() { # TITLE
  local each
  for each in "${without[@]}"; do [[ $1 != "$each" ]] || return 1; done
  ((${#only[@]} > 0)) || return 0
  for each in "${only[@]}"; do
    [[ $1 == "${each%%=*}" || ${1%%/*} == "${each%%=*}" ]] || continue
    [[ $each != *=* ]] || filters=$(tr , ' ' <<<"${each#*=}")
    return 0
  done
  return 1
}

cargo_static() { # VERB OPTION...
  timeout -k 5 2400 "$here/cargo" "$@" --locked --quiet --message-format json-render-diagnostics
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
