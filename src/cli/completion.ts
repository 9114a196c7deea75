import { Argument, type Command } from 'commander'
import { bashScript } from './completion/bash-script.ts'
import { commandTree, type KnownCommand } from './completion/command-tree.ts'
import { fishScript } from './completion/fish-script.ts'
import { zshScript } from './completion/zsh-script.ts'
import type { Io } from './io.ts'
import { withExample } from './options.ts'

const SCRIPTS: Readonly<Record<string, (tree: readonly KnownCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

const SET_UP = `
To have it in every shell that you open, once:
  bash  add to ~/.bashrc: source <(plimsoll completion bash)
  zsh   add to ~/.zshrc, below compinit: source <(plimsoll completion zsh)
  fish  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`

/** `plimsoll completion`: a script that a shell completes plimsoll's command lines by. */
export function addCompletion(program: Command, io: Io): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options, files and receivers in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', SET_UP)
  withExample(
    command,
    'plimsoll completion bash > plimsoll.bash',
    'plimsoll completion zsh > _plimsoll',
    'plimsoll completion fish > plimsoll.fish',
  ).action((shell: string) => io.out(SCRIPTS[shell]?.(commandTree(program)) ?? ''))
}
