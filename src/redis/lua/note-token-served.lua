--!include account-step
-- Notes who is given the account's access token, if it is still the one that was read: what was replaced meanwhile, or
-- belongs to an account that is being uninstalled, is handed to nobody.
-- ARGV: generation as read, now, name of the admin token that asks.
-- Returns 'noted' | 'stale'.
local generation, now, to = ARGV[1], ARGV[2], ARGV[3]

local a = redis.call('HMGET', ACCOUNT, 'state', 'generation')
if not isLive(a[1]) or a[2] ~= generation then return 'stale' end
redis.call('HSET', ACCOUNT, 'tokenServedAt', now, 'tokenServedTo', to)
return 'noted'
