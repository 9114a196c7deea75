/** A mail that arrived. */
export interface Mail {
  /** ISO 8601 with milliseconds: when it had arrived whole. */
  readonly time: string
  /** Addresses of the envelope. */
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The id in the header, with its angle brackets. */
  readonly messageId: string
  /** By lower-case name; the last of a kind. */
  readonly headers: Readonly<Record<string, string>>
  /** The whole message as it came. */
  readonly raw: string
}

/** A webhook that arrived. */
export interface Hook {
  /** ISO 8601 with milliseconds. */
  readonly time: string
  readonly path: string
  readonly method: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed where it is JSON. */
  readonly body: unknown
  /** Exactly as it came: signatures are made over it. */
  readonly rawBody: string
}
