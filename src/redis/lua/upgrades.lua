-- What brings the data of an older version up to date. Done before, a step does nothing.

--!step moveAccess
--!include account-step
-- The access token leaves the hash of tokens. Returns how many were moved.
local access = redis.call('HGET', tokensKey(), 'access')
if not access then return 0 end
renewAccess(access)
return redis.call('HDEL', tokensKey(), 'access')
