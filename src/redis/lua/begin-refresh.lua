--!include account-step
-- Takes the account's lease and reads what a refresh needs. That this write succeeds is the proof, before a refresh
-- token is redeemed, that the store takes writes. It also notes that a refresh is under way: a note that is found here
-- was left by a worker that died between taking its lease and writing what came of it.
-- ARGV: owner of the lease, shortest and longest lease (ms; in between it is a tenth of the token's life, and longest
--   while no life is known), now.
-- Returns { 'gone' } | { 'held' } | { 'begun', lease ms, fields of the account ..., refresh token, the one
-- before, open token alert, when a worker died at it or '' }.
local owner, shortest, longest, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'generation', 'obtainedAt', 'expiresAt', 'failures',
  'rejectedAt', 'refreshedAt', 'retryAt', 'refreshing', 'interruptedAt', 'tokenOf')
-- Redeeming another account's refresh token could end it there.
if not isLive(a[1]) or a[12] then return { 'gone' } end
local lease = longest
if tonumber(a[5]) > 0 then lease = math.max(shortest, math.min(longest, math.floor((a[5] - a[4]) / 10))) end
if not redis.call('SET', LEASE, owner, 'NX', 'PX', lease) then
  -- Its own, when the answer to this very step was lost and it is asked again.
  if redis.call('GET', LEASE) ~= owner then return { 'held' } end
end
local interruptedAt = a[11] or ''
if a[10] then
  local by, at = string.match(a[10], '^(%S+) (%d+)$')
  if by ~= owner then
    interruptedAt = at
    -- Kept until a refresh works or the account is connected again, whoever finds it and whatever comes of that.
    redis.call('HSET', ACCOUNT, 'interruptedAt', at)
  end
end
redis.call('HSET', ACCOUNT, 'refreshing', owner .. ' ' .. now)
return { 'begun', lease, a[1], a[2] or '', a[3], a[4], a[5], a[6] or '0', a[7] or '', a[8] or '',
  a[9] or '', redis.call('HGET', TOKENS, 'refresh'), redis.call('HGET', TOKENS, 'previous'),
  redis.call('HGET', ALERTS, 'token') or '', interruptedAt }
