-- What waits in the outbox of a partition, oldest first, and the number of what was committed last: at one moment.
-- KEYS: any account of the partition. ARGV: most entries. Returns { number, { { id, fields }, ... } }.
local AT = string.match(KEYS[1], '^(.*}):account:')
return { redis.call('GET', AT .. ':sequence') or '0', redis.call('XRANGE', AT .. ':outbox', '-', '+', 'COUNT', ARGV[1]) }
