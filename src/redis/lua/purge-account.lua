--!include account-step
-- The end of an uninstalled account's time: everything of it is forgotten, unless it was connected again.
-- KEYS: highest generation that was forgotten with its account, then every key of the account, to be deleted.
-- ARGV: hubId, now, how many keys these are.
-- Returns 'purged' | 'kept' | 'unknown'.
local hubId, now, own = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

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
local forgotten = KEYS[#KEYS - own]
redis.call('SET', forgotten, math.max(a[3] or 0, redis.call('GET', forgotten) or 0))
for n = #KEYS - own + 1, #KEYS do redis.call('DEL', KEYS[n]) end
redis.call('ZREM', inState('uninstalled'), hubId)
redis.call('INCR', domainsVersionKey())
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
redis.call('ZREM', dueKey('uninstall'), hubId)
redis.call('SREM', alertingKey(), hubId)
return 'purged'
