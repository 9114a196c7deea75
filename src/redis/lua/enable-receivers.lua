-- Gives every receiver that is switched off another chance; how it fared before says nothing about it.
-- KEYS: disabled receivers. ARGV: what the keys of receivers start with, which are of the same slot.
for _, receiver in ipairs(redis.call('HKEYS', KEYS[1])) do
  redis.call('HDEL', ARGV[1] .. receiver, 'failingSince', 'failures', 'lastReason')
end
return redis.call('DEL', KEYS[1])
