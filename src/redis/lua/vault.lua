-- The keys that tokens are encrypted with.

--!step registerKey
-- Notes that a process may encrypt with a key from now on, if the known keys are those that it judged.
-- One that a rekey has closed is open again.
-- KEYS: canaries, the fleet. ARGV: id of the key, canary for when there is none, ids of the keys that were known.
-- Returns 'registered' | 'stale' (another process registered a key meanwhile: judge again).
local judged = {}
for n = 3, #ARGV do judged[ARGV[n]] = true end
for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not judged[id] then return 'stale' end
end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], 'closed-key:' .. ARGV[1])
return 'registered'

--!step retireKeys
-- Forgets keys that nothing is encrypted with any more, so that they may be taken out of the config. Not one that was opened
-- again: a process that encrypts with it has begun since, even if another rekey has closed it after that.
-- KEYS: canaries, the fleet. ARGV: the rekey that closed them, ids of the keys. Returns the ids of those that stay.
local stay = {}
for n = 2, #ARGV do
  if redis.call('HGET', KEYS[2], 'closed-key:' .. ARGV[n]) == ARGV[1] then redis.call('HDEL', KEYS[1], ARGV[n])
  else stay[#stay + 1] = ARGV[n] end
end
return stay

--!step rekeyAccount
-- Puts the same tokens, encrypted anew, in the place of the old ones: each only if it was not written since it was read.
-- The version, and all else that is known with the access token, stays as it is now: a refresh under way with these tokens
-- can still be stored.
-- KEYS: tokens of the account, its access token; of a grant the same key twice, which has both. ARGV: per value its field, as
--   read, encrypted anew. Returns how many were replaced.
local replaced = 0
for n = 1, #ARGV, 3 do
  local field, before, after = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  if field == 'access' and KEYS[2] ~= KEYS[1] then
    local stored = redis.call('MGET', KEYS[2])[1]
    local ends = stored and string.find(stored, '\n', 1, true)
    if ends and string.sub(stored, ends + 1) == before then
      redis.call('SET', KEYS[2], string.sub(stored, 1, ends) .. after)
      replaced = replaced + 1
    end
  elseif redis.call('HGET', KEYS[1], field) == before then
    redis.call('HSET', KEYS[1], field, after)
    replaced = replaced + 1
  end
end
return replaced
