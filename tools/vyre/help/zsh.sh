#compdef vyre
# zsh completion for vyre: vyre completion zsh > ~/.zfunc/_vyre
_vyre() {
  if (( CURRENT == 2 )); then
    local -a verbs=(
@SUMMARIES@    )
    _describe command verbs
    return
  fi
  local -a options operands values
  case $words[2] in
@OPTIONS@    help) operands=(@VERBS@) ;;
  esac
  case $words[CURRENT-1] in
@VALUES@    @FILES@) operands=() ;;
    --program) values=(${(f)"$(sed -n 's/^program  *\([A-Za-z0-9_]*\).*/\1/p' -- $words[3,-1] 2>/dev/null)"}) ;;
  esac
  if (( $#values )); then
    compadd -- $values
  elif [[ $PREFIX == -* ]]; then
    compadd -- $options
  elif (( $#operands )); then
    compadd -- $operands
  else
    _files
  fi
}
_vyre "$@"
