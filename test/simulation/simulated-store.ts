import type { Store } from '../../src/redis/connect.ts'
import type { Process, World } from './world.ts'

/** A step for one account, that was done for the first time. */
export interface DoneStep {
  process: Process
  step: string
  hubId: number
  args: readonly unknown[]
  answer: unknown
}

/** Hears of each step of a process, for each of its accounts, when it was done for the first time. */
export type StepWatcher = (done: DoneStep) => void

type Command = (...args: unknown[]) => Promise<unknown>

/** A process' connection: each command waits for its turn, then the real Redis does it. */
export function simulatedStore(world: World, process: Process, real: Store, watch: StepWatcher): Store {
  const store: Store = new Proxy(real, {
    get(target, name) {
      const own = Reflect.get(target, name, target)
      if (typeof own !== 'function' || typeof name !== 'string') return own
      if (name === 'on') {
        return (event: string, hear: () => void) => {
          if (event === 'ready') process.onReady.push(hear)
          return store
        }
      }
      if (name === 'multi' || name === 'pipeline') return () => chain(world, process, target, name)
      if (name === 'time') return () => world.ask(process, 'store', name, async () => timeOf(world))
      return (...args: unknown[]) => {
        const hubId = hubIdOf(args)
        // One that was refused is done for the first time when it is sent again.
        let isDone = false
        return world.ask(process, 'store', `${name}${hubId === 0 ? '' : ` ${hubId}`}`, async () => {
          const answer = await (own as Command).apply(target, args)
          if (name === 'hscan') return inOrder(answer as [string, string[]])
          // An intent is the last one that was taken for it, and so is a claim. What was kept may be strange by now.
          if (!isDone || /^(takeIntent|claim)/.test(name) || answer === 'strange')
            tellOf(watch, process, name, args, answer)
          isDone = true
          return answer
        })
      }
    },
  })
  return store
}

function timeOf({ now, redisAheadMs }: World): [seconds: string, microseconds: string] {
  const ms = now + redisAheadMs
  return [String(Math.floor(ms / 1_000)), String((ms % 1_000) * 1_000)]
}

/** A hash has its fields in an order that depends on their names, and some are random. */
function inOrder([cursor, elements]: [string, string[]]): [string, string[]] {
  const fields = Array.from({ length: elements.length / 2 }, (_, n) => elements.slice(2 * n, 2 * n + 2))
  return [cursor, fields.sort(([one = ''], [other = '']) => (one < other ? -1 : 1)).flat()]
}

/** Commands that travel together are done together. */
function chain(world: World, process: Process, real: Store, kind: 'multi' | 'pipeline'): unknown {
  const commands: [name: string, args: unknown[]][] = []
  const chained: unknown = new Proxy(
    {},
    {
      get(_, name) {
        if (typeof name !== 'string') return undefined
        if (name !== 'exec') {
          return (...args: unknown[]) => {
            commands.push([name, args])
            return chained
          }
        }
        const label = `${kind} ${commands.map(([command]) => command).join(' ')}`
        return () =>
          world.ask(process, 'store', label.slice(0, 40), () => {
            const sent = real[kind]() as unknown as Record<string, (...args: unknown[]) => unknown>
            for (const [command, args] of commands) sent[command]?.(...args)
            return (sent.exec as unknown as Command)()
          })
      },
    },
  )
  return chained
}

/** Steps for many accounts begin with how many, and have an answer for each. */
function tellOf(watch: StepWatcher, process: Process, step: string, args: readonly unknown[], answer: unknown): void {
  const [count] = args
  if (typeof count !== 'number' || !Array.isArray(answer)) {
    watch({ process, step, hubId: hubIdOf(args), args, answer })
    return
  }
  for (let n = 0; n < count; n++) {
    watch({ process, step, hubId: hubIdOf([args[n + 1]]), args, answer: answer[n] })
  }
}

function hubIdOf(args: readonly unknown[]): number {
  for (const arg of args.slice(0, 2)) {
    const [, hubId] = /:(\d+)$/.exec(String(arg)) ?? []
    if (hubId !== undefined) return Number(hubId)
  }
  return 0
}

/** What is stored under the names of a pattern, key by key. */
export interface Snapshot {
  of: string
  values: readonly { key: string; dump: Buffer; leftMs: number }[]
}

export async function takeSnapshot(store: Store, of: string): Promise<Snapshot> {
  const keys = await store.keys(of)
  const values = keys.map(async (key) => {
    const [dump, left] = await Promise.all([store.dumpBuffer(key), store.pttl(key)])
    return { key, dump: dump ?? Buffer.alloc(0), leftMs: Math.max(0, left) }
  })
  return { of, values: await Promise.all(values) }
}

export async function restore(store: Store, { of, values }: Snapshot): Promise<void> {
  const now = await store.keys(of)
  if (now.length > 0) await store.del(...now)
  await Promise.all(values.map(({ key, dump, leftMs }) => store.restore(key, leftMs, dump)))
}
