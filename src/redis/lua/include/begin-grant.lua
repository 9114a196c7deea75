--!include account-step
-- Shared by the steps that give an account a new grant.

-- The refresh token there before is kept: of two installs that crossed, the provider may hold the other one to be the last. Unless it
-- may be of another account, which has no scopes here: to redeem it could end that one.
local function beginGrant(hubId, version, refresh, fields, refreshAt, obtainedAt)
  local before = redis.call('HMGET', tokensKey(), 'refresh', 'scopes')
  if not before[2] or redis.call('HEXISTS', ACCOUNT, 'tokenOf') == 1 then redis.call('DEL', tokensKey())
  elseif before[1] then keepPrevious(before[1]) end
  redis.call('HSET', tokensKey(), 'refresh', refresh)
  redis.call('HDEL', tokensKey(), 'scopes')
  redis.call('DEL', accessKey())
  -- A new start: whatever went wrong with the tokens and the installation from before says nothing about these.
  redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt', 'failingSince', 'rejectedAt',
    'retryAt', 'parkedUntil', 'interruptedAt', 'tokenOf', 'metadataDue', 'uninstallAskedAt', 'uninstallReason', 'uninstallBy',
    'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt', 'uninstalledAt', 'uninstallEnding', 'purgeAt')
  markPolls('2')
  redis.call('ZREM', pollFailingKey(), OF)
  redis.call('ZREM', firstReadingsKey(), OF)
  setVersion(version)
  setFields(fields)
  setState(hubId, 'active')
  planRefresh(hubId, refreshOf(refreshAt, obtainedAt))
  redis.call('ZREM', dueKey('uninstall'), hubId)
end
