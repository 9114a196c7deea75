--!include redis-now
-- A claim is the account's score: until when it lasts, by the clock of Redis, with a fraction that no plan has. So what a dead worker
-- had is due again by itself. Sweeps see by the latest claim that the clock was set back.
local function beginClaims(fleet, ms, fraction)
  local now = redisNow()
  redis.call('HSET', fleet, 'claims', math.max(now, tonumber(redis.call('HGET', fleet, 'claims') or '') or 0))
  return string.format('%.17g', now + ms + fraction), now
end

-- The claim of one account, due or not, and its score before; or 'gone' (it is not planned at all) | 'held' (another worker has it).
local function claimOne(fleet, due, hubId, ms, fraction)
  local before = redis.call('ZSCORE', due, hubId)
  if not before then return 'gone' end
  if tonumber(before) % 1 > 0 and tonumber(before) > redisNow() then return 'held' end
  local claim = beginClaims(fleet, ms, fraction)
  redis.call('ZADD', due, claim, hubId)
  return claim, before
end
