--!include account-step
-- Takes the account's lease and reads what a refresh needs. That this write succeeds is the proof, before a refresh
-- token is redeemed, that the store takes writes.
-- ARGV: owner of the lease, shortest and longest lease (ms; in between it is a tenth of the token's life).
-- Returns { 'gone' } | { 'held' } | { 'begun', lease ms, fields of the account ..., refresh token, open token alert }.
local owner, shortest, longest = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local a = redis.call('HMGET', ACCOUNT, 'state', 'hubDomain', 'generation', 'obtainedAt', 'expiresAt', 'failures',
  'rejectedAt', 'refreshedAt')
if not isLive(a[1]) then return { 'gone' } end
local lease = math.max(shortest, math.min(longest, math.floor((a[5] - a[4]) / 10)))
if not redis.call('SET', LEASE, owner, 'NX', 'PX', lease) then return { 'held' } end
return { 'begun', lease, a[1], a[2] or '', a[3], a[4], a[5], a[6] or '0', a[7] or '', a[8] or '',
  redis.call('HGET', TOKENS, 'refresh'), redis.call('HGET', ALERTS, 'token') or '' }
