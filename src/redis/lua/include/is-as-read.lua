-- True where a stored text is what a client read. A client reads bytes that are no UTF-8 as U+FFFD: where it read that, all that is
-- no ASCII counts as the same. Else such a text would never be as it was read, and nothing could ever replace it.
local function isAsRead(stored, read)
  if stored == read then return true end
  if not string.find(read, '\239\191\189', 1, true) then return false end
  return string.gsub(stored, '[\128-\255]+', '\255') == string.gsub(read, '[\128-\255]+', '\255')
end
