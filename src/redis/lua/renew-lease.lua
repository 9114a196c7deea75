--!include account-step
-- ARGV: owner, ms. Returns 1 while it is still the owner's.
local by, since = string.match(redis.call('HGET', ACCOUNT, 'refreshing') or '', '^(%S+) (%d+)')
if by ~= ARGV[1] then return 0 end
takeLease(by, since, ARGV[2])
return 1
