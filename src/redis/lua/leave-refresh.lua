--!include account-step
-- A refresh was not needed after all: the lease is given back, and the account put where its plan says.
-- ARGV: hubId, owner of the lease, next refresh.
local hubId, owner, refreshAt = ARGV[1], ARGV[2], ARGV[3]

endRefreshing(owner)
if redis.call('GET', leaseKey()) ~= owner then return 0 end
redis.call('DEL', leaseKey())
return redis.call('ZADD', dueKey('refresh'), 'XX', refreshAt, hubId)
