import type { Secret } from './secret.ts'

/** Settings as everything but their parser has them. */
export type DeepReadonly<T> = T extends Secret | string | number | boolean | undefined
  ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> }
