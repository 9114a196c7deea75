--!include account-step
-- Stores what a refresh brought, unless somebody else wrote tokens since (the generation has moved on) or the account
-- was uninstalled meanwhile. An account that is being uninstalled takes a new refresh token only to have it deleted too,
-- beside the one that it may still have; so does one that is forgotten already.
-- ARGV: hubId, owner of the lease, generation as read, access token, refresh token ('' = keep the one there is),
--   obtainedAt, expiresAt, next refresh, next poll ('' = as it is), alert writes (JSON).
-- Returns 'stored' | 'lost' | 'uninstalled'.
local hubId, owner, generation = ARGV[1], ARGV[2], ARGV[3]
local access, refresh, obtainedAt, expiresAt = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local refreshAt, pollAt, writes = ARGV[8], ARGV[9], cjson.decode(ARGV[10])

releaseLease(owner)
endRefreshing(owner)
local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) then
  if refresh ~= '' then
    local before = redis.call('HGET', TOKENS, 'refresh')
    if before then redis.call('HSET', TOKENS, 'previous', before) end
    redis.call('HSET', TOKENS, 'refresh', refresh)
    setState(hubId, 'uninstalling')
    -- One that was uninstalled already begins again.
    redis.call('HDEL', ACCOUNT, 'uninstalledAt', 'uninstallEnding', 'purgeAt')
    if a[1] == 'uninstalled' then
      redis.call('HDEL', ACCOUNT, 'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt')
    end
    if redis.call('HSETNX', ACCOUNT, 'uninstallAskedAt', obtainedAt) == 1 then
      redis.call('HSET', ACCOUNT, 'uninstallReason', 'a refresh under way left a refresh token', 'uninstallBy', 'evidence')
    end
    redis.call('ZADD', DUE_UNINSTALL, obtainedAt, hubId)
  end
  return 'uninstalled'
end
if a[2] ~= generation then return 'lost' end

if refresh ~= '' then
  -- The one before stays until the new one has worked once.
  redis.call('HSET', TOKENS, 'previous', redis.call('HGET', TOKENS, 'refresh'), 'refresh', refresh)
else
  redis.call('HDEL', TOKENS, 'previous')
end
redis.call('HSET', TOKENS, 'access', access)
redis.call('HSET', ACCOUNT, 'generation', generation + 1, 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
  'refreshedAt', obtainedAt)
redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt', 'rejectedAt', 'retryAt',
  'parkedUntil', 'failingSince', 'refreshing', 'interruptedAt')
setState(hubId, 'active')
redis.call('ZADD', DUE_REFRESH, refreshAt, hubId)
if pollAt ~= '' then startPolling(hubId, pollAt, obtainedAt) end
-- An alert that changed since it was read is left for the next refresh to close; the tokens must not wait for it.
if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
return 'stored'
