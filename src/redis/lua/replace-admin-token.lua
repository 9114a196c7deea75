-- Writes over an admin token's record, if it is still the one that was read: one that was removed must not come back.
-- KEYS: hash of the admin tokens. ARGV: name, record as read, record from now on.
-- Returns 'replaced' | 'stale'.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 'stale' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 'replaced'
