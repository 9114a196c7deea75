-- A delivery that was taken but not tried: due again, for whoever is first.
-- KEYS: delivery, deliveries due. ARGV: id, when.
redis.call('HDEL', KEYS[1], 'heldUntil')
return redis.call('ZADD', KEYS[2], 'XX', ARGV[2], ARGV[1])
