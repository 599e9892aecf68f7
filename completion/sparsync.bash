# shellcheck shell=bash
# Completion of sparsync for bash. It asks the program: commands, options and their values are those of --help, names
# those of `sparsync list`. Installed under share/bash-completion/completions; or: source completion/sparsync.bash

# The help of a command without its examples: "sparsync [COMMAND [VERB]]".
_sparsync_help() {
  "$@" --help 2>/dev/null | sed -e '/^examples\{0,1\}:/,$d' -e 's/mpirun -n [A-Z]* //'
}

_sparsync_list() { # PROGRAM THINGS
  "$1" list "$2" --format csv 2>/dev/null | sed -n '2,$s/^\([A-Za-z0-9_.+-]*\),.*/\1/p'
}

# What `sparsync --help` and `sparsync trace --help` list: two blanks, a name, its summary.
_sparsync_verbs() {
  _sparsync_help "$@" | sed -n 's/^  \([a-z][a-z-]*\)  *[^ ].*/\1/p'
}

_sparsync_options() {
  _sparsync_help "$@" | grep -oE '(^|[][ ,(|])-(-[A-Za-z][A-Za-z0-9-]*|[A-Za-z])\>' | tr -d '][ ,(|' | sort -u
  echo --help
}

# The words that the help puts behind an option: "--format table|json|csv", "--layout stream".
_sparsync_choices() { # OPTION COMMAND...
  local option=$1
  shift
  _sparsync_help "$@" | grep -oE -- "(^|[][ ,(])$option [A-Za-z][A-Za-z0-9|_-]*" | sed 's/.* //' |
    grep -E '[|]|^[a-z]+$' | tr '|' '\n' | grep -E '^[A-Za-z]' | sort -u
}

# What an operand may be, by its name in the usage line.
_sparsync_operands() { # PROGRAM COMMAND...
  local usage
  usage=$(_sparsync_help "$@" | sed -n '1s/^usage: sparsync [a-z]* //p')
  case $usage in
    [a-z]*\|*) echo "${usage%% *}" | tr '|' '\n' ;;
    *SCHEME* | 'A B'*) _sparsync_list "$1" schemes ;;
    *FIGURE*) _sparsync_list "$1" figures ;;
    *SCENARIO*) _sparsync_list "$1" scenarios ;;
    *PAPER*) _sparsync_list "$1" claims | sed "p; s/-.*//" | sort -u ;;
  esac
}

_sparsync() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=() head=
  command -v "$program" >/dev/null || return
  if [[ $word == '=' ]]; then word=; elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_sparsync_verbs "$program") --help --version" -- "$word")
    return
  fi
  command=("$program" "${COMP_WORDS[1]}")
  if [[ ${COMP_WORDS[1]} =~ ^(trace|calibrate|export)$ ]]; then
    if [[ $COMP_CWORD -eq 2 ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_sparsync_verbs "${command[@]}") --help" -- "$word")
      return
    fi
    command+=("${COMP_WORDS[2]}")
  fi

  local words=
  case $before in
    --scheme) words=$(_sparsync_list "$program" schemes) ;;
    --cluster) words=$(_sparsync_list "$program" clusters) ;;
    --workload) words=$(_sparsync_list "$program" workloads) ;;
    --system) words=$(_sparsync_list "$program" systems) ;;
    --device) words=$(_sparsync_list "$program" devices)$'\n'none ;;
    -*) words=$(_sparsync_choices "$before" "${command[@]}") ;;
    *)
      if [[ $word == -* ]]; then words=$(_sparsync_options "${command[@]}"); else words=$(_sparsync_operands "${command[@]}"); fi ;;
  esac
  if [[ $word == *,* ]]; then # a list: the last name is being written
    head=${word%,*},
    word=${word##*,}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "$word")
  # what is no word of ours may be a file
  if [[ $word != -* && -z $head && ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _sparsync sparsync
