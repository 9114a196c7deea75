--!include account-step
-- What was told of the pace of an account's series. One that leaves, or was forgotten meanwhile, gets no key that nobody
-- would take away.
-- ARGV: forecasts ('' = none).
-- Returns 'stored' | 'gone'.
if not isLive(redis.call('HGET', ACCOUNT, 'state')) then return 'gone' end
if ARGV[1] == '' then redis.call('DEL', forecastKey()) else redis.call('SET', forecastKey(), ARGV[1]) end
return 'stored'
