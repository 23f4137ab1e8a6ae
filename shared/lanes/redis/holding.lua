-- Who holds an entry of a lane, as a delivery of it must know before it writes: 'held' by this consumer under the number
-- of this delivery, 'taken' by another one (or by this one again, later), or 'gone' from the lane. Stands before the
-- scripts that need it.
local function holding(lane, group, id, consumer, number)
  -- Asked for one consumer, Redis looks through less.
  local found = redis.pcall('XPENDING', lane, group, id, id, 1, consumer)
  -- A server that came back empty has forgotten the group.
  if found.err then return 'gone' end
  if found[1] then return found[1][4] == tonumber(number) and 'held' or 'taken' end
  return redis.call('XPENDING', lane, group, id, id, 1)[1] and 'taken' or 'gone'
end
