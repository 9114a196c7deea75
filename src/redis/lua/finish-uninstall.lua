--!include account-step
-- The refresh token is deleted at the provider: its copies and all that only served the connection go at once. Record and
-- readings stay as they are until `purgeAt`.
-- ARGV: hubId, now, refresh token that was deleted (as stored), 'deleted' | 'was-gone', purgeAt, alert writes (JSON).
-- Returns 'finished' | 'again' (a refresh under way left a newer token: delete that one too; or an alert changed since it
-- was read) | 'reconnected'.
local hubId, now, deleted, ending, purgeAt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local writes = cjson.decode(ARGV[6])

local state = redis.call('HGET', ACCOUNT, 'state')
if isLive(state) then
  redis.call('ZREM', dueKey('uninstall'), hubId)
  return 'reconnected'
end
-- By this very step, whose answer was lost, or by another worker. When it is forgotten is planned already.
if state ~= 'uninstalling' then return 'finished' end
redis.call('HDEL', ACCOUNT, 'refreshing')
if (redis.call('HGET', tokensKey(), 'refresh') or '') ~= deleted or not alertsAreAsRead(writes.changes) then
  redis.call('ZADD', dueKey('uninstall'), now, hubId)
  return 'again'
end
setState(hubId, 'uninstalled')
redis.call('HINCRBY', ACCOUNT, 'uninstallAttempts', 1)
redis.call('HSET', ACCOUNT, 'uninstalledAt', now, 'uninstallEnding', ending, 'purgeAt', purgeAt)
redis.call('HDEL', ACCOUNT, 'user', 'metadataDue', 'tokenDriftMs')
redis.call('DEL', tokensKey(), callsKey())
redis.call('ZADD', dueKey('uninstall'), purgeAt, hubId)
writeAlerts(hubId, writes)
return 'finished'
