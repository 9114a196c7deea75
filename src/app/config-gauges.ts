import type { Clock } from '../runtime/clock.ts'
import { gauge, type Metrics } from '../runtime/metrics.ts'

/** How the last reading of the config file went, for whoever is to be told that the file is not what is in force. */
export class ConfigGauges {
  readonly #clock: Clock
  #isTaken = true
  #takenAt: number

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    this.#takenAt = clock.now()
    gauge(
      metrics,
      'config_last_reload_successful',
      'Whether the config file could be taken over when it was read last: 1 or 0.',
      [],
      async (shown) => shown.set(this.#isTaken ? 1 : 0),
    )
    gauge(
      metrics,
      'config_last_reload_success_timestamp_seconds',
      'When the config file was last taken over.',
      [],
      async (shown) => shown.set(this.#takenAt / 1_000),
    )
  }

  taken(): void {
    this.#isTaken = true
    this.#takenAt = this.#clock.now()
  }

  refused(): void {
    this.#isTaken = false
  }
}
