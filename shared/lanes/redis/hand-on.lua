-- Hands a request that a region could not serve on to another one, atomically: it is on one lane or on the other, never on
-- both, and never on none.
--
-- KEYS fromLane, toLane   the one that it leaves, and the other
--      fromHeld, toHeld   what its organisation holds in either region
--      body               claim-checked body
--      moved              where the request is
-- ARGV group, entryId, consumer, number   of the delivery that it leaves
--      requestId
--      entry              of the other lane
--      laneMax            requests that the other lane may hold
--      heldMax            requests that the organisation may hold there
--      deadlineMs         when the request is given up
--      largeBody          one that is too large for the lane ('': none)
--      lifeS              life of that, and of the note where the request is
--      region             the other one
--
-- Returns {'moved', entry id}; or {'full', ''}, {'taken', ''}, {'gone', ''}, and nothing is written.

local holds = holding(KEYS.fromLane, ARGV.group, ARGV.entryId, ARGV.consumer, ARGV.number)
if holds ~= 'held' then return { holds, '' } end
if redis.call('XLEN', KEYS.toLane) >= tonumber(ARGV.laneMax) then return { 'full', '' } end
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS.toHeld, '-inf', tonumber(now[1]) * 1000)
if redis.call('ZCARD', KEYS.toHeld) >= tonumber(ARGV.heldMax) then return { 'full', '' } end

redis.call('ZREM', KEYS.fromHeld, ARGV.requestId)
redis.call('ZADD', KEYS.toHeld, ARGV.deadlineMs, ARGV.requestId)
redis.call('EXPIRE', KEYS.toHeld, 3600)
if ARGV.largeBody ~= '' then redis.call('SET', KEYS.body, ARGV.largeBody, 'EX', tonumber(ARGV.lifeS)) end
local id = redis.call('XADD', KEYS.toLane, '*', 'e', ARGV.entry)
-- The process that hands it on says so next, unless it dies before that.
redis.call('SET', KEYS.moved, ARGV.region .. ' ' .. id, 'EX', tonumber(ARGV.lifeS))
redis.call('XACK', KEYS.fromLane, ARGV.group, ARGV.entryId)
redis.call('XDEL', KEYS.fromLane, ARGV.entryId)
return { 'moved', id }
