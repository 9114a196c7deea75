import { type FleetGaugeDeps, registerFleetGauges } from './fleet-gauges.ts'
import { type HealthGaugeDeps, registerHealthGauges } from './health-gauges.ts'
import { type OutboxGaugeDeps, registerOutboxGauges } from './outbox-gauges.ts'
import { type ProviderGaugeDeps, registerProviderGauges } from './provider-gauges.ts'
import { type QueueGaugeDeps, registerQueueGauges } from './queue-gauges.ts'
import { type RedisGaugeDeps, registerRedisGauges } from './redis-gauges.ts'

export type GaugeDeps = FleetGaugeDeps &
  OutboxGaugeDeps &
  ProviderGaugeDeps &
  QueueGaugeDeps &
  RedisGaugeDeps &
  HealthGaugeDeps

/** How the fleet stands, read from Redis whenever somebody asks. No label names an account. */
export function registerGauges(deps: GaugeDeps): void {
  registerFleetGauges(deps)
  registerOutboxGauges(deps)
  registerProviderGauges(deps)
  registerQueueGauges(deps)
  registerRedisGauges(deps)
  registerHealthGauges(deps)
}
