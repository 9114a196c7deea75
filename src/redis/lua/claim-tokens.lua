-- Claims chosen accounts, as far as they are still due: each one's next moment becomes the end of the claim, so that a
-- crash loses nothing - what a dead worker held is due again by itself.
-- KEYS: due set. ARGV: now, then hubId and end of the claim of each.
-- Returns the hubIds that were claimed.
local due, now = KEYS[1], tonumber(ARGV[1])

local claimed = {}
for n = 2, #ARGV, 2 do
  local at = tonumber(redis.call('ZSCORE', due, ARGV[n]) or '')
  if at and at <= now then
    redis.call('ZADD', due, ARGV[n + 1], ARGV[n])
    claimed[#claimed + 1] = ARGV[n]
  end
end
return claimed
