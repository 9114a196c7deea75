import type { Parts } from './parts.ts'
import { createReceivers, mailLinks } from './receivers.ts'
import { type Services, workerDeps } from './worker-deps.ts'

/** What jobs work by under one config, and whom they reach: receivers, the service outside that hears the heartbeat. */
export interface Work extends ReturnType<typeof workerDeps> {
  close(): Promise<void>
}

/** Throws, with nothing begun, if a part of the config can't be used. */
export function openWork(parts: Parts, services: Services): Work {
  const { config, vault, clock } = parts
  const receivers = createReceivers(config, mailLinks(config, vault, clock))
  const deps = workerDeps(parts, services, receivers)
  return {
    ...deps,
    close: async () => {
      await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
      await deps.heartbeat?.pinger.close()
    },
  }
}
