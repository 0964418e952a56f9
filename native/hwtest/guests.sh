# Compiles the guests that the file `guests` names. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154

# Puts them into the image, with an index `PROGRAM SOURCE FLAG...`. They are compiled anew only after a change.
add_guests() {
  local compiler kept where source program number=0 flags
  compiler=$(command -v cc || command -v gcc || true)
  if [[ -z $compiler ]]; then
    say "no C compiler here: the tests that want one skip"
    return 0
  fi
  # The C library opens this one itself when a thread ends.
  add_file "$(realpath "$("$compiler" -print-file-name=libgcc_s.so.1)")"
  kept=$target/guests
  mkdir -p "$kept" "$tree/hwtest/guests"
  say "compiling the guests"
  while read -r where flags; do
    [[ $where != '#'* ]] || continue
    for source in $(guest_sources "$where"); do
      program=$kept/$(tr / - <<<"${source#"$native/"}")$(tr -d ' ' <<<"$flags")
      if [[ ! $program -nt $source ]] || [[ -n $(find "$native"/*/tests "$native/guest/include" -name '*.h' -newer "$program") ]]; then
        # shellcheck disable=SC2086 # flags are words
        "$(compiler_of "$source")" -o "$program" "$source" $flags || fail "$source does not compile with $flags"
      fi
      number=$((number + 1))
      [[ $flags == *-static* ]] || add_libraries "$program"
      cp "$program" "$tree/hwtest/guests/$number"
      echo "/hwtest/guests/$number $source $flags" >>"$tree/hwtest/guests/index"
    done
  done <"$here/guests"
  cp "$here/cc" "$tree/hwtest/bin/cc"
  ln -sf cc "$tree/hwtest/bin/gcc"
  ln -sf cc "$tree/hwtest/bin/rustc"
}

compiler_of() { # SOURCE
  if [[ $1 == *.rs ]]; then echo rustc; else echo "$compiler"; fi
}

guest_sources() { # FOLDER-OR-FILE
  local path
  for path in "$native"/$1; do
    if [[ -d $path ]]; then find "$path" -maxdepth 1 '(' -name '*.c' -o -name '*.rs' ')' | sort; else echo "$path"; fi
  done
}
