-- How an account comes: with tokens, and the answer whose they are.

--!step connectAccount
--!include begin-grant
-- Stores an account that was just authorised, for the first time or again: new tokens, a clean record, history kept.
-- The older one of two grants whose calls crossed may come last. No clock of ours shows which it is, the provider does: it
-- takes no more refresh tokens of a grant that another one replaced.
-- ARGV: hubId, now, access token, refresh token, granted scopes, obtainedAt, expiresAt, next refresh,
--   fields of the account (JSON), alert writes (JSON), the grant, by how much clocks may differ (ms), a generation
--   of the grant that was stored already when the provider took a token of this one ('' = none is known), the refresh token
--   that it took then, if it gave out another one for it ('' = not so), 'kept' = only an account that is kept here, the grant's
--   place in the order of grants and uninstalls ('' = it has none).
-- Returns 'connected' | 'reconnected' | 'stale' (an alert changed since it was read: read again) | 'crossing' (other tokens
-- were stored since: ask the provider whether these are alive); with 'kept' also 'strange' (it is not); with 'kept', for newer
-- tokens of a grant that was stored before, or for a grant that its uninstall was asked for after, 'uninstalling' (it stays so: its
-- uninstall deletes the new refresh token, too); for those also 'uninstalled'.
local hubId, now, access, refresh, scopes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local obtainedAt, expiresAt, refreshAt = ARGV[6], ARGV[7], ARGV[8]
local fields, writes, grant = cjson.decode(ARGV[9]), cjson.decode(ARGV[10]), ARGV[11]
local slack, provedAfter, previous = tonumber(ARGV[12]), ARGV[13], ARGV[14]
local onlyKept, order = ARGV[15] == 'kept', tonumber(ARGV[16] or '')
-- A grant may be redeemed by another worker while it is stored: each of its tokens is an operation of its own.
local operation = grant .. '.' .. obtainedAt

-- One that was forgotten left what its grants are known by.
local record = redis.call('EXISTS', ACCOUNT) == 1 and ACCOUNT or leftKey()
local before = answerBefore(operation, record)
if before then return before end
local isNewer = false
for id, answer in string.gmatch(operations, '(%S+) (%S+)') do
  local of, at = string.match(id, '^(.+)%.(%d+)$')
  if of == grant then
    if tonumber(at) > tonumber(obtainedAt) then return answer end
    isNewer = true
  end
end
local state, endedAt = unpack(redis.call('HMGET', record, 'state', 'uninstallOrder'))
local isOver = order and endedAt and (tonumber(endedAt) or 0) > order and not isLive(state)
if onlyKept or isNewer or isOver then
  if state == 'uninstalled' or ((isNewer or isOver) and not state) then return 'uninstalled' end
  if not state then return 'strange' end
  if state == 'uninstalling' then
    -- Tokens of another account stay with that account.
    if redis.call('HDEL', ACCOUNT, 'tokenOf') == 1 then redis.call('DEL', tokensKey()) end
    if previous ~= '' then keepDoomed(previous) end
    replaceDoomed(refresh)
    redis.call('ZADD', dueKey('uninstall'), now, hubId)
    return answerWith(operation, 'uninstalling')
  end
end
local stored = redis.call('HMGET', ACCOUNT, 'connectedAt', 'generation')
local isSince = stored[1] and (tonumber(stored[1]) or now) + slack >= tonumber(obtainedAt)
local proved, kept = generationIn(provedAfter), generationIn(stored[2])
-- An unreadable token is compared as it is, or the provider would be asked for ever.
local isProved = provedAfter == (stored[2] or 'none') or (proved and kept and grantOf(proved) == grantOf(kept))
if isSince and not isProved then return 'crossing' end
if not alertsAreAsRead(writes.changes) then return 'stale' end
local known = redis.call('EXISTS', ACCOUNT) == 1
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', now)
local tokens = { 'refresh', refresh, 'scopes', scopes }
if previous ~= '' then tokens[5], tokens[6] = 'previous', previous end
beginGrant(hubId, grant, tokens, fields, refreshAt, order or '')
redis.call('HSET', ACCOUNT, 'connectedAt', now, 'grantedAt', obtainedAt, 'obtainedAt', obtainedAt,
  'expiresAt', expiresAt, 'refreshedAt', obtainedAt)
renewAccess(access)
startPolling(hubId, now, now)
writeAlerts(hubId, writes)
local event = known and 'reconnected' or 'connected'
logAccount(hubId, event, now)
return answerWith(operation, event)

--!step importAccount
--!include begin-grant
-- Takes in an account with its refresh token alone: no access token yet, refreshed now, polled once it is known whose
-- token it is.
-- One that is known keeps what it has, because its tokens may have been refreshed since the file was written; with
-- `replace` it is overwritten.
-- ARGV: hubId, now, refresh token, 'replace' or '', fields of the account (JSON), operation, its place in the order of grants
--   and uninstalls.
-- Returns 'imported' | 'kept' | 'uninstalled' (known, and kept so) | 'replaced'.
local hubId, now, refresh, replace, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'replace', cjson.decode(ARGV[5])
local operation = ARGV[6]

local before = answerBefore(operation)
if before then return before end
local state = redis.call('HGET', ACCOUNT, 'state')
if state and not replace then return isLive(state) and 'kept' or 'uninstalled' end
redis.call('HDEL', ACCOUNT, 'refreshedAt', 'grantedAt')
redis.call('HSETNX', ACCOUNT, 'firstConnectedAt', fields.connectedAt or now)
redis.call('HSET', ACCOUNT, 'obtainedAt', 0, 'expiresAt', 0)
beginGrant(hubId, operation, { 'refresh', refresh }, fields, now, ARGV[7] or '')
stopPolling(hubId)
redis.call('ZADD', firstReadingsKey(), 1, hubId)
logAccount(hubId, state and 'reconnected' or 'connected', now)
return answerWith(operation, state and 'replaced' or 'imported')

--!step takeOrder
--!include next-order
-- KEYS: the order of grants. Returns a place in it that none had before.
return nextOrder(KEYS[1])

--!step parkGrant
--!include next-order
-- Keeps the tokens of an install whose account is not stored yet, or newer ones of it, and when it is tried next. The refresh
-- token before may be alive until its successor has worked: it is kept, too.
-- KEYS: the grant, due grants, their order. ARGV: id, next try, obtainedAt, then its fields with their values.
-- Returns 'parked' | 'gone' (newer tokens of it are there).
local id, nextAt, obtainedAt = ARGV[1], ARGV[2], tonumber(ARGV[3])

local before = redis.call('HMGET', KEYS[1], 'obtainedAt', 'refresh')
if tonumber(before[1] or 0) > obtainedAt then return 'gone' end
if before[2] and tonumber(before[1]) < obtainedAt then redis.call('HSET', KEYS[1], 'previous', before[2]) end
if not before[1] then redis.call('HSET', KEYS[1], 'order', nextOrder(KEYS[3])) end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
-- Another worker may have claimed it for longer.
redis.call('ZADD', KEYS[2], 'GT', nextAt, id)
return 'parked'

--!step planGrant
-- Ends the claim on a grant, unless another worker has claimed it since.
-- KEYS: due grants. ARGV: id, end of the claim, next try. Returns how many were planned.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '') ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1

--!step noteOfGrant
-- Notes how far a grant came, unless another worker has finished it meanwhile.
-- KEYS: the grant. ARGV: fields with their values. Returns its place in the order of grants and uninstalls ('' = it has none).
if redis.call('EXISTS', KEYS[1]) == 0 then return '' end
redis.call('HSET', KEYS[1], unpack(ARGV))
return redis.call('HGET', KEYS[1], 'order') or ''

--!step forgetGrant
-- The outcome of a grant's tokens is stored: forgets the grant, unless another worker was given newer ones meanwhile.
-- KEYS: the grant, due grants. ARGV: id, obtainedAt. Returns 'forgotten' | 'newer'.
if tonumber(redis.call('HGET', KEYS[1], 'obtainedAt') or 0) > tonumber(ARGV[2]) then return 'newer' end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 'forgotten'

--!step storeMetadata
--!include account-step
-- Stores what the provider says of an account's access token. The mark that it is to be read goes with it, and an account
-- that had the mark is polled from now on.
-- ARGV: hubId, now, generation as read, granted scopes, fields of the account (JSON; '' takes one away), expiresAt, next
--   refresh, alert writes (JSON).
-- Returns 'stored' | 'known' (another answer was stored before: the poll that follows from that may be under way) | 'lost'
-- (other tokens since, or gone, or an alert changed: asked again before long).
local hubId, now, generation, scopes, fields = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local expiresAt, refreshAt, writes = ARGV[6], ARGV[7], cjson.decode(ARGV[8])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation', 'metadataDue', 'hubDomain')
if not isLive(a[1]) or a[2] ~= generation then return 'lost' end
if a[3] ~= '1' and string.find(a[4] or '', '%S') then return 'known' end
if not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('HSET', tokensKey(), 'scopes', scopes)
redis.call('HDEL', ACCOUNT, 'metadataDue')
setFields(fields)
redis.call('HSET', ACCOUNT, 'expiresAt', expiresAt)
renewAccess('')
redis.call('ZADD', dueKey('refresh'), 'XX', refreshAt, hubId)
-- One that waits for other tokens is polled when it has them.
if a[3] == '1' and (a[1] == 'active' or a[1] == 'failing') then startPolling(hubId, now, now) end
writeAlerts(hubId, writes)
return 'stored'

--!step refuseForeignToken
--!include account-step
-- The account's refresh token belongs to another account: from here on nothing is read, refreshed or served under the
-- wrong name until it is connected, or imported with a token of its own. The refresh token itself stays: it is good, and
-- another account's. The generation moves on, so that whatever is under way with these tokens is refused.
-- ARGV: hubId, generation as read, hub id that the token belongs to, fields of the account (JSON), alert writes (JSON).
-- Returns 'refused' | 'lost'.
local hubId, generation, owner, fields = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local writes = cjson.decode(ARGV[5])

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) or a[2] ~= generation or not alertsAreAsRead(writes.changes) then return 'lost' end
redis.call('DEL', accessKey())
redis.call('HSET', ACCOUNT, 'tokenOf', owner)
moveGeneration()
setFields(fields)
setState(hubId, 'reauthorize')
redis.call('ZREM', dueKey('refresh'), hubId)
stopPolling(hubId)
writeAlerts(hubId, writes)
return 'refused'
