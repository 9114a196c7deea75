-- When the first token expires of those that are kept alive. An account whose refreshes fail counts as long as its token
-- lives: after that its own alert tells of it. Reads only.
-- KEYS: due set. ARGV: now, most accounts to look at, prefix of account keys.
-- Returns the moment, or '', a comma, and how many accounts were looked at.
local due, now, most, accounts = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local nearest
local looked = 0
local function found()
  return (nearest and string.format('%d', nearest) or '') .. ',' .. looked
end

for from = 0, most - 1, 100 do
  local some = redis.call('ZRANGE', due, from, from + 99, 'WITHSCORES')
  for n = 1, #some, 2 do
    -- A refresh is due before its token ends: whoever comes now is hardly nearer. Only one that is being refreshed, or waits
    -- for its next attempt, may be, by no more than that takes.
    if nearest and tonumber(some[n + 1]) >= nearest then return found() end
    looked = looked + 1
    local account = accounts .. some[n]
    local at = tonumber(redis.call('HGET', account, 'expiresAt') or '') or 0
    -- Hardly any is nearer than what was found: only of those the state is read.
    if at > 0 and (not nearest or at < nearest) then
      local state = redis.call('HGET', account, 'state')
      if state == 'active' or (state == 'failing' and at > now) then nearest = at end
    end
  end
  if #some < 200 then break end
end
return found()
