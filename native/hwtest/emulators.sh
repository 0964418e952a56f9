# The two emulated machines. Each function starts one in the background and sets $emulator to its process; the tests' output
# goes to $results, the kernel's to $console. Sourced by `run`.
# shellcheck shell=bash disable=SC2154

# Finds QEMU, or unpacks it with the libraries that this machine lacks. Sets $qemu and $qemu_libraries.
prepare_qemu() {
  qemu=$(command -v qemu-system-x86_64 || true) qemu_libraries=''
  if [[ -z $qemu ]]; then
    unpack qemu --needs -- qemu-system-x86
    qemu=$unpacked/usr/bin/qemu-system-x86_64
    # QEMU finds its firmware and modules relative to itself.
    qemu_libraries=$(library_path "$unpacked")
  fi
  LD_LIBRARY_PATH=$qemu_libraries "$qemu" --version >"$work/qemu.version" 2>&1 ||
    fail "qemu-system-x86_64 does not start: $(tail -n 1 "$work/qemu.version")"
}

# AMD-V by QEMU's translator. One CPU: with two the kernel once ended in a soft lockup.
start_qemu() { # NPT
  LD_LIBRARY_PATH=$qemu_libraries timeout -k 5 "$total_limit" "$qemu" \
    -accel tcg -cpu max -smp 1 -m 2G -nographic -no-reboot -monitor none -nic none \
    -kernel "$kernel" -initrd "$image" -append "$(command_line "$1")" \
    -serial "file:$console" -serial "file:$results" </dev/null >"$work/emulator.log" 2>&1 &
  emulator=$!
}

# The kernel's command line: errors and worse to the first port, and the words that init reads.
command_line() { # NPT
  echo "console=ttyS0,115200 loglevel=4 panic=-1 oops=panic hwtest.npt=$1 hwtest.limit=$limit hwtest.filter=$filter"
}
