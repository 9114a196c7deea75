--!include begin-grant
-- Stores an account that was just authorised, for the first time or again: new tokens, a clean record, history kept.
-- Of two grants whose calls crossed the older one may come last. No clock of ours tells which it is, the provider does: it
-- takes no more refresh tokens of a grant that another one took the place of.
-- ARGV: hubId, now, access token, refresh token, granted scopes, obtainedAt, expiresAt, next refresh,
--   fields of the account (JSON), alert writes (JSON), operation, by how much clocks may differ (ms), a generation
--   of the grant that was stored already when the provider took a token of this one ('' = none is known), the refresh token
--   that it took then, if it gave out another one for it ('' = not so).
-- Returns 'connected' | 'reconnected' | 'stale' (an alert changed since it was read: read again) | 'crossing' (another grant
-- was stored since: ask the provider whether this one is alive).
local hubId, now, access, refresh, scopes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local obtainedAt, expiresAt, refreshAt = ARGV[6], ARGV[7], ARGV[8]
local fields, writes, operation = cjson.decode(ARGV[9]), cjson.decode(ARGV[10]), ARGV[11]
local slack, provedAfter, previous = tonumber(ARGV[12]), ARGV[13], ARGV[14]

local before = answerBefore(operation)
if before then return before end
local stored = redis.call('HMGET', ACCOUNT, 'connectedAt', 'generation')
local isSince = stored[1] and tonumber(stored[1]) + slack >= tonumber(obtainedAt)
if isSince and (provedAfter == '' or grantOf(provedAfter) ~= grantOf(stored[2])) then return 'crossing' end
if not alertsAreAsRead(writes.changes) then return 'stale' end
local known = redis.call('EXISTS', ACCOUNT) == 1
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', now)
local tokens = { 'access', access, 'refresh', refresh, 'scopes', scopes }
if previous ~= '' then tokens[7], tokens[8] = 'previous', previous end
beginGrant(hubId, operation, tokens, fields, refreshAt)
redis.call('HSET', ACCOUNT, 'connectedAt', now, 'grantedAt', obtainedAt .. ' ' .. now, 'obtainedAt', obtainedAt,
  'expiresAt', expiresAt, 'refreshedAt', obtainedAt)
startPolling(hubId, now, now)
writeAlerts(hubId, writes)
return answerWith(operation, known and 'reconnected' or 'connected')
