/** What one check found. Every fail has the way out. */
export type Finding = { name: string; detail: string } & (
  | { level: 'ok' | 'warn'; fix?: string }
  | { level: 'fail'; fix: string }
)

/** One check; it may find several faults. */
export interface Check {
  name: string
  /** Changes nothing; ends when `signal` aborts, or is left behind. */
  run(signal: AbortSignal): Promise<Finding[]>
  /** The way out when it hangs or throws. */
  fix: string
}

export const ok = (name: string, detail: string): Finding => ({ name, level: 'ok', detail })

export const warn = (name: string, detail: string, fix?: string): Finding =>
  fix === undefined ? { name, level: 'warn', detail } : { name, level: 'warn', detail, fix }

export const fail = (name: string, detail: string, fix: string): Finding => ({ name, level: 'fail', detail, fix })
