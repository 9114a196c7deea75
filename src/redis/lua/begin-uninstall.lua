--!include account-step
-- The tombstone: from here on nothing refreshes, polls or alerts for this account, and a refresh under way can't bring
-- it back (the generation moves on). Its open alerts are closed in the same step.
-- ARGV: hubId, now, reason, number of alert states as read, alert writes (JSON), who asked, since when the refresh token
--   has been refused as read ('' = whoever asked has other grounds), operation.
-- Returns 'begun' | 'already' | 'unknown' | 'refuted' (the refusal is over) | 'stale' (an alert changed since it was read:
-- read again).
local hubId, now, reason, alertsRead, writes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), cjson.decode(ARGV[5])
local by, refusedSince, operation = ARGV[6], ARGV[7], ARGV[8]

local state = redis.call('HGET', ACCOUNT, 'state')
if not state then return 'unknown' end
local before = answerBefore(operation)
if before then return before end
if not isLive(state) then return answerWith(operation, 'already') end
-- Connected again since the refresh token was refused: that evidence is about another token.
if refusedSince ~= '' and (state ~= 'reauthorize' or redis.call('HGET', ACCOUNT, 'rejectedAt') ~= refusedSince) then
  return 'refuted'
end
if redis.call('HLEN', alertsKey()) ~= alertsRead or not alertsAreAsRead(writes.changes) then return 'stale' end
setState(hubId, 'uninstalling')
redis.call('HINCRBY', ACCOUNT, 'generation', 1)
redis.call('HSET', ACCOUNT, 'uninstallAskedAt', now, 'uninstallReason', reason, 'uninstallBy', by)
redis.call('HDEL', tokensKey(), 'access')
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
redis.call('ZADD', dueKey('uninstall'), now, hubId)
writeAlerts(hubId, writes)
return answerWith(operation, 'begun')
