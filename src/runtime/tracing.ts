export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** Spans of what is done, for whoever collects them. No fact of one names an account or has a token in it. */
export interface Tracing {
  /** Work in a span of its own, below the one that is under way. */
  span<T>(name: string, facts: SpanFacts, work: () => Promise<T>): Promise<T>
  /** Facts of the span that is under way. */
  note(facts: SpanFacts): void
}

/** Nobody collects them. */
export const NO_TRACING: Tracing = {
  span: (_name, _facts, work) => work(),
  note: () => {},
}
