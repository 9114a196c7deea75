--!include account-step
-- Stores what the provider says of an account's access token. The mark that it is to be read goes with it, and the account
-- is polled from now on.
-- ARGV: hubId, now, generation as read, granted scopes, fields of the account (JSON; '' takes one away), expiresAt, next
--   refresh, alert writes (JSON).
-- Returns 'stored' | 'lost' (other tokens since, or gone, or an alert changed: asked again before long).
local hubId, now, generation, scopes, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local expiresAt, refreshAt, writes = ARGV[6], ARGV[7], cjson.decode(ARGV[8])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) or a[2] ~= generation or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HSET', tokensKey(), 'scopes', scopes)
redis.call('HDEL', ACCOUNT, 'metadataDue')
setFields(fields)
redis.call('HSET', ACCOUNT, 'expiresAt', expiresAt)
redis.call('ZADD', dueKey('refresh'), 'XX', refreshAt, hubId)
-- One that waits for other tokens is polled when it has them.
if a[1] == 'active' or a[1] == 'failing' then startPolling(hubId, now, now) end
writeAlerts(hubId, writes)
return 'stored'
