/** One class of undici, without the rest: the package has types for the whole only. */
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici'
}
