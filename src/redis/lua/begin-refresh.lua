--!include account-step
-- Takes the account's lease and reads what a refresh needs. That this write succeeds is the proof, before a refresh
-- token is redeemed, that the store takes writes.
-- The lease is a tenth of the token's life, so that a dead worker's ends while there is still time to refresh.
-- ARGV: with a space between: owner of the lease, now.
-- Returns 'gone' | 'held' | { lines: lease ms, the account's state, generation, obtainedAt, expiresAt, failures,
--   rejectedAt, refreshedAt, retryAt, when a worker died at it or '', whether it is to be asked whose
--   it is ('1' or ''), open token alert or '', the account's last grants, hubDomain; refresh token;
--   the one before, if it is kept }. One text of all that is text: of fifteen the reading cost more than the asking.
local owner, now = string.match(ARGV[1], '^(%S+) (%d+)$')
local SHORTEST_MS, LONGEST_MS = 1000, 15000

local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'generation', 'obtainedAt', 'expiresAt', 'failures',
  'rejectedAt', 'refreshedAt', 'retryAt', 'refreshing', 'interruptedAt', 'tokenOf', 'metadataDue', 'grants')
-- Redeeming another account's refresh token could end it there.
if not isLive(a[1]) or a[12] then return 'gone' end
if isHeld(a[10], owner) then return 'held' end
local interruptedAt = a[11] or ''
if a[10] then
  local by, at = string.match(a[10], '^(%S+) (%d+)')
  -- Its own, when the answer to this very step was lost and it is asked again.
  if by ~= owner then
    interruptedAt = at
    -- Kept until a refresh works or the account is connected again, whoever finds it and whatever comes of that.
    redis.call('HSET', ACCOUNT, 'interruptedAt', at)
  end
end
-- Longest while no life is known.
local lease = tonumber(a[5]) > 0 and math.floor((a[5] - a[4]) / 10) or LONGEST_MS
lease = math.max(SHORTEST_MS, math.min(LONGEST_MS, lease))
takeLease(owner, now, lease)
local tokens = redis.call('HMGET', tokensKey(), 'refresh', 'previous')
local lines = table.concat({ lease, a[1], a[3], a[4] or '0', a[5], a[6] or '0', a[7] or '', a[8] or '', a[9] or '', interruptedAt,
  a[13] or '', redis.call('HGET', alertsKey(), 'token') or '', a[14] or '', a[2] or '' }, '\n')
return { lines, tokens[1] or '', tokens[2] or nil }
