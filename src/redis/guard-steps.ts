import type { Cluster } from 'ioredis'
import { type Argument, GUARDED } from './scripts.ts'

/**
 * A step declares one key and touches others of its slot. While a Cluster moves that slot, some of them are on the one node
 * and some on the other, and a step whose declared key is there would run on half of an account. So each declares one more
 * key, which never exists: of several keys of which one is missing Redis says TRYAGAIN until the slot has moved as a whole
 * (Redis Cluster specification, "Multi-key operations"), and ioredis asks again.
 *
 * The scripts are those of `loadScripts(1)`.
 */
export function guardSteps(store: Cluster): Cluster {
  for (const { name, keys } of GUARDED) {
    for (const method of [name, `${name}Buffer`]) {
      const send = Reflect.get(store, method) as (...args: Argument[]) => unknown
      const guarded = (...args: Argument[]) => {
        if (keys !== 'first argument') return send.call(store, ...withGuard(args, keys))
        const [count, ...others] = args
        return send.call(store, Number(count) + 1, ...withGuard(others, Number(count)))
      }
      Reflect.set(store, method, guarded)
    }
  }
  return store
}

function withGuard(args: readonly Argument[], keys: number): Argument[] {
  return [...args.slice(0, keys), guardBeside(String(args[0])), ...args.slice(keys)]
}

/** A key of the same slot: that of the hash tag, or of a key that has none. */
function guardBeside(key: string): string {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key
  return `{${tag}}:guard`
}
