# Offers those words that continue what has been typed: in an argument --name=value, what stands before the value is $1.
_ollie_offer() {
  local before=$1 word
  shift
  for word; do
    word=$before$word
    [[ $word != "$current"* ]] || COMPREPLY+=("${word#"$head"}")
  done
}

# Offers names of files; $1 is what stands before the name in the argument.
_ollie_files() {
  if [[ $head == "$1" ]]; then
    # Bash does that itself, and knows how to quote them.
    compopt +o plusdirs -o default 2>/dev/null
    return
  fi
  # Bash does not know where the name begins.
  local file word
  while IFS= read -r file; do
    printf -v word %q "$file"
    word=$1$word
    COMPREPLY+=("${word#"$head"}")
  done < <(compgen -f -- "${current#"$1"}")
}

# Lets bash offer names of directories.
_ollie_directories() {
  compopt -o plusdirs 2>/dev/null
}

# Offers beginnings; behind unix:, names of files.
_ollie_prefixes() {
  compopt -o nospace 2>/dev/null
  if [[ $current == "$1"unix:* ]]; then _ollie_files "$1"unix:; else _ollie_offer "$@"; fi
}

_ollie() {
  # Where there is no compopt, in bash 3, names of files are offered also where there is nothing to offer.
  compopt +o default 2>/dev/null
  COMPREPLY=()

  # Bash breaks words also at : and =, and replaces only what stands behind the last of them. Here they are put together
  # again; the head of the current one is what bash leaves as it is.
  local words=() count=0 line=${COMP_LINE:0:COMP_POINT} piece='' last gap i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    last=$piece
    if ((i < COMP_CWORD)); then
      piece=${COMP_WORDS[i]}
      gap=${line%%"$piece"*}
    else
      gap=${line%%[![:space:]]*}
      piece=${line#"$gap"}
    fi
    if ((count > 0)) && [[ -z $gap && ($piece == [:=@]* || $last == *[:=@]) ]]; then
      words[count - 1]+=$piece
    else
      words[count]=$piece
      ((count++))
    fi
    line=${line#"$gap$piece"}
  done
  local current=${words[count - 1]} head
  if [[ $piece == *[!:=@]* ]]; then head=${current%"$piece"}; else head=$current; fi

  if ((count == 2)); then
    _ollie_offer '' "${_ollie_subcommands[@]}"
    [[ $current != -* ]] || _ollie_offer '' -h --help -V --version
    return
  fi
  local subcommand=${words[1]} given=' ' operands=0 options=yes value='' option takes names word letters
  if [[ $subcommand == help ]]; then
    ((count > 3)) || _ollie_offer '' "${_ollie_subcommands[@]}"
    return
  fi

  # What the words so far have been: which options there were, how many operands, and whether a value is next.
  for word in "${words[@]:2:count-3}"; do
    if [[ -n $value ]]; then
      value=''
    elif [[ -z $options || $word != -?* ]]; then
      ((operands++))
    elif [[ $word == -- ]]; then
      options=''
    elif [[ $word == --* ]]; then
      _ollie_option "$subcommand" "${word%%=*}"
      given+="$option "
      [[ -z $takes || $word == *=* ]] || value=$option
    else
      for ((letters = 1; letters < ${#word}; letters++)); do
        _ollie_option "$subcommand" "-${word:letters:1}"
        given+="$option "
        [[ -n $takes ]] || continue
        ((letters + 1 < ${#word})) || value=$option
        break
      done
    fi
  done

  if [[ -n $value ]]; then
    _ollie_value "$subcommand" "$value" ''
  elif [[ -n $options && $current == --*=* ]]; then
    _ollie_value "$subcommand" "${current%%=*}" "${current%%=*}="
  elif [[ -n $options && $current == -* ]]; then
    _ollie_names "$subcommand"
    for word in "${names[@]}"; do
      _ollie_option "$subcommand" "$word"
      [[ $takes != '=*' && $given == *" $option "* ]] || _ollie_offer '' "$word"
    done
  else
    _ollie_value "$subcommand" $((operands + 1)) ''
  fi
}

complete -o default -F _ollie ollie
