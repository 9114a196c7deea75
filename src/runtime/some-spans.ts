import { type Attributes, type Context, type Link, SpanKind } from '@opentelemetry/api'
import { type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace'

/** What our own spans' facts begin with. */
const OURS = 'plimsoll.'

/**
 * Our own spans, and those of jobs that are added and worked on. Of BullMQ's others most show only that there was nothing to
 * do, some thousand times an hour.
 */
export class SomeSpans implements Sampler {
  shouldSample(
    _context: Context,
    _traceId: string,
    _name: string,
    kind: SpanKind,
    attributes: Attributes,
    _links: Link[],
  ): SamplingResult {
    const isJob = kind === SpanKind.PRODUCER || kind === SpanKind.CONSUMER
    const isOurs = Object.keys(attributes).some((name) => name.startsWith(OURS))
    return { decision: isJob || isOurs ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  }

  toString(): string {
    return 'SomeSpans'
  }
}
