-- Domains of a partition's accounts, some at a time. Reads only.
-- KEYS: a key of the partition, which declares the slot; the names of the others are made here as `keys.ts` makes them.
-- ARGV: hubId that came last ('-inf' = none), most accounts to look at of one state, states of accounts.
-- Returns { [hubId, domain, ...] as JSON, because thousands of texts take long to be read, hubId to go on from ('' = the end is reached) }.
local AT = string.match(KEYS[1], '^(.*}):')
local after, most = ARGV[1], ARGV[2]

local some, horizon = {}, nil
for n = 3, #ARGV do
  local ids = redis.call('ZRANGEBYSCORE', AT .. ':accounts:' .. ARGV[n], '(' .. after, '+inf', 'LIMIT', 0, most)
  for _, id in ipairs(ids) do some[#some + 1] = id end
  if #ids == tonumber(most) then horizon = math.min(horizon or math.huge, tonumber(ids[#ids])) end
end
local found = {}
for _, id in ipairs(some) do
  if not horizon or tonumber(id) <= horizon then
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', AT .. ':account:' .. id, 'hubDomain') or ''
  end
end
return { #found == 0 and '[]' or cjson.encode(found), horizon and string.format('%.0f', horizon) or '' }
