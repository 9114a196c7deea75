import type { Config } from '../../config/schema/schema.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import type { ConfigPlace } from './plan-rules.ts'

/** Inputs from outside: everything that a test replaces. */
export interface AppInput {
  config: Config
  clock: Clock
  random: () => number
  log: Logger
  /** How long a command waits for Redis. Absent: a daemon, which waits. */
  waitMs?: number
  /** Absent: every address is reached directly. */
  proxyFor?: ProxyFor | undefined
  /** Place of the config's file; absent: it is from none. */
  place?: ConfigPlace | undefined
}
