import { ConnectedShape, ExportedShape, ImportedShape, ReconnectLinkShape } from '../views/shapes/account.ts'
import { OutboxProofShape, ReceiverTestShape } from '../views/shapes/delivery.ts'
import { FleetStatusShape } from '../views/shapes/fleet-status.ts'
import {
  AdminTokenShape,
  AnyObjectShape,
  CheckedConfigShape,
  DemoFactsShape,
  FindingShape,
  NewAdminTokenShape,
  RekeyedShape,
  RemovedAdminTokenShape,
} from '../views/shapes/installation.ts'
import { AccountHistoryShape } from '../views/shapes/series.ts'
import { CheckShape, PlanOutcomeShape } from '../views/shapes/thresholds.ts'
import { type DescribedShape, listOf, type Shape } from '../views/shapes/words.ts'

/** Shapes of `--json`, by command, for those that are no operations. */
export const JSON_SHAPES = {
  demo: DemoFactsShape,
  status: FleetStatusShape,
  check: CheckShape,
  doctor: listOf(FindingShape),
  'config check': CheckedConfigShape,
  'config schema': AnyObjectShape,
  'config print': AnyObjectShape,
  'accounts connect': ConnectedShape,
  'accounts import': ImportedShape,
  'accounts export': ExportedShape,
  'accounts reconnect-link': ReconnectLinkShape,
  'accounts history': listOf(AccountHistoryShape),
  'alerts test': ReceiverTestShape,
  'thresholds plan': PlanOutcomeShape,
  'outbox verify': OutboxProofShape,
  'admin-tokens add': NewAdminTokenShape,
  'admin-tokens list': listOf(AdminTokenShape),
  'admin-tokens remove': RemovedAdminTokenShape,
  'keys rekey': RekeyedShape,
} satisfies Record<string, Shape>

export type JsonCommand = keyof typeof JSON_SHAPES
export type JsonOf<C extends JsonCommand> = DescribedShape<(typeof JSON_SHAPES)[C]>
