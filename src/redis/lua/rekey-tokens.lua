-- Puts the same tokens, encrypted anew, in the place of the old ones: each only if nobody has written it since it was
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
