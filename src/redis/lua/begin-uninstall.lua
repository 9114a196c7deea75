--!include account-step
-- The tombstone: from here on nothing refreshes, polls or alerts for this account, and a refresh under way can't bring
-- it back (the generation moves on). Its open alerts are closed in the same step.
-- ARGV: hubId, now, reason, number of alert states as read, alert writes (JSON).
-- Returns 'begun' | 'already' | 'unknown' | 'stale' (an alert changed since it was read: read again).
local hubId, now, reason, alertsRead, writes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), cjson.decode(ARGV[5])

local state = redis.call('HGET', ACCOUNT, 'state')
if not state then return 'unknown' end
if not isLive(state) then return 'already' end
if redis.call('HLEN', ALERTS) ~= alertsRead or not alertsAreAsRead(writes.changes) then return 'stale' end
setState(hubId, 'uninstalling')
redis.call('HINCRBY', ACCOUNT, 'generation', 1)
redis.call('HSET', ACCOUNT, 'uninstallReason', reason)
redis.call('HDEL', TOKENS, 'access')
redis.call('ZREM', DUE_REFRESH, hubId)
redis.call('ZREM', DUE_POLL, hubId)
redis.call('ZADD', DUE_UNINSTALL, now, hubId)
writeAlerts(hubId, writes)
return 'begun'
