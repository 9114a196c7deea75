--!include account-step
-- Shared by the steps that give an account a new grant.

-- The account keeps the operations of its last grants, the newest first: the one that was read with a token goes along
-- with each refresh, and shows whether another grant was stored since.
local MOST_GRANTS = 4

local function grantOf(generation) return math.floor(generation / GENERATIONS_OF_A_GRANT) end

-- A new start: whatever went wrong with the tokens and the installation from before says nothing about these.
local function forgetTroubles()
  redis.call('HDEL', ACCOUNT, 'failures', 'failureClass', 'failureReason', 'failureAt', 'failingSince', 'rejectedAt',
    'retryAt', 'parkedUntil', 'refreshing', 'interruptedAt', 'tokenOf', 'metadataDue', 'uninstallAskedAt', 'uninstallReason', 'uninstallBy', 'uninstallOrder',
    'uninstallAttempts', 'uninstallFailureReason', 'uninstallFailureAt', 'uninstalledAt', 'uninstallEnding', 'purgeAt')
  markWatch('g')
  redis.call('ZREM', pollFailingKey(), OF)
  redis.call('ZREM', firstReadingsKey(), OF)
end

-- Tokens: { field, value, ... }; order: the grant's place among grants and uninstalls ('' = it has none). The generation moves on,
-- so that a refresh under way with the tokens from before can't write over these. An account that was forgotten goes on after
-- that: a refresh that has been under way since then is refused too.
local function beginGrant(hubId, operation, tokens, fields, refreshAt, order)
  redis.call('DEL', tokensKey(), accessKey())
  redis.call('HSET', tokensKey(), unpack(tokens))
  forgetTroubles()
  local a = redis.call('HMGET', ACCOUNT, 'generation', 'grants')
  local before = a[1] or redis.call('GET', forgottenKey())
  before = before and (generationIn(before) or newGeneration())
  local first = before and (grantOf(before) + 1) * GENERATIONS_OF_A_GRANT or 1
  local grants = { operation }
  for grant in string.gmatch(a[2] or '', '[^,]+') do
    if #grants < MOST_GRANTS then grants[#grants + 1] = grant end
  end
  redis.call('HSET', ACCOUNT, 'generation', first, 'grants', table.concat(grants, ','), 'order', order)
  if order == '' then redis.call('HDEL', ACCOUNT, 'order') end
  setFields(fields)
  setState(hubId, 'active')
  redis.call('ZADD', dueKey('refresh'), refreshAt, hubId)
  redis.call('ZREM', dueKey('uninstall'), hubId)
end
