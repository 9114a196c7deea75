--!include take-share
-- The account's share of the provider's bucket: a window that slides over the last calls of all workers.
-- KEYS: list of the last calls' times. An account's has a key beside it: until when no call is made for it at all.
-- ARGV: now, calls wanted, calls allowed, window (ms).
-- Returns { calls granted now, ms until the next one, when the pause ends (0 = there is none) }.
local at, of = string.match(KEYS[1], '^(.*}):calls:(%d+)$')
local pause = at and redis.call('GET', at .. ':paused:' .. of)
return { takeShare(KEYS[1], pause, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])) }
