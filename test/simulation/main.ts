import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MIXES, type MixName } from './mixes.ts'
import { startOwnRedis } from './own-redis.ts'
import { simulate } from './simulate.ts'

/**
 * `npm run simulate -- [--minutes 30] [--seed N | random] [--mix NAME]... [--json]`: run after run, from that seed on; a seed without
 * minutes is run once, and shown. `--keep`: seeds that fail go to `corpus.json`. `--seeds 300 --until-found`: so many seeds, until one fails.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    seeds: { type: 'string' },
    mix: { type: 'string', multiple: true },
    keep: { type: 'boolean', default: false },
    'until-found': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const say = (line: string) => {
  if (!values.json) process.stdout.write(`${line}\n`)
}
const names = Object.keys(MIXES).filter((name) => values.mix?.includes(name) ?? true) as MixName[]
if (names.length === 0) throw new Error(`there is no mix ${values.mix}: ${Object.keys(MIXES).join(', ')}`)

const CORPUS = join(import.meta.dirname, 'corpus.json')
const redis = await startOwnRedis()
const runs: Record<string, number> = {}
const faults: Record<string, number> = {}
const violations: Record<string, number[]> = {}
const failed = new Map<MixName, Set<number>>()
let foundFirst: { mix: string; seed: number; what: string } | undefined
const begunAt = performance.now()

async function runOne(mix: MixName, seed: number, shows: boolean): Promise<void> {
  const run = await simulate(redis.store, MIXES[mix], seed)
  runs[mix] = (runs[mix] ?? 0) + 1
  for (const [kind, count] of Object.entries(run.faults)) faults[kind] = (faults[kind] ?? 0) + count
  let isNew = shows
  for (const { what } of run.violations) {
    const seeds = violations[`${mix}: ${what}`] ?? []
    if (seeds.length === 0) isNew = true
    foundFirst ??= { mix, seed, what }
    failed.set(mix, (failed.get(mix) ?? new Set()).add(seed))
    violations[`${mix}: ${what}`] = [...seeds, seed]
  }
  if (!isNew) return
  say(
    `\n--mix "${mix}" --seed ${seed}: ${run.violations.map(({ what, hubId }) => `${what} (${hubId})`).join(', ') || 'all holds'}`,
  )
  say(run.schedule.map((line) => `  ${line}`).join('\n'))
}

const isTimed = values.minutes !== undefined || values.seed === undefined
const until = begunAt + Number(values.minutes ?? 1) * 60_000
const first = values.seed === 'random' ? randomInt(1_000_000_000) : Number(values.seed ?? 1)
const last = first + Number(values.seeds ?? (isTimed ? Number.POSITIVE_INFINITY : 1)) - 1
if (values.seed === 'random') say(`the first seed is ${first}`)
const isOver = () => isTimed && values.seeds === undefined && performance.now() > until
const isFound = () => values['until-found'] && Object.keys(violations).length > 0
for (let seed = first; seed <= last && !isOver() && !isFound(); seed++) {
  for (const mix of names) if (!isFound()) await runOne(mix, seed, !isTimed && first === last)
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, count) => all + count, 0)
const found = Object.values(violations).reduce((all, seeds) => all + seeds.length, 0)
say(`\n${((performance.now() - begunAt) / sum(runs)).toFixed(1)} ms a run: ${JSON.stringify(runs)}`)
say(`faults: ${JSON.stringify(faults)}`)
for (const [what, seeds] of Object.entries(violations)) {
  say(`${what}: ${seeds.length}, seeds ${seeds.slice(0, 8).join(' ')}`)
}
say(`runs ${sum(runs)}, faults ${sum(faults)}, violations ${found}`)
if (values.json) process.stdout.write(`${JSON.stringify({ runs: sum(runs), faults, violations, found: foundFirst })}\n`)
if (values.keep) {
  const corpus: Record<string, number[]> = JSON.parse(readFileSync(CORPUS, 'utf8'))
  for (const [mix, seeds] of failed) corpus[mix] = [...new Set([...(corpus[mix] ?? []), ...seeds])]
  const lines = Object.entries(corpus).map(([mix, seeds]) => `  "${mix}": [${seeds.join(', ')}]`)
  writeFileSync(CORPUS, `{\n${lines.sort().join(',\n')}\n}\n`)
}
await redis.stop()
process.exitCode = Object.keys(violations).length === 0 ? 0 : 1
