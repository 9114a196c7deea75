import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { yamlOf } from '../../config/schema/print.ts'
import { checkFile } from './config.ts'
import { CommandError, type Io } from './io.ts'
import { refuseToOverwrite, replaceFile } from './save-file.ts'
import { say } from './say.ts'
import { typedLines } from './typed-lines.ts'

/** Questions in the order in which they are asked; each has a flag of its name. */
const QUESTIONS = {
  clientId: 'Client ID of your app',
  clientSecret: 'Client secret of your app',
  publicUrl: 'Address of this server in browsers, like https://plimsoll.example.com',
  appName: 'Name of your app, for customers',
  smtp: 'Mail server for alerts, like smtps://user:password@mail.example.com:465',
  mailTo: 'Mail addresses that get alerts, with commas between them',
  slack: 'Slack webhook for alerts, like https://hooks.slack.com/services/...',
  webhook: 'Webhook of your own for alerts, as JSON',
}
type Name = keyof typeof QUESTIONS
type Answers = Partial<Record<Name, string>>

const NAMES = Object.keys(QUESTIONS) as Name[]
const SECRETS: readonly Name[] = ['clientSecret', 'smtp', 'slack']

/** One receiver at least; a mail server needs recipients, and recipients a mail server. */
function isRequired(name: Name, { smtp, mailTo, slack }: Answers): boolean {
  if (name === 'smtp') return mailTo !== undefined
  if (name === 'mailTo') return smtp !== undefined
  if (name === 'webhook') return smtp === undefined && slack === undefined
  return name === 'clientId' || name === 'clientSecret' || name === 'publicUrl'
}

interface InitOptions extends Answers {
  config: string
  force?: boolean
}

/** `plimsoll init`: writes a config, then reports what `config check` finds in it. */
export async function init(io: Io, { config: file, force, ...given }: InitOptions, command: Command): Promise<void> {
  const flagOf = (name: Name) => command.options.find((one) => one.attributeName() === name)?.long
  const exposed = SECRETS.find((name) => isExposed(given[name]))
  if (exposed !== undefined) {
    return command.error(
      `error: all users of this machine can see a secret in an argument: give ${flagOf(exposed)} file:PATH or env:NAME`,
    )
  }
  refuseToOverwrite(io, file, force)
  const answers = io.inIsTerminal ? await ask(io, file, given) : given
  const missing = NAMES.filter((name) => isRequired(name, answers) && answers[name] === undefined)
  if (missing.length > 0) {
    const either = missing.includes('webhook') ? ' (or --slack, or --smtp with --mail-to)' : ''
    return command.error(`error: missing: ${missing.map(flagOf).join(', ')}${either}`)
  }
  const path = resolve(io.cwd, file)
  const settings = settingsOf(answers, (named) => relative(dirname(path), resolve(io.cwd, named)))
  const text = `# Made by plimsoll init. config/example.yaml has all settings with their defaults.\n${yamlOf(settings)}`
  mkdirSync(dirname(path), { recursive: true })
  await replaceFile(io, { file: path, name: file }, Readable.from([Buffer.from(text)]))
  say(io, `wrote ${file}; no other user can read it`)
  await checkFile(io, file, { config: file })
  say(
    io,
    'Next:',
    `- In your app's settings at HubSpot, add the redirect URL ${answers.publicUrl?.replace(/\/+$/, '')}/oauth/callback`,
    `- Start the daemon: plimsoll start --config ${file}`,
    `- In another terminal, check all parts: plimsoll doctor --config ${file}`,
    `- Send a test message: plimsoll alerts test ${Object.keys(settings.receivers)[0]} --config ${file}`,
  )
}

const SOURCE = /^(file|env):(.+)$/

/** An argument is in the list of processes, and in the history of a shell. */
function isExposed(secret: string | undefined): boolean {
  if (secret === undefined || SOURCE.test(secret)) return false
  return !secret.startsWith('smtp') || URL.parse(secret)?.password !== ''
}

async function ask(io: Io, file: string, given: Answers): Promise<Answers> {
  const answers = { ...given }
  const nextLine = typedLines(io)
  say(
    { out: io.err, isTerminal: io.errIsTerminal, columns: io.errColumns },
    `This command writes ${file}. It asks for:`,
    ...NAMES.flatMap((name) => (given[name] === undefined ? [`- ${QUESTIONS[name]}`] : [])),
    'A secret is hidden while you type. file:PATH or env:NAME in its place names a file or an environment variable.',
    'Enter skips an optional question. Ctrl-C ends the command, and nothing is written.\n',
  )
  for (const name of NAMES) {
    while (answers[name] === undefined) {
      const needed = isRequired(name, answers)
      if (name === 'mailTo' && !needed) break
      const isSecret = SECRETS.includes(name)
      io.err(`${QUESTIONS[name]}${isSecret ? ' (hidden)' : ''}${needed ? '' : ' (optional)'}: `)
      io.hideTyping(isSecret)
      const line = await nextLine()
      io.hideTyping(false)
      // The end of a hidden line is hidden, too.
      if (isSecret || io.stop.aborted) io.err('\n')
      if (io.stop.aborted) throw new CommandError('stopped, nothing was written')
      if (line === undefined) return answers
      if (line !== '') answers[name] = line
      else if (!needed) break
    }
  }
  return answers
}

function settingsOf(answers: Answers, fileAt: (named: string) => string) {
  const { clientId, clientSecret, publicUrl = '', appName, smtp, mailTo, slack, webhook } = answers
  const { protocol, port, hostname = '' } = URL.parse(publicUrl) ?? {}
  const setting = (name: string, secret = '') => secretSetting(name, secret, fileAt)
  const from = `plimsoll@${/[a-z]/i.test(hostname) ? hostname : 'localhost'}`
  const to = mailTo?.split(',').map((address) => address.trim())
  const secrets = [randomBytes(32).toString('base64')]
  const receivers = {
    ...(smtp && { mail: { type: 'email', ...setting('smtp', smtp), from, to } }),
    ...(slack && { slack: { type: 'slack', ...setting('url', slack) } }),
    ...(webhook && { hook: { type: 'webhook', url: webhook, secrets } }),
  }
  return {
    provider: { clientId, ...setting('clientSecret', clientSecret), scopes: ['oauth', 'crm.objects.contacts.read'] },
    limits: { associations: 'auto' },
    http: {
      publicUrl,
      // No proxy is between people and the daemon: it listens where browsers ask.
      ...(protocol === 'http:' && port && { listen: `127.0.0.1:${port}` }),
      ...(appName && { brand: { name: appName } }),
    },
    receivers,
    routes: [{ to: Object.keys(receivers) }],
  }
}

function secretSetting(name: string, secret: string, fileAt: (named: string) => string): Record<string, string> {
  const [, source, named = ''] = SOURCE.exec(secret) ?? []
  if (source === 'file') return { [`${name}File`]: fileAt(named) }
  return { [name]: source === 'env' ? `\${${named}}` : secret.replaceAll('${', () => '$${') }
}
