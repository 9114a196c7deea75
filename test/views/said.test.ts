import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { EXPLAIN } from '../http/in-browser/scenes.ts'
import { ACCESS_TOKEN, openLastingServer, REFRESH_TOKEN, SETTINGS } from '../http/open-server.ts'
import { vaultKey } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { redisOfFile } from '../support/of-file.ts'
import { saidBy } from './said-by-pages.ts'
import { SITUATIONS } from './situations.ts'

const redis = redisOfFile()
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-said-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How much of a long answer is written down: its beginning and its end. */
const LINES = 26
const FILE = new URL('said.txt', import.meta.url)

type Server = Awaited<ReturnType<typeof openLastingServer>>

/** `# situation`, and what is asked in it: a page, a route of the API or a command. What each says stands below it. */
const asked = readFileSync(FILE, 'utf8')
  .split(/^# /m)
  .slice(1)
  .map((part) => {
    const [situation = '', ...lines] = part.trimEnd().split('\n')
    return { situation, lines, questions: lines.filter((line) => /^(GET|\$) /.test(line)) }
  })

async function answerTo(question: string, server: Server, config: string): Promise<string[]> {
  const [, kind, what = ''] = /^(GET|\$) (.*?)(?: => .*)?$/.exec(question) ?? []
  if (kind === 'GET') {
    const { status, text, json } = await server.get(what)
    if (json === null) expect(text, what).not.toMatch(/<img src=x>|<script>|undefined|\[object/)
    for (const secret of [ACCESS_TOKEN, REFRESH_TOKEN]) expect(text, what).not.toContain(secret)
    const lines = json === null ? (what === '/metrics' ? metricsIn(text) : saidBy(text)) : linesOf(json)
    return [`GET ${what} => ${status}`, ...shortened(lines)]
  }
  const args = what.split(/ (?=(?:[^"]*"[^"]*")*[^"]*$)/).map((arg) => arg.replaceAll('"', ''))
  const { code, out, err } = await plimsollHere([...args, '--config', config], folder, { clock: server.clock })
  const complaints = err.split('\n').filter((line) => line !== '')
  return [`$ ${what} => ${code}`, ...shortened(out.trimEnd().split('\n')), ...complaints.map((line) => `! ${line}`)]
}

function shortened(lines: readonly string[]): string[] {
  if (lines.length <= LINES) return lines.map((line) => `  ${line}`.trimEnd())
  const left = lines.length - LINES
  return [...lines.slice(0, LINES - 6), `(${left} more lines)`, ...lines.slice(-6)].map((line) => `  ${line}`.trimEnd())
}

/** Each field of it, and each item of a list, on a line of its own. */
function linesOf(json: object): string[] {
  return Object.entries(json).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 0
      ? [`${name}:`, ...value.map((one) => `- ${JSON.stringify(one)}`)]
      : [`${name}: ${JSON.stringify(value)}`],
  )
}

/** Of Plimsoll, but for what time and memory this process has. */
function metricsIn(text: string): string[] {
  const ours = /^plimsoll_(accounts|alerts|limits|provider|receiver|queue|deliver|outbox|refresh)/
  return text.split('\n').filter((line) => ours.test(line) && !/bucket|seconds|_sum|_count/.test(line))
}

/** Made by chance, or by the time of Redis: ids of silences, of deliveries, of what streams have. */
function withoutChance(line: string): string {
  return line
    .replace(/\bs-(?=[a-z0-9]*\d)[a-z0-9]{5}\b|\bs-[a-z]{5}\b(?!-)/g, 's-xxxxx')
    .replace(/\bmsg_[\w-]+/g, 'msg_x')
    .replace(/\balert\d+-1\b/g, 'alert-1')
    .replace(/\b\d{13}-\d+\b/g, '1-1')
    .replace(
      /("oldestWaitingAt":"|oldest pending +|waited in the outbox for |the oldest from |the next for )[^,":]+(:\d\d[^,":]*)*/g,
      '$1...',
    )
    .replace(/"?next"?: ?"[\w.~=-]{12,}"/g, 'next: "..."')
}

const isWriting = process.env.PLIMSOLL_WRITE === '1'
const written = new Map(asked.map(({ situation, lines }) => [situation, lines]))
afterAll(() => {
  const parts = [...written].map(([situation, lines]) => `# ${situation}\n${lines.join('\n')}\n`)
  if (isWriting) writeFileSync(FILE, parts.join('\n'))
})

/** PLIMSOLL_WRITE=1 writes the answers anew: what changes in the file is to be read like code. */
describe.each(asked)('where $situation', ({ situation, lines, questions }) => {
  test('each page, route and command says what is written down', async () => {
    const make = SITUATIONS[situation]
    if (make === undefined) throw new Error(`there is no situation "${situation}"`)
    const server = await openLastingServer(redis, { explain: EXPLAIN })
    try {
      await make(server)
      const config = configOf(server)
      const said: string[] = []
      for (const question of questions) said.push('', ...(await answerTo(question, server, config)).map(withoutChance))
      written.set(situation, said)
      if (!isWriting) expect(said).toEqual(lines)
    } finally {
      await server.close()
    }
  })
})

test('every situation is asked about', () => {
  expect(asked.map(({ situation }) => situation)).toEqual(Object.keys(SITUATIONS))
})

/** Of commands on the same data. */
function configOf({ keys }: Server): string {
  const file = join(folder, `${keys.prefix}.yaml`)
  const encryption = { keys: [{ id: vaultKey.id, key: Buffer.from(vaultKey.key).toString('base64') }] }
  const own = { redis: { url: redis.url, prefix: keys.prefix }, encryption, dataDir: join(folder, keys.prefix) }
  const thresholds = EXPLAIN.rules.map(({ line: _, ...rule }) => rule)
  writeFileSync(file, JSON.stringify({ ...SETTINGS, ...own, thresholds }, null, 1))
  return file
}
