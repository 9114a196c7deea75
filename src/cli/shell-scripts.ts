import type { Io } from './io.ts'

/** Completions for a shell: a word and its meaning, divided by a tab; or files, which the shell knows better. */
export const FILES = '@files'

/** The shell asks this program at each TAB; only the differences between shells are in their scripts. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_plimsoll() {
  local line current=\${COMP_WORDS[COMP_CWORD]#=}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _plimsoll plimsoll`,
  zsh: `#compdef plimsoll
_plimsoll() {
  local line
  local -a found
  for line in \${(f)"$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    if [[ $line == ${FILES} ]]; then
      compset -P '--*='
      _files
      return
    fi
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe plimsoll found
}
if [[ \${funcstack[1]} == _plimsoll ]]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi`,
  fish: `function __plimsoll_complete
    set -l words (commandline -opc)
    for line in ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
        if test "$line" = ${FILES}
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c plimsoll -f -a '(__plimsoll_complete)'`,
}

/** `plimsoll completion SHELL`. */
export function printScript(io: Io, shell: string): void {
  io.out(`# ${shell} completion for plimsoll; made by: plimsoll completion ${shell}\n${SCRIPTS[shell]}\n`)
}
