import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { yamlOf } from '../../config/schema/print.ts'
import { checkFile } from './config.ts'
import { flagOf, isSecret, NAMES, type Name, QUESTIONS } from './init-questions.ts'
import { load } from './installation.ts'
import { CommandError, type Io } from './io.ts'
import { refuseToOverwrite, replaceFile } from './save-file.ts'
import { say } from './say.ts'
import { typedLines } from './typed-lines.ts'

type Answers = Partial<Record<Name, string>>
type InitOptions = Answers & { config: string; force?: boolean }

const ONE_NEEDED = 'Alerts need a mail server, Slack or your own webhook: one is enough.'

/** One receiver at least; a mail server needs recipients, and recipients a mail server. */
function isRequired(name: Name, { smtp, mailTo, mailFrom, slack }: Answers): boolean {
  if (name === 'smtp') return (mailTo ?? mailFrom) !== undefined
  if (name === 'mailTo') return smtp !== undefined
  if (name === 'webhook') return smtp === undefined && slack === undefined
  return name === 'clientId' || name === 'clientSecret' || name === 'publicUrl'
}

function defaultOf(name: Name, { publicUrl = '' }: Answers): string | undefined {
  if (name === 'scopes') return 'oauth, crm.objects.contacts.read'
  const hostname = URL.parse(publicUrl)?.hostname ?? ''
  return name === 'mailFrom' ? `plimsoll@${/[a-z]/i.test(hostname) ? hostname : 'localhost'}` : undefined
}

/** `plimsoll init`: writes a config, then reports what `config check` finds in it. */
export async function init(io: Io, { config: file, force, ...given }: InitOptions, command: Command): Promise<void> {
  const exposed = NAMES.find((name) => isSecret(name) && given[name]?.match(HARMLESS) === null)
  if (exposed !== undefined)
    command.error(`error: others can see a secret in an argument: give ${flagOf(exposed)} file:PATH or env:NAME`)
  refuseToOverwrite(io, file, force, 'name another one with --config')
  const answers = io.inIsTerminal ? await ask(io, file, given) : given
  const missing = NAMES.filter((name) => isRequired(name, answers) && answers[name] === undefined)
  if (missing.length > 0) {
    const either = missing.includes('webhook') ? ' (or --slack, or --smtp with --mail-to)' : ''
    return command.error(`error: missing: ${missing.map(flagOf).join(', ')}${either}`)
  }
  const problems = problemsIn(io, file, answers).map(({ path, message }) => `${path}: ${message}`)
  if (problems.length > 0) throw new CommandError(['nothing was written:', ...problems].join('\n'))
  const path = resolve(io.cwd, file)
  const settings = settingsOf(io, file, answers)
  const text = `# Made by plimsoll init. config/example.yaml has all settings with their defaults.\n${yamlOf(settings)}`
  mkdirSync(dirname(path), { recursive: true })
  await replaceFile(io, { file: path, name: file }, Readable.from([Buffer.from(text)]))
  say(io, `wrote ${file}; no other user can read it`)
  await checkFile(io, file, { config: file })
  const url = answers.publicUrl?.replace(/\/+$/, '')
  const data = join(dirname(file), '.plimsoll')
  say(
    io,
    'Next:',
    `- In your app's settings at HubSpot, add the redirect URL ${url}/oauth/callback`,
    `- If ${url} is not this machine, put a proxy with TLS in front of the daemon: config/deploy/nginx.conf`,
    `- Start the daemon: plimsoll start --config ${file}. Then back up ${data}/keys: without this key all tokens are lost`,
    `- In another terminal: plimsoll doctor --config ${file}, then plimsoll alerts test ${settings.routes[0]?.to[0]} --config ${file}`,
    `- Sign in at ${url} with the token in ${data}/admin-token. Customers connect at ${url}/install`,
  )
}

const SOURCE = /^(file|env):(.*)$/

/** An argument is in the list of processes, and in the history of a shell: these forms have no secret. */
const HARMLESS = /^((file|env):|smtps?:\/\/([^:@]+@)?[^@]+$)/

async function ask(io: Io, file: string, given: Answers): Promise<Answers> {
  const answers = { ...given }
  const nextLine = typedLines(io)
  const screen = { out: io.err, isTerminal: io.errIsTerminal, columns: io.errColumns }
  say(
    screen,
    `This command writes ${file}. It asks for:`,
    ...NAMES.flatMap((name) => (given[name] === undefined ? [`- ${QUESTIONS[name].text}`] : [])),
    ONE_NEEDED,
    'A secret is hidden while you type. file:PATH or env:NAME in its place names a file or an environment variable.',
    'Enter accepts the value in brackets, or skips an optional question. Ctrl-C ends the command, and nothing is written.\n',
  )
  for (const name of NAMES) {
    if (name.startsWith('mail') && answers.smtp === undefined) continue
    while (answers[name] === undefined) {
      const usual = defaultOf(name, answers)
      const isOptional = usual === undefined && !isRequired(name, answers)
      const note = usual === undefined ? '' : ` [${usual}]`
      io.err(`${QUESTIONS[name].text}${note}${isSecret(name) ? ' (hidden)' : ''}${isOptional ? ' (optional)' : ''}: `)
      io.hideTyping(isSecret(name))
      const line = await nextLine()
      io.hideTyping(false)
      // The end of a hidden line is hidden, too.
      if (isSecret(name) || line === undefined) io.err('\n')
      if (line === undefined) throw new CommandError('stopped, nothing was written')
      if (line === '' && isOptional) break
      const answer = line === '' ? (usual ?? '') : line
      const problems = problemsIn(io, file, { ...answers, [name]: answer })
      const fault = problems.find(({ path }) => path.startsWith(QUESTIONS[name].at))?.message
      if (fault === undefined) answers[name] = answer
      else say(screen, answer === '' ? 'Required.' : `Not accepted: ${fault}`)
    }
  }
  return answers
}

/** Problems of the answers by the config's own check; others may not be given yet. */
function problemsIn(io: Io, file: string, answers: Answers) {
  const text = yamlOf(settingsOf(io, file, answers))
  const result = load(io, file, (path) => (path === resolve(io.cwd, file) ? text : readFileSync(path, 'utf8')))
  return result.ok ? [] : result.problems
}

function settingsOf({ cwd }: Io, file: string, answers: Answers) {
  const { protocol, port } = URL.parse(answers.publicUrl ?? '') ?? {}
  const text = (name: Name) => (answers[name] ?? defaultOf(name, answers) ?? '').replaceAll('${', () => '$${')
  const secret = (name: Name, setting: string = name) => {
    const [, source, named = ''] = SOURCE.exec(answers[name] ?? '') ?? []
    if (source === 'file') return { [`${setting}File`]: relative(dirname(resolve(cwd, file)), resolve(cwd, named)) }
    return { [setting]: source === 'env' ? `\${${named}}` : text(name) }
  }
  const to = text('mailTo').match(/[^,\s]([^,]*[^,\s])?/g)
  const secrets = [randomBytes(32).toString('base64')]
  const receivers = {
    ...(answers.smtp && { ops: { type: 'email', ...secret('smtp'), from: text('mailFrom'), to } }),
    ...(answers.slack && { slack: { type: 'slack', ...secret('slack', 'url') } }),
    ...(answers.webhook && { hook: { type: 'webhook', url: text('webhook'), secrets } }),
  }
  return {
    provider: { clientId: text('clientId'), ...secret('clientSecret'), scopes: text('scopes').split(/[\s,]+/) },
    limits: { associations: 'auto' },
    http: {
      publicUrl: text('publicUrl'),
      // No proxy is between people and the daemon: it listens where browsers ask.
      ...(protocol === 'http:' && port && { listen: `127.0.0.1:${port}` }),
      ...(answers.appName && { brand: { name: text('appName') } }),
    },
    receivers,
    routes: [{ to: Object.keys(receivers) }],
  }
}
