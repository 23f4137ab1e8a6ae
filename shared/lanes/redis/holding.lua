-- Who holds an entry of a lane, as a delivery of it must know before it writes: 'held' by this consumer under the number
-- of this delivery, 'taken' by another one (or by this one again, later), or 'gone' from the lane. Stands before the
-- scripts that need it.
local function holding(lane, group, id, consumer, number)
  local found = redis.pcall('XPENDING', lane, group, id, id, 1)
  -- A server that came back empty has forgotten the group.
  local entry = not found.err and found[1]
  if not entry then return 'gone' end
  if entry[2] == consumer and entry[4] == tonumber(number) then return 'held' end
  return 'taken'
end
