--!include account-step
-- Stores what a refresh brought, unless somebody else wrote tokens since (the generation has moved on) or the account
-- was uninstalled meanwhile. An account that is being uninstalled takes a new refresh token only to have it deleted too,
-- beside the one that it may still have; so does one that is forgotten already.
-- ARGV: with spaces between: hubId, owner of the lease, generation as read, obtainedAt, expiresAt, next refresh, next
--   poll ('-' = as it is); access token; refresh token ('' = keep the one there is); alert writes (JSON, '' = none).
-- Returns 'stored' | 'lost' | 'uninstalled'.
local hubId, owner, generation, obtainedAt, expiresAt, refreshAt, pollAt =
  string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
local access, refresh, writes = ARGV[2], ARGV[3], ARGV[4]

releaseLease(owner)
local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) then
  endRefreshing(owner)
  if refresh ~= '' then
    local before = redis.call('HGET', tokensKey(), 'refresh')
    if before then redis.call('HSET', tokensKey(), 'previous', before) end
    redis.call('HSET', tokensKey(), 'refresh', refresh)
    setState(hubId, 'uninstalling')
    -- One that was uninstalled already begins again.
    redis.call('HDEL', ACCOUNT, 'uninstalledAt', 'uninstallEnding', 'purgeAt')
    if a[1] == 'uninstalled' then
      redis.call('HDEL', ACCOUNT, 'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt')
    end
    if redis.call('HSETNX', ACCOUNT, 'uninstallAskedAt', obtainedAt) == 1 then
      redis.call('HSET', ACCOUNT, 'uninstallReason', 'a refresh under way left a refresh token', 'uninstallBy', 'evidence')
    end
    redis.call('ZADD', dueKey('uninstall'), obtainedAt, hubId)
  end
  return 'uninstalled'
end
if a[2] ~= generation then
  endRefreshing(owner)
  return 'lost'
end

if refresh ~= '' then
  -- The one before stays until the new one has worked once.
  local before = redis.call('HGET', tokensKey(), 'refresh')
  redis.call('HSET', tokensKey(), 'previous', before, 'refresh', refresh, 'access', access)
else
  redis.call('HDEL', tokensKey(), 'previous')
  redis.call('HSET', tokensKey(), 'access', access)
end
redis.call('HSET', ACCOUNT, 'generation', generation + 1, 'obtainedAt', obtainedAt, 'expiresAt', expiresAt,
  'refreshedAt', obtainedAt)
-- All that a refresh that worked puts an end to. To look which are there first took longer.
redis.call('HDEL', ACCOUNT, 'refreshing', 'failures', 'failureClass', 'failureReason', 'failureAt', 'rejectedAt',
  'retryAt', 'parkedUntil', 'failingSince', 'interruptedAt')
if a[1] ~= 'active' then setState(hubId, 'active') end
redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
if pollAt ~= '-' then startPolling(hubId, pollAt, obtainedAt) end
if writes ~= '' then
  writes = cjson.decode(writes)
  -- An alert that changed since it was read is left for the next refresh to close; the tokens must not wait for it.
  if alertsAreAsRead(writes.changes) then writeAlerts(hubId, writes) end
end
return 'stored'
