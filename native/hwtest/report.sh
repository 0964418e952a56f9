# Reads what the emulated machine writes: a line for each program as it ends, then the failures, and the sums. Sourced by
# `run`; wants $limit.
# shellcheck shell=bash disable=SC2154

total_passed=0 total_failed=0 total_skipped=0

# Follows FILE until the emulator ends and adds to the sums. What ended too early counts as one failure.
report() { # FILE PROCESS
  local line name='' ended='' details=''
  printf '  %-34s %8s %8s %8s %8s\n' program passed failed skipped seconds
  begin_program ''
  while IFS= read -r line; do
    line=${line%$'\r'}
    case $line in
      '@boot '*) echo "  Linux ${line#@boot }" ;;
      '@begin '*) begin_program "${line#@begin }" ;;
      '@end '*) end_program ${line#@end } ;;
      '@done') ended=yes ;;
      *) read_line "$line" ;;
    esac
  done < <(tail -n +1 -f --pid="$2" "$1")
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
        ok) passed=$((passed + 1)) running='' ;;
        FAILED) failed=$((failed + 1)) running='' ;;
        ignored*) skipped=$((skipped + 1)) running='' && details+="  skipped $name: ${1#test }"$'\n' ;;
        *) details+="  $name: $1"$'\n' ;;
      esac
      ;;
    'SKIPPED: '*)
      # A test that finds nothing to test has not passed.
      [[ $part == successes && -n $section ]] || return 0
      passed=$((passed - 1)) skipped=$((skipped + 1))
      details+="  skipped $name: $section: ${1#SKIPPED: }"$'\n'
      section=''
      ;;
    '') ;;
    *)
      [[ $part != successes ]] || return 0
      [[ -n $section || -z $part ]] || return 0
      details+="  $name: ${section:+$section: }$1"$'\n'
      ;;
  esac
}

end_program() { # STATUS SECONDS
  local ran=$((passed + failed + skipped)) why=''
  if [[ $1 == 137 ]]; then
    why="killed after $2 s of at most $limit"
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
  ((passed + failed + skipped == 0)) || printf '  %-34s %8s %8s %8s %8s\n' "$name" $passed $failed $skipped "$2"
  total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
  total_skipped=$((total_skipped + skipped)) name=''
}
