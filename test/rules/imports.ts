import packageJson from '../../package.json' with { type: 'json' }
import { REPORTS } from '../../src/limits/reports/all-reports.ts'
import { type Import, importsOf, linesWith, roomOf, type Source } from './sources.ts'

/** What a room may import of the others; `types` = nothing that remains at run time, `files` = those files alone. */
type RoomTable = Record<string, { of: readonly string[]; types?: readonly string[]; files?: readonly string[] }>

/** Which rooms may use a library, and which its types. */
type LibraryTable = Record<string, { of: readonly string[]; types?: readonly string[] }>

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
    files: ['src/limits/poll-state.ts', 'src/limits/poll-state-text.ts'],
  },
  limits: { of: ['tokens', 'provider', 'redis', 'text', 'runtime'], files: ['src/accounts/match-account.ts'] },
  alerts: {
    of: ['limits', 'redis', 'text', 'runtime'],
    types: ['accounts', 'tokens'],
    files: ['src/tokens/after-failure.ts', 'src/accounts/match-account.ts'],
  },
  delivery: {
    of: ['redis', 'text', 'runtime'],
    types: ['alerts'],
    files: [
      ...['alert', 'changes', 'transition-log', 'series-name', 'alert-title', 'evaluation/because'].map(
        (name) => `src/alerts/${name}.ts`,
      ),
      // What the settings of a receiver are made of.
      ...['addresses', 'secrets', 'values'].map((name) => `config/schema/${name}.ts`),
    ],
  },
  heartbeat: {
    of: ['accounts', 'limits', 'redis', 'text', 'runtime'],
    files: ['src/tokens/endpoint/state.ts'],
  },
  views: {
    of: ['audit', 'heartbeat', 'accounts', 'limits', 'alerts', 'redis', 'text', 'runtime'],
    types: ['tokens', 'delivery'],
    files: ['src/tokens/after-failure.ts', 'src/tokens/endpoint/state.ts', 'src/delivery/receiver-health.ts'],
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
    files: ['src/delivery/receiver-health.ts', 'src/provider/dialects.ts'],
  },
  // Beside the runtime only files that decide without a store or a call.
  config: {
    of: ['runtime'],
    files: [
      'src/text/suggest.ts',
      'src/text/wall-clock.ts',
      'src/alerts/route.ts',
      'src/alerts/evaluation/rules.ts',
      'src/provider/dialects.ts',
      'src/limits/reports/all-reports.ts',
      'src/limits/polling/poll-settings.ts',
      'src/text/pattern.ts',
      'src/text/format-number.ts',
      'src/http/access/scopes.ts',
      // The list of receivers, whose folders have their settings.
      'src/delivery/receivers/all-receivers.ts',
    ],
  },
  jobs: { of: ROOMS_OF_SRC, types: ['views'] },
  doctor: {
    of: [...ROOMS_OF_SRC, 'checks', 'config'],
    files: ['src/http/access/admin-tokens.ts'],
  },
  // The double must share no code with what it checks; markup that escapes is no part of that.
  sandbox: { of: ['runtime'], files: ['src/text/html.ts'] },
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
  undici: { of: ['provider', 'delivery', 'heartbeat', 'cli'], types: ['runtime'] },
  nodemailer: { of: ['delivery'] },
  liquidjs: { of: ['delivery'] },
  fastify: { of: ['http', 'sandbox'] },
  '@fastify/swagger': { of: ['http'] },
  'fastify-type-provider-zod': { of: ['http'] },
  'smtp-server': { of: ['sandbox'] },
  'postal-mime': { of: ['sandbox'] },
  pino: { of: ['runtime'] },
  'pino-pretty': { of: ['runtime'] },
  'prom-client': { of: ['runtime'] },
  commander: { of: ['cli'] },
  'csv-parse': { of: ['accounts'] },
  // Beside what comes in, the shapes of what programs are given, and of what an earlier process left.
  zod: { of: ['config', 'delivery', 'http', 'operations', 'views', 'tokens', 'limits', 'sandbox'] },
  yaml: { of: ['config'] },
}

const CLOCK_OR_CHANCE = /\bDate\.now\s*\(|\bnew Date\s*(?:\(\s*\)|(?![\w\s(.]))|\bMath\.random\b|\bDate\s*\(\s*\)/
/** Reports themselves, the sandbox, and the defaults of the config. */
const MAY_NAME_REPORTS = /^(src\/limits\/reports|src\/sandbox)\/|^config\/schema\/(limits|schema|advice)\.ts$/
const MAY_ASK = ['src/runtime/clock.ts', 'src/main.ts']
const ENVIRONMENT = /\bprocess\.env\b/
const MAY_READ_ENVIRONMENT = ['src/main.ts', 'src/redis/server-program.ts']
const EXIT = /\bprocess\.(?:exit|abort|reallyExit)\b/
const ENTRIES = ['src/main.ts']
const MAY_START_PROCESSES = ['src/main.ts', 'src/redis/server-program.ts', 'src/runtime/service-manager.ts']

export function importFaults(sources: readonly Source[]): string[] {
  const code = sources.filter(({ path }) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
  const imports = code.flatMap(importsOf)
  return [
    ...missingFiles(imports, sources),
    ...brokenRooms(imports),
    ...brokenLibraries(imports),
    ...dependencyFaults(),
    ...importCycles(imports),
    ...namesTwice(code),
    ...reportNames(code).map((line) => `${line}: only src/limits/reports names a report or a metric`),
    ...linesWith(code, CLOCK_OR_CHANCE, MAY_ASK).map((line) => `${line}: take time and chance as arguments`),
    ...linesWith(code, ENVIRONMENT, MAY_READ_ENVIRONMENT).map(
      (line) => `${line}: only the entry reads the environment`,
    ),
    ...linesWith(code, EXIT, ENTRIES).map((line) => `${line}: only the entry ends its process`),
    ...startersOfProcesses(imports),
  ]
}

function missingFiles(imports: readonly Import[], sources: readonly Source[]): string[] {
  const paths = new Set([...sources.map(({ path }) => path), 'package.json'])
  return imports
    .filter(({ isOurs, to }) => isOurs && !paths.has(to))
    .map(({ from, to }) => `${from} -> ${to} is missing`)
}

function brokenRooms(imports: readonly Import[]): string[] {
  return imports
    .filter(({ isOurs, to }) => isOurs && to !== 'package.json')
    .filter(({ from, to, typesOnly }) => {
      const room = ROOMS[roomOf(from)]
      if (room === undefined) return true
      const target = roomOf(to)
      if (target === roomOf(from) || room.of.includes(target) || room.files?.includes(to)) return false
      return !(typesOnly && room.types?.includes(target))
    })
    .map(({ from, to, typesOnly }) => `${from} -> ${to}${typesOnly ? ' (types)' : ''}: not in the table of rooms`)
}

function brokenLibraries(imports: readonly Import[]): string[] {
  return imports
    .filter(({ isOurs, to }) => !isOurs && !to.startsWith('node:'))
    .filter(({ from, to, typesOnly }) => {
      const library = LIBRARIES[to]
      const room = roomOf(from)
      return !(library?.of.includes(room) || (typesOnly && library?.types?.includes(room)))
    })
    .map(({ from, to }) => `${from} -> ${to}: not a library of this room`)
}

/** Packages that are loaded at run time: `npm audit --omit=dev` and scanners of dependencies see these alone. */
function dependencyFaults(): string[] {
  const { dependencies } = packageJson
  const unused = Object.keys(dependencies).filter((name) => LIBRARIES[name] === undefined)
  const missing = Object.keys(LIBRARIES).filter((name) => !Object.hasOwn(dependencies, name))
  const inexact = Object.entries(dependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  return [
    ...unused.map((name) => `package.json: no room uses the dependency ${name}`),
    ...missing.map((name) => `package.json: ${name} is missing in dependencies`),
    ...inexact.map(([name, version]) => `package.json: ${name} needs an exact version, not ${version}`),
  ]
}

/** Each way round in which files import each other, from its first file back to it. */
function importCycles(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to, isOurs } of imports) if (isOurs) next.set(from, [...(next.get(from) ?? []), to])
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]) => {
    const start = path.indexOf(file)
    if (start !== -1) cycles.push(`imported in a circle: ${[...path.slice(start), file].join(' -> ')}`)
    if (start !== -1 || done.has(file)) return
    for (const other of next.get(file) ?? []) visit(other, [...path, file])
    done.add(file)
  }
  for (const file of [...next.keys()].sort()) visit(file, [])
  return cycles
}

const EXPORTED =
  /^export (?:default )?(?:async )?(?:function\*?|const|let|class|abstract class|interface|type|enum) ([\w$]+)/gm

/** Names that more than one file exports: two things of one name, or one thing made twice. */
function namesTwice(sources: readonly Source[]): string[] {
  const names = sources.flatMap(({ path, code }) => {
    const exported = new Set([...code.matchAll(EXPORTED)].map(([, name = '']) => name))
    return [...exported].map((name) => ({ name, path }))
  })
  return [...Map.groupBy(names, ({ name }) => name)]
    .filter(([, homes]) => homes.length > 1)
    .map(([name, homes]) => `${name} is exported by ${homes.map(({ path }) => path).join(' and ')}`)
}

function reportNames(sources: readonly Source[]): string[] {
  const names = REPORTS.filter(({ name }) => name !== 'records').map(({ name }) => name)
  const quoted = `['"\`](${names.join('|')}|(${names.join('|')}|records)\\.(\\w+|\\*))['"\`]`
  const pattern = new RegExp(
    `\\bapi\\.bucket\\b|\\b(customProperties|associationLabels|calculatedProperties|customObjectTypes)\\b|${quoted}`,
  )
  return linesWith(
    sources.filter(({ path }) => !MAY_NAME_REPORTS.test(path)),
    pattern,
    [],
  )
}

function startersOfProcesses(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => to === 'node:child_process' && !MAY_START_PROCESSES.includes(from))
    .map(({ from }) => `${from} starts processes`)
}
