# Reads what the emulated machine writes: a line for each program as it ends, then the failures, and the sums. Sourced by
# `run`; wants $program_limit.
# shellcheck shell=bash disable=SC2034,SC2154

total_passed=0 total_failed=0 total_skipped=0

# Follows FILE until the emulator ends and adds to the sums. What ended too early counts as one failure, and leaves $complete empty.
report() { # FILE PROCESS
  local line status seconds name='' ended='' details='' told=''
  printf '  %-34s %8s %8s %8s %8s\n' program passed failed skipped seconds
  begin_program ''
  while IFS= read -r line; do
    line=${line%$'\r'}
    case $line in
      '@boot '*) echo "  Linux ${line#@boot }" ;;
      '@begin '*) begin_program "${line#@begin }" ;;
      '@end '*) read -r status seconds <<<"${line#@end }" && end_program "$status" "$seconds" ;;
      '@late '*) total_skipped=$((total_skipped + 1)) details+="  skipped ${line#@late }: all of it: no time left"$'\n' ;;
      '@done') ended=yes ;;
      *) read_line "$line" ;;
    esac
  done < <(tail -n +1 -f --pid="$2" "$1")
  complete=$ended
  if [[ -z $ended ]]; then
    name=${name:-the machine}
    end_program machine-gone 0
  fi
  printf '%s' "$details"
}

begin_program() { # NAME
  name=$1 passed=0 failed=0 skipped=0 wanted=0 running='' part='' section=''
}

# One line of libtest's output, or of checks', which prints the same.
read_line() { # LINE
  local result
  case $1 in
    'running '*' test'*) wanted=${1//[^0-9]/} ;;
    'successes:' | 'failures:') part=${1%:} section='' ;;
    '---- '*' stdout ----') section=${1#---- } section=${section% stdout ----} ;;
    'test result: '*) part='' section='' ;;
    'test '*' ... '*)
      running=${1#test } running=${running%% ... *} result=${1#* ... }
      case $result in
        ok | FAILED | ignored*) read_result "$result" ;;
        *) tell "$running" "${result}" ;;
      esac
      ;;
    ok | FAILED)
      # What the test's children wrote came between.
      [[ -z $running ]] || read_result "$1"
      ;;
    [Ss][Kk][Ii][Pp][Pp][Ee][Dd]": "*)
      # A test that finds nothing to test has not passed.
      [[ $part == successes && -n $section ]] || return 0
      passed=$((passed - 1)) skipped=$((skipped + 1))
      details+="  skipped $name: $section: ${1#*: }"$'\n'
      section=''
      ;;
    '') ;;
    *)
      [[ $part != successes ]] || return 0
      [[ -n $section || -z $part ]] || return 0
      tell "$section" "$1"
      ;;
  esac
}

# Adds a line below the heading of its test.
tell() { # TEST LINE
  local heading="  $name${1:+: $1}"
  [[ $heading == "$told" ]] || details+="$heading"$'\n'
  told=$heading details+="    $2"$'\n'
}

read_result() { # ok|FAILED|ignored...
  case $1 in
    ok) passed=$((passed + 1)) ;;
    FAILED) failed=$((failed + 1)) ;;
    *) skipped=$((skipped + 1)) && details+="  skipped $name: $running: $1"$'\n' ;;
  esac
  running=''
}

end_program() { # STATUS SECONDS
  local ran=$((passed + failed + skipped)) why=''
  if [[ $1 == 137 ]]; then
    why="killed after $2 s of at most $program_limit"
  elif [[ $1 == machine-gone ]]; then
    why='did not come to its end, nor did the machine'
  elif [[ $1 != 0 && $failed == 0 ]]; then
    why="ended with status $1"
  elif ((ran < wanted)); then
    why="ran $ran of $wanted tests, status $1"
  fi
  if [[ -n $why ]]; then
    failed=$((failed + 1))
    details+="  $name: $why${running:+, in test $running}"$'\n'
  fi
  ((passed + failed + skipped == 0)) || printf '  %-34s %8s %8s %8s %8s\n' "$name" "$passed" "$failed" "$skipped" "$2"
  total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
  total_skipped=$((total_skipped + skipped)) name=''
}
