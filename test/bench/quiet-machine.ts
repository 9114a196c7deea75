/** Above this load, others' work would be measured too. */
export const QUIET_LOAD = 1

/** Why nothing is measured now. `load`: how many processes wanted to run in the last minute, on average. */
export function refusal(load: number, allowed: number): string | undefined {
  if (load <= allowed) return undefined
  const more = Math.ceil(load) + 1
  return `the load average of the last minute is ${load}, and figures of a machine with a load above ${allowed} are no figures: wait, or allow more with --load ${more}, which the result will say`
}
