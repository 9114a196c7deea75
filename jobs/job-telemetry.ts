import type { Span, Telemetry } from 'bullmq'

/** BullMQ's spans of its jobs, and the trace that goes on from one to the next. */
export type JobTelemetry = Telemetry

/** The attributes of BullMQ that can't have a stranger's words in them. */
const TOLD = new Set(
  ['queue.name', 'queue.operation', 'job.id', 'job.name', 'job.attempts.made', 'job.bulk.count'].map(
    (name) => `bullmq.${name}`,
  ),
)

/** Needs what `openTracing` has set for the whole process. Loaded only where the config has a collector. */
export async function openJobTelemetry(): Promise<JobTelemetry> {
  const { BullMQOtel } = await import('bullmq-otel')
  const { tracer, contextManager } = new BullMQOtel({ tracerName: 'bullmq' })
  return {
    contextManager,
    tracer: { startSpan: (name, options, context) => sparing(tracer.startSpan(name, options, context)) },
  }
}

/** Of an error only that there was one: the log has it, without secrets. */
function sparing(span: Span): Span {
  return {
    setSpanOnContext: (context) => span.setSpanOnContext(context),
    setAttribute: (name, value) => {
      if (TOLD.has(name)) span.setAttribute(name, value)
    },
    setAttributes: (attributes) => {
      span.setAttributes(Object.fromEntries(Object.entries(attributes).filter(([name]) => TOLD.has(name))))
    },
    addEvent: (name) => span.addEvent(name),
    recordException: () => span.setAttribute('plimsoll.failed', true),
    end: () => span.end(),
  }
}
