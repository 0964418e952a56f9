# The two emulated machines. Each function starts one in the background and sets $emulator to its process; the tests' output
# goes to $results, the kernel's to $console, the emulator's own to $log. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154

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
    -serial "file:$console" -serial "file:$results" </dev/null >"$log" 2>&1 &
  emulator=$!
}

# The kernel's command line: errors and worse to the first port, and the words that init reads.
command_line() { # NPT
  echo "console=ttyS0,115200 loglevel=4 panic=-1 oops=panic no_timer_check hwtest.npt=$1 hwtest.once=$once hwtest.slowness=$slowness hwtest.limit=$program_limit hwtest.budget=$budget hwtest.filter=$filter"
}

# Unpacks Bochs and what makes a CD that boots. Sets $bochs, a tree, and $bochs_libraries.
prepare_bochs() {
  local missing
  unpack bochs --needs -- bochs bochs-term bochsbios vgabios isolinux syslinux-common genisoimage
  bochs=$unpacked
  bochs_libraries=$(library_path "$bochs")
  missing=$(LD_LIBRARY_PATH=$bochs_libraries ldd "$bochs/usr/bin/bochs-bin" "$bochs/usr/bin/genisoimage" |
    sed -n 's/^\s*\(.*\) => not found/\1/p' | tr '\n' ' ')
  [[ -z $missing ]] || skip "Bochs does not find its libraries: $missing"
  command -v script >/dev/null || skip "no script(1) here, which gives Bochs the terminal that it wants"
}

# VT-x with EPT and VPID by Bochs' interpreter, booted from a CD: Bochs loads no kernel by itself.
start_bochs() {
  local cd=$work/cd compress=(gzip -1)
  mkdir -p "$cd"
  ! command -v zstd >/dev/null || compress=(zstd -q -3 -T1)
  cp "$kernel" "$cd/linux"
  # What is read from the CD costs more than unpacking it.
  "${compress[@]}" -c <"$image" >"$cd/initrd"
  find "$bochs/usr/lib" \( -name isolinux.bin -o -path '*/bios/ldlinux.c32' \) -exec cp {} "$cd/" \;
  printf 'default linux\nprompt 0\nlabel linux\nkernel /linux\ninitrd /initrd\nappend %s\n' "$(command_line 1)" \
    >"$cd/isolinux.cfg"
  LD_LIBRARY_PATH=$bochs_libraries "$bochs/usr/bin/genisoimage" -quiet -o "$work/boot.iso" -b isolinux.bin -c boot.cat \
    -no-emul-boot -boot-load-size 4 -boot-info-table "$cd"
  cat >"$work/bochsrc" <<END
display_library: term
romimage: file="$bochs/usr/share/bochs/BIOS-bochs-latest", options=fastboot
vgaromimage: file="$bochs/usr/share/vgabios/vgabios.bin"
cpu: model=corei7_haswell_4770, count=1, ips=400000000, reset_on_triple_fault=0
megs: 1536
clock: sync=none, time0=utc
ata0: enabled=1
ata0-master: type=cdrom, path="$work/boot.iso", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev="$console"
com2: enabled=1, mode=file, dev="$results"
sound: driver=dummy
log: "$work/bochs.log"
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
END
  echo c >"$work/commands"
  cat >"$work/bochs" <<END
#!/bin/sh
export LD_LIBRARY_PATH='$bochs_libraries' LTDL_LIBRARY_PATH='$bochs/usr/lib/x86_64-linux-gnu/bochs/plugins'
export BXSHARE='$bochs/usr/share/bochs' TERM=xterm
exec timeout -k 5 $total_limit '$bochs/usr/bin/bochs-bin' -q -f '$work/bochsrc' -rc '$work/commands'
END
  chmod +x "$work/bochs"
  script -qec "$work/bochs" "$work/screen" </dev/null >"$log" 2>&1 &
  emulator=$!
  drain_screen "$log" "$emulator" &
}

# Reads what Bochs shows on the terminal that it opens and names: once that is full, Bochs would wait for ever.
drain_screen() { # LOG PROCESS
  local screen=''
  while [[ -z $screen ]] && kill -0 "$2" 2>/dev/null; do
    sleep 0.2
    screen=$(sed -n 's/.*connected to screen "\([^"]*\)".*/\1/p' "$1")
  done
  [[ -z $screen ]] || cat "$screen" >/dev/null 2>&1 || true
}
