-- Takes entries over from a consumer, those that it still holds as they were seen, and says which: a race with another
-- worker has one winner, and the number of the new delivery is certain.
--
-- KEYS 1 lane
-- ARGV 1 consumer group  2 who held them  3 who takes them  then for each entry: id, number of its delivery
--
-- Returns what XCLAIM does: {{id, fields}, …}

local taken = {}
for at = 4, #ARGV, 2 do
  if holding(KEYS[1], ARGV[1], ARGV[at], ARGV[2], ARGV[at + 1]) == 'held' then
    local claimed = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[at])
    if claimed[1] then taken[#taken + 1] = claimed[1] end
  end
end
return taken
