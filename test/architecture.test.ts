import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REPORTS } from '../src/limits/reports/all-reports.ts'
import {
  brokenLibraries,
  brokenRooms,
  importCycles,
  importsOf,
  type LibraryTable,
  linesWith,
  namesTwice,
  type RoomTable,
  type SourceFile,
  withoutComments,
} from './support/architecture.ts'

const ROOT = join(import.meta.dirname, '..')
const ROOTS = ['src', 'jobs', 'config']
const ROOMS_OF_SRC = [
  'runtime',
  'text',
  'redis',
  'audit',
  'provider',
  'tokens',
  'accounts',
  'limits',
  'alerts',
  'delivery',
  'heartbeat',
]

/** Imports go down this table only. */
const ROOMS: RoomTable = {
  text: { of: [] },
  runtime: { of: [] },
  redis: { of: ['runtime'] },
  audit: { of: ['redis', 'text', 'runtime'] },
  provider: { of: ['runtime'] },
  tokens: { of: ['provider', 'redis', 'runtime'] },
  // How its polls fare is part of what is known of an account.
  accounts: {
    of: ['tokens', 'provider', 'redis', 'text', 'runtime'],
    files: ['src/limits/watch/watch.ts', 'src/limits/watch/read-watch.ts'],
  },
  limits: { of: ['tokens', 'provider', 'redis', 'text', 'runtime'], files: ['src/accounts/match-account.ts'] },
  alerts: {
    of: ['limits', 'redis', 'text', 'runtime'],
    types: ['accounts', 'tokens'],
    files: ['src/accounts/match-account.ts'],
  },
  delivery: {
    of: ['redis', 'text', 'runtime'],
    types: ['alerts'],
    files: [
      ...['alert', 'changes', 'transition-log', 'series-name', 'evaluation/because'].map(
        (name) => `src/alerts/${name}.ts`,
      ),
      // What the settings of a receiver are made of.
      ...['addresses', 'secrets', 'values'].map((name) => `config/schema/${name}.ts`),
    ],
  },
  heartbeat: {
    of: ['accounts', 'limits', 'redis', 'text', 'runtime'],
    files: ['src/tokens/endpoint/state.ts', 'src/delivery/network-failure.ts'],
  },
  views: {
    of: ['audit', 'heartbeat', 'accounts', 'limits', 'alerts', 'redis', 'text', 'runtime'],
    types: ['tokens', 'delivery'],
    files: ['src/tokens/endpoint/state.ts'],
  },
  // What API and command line have in common.
  operations: {
    of: [
      'audit',
      'checks',
      'views',
      'heartbeat',
      'accounts',
      'limits',
      'alerts',
      'delivery',
      'redis',
      'text',
      'runtime',
    ],
    types: ['tokens'],
    files: ['src/http/access/scopes.ts', 'config/schema/duration.ts'],
  },
  http: {
    of: [
      'operations',
      'audit',
      'checks',
      'views',
      'heartbeat',
      'accounts',
      'tokens',
      'limits',
      'alerts',
      'delivery',
      'redis',
      'text',
      'runtime',
    ],
    types: ['provider'],
    files: ['src/provider/dialects.ts'],
  },
  checks: {
    of: ['views', 'heartbeat', 'accounts', 'limits', 'alerts', 'redis', 'text', 'runtime'],
    types: ['tokens'],
    files: ['src/delivery/receiver-health.ts'],
  },
  // Beside the runtime only files that decide without a store or a call.
  config: {
    of: ['runtime'],
    files: [
      ...['src/text/suggest.ts', 'src/text/wall-clock.ts', 'src/alerts/route.ts'],
      ...['src/alerts/evaluation/rules.ts', 'src/provider/dialects.ts'],
      ...['src/limits/reports/all-reports.ts', 'src/limits/polling/poll-settings.ts'],
      ...['src/text/pattern.ts', 'src/text/format-number.ts', 'src/http/access/scopes.ts'],
      // The list of receivers, whose folders have their settings.
      'src/delivery/receivers/all-receivers.ts',
      // What their templates may name, for the reference.
      'src/delivery/templates/template-fields.ts',
    ],
  },
  jobs: { of: ROOMS_OF_SRC, types: ['views'] },
  doctor: {
    of: [...ROOMS_OF_SRC, 'checks', 'config'],
    files: ['src/http/access/admin-tokens.ts'],
  },
  // The double must share no code with what it checks.
  sandbox: { of: ['runtime'] },
  app: { of: [...ROOMS_OF_SRC, 'checks', 'operations', 'http', 'jobs', 'config'] },
  cli: { of: [...ROOMS_OF_SRC, 'checks', 'views', 'operations', 'http', 'doctor', 'jobs', 'config', 'app', 'sandbox'] },
  main: { of: ['cli', 'runtime'] },
}

/** One library, one place. */
const LIBRARIES: LibraryTable = {
  bullmq: { of: ['jobs'] },
  'node-cron': { of: ['jobs'] },
  msgpackr: { of: ['limits', 'redis'] },
  ioredis: { of: ['redis'], types: ['jobs'] },
  undici: { of: ['provider', 'delivery', 'heartbeat', 'cli'] },
  nodemailer: { of: ['delivery'] },
  liquidjs: { of: ['delivery'] },
  fastify: { of: ['http', 'sandbox'] },
  'smtp-server': { of: ['sandbox'] },
  'postal-mime': { of: ['sandbox'] },
  pino: { of: ['runtime'] },
  'pino-pretty': { of: ['runtime'] },
  'prom-client': { of: ['runtime'] },
  commander: { of: ['cli'] },
  'csv-parse': { of: ['accounts'] },
  // Beside what comes in, the shapes of what programs are given, and of what an earlier process left.
  zod: { of: ['config', 'delivery', 'http', 'operations', 'views', 'tokens', 'limits'] },
  yaml: { of: ['config'] },
}

const CLOCK_OR_CHANCE = /\bDate\.now\s*\(|\bnew Date\s*(?:\(\s*\)|(?![\w\s(.]))|\bMath\.random\b|\bDate\s*\(\s*\)/
const MAY_ASK = ['src/runtime/clock.ts', 'src/main.ts']
const ENVIRONMENT = /\bprocess\.env\b/
const MAY_READ_ENVIRONMENT = ['src/main.ts', 'src/redis/server-program.ts']
const EXIT = /\bprocess\.(?:exit|abort|reallyExit)\b/
const ENTRIES = ['src/main.ts']
const MAY_START_PROCESSES = ['src/redis/server-program.ts', 'src/runtime/service-manager.ts']

const files: SourceFile[] = ROOTS.flatMap((root) =>
  readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => {
      const path = `${root}/${name.replaceAll('\\', '/')}`
      return { path, text: readFileSync(join(ROOT, path), 'utf8') }
    }),
)
const imports = files.flatMap(importsOf)

describe('the house', () => {
  test('is read: there are files, and what they import exists', () => {
    expect(files.length).toBeGreaterThan(100)
    const paths = new Set([...files.map(({ path }) => path), 'package.json'])
    expect(
      imports.filter(({ isOurs, to }) => isOurs && !paths.has(to)).map(({ from, to }) => `${from} -> ${to}`),
    ).toEqual([])
  })

  test('rooms import only what the table says', () => {
    expect(brokenRooms(imports, ROOMS)).toEqual([])
  })

  test('no other room names a limits report or a metric', () => {
    const names = REPORTS.filter(({ name }) => name !== 'records').map(({ name }) => name)
    const quoted = `['"\`](${names.join('|')}|(${names.join('|')}|records)\\.(\\w+|\\*))['"\`]`
    const pattern = new RegExp(
      `\\bapi\\.bucket\\b|\\b(customProperties|associationLabels|calculatedProperties|customObjectTypes)\\b|${quoted}`,
    )
    // Defaults of the config, and its setting of pairs.
    const mayName = /^(src\/limits\/reports|src\/sandbox)\/|^config\/schema\/(limits|schema|advice)\.ts$/
    expect(linesWith(files, pattern, (path) => mayName.test(path))).toEqual([])
  })

  test('each library is used in one place', () => {
    expect(brokenLibraries(imports, LIBRARIES)).toEqual([])
  })

  test('no two files export one name', () => {
    expect(namesTwice(files)).toEqual([])
  })

  test('no file imports itself, however far around', () => {
    expect(importCycles(imports)).toEqual([])
  })

  test('nobody but the clock asks what time it is, and nobody throws dice: both are handed in', () => {
    expect(linesWith(files, CLOCK_OR_CHANCE, (path) => MAY_ASK.includes(path))).toEqual([])
  })

  test('only the entry reads the environment, and who starts processes', () => {
    expect(linesWith(files, ENVIRONMENT, (path) => MAY_READ_ENVIRONMENT.includes(path))).toEqual([])
  })

  test('only the embedded Redis and the messenger to systemd are processes of their own', () => {
    const starting = imports.filter(({ to }) => to === 'node:child_process').map(({ from }) => from)
    expect(starting.sort()).toEqual(MAY_START_PROCESSES)
  })

  test('only an entry ends its process', () => {
    expect(linesWith(files, EXIT, (path) => ENTRIES.includes(path))).toEqual([])
  })
})

describe('the check finds', () => {
  const made = (path: string, text: string) => importsOf({ path, text })
  const room = (path: string, text: string) => brokenRooms(made(path, text), ROOMS)

  test.each([
    ['src/runtime/x.ts', `import { a } from '../redis/keys.ts'`],
    ['src/text/x.ts', `import { Secret } from '../runtime/secret.ts'`],
    ['src/provider/x.ts', `import type { Store } from '../redis/connect.ts'`],
    ['src/redis/x.ts', `export { y } from '../tokens/y.ts'`],
    ['src/tokens/x.ts', `export * from '../accounts/y.ts'`],
    ['src/limits/x.ts', `import {\n  a,\n  type B,\n} from '../alerts/y.ts'`],
    ['src/alerts/x.ts', `import { refreshAccount } from '../tokens/refresh-account.ts'`],
    ['src/alerts/x.ts', `import { type A, refreshAccount } from '../tokens/refresh-account.ts'`],
    ['src/delivery/email/x.ts', `import { evaluate } from '../../alerts/evaluate.ts'`],
    ['src/delivery/x.ts', `import '../alerts/evaluate.ts'`],
    ['src/http/pages/x.ts', `import { createProviderClient } from '../../provider/client.ts'`],
    ['src/http/x.ts', `const y = await import('../sandbox/sandbox.ts')`],
    ['src/sandbox/x.ts', `import { Secret } from '../tokens/vault.ts'`],
    ['src/app.ts', `import { startSandbox } from './sandbox/sandbox.ts'`],
    ['jobs/x.ts', `import { startHttpServer } from '../src/http/server.ts'`],
    ['jobs/x.ts', `import type { Config } from '../config/schema/schema.ts'`],
    ['config/schema/x.ts', `import { isCronExpression } from '../../jobs/clock.ts'`],
    ['config/schema/x.ts', `import { History } from '../../src/limits/history/history.ts'`],
    ['config/schema/x.ts', `import type { ProviderClient } from '../../src/provider/client.ts'`],
    ['src/delivery/x.ts', `import { groupKey } from '../alerts/group.ts'`],
    ['src/views/x.ts', `import { whenText } from '../http/when.ts'`],
    ['src/views/x.ts', `import { refreshAccount } from '../tokens/refresh-account.ts'`],
    ['jobs/x.ts', `import { readFleet } from '../src/checks/fleet-status.ts'`],
    ['src/cli/x.ts', `import { main } from '../main.ts'`],
    ['src/new-room/x.ts', `import { Secret } from '../runtime/secret.ts'`],
    ['src/tokens/x.ts', `import fixture from '../../test/fixture.ts'`],
  ])('a wrong import in %s: %s', (path, text) => {
    expect(room(path, text)).toHaveLength(1)
  })

  test.each([
    ['src/alerts/x.ts', `import type { TokenAnnouncer } from '../tokens/refresh-account.ts'`],
    ['src/alerts/x.ts', `import { type A, type B } from '../tokens/refresh-account.ts'`],
    ['src/http/x.ts', `import type { ProviderFailure } from '../provider/failure.ts'`],
    ['src/cli/x.ts', `import { startSandbox } from '../sandbox/sandbox.ts'`],
    ['src/delivery/email/x.ts', `import { seriesName } from '../../alerts/series-name.ts'`],
    ['src/http/x.ts', `import { opensLimits } from '../provider/dialects.ts'`],
    ['config/schema/x.ts', `import { opensLimits } from '../../src/provider/dialects.ts'`],
    ['config/schema/x.ts', `import { METRICS } from '../../src/limits/reports/all-reports.ts'`],
    ['src/cli/x.ts', `import manifest from '../../package.json' with { type: 'json' }`],
    ['src/tokens/x.ts', `import { a } from './vault.ts'`],
    ['src/runtime/x.ts', `// import { a } from '../redis/keys.ts'\n/*\nimport { a } from '../redis/keys.ts'\n*/`],
    ['src/runtime/x.ts', `export const a = 1\nconst text = "b"`],
  ])('nothing in %s: %s', (path, text) => {
    expect(room(path, text)).toEqual([])
  })

  test.each([
    ['src/tokens/x.ts', `import { Queue } from 'bullmq'`],
    ['src/tokens/x.ts', `import type { Queue } from 'bullmq'`],
    ['jobs/x.ts', `import { Redis } from 'ioredis'`],
    ['src/http/x.ts', `import pino from 'pino'`],
    ['src/http/x.ts', `import * as z from 'zod'\nimport { parse } from 'yaml/util'`],
    ['src/provider/x.ts', `import lodash from 'lodash'`],
    ['src/provider/x.ts', `const a = await import('@hubspot/api-client/lib')`],
  ])('a wrong library in %s: %s', (path, text) => {
    expect(brokenLibraries(made(path, text), LIBRARIES)).toHaveLength(1)
  })

  test('nothing where a library is at home', () => {
    const fine = [
      made('jobs/x.ts', `import { Queue } from 'bullmq'\nimport type { Redis } from 'ioredis'`),
      made('src/redis/x.ts', `import { Redis } from 'ioredis'\nimport { join } from 'node:path'`),
      made('src/http/api/x.ts', `import * as z from 'zod'\nimport fastify, { type FastifyInstance } from 'fastify'`),
    ]
    expect(brokenLibraries(fine.flat(), LIBRARIES)).toEqual([])
  })

  test('a way round, also through several files and by types', () => {
    const round = [
      ...made('src/tokens/a.ts', `import { b } from './b.ts'`),
      ...made('src/tokens/b.ts', `import type { C } from '../tokens/deep/c.ts'`),
      ...made('src/tokens/deep/c.ts', `export { a } from '../a.ts'`),
      ...made('src/tokens/d.ts', `import { a } from './a.ts'`),
    ]
    expect(importCycles(round)).toEqual([
      'src/tokens/a.ts -> src/tokens/b.ts -> src/tokens/deep/c.ts -> src/tokens/a.ts',
    ])
    expect(importCycles(round.slice(1))).toEqual([])
    expect(importCycles(made('src/tokens/a.ts', `import { a } from './a.ts'`))).toHaveLength(1)
  })

  test('a name with two homes, whatever it names', () => {
    const one = { path: 'src/a.ts', text: 'export function judge() {}\nexport const of = 1\nfunction own() {}' }
    const other = {
      path: 'src/b.ts',
      text: 'export interface judge {}\nexport async function* on() {}\nfunction own() {}',
    }
    expect(namesTwice([one, other])).toEqual(['judge: src/a.ts, src/b.ts'])
  })

  test.each([
    'const now = Date.now()',
    'const now = new Date()',
    'const now = new Date( )',
    'const now = new Date',
    'const text = `${new Date().toISOString()}`',
    'const dice = Math.random()',
    'const random = Math.random',
    'const text = Date()',
  ])('the clock or chance in: %s', (text) => {
    expect(linesWith([{ path: 'src/x.ts', text }], CLOCK_OR_CHANCE, () => false)).toEqual(['src/x.ts:1'])
  })

  test.each([
    'const at = new Date(now).toISOString()',
    'const at = Date.parse(text)',
    '// Date.now() is for the clock alone',
    "const help = 'Date.now()'",
    'const help = `Math.random()`',
    'const at = clock.now()',
    'const pattern = /Math.random\\(\\)/',
  ])('no clock and no chance in: %s', (text) => {
    expect(linesWith([{ path: 'src/x.ts', text }], CLOCK_OR_CHANCE, () => false)).toEqual([])
  })

  test('the environment and the end of the process', () => {
    const file = { path: 'src/x.ts', text: 'const a = 1\nconst b = process.env.HOME\nprocess.exit(1)\n' }
    expect(linesWith([file], ENVIRONMENT, () => false)).toEqual(['src/x.ts:2'])
    expect(linesWith([file], EXIT, () => false)).toEqual(['src/x.ts:3'])
    expect(linesWith([file], EXIT, (path) => path === 'src/x.ts')).toEqual([])
  })

  test('comments and texts, and leaves the code between them', () => {
    const text = "a('x // y') // z\nb(`/* ${c('d')} */ ${{ e: '}' }}`) /* f\n */ g(/['\"]/) h"
    expect(withoutComments(text, 'kept')).toBe(
      "a('x // y')     \nb(`/* ${c('d')} */ ${{ e: '}' }}`)     \n    g(/['\"]/) h",
    )
    expect(withoutComments(text, 'blanked')).toBe(
      "a('      ')     \nb(`   ${c(' ')}    ${{ e: ' ' }}`)     \n    g(      ) h",
    )
  })
})
