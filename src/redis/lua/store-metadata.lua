--!include account-step
-- Stores what the provider says of an account's access token. The mark that it is to be read goes with it.
-- ARGV: hubId, generation as read, granted scopes, fields of the account (JSON; '' takes one away), expiresAt and next
--   refresh where the token lives shorter than we thought ('' = as they are), alert writes (JSON).
-- Returns 'stored' | 'lost' (other tokens since, or gone, or an alert changed: asked again with the next poll).
local hubId, generation, scopes, fields = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local expiresAt, refreshAt, writes = ARGV[5], ARGV[6], cjson.decode(ARGV[7])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) or a[2] ~= generation or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HSET', tokensKey(), 'scopes', scopes)
redis.call('HDEL', ACCOUNT, 'metadataDue')
setFields(fields)
if expiresAt ~= '' then
  redis.call('HSET', ACCOUNT, 'expiresAt', expiresAt)
  redis.call('ZADD', dueKey('refresh'), 'XX', 'LT', refreshAt, hubId)
end
writeAlerts(hubId, writes)
return 'stored'
