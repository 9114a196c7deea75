-- Everything is encrypted with one key: forget the others, so that they may be taken out of the config. Not while a
-- process writes with one of them, or where one did behind the back of the pass that found nothing to do.
-- KEYS: canaries, used keys, writers, how many that wrote with a key are gone, by key. ARGV: these as they were before that pass
--   (JSON), ids of the keys to keep.
-- Returns 'retired' | 'writing'.
local keep = {}
local goneBefore = cjson.decode(ARGV[1])
for n = 2, #ARGV do keep[ARGV[n]] = true end

for _, said in ipairs(redis.call('HVALS', KEYS[3])) do
  if not keep[string.match(said, '^%d+ (.+)$')] then return 'writing' end
end
local gone = redis.call('HGETALL', KEYS[4])
for n = 1, #gone, 2 do
  if not keep[gone[n]] and gone[n + 1] ~= goneBefore[gone[n]] then return 'writing' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not keep[id] then redis.call('SREM', KEYS[2], id) end
end
for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not keep[id] then redis.call('HDEL', KEYS[1], id) end
end
return 'retired'
