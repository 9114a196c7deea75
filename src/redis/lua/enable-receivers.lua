-- Gives receivers that are switched off another chance; how such a one fared before says nothing about it.
-- KEYS: disabled receivers. ARGV: what the keys of receivers start with, which are of the same slot; names of receivers.
for n = 2, #ARGV do
  if redis.call('HDEL', KEYS[1], ARGV[n]) == 1 then
    redis.call('HDEL', ARGV[1] .. ARGV[n], 'failingSince', 'failures', 'lastReason')
  end
end
return 0
