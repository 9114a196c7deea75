/** One class of undici, without the rest: the package has types for the whole only. */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici'
}
