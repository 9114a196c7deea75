-- Whose tokens are due, with what it takes to choose among them. Of more than are wanted, half are those that are due
-- longest and half those that came last: a thousand that were imported at once must not hide who came due after them.
-- Reads only.
-- KEYS: due set. ARGV: now, most to return, prefix of account keys.
-- Returns, as one text with commas between: hubId, obtainedAt, expiresAt, failures, state, refreshedAt, ..., the earliest
--   moment that is not due or '', how many accounts there are. Texts of their own cost who reads them three times as much.
local due, now, most, accounts = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

local chosen = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)
if #chosen == most then
  local rest = redis.call('ZCOUNT', due, '-inf', now) - most
  local half = math.min(math.floor(most / 2), rest)
  for n, hubId in ipairs(redis.call('ZREVRANGEBYSCORE', due, now, '-inf', 'LIMIT', 0, half)) do
    chosen[most + 1 - n] = hubId
  end
end

local found = {}
for _, hubId in ipairs(chosen) do
  local a = redis.call('HMGET', accounts .. hubId, 'obtainedAt', 'expiresAt', 'failures', 'state', 'refreshedAt')
  found[#found + 1] = hubId
  for n = 1, 5 do found[#found + 1] = a[n] or '' end
end
found[#found + 1] = redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''
found[#found + 1] = redis.call('ZCARD', due)
return table.concat(found, ',')
