--!include account-step
-- Stores what a refresh brought, unless somebody else wrote tokens since (the generation has moved on) or the account
-- was uninstalled meanwhile. An account that is being uninstalled takes a new refresh token only to have it deleted too.
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
  if a[1] and refresh ~= '' then
    redis.call('HSET', TOKENS, 'refresh', refresh)
    setState(hubId, 'uninstalling')
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
  'parkedUntil', 'refreshing', 'interruptedAt')
setState(hubId, 'active')
redis.call('ZADD', DUE_REFRESH, refreshAt, hubId)
if pollAt ~= '' then redis.call('ZADD', DUE_POLL, pollAt, hubId) end
-- An alert that changed since it was read is left for the next refresh to close; the tokens must not wait for it.
if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
return 'stored'
