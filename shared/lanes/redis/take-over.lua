-- Takes entries over from a consumer, those that it still holds as they were seen, and says which: a race with another
-- worker has one winner, and the number of the new delivery is certain.
--
-- KEYS lane
-- ARGV group, from, to   who held them and who takes them; from MORE on, for each entry, its id and the number of its delivery
--
-- Returns what XCLAIM does: {{id, fields}, …}

local taken = {}
for at = MORE, #ARGV, 2 do
  if holding(KEYS.lane, ARGV.group, ARGV[at], ARGV.from, ARGV[at + 1]) == 'held' then
    local claimed = redis.call('XCLAIM', KEYS.lane, ARGV.group, ARGV.to, 0, ARGV[at])
    if claimed[1] then taken[#taken + 1] = claimed[1] end
  end
end
return taken
