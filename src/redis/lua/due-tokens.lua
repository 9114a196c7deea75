-- Whose tokens are due, the longest due first, with what it takes to choose among them. Reads only.
-- KEYS: due set. ARGV: now, most to return, prefix of account keys.
-- Returns { hubId, obtainedAt, expiresAt, failures, state, refreshedAt, ..., the earliest moment that is not due or '',
--   how many accounts there are }.
local due, now, most, accounts = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

local found = {}
for _, hubId in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)) do
  local a = redis.call('HMGET', accounts .. hubId, 'obtainedAt', 'expiresAt', 'failures', 'state', 'refreshedAt')
  found[#found + 1] = hubId
  for n = 1, 5 do found[#found + 1] = a[n] or '' end
end
found[#found + 1] = redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''
found[#found + 1] = redis.call('ZCARD', due)
return found
