-- A daemon says which key it encrypts with, and hears what the others do. The clock is the server's: those of the
-- machines may differ.
-- KEYS: used keys, writers. ARGV: daemon ('' = only listens), id of its key ('' = it leaves), how long a daemon counts
--   that says nothing (s).
-- Returns { { daemon, id of its key }, ... }.
local daemon, keyId, silence = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])

if daemon ~= '' and keyId == '' then redis.call('HDEL', KEYS[2], daemon) end
if keyId ~= '' then
  -- Again with every report: a rekey that ended just before this daemon came may have taken it away.
  redis.call('SADD', KEYS[1], keyId)
  redis.call('HSET', KEYS[2], daemon, now .. ' ' .. keyId)
end
local writers = {}
local all = redis.call('HGETALL', KEYS[2])
for n = 1, #all, 2 do
  local at, id = string.match(all[n + 1], '^(%d+) (.+)$')
  if now - tonumber(at) > silence then redis.call('HDEL', KEYS[2], all[n])
  else writers[#writers + 1] = { all[n], id } end
end
return writers
