import { parseArgs } from 'node:util'
import { MIXES, type MixName } from './mixes.ts'
import { startOwnRedis } from './own-redis.ts'
import { simulate } from './simulate.ts'

/** `npm run simulate -- --minutes 30 [--seed N] [--mix NAME]`: run after run; a seed alone is run once and shown. */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' }, mix: { type: 'string' } },
})
const say = (line: string) => process.stdout.write(`${line}\n`)
const names = Object.keys(MIXES).filter((name) => values.mix === undefined || name === values.mix) as MixName[]
if (names.length === 0) throw new Error(`there is no mix ${values.mix}: ${Object.keys(MIXES).join(', ')}`)

const redis = await startOwnRedis()
const runs: Record<string, number> = {}
const faults: Record<string, number> = {}
const violations: Record<string, number[]> = {}
const begunAt = performance.now()

async function runOne(mix: MixName, seed: number, shows: boolean): Promise<void> {
  const run = await simulate(redis.store, MIXES[mix], seed)
  runs[mix] = (runs[mix] ?? 0) + 1
  for (const [kind, count] of Object.entries(run.faults)) faults[kind] = (faults[kind] ?? 0) + count
  let isNew = shows
  for (const { what } of run.violations) {
    const seeds = violations[`${mix}: ${what}`] ?? []
    if (seeds.length === 0) isNew = true
    violations[`${mix}: ${what}`] = [...seeds, seed]
  }
  if (!isNew) return
  say(
    `\n--mix "${mix}" --seed ${seed}: ${run.violations.map(({ what, hubId }) => `${what} (${hubId})`).join(', ') || 'all holds'}`,
  )
  say(run.schedule.map((line) => `  ${line}`).join('\n'))
}

if (values.seed !== undefined) for (const mix of names) await runOne(mix, Number(values.seed), true)
else {
  const until = begunAt + Number(values.minutes) * 60_000
  for (let seed = 1; performance.now() < until; seed++) for (const mix of names) await runOne(mix, seed, false)
}

const total = Object.values(runs).reduce((sum, count) => sum + count, 0)
say(`\n${total} runs, ${((performance.now() - begunAt) / total).toFixed(1)} ms each: ${JSON.stringify(runs)}`)
say(`faults injected: ${JSON.stringify(faults)}`)
say(`violations: ${Object.values(violations).reduce((sum, seeds) => sum + seeds.length, 0)}`)
for (const [what, seeds] of Object.entries(violations))
  say(`  ${what}: ${seeds.length}, seeds ${seeds.slice(0, 8).join(' ')}`)
await redis.stop()
process.exitCode = Object.keys(violations).length === 0 ? 0 : 1
