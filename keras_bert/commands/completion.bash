_keras_bert() {
  local word=${COMP_WORDS[COMP_CWORD]} words=
  if ((COMP_CWORD == 1)); then
    words="COMMANDS"
  elif [[ $word == -* ]]; then
    words=$(keras-bert "${COMP_WORDS[1]}" --help |
      sed -nE 's/^  --(\[no\])?(\w+):.*/--\2=/p')
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -o nospace -F _keras_bert keras-bert
