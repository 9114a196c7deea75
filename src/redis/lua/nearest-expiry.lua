-- When the first token expires of those that are kept alive. An account whose refreshes fail counts as long as its token
-- lives: after that its own alert tells of it. Reads only.
-- KEYS: due set. ARGV: now, most accounts to look at, prefix of account keys.
-- Returns the moment, or ''.
local due, now, most, accounts = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local nearest
for from = 0, most - 1, 100 do
  local some = redis.call('ZRANGE', due, from, from + 99, 'WITHSCORES')
  for n = 1, #some, 2 do
    -- A refresh is due before its token ends: whoever comes now is hardly nearer. Only one that is being refreshed, or waits
    -- for its next attempt, may be, by no more than that takes.
    if nearest and tonumber(some[n + 1]) >= nearest then return string.format('%d', nearest) end
    local a = redis.call('HMGET', accounts .. some[n], 'state', 'expiresAt')
    local state, at = a[1], tonumber(a[2] or '') or 0
    local counts = at > 0 and (state == 'active' or (state == 'failing' and at > now))
    if counts and (not nearest or at < nearest) then nearest = at end
  end
  if #some < 200 then break end
end
return nearest and string.format('%d', nearest) or ''
