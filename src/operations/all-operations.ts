import { connectAccount, exportAccounts, importAccounts } from './account-files.ts'
import {
  createReconnectLink,
  deleteAccount,
  listAccounts,
  mailReconnectLink,
  pollAccount,
  pollAccounts,
  refreshAccount,
  removeContact,
  setContact,
  showAccount,
  showContact,
  uninstallAccount,
} from './accounts.ts'
import { acknowledgeAlert, listAlerts, listTransitions, showAlert, unacknowledgeAlert } from './alerts.ts'
import { listAudit } from './audit.ts'
import { checkAccounts, checkAccountsNow } from './check.ts'
import { listDeliveries, replayDeliveries, showOutbox, verifyOutbox } from './deliveries.ts'
import { explainAccount } from './explain.ts'
import { listHistory, listSnapshots } from './history.ts'
import { listChanges, listUpcoming, showCoverage, showStatus } from './installation.ts'
import type { Operation } from './operation.ts'
import { planThresholds } from './plan.ts'
import { listReceivers, showTestMessage, testReceiver } from './receivers.ts'
import { listRules } from './rules.ts'
import { endSilence, listSilences, makeSilence, showSilence } from './silences.ts'
import { addAdminToken, listAdminTokens, rekey, removeAdminToken, showToken } from './tokens.ts'

/** Everything that Plimsoll is asked for, in the order of help and document. */
const ALL = [
  showStatus,
  showCoverage,
  listChanges,
  listUpcoming,
  checkAccounts,
  checkAccountsNow,
  listAccounts,
  showAccount,
  connectAccount,
  importAccounts,
  exportAccounts,
  listHistory,
  listSnapshots,
  pollAccount,
  pollAccounts,
  refreshAccount,
  showContact,
  setContact,
  removeContact,
  createReconnectLink,
  mailReconnectLink,
  uninstallAccount,
  deleteAccount,
  showToken,
  explainAccount,
  listRules,
  listAlerts,
  showAlert,
  listTransitions,
  acknowledgeAlert,
  unacknowledgeAlert,
  makeSilence,
  listSilences,
  showSilence,
  endSilence,
  listReceivers,
  testReceiver,
  showTestMessage,
  planThresholds,
  listDeliveries,
  replayDeliveries,
  showOutbox,
  verifyOutbox,
  listAdminTokens,
  addAdminToken,
  removeAdminToken,
  rekey,
  listAudit,
]

/** Without their types: who goes through all of them knows none by its input. */
export const OPERATIONS = ALL as unknown as readonly Operation[]
