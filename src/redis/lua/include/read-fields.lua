-- Fields of an account's hash, for steps that read many accounts: where the key is of another type there are none. That is
-- the trouble of this account alone, and its own work finds it.
local function fieldsOf(account, ...)
  local found = redis.pcall('HMGET', account, ...)
  return found.err and {} or found
end

-- A number as it is stored, or nil for what is none.
local function numberIn(text)
  return text and string.match(text, '^%d+%.?%d*$') and tonumber(text) or nil
end
