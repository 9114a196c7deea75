import type { WholeDaemon } from './whole-daemon.ts'

/** CPU in us, traffic in bytes. */
export interface Spent {
  client: number
  redis: number
  traffic: number
}

/** What a daemon and its Redis spend meanwhile, as the system and Redis count it. */
export async function spentDuring(running: WholeDaemon, work: () => Promise<void>): Promise<Spent> {
  const before = await spentBy(running)
  await work()
  const after = await spentBy(running)
  return {
    client: after.client - before.client,
    redis: after.redis - before.redis,
    traffic: after.traffic - before.traffic,
  }
}

async function spentBy({ store, cpuSeconds }: WholeDaemon): Promise<Spent> {
  const [cpu, stats] = await Promise.all([store.info('cpu'), store.info('stats')])
  return {
    client: cpuSeconds() * 1e6,
    redis: (numberIn(cpu, 'used_cpu_user') + numberIn(cpu, 'used_cpu_sys')) * 1e6,
    traffic: numberIn(stats, 'total_net_input_bytes') + numberIn(stats, 'total_net_output_bytes'),
  }
}

export function numberIn(info: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? Number.NaN)
}
