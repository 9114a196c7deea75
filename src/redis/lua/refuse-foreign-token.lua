--!include account-step
-- The account's refresh token belongs to another account: from here on nothing is read, refreshed or served under the
-- wrong name until it is connected, or imported with a token of its own. The refresh token itself stays: it is good, and
-- somebody else's. The generation moves on, so that whatever is under way with these tokens is refused.
-- ARGV: hubId, generation as read, hub id that the token belongs to, fields of the account (JSON), alert writes (JSON).
-- Returns 'refused' | 'lost'.
local hubId, generation, owner, fields = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local writes = cjson.decode(ARGV[5])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) or a[2] ~= generation or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HDEL', tokensKey(), 'access')
redis.call('HSET', ACCOUNT, 'tokenOf', owner)
redis.call('HINCRBY', ACCOUNT, 'generation', 1)
setFields(fields)
setState(hubId, 'reauthorize')
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
writeAlerts(hubId, writes)
return 'refused'
