/** The cursor of the page that follows; nothing at the end. */
export function nextOf(next: number | string | undefined): { next?: string } {
  return next === undefined ? {} : { next: String(next) }
}
