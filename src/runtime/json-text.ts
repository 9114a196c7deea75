/** C1 moves cursors as C0 does; the others change the order of the text around them. JSON leaves them as they are. */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** JSON that is safe on a terminal, whatever is in its strings. */
export function jsonText(value: unknown): string {
  return escapeInvisible(JSON.stringify(value))
}

/** The same value as the JSON that is given. */
export function escapeInvisible(json: string): string {
  return json.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JSON whose strings still show their escapes once it is read: all but those of line ends, tabs and what JSON itself needs. */
export function keepEscapes(json: string): string {
  return json.replace(/\\(.)/g, (whole, kind: string) => ('"\\/nt'.includes(kind) ? whole : `\\${whole}`))
}
