-- Due work, and claims on it.

--!step moveClaim
-- Plans a claimed account. What was claimed again since, or has another plan, is left as it is.
-- KEYS: due set. ARGV: hubId, the claim, the moment from now on.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '') ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])

--!step bringForward
-- The clock of Redis was set back: what was planned is due now, and a claim lasts no longer than one from now on. What is due sooner
-- than that stays as it is.
-- KEYS: due set. ARGV: now, how long a claim lasts at most (ms), so many at a time. Returns how many were moved.
local now, ends = tonumber(ARGV[1]), ARGV[1] + ARGV[2]
local late = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', ends + 1), '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
for n = 1, #late, 2 do
  local fraction = late[n + 1] % 1
  redis.call('ZADD', KEYS[1], string.format('%.17g', fraction > 0 and ends + fraction or now), late[n])
end
return #late / 2

--!step claimAccounts
--!include claim
-- Claims accounts, or others, that are due, those that have been for longest first.
-- KEYS: due set, the fleet. ARGV: most to claim, how long a claim lasts (ms), fraction, by chance; members, where no others are to be
--   claimed.
-- Returns { the claim, member, ... }.
local claim, now = beginClaims(KEYS[2], ARGV[2], ARGV[3])
local claimed = #ARGV > 3 and {} or redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for n = 4, #ARGV do
  local at = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[n]) or '')
  if at and at <= now then claimed[#claimed + 1] = ARGV[n] end
end
for _, member in ipairs(claimed) do redis.call('ZADD', KEYS[1], claim, member) end
return { claim, unpack(claimed) }

--!step claimAccount
--!include claim
-- Claims one account, due or not: a caller waits for it.
-- KEYS: due set, the fleet. ARGV: hubId, how long the claim lasts (ms), fraction.
-- Returns 'gone' (not planned at all) | 'held' (another worker has it) | { the claim, its score before }.
local claim, before = claimOne(KEYS[2], KEYS[1], ARGV[1], ARGV[2], ARGV[3])
return before and { claim, before } or claim
