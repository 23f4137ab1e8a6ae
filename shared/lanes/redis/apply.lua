-- Writes what a process has queued in one turn, only while all deliveries that it belongs to hold their entries: so a process
-- that was stopped for so long that another took over can wake and write nothing. All of it is written unless a command fails.
-- Entries are acknowledged after everything else has succeeded.
--
-- KEYS  every key once, named below by its position
-- ARGV  group
--       inboxMax        entries that an inbox may hold
--       togetherMax     records that one entry of a receipts lane may hold
--       togetherBelow   entries in that lane from which on each record has its own
--       from MORE on, each list after its length:
--       lanes: key, consumer, and its deliveries: entry id, number, 1 when the entry is to leave its lane, else 0
--       commands: name, key, and its further arguments
--       receipts lanes: key, and the records that they are to get
--       what inboxes are told: key, and the fields and values of one entry
--       budgets of requests that end: key of the counter, key of those that hold a part of it, the member, and what was used
--       idempotency claims to be freed: key, key of its waiters, key of its stored answer, and the request that must hold it
--
-- Returns {'written'} and, for each request that waited for a claim that is free now, which of them that was (from 0) and
-- the waiter; or {'stale', then for each delivery 'held', 'taken' or 'gone'}, and nothing is written; or
-- {'failed', error} when a command failed: those before it have happened, and nothing of what comes after.

local group = ARGV.group
local at = MORE - 1
local function following()
  at = at + 1
  return ARGV[at]
end
local function key() return KEYS[tonumber(following())] end
local function each(run)
  for _ = 1, tonumber(following()) do run() end
end

local holdings, leaving, stale = { 'stale' }, {}, false
each(function()
  local lane, consumer, ids = key(), following(), {}
  each(function()
    local id = following()
    local result = holding(lane, group, id, consumer, following())
    if following() == '1' then ids[#ids + 1] = id end
    holdings[#holdings + 1] = result
    stale = stale or result ~= 'held'
  end)
  leaving[#leaving + 1] = { lane, ids }
end)
if stale then return holdings end

local failure
each(function()
  local name, first = following(), key()
  local count = tonumber(following())
  if not failure then
    local answer = redis.pcall(name, first, unpack(ARGV, at + 1, at + count))
    if type(answer) == 'table' then failure = answer.err end
  end
  at = at + count
end)
if failure then return { 'failed', failure } end

-- These raise: then nothing has left its lane, and all comes again.
each(function()
  local lane, count = key(), tonumber(following())
  local together = tonumber(ARGV.togetherMax)
  -- The lane's bound counts entries: where many wait, an entry is one record.
  if count > 1 and redis.call('XLEN', lane) >= tonumber(ARGV.togetherBelow) then together = 1 end
  for first = at + 1, at + count, together do
    local fields = {}
    for i = first, math.min(first + together - 1, at + count) do
      fields[#fields + 1] = 'e'
      fields[#fields + 1] = ARGV[i]
    end
    redis.call('XADD', lane, '*', unpack(fields))
  end
  at = at + count
end)
each(function()
  local inbox, count = key(), tonumber(following())
  redis.call('XADD', inbox, 'NOMKSTREAM', 'MAXLEN', '~', ARGV.inboxMax, '*', unpack(ARGV, at + 1, at + count))
  at = at + count
end)

-- Nothing raises from here on: a request has left its lane when its claim is free, and what it used of a budget is counted.
each(function()
  local counter, holders, member, used = key(), key(), following(), following()
  -- Not twice, and not into a counter that is gone: PostgreSQL will know.
  if redis.call('ZREM', holders, member) == 1 and redis.call('EXISTS', counter) == 1 then
    give_back(counter, member)
    redis.call('HINCRBY', counter, 'settled', used)
  end
end)

local written, nth = { 'written' }, -1
each(function()
  nth = nth + 1
  local claim, waiters, answer = key(), key(), key()
  if redis.call('HGET', claim, 'rid') == following() then
    for _, waiter in ipairs(redis.call('LRANGE', waiters, 0, -1)) do
      written[#written + 1] = nth
      written[#written + 1] = waiter
    end
    redis.call('DEL', claim, waiters, answer)
  end
end)

-- Lua passes about 8,000 arguments to one command.
local PIECE = 2000
for _, of in ipairs(leaving) do
  local lane, ids = of[1], of[2]
  for first = 1, #ids, PIECE do
    local last = math.min(first + PIECE - 1, #ids)
    redis.call('XACK', lane, group, unpack(ids, first, last))
    redis.call('XDEL', lane, unpack(ids, first, last))
  end
end
return written
