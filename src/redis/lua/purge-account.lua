--!include account-step
-- The end of an uninstalled account's time: everything of it is forgotten, unless it was connected again.
-- ARGV: hubId, now, then every key of the account, to be deleted.
-- Returns 'purged' | 'kept' | 'unknown'.
local hubId, now = ARGV[1], tonumber(ARGV[2])

local a = redis.call('HMGET', ACCOUNT, 'state', 'purgeAt', 'generation')
if a[1] == 'uninstalling' then return 'kept' end
if a[1] ~= 'uninstalled' then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return a[1] and 'kept' or 'unknown'
end
if now < tonumber(a[2]) then
  redis.call('ZADD', dueKey('uninstall'), a[2], hubId)
  return 'kept'
end
-- Never lower, or an account that comes back could be given a generation that some slow worker holds still.
redis.call('SET', forgottenKey(), math.max(a[3] or 0, redis.call('GET', forgottenKey()) or 0))
for n = 3, #ARGV do redis.call('DEL', ARGV[n]) end
redis.call('ZREM', inState('uninstalled'), hubId)
redis.call('INCR', domainsVersionKey())
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
redis.call('SREM', alertingKey(), hubId)
return 'purged'
