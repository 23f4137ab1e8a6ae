-- Writes what a process has queued, each write for itself: no reader sees a part of one. A write that belongs to a delivery
-- happens only while that delivery holds its entry, so a process that was stopped for so long that another took over can
-- wake and write nothing. An entry is acknowledged after everything else has succeeded; a write that failed is answered
-- with its error and comes again.
--
-- KEYS  every key once, named below by its position
-- ARGV  1 consumer group   2 messages an inbox may hold   3 field of a message
--       then for each write: its lane (0: of no delivery), and where there is one entry id, consumer, delivery number;
--       how many commands, for each its name, key, number of further arguments, those arguments;
--       how many messages, for each its inbox and text; 1 when the entry is to leave its lane, else 0
--
-- Returns for each write 'held' (it has happened), 'taken', 'gone', or an error's text.

local group, bound, field = ARGV[1], ARGV[2], ARGV[3]
local at = 3
local function following()
  at = at + 1
  return ARGV[at]
end

-- Many small values go into one command, of which Lua passes about 8,000.
local PIECE = 2000
local function each_piece(list, run)
  for first = 1, #list, PIECE do run(first, math.min(first + PIECE - 1, #list)) end
end

local results, inboxes, leaving = {}, {}, {}
while at < #ARGV do
  local lane = tonumber(following())
  local result, id = 'held', nil
  if lane > 0 then
    id = following()
    local consumer = following()
    result = holding(KEYS[lane], group, id, consumer, following())
  end
  for _ = 1, tonumber(following()) do
    local name, key = following(), KEYS[tonumber(following())]
    local count = tonumber(following())
    if result == 'held' then
      local answer = redis.pcall(name, key, unpack(ARGV, at + 1, at + count))
      if type(answer) == 'table' and answer.err then result = answer.err end
    end
    at = at + count
  end
  for _ = 1, tonumber(following()) do
    local inbox, message = tonumber(following()), following()
    if result == 'held' then
      local list = inboxes[inbox]
      if list == nil then
        list = {}
        inboxes[inbox] = list
      end
      list[#list + 1] = field
      list[#list + 1] = message
    end
  end
  if following() == '1' and result == 'held' then
    leaving[lane] = leaving[lane] or {}
    table.insert(leaving[lane], id)
  end
  results[#results + 1] = result
end

-- These raise: then nothing has left its lane, and all comes again.
for inbox, list in pairs(inboxes) do
  each_piece(list, function(first, last)
    redis.call('XADD', KEYS[inbox], 'NOMKSTREAM', 'MAXLEN', '~', bound, '*', unpack(list, first, last))
  end)
end
for lane, ids in pairs(leaving) do
  each_piece(ids, function(first, last)
    redis.call('XACK', KEYS[lane], group, unpack(ids, first, last))
    redis.call('XDEL', KEYS[lane], unpack(ids, first, last))
  end)
end
return results
