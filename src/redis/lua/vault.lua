-- The keys that tokens are encrypted with.

--!step registerKeys
-- Notes the keys that a process is about to work with, if the state that it judged them by is unchanged: a canary for each, and
-- that the first of them may encrypt something from now on. A process that is refused leaves nothing behind.
-- KEYS: canaries, used keys. ARGV: whether used keys may be missing ('yes' | 'no'), then per configured key: id, canary as read
--   ('' = none), canary for when there is none.
-- Returns 'registered' | 'stale' (another process registered keys meanwhile: judge again).
local mayMiss = ARGV[1] == 'yes'

local configured = {}
for n = 2, #ARGV, 3 do
  configured[ARGV[n]] = true
  if (redis.call('HGET', KEYS[1], ARGV[n]) or '') ~= ARGV[n + 1] then return 'stale' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not configured[id] and not mayMiss then return 'stale' end
end
for n = 2, #ARGV, 3 do redis.call('HSETNX', KEYS[1], ARGV[n], ARGV[n + 2]) end
redis.call('SADD', KEYS[2], ARGV[2])
return 'registered'

--!step reportWriter
-- A process says which key it encrypts with, and hears what the others do. The clock is the server's: those of the
-- machines may differ.
-- KEYS: used keys, writers, how many that wrote with a key are gone, by key. ARGV: process ('' = only
--   listens), id of its key ('' = it leaves), how long a process counts that says nothing (s), ids of other keys that it needs, or of
--   the one that it wrote with where it leaves.
-- Returns { { process, id of its key, ids of others that it needs }, ... }.
local process, keyId, silence = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])

-- Once it is gone, only this shows a running rekey that it was there.
local function remove(writer, id)
  redis.call('HDEL', KEYS[2], writer)
  redis.call('HINCRBY', KEYS[3], id, 1)
end

if keyId ~= '' then
  -- Again with every report: a rekey that ended just before this process came may have taken it away.
  redis.call('SADD', KEYS[1], keyId)
  local report = { now, keyId }
  for n = 4, #ARGV do report[#report + 1] = ARGV[n] end
  redis.call('HSET', KEYS[2], process, table.concat(report, ' '))
end
-- The process counted as gone: its writes since then count as well.
if process ~= '' and keyId == '' and ARGV[4] and redis.call('HEXISTS', KEYS[2], process) == 0 then
  redis.call('HINCRBY', KEYS[3], ARGV[4], 1)
end
local writers = {}
local all = redis.call('HGETALL', KEYS[2])
for n = 1, #all, 2 do
  local report = {}
  for word in string.gmatch(all[n + 1], '%S+') do report[#report + 1] = word end
  local at, id = tonumber(report[1]) or 0, report[2]
  local leaves = all[n] == process and keyId == ''
  if leaves or now - at > silence then remove(all[n], id)
  else writers[#writers + 1] = { all[n], unpack(report, 2) } end
end
return writers

--!step retireKeys
-- Everything is encrypted with one key: forget the others, so that they may be taken out of the config. Not while a
-- process writes with one of them, or where one did behind the back of the pass that found nothing to do. What a process
-- needs for what it keeps by itself stays.
-- KEYS: canaries, used keys, writers, how many that wrote with a key are gone, by key. ARGV: these as they were before that pass
--   (JSON), ids of the keys to keep.
-- Returns 'retired' | 'writing'.
local keep, needed = {}, {}
local goneBefore = cjson.decode(ARGV[1])
for n = 2, #ARGV do keep[ARGV[n]] = true end

for _, report in ipairs(redis.call('HVALS', KEYS[3])) do
  local id, needs = string.match(report, '^%d+ (%S+)(.*)$')
  if not keep[id] then return 'writing' end
  for need in string.gmatch(needs, '%S+') do needed[need] = true end
end
local gone = redis.call('HGETALL', KEYS[4])
for n = 1, #gone, 2 do
  if not keep[gone[n]] and gone[n + 1] ~= goneBefore[gone[n]] then return 'writing' end
end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not (keep[id] or needed[id]) then redis.call('SREM', KEYS[2], id) end
end
for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not (keep[id] or needed[id]) then redis.call('HDEL', KEYS[1], id) end
end
return 'retired'

--!step rekeyTokens
-- Puts the same tokens, encrypted anew, in the place of the old ones: each only if it was not written since it was
-- read. The generation stays as it is, so that a refresh under way with these tokens can still be stored.
-- KEYS: tokens of the account. ARGV: per value its field, as read, encrypted anew. Returns how many were replaced.
local replaced = 0
for n = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[n]) == ARGV[n + 1] then
    redis.call('HSET', KEYS[1], ARGV[n], ARGV[n + 2])
    replaced = replaced + 1
  end
end
return replaced

--!step rekeyAccess
-- The same for the access token; what is known with it stays as it is now.
-- KEYS: access token of the account. ARGV: as read, encrypted anew. Returns how many were replaced.
local stored = redis.call('MGET', KEYS[1])[1]
local ends = stored and string.find(stored, '\n', 1, true)
if not ends or string.sub(stored, ends + 1) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], string.sub(stored, 1, ends) .. ARGV[2])
return 1
