import { type KnownCommand, shortly, type Values } from './command-tree.ts'

/** Works sourced and from a folder of $fpath, where it is to be called _plimsoll. */
export function zshScript(tree: readonly KnownCommand[]): string {
  return `#compdef plimsoll
# zsh completion for plimsoll; made by: plimsoll completion zsh
${listing(
  '_plimsoll_commands',
  tree.map((command) => [
    command.path.join(' '),
    command.commands.map(({ name, description }) => described(name, description)),
  ]),
)}
${listing(
  '_plimsoll_options',
  tree.map((command) => [
    command.path.join(' '),
    command.options.flatMap(({ names, description }) => names.map((name) => described(name, description))),
  ]),
)}
# What an option of a command takes: words, @files, @receivers, @anything; nothing for one that takes none.
${listing('_plimsoll_values', tree.flatMap(optionValues))}
${listing(
  '_plimsoll_argument',
  tree.map((command) => [command.path.join(' '), wordsOf(command.argument)]),
)}
${ENGINE}`
}

function optionValues({ path, options }: KnownCommand): [string, string[]][] {
  return options.flatMap(({ names, values }) =>
    values === undefined ? [] : names.map((name): [string, string[]] => [[...path, name].join(' '), wordsOf(values)]),
  )
}

function wordsOf(values: Values): string[] {
  return (values.is === 'words' ? values.words : [`@${values.is}`]).map(quoted)
}

function described(word: string, description: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${shortly(description)}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function listing(name: string, rows: readonly (readonly [where: string, words: readonly string[]])[]): string {
  const lines = rows
    .filter(([, words]) => words.length > 0)
    .map(([where, words]) => `    '${where}') reply=(${words.join(' ')}) ;;`)
  return `${name}() {\n  reply=()\n  case $1 in\n${lines.join('\n')}\n  esac\n}`
}

const ENGINE = `_plimsoll() {
  local where='' option='' word='' i
  local -a reply names
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      _plimsoll_values "\${where:+$where }$word"
      if ((\${#reply})); then option=$word; fi
    else
      _plimsoll_commands "$where"
      names=(\${reply%%:*})
      if ((\${names[(Ie)$word]})); then where=\${where:+$where }$word; fi
    fi
  done
  if [[ -z $option && $PREFIX == --*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  if [[ -n $option ]]; then
    _plimsoll_values "\${where:+$where }$option"
  elif [[ $PREFIX == -* ]]; then
    _plimsoll_options "$where"
    _describe -t options option reply
    return
  else
    _plimsoll_commands "$where"
    if ((\${#reply})); then
      _describe -t commands command reply
      return
    fi
    _plimsoll_argument "$where"
  fi
  case \${reply[1]} in
    @anything | '') return 1 ;;
    @files) _files ;;
    @receivers) compadd -- \${(f)"$(\${words[1]} __complete receivers -- \${words[2,-1]} 2>/dev/null)"} ;;
    *) compadd -- $reply ;;
  esac
}
if [[ \${funcstack[1]} == _plimsoll ]]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
`
