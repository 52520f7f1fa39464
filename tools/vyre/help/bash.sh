# bash completion for vyre: source <(vyre completion bash)
_vyre() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local options= operands= values=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "@VERBS@help --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
@OPTIONS@    help) operands="@VERBS@" ;;
  esac
  case $before in
@VALUES@    @FILES@) operands= ;;
    --program) values=$(sed -n 's/^program  *\([A-Za-z0-9_]*\).*/\1/p' -- "${COMP_WORDS[@]:2}" 2>/dev/null) ;;
  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ -n "$operands" ]; then
    COMPREPLY=($(compgen -W "$operands" -- "$word"))
  else
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _vyre vyre
