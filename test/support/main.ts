/** What users run: made by `npm run build`, which the set-up of the tests does first. */
export const MAIN = new URL('../../dist/src/main.js', import.meta.url).pathname
