-- A process says which key it encrypts with, and hears what the others do. The clock is the server's: those of the
-- machines may differ.
-- KEYS: used keys, writers, how many that wrote with a key are gone, by key. ARGV: process ('' = only
--   listens), id of its key ('' = it leaves), how long a process counts that says nothing (s).
-- Returns { { process, id of its key }, ... }.
local process, keyId, silence = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])

-- Once it is gone, this is all that tells a rekey under way that it was there.
local function remove(writer, id)
  redis.call('HDEL', KEYS[2], writer)
  redis.call('HINCRBY', KEYS[3], id, 1)
end

if keyId ~= '' then
  -- Again with every report: a rekey that ended just before this process came may have taken it away.
  redis.call('SADD', KEYS[1], keyId)
  redis.call('HSET', KEYS[2], process, now .. ' ' .. keyId)
end
local writers = {}
local all = redis.call('HGETALL', KEYS[2])
for n = 1, #all, 2 do
  local at, id = string.match(all[n + 1], '^(%d+) (.+)$')
  local leaves = all[n] == process and keyId == ''
  if leaves or now - tonumber(at) > silence then remove(all[n], id)
  else writers[#writers + 1] = { all[n], id } end
end
return writers
