--!include account-step
-- The history of an account, thinned out, or written in another form.
-- ARGV: the account's readings as they were read, how many records its history had then, readings from now on ('' = the same),
--   then all records, oldest first.
-- Returns 'replaced' | 'lost' (it was polled or thinned out since it was read: nothing is changed).
if redis.call('GET', readingsKey()) ~= ARGV[1] or redis.call('LLEN', historyKey()) ~= tonumber(ARGV[2]) then return 'lost' end

if ARGV[3] ~= '' then
  redis.call('SET', readingsKey(), ARGV[3])
  -- A poll that began before, of an older version perhaps, would write readings and a record in the other form.
  redis.call('HINCRBY', ACCOUNT, 'polls', 1)
end
redis.call('DEL', historyKey())
for n = 4, #ARGV do redis.call('RPUSH', historyKey(), ARGV[n]) end
return 'replaced'
