-- How many refreshes are overdue: due for long and not taken up, or tried again and again while the token has been over
-- for as long. Those that fail are due at their next attempt, which is always soon. Reads only.
-- KEYS: due set, accounts that fail. ARGV: since when, most failing accounts to look at, prefix of account keys.
-- Returns the count.
local due, failing, since, accounts = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[3]

local count = redis.call('ZCOUNT', due, '-inf', since)
for _, hubId in ipairs(redis.call('ZRANGE', failing, 0, ARGV[2] - 1)) do
  local at = tonumber(redis.call('ZSCORE', due, hubId) or '')
  if at and at > since then
    local a = redis.call('HMGET', accounts .. hubId, 'expiresAt', 'failingSince')
    local over = tonumber(a[1] or '') or 0
    -- It was imported, and has had no token yet.
    if over == 0 then over = tonumber(a[2] or '') or 0 end
    if over <= since then count = count + 1 end
  end
end
return count
