/** Most arguments that are safely handed to one command. */
const CHUNK = 500

export function chunksOf<T>(all: readonly T[], size = CHUNK): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size))
}
