import type { KnownCommand, Values } from './command-tree.ts'

/** For bash 3.2 and newer: lists of words by where the line stands, and a function that finds out where that is. */
export function bashScript(tree: readonly KnownCommand[]): string {
  return `# bash completion for plimsoll; made by: plimsoll completion bash
${listing(
  '_plimsoll_commands',
  tree.map((command) => [at(command), command.commands.map(({ name }) => name).join(' ')]),
)}
${listing(
  '_plimsoll_options',
  tree.map((command) => [at(command), command.options.flatMap(({ names }) => names).join(' ')]),
)}
# What an option of a command takes: words, @files, @receivers, @anything; nothing for one that takes none.
${listing('_plimsoll_values', tree.flatMap(optionValues))}
${listing(
  '_plimsoll_argument',
  tree.map((command) => [at(command), wordsOf(command.argument)]),
)}
${ENGINE}`
}

function at({ path }: KnownCommand): string {
  return path.join(' ')
}

function optionValues(command: KnownCommand): [string, string][] {
  return command.options.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : names.map((name): [string, string] => [`${at(command)} ${name}`.trim(), wordsOf(values)]),
  )
}

function wordsOf(values: Values): string {
  return values.is === 'words' ? values.words.join(' ') : `@${values.is}`
}

function listing(name: string, rows: readonly (readonly [where: string, words: string])[]): string {
  const lines = rows.filter(([, words]) => words !== '').map(([where, words]) => `    '${where}') echo '${words}' ;;`)
  return `${name}() {\n  case $1 in\n${lines.join('\n')}\n  esac\n}`
}

const ENGINE = `_plimsoll() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' option='' word='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then continue; fi # bash splits --option=value in three
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      if [[ -n $(_plimsoll_values "\${path:+$path }$word") ]]; then option=$word; fi
    elif [[ " $(_plimsoll_commands "$path") " == *" $word "* ]]; then
      path=\${path:+$path }$word
    fi
  done
  if [[ $current == '=' ]]; then current=''; fi
  if [[ -n $option ]]; then
    words=$(_plimsoll_values "\${path:+$path }$option")
  elif [[ $current == -* ]]; then
    words=$(_plimsoll_options "$path")
  else
    words=$(_plimsoll_commands "$path")
    if [[ -z $words ]]; then words=$(_plimsoll_argument "$path"); fi
  fi
  COMPREPLY=()
  case $words in
    @anything) return ;;
    @files)
      compopt -o filenames 2>/dev/null
      local IFS=$'\\n'
      COMPREPLY=($(compgen -f -- "$current"))
      return
      ;;
    @receivers) words=$("\${COMP_WORDS[0]}" __complete receivers -- "\${COMP_WORDS[@]:1}" 2>/dev/null) ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _plimsoll plimsoll
`
