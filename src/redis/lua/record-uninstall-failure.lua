--!include account-step
-- Notes an attempt to delete the refresh token that failed, and when to try again, unless the account was connected
-- again or another worker noted one meanwhile.
-- ARGV: hubId, attempts as read, now, reason, next attempt, alert writes (JSON).
-- Returns 'recorded' | 'lost'.
local hubId, attempts, now, reason, nextAt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local writes = cjson.decode(ARGV[6])

local a = redis.call('HMGET', ACCOUNT, 'state', 'uninstallAttempts')
if a[1] ~= 'uninstalling' or (a[2] or '0') ~= attempts or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HDEL', ACCOUNT, 'refreshing')
redis.call('HINCRBY', ACCOUNT, 'uninstallAttempts', 1)
redis.call('HSET', ACCOUNT, 'uninstallFailureReason', reason, 'uninstallFailureAt', now)
redis.call('ZADD', dueKey('uninstall'), nextAt, hubId)
writeAlerts(hubId, writes)
return 'recorded'
