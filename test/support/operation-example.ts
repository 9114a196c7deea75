import type { RemoteCommand } from '../../src/operations/describe-commands.ts'
import type { Operation } from '../../src/operations/operation.ts'

/** The example that an operation has for the API, as it is written on the command line. */
export function exampleArgs({ example = {} }: Operation, { args, options }: RemoteCommand): string[] {
  const given: Record<string, string> = { ...example.params, ...example.query, ...(example.body as object) }
  const written = options.filter(({ name }) => given[name] !== undefined)
  return [
    ...args.flatMap(({ name }) => given[name] ?? []),
    ...written.flatMap(({ name, called, kind }) =>
      kind === 'flag' ? [`--${called}`] : [`--${called}`, String(given[name])],
    ),
  ]
}
