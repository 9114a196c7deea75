--!include account-step
-- A refresh was not needed after all: the lease is given back, and the account put where its plan says.
-- ARGV: hubId, owner of the lease, next refresh.
local hubId, owner, refreshAt = ARGV[1], ARGV[2], ARGV[3]

if not endLease(redis.call('HGET', ACCOUNT, 'refreshing'), owner) then return 0 end
return redis.call('ZADD', dueKey('refresh'), 'XX', refreshAt, hubId)
