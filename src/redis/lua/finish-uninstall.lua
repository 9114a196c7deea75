--!include account-step
-- The refresh token is deleted at the provider: forget the tokens and all that was read. The record itself stays as a
-- tombstone.
-- ARGV: hubId, now, refresh token that was deleted (as stored).
-- Returns 'finished' | 'again' (a refresh under way left a newer token: delete that one too) | 'reconnected'.
local hubId, now, deleted = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', ACCOUNT, 'state') ~= 'uninstalling' then
  redis.call('ZREM', DUE_UNINSTALL, hubId)
  return 'reconnected'
end
if (redis.call('HGET', TOKENS, 'refresh') or '') ~= deleted then
  redis.call('ZADD', DUE_UNINSTALL, now, hubId)
  return 'again'
end
setState(hubId, 'uninstalled')
redis.call('HSET', ACCOUNT, 'uninstalledAt', now)
redis.call('HDEL', ACCOUNT, 'uninstallFailures', 'uninstallFailureReason', 'user', 'polledAt', 'metadataDue', 'tokenDriftMs')
redis.call('DEL', TOKENS, READINGS, HISTORY)
redis.call('ZREM', DUE_UNINSTALL, hubId)
return 'finished'
