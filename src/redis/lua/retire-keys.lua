-- Everything is encrypted with one key: forget the others, so that they may be taken out of the config. Not while a
-- process writes with one of them, or where one did behind the back of the pass that found nothing to do.
-- KEYS: canaries, used keys, writers, keys that were written with since that pass began. ARGV: ids of the keys to keep.
-- Returns 'retired' | 'writing'.
local keep = {}
for _, id in ipairs(ARGV) do keep[id] = true end

for _, said in ipairs(redis.call('HVALS', KEYS[3])) do
  if not keep[string.match(said, '^%d+ (.+)$')] then return 'writing' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[4])) do
  if not keep[id] then return 'writing' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not keep[id] then redis.call('SREM', KEYS[2], id) end
end
for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not keep[id] then redis.call('HDEL', KEYS[1], id) end
end
return 'retired'
