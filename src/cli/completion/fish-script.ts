import { type KnownCommand, type KnownOption, shortly, type Values } from './command-tree.ts'

/** One line for each word that may stand somewhere, and a function that finds out where the line stands. */
export function fishScript(tree: readonly KnownCommand[]): string {
  return `# fish completion for plimsoll; made by: plimsoll completion fish
${engine(tree)}
complete -c plimsoll -f
${tree.flatMap(linesOf).join('\n')}
`
}

function linesOf(command: KnownCommand): string[] {
  const where = `complete -c plimsoll -n '__plimsoll_at "${command.path.join(' ')}"'`
  const argument = argumentsOf(command.argument)
  return [
    ...command.commands.map(({ name, description }) => `${where} -a ${name} -d ${quoted(shortly(description))}`),
    ...command.options.map((option) => `${where} ${optionOf(option)} -d ${quoted(shortly(option.description))}`),
    ...(argument === '' ? [] : [`${where} ${argument}`]),
  ]
}

function optionOf({ names, values }: KnownOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ')
  if (values === undefined) return flags
  return values.is === 'files' ? `${flags} -r -F` : `${flags} -x ${argumentsOf(values)}`.trimEnd()
}

function argumentsOf(values: Values): string {
  switch (values.is) {
    case 'words':
      return values.words.length === 0 ? '' : `-a ${quoted(values.words.join(' '))}`
    case 'files':
      return '-F'
    case 'receivers':
      return "-a '(__plimsoll_receivers)'"
    case 'anything':
      return ''
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function engine(tree: readonly KnownCommand[]): string {
  const paths = tree.map(({ path }) => quoted(path.join(' '))).join(' ')
  const takes = [
    ...new Set(
      tree.flatMap(({ options }) => options.flatMap(({ names, values }) => (values === undefined ? [] : names))),
    ),
  ]
  return `function __plimsoll_at
    set -l path ''
    set -l skip 0
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word ${takes.join(' ')}
            set skip 1
        else if contains -- (string trim -- "$path $word") ${paths}
            set path (string trim -- "$path $word")
        end
    end
    test "$path" = "$argv[1]"
end
function __plimsoll_receivers
    set -l words (commandline -opc)
    $words[1] __complete receivers -- $words[2..-1] 2>/dev/null
end`
}
