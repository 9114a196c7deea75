--!include account-step
-- The history of an account, thinned out.
-- ARGV: the account's readings as they were read, how many records its history had then, then all records, oldest first.
-- Returns 'replaced' | 'lost' (it was polled or thinned out since it was read: nothing is changed).
if redis.call('GET', readingsKey()) ~= ARGV[1] or redis.call('LLEN', historyKey()) ~= tonumber(ARGV[2]) then return 'lost' end

redis.call('DEL', historyKey())
for n = 3, #ARGV do redis.call('RPUSH', historyKey(), ARGV[n]) end
return 'replaced'
