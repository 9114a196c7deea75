import { CallError } from './call-error.ts'

/** The endpoints of tokens; those of limits have the names of their reports. */
export const TOKEN_ENDPOINTS = ['token', 'metadata', 'delete'] as const

/** How a call ended: the class of the answer's status, or why there was none. `other`: an unexpected status or answer. */
export const CALL_CLASSES = ['2xx', '4xx', '429', '5xx', 'other', 'timeout', 'network'] as const
export type CallClass = (typeof CALL_CLASSES)[number]

/** One call for metrics: neither its account nor its content. Plain data. */
export interface ObservedCall {
  endpoint: string
  class: CallClass
  /** Status of the answer; absent where none came. */
  status?: number
  ms: number
}

export function classOfStatus(status: number): CallClass {
  if (status === 429) return '429'
  if (status >= 200 && status < 300) return '2xx'
  if (status >= 400 && status < 500) return '4xx'
  return status >= 500 && status < 600 ? '5xx' : 'other'
}

export function classOfError(error: unknown): CallClass {
  const code = error instanceof CallError ? error.code : ''
  return code === 'timeout' || code === 'network' ? code : 'other'
}
