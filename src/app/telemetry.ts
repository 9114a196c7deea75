import type { Config } from '../../config/schema.ts'
import { type JobTelemetry, openJobTelemetry } from '../../jobs/job-telemetry.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../runtime/clock.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { NO_TRACING, type Tracing } from '../runtime/tracing.ts'

export interface Telemetry {
  tracing: Tracing
  jobTelemetry: JobTelemetry | undefined
}

interface Opening {
  config: Config
  clock: Clock
  log: Logger
}

/** Of commands: they are over soon. */
export const NO_TELEMETRY: Telemetry = { tracing: NO_TRACING, jobTelemetry: undefined }

/** What is left is sent before the process ends, or lost: a collector that hangs must not hold up a stop. */
const STOP_WITHIN_MS = 1_000

/** Nothing of it is loaded where the config names no collector. */
export async function openTelemetry({ config, clock, log }: Opening, lifecycle: Lifecycle): Promise<Telemetry> {
  if (config.telemetry === undefined) return NO_TELEMETRY
  const { openTracing } = await import('../runtime/open-tracing.ts')
  const { url, service, authorization } = config.telemetry
  const settings = {
    url,
    service,
    version: packageJson.version,
    ...(authorization === undefined ? {} : { authorization }),
  }
  const tracing = openTracing(settings, log)
  lifecycle.onClose('the traces', async () => {
    const stopped = new AbortController()
    const flushed = tracing.stop().catch(() => undefined)
    await Promise.race([flushed, clock.wait(STOP_WITHIN_MS, stopped.signal)])
    stopped.abort()
  })
  return { tracing, jobTelemetry: await openJobTelemetry() }
}
