--!include account-step
-- Stores an account that was just authorised, for the first time or again: new tokens, a clean record, history kept.
-- The generation moves on, so that a refresh under way with the tokens from before can't write over these.
-- KEYS: one more at the end, highest generation that was forgotten with its account.
-- ARGV: hubId, now, access token, refresh token, granted scopes, obtainedAt, expiresAt, next refresh,
--   fields of the account (JSON), alert writes (JSON), operation.
-- Returns 'connected' | 'reconnected' | 'stale' (an alert changed since it was read: read again).
local hubId, now, access, refresh, scopes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local obtainedAt, expiresAt, refreshAt = ARGV[6], ARGV[7], ARGV[8]
local fields, writes, operation = cjson.decode(ARGV[9]), cjson.decode(ARGV[10]), ARGV[11]

local before = answerBefore(operation)
if before then return before end
if not alertsAreAsRead(writes.changes) then return 'stale' end
local known = redis.call('EXISTS', ACCOUNT) == 1
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', now)
redis.call('DEL', tokensKey())
redis.call('HSET', tokensKey(), 'access', access, 'refresh', refresh, 'scopes', scopes)
forgetTroubles()
redis.call('HSET', ACCOUNT, 'connectedAt', now, 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
  'refreshedAt', obtainedAt)
beginGrant(KEYS[2])
setFields(fields)
setState(hubId, 'active')
redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
startPolling(hubId, now, now)
redis.call('ZREM', dueKey('uninstall'), hubId)
writeAlerts(hubId, writes)
return answerWith(operation, known and 'reconnected' or 'connected')
