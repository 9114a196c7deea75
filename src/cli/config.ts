import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { configJsonSchema } from '../../config/schema/json-schema.ts'
import { configInForce, printConfig } from '../../config/schema/print.ts'
import { renderProblem } from '../../config/schema/problems.ts'
import { countOf } from '../text/format-number.ts'
import type { CommonOptions } from './arguments.ts'
import { load, readConfig } from './installation.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'

/** `plimsoll config print`. */
export function print(io: Io, options: CommonOptions): void {
  const { config } = readConfig(io, options.config)
  if (options.json === true) printJson(io, { ...configInForce(config) })
  else io.out(printConfig(config))
}

/** `plimsoll config check`. */
export async function checkFile(io: Io, named: string | undefined, { config, json }: CommonOptions): Promise<void> {
  const given = named ?? config
  const piped = given === '-' ? await readAll(io.stdin()) : undefined
  const file = given === '-' ? 'standard input' : given
  const readFile = (path: string) =>
    piped !== undefined && path === resolve(io.cwd, file) ? piped : readFileSync(path, 'utf8')
  const result = load(io, file, readFile)
  if (json === true) {
    const { ok } = result
    printJson(io, ok ? { ok, notices: result.notices } : { ok, problems: result.problems })
  } else if (result.ok) {
    for (const notice of result.notices) say(io, renderProblem(file, notice))
    const { thresholds, routes, receivers } = result.config
    const counts = [countOf(thresholds.length, 'rule'), countOf(routes.length, 'route')]
    counts.push(countOf(Object.keys(receivers).length, 'receiver'))
    say(io, `${file} is fine: ${counts.join(', ')}`)
  } else {
    for (const problem of result.problems) say(io, renderProblem(file, problem))
  }
  if (!result.ok) throw new CommandError(`${file} has ${countOf(result.problems.length, 'problem')}`)
}

/** `plimsoll config schema`. */
export function schema(io: Io): void {
  printJson(io, configJsonSchema())
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

interface Answers {
  clientId?: string
  clientSecretFile?: string
  publicUrl?: string
  smtp?: string
  smtpFile?: string
  mailTo?: string
  webhook?: string
}

interface InitOptions extends Answers {
  config: string
  force?: boolean
}

/** Questions on a terminal, in this order. Of mail and webhook one is enough. */
const QUESTIONS: readonly [keyof Answers, flag: string, question: string][] = [
  ['clientId', '--client-id', "The app's client id at the provider"],
  ['clientSecretFile', '--client-secret-file', 'The file with its client secret'],
  ['publicUrl', '--public-url', 'Where people and the provider reach this server, like https://plimsoll.example.com'],
  ['smtp', '--smtp', 'Mail server for alerts, like smtps://user:password@mail.example.com:465 (empty: no mail)'],
  ['mailTo', '--mail-to', 'Who gets the alerts by mail'],
  ['webhook', '--webhook', 'Where alerts are posted to, as JSON (empty: nowhere)'],
]

/** `plimsoll init`: a config that `config check` accepts; a file that is there stays as it is without --force. */
export async function init(io: Io, { config: file, force, ...given }: InitOptions, command: Command): Promise<void> {
  if (hasPassword(given.smtp)) {
    return command.error(
      'error: all users of this machine can see a password in --smtp: put the address into a file and give --smtp-file FILE',
    )
  }
  const answers = io.isTerminal ? await ask(io, given) : given
  const missing = missingFlags(answers)
  if (missing.length > 0) return command.error(`error: missing: ${missing.join(', ')}`)
  const path = resolve(io.cwd, file)
  const text = configText(answers, dirname(path), io.cwd)
  const readFile = (wanted: string) => (wanted === path ? text : readFileSync(wanted, 'utf8'))
  const checked = load(io, file, readFile)
  if (!checked.ok) {
    const problems = checked.problems.map((problem) => renderProblem(file, problem))
    throw new CommandError(`${file} was not written:\n${problems.join('\n')}`)
  }
  // A file that is there would keep its own mode, and a link would lead elsewhere: it is replaced as a whole.
  const written = force === true ? `${path}.${randomBytes(4).toString('hex')}.tmp` : path
  try {
    mkdirSync(dirname(path), { recursive: true })
    // An address may hold a password.
    writeFileSync(written, text, { mode: 0o600, flag: 'wx' })
    if (written !== path) renameSync(written, path)
  } catch (error) {
    if (written !== path) rmSync(written, { force: true })
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(
      code === 'EEXIST' ? `${file} is there already: --force overwrites it` : `${file} can't be written (${code})`,
    )
  }
  say(io, `wrote ${file}; next: plimsoll start --config ${file}; while it runs: plimsoll doctor --config ${file}`)
}

/** Undefined where the input ended: missing answers are wrong usage then, as elsewhere. */
async function ask(io: Io, given: Answers): Promise<Answers> {
  const answers = { ...given }
  const lines = linesOf(io.stdin())
  for (const [name, , question] of QUESTIONS) {
    if (isAnswered(answers, name)) continue
    io.out(`${question}: `)
    const { value, done } = await untilStopped(io, lines.next())
    if (done === true) return answers
    if (value.trim() !== '') answers[name] = value.trim()
  }
  return answers
}

/** An argument of a command is in the list of processes, and in the history of a shell. */
function hasPassword(address: string | undefined): boolean {
  return address !== undefined && (URL.parse(address)?.password ?? '') !== ''
}

function isAnswered(answers: Answers, name: keyof Answers): boolean {
  const { smtp, smtpFile } = answers
  if (name === 'smtp' && smtpFile !== undefined) return true
  return answers[name] !== undefined || (name === 'mailTo' && (smtp ?? smtpFile) === undefined)
}

/** Ctrl-C: nothing else ends the wait for a line. */
async function untilStopped<T>({ stop }: Io, work: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const end = () => stopped.reject(new CommandError('stopped, nothing was written'))
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  return Promise.race([work, stopped.promise]).finally(() => stop.removeEventListener('abort', end))
}

async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let rest = ''
  for await (const chunk of input) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

function missingFlags(answers: Answers): string[] {
  const { mailTo, webhook, smtp = answers.smtpFile } = answers
  const needed: (keyof Answers)[] = ['clientId', 'clientSecretFile', 'publicUrl']
  const flags = QUESTIONS.flatMap(([name, flag]) =>
    needed.includes(name) && answers[name] === undefined ? [flag] : [],
  )
  if (smtp === undefined && mailTo === undefined && webhook === undefined)
    flags.push('--smtp with --mail-to, or --webhook')
  else if (smtp === undefined && mailTo !== undefined) flags.push('--smtp')
  else if (smtp !== undefined && mailTo === undefined) flags.push('--mail-to')
  return flags
}

function configText(answers: Answers, folder: string, cwd: string): string {
  const { clientId = '', clientSecretFile = '', publicUrl = '', smtp, smtpFile, mailTo, webhook } = answers
  const fileOf = (given: string) => quoted(relative(folder, resolve(cwd, given)))
  const server = smtpFile === undefined ? smtp && `smtp: ${quoted(smtp)}` : `smtpFile: ${fileOf(smtpFile)}`
  const { protocol = '', hostname = 'localhost', port = '' } = URL.parse(publicUrl) ?? {}
  const sender = `plimsoll@${/[a-z]/i.test(hostname) ? hostname : 'localhost'}`
  // Nothing between people and the daemon: it listens where they ask.
  const listen = protocol === 'http:' && port !== '' ? `  listen: "127.0.0.1:${port}"\n` : ''
  const secret = randomBytes(32).toString('base64')
  const to = mailTo?.split(',').map((address) => quoted(address.trim()))
  const mail = server && `{ type: email, ${server}, from: ${quoted(sender)}, to: [${to}] }`
  const hook = webhook && `{ type: webhook, url: ${quoted(webhook)}, secrets: [${quoted(secret)}] }`
  const receivers = Object.entries({ mail, hook }).filter(([, receiver]) => receiver !== undefined)
  return `# Made by plimsoll init. config/example.yaml has all settings with their defaults.
provider:
  clientId: ${quoted(clientId)}
  clientSecretFile: ${fileOf(clientSecretFile)}
  scopes: [oauth, crm.objects.contacts.read]
http:
  publicUrl: ${quoted(publicUrl)}
${listen}receivers:
${receivers.map(([name, receiver]) => `  ${name}: ${receiver}\n`).join('')}routes:
  - { to: [${receivers.map(([name]) => name).join(', ')}] }
`
}

/** JSON is YAML. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
